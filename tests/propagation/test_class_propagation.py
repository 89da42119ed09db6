"""The approximate posterior of K > 2 classes against orthants, draws and dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from references.exact import class_evidence, class_probabilities
from references.problems import THREE, UNSEEN
from references.selection import shown
from scipy import integrate
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

import graphuq as gq
from graphuq.likelihoods import argmax_probability
from graphuq.likelihoods.argmax_probability import (
    argmax_probability_of_draws,
    argmax_probability_of_gaussian,
)
from graphuq.likelihoods.bound import bind
from graphuq.propagation import class_propagation
from graphuq.propagation.gaussian_sites import classes_at_labeled

MODELS = [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(1.0)]
NODES = np.array([0, 3, 20, 38])


def sign_model(prior, model, labels):
    return bind(model, labels, prior.n_nodes).sign_model


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=shown)
def test_the_evidence_is_near_an_orthant_probability(small, model):
    prior = gq.Prior.projected(small[0], 10)
    exact = class_evidence(prior, UNSEEN, *sign_model(prior, model, UNSEEN))
    assert gq.approximate(prior, model, UNSEEN).sites.log_evidence == pytest.approx(exact, abs=0.02)


def test_probabilities_are_near_orthants(small):
    nodes = NODES[1:3]
    prior, model = gq.Prior.approximated(small[0], 10), MODELS[0]
    exact = class_probabilities(prior, UNSEEN, nodes, *sign_model(prior, model, UNSEEN))
    assert abs(gq.approximate(prior, model, UNSEEN).latent_by_class[nodes] - exact).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["projected", "approximated"])
@pytest.mark.parametrize("model", MODELS, ids=shown)
@pytest.mark.parametrize("labels", [THREE, UNSEEN], ids=["each class", "one without labels"])
def test_evidence_and_probabilities_are_near_the_exact_ones(small, kind, model, labels):
    prior = getattr(gq.Prior, kind)(small[0], 10)
    quick = gq.approximate(prior, model, labels)
    noise, cost = sign_model(prior, model, labels)
    assert quick.sites.log_evidence == pytest.approx(
        class_evidence(prior, labels, noise, cost), abs=0.02
    )
    exact = class_probabilities(prior, labels, NODES, noise, cost)
    # with few modes the law of the fields at a node is skewed, unlike a Gaussian
    assert abs(quick.latent_by_class[NODES] - exact).max() < 0.04
    assert abs(quick.latent_by_class[NODES] - exact).mean() < 0.015


def test_leave_one_out_is_what_the_other_labels_say(small):
    prior, model = gq.Prior.projected(small[0], 10), gq.NoisyProbit(0.3, 0.1)
    quick = gq.approximate(prior, model, THREE)
    assert quick.sites.leave_one_out.shape == (3, 3)
    np.testing.assert_allclose(quick.sites.leave_one_out.sum(axis=1), 1)
    arguments = sign_model(prior, model, THREE)
    others = gq.Labels(THREE.nodes[1:], THREE.values[1:], classes=THREE.classes)
    with_label = class_evidence(prior, THREE, *arguments)
    expected = np.exp(with_label - class_evidence(prior, others, *arguments))
    assert quick.sites.leave_one_out[0, THREE.indices[0]] == pytest.approx(expected, abs=0.01)
    assert 0 < quick.calibration().brier < 2


def test_classes_without_information_are_equally_probable(small):
    quick = gq.approximate(gq.Prior.projected(small[0], 10), gq.LevelSet(1e6), THREE)
    assert quick.sites.log_evidence == pytest.approx(3 * np.log(1 / 3))
    others = np.setdiff1d(np.arange(40), THREE.nodes)
    np.testing.assert_allclose(quick.by_class[others], 1 / 3, atol=1e-6)
    np.testing.assert_allclose(quick.by_class, 1 / 3, atol=0.02)  # draws at labeled nodes


def test_names_of_classes_do_not_matter(small):
    prior = gq.Prior.projected(small[0], 10)
    quick = gq.approximate(prior, gq.Probit(0.3), THREE)
    turned = gq.Labels(THREE.nodes, ["z", "c", "b"])
    other = gq.approximate(prior, gq.Probit(0.3), turned)
    assert other.sites.log_evidence == pytest.approx(quick.sites.log_evidence, abs=1e-6)
    np.testing.assert_allclose(other.by_class[3:7][:, [2, 0, 1]], quick.by_class[3:7], atol=1e-4)


@pytest.fixture(scope="module")
def digits():
    """Three digits, 30 labels, under a prior of 60 modes."""
    X, y = gq.datasets.digits()
    of_three = np.isin(y, [3, 8, 9])
    X, y = X[of_three], y[of_three]
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=10), 60, alpha=2.0, tau=0.3)
    return prior, gq.reveal(y, counts=10, seed=0), y


@pytest.fixture(scope="module")
def quick(digits):
    return gq.approximate(digits[0], gq.Probit(0.3), digits[1])


def test_a_long_run_of_the_sampler_agrees(digits, quick):
    prior, labels, y = digits
    post = gq.sample(prior, gq.Probit(0.3), labels, draws=1500, seed=0, progress=False)
    error = abs(quick.by_class - post.by_class)
    assert error.mean() < 0.01
    assert error.max() < 0.1
    deviation = np.sqrt(post.latent_variance)
    assert (abs(quick.latent_mean - post.latent_mean) / deviation).max() < 0.15
    np.testing.assert_allclose(np.sqrt(quick.latent_variance) / deviation, 1, atol=0.1)
    assert abs(quick.accuracy(y) - post.accuracy(y)) < 0.01


@pytest.mark.slow
def test_annealing_agrees_on_the_evidence(digits, quick):
    annealed = gq.annealed_evidence(digits[0], gq.Probit(0.3), digits[1], seed=0)
    assert quick.sites.log_evidence == pytest.approx(annealed.log_evidence, abs=0.3)
    # without its correction it would be farther
    assert (
        quick.sites.log_evidence - quick.sites.log_evidence.correction < annealed.log_evidence - 0.2
    )


def test_a_wrong_site_shows(small, monkeypatch):
    """Without the own noise of the label's class the evidence is another."""
    prior, model = gq.Prior.projected(small[0], 10), gq.Probit(1.0)
    exact = class_evidence(prior, THREE, *sign_model(prior, model, THREE))
    right = class_propagation.label_model
    monkeypatch.setattr(
        class_propagation, "label_model", lambda bound: right(bound)._replace(hub=0.01)
    )
    assert abs(gq.approximate(prior, model, THREE).sites.log_evidence - exact) > 0.04


def test_draws_of_the_gaussian_have_its_moments(digits, quick):
    nodes = np.append(digits[1].nodes[:5], [0, 100, 200])
    fields = np.concatenate(list(quick.latent_draws(nodes=nodes, draws=4000, seed=0)))
    assert fields.shape == (4000, 8, 3)
    error = np.sqrt(quick.latent_variance[nodes] / 4000)
    assert (abs(fields.mean(axis=0) - quick.latent_mean[nodes]) < 5 * error).all()
    ratio = fields.var(axis=0) / quick.latent_variance[nodes]
    assert (abs(ratio - 1) < 5 * np.sqrt(2 / 4000)).all()
    share = (fields.argmax(axis=2)[:, :, None] == np.arange(3)).mean(axis=0)[5:]
    np.testing.assert_allclose(share, quick.by_class[nodes[5:]], atol=0.05)


def test_a_start_from_fewer_labels_ends_at_the_same(digits, quick):
    prior, labels, y = digits
    more = gq.Labels(
        [*labels.nodes, *hidden(labels, y)[:3]], [*labels.values, *y[hidden(labels, y)[:3]]]
    )
    fresh = gq.approximate(prior, gq.Probit(0.3), more)
    onward = gq.approximate(prior, gq.Probit(0.3), more, start=quick)
    np.testing.assert_allclose(onward.by_class, fresh.by_class, atol=1e-3)
    assert onward.sites.log_evidence == pytest.approx(fresh.sites.log_evidence, abs=1e-4)


def hidden(labels, y):
    return np.setdiff1d(np.arange(len(y)), labels.nodes)


def test_files_suggestions_and_suspects(quick, tmp_path):
    quick.save(tmp_path / "digits.nc")
    again = gq.load(tmp_path / "digits.nc")
    for name in ("by_class", "latent_mean"):
        np.testing.assert_array_equal(getattr(again, name), getattr(quick, name))
    for name in ("precision", "shift", "leave_one_out"):
        np.testing.assert_array_equal(getattr(again.sites, name), getattr(quick.sites, name))
    assert again.sites.log_evidence == quick.sites.log_evidence
    assert quick.suggest(2).shape == (2,)
    assert quick.suspect_labels()["probability_wrong"].between(0, 1).all()
    assert quick.trust().light == "amber"


def test_new_items_beside_a_node_are_of_its_class(digits, quick):
    prior, labels, _ = digits
    node = labels.nodes[0]
    beside, lonely = 100.0 * np.eye(1, quick.n_nodes, node), np.zeros((1, quick.n_nodes))
    from graphuq.posterior.new_items import new_probability

    found = new_probability(quick, prior, np.ones(quick.n_nodes), np.vstack([beside, lonely]))
    assert found[0].argmax() == labels.indices[0]
    np.testing.assert_allclose(found[1], 1 / 3)


def test_the_gaussian_is_that_of_dense_matrices():
    rng = np.random.default_rng(0)
    J, K, p = 4, 3, 6
    root, others = rng.standard_normal((J, p)), rng.standard_normal((2, p))
    pi, shift = rng.uniform(0.5, 3, (J, K)), rng.standard_normal((J, K))
    shift -= shift.mean(axis=1, keepdims=True)
    # the precision of all K fields in the whitened coordinates
    site = [np.diag(row) - np.outer(row, row) / row.sum() for row in pi]
    precision = np.eye(K * p) + sum(np.kron(site[j], np.outer(root[j], root[j])) for j in range(J))
    mean = np.linalg.solve(precision, (shift.T @ root).ravel())
    for rows in (None, others):
        found = classes_at_labeled(root, pi, shift, rows)
        at = root if rows is None else rows
        means, covariances = found.moments()
        np.testing.assert_allclose(means, at @ mean.reshape(K, p).T)
        for i, row in enumerate(at):
            wide = np.kron(np.eye(K), row)
            np.testing.assert_allclose(covariances[i], wide @ np.linalg.inv(precision) @ wide.T)
        assert found.log_shrunk == pytest.approx(np.linalg.slogdet(precision)[1])


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_class_probabilities_of_a_gaussian_are_orthants(noise):
    rng = np.random.default_rng(1)
    for K in (3, 5):
        root = rng.standard_normal((K, K)) / np.sqrt(K)
        mean, covariance = rng.standard_normal(K), 0.3 * np.eye(K) + root @ root.T
        found = argmax_probability_of_gaussian(mean[None], covariance[None], noise)[0]
        noisy = covariance + noise**2 * np.eye(K)
        for c in range(K):
            turn = np.delete(np.eye(K)[c] - np.eye(K), c, axis=0)
            exact = multivariate_normal.cdf(turn @ mean, cov=turn @ noisy @ turn.T, rng=0)
            assert found[c] == pytest.approx(exact, abs=0.01)


@pytest.fixture(scope="module")
def gaussians():
    """Means and covariances of four numbers, and their probabilities to be the largest."""
    rng = np.random.default_rng(2)
    n, K = 100, 4
    root = rng.standard_normal((n, K, K))
    mean, covariance = 2 * rng.standard_normal((n, K)), root @ root.transpose(0, 2, 1)
    covariance += 0.1 * np.eye(K)
    exact = np.empty((n, K))
    for c in range(K):
        turn = np.delete(np.eye(K)[c] - np.eye(K), c, axis=0)
        for i in range(n):
            cov = turn @ covariance[i] @ turn.T
            exact[i, c] = multivariate_normal.cdf(turn @ mean[i], cov=cov, rng=0)
    return mean, covariance, exact


def test_correlated_numbers_are_drawn_until_their_probabilities_are_known(gaussians, monkeypatch):
    mean, covariance, exact = gaussians
    found = argmax_probability_of_gaussian(mean, covariance, 0.0)
    error = abs(found - exact).max(axis=1)
    assert error.max() < 0.01
    assert error.mean() < 0.002
    alone = argmax_probability_of_gaussian(mean[:1], covariance[:1], 0.0)
    np.testing.assert_allclose(found[:1], alone, atol=1e-12)
    order = [2, 0, 3, 1]
    turned = argmax_probability_of_gaussian(mean[:, order], covariance[:, order][:, :, order], 0.0)
    np.testing.assert_allclose(turned, found[:, order], atol=1e-10)
    monkeypatch.setattr(argmax_probability, "MAX_PAIRS", 4)
    few = argmax_probability_of_gaussian(mean, covariance, 0.0)
    assert abs(few - exact).max() > 0.05


def test_deviations_may_differ_by_much():
    u, deviation = np.array([[[0.1, 0.0, -1.0, -9.0]]]), np.array([[0.2, 1.0, 3.2, 0.5]])
    found = argmax_probability_of_draws(u, deviation)[0, 0]
    for c in range(4):
        others = np.delete(np.arange(4), c)

        def density(x, c=c, others=others):
            below = ndtr((x - u[0, 0, others]) / deviation[0, others]).prod()
            return norm.pdf(x, u[0, 0, c], deviation[0, c]) * below

        exact = integrate.quad(density, -20, 20, points=[0.0, 0.1, 0.2], limit=500)[0]
        assert found[c] == pytest.approx(exact, abs=1e-6)


def test_variances_may_differ_by_any_factor():
    mean, deviation = np.array([[0.1, 0.0, -0.5]]), np.array([1e-4, 1.0, 3.0])
    found = argmax_probability_of_gaussian(mean, np.diag(deviation**2)[None], 0.0)[0]
    below = ndtr((0.1 - mean[0, 1:]) / deviation[1:])
    assert found[0] == pytest.approx(below.prod(), abs=0.005)
    assert found.sum() == pytest.approx(1)


def test_rounding_may_leave_a_covariance_indefinite():
    direction = np.random.default_rng(0).standard_normal((8, 5, 1))
    exact = direction @ direction.transpose(0, 2, 1)
    rounded = exact.astype(np.float32).astype(float)
    assert np.linalg.eigvalsh(rounded).min() < -1e-8
    mean = np.zeros((8, 5))
    found = argmax_probability_of_gaussian(mean, rounded, 0.0)
    np.testing.assert_allclose(found, argmax_probability_of_gaussian(mean, exact, 0.0), atol=0.01)


def test_fields_without_variance_win_or_tie():
    mean = np.array([[9.0, 0, 0], [1, 1, 1]])
    found = argmax_probability_of_gaussian(mean, np.zeros((2, 3, 3)), 0.0)
    np.testing.assert_allclose(found, [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
