"""Preconditioned HMC against exact answers and the harmonic sampler, and wrong versions."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly
from numba import njit
from references.exact import errors_in_mcse, exact_mean
from references.mutation import plant
from references.selection import SLOW, first_of

import graphuq as gq
from graphuq.likelihoods.bound import bind
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.given_modes import GivenModes
from graphuq.propagation import settle
from graphuq.propagation.gaussian_sites import NotConvergedError
from graphuq.propagation.sign_propagation import propagate
from graphuq.samplers import choice, hilbert_hmc, preconditioned_hmc
from graphuq.samplers.leapfrog import Reference
from graphuq.samplers.protocol import NonFinitePotentialError, Target

NODES = np.array([0, 3, 16, 21, 34])
HMC = gq.PreconditionedHMC()
MODELS = [gq.Probit(0.3), gq.NoisyProbit(0.1, 0.1)]


@pytest.fixture(scope="module")
def many(small):
    """A prior with 8 modes, and labels of all 40 nodes, of which some contradict the others."""
    y = np.repeat([0, 1], 20)
    y[[3, 15, 31]] = 1 - y[[3, 15, 31]]
    prior = gq.SumPrior.of([gq.Prior.projected(small[0], 7), gq.Level(0.5)])
    return prior, gq.Labels(np.arange(40), y)


@pytest.mark.parametrize("model", [*MODELS, gq.Probit(0.05)], ids=repr)
@pytest.mark.parametrize("rank", [pytest.param(3, marks=SLOW), 8])
def test_node_means_are_exact(small, model, rank):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, rank)
    exact = exact_mean(prior, model, labels, NODES)
    post = quietly(prior, model, labels, HMC, draws=4000, seed=1, progress=False)
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, exact, NODES).max() < 5


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_agrees_with_the_harmonic_sampler(many, model):
    prior, labels = many
    options = {"draws": 8000, "seed": 2, "progress": False}
    a = gq.sample(prior, model, labels, HMC, **options)
    b = gq.sample(prior, model, labels, gq.Harmonic(), **options)
    gap = (a.mean - b.mean) / np.hypot(a.mcse, b.mcse).clip(1e-4)
    assert abs(gap).max() < 4.5
    np.testing.assert_allclose(a.latent_variance, b.latent_variance, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    first_of(
        [
            ("0.125 * ...", "0.0 * ..."),
            ("rng.random() < alpha", "rng.random() < alpha + 0.3"),
            ("... + change", "... + 0.5 * change"),
            ("copy_matrix(g, g_start)", "copy_matrix(g, g)"),
        ]
    ),
)
def test_negative_controls_fail(small, monkeypatch, right, wrong):
    spectrum, labels, _ = small
    plant(monkeypatch, hilbert_hmc, "trajectories", right, wrong, every=True)
    # about the prior all of Phi is left, so that mistakes show
    monkeypatch.setattr(preconditioned_hmc, "reference_of", _about_the_prior)
    prior, model = gq.Prior.projected(spectrum, 8), gq.Probit(0.3)
    exact = exact_mean(prior, model, labels, NODES)
    sampler = gq.PreconditionedHMC(step_size=0.6)
    post = quietly(prior, model, labels, sampler, draws=15_000, seed=1, progress=False)
    assert errors_in_mcse(post, exact, NODES).max() > 5


def _about_the_prior(loadings, bound):
    m, p = loadings.shape
    prior = np.zeros(p), np.eye(p), np.ones(p), np.zeros(m), loadings.astype(np.float32)
    return Reference(*prior, tail=0.0)


def test_an_offset_of_the_reference_cancels(small, monkeypatch):
    # any Gaussian leaves the posterior as it is, also one that is wrong
    spectrum, labels, _ = small
    prior, model = gq.Prior.projected(spectrum, 8), gq.Probit(0.3)
    of = preconditioned_hmc.reference_of

    def displaced(loadings, bound):
        right = of(loadings, bound)
        mean, shares = right.mean + 0.3, 0.5 * right.shares
        turned = np.float32(loadings @ (right.axes * np.sqrt(shares)))
        return Reference(mean, right.axes, shares, loadings @ mean, turned, 0.0)

    monkeypatch.setattr(preconditioned_hmc, "reference_of", displaced)
    exact = exact_mean(prior, model, labels, NODES)
    post = quietly(prior, model, labels, HMC, draws=4000, seed=1, progress=False)
    assert errors_in_mcse(post, exact, NODES).max() < 5


@pytest.mark.parametrize("model", [*MODELS, gq.LevelSet(0.7)], ids=repr)
def test_the_reference_is_that_of_expectation_propagation(many, model, monkeypatch):
    monkeypatch.setattr(preconditioned_hmc, "MOVED", 1e-7)
    prior, labels = many
    loadings, bound = prior.mode_loadings(labels.nodes), bind(model, labels, 40)
    sites = propagate(loadings, bound)
    reference = preconditioned_hmc.reference_of(loadings, bound)
    np.testing.assert_allclose(reference.center, sites.mean, atol=1e-4)
    variance = np.square(reference.loadings).sum(axis=1)
    np.testing.assert_allclose(variance, sites.variance, rtol=1e-3)


@pytest.mark.parametrize("converges", [True, False])
def test_the_reference_exists_also_where_sites_do_not_converge(monkeypatch, converges):
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((1500, 30)) * np.linspace(1, 0.1, 30)
    y = np.sign(loadings @ rng.standard_normal(30)) * np.where(rng.random(1500) < 0.2, -1, 1)
    bound = bind(gq.NoisyProbit(0.1, 0.2), gq.Labels(np.arange(1500), y), 1500)
    if not converges:
        monkeypatch.setattr(settle, "MAX_VISITS", 3)
        with pytest.raises(NotConvergedError):
            propagate(loadings, bound)
    reference = preconditioned_hmc.reference_of(loadings, bound)
    assert ((reference.shares > 0) & (reference.shares <= 1)).all()
    assert np.isfinite(reference.mean).all()


def test_the_field_is_that_of_the_modes(many):
    prior, labels = many
    loadings, bound = prior.mode_loadings(labels.nodes), bind(gq.Probit(0.3), labels, 40)
    reference = preconditioned_hmc.reference_of(loadings, bound)
    z = np.random.default_rng(0).standard_normal((3, 8, 1))
    there = reference.center[:, None] + reference.loadings @ z
    np.testing.assert_allclose(loadings @ reference.coefficients(z), there, atol=1e-5)


def test_the_prior_comes_back_where_labels_say_nothing(many):
    prior, labels = many
    post = gq.sample(prior, gq.Probit(1e5), labels, HMC, draws=4000, seed=4, progress=False)
    assert post.draws.stats["acceptance_rate"].mean() > 0.999
    ess = post.diagnostics().ess
    np.testing.assert_array_less(abs(post.latent_mean), 5 / np.sqrt(ess) * 1.5)
    np.testing.assert_allclose(post.latent_variance, prior.variance(), rtol=10 / np.sqrt(ess))


@pytest.mark.slow
def test_standard_errors_are_honest(many):
    prior, labels = many
    runs = [
        quietly(prior, gq.Probit(0.3), labels, HMC, draws=500, seed=seed, progress=False)
        for seed in range(50)
    ]
    spread = np.std([post.mean for post in runs], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([np.square(post.mcse) for post in runs], axis=0))
    wide = claimed > 0.2 * claimed.max()
    assert 0.9 < np.mean(spread[wide] / claimed[wide]) < 1.1


def test_it_adapts_in_warm_up_only(many):
    prior, labels = many
    post = quietly(
        prior, gq.Probit(0.1), labels, gq.PreconditionedHMC(target_acceptance=0.7),
        warmup=1000, seed=0, progress=False,
    )  # fmt: skip
    assert (np.ptp(post.draws.stats["step_size"], axis=1) == 0).all()
    assert abs(post.draws.stats["acceptance_rate"].mean() - 0.7) < 0.1


def test_a_seed_gives_the_same_draws_with_any_number_of_threads(many):
    prior, labels = many
    one, two = (
        quietly(
            prior, gq.Probit(0.3), labels, HMC, draws=50, seed=3, threads=threads, progress=False
        )
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.draws.modes, two.draws.modes, strict=True)
    np.testing.assert_array_equal(one.mean, two.mean, strict=True)


@njit
def _broken(u, seen):
    return np.nan if u[0, 0] > 0.0 else 0.0


def test_a_potential_that_is_not_finite_stops_the_chain(many):
    prior, labels = many
    broken = bind(gq.Probit(0.3), labels, 40)._replace(potential=_broken)
    loadings, rng = prior.mode_loadings(labels.nodes), np.random.default_rng(0)
    target = Target(GivenModes(prior, np.empty(0, dtype=int)).law, broken, loadings=loadings)
    state = HMC.start(target, rng)
    with pytest.raises(NonFinitePotentialError, match="nan") as caught:
        HMC.advance(target, state, rng, draws=500, thin=1, tune=False)
    assert (caught.value.chunk.fields[:, 0] @ loadings[0] <= 0).all()


@pytest.mark.parametrize(
    ("prior", "model", "error"),
    [
        ("approximated", gq.Probit(0.3), "whose modes determine the field"),
        ("projected", gq.LevelSet(0.7), "needs a sign model of two classes with a gradient"),
        ("projected", gq.GinzburgLandau(1.0, 0.5), "needs a sign model of two classes"),
    ],
)
def test_it_refuses_what_it_does_not_support(small, many, prior, model, error):
    prior, labels = getattr(gq.Prior, prior)(small[0], 8), many[1]
    with pytest.raises(ValueError, match=error):
        gq.sample(prior, model, labels, HMC, draws=5, progress=False)


def test_it_is_chosen_where_the_harmonic_sampler_is_slow(many):
    prior, labels = many
    bound = bind(gq.Probit(0.3), labels, 40)
    assert isinstance(choice.choose_sampler("auto", bound, prior), gq.Harmonic)
    for of, chosen in ((1000, gq.Harmonic), (20_000, gq.PreconditionedHMC)):
        more = bound._replace(observed=bound.observed._replace(y=np.ones(of)))
        assert isinstance(choice.choose_sampler("auto", more, prior), chosen)
        assert isinstance(choice.choose_sampler("auto", more), gq.Harmonic)
    noisy = more._replace(sign_model=SignModel(0.3, 2.0))
    assert isinstance(choice.choose_sampler("auto", noisy, prior), gq.Harmonic)
    flat = more._replace(gradient=None)
    assert isinstance(choice.choose_sampler("auto", flat, prior), gq.Harmonic)


def test_the_memory_of_walls_is_required_before_any_draw(many):
    bound = bind(gq.LevelSet(0.7), many[1], 40)
    m = 10**6
    law = Gaussian(np.broadcast_to(np.float64(0.0), (m, 3)), np.ones(3), 0.0)
    with pytest.raises(MemoryError, match="1000000 labeled nodes"):
        gq.Harmonic().check(Target(law, bound))
