"""The estimator of more than two classes, and its answers to new items."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import mutated, quietly
from scipy import sparse

import graphuq as gq
from graphuq import out_of_sample
from graphuq.out_of_sample import new_probability


@pytest.fixture(scope="module")
def graph(clumps):
    return gq.knn_graph(clumps[0], n_neighbors=6, connect=True)


@pytest.fixture(scope="module")
def labels(clumps):
    return gq.reveal(clumps[1], counts=3, seed=0)


@pytest.fixture(scope="module")
def unseen(labels):
    """The same labels where there is a class that none of them shows."""
    return gq.Labels(labels.nodes, labels.values, classes=["cow", "ape", "bee", "ant"])


@pytest.fixture(scope="module")
def hung():
    """Weights of three new nodes hung on the graph, of one hardly tied and of one not tied."""
    weights = np.zeros((5, 60))
    weights[0, [3, 4, 9]] = 1.0, 0.5, 2.0
    weights[1, [18, 22, 30]] = 0.3, 0.3, 0.1
    weights[2, 38] = 0.05
    weights[3, 7] = 1e-9
    return weights


def by_drawing(post, prior, graph, weights):
    """The formulas of the module, in dense matrices and draws of the new nodes themselves."""
    L = graph.laplacian().toarray()
    departure = np.diag(L @ prior.covariance(np.arange(60), np.arange(60)) @ L)
    u = np.concatenate(list(post.latent_draws()))
    d = np.maximum(weights.sum(axis=1), 1e-30)
    shares = weights / d[:, None]
    mean = np.einsum("ij,tjk->tik", shares / np.sqrt(graph.degrees), u)
    spread = np.sqrt(shares @ departure / d)
    draws = mean + spread[:, None] * np.random.default_rng(5).standard_normal(mean.shape)
    return (draws.argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)


@pytest.fixture(scope="module")
def many(graph, labels):
    prior = gq.Prior.projected(graph, 59)
    return prior, quietly(prior, gq.Probit(0.1), labels, draws=5000, seed=0, progress=False)


def test_new_probabilities_are_those_of_drawn_new_nodes(graph, many, hung):
    prior, post = many
    found = new_probability(post, prior, graph.degrees, hung)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    expected = by_drawing(post, prior, graph, hung)
    error = np.sqrt(2 * expected * (1 - expected) / 20_000)
    assert (abs(found - expected)[:4] < 4 * error[:4]).all()
    assert abs(found[0] - 1 / 3).max() > 0.1
    np.testing.assert_array_equal(found[4], np.full(3, 1 / 3))
    sparsely = new_probability(post, prior, graph.degrees, sparse.csr_array(hung))
    np.testing.assert_array_equal(sparsely, found)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("/ np.sqrt(degrees)[:, None]", ""),
        ("loads *= np.sqrt(precision)[:, None]", "loads *= precision[:, None]"),
    ],
)
def test_a_mistake_in_the_formula_would_show(graph, many, hung, right, wrong):
    prior, post = many
    found = mutated(out_of_sample.new_probability, right, wrong)(post, prior, graph.degrees, hung)
    expected = by_drawing(post, prior, graph, hung)
    error = np.sqrt(2 * expected * (1 - expected) / 20_000)
    assert (abs(found - expected)[:4] > 6 * error[:4]).any()


@pytest.fixture(scope="module")
def fitted(clumps):
    X, y = clumps
    known = np.where(np.arange(60) < 15, y, None)
    model = gq.BayesianGraphClassifier(
        gq.Probit(0.1), alpha=2.0, n_neighbors=6, draws=300, chains=2, seed=None
    )
    return model.fit(X, known), known


def test_the_estimator_serves_many_classes(clumps, fitted):
    X, y = clumps
    model, _ = fitted
    assert model.classes_.tolist() == ["ant", "bee", "cow"]
    assert model.posterior_.accuracy(y) > 0.8
    p = model.predict_proba(X + 0.05)
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X + 0.05), model.classes_[p.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict_proba(X), model.posterior_.probability)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_array_equal(model.predict_proba(X[:1] + 1e6), np.full((1, 3), 1 / 3))
    assert model.score(X + 0.05, y) > 0.8
    assert model.posterior_.suggest(2).size == 2


def test_new_items_are_answered_alike_each_time_and_one_by_one(clumps, fitted):
    X, _ = clumps
    model, _ = fitted
    p = model.predict_proba(X + 0.05)
    np.testing.assert_array_equal(model.predict_proba(X + 0.05), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X + 0.05), p)
    alone = np.vstack([model.predict_proba(x[None]) for x in X[:5] + 0.05])
    np.testing.assert_allclose(alone, p[:5], atol=1e-12)


def test_an_estimator_may_know_of_a_class_that_no_label_shows(clumps, unseen):
    X, y = clumps
    model = gq.BayesianGraphClassifier(
        gq.NoisyProbit(0.1, 0.05), alpha=2.0, n_neighbors=6, draws=400, chains=2
    ).fit(X, unseen)
    assert model.predict_proba(X + 0.05).shape == (60, 4)
    assert np.mean(model.predict(X + 0.05) == y) > 0.8


def test_parameters_are_chosen_for_many_classes_too(clumps, fitted):
    X, y = clumps
    model = gq.BayesianGraphClassifier(draws=200, chains=2, n_neighbors=6).fit(X, fitted[1])
    assert 0.01 <= model.likelihood_.gamma <= 1
    assert model.score(X + 0.05, y) > 0.9


def test_the_approximation_serves_two(clumps, fitted, graph, labels):
    X, _ = clumps
    model, known = fitted
    with pytest.raises(ValueError, match=r"y shows 3 classes.*take method='sample'"):
        gq.BayesianGraphClassifier(method="approximate").fit(X, known)
    assert model.__sklearn_tags__().classifier_tags.multi_class
    quick = gq.BayesianGraphClassifier(method="approximate")
    assert not quick.__sklearn_tags__().classifier_tags.multi_class
