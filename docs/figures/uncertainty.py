"""Uncertainty taken apart: where classes overlap, and where there are no labels."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq


def draw() -> tuple[Figure, dict[str, float]]:
    """Return the picture, and the numbers that pages quote."""
    # two classes that overlap, and a third group of items, none of them labeled
    rng = np.random.default_rng(0)
    X = np.concatenate([
        rng.normal((-1.2, 0), 0.9, (150, 2)),
        rng.normal((1.2, 0), 0.9, (150, 2)),
        rng.normal((0, 4.5), 0.5, (60, 2)),
    ])  # fmt: skip
    y = np.repeat([0, 1, 0], [150, 150, 60])
    near = np.arange(300)
    labels = gq.reveal(y[near], counts=30, seed=0)
    graph = gq.knn_graph(X, n_neighbors=10, connect=True)
    post = gq.sample(graph, gq.Probit(), labels, seed=0, progress=False)
    parts = post.uncertainty()
    apart = np.arange(300, 360)
    border = np.flatnonzero((abs(X[:, 0]) < 0.5) & (X[:, 1] < 3))

    figure = Figure(figsize=(6, 7), layout="constrained")
    for ax, part in zip(figure.subplots(2, 1), ("aleatoric", "epistemic"), strict=True):
        gq.plots.embedding(post, X, color=part, ax=ax)
    numbers = {
        f"{part}, {place}": float(parts[part].iloc[nodes].mean())
        for place, nodes in (("border", border), ("apart", apart))
        for part in parts
    }
    return figure, numbers
