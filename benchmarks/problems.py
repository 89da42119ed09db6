"""Graphs, truths and wrong labels that the studies of uncertainty share."""

from __future__ import annotations

import numpy as np

import graphuq as gq

# Modes of a spectrum, or all where there are fewer.
RANK = 300


def problem(name: str) -> tuple[gq.Graph, np.ndarray]:
    """Return a graph and its nodes' classes: "mnist 4,9", "usps 4,9", "votes", "pima", ...

    MNIST pairs have 2,000 images a class; USPS pairs all there are. Features are raw, on 50
    principal components where there are more: 20 neighbours, self-tuning weights, gaps bridged.
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
    """Return labels of two classes, a share of them the other class, and which these are."""
    rng = np.random.default_rng([seed, 1])
    wrong = np.zeros(len(labels), dtype=bool)
    wrong[rng.permutation(len(labels))[: round(share * len(labels))]] = True
    values = labels.classes[np.where(wrong, 1 - labels.indices, labels.indices)]
    return gq.Labels(labels.nodes, values), wrong
