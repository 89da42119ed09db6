"""The weighting of scArches, by hand."""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks.trust.annotate_cells import NEIGHBORS, weighted_neighbors


def test_weights_are_those_of_the_formula():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    labels = gq.Labels([1, 2, 3], ["a", "b", "a"])

    p = weighted_neighbors(X, labels)

    distances = np.array([1.0, 3.0, 7.0])  # from the first item
    weights = np.exp(-distances / (2 / distances.std()) ** 2)
    np.testing.assert_allclose(p[0], [weights[[0, 2]].sum(), weights[1]] / weights.sum())
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_only_the_nearest_labels_count():
    X = np.linspace(0, 1, 120)[:, None]
    labels = gq.Labels(np.arange(120), np.where(np.arange(120) < NEIGHBORS, "near", "far"))

    p = weighted_neighbors(X, labels)

    np.testing.assert_allclose(p[0], [0, 1])  # "far", "near"
    np.testing.assert_allclose(p[-1], [1, 0])
    assert (p[NEIGHBORS] > 0.3).all()
