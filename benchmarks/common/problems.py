"""Graphs, truths and wrong labels that several studies share."""

from __future__ import annotations

import numpy as np

import graphuq as gq

# Number of modes of a spectrum, or all modes if there are fewer.
RANK = 300


def problem(name: str) -> tuple[gq.Graph, np.ndarray]:
    """Return a graph and its nodes' classes: "mnist 4,9", "usps 4,9", "votes", "pima", ...

    MNIST pairs have 2,000 images per class, USPS pairs all images. Features are raw, or 50
    principal components if there are more. Graphs have 20 neighbors, self-tuning weights and
    bridged gaps.
    """
    source, _, pair = name.partition(" ")
    if source == "votes":  # the paper's section 5.1.2
        X, y = gq.datasets.vote()
        return gq.full_graph(X, weights="gaussian", tau=1.25, self_loops=True), y
    if source == "polblogs":
        return gq.datasets.polblogs()
    if source == "mnist":
        a, b = map(int, pair.split(","))
        X, y = gq.datasets.digit_pair(a, b, dataset="mnist", per_class=2000, seed=0)
    elif source == "usps":
        X, y = gq.datasets.usps()
        kept = np.isin(y, [int(digit) for digit in pair.split(",")])
        X, y = X[kept] / 255, y[kept]
    else:
        X, y = gq.datasets.uci(source)
    return gq.knn_graph(gq.pca(X, min(50, X.shape[1])), n_neighbors=20, connect=True), y


def spectrum_of(graph: gq.Graph) -> gq.Spectrum:
    return gq.Spectrum.of(graph, min(RANK, graph.n_nodes - 1))


def with_flips(labels: gq.Labels, share: float, seed: int) -> tuple[gq.Labels, np.ndarray]:
    """Return labels of two classes with a share of them flipped, and a mask of the flipped ones."""
    rng = np.random.default_rng([seed, 1])
    wrong = np.zeros(len(labels), dtype=bool)
    wrong[rng.permutation(len(labels))[: round(share * len(labels))]] = True
    values = labels.classes[np.where(wrong, 1 - labels.indices, labels.indices)]
    return gq.Labels(labels.nodes, values), wrong
