"""Probabilities of new items against dense matrices and draws of the new nodes themselves."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly
from references.mutation import mutated
from scipy import sparse

import graphuq as gq
from graphuq.posterior.new_items import new_probability

GAMMA = 0.1
DRAWS = {2: 10_000, 3: 5_000}


@pytest.fixture(scope="module")
def problem(clump_graph, clump_labels):
    """Return graph and labels of two or of three classes, and weights of new nodes.

    Three new nodes are connected to the graph, a fourth by a tiny weight, and a fifth is not.
    """
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2)) + 2.5 * np.repeat([0, 1], 20)[:, None]
    graph = gq.knn_graph(X, n_neighbors=6, connect=True)
    two = graph, gq.Labels([0, 7, 13, 25, 38], [0, 0, 1, 1, 1])

    def of_classes(n_classes):
        graph, labels = two if n_classes == 2 else (clump_graph, clump_labels)
        weights = np.zeros((5, graph.n_nodes))
        weights[0, [3, 4, 9]] = 1.0, 0.5, 2.0
        weights[1, [18, 22, 30]] = 0.3, 0.3, 0.1
        weights[2, 38] = 0.01 if n_classes == 2 else 0.05
        weights[3, 7] = 1e-9
        return graph, labels, weights

    return of_classes


@pytest.fixture(scope="module")
def sampled(problem):
    """Return a prior and its posterior, each sampled once."""
    known = {}

    def sample(n_classes, rank, alpha=1.0):
        key = n_classes, rank, alpha
        if key not in known:
            graph, labels, _ = problem(n_classes)
            prior = gq.Prior.projected(graph, rank, alpha=alpha)
            options = {"draws": DRAWS[n_classes], "seed": 0, "progress": False}
            known[key] = prior, quietly(prior, gq.Probit(GAMMA), labels, **options)
        return known[key]

    return sample


def by_drawing(post, prior, graph, weights, overlap, seed=0):
    """The formulas of the module, in dense matrices and draws of the new nodes themselves."""
    L = graph.laplacian().toarray()
    nodes = np.arange(graph.n_nodes)
    departure = np.diag(L @ prior.covariance(nodes, nodes) @ L)
    u = np.concatenate(list(post.latent_draws(prior, seed=seed)))
    d = np.maximum(weights.sum(axis=1), 1e-30)
    shares = weights / d[:, None]
    mean = np.einsum("ij,tj...->ti...", shares / np.sqrt(graph.degrees), u)
    spread = np.sqrt(shares @ departure / d).reshape(-1, *[1] * (u.ndim - 2))
    rng = np.random.default_rng(5)
    draws = mean + spread * rng.standard_normal(mean.shape)
    # in units of the prior deviation of each new node
    loads = shares / np.sqrt(graph.degrees)
    variance = np.einsum("ij,jk,ik->i", loads, prior.covariance(nodes, nodes), loads)
    variance += shares @ departure / d + 1e-300  # an item without edges has none
    draws /= np.sqrt(variance).reshape(-1, *[1] * (u.ndim - 2))
    draws += overlap * rng.standard_normal(mean.shape)
    if u.ndim == 2:
        return np.stack([draws < 0, draws > 0], axis=-1).mean(axis=0)
    return (draws.argmax(axis=2)[..., None] == np.arange(u.shape[2])).mean(axis=0)


def errors(found, expected, n_classes):
    """Return the errors of the tied items in standard errors."""
    p = expected[:4]
    return abs(found[:4] - p) / np.sqrt((n_classes - 1) * p * (1 - p) / (4 * DRAWS[n_classes]))


@pytest.mark.parametrize(("n_classes", "rank", "alpha"), [(2, 39, 1.0), (2, 15, 2.0), (3, 59, 1.0)])
def test_new_probabilities_are_those_of_drawn_new_nodes(problem, sampled, n_classes, rank, alpha):
    graph, _, weights = problem(n_classes)
    prior, post = sampled(n_classes, rank, alpha)
    found = new_probability(post, prior, graph.degrees, weights)
    expected = by_drawing(post, prior, graph, weights, GAMMA)
    assert (errors(found, expected, n_classes) < 4).all()
    np.testing.assert_allclose(found[4], 1 / n_classes, rtol=1e-12)
    sparsely = new_probability(post, prior, graph.degrees, sparse.csr_array(weights))
    np.testing.assert_array_equal(sparsely, found)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert abs(found[0] - 1 / n_classes).max() > 0.1


@pytest.mark.parametrize(("rank", "alpha"), [(39, 1.0), (15, 2.0)])
def test_those_of_an_approximation_are_as_its_draws(problem, rank, alpha):
    """The only Monte Carlo error is that of the draws."""
    graph, labels, weights = problem(2)
    prior = gq.Prior.projected(graph, rank, alpha=alpha)
    quick = gq.approximate(prior, gq.Probit(GAMMA), labels)
    found = new_probability(quick, prior, graph.degrees, weights)

    class Drawn:
        latent_draws = staticmethod(
            lambda prior, seed: quick.latent_draws(prior, draws=40_000, seed=seed)
        )

    assert (errors(found, by_drawing(Drawn, prior, graph, weights, GAMMA), 2) < 4).all()


@pytest.mark.parametrize(
    ("n_classes", "right", "wrong"),
    [
        (2, "1 / roots", "1 + 0 * roots"),
        (2, "(self.spectrum.values * self.sigma) ** 2", "self.spectrum.values**2"),
        (2, "1 / np.where(d > 0, d, 1.0)", "1 + 0 * d"),
        (3, "1 / roots", "1 + 0 * roots"),
        (3, "own / variance", "own"),
    ],
)
def test_a_mistake_in_the_formula_would_show(
    problem, sampled, n_classes, right, wrong, monkeypatch
):
    graph, _, weights = problem(n_classes)
    prior, post = sampled(n_classes, graph.n_nodes - 1)
    monkeypatch.setattr(gq.Prior, "rows_of_new", mutated(gq.Prior.rows_of_new, right, wrong))
    found = new_probability(post, prior, graph.degrees, weights)
    expected = by_drawing(post, prior, graph, weights, GAMMA)
    assert (errors(found, expected, n_classes)[:3] > 6).any()


def test_under_the_papers_prior_a_new_node_is_any_node_given_the_others(problem):
    # theorem 2.3 of Rue and Held, from the precision matrix of the enlarged graph
    graph, _, weights = problem(2)
    prior = gq.Prior.full(graph)
    L = graph.laplacian().toarray()
    departure = np.diag(L @ prior.covariance(np.arange(40), np.arange(40)) @ L)
    np.testing.assert_allclose(departure, prior.scale, rtol=1e-9)
    A = np.zeros((41, 41))
    A[:40, :40], A[40, :40], A[:40, 40] = graph.adjacency.toarray(), weights[0], weights[0]
    precision = (np.diag(A.sum(axis=0)) - A) / prior.scale  # precision of f
    np.testing.assert_allclose(1 / precision[40, 40], prior.scale / weights[0].sum())
    np.testing.assert_allclose(
        -precision[40, :40] / precision[40, 40], weights[0] / weights[0].sum()
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("function", [gq.approximate, gq.sample], ids=["approximate", "sample"])
def test_under_features_and_a_level_new_items_are_as_if_they_had_been_there(n_classes, function):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = gq.Labels([1, 5, 9, 12, 20, 28], np.arange(6) % n_classes)
    options = {} if function is gq.approximate else {"draws": 4000, "seed": 0, "progress": False}
    with_all = gq.FeaturePrior(X, 1.0) + gq.Level(0.5)
    without = gq.FeaturePrior(X[:30], 1.0) + gq.Level(0.5)
    whole = function(with_all, gq.Probit(0.3), labels, **options)
    part = function(without, gq.Probit(0.3), labels, **options)
    found = new_probability(part, without, np.ones(30), np.zeros((10, 30)), X[30:])
    tolerance = 1e-3 if function is gq.approximate else 0.03
    np.testing.assert_allclose(found, whole.by_class[30:], atol=tolerance)
    assert abs(found - 1 / n_classes).max() > 0.1
    with pytest.raises(ValueError, match="the prior has features"):
        new_probability(part, without, np.ones(30), np.zeros((10, 30)))


@pytest.mark.parametrize(
    ("weights", "X", "message"),
    [
        (np.ones((2, 39)), None, "a column for each of 40 nodes"),
        (np.ones(40), None, "a column for each of 40 nodes"),
        (-np.eye(1, 40), None, "not negative"),
        (np.full((1, 40), np.nan), None, "finite"),
        ([["a"] * 40], None, "a matrix of numbers"),
        (np.eye(1, 40), np.ones((3, 2)), "one row for each of 1 new items"),
    ],
)
def test_bad_weights_of_new_items_are_refused(problem, weights, X, message):
    graph, labels, good = problem(2)
    prior = gq.Prior.projected(graph, 20)
    post = gq.approximate(prior, gq.Probit(GAMMA), labels)
    found = new_probability(post, prior, graph.degrees, good)
    np.testing.assert_array_equal(post.by_class_of_new(graph, good), found)
    np.testing.assert_array_equal(post.by_class_of_new(graph, sparse.csr_array(good)), found)
    with pytest.raises((ValueError, TypeError), match=message):
        post.by_class_of_new(graph, weights, X)
    with pytest.raises(ValueError, match="graph must have the 40 nodes"):
        post.by_class_of_new(gq.Graph(np.ones((3, 3))), good)


def test_sparse_features_of_new_items_are_those_of_a_dense_matrix():
    links, y = gq.datasets.planted_partition([30, 30], 0.3, 0.05, seed=0)
    X = np.random.default_rng(0).normal(size=(60, 3)) * (np.arange(60) % 2)[:, None] + y[:, None]
    labels = gq.reveal(y, counts=5, seed=0)
    tuned = gq.tune(gq.default_prior(links, X, labels), labels)
    post = gq.approximate(tuned.prior, tuned.likelihood, labels)
    weights, new = np.eye(3, 60), np.array([[0.0, 1, 0], [2, 0, 0], [0, 0, 0]])
    dense = post.by_class_of_new(links, weights, new)
    found = post.by_class_of_new(links, sparse.csr_array(weights), sparse.csr_array(new))
    np.testing.assert_allclose(found, dense, rtol=1e-12)


def test_nodes_without_edges_change_nothing_and_say_nothing(problem):
    graph, _, weights = problem(2)
    larger = np.zeros((42, 42))
    larger[:40, :40] = graph.adjacency.toarray()
    both = gq.Graph(larger)
    wider = np.hstack([weights, np.zeros((5, 2))])
    wider[4, 40] = 1.0  # beside a node without edges

    def covariance(graph, weights):
        prior = gq.Prior.full(graph)
        rows, own = prior.rows_of_new(graph.degrees, sparse.csr_array(weights), None)
        field = prior.field
        return (rows * field.weights) @ field.basis.T / np.sqrt(field.variance()[:40].mean()), own

    among, own = covariance(graph, weights)
    found, found_own = covariance(both, wider)
    np.testing.assert_allclose(found[:, :40], among, atol=1e-9)
    assert abs(found[:, 40:]).max() == 0
    np.testing.assert_allclose(found_own, own, atol=1e-9)
    assert (found_own[4], abs(found[4]).max()) == (1.0, 0.0)
