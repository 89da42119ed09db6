"""What must not change the default posterior: order, names, units, and where the origin is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import graphuq as gq

SEED = st.integers(0, 2**32 - 1)
N, N_LABELS = 60, 18

# The search for parameters sees slopes, which are differences that enlarge rounding by 1e5.
ROUNDING = 1e-4

pytestmark = pytest.mark.filterwarnings("ignore:expectation propagation is poor")


def problem(seed, n_classes):
    """Features of overlapping classes, the classes, and the labeled items."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(N) % n_classes)
    X = rng.standard_normal((N, 4)) + 1.5 * np.eye(max(4, n_classes))[y][:, :4]
    return X, y, rng.permutation(N)[:N_LABELS]


def by_class(X, y, nodes):
    """The default's probabilities of each class, with all parameters chosen by the labels."""
    partial = np.full(N, -1)
    partial[nodes] = y[nodes]
    model = gq.BayesianGraphClassifier(n_neighbors=8, method="approximate")
    return model.fit(X, partial).posterior_.by_class


@given(seed=SEED, n_classes=st.sampled_from([2, 3]))
@settings(max_examples=5, deadline=None)
def test_the_order_of_items(seed, n_classes):
    X, y, nodes = problem(seed, n_classes)
    order = np.random.default_rng(seed).permutation(N)
    place = np.argsort(order)

    found = by_class(X[order], y[order], place[nodes])

    np.testing.assert_allclose(found, by_class(X, y, nodes)[order], atol=ROUNDING)


@given(seed=SEED, n_classes=st.sampled_from([2, 3, 4]))
@settings(max_examples=5, deadline=None)
def test_the_names_of_classes(seed, n_classes):
    X, y, nodes = problem(seed, n_classes)
    other = np.random.default_rng(seed).permutation(n_classes)

    found = by_class(X, other[y], nodes)

    np.testing.assert_allclose(found[:, other], by_class(X, y, nodes), atol=ROUNDING)


@given(seed=SEED, log_unit=st.floats(-6, 6), shift=st.floats(-100, 100))
@settings(max_examples=5, deadline=None)
def test_the_unit_the_origin_and_the_axes_of_features(seed, log_unit, shift):
    X, y, nodes = problem(seed, 2)
    turned = X @ stats.ortho_group.rvs(4, random_state=np.random.default_rng(seed))

    found = by_class(10**log_unit * (turned + shift), y, nodes)

    np.testing.assert_allclose(found, by_class(X, y, nodes), atol=ROUNDING)


@given(seed=SEED, log_unit=st.floats(-6, 6), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=5, deadline=None)
def test_the_unit_of_weights(seed, log_unit, n_classes):
    X, y, nodes = problem(seed, n_classes)
    graph = gq.knn_graph(X, 8, connect=True)
    other = gq.Graph(10**log_unit * graph.adjacency)
    labels = gq.Labels(nodes, y[nodes], np.arange(n_classes))

    one, two = (gq.approximate(each, gq.Probit(), labels).by_class for each in (graph, other))

    np.testing.assert_allclose(one, two, atol=ROUNDING)


@given(seed=SEED)
@settings(max_examples=5, deadline=None)
def test_twins_have_the_same_probabilities(seed):
    X, y, nodes = problem(seed, 2)
    hidden = np.setdiff1d(np.arange(N), nodes)
    X[hidden[1]] = X[hidden[0]]

    found = by_class(X, y, nodes)

    np.testing.assert_allclose(found[hidden[1]], found[hidden[0]], atol=1e-9)


def test_what_does_change_them():
    X, y, nodes = problem(0, 2)
    before = by_class(X, y, nodes)
    assert abs(by_class(X * [1, 1, 1, 10], y, nodes) - before).max() > 0.05
    assert abs(by_class(X, y, nodes[:-4]) - before).max() > 0.05
