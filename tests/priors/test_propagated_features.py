"""Features averaged along the links of a graph."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import graphuq as gq
from graphuq.posterior.new_items import new_probability
from graphuq.priors.propagated_features import COMPONENTS
from graphuq.utils.fingerprint import same_fingerprint

RNG = np.random.default_rng(0)
N = 130


def random_graph(n=N, seed=0):
    """Return a symmetric matrix of weights between 0.5 and 2, with a node that has no links."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(0.5, 2, (n, n)) * (rng.random((n, n)) < 0.05), 1)
    upper[:, -1] = 0
    return upper + upper.T


def averages(A, X, hops):
    """Return the averages by powers of a dense matrix."""
    stay = A[A > 0].mean()
    P = A + stay * np.eye(len(A))
    P /= P.sum(axis=1, keepdims=True)
    return np.linalg.matrix_power(P, hops) @ X


A = random_graph()
FEW, MANY = RNG.normal(size=(N, 4)), RNG.normal(size=(N, COMPONENTS + 20)) * 3 + 5


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("links", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("hops", [0, 1, 4])
def test_they_are_averages_over_walks(kind, links, hops):
    found = gq.PropagatedFeatures(kind(FEW), links(A), hops)
    np.testing.assert_allclose(found.values, averages(A, FEW, hops), atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("hops", [0, 4])
def test_of_many_features_the_principal_components_are_kept(kind, hops):
    found = gq.PropagatedFeatures(kind(MANY), A, hops).values
    left, size, _ = np.linalg.svd(MANY - MANY.mean(axis=0), full_matrices=False)
    kept = averages(A, left[:, :COMPONENTS] * size[:COMPONENTS], hops)
    assert found.shape == (N, COMPONENTS)
    found, kept = (Z - Z.mean(axis=0) for Z in (found, kept))
    np.testing.assert_allclose(found @ found.T, kept @ kept.T, atol=1e-8 * kept.max() ** 2)


@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
@settings(max_examples=20, deadline=None)
def test_they_depend_on_neither_order_nor_the_unit_of_weights(seed, unit):
    order = np.random.default_rng(seed).permutation(N)
    found = gq.PropagatedFeatures(FEW, A).values
    other = gq.PropagatedFeatures(FEW[order], unit * A[np.ix_(order, order)]).values
    np.testing.assert_allclose(other, found[order], atol=1e-12)
    shifted = gq.PropagatedFeatures(2 * FEW + 3, A).values
    np.testing.assert_allclose(shifted, 2 * found + 3, atol=1e-12)


def test_a_node_without_links_keeps_its_features():
    found = gq.PropagatedFeatures(FEW, A).values[-1]
    np.testing.assert_allclose(found, FEW[-1], rtol=1e-14)


@pytest.mark.parametrize("X", [FEW, MANY])
def test_a_new_item_is_as_a_node_that_others_do_not_see(X):
    """Nodes that others do not step to have the same averages as new items."""
    features = gq.PropagatedFeatures(X, A)
    links, new = np.vstack([A[3], np.zeros(N)]), X[[7, 8]]
    found = features.of_new(links, new)
    stay = A[A > 0].mean()
    P = np.zeros((N + 2, N + 2))
    P[:N, :N] = A + stay * np.eye(N)
    P[N:] = np.hstack([links, stay * np.eye(2)])
    P /= P.sum(axis=1, keepdims=True)
    Z = np.linalg.matrix_power(P, features.hops) @ np.vstack([X, new])
    V = features._directions
    np.testing.assert_allclose(found, Z[N:] if V is None else Z[N:] @ V, atol=1e-10)


def of_two_kinds(within, n=200, noise=1.0, seed=0):
    """Return a graph whose links are within a class with this probability, features and classes."""
    share = 0.2
    graph, y = gq.datasets.planted_partition(
        [n // 2, n // 2], share * within, share * (1 - within), seed=seed
    )
    X = np.random.default_rng(seed).normal(size=(len(y), 2)) * noise
    X[:, 0] += 2 * y
    return graph, X, y


@pytest.mark.parametrize("within", [0.1, 0.9])
def test_features_of_neighbors_tell_classes_where_neighbors_agree_or_differ(within):
    """Averages over four steps are better features than the items' own."""
    graph, X, y = of_two_kinds(within, noise=2.0)
    labels = gq.reveal(y, counts=20, seed=0)

    def accuracy(prior):
        tuned = gq.tune(prior + gq.Level(), labels)
        return gq.approximate(tuned.prior, tuned.likelihood, labels).accuracy(y)

    own, propagated = (
        accuracy(gq.LinearPrior(x)) for x in (X, gq.PropagatedFeatures(X, graph.adjacency))
    )
    assert own < 0.8
    assert propagated > own + 0.1


def test_the_default_has_features_of_neighbors_and_new_items_too():
    graph, X, y = of_two_kinds(0.85)
    labels = gq.reveal(y, counts=10, seed=1)
    prior = gq.default_prior(graph, X, labels)
    assert [type(part).__name__ for part in prior.parts] == [
        "Prior", "FeaturePrior", "LinearPrior", "LinearPrior"]  # fmt: skip
    tuned = gq.tune(prior, labels)
    post = gq.approximate(tuned.prior, tuned.likelihood, labels)
    links = graph.adjacency[[0, 1, 150, 151]]  # twins of nodes
    found = new_probability(post, tuned.prior, graph.degrees, links, X[[0, 1, 150, 151]])
    np.testing.assert_allclose(found, post.by_class[[0, 1, 150, 151]], atol=0.15)


def test_the_default_is_that_of_a_graph_where_features_are_left_out():
    graph, _, y = of_two_kinds(0.9)
    labels = gq.reveal(y, counts=10, seed=1)
    one = gq.tune(gq.default_prior(graph, labels=labels), labels)
    np.testing.assert_array_equal(
        gq.approximate(one.prior, one.likelihood, labels).by_class,
        gq.approximate(graph, gq.Probit(), labels).by_class,
    )


def test_a_sparse_matrix_of_words_has_the_default_of_a_dense_one():
    graph, X, y = of_two_kinds(0.85)
    words = np.hstack([np.maximum(X, 0), RNG.random((len(y), 60)) < 0.05])
    labels = gq.reveal(y, counts=10, seed=1)
    found = []
    for kind in (np.asarray, sparse.csr_array):
        tuned = gq.tune(gq.default_prior(graph, kind(words), labels), labels)
        found.append(gq.approximate(tuned.prior, tuned.likelihood, labels).by_class)
    np.testing.assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("d", [2, COMPONENTS + 20])
def test_where_all_nodes_have_the_same_averages_they_are_left_out(d):
    complete = np.ones((N, N)) - np.eye(N)
    X = RNG.normal(size=(N, d))
    features = gq.PropagatedFeatures(X, complete)
    with pytest.raises(ValueError, match="after 4 steps along the graph all nodes have the same"):
        gq.LinearPrior(features)
    assert len(gq.default_prior(complete, X).parts) == 3
    with pytest.raises(ValueError, match="X is the same for all items"):
        gq.LinearPrior(gq.PropagatedFeatures(np.ones((N, d)), A))


def test_saved_and_shown_with_the_number_of_steps():
    features = gq.PropagatedFeatures(FEW, A, hops=1)
    assert repr(features) == "PropagatedFeatures(130 x 4, 1 hop)"
    prior = gq.FeaturePrior(features, length_scale=1.5)
    assert repr(prior) == "FeaturePrior(130 x 4, 1 hop, length_scale 1.5)"
    for other in (prior.with_parameters(length_scale=2.0), replace(prior, length_scale=2.0)):
        assert repr(other).endswith("1 hop, length_scale 2)")
    assert "hops" not in gq.FeaturePrior(FEW, 1.5).fingerprint()


def test_a_fingerprint_knows_features_graph_and_steps_and_no_rounding():
    found = gq.LinearPrior(gq.PropagatedFeatures(MANY, A)).fingerprint()
    same = gq.PropagatedFeatures(sparse.csr_array(MANY), sparse.csr_array(3 * A))
    assert same_fingerprint(found, gq.LinearPrior(same).fingerprint() | {"features": ANY})
    for X, graph, hops in ((MANY[::-1], A, 4), (MANY, random_graph(seed=1), 4), (MANY, A, 2)):
        other = gq.LinearPrior(gq.PropagatedFeatures(X, graph, hops)).fingerprint()
        assert not same_fingerprint(found, other)


@pytest.mark.parametrize("X", [FEW, MANY])
def test_other_numbers_of_steps_share_principal_components(X):
    first = gq.PropagatedFeatures(X, A, hops=0)
    np.testing.assert_array_equal(first.values, first.with_hops(0).values)
    other = first.with_hops(2)
    np.testing.assert_array_equal(other.values, gq.PropagatedFeatures(X, A, hops=2).values)
    assert other._directions is first._directions
    assert (first.hops, other.hops) == (0, 2)


@pytest.mark.parametrize("hops", [0, 4])
def test_features_are_copied(hops):
    X = FEW.copy()
    features = gq.PropagatedFeatures(X, A, hops)
    X *= 100
    np.testing.assert_allclose(features.values, averages(A, FEW, hops), atol=1e-12)


@pytest.mark.parametrize(("n", "hops"), [(2, 0), (4, 1), (40, 1)])
def test_fewer_nodes_than_features_lose_nothing(n, hops):
    X, ring = RNG.normal(size=(n, COMPONENTS + 20)), np.roll(np.eye(n), 1, axis=0)
    ring = np.minimum(ring + ring.T, 1) * (1 - np.eye(n))
    found = gq.PropagatedFeatures(X, ring, hops).values
    exact = averages(ring, X, hops)
    exact -= exact.mean(axis=0)
    found = found - found.mean(axis=0)
    assert found.shape[1] < n
    np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=1e-9)


def test_of_low_rank_no_more_directions_are_kept():
    X = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, COMPONENTS + 20))
    assert gq.PropagatedFeatures(X, A).values.shape == (N, 3)


@pytest.mark.parametrize(
    ("X", "hops", "message"),
    [
        (FEW[:5], 4, "one row for each of 130 nodes"),
        (np.full((N, 2), np.nan), 4, "NaN or infinite"),
        (FEW, -1, "hops must be between 0 and 100"),
        (FEW, 101, "hops must be between 0 and 100"),
    ],
)
def test_what_cannot_be_propagated_is_refused(X, hops, message):
    with pytest.raises(ValueError, match=message):
        gq.PropagatedFeatures(X, A, hops)


@pytest.mark.parametrize(
    ("weights", "X", "message"),
    [
        (A[:2], MANY[:2], "the 4 features of the known ones"),
        (A[:3], FEW[:1], r"one row for each of 3 new items"),
        (A[:2, :9], FEW[:2], "a column for each of 130 nodes"),
        (A[:1], FEW[:1] * np.nan, "NaN or infinite"),
        (-A[:1], FEW[:1], "finite and not negative"),
    ],
)
def test_new_items_that_cannot_be_are_refused(weights, X, message):
    with pytest.raises(ValueError, match=message):
        gq.PropagatedFeatures(FEW, A).of_new(weights, X)


def test_the_default_checks_labels():
    with pytest.raises(ValueError, match="from 0 to 129, got 500"):
        gq.default_prior(A, FEW, gq.Labels([0, 500], [0, 1]))
