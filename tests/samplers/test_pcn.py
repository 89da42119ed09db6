"""pCN against exact answers, and wrong versions of it that must fail the same check."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import priors, quietly
from numba import njit
from references.exact import errors_in_mcse, exact_mean
from references.mutation import plant
from references.selection import each_once, first_of

import graphuq as gq
from graphuq.likelihoods.bound import bind
from graphuq.samplers import pcn
from graphuq.samplers.protocol import Target

MODELS = {"probit": gq.Probit(0.3), "level-set": gq.LevelSet(0.7)}


@pytest.mark.parametrize(
    ("kind", "model"), each_once(["projected", "full", "approximated"], MODELS)
)
def test_node_means_are_exact(small, kind, model):
    spectrum, labels, _ = small
    prior, likelihood = priors(spectrum, 8)[kind], MODELS[model]
    nodes = np.array([0, 2, 7, 9, 13, 16, 21, 25, 27, 30, 34, 38])
    exact = exact_mean(prior, likelihood, labels, nodes)
    post = gq.sample(prior, likelihood, labels, gq.PCN(), draws=2000, seed=1, progress=False)
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, exact, nodes).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    first_of(
        [
            ("min(0.0, ...)", "min(0.0, 0.5 * ...)"),
            ("min(0.0, ...)", "0.0"),
            ("math.sqrt(1.0 - beta * beta)", "1.0 - beta"),
            ("now = there", "pass"),
        ]
    ),
    ids=["tempered acceptance", "accept all", "wrong contraction", "stale potential"],
)
def test_negative_controls_fail(small, monkeypatch, right, wrong):
    spectrum, labels, _ = small
    plant(monkeypatch, pcn, "_walk", right, wrong, every=True)
    prior = gq.Prior.approximated(spectrum, 8)
    nodes = np.arange(40)
    exact = exact_mean(prior, gq.Probit(0.3), labels, nodes)
    post = quietly(
        prior, MODELS["probit"], labels, gq.PCN(beta=0.5), draws=2000, seed=1, progress=False
    )
    assert errors_in_mcse(post, exact).max() > 5


@njit
def _gaussian(u, seen):
    misfit = 0.0
    for j in range(seen.y.size):
        misfit += (seen.y[j] - u[seen.rows[j], 0]) ** 2
    return misfit / (2 * seen.parameters[0] ** 2)


@dataclass(frozen=True)
class GaussianLabels:
    """A user's plugin with a closed-form posterior."""

    gamma: float
    reads = "labelled"
    potential = staticmethod(_gaussian)


@dataclass(frozen=True)
class GaussianEverywhere(GaussianLabels):
    reads = "all"


def deviation_at_power(power):
    """Errors of the mean field at a power of the likelihood, the largest, in standard errors."""
    prior = gq.Prior.full(gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]]))
    labels = gq.Labels([0, 1, 3], [0, 1, 1])
    target = Target(prior.at(labels.nodes), bind(GaussianLabels(0.5), labels, 4), power)
    sampler, rng = gq.PCN(beta=0.4), np.random.default_rng(0)
    state = sampler.start(target, rng)
    _, chunk = sampler.advance(target, state, rng, draws=4000, thin=40, tune=False)
    C = prior.covariance(labels.nodes, labels.nodes)
    mean = C @ np.linalg.solve(C + 0.25 / power * np.eye(3), labels.codes)
    batches = chunk.fields[:, 0].reshape(40, 100, 3).mean(axis=1)
    return float((abs(batches.mean(0) - mean) / (batches.std(0, ddof=1) / np.sqrt(40))).max())


@pytest.mark.parametrize("power", [0.1, 0.4, 1.0])
def test_powers_of_a_likelihood_have_closed_form_posteriors(power):
    assert deviation_at_power(power) < 4.5


def test_powers_that_are_forgotten_fail(monkeypatch):
    plant(monkeypatch, pcn, "_walk", "_tempered(there, power)", "there")
    assert deviation_at_power(0.4) > 4.5


@pytest.mark.parametrize("plugin", [GaussianLabels, GaussianEverywhere])
@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_gaussian_plugin_has_its_closed_form_posterior(small, kind, plugin):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    C = prior.law.covariance()
    J = labels.nodes
    gain = C[:, J] @ np.linalg.inv(C[np.ix_(J, J)] + 0.5**2 * np.eye(J.size))
    mean, covariance = gain @ labels.codes, C - gain @ C[J]
    traced = [3, 0, 30]
    post = gq.sample(prior, plugin(0.5), labels, draws=2000, seed=2, nodes=traced, progress=False)
    ess = post.diagnostics().ess
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(abs(post.latent_mean - mean), 5 * sd / np.sqrt(ess))
    np.testing.assert_allclose(post.latent_variance, sd**2, rtol=5 * np.sqrt(2 / ess))
    # traces of modes and nodes: their own moments, and z = Q' u / sigma on the modes' span
    sigma_q = np.sqrt(prior.sigma**2 - prior.tail**2)[:, None] * spectrum.vectors[:, :8].T
    to_modes = (sigma_q / prior.sigma[:, None] ** 2) if kind == "projected" else None
    expected = sigma_q @ np.linalg.pinv(C, hermitian=True) @ mean
    modes = post.draws.modes.reshape(-1, 8)
    np.testing.assert_array_less(abs(modes.mean(0) - expected), 5 / np.sqrt(ess))
    field = post.draws.field.reshape(-1, 3)
    np.testing.assert_array_less(abs(field.mean(0) - mean[traced]), 5 * sd[traced] / np.sqrt(ess))
    np.testing.assert_allclose(
        np.cov(field.T), covariance[np.ix_(traced, traced)], atol=5 * np.sqrt(2 / ess)
    )
    if to_modes is not None:
        np.testing.assert_allclose(modes @ sigma_q[:, traced], field, atol=1e-8)


def test_prior_moments_come_back_when_the_labels_say_nothing(small):
    spectrum, labels, _ = small
    post = gq.sample(
        gq.Prior.approximated(spectrum, 8),
        gq.LevelSet(gamma=1e6),
        labels,
        gq.PCN(beta=1.0, thin=1),
        draws=4000,
        seed=4,
        progress=False,
    )
    assert abs(post.mean).max() < 5 / np.sqrt(16000)
    np.testing.assert_allclose(post.latent_variance.mean(), 1, rtol=0.05)
    np.testing.assert_allclose(post.draws.modes.var(), 1, rtol=0.05)


def test_standard_errors_are_honest(small):
    """Over independent runs, (mean - exact) / mcse has mean square about one."""
    spectrum, labels, _ = small
    prior, nodes = gq.Prior.approximated(spectrum, 8), np.array([2, 11, 21, 33])
    exact = exact_mean(prior, gq.Probit(0.3), labels, nodes)
    scores = []
    for seed in range(60):
        post = gq.sample(
            prior, gq.Probit(0.3), labels, draws=250, thin=20, seed=seed, progress=False
        )
        scores.append((post.mean[nodes] - exact) / post.mcse[nodes])
    assert 0.6 < np.mean(np.square(scores)) < 1.5


def test_beta_is_adapted_in_warm_up_only(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    run = {"draws": 500, "seed": 0, "progress": False}
    adapted = gq.sample(prior, gq.Probit(0.05), labels, gq.PCN(target_acceptance=0.4), **run)
    assert (np.ptp(adapted.draws.stats["beta"], axis=1) == 0).all()
    assert abs(adapted.draws.stats["acceptance_rate"].mean() - 0.4) < 0.05
    fixed = gq.sample(prior, gq.Probit(0.05), labels, gq.PCN(beta=0.3), **run)
    assert (fixed.draws.stats["beta"] == 0.3).all()


@pytest.mark.parametrize("beta", [0, -0.1, 1.1, float("nan")])
def test_beta_outside_its_range_is_refused(beta):
    with pytest.raises(ValueError, match="beta must"):
        gq.PCN(beta=beta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "model"),
    first_of(itertools.product(["approximated", "full", "projected"], MODELS)),
)
def test_voting_records_are_exact_at_every_node(vote, kind, model):
    """Section 5.3 of the paper, with gamma = 0.1 and 3 + 2 labels."""
    spectrum, party = vote
    prior = priors(spectrum, 150)[kind]
    likelihood = {"probit": gq.Probit(0.1), "level-set": gq.LevelSet(0.1)}[model]
    labels = gq.reveal(party, counts={0: 3, 1: 2}, seed=0)
    exact = exact_mean(prior, likelihood, labels, np.arange(435))
    post = gq.sample(prior, likelihood, labels, gq.PCN(), draws=1000, seed=1, progress=False)
    assert post.mcse.max() <= 0.02
    assert errors_in_mcse(post, exact).max() < 5
