"""Predictions with known shares of the classes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from conftest import quietly
from hypothesis import example, given, reject
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import rel_entr, softmax

import graphuq as gq
from graphuq.posterior.assessment import class_shares as module
from graphuq.posterior.assessment.class_shares import class_weights, reweight

LABELS = gq.Labels([0, 3, 5], ["cat", "dog", "owl"])
THREE = {"cat": 0.5, "dog": 0.3, "owl": 0.2}


@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.6, 0.3, 0.1]])
def test_probabilities_are_the_nearest_with_these_shares(shares):
    """Against a constrained minimum of the divergence over all probabilities."""
    shares = np.array(shares)
    p = softmax(np.random.default_rng(0).standard_normal((6, shares.size)), axis=1)

    def divergence(q):
        return rel_entr(q.reshape(p.shape), p).sum()

    of_rows = {"type": "eq", "fun": lambda q: q.reshape(p.shape).sum(axis=1) - 1}
    of_classes = {"type": "eq", "fun": lambda q: (q.reshape(p.shape).mean(axis=0) - shares)[1:]}
    found = minimize(
        divergence,
        p.ravel(),
        method="SLSQP",
        bounds=[(1e-9, 1)] * p.size,
        constraints=[of_rows, of_classes],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    q = reweight(p, class_weights(p, shares))
    np.testing.assert_allclose(q, found.x.reshape(p.shape), atol=1e-5)
    np.testing.assert_allclose(q.mean(axis=0), shares, atol=1e-9)
    # the ratio of the shares to those predicted is not enough
    once = reweight(p, shares / p.mean(axis=0))
    assert abs(once.mean(axis=0) - shares).max() > 0.01


@example(3, 6.0, 3.0, 547)
@given(
    st.integers(2, 6),
    st.sampled_from([0.1, 1.0, 6.0]),
    st.floats(0.05, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_all_shares_are_met(n_classes, sharpness, unevenness, seed):
    rng = np.random.default_rng(seed)
    p = softmax(sharpness * rng.standard_normal((50, n_classes)), axis=1)
    shares = softmax(unevenness * rng.uniform(-1, 1, n_classes))
    try:
        w = class_weights(p, shares)
    except ValueError:  # only where the weights would differ by more than is allowed
        with mock.patch.object(module, "MAX_LOG_RATIO", np.inf):
            w = class_weights(p, shares)
        assert np.ptp(np.log(w)) > module.MAX_LOG_RATIO
    np.testing.assert_allclose(reweight(p, w).mean(axis=0), shares, atol=1e-9)
    assert w.sum() == pytest.approx(1)
    # the order of two nodes between two classes stays
    odds = reweight(p, w)[:, 0] / reweight(p, w)[:, 1]
    assert (np.argsort(odds) == np.argsort(p[:, 0] / p[:, 1])).all()


def log_density(q, p, shares, strength):
    """What probabilities q maximize under shares of some strength."""
    return -rel_entr(q, p).sum() + strength * (shares * np.log(q.mean(axis=0))).sum()


@pytest.mark.parametrize("strength", [0.5, 6.0, 300.0])
@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.6, 0.3, 0.1]])
def test_shares_of_some_strength_maximize_the_density(shares, strength):
    """Against a maximum over all probabilities, found without the weights."""
    shares = np.array(shares)
    p = softmax(np.random.default_rng(1).standard_normal((6, shares.size)), axis=1)

    def of_logits(z):
        return -log_density(softmax(z.reshape(p.shape), axis=1), p, shares, strength)

    starts = np.random.default_rng(2).standard_normal((3, p.size))
    found = [minimize(of_logits, z, method="BFGS", options={"gtol": 1e-7}).x for z in starts]
    q = reweight(p, class_weights(p, shares, strength))
    for z in found:  # one solution from all starts
        np.testing.assert_allclose(q, softmax(z.reshape(p.shape), axis=1), atol=1e-5)
    raised = p * np.exp(strength * shares / (p.shape[0] * q.mean(axis=0)))
    np.testing.assert_allclose(q, raised / raised.sum(axis=1, keepdims=True), atol=1e-9)
    # mixing the limits at the weight of the strength is another law
    w = strength / (strength + p.shape[0])
    mixed = (1 - w) * p + w * reweight(p, class_weights(p, shares))
    assert abs(mixed - q).max() > 1e-4
    assert log_density(mixed, p, shares, strength) < log_density(q, p, shares, strength)


@given(st.integers(2, 6), st.sampled_from([0.1, 1.0, 6.0]), st.integers(0, 2**32 - 1))
def test_strength_leads_from_the_probabilities_to_the_shares(n_classes, sharpness, seed):
    rng = np.random.default_rng(seed)
    p = softmax(sharpness * rng.standard_normal((50, n_classes)), axis=1)
    shares = softmax(rng.uniform(-2, 2, n_classes))
    strengths = [0, 1e-250, 1e-9, 1, 7, 50, 400, 1e4, 1e9, 1e250, np.inf]
    try:
        each = [reweight(p, class_weights(p, shares, strength)) for strength in strengths]
    except ValueError as error:  # where nearly all nodes are certain, shares may be out of reach
        if sharpness < 6.0 or "cannot be met" not in str(error):
            raise
        reject()
    np.testing.assert_allclose(np.sum(each, axis=2), 1)
    for q in each[:3]:
        np.testing.assert_allclose(q, p, atol=1e-8)
    for q in each[-3:]:
        np.testing.assert_allclose(q, each[-1], atol=1e-5)
    divergences = [rel_entr(shares, q.mean(axis=0)).sum() for q in each]
    assert (np.diff(divergences) < 1e-9).all()
    changes = [rel_entr(q, p).sum() for q in each]
    assert (np.diff(changes) > -1e-9).all()
    # neither names nor copies of items matter
    order = rng.permutation(n_classes)
    turned = class_weights(p[:, order], shares[order], 50)
    np.testing.assert_allclose(turned, class_weights(p, shares, 50)[order], rtol=1e-7)
    twice = class_weights(np.vstack([p, p]), shares, 100)
    np.testing.assert_allclose(twice, class_weights(p, shares, 50), rtol=1e-7)


def test_weak_shares_do_not_contradict_certain_nodes():
    certain = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0], [0.5, 0.5]])
    shares = np.array([0.5, 0.5])
    q = reweight(certain, class_weights(certain, shares, 10))
    assert 0.15 < q[:, 1].mean() < 0.2
    np.testing.assert_array_equal(q[:9], certain[:9])
    with pytest.raises(ValueError, match="give the shares less strength"):
        class_weights(certain, shares, 1e4)
    impossible = np.array([[1.0, 0.0]] * 5)
    with pytest.raises(ValueError, match="cannot be met"):
        class_weights(impossible, shares, 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_shares_bring_predictions_nearer_to_the_exact_posterior(n_classes):
    """The exact one is that of draws of all true classes whose counts are near the true counts."""
    rng = np.random.default_rng(3)
    n, gamma = 120, 0.3
    graph = gq.knn_graph(rng.standard_normal((n, 2)), 8, connect=True)
    prior, model = gq.Prior.projected(graph, 12, alpha=2.0) + gq.Level(1.0), gq.Probit(gamma)
    nodes = rng.choice(n, 6, replace=False)
    values = np.arange(6) % n_classes
    labels = gq.Labels(nodes, values, classes=range(n_classes))
    post = quietly(prior, model, labels, draws=5000, seed=0, progress=False)
    fields = np.concatenate(list(post.latent_draws(seed=1))).reshape(20_000, n, -1)
    noisy = fields + gamma * rng.standard_normal(fields.shape)
    classes = (noisy[..., 0] > 0) if n_classes == 2 else noisy.argmax(axis=2)
    counts = np.stack([(classes == k).sum(axis=1) for k in range(n_classes)], axis=1)
    shares = np.array([0.8, 0.2] if n_classes == 2 else [0.5, 0.3, 0.2])
    given_shares = (abs(counts - n * shares) < 0.05 * n).all(axis=1)
    assert given_shares.sum() > 200
    exact = np.stack([(classes[given_shares] == k).mean(axis=0) for k in range(n_classes)], axis=1)

    def distance(p):
        return rel_entr(exact, p).sum(axis=1).mean()

    told = post.with_class_shares(dict(enumerate(shares)))
    wrong = post.with_class_shares(dict(enumerate(shares[::-1])))
    assert distance(told.by_class) < 0.5 * distance(post.by_class)
    assert distance(wrong.by_class) > distance(post.by_class)


@pytest.mark.parametrize("strength", [5, 20])
def test_a_strength_in_units_of_the_posterior_is_near_the_exact_one(strength):
    """The exact one weighs draws of all true classes by how probable they make S items seen."""
    rng = np.random.default_rng(3)
    n, gamma, shares = 120, 0.3, {0: 0.8, 1: 0.2}
    graph = gq.knn_graph(rng.standard_normal((n, 2)), 8, connect=True)
    prior = gq.Prior.projected(graph, 12, alpha=2.0) + gq.Level(1.0)
    labels = gq.Labels(rng.choice(n, 6, replace=False), [0, 1] * 3)
    post = quietly(prior, gq.Probit(gamma), labels, draws=5000, seed=0, progress=False)
    fields = np.concatenate(list(post.latent_draws(seed=1)))
    second = fields + gamma * rng.standard_normal(fields.shape) > 0
    share = second.mean(axis=1)
    weights = (1 - share) ** (strength * shares[0]) * share ** (strength * shares[1])
    assert weights.sum() ** 2 / (weights**2).sum() > 1000
    exact = weights @ second / weights.sum()

    def distance(strength):
        p = post.with_class_shares(shares, strength=strength).by_class
        return rel_entr(np.stack([1 - exact, exact], axis=1), p).sum(axis=1).mean()

    together = n * share.var() / (share.mean() * (1 - share.mean()))
    assert distance(strength * together) < 0.25 * distance(0)
    # items as if they were independent are far from it, and exact shares too
    assert distance(strength * together) < 0.5 * distance(strength)
    assert distance(strength * together) < 0.5 * distance(np.inf)


@pytest.mark.parametrize("kind", ["sampled", "approximate", "MAP", "classifier"])
def test_every_result_takes_shares(small, kind):
    spectrum, labels, y = small
    problem = gq.Prior.projected(spectrum, 8, alpha=2.0), gq.Probit(0.5), labels
    graph = np.exp(-abs(np.subtract.outer(np.arange(40), np.arange(40))))
    result = {
        "sampled": lambda: quietly(*problem, draws=50, seed=0, progress=False),
        "approximate": lambda: gq.approximate(*problem),
        "MAP": lambda: gq.map_estimate(*problem),
        "classifier": lambda: gq.LaplaceLearning().fit(graph, labels),
    }[kind]()
    before = result.by_class.copy()
    told = result.with_class_shares({0: 0.45, 1: 0.55})
    np.testing.assert_allclose(told.by_class.mean(axis=0), [0.45, 0.55], atol=1e-9)
    np.testing.assert_array_equal(result.by_class, before)
    assert told.calibration(y).curve["count"].sum() == 40 - len(labels)
    # shares as predicted change nothing
    same = result.with_class_shares(dict(enumerate(before.mean(axis=0))))
    np.testing.assert_allclose(same.by_class, before, atol=1e-9)


@pytest.mark.parametrize(
    ("shares", "error", "message"),
    [
        ([0.5, 0.3, 0.2], TypeError, r"a dict from each class to its share, such as \{'cat': 0.1"),
        ({"cat": 0.5, "dog": 0.5}, ValueError, r"leaves out \['owl'\]: give the share of every"),
        (THREE | {"cow": 0.1}, ValueError, "names 'cow', which is not a class"),
        (["cat"] * 3, TypeError, "must be a dict"),
        ({"cat": 50, "dog": 30, "owl": 20}, ValueError, "must sum to 1, got 100: divide each by"),
        (THREE | {"owl": 0.3}, ValueError, "must sum to 1, got 1.1: divide each by their sum"),
        (THREE | {"owl": -0.2}, ValueError, "must be positive, got -0.2 for 'owl'"),
        ({"cat": 0.5, "dog": 0.5, "owl": 0.0}, ValueError, "keep only classes that occur"),
        (THREE | {"owl": "0.2"}, TypeError, "the share of 'owl' must be a number, got '0.2'"),
        (THREE | {"owl": np.nan}, ValueError, "the share of 'owl' must be finite"),
    ],
)
def test_shares_that_are_none_are_refused_before_any_work(shares, error, message):
    X = np.random.default_rng(0).standard_normal((10, 2))
    model = gq.BayesianGraphClassifier(class_shares=shares, n_neighbors=3)
    with (
        mock.patch("graphuq.classifiers.bayesian.Neighbors", side_effect=AssertionError),
        pytest.raises(error, match=message),
    ):
        model.fit(X, LABELS)


@pytest.mark.parametrize(
    ("strength", "error", "message"),
    [
        (-1, ValueError, "must not be negative or NaN, got -1: give the number of items that"),
        (np.nan, ValueError, "must not be negative or NaN, got nan: give the number of items"),
        ("50", TypeError, "must be a number, got '50': give the number of items that the shares"),
        (None, TypeError, "must be a number, got None"),
        (True, TypeError, "must be a number, got True"),
        ([50], TypeError, "must be a number, got"),
        (np.timedelta64(50, "s"), TypeError, "must be a number, got"),
    ],
)
def test_strengths_that_are_none_are_refused_before_any_work(strength, error, message):
    X = np.random.default_rng(0).standard_normal((10, 2))
    told = {"class_shares": THREE, "class_shares_strength": strength}
    with (
        mock.patch("graphuq.classifiers.bayesian.Neighbors", side_effect=AssertionError),
        pytest.raises(error, match="class_shares_strength " + message),
    ):
        gq.BayesianGraphClassifier(n_neighbors=3, **told).fit(X, LABELS)
    model = gq.LaplaceLearning().fit(np.ones((6, 6)) - np.eye(6), LABELS)
    with pytest.raises(error, match="strength " + message):
        model.with_class_shares(THREE, strength=strength)


def test_a_strength_without_shares_is_refused():
    model = gq.BayesianGraphClassifier(class_shares_strength=50, n_neighbors=3)
    X = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(ValueError, match="50 without class_shares, so that it has no effect"):
        model.fit(X, LABELS)


def test_shares_against_certain_nodes_are_refused():
    certain = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0], [0.5, 0.5]])
    met = reweight(certain, class_weights(certain, np.array([0.85, 0.15])))
    np.testing.assert_allclose(met.mean(axis=0), [0.85, 0.15])
    for share in (0.5, 0.95):  # from eight to nine in ten can be had
        with pytest.raises(ValueError, match="cannot be met: on average the probabilities are"):
            class_weights(certain, np.array([share, 1 - share]))


@pytest.mark.parametrize("affinity", ["self-tuning", "precomputed"])
def test_new_items_get_the_weights_of_fitted_ones(affinity):
    X, y = gq.datasets.two_moons(80, seed=0)
    y = np.where(np.arange(80) % 8 == 0, y, -1)
    options = {"affinity": affinity, "method": "approximate", "alpha": 2.0, "level": 0.5}
    if affinity == "precomputed":
        X = gq.knn_graph(X, 8, connect=True).adjacency
    model = gq.BayesianGraphClassifier(gq.Probit(0.5), graph_weight=1.0, **options)
    plain = model.fit(X, y).predict_proba(X)
    assert model.predictions_ is model.posterior_
    told = model.set_params(class_shares={0: 0.3, 1: 0.7}).fit(X, y)
    assert (told.transduction_ == told.predictions_.prediction).all()
    w = told.predictions_.class_weights
    np.testing.assert_allclose(told.predict_proba(X), reweight(plain, w))
    if affinity == "self-tuning":  # an item that equals a fitted one
        np.testing.assert_allclose(told.predict_proba(X), told.predictions_.by_class)
    guess = told.set_params(class_shares_strength=80).fit(X, y).predictions_
    assert 0.3 < guess.by_class[:, 0].mean() < told.posterior_.by_class[:, 0].mean()
    assert repr(guess) == "ReweightedPredictions(80 nodes, shares 0.3 of 0, 0.7 of 1, strength 80)"
