"""When it fails: five labels of each class do not show that one class is rare."""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq

SHARES = (0.5, 0.4, 0.3, 0.2, 0.1)  # of threes
ITEMS = 240
DRAWS = 5


def accuracies(share: float, seed: int) -> tuple[float, float]:
    """Return the accuracy without the shares and with them."""
    X, y = gq.datasets.digit_pair(3, 8)
    rng = np.random.default_rng(seed)
    rare = round(share * ITEMS)
    kept = np.concatenate([
        rng.choice(np.flatnonzero(y == digit), count, replace=False)
        for digit, count in ((3, rare), (8, min(ITEMS - rare, (y == 8).sum())))
    ])  # fmt: skip
    X, y = X[kept], y[kept]
    graph = gq.knn_graph(X, n_neighbors=10, connect=True)
    truth = {digit: float((y == digit).mean()) for digit in (3, 8)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        post = gq.approximate(graph, gq.Probit(), gq.reveal(y, counts=5, seed=seed))
        told = post.with_class_shares(truth)
    return post.accuracy(y), told.accuracy(y)


def draw() -> tuple[Figure, dict[str, float]]:
    """Return the picture, and the numbers that pages quote."""
    found = np.array([[accuracies(share, seed) for seed in range(DRAWS)] for share in SHARES])
    means = found.mean(axis=1)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    ax = figure.subplots()
    ax.plot(SHARES, means[:, 0], "o-", color="C0", label="five labels of each class")
    ax.plot(SHARES, means[:, 1], "s-", color="C1", label="the same, and the shares are given")
    ax.plot(SHARES, 1 - np.array(SHARES), "--", color="0.4", label="always the larger class")
    ax.set(xlabel="share of the rare class", ylabel="accuracy")
    ax.invert_xaxis()
    ax.legend()
    numbers = {
        f"{name} at {share}": float(means[SHARES.index(share), k])
        for share in (0.5, 0.1)
        for k, name in enumerate(("accuracy", "accuracy, shares given"))
    }
    return figure, numbers
