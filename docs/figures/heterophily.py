"""When it fails: graphs whose neighbors differ, by the modes that are chosen and by smooth ones."""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of edges within classes
SIZE, DEGREE = 200, 12  # nodes of each class, mean degree
DRAWS = 5


def scores(share: float, seed: int) -> list[tuple[float, float]]:
    """Return accuracy and log score by the modes that the evidence chooses, and by smooth modes."""
    within = 2 * share * DEGREE / (2 * SIZE)
    between = 2 * (1 - share) * DEGREE / (2 * SIZE)
    graph, y = gq.datasets.planted_partition([SIZE, SIZE], within, between, seed=seed)
    labels = gq.reveal(y, counts=10, seed=seed)
    found = []
    for one in (graph, gq.Spectrum.of(graph, rank=300)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the picture shows the failure
            score = gq.approximate(one, gq.Probit(), labels).calibration(y)
        found.append((score.accuracy, score.log_score))
    return found


def draw() -> tuple[Figure, dict[str, float]]:
    """Return the picture, and the numbers that pages quote."""
    # share, draw, modes, score
    found = np.array([[scores(share, seed) for seed in range(DRAWS)] for share in SHARES])
    means = found.mean(axis=1)
    figure = Figure(figsize=(6, 6), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for ax, k, name, chance in zip(
        panels, (0, 1), ("accuracy", "log score"), (0.5, np.log(2)), strict=True
    ):
        ax.plot(SHARES, means[:, 0, k], "o-", color="C0", label="modes by evidence")
        ax.plot(SHARES, means[:, 1, k], "s-", color="C1", label="smooth modes")
        ax.axhline(chance, color="0.4", ls="--", label="a coin toss")
        ax.set_ylabel(name)
    ax.set_xlabel("share of edges within a class")
    ax.legend(fontsize="small")
    numbers = {
        f"{name} at {share}": float(means[SHARES.index(share), modes, k])
        for share in (0.1, 0.3, 0.5, 0.9)
        for k, score in enumerate(("accuracy", "log score"))
        for modes, name in enumerate((score, f"{score}, smooth"))
    }
    return figure, numbers
