"""When it fails: with few labels the answer depends on which ones."""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq

COUNTS = (1, 2, 5, 10, 20, 40)  # labels of each class
DRAWS = 10


def draw() -> tuple[Figure, dict[str, float]]:
    """Return the picture, and the numbers that pages quote."""
    X, y = gq.datasets.digit_pair(1, 8)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=10), rank=100)
    found = np.empty((len(COUNTS), DRAWS, 2))  # accuracy, mean confidence
    for k, count in enumerate(COUNTS):
        for seed in range(DRAWS):
            labels = gq.reveal(y, counts=count, seed=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                post = gq.approximate(spectrum, gq.Probit(), labels)
            hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
            found[k, seed] = post.accuracy(y), post.by_class[hidden].max(axis=1).mean()
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    ax = figure.subplots()
    accuracy, confidence = found[:, :, 0], found[:, :, 1]
    ax.fill_between(COUNTS, accuracy.min(1), accuracy.max(1), color="C0", alpha=0.2)
    ax.plot(COUNTS, accuracy.mean(1), "o-", color="C0", label="accuracy, and its range over draws")
    ax.plot(COUNTS, confidence.mean(1), "s-", color="C1", label="mean confidence")
    ax.set(xscale="log", xlabel="labels of each class", ylim=(0.45, 1.01))
    ax.set_xticks(COUNTS, [str(count) for count in COUNTS])
    ax.minorticks_off()
    ax.legend(loc="lower right")
    numbers = {
        f"{name} with {count}": float(value)
        for k, count in enumerate(COUNTS)
        for name, value in (
            ("accuracy", accuracy[k].mean()),
            ("lowest accuracy", accuracy[k].min()),
            ("highest accuracy", accuracy[k].max()),
            ("confidence", confidence[k].mean()),
        )
    }
    return figure, numbers
