"""What to label next with K > 2 classes: scores against exact answers."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from conftest import KnownDraws, quietly
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from references.mutation import plant
from scipy import integrate
from scipy.special import entr, ndtr
from scipy.stats import multivariate_normal, norm

import graphuq as gq
from graphuq.likelihoods.argmax_probability import argmax_probability
from graphuq.posterior.assessment.suggestion import (
    BY_DRAWS,
    BY_PRIOR,
    Answers,
    answer_probability,
    inverse,
)

METHODS = BY_DRAWS + BY_PRIOR
DRAWS = 100_000

# Three unlabeled nodes: the means of three fields, and the covariance of each field
MEAN = np.array([[0.4, 0.0, -0.6], [0.0, 0.3, 0.2], [0.9, -0.2, 0.1]])
ROOT = np.array([[0.9, 0, 0], [0.5, 0.6, 0], [-0.4, 0.3, 0.7]])
COVARIANCE = ROOT @ ROOT.T
SIGN_MODELS = [(0.5, 0.0), (0.7, 0.1)]


def known(draws, sign_model=None):
    """Nodes 0 and 1 are labeled; the labels themselves play no part."""
    N, K = draws.shape[1:]
    p = (draws.argmax(axis=2)[..., None] == np.arange(K)).mean(axis=0)
    variance = K / (K - 1) * (1 - (p**2).sum(axis=1))
    prior = gq.Prior.full(gq.Graph(np.ones((N, N)) - np.eye(N)))
    return KnownDraws(
        prior=prior,
        labels=gq.Labels([0, 1], [0, 1], classes=range(K)),
        mean=p,
        variance=variance,
        by_class=p,
        mcse=0 * p,
        latent_mean=draws.mean(axis=0),
        latent_variance=draws.var(axis=0),
        settings={"prior": prior.fingerprint(), "sign_model": sign_model},
        fields=draws,
    )


@pytest.fixture(scope="module")
def three():
    """A posterior of five nodes of which two are labeled, and exactly known."""
    white = np.random.default_rng(0).standard_normal((DRAWS, 3, 3))
    u = MEAN + np.einsum("ij,tjk->tik", ROOT, white)
    return known(np.concatenate([np.ones((DRAWS, 2, 3)), u], axis=1))


def scored(post, method, sign_model, answers=Answers):
    at = np.arange(2, post.n_nodes)
    return answers(post, post.prior, at, method, sign_model, None).scores()


# The probability that each of some noisy numbers is the largest


def by_quadrature(v, c):
    others = np.delete(v, c)
    return integrate.quad(
        lambda x: norm.pdf(x - v[c]) * ndtr(x - others).prod(), v.min() - 9, v.max() + 9,
        epsabs=1e-13, limit=400, points=[v[c]],
    )[0]  # fmt: skip


@pytest.mark.parametrize(("K", "tolerance"), [(3, 1e-8), (10, 1e-7), (100, 1e-4)])
def test_the_largest_is_what_quadrature_says(K, tolerance):
    rng = np.random.default_rng(K)
    for scale in (0.0, 1.0, 4.0):
        v = scale * rng.standard_normal(K)
        found = argmax_probability(0.3 * v[None], 0.3)[0]
        assert found.sum() == pytest.approx(1)
        for c in (0, K // 2, v.argmax()):
            assert found[c] == pytest.approx(by_quadrature(v, c), abs=tolerance)


@settings(max_examples=60, deadline=None)
@given(
    u=st.lists(st.floats(-50, 50), min_size=2, max_size=2),
    noise=st.floats(0.01, 10),
    far=st.floats(100, 1e6),
)
def test_for_two_fields_it_is_the_normal_distribution_function(u, noise, far):
    u = np.array(u)
    exact = ndtr((u[1] - u[0]) / (noise * np.sqrt(2)))
    assert argmax_probability(u, noise)[1] == pytest.approx(exact, abs=1e-8)
    more = np.append(u, u.min() - far * noise)
    np.testing.assert_allclose(
        argmax_probability(more, noise), np.append(argmax_probability(u, noise), 0), atol=1e-8
    )


def test_without_noise_it_is_certain_and_a_flip_makes_any_other():
    u = np.array([[0.1, 0.3, 0.2], [2.0, 1.0, 0.0]])
    np.testing.assert_array_equal(argmax_probability(u, 0.0), [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(answer_probability(u, 0.0, 0.2), [[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]])


# Scores.


@functools.cache
def joint_probabilities(noise):
    """P(l_i = a, y_j = c) by orthants of differences, shape (3, 3, 3, 3) of i, j, a, c."""
    joint = np.empty((3, 3, 3, 3))
    others = [[k for k in range(3) if k != c] for c in range(3)]
    for i, j, a, c in np.ndindex(joint.shape):
        own, rest = np.array([a, a, c, c]), np.array(others[a] + others[c])
        node = np.array([i, i, j, j])
        spread = COVARIANCE[np.ix_(node, node)]
        spread[2:, 2:] += noise**2
        same = np.equal.outer
        of_classes = same(own, own) * 1.0 - same(own, rest) - same(rest, own) + same(rest, rest)
        gap = MEAN[node, own] - MEAN[node, rest]
        joint[i, j, a, c] = multivariate_normal.cdf(
            gap, np.zeros(4), spread * of_classes, allow_singular=True, rng=0, abseps=1e-4
        )
    return joint


def expected_reductions(noise, flip):
    """K / (K - 1) sum_i tr(Var l_i - E Var(l_i | y_j)), by Bayes' rule."""
    flips = (1 - flip) * np.eye(3) + flip / 2 * (1 - np.eye(3))
    joint = joint_probabilities(noise) @ flips
    label, answer = joint.sum(axis=3), joint.sum(axis=2)
    given_answer = joint / answer[:, :, None]
    before = 1 - (label**2).sum(axis=2)
    after = (answer * (1 - (given_answer**2).sum(axis=2))).sum(axis=2)
    return 1.5 * (before - after).sum(axis=0)


@pytest.mark.parametrize("sign_model", SIGN_MODELS)
def test_variance_reduction_is_what_orthants_give(three, sign_model):
    exact = expected_reductions(*sign_model)
    score = scored(three, "variance_reduction", sign_model)
    # each of 3 x 9 covariances has an error of T^(-1/2) / 4 at most, and its square twice that
    # times the covariance, over a probability: 3 nodes' sums of about 1
    tolerance = 4 * 3 / np.sqrt(DRAWS)
    np.testing.assert_allclose(score, exact, atol=tolerance)
    assert np.ptp(exact) > 2 * tolerance
    wrong = expected_reductions(sign_model[0], sign_model[1] + 0.1)
    assert abs(score - wrong).max() > tolerance


@pytest.mark.parametrize("sign_model", SIGN_MODELS)
def test_bald_is_what_quadrature_gives(three, sign_model):
    noise, flip = sign_model
    points, weights = hermegauss(24)
    z = np.stack(np.meshgrid(points, points, points, indexing="ij"), -1).reshape(-1, 3)
    mass = np.prod(np.stack(np.meshgrid(weights, weights, weights), -1).reshape(-1, 3), axis=1)
    mass /= mass.sum()
    exact = []
    for mean, variance in zip(MEAN, np.diag(COVARIANCE), strict=True):
        v = (mean + np.sqrt(variance) * z) / noise
        p = np.zeros_like(v)
        for x, w in zip(points, weights / weights.sum(), strict=True):
            for c in range(3):
                others = v[:, [k for k in range(3) if k != c]]
                p[:, c] += w * ndtr(v[:, [c]] + x - others).prod(axis=1)
        p = (1 - flip) * p + flip / 2 * (1 - p)
        exact.append(entr(mass @ p).sum() - mass @ entr(p).sum(axis=1))
    tolerance = 4 * np.log(3) / np.sqrt(DRAWS)
    np.testing.assert_allclose(scored(three, "bald", sign_model), exact, atol=tolerance)
    # a noise confused with its variance would fail here
    assert abs(scored(three, "bald", (noise**2, flip)) - exact).max() > 2 * tolerance


@pytest.mark.parametrize("method", BY_DRAWS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_two_fields_score_as_their_difference_does(method, noise):
    rng = np.random.default_rng(1)
    u = (
        rng.standard_normal((2000, 7))
        + 0.8 * rng.standard_normal((2000, 1))
        + np.linspace(-1, 1, 7)
    )
    half = rng.standard_normal(u.shape)
    fields = np.stack([half - u / 2, half + u / 2, np.full(u.shape, -1e3)], axis=2)
    post = known(fields)  # the third class never occurs
    at = np.arange(2, 7)
    three = Answers(post, post.prior, at, method, (noise / np.sqrt(2), 0.0), None)
    labels = gq.Labels([0, 1], [0, 1])
    difference = dataclasses.replace(post, fields=u, labels=labels)
    one = Answers(difference, post.prior, at, method, (noise, 0.0), None)
    scale = 1.0 if method == "bald" else 2 / 1.5  # K / (K - 1)
    np.testing.assert_allclose(scale * three.scores(), one.scores(), rtol=2e-4, atol=2e-5)
    for pick in (3, 0):  # given the earlier picks, too
        three.observe(pick)
        one.observe(pick)
        left = [0, 1, 2, 4] if pick == 3 else [1, 2, 4]
        np.testing.assert_allclose(
            scale * three.scores()[left], one.scores()[left], rtol=2e-3, atol=2e-4
        )


@pytest.mark.parametrize(("noise", "flip"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.2), (0.6, 0.1)])
def test_two_fields_are_answered_as_their_difference(noise, flip):
    u = np.random.default_rng(1).standard_normal((2000, 7, 1))
    half = np.random.default_rng(2).standard_normal(u.shape)
    two = np.concatenate([half - u / 2, half + u / 2], axis=2)
    one = answer_probability(u, noise, flip)
    found = answer_probability(two, noise / np.sqrt(2), flip)
    np.testing.assert_allclose(found, np.concatenate([1 - one, one], axis=2), atol=1e-8)


def test_regression_on_picks_is_that_of_dense_matrices(three):
    few = dataclasses.replace(three, fields=three.fields[:5000])
    at = np.arange(2, 5)
    answers = Answers(few, few.prior, at, "variance_reduction", (0.5, 0.1), None)
    cross, first = answers.cross.astype(float), answers._first.astype(float)
    inner = first.T @ first / 5000
    observed = inner.copy()
    for j, own in enumerate(answers._own):
        observed[3 * j : 3 * j + 3, 3 * j : 3 * j + 3] += own
    p = (few.fields[:, 2:].argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)
    for pick in (1, 2):
        answers.observe(pick)
    gain = inverse(observed[3:, 3:])
    np.testing.assert_allclose(answers.cross, cross - cross[:, 3:] @ gain @ inner[3:], atol=2e-6)
    left = first.T @ answers._left.astype(float) / 5000
    np.testing.assert_allclose(left, inner - inner[:, 3:] @ gain @ inner[3:], atol=2e-6)
    fall = np.einsum("ij,jk,ik->i", cross[:, 3:], gain, cross[:, 3:]).reshape(3, 3).sum(axis=1)
    np.testing.assert_allclose(answers._spread, 1 - (p**2).sum(axis=1) - fall, atol=1e-5)


def twins(noise):
    """Nodes 2 and 3 are one, and so are 4 and 5, somewhat less uncertain, and 6 least of all."""
    u = np.random.default_rng(0).standard_normal((3000, 3, 3))
    u[:, :, 0] += [0.1, 0.5, 1.0]
    return known(
        np.concatenate([np.ones((3000, 2, 3)), u[:, [0, 0, 1, 1, 2]]], axis=1),
        {"noise": noise, "flip_rate": 0.0},
    )


@pytest.mark.parametrize("method", BY_DRAWS)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_twins_are_not_both_picked_before_others(method, noise):
    post = twins(noise)
    assert post.suggest(3, method).tolist() == [2, 4, 6]
    assert sorted(post.suggest(5, method).tolist()) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("method", BY_DRAWS)
def test_without_regression_twins_are_both_picked(method, monkeypatch):
    monkeypatch.setattr(Answers, "observe", lambda self, at: None)
    assert twins(0.1).suggest(3, method).tolist() == [2, 3, 4]


def test_a_forgotten_spread_of_answers_is_seen(three, monkeypatch):
    plant(monkeypatch, Answers, "scores", "signal + self._own", "signal")
    exact = expected_reductions(0.7, 0.1)
    score = scored(three, "variance_reduction", (0.7, 0.1))
    assert abs(score - exact).max() > 4 * 3 / np.sqrt(DRAWS)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.standard_normal((60, 2)) + 3 * np.repeat([[0, 0], [1, 0], [0, 1]], 20, axis=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=6, connect=True))
    return spectrum, gq.reveal(y, counts=2, seed=0)


@pytest.mark.parametrize("kind", ["projected", "approximated"])
@pytest.mark.parametrize(
    "model", [gq.Probit(0.5), gq.LevelSet(0.8), gq.NoisyProbit(0.3, 0.05)], ids=repr
)
def test_sampled_posteriors_suggest_and_repeat_themselves(problem, tmp_path, kind, model):
    spectrum, labels = problem
    prior = getattr(gq.Prior, kind)(spectrum, 10)
    post = quietly(prior, model, labels, draws=100, chains=2, seed=0, progress=False)
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    for method in METHODS:
        picks = post.suggest(4, method, seed=1)
        assert np.unique(picks).size == 4
        assert not np.isin(picks, labels.nodes).any()
        assert np.array_equal(picks, again.suggest(4, method, prior=prior, seed=1))
    first = post.ranking("variance")
    assert post.suggest(1, "variance")[0] == first[~np.isin(first, labels.nodes)][0]


def test_labels_of_fields_are_suggested_too(problem):
    spectrum, labels = problem
    prior, model = gq.Prior.projected(spectrum, 10), gq.GinzburgLandau(1.0, 0.5)
    post = quietly(prior, model, labels, draws=50, chains=2, seed=0, progress=False)
    assert post.settings["sign_model"] is None
    for method in METHODS:
        assert post.suggest(2, method).shape == (2,)


def test_more_than_fits_is_refused(three, monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"in 3 classes .*take fewer candidates$"):
        three.suggest()
    with pytest.raises(MemoryError, match='take fewer candidates, or method="bald"'):
        three.suggest(method="variance_reduction")
