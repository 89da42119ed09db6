"""Hilbert HMC and elliptical slice against exact answers, and wrong versions that must fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from conftest import priors, quietly
from numba import njit
from references.exact import (
    errors_in_mcse,
    exact_mean,
    ginzburg_landau_moments,
)
from references.mutation import plant
from references.problems import THREE
from references.selection import SLOW, each_once, first_of, shown

import graphuq as gq
from graphuq.likelihoods.bound import bind
from graphuq.samplers import elliptical_slice, hilbert_hmc, leapfrog
from graphuq.samplers.protocol import Kept, Target

NODES = np.array([0, 3, 16, 21, 34])
HMC, SLICE = gq.HilbertHMC(), gq.EllipticalSlice()
USUAL = [
    (HMC, gq.Probit(0.1)),
    (HMC, gq.NoisyProbit(0.1, 0.1)),
    (SLICE, gq.LevelSet(0.7)),
]
OTHERS = [
    *((HMC, gq.Probit(gamma)) for gamma in (0.01, 1.0)),
    *((SLICE, gq.Probit(gamma)) for gamma in (0.01, 0.1, 1.0)),
    (SLICE, gq.NoisyProbit(0.1, 0.1)),
    (SLICE, gq.LevelSet(0.01)),
]


@pytest.mark.parametrize(
    ("kind", "sampler", "model"),
    each_once(["full", "projected", "approximated"], [*USUAL, *OTHERS], count=len(USUAL)),
    ids=shown,
)
def test_node_means_are_exact(small, kind, sampler, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    exact = exact_mean(prior, model, labels, NODES)
    post = quietly(prior, model, labels, sampler, draws=6000, seed=1, progress=False)
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, exact, NODES).max() < 5


@pytest.mark.parametrize("sampler", [gq.PCN(), HMC, SLICE], ids=repr)
def test_ginzburg_landau_agrees_with_quadrature(sampler):
    graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
    prior, labels = gq.Prior.full(graph), gq.Labels([0, 3], ["a", "b"])
    mean, variance, probability = ginzburg_landau_moments(prior, labels, 2.0, 0.6)
    model = gq.GinzburgLandau(2.0, 0.6)
    post = quietly(prior, model, labels, sampler, draws=2000, seed=3, progress=False)
    assert post.draws.stats.get("diverging", np.zeros(1)).mean() < 1e-3
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, mean).max() < 5
    np.testing.assert_allclose(post.variance, variance, rtol=0.1)
    np.testing.assert_allclose(post.probability, probability, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "kernel", "right", "wrong"),
    first_of(
        [
            (hilbert_hmc, "trajectories", "0.125 * ...", "0.0 * ..."),
            (hilbert_hmc, "trajectories", "rng.random() < alpha", "rng.random() < alpha + 0.3"),
            (hilbert_hmc, "trajectories", "... + change", "... + 0.5 * change"),
            (hilbert_hmc, "trajectories", "copy_matrix(g, g_start)", "copy_matrix(g, g)"),
            (hilbert_hmc, "trajectories", "... + end", "..."),
            (elliptical_slice, "_slide", "math.log(1.0 - rng.random())", "-1.0"),
            (elliptical_slice, "_slide", "phi_w <= level", "True"),
            (elliptical_slice, "_slide", "... * cos", "..."),
        ]
    ),
)
def test_negative_controls_fail(small, monkeypatch, module, kernel, right, wrong):
    spectrum, labels, _ = small
    plant(monkeypatch, module, kernel, right, wrong, every=True)
    prior, model = gq.Prior.approximated(spectrum, 8), gq.Probit(0.3)
    sampler = SLICE
    if module is hilbert_hmc:  # the reference is narrowed only where the step size is adapted
        sampler = HMC if "end" in right else gq.HilbertHMC(step_size=0.6)
    exact = exact_mean(prior, model, labels, NODES)
    post = quietly(prior, model, labels, sampler, draws=15_000, seed=1, progress=False)
    assert errors_in_mcse(post, exact, NODES).max() > 5


@njit
def _flat(u, seen):
    return 0.0


@njit
def _no_slope(u, seen, out):
    out[:] = 0.0


@dataclass(frozen=True)
class Flat:
    reads = "all"
    potential = staticmethod(_flat)
    gradient = staticmethod(_no_slope)


@pytest.mark.parametrize("sampler", [HMC, SLICE], ids=repr)
def test_the_prior_comes_back_where_the_labels_say_nothing(small, sampler):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, Flat(), labels, sampler, draws=2000, seed=4, progress=False)
    assert (post.draws.stats["acceptance_rate"] == 1).all()
    ess = post.diagnostics().ess
    np.testing.assert_array_less(abs(post.latent_mean), 5 / np.sqrt(ess) * 1.5)
    np.testing.assert_allclose(post.latent_variance, prior.variance(), rtol=10 / np.sqrt(ess))


def test_the_step_size_is_adapted_in_warm_up_only(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = quietly(
        prior, gq.GinzburgLandau(2.0, 0.5), labels, gq.HilbertHMC(target_acceptance=0.7),
        warmup=2000, seed=0, progress=False,
    )  # fmt: skip
    assert (np.ptp(post.draws.stats["step_size"], axis=1) == 0).all()
    assert abs(post.draws.stats["acceptance_rate"].mean() - 0.7) < 0.1


def test_divergences_are_reported(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = quietly(
        prior, gq.GinzburgLandau(1e-3, 0.1), labels, gq.HilbertHMC(step_size=1.0), draws=50, seed=0,
        progress=False,
    )  # fmt: skip
    with pytest.warns(gq.ConvergenceWarning, match="diverged"):
        assert post.diagnostics().divergences > 0


def test_the_automatic_choice_is_recorded(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)

    @dataclass(frozen=True)
    class NoGradient:
        reads = "all"
        potential = staticmethod(_flat)

    for model, name in (
        (gq.Probit(0.1), "Harmonic"),
        (gq.LevelSet(0.1), "Harmonic"),
        (gq.NoisyProbit(0.1, 0.1), "Harmonic"),
        (gq.GinzburgLandau(1.0, 1.0), "HilbertHMC"),
        (NoGradient(), "EllipticalSlice"),
    ):
        post = quietly(prior, model, labels, draws=20, seed=0, progress=False)
        assert post.settings["sampler"]["name"] == name


def test_a_missing_gradient_is_refused_with_a_remedy(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    with pytest.raises(ValueError, match=r"gradient.*EllipticalSlice"):
        gq.sample(prior, gq.LevelSet(0.1), labels, HMC)


def test_the_reference_narrows_to_the_posterior_in_warm_up(small):
    """In one direction the likelihood is ten times narrower than the prior."""
    spectrum, _, y = small
    prior = gq.Prior.projected(spectrum, 8)
    model = gq.GinzburgLandau(0.1, 0.1)
    labels = gq.reveal(y, fraction=0.5, seed=0)
    long, short = (
        quietly(prior, model, labels, HMC, warmup=w, seed=0, progress=False) for w in (1000, 60)
    )
    assert long.draws.stats["step_size"].mean() > 1.5 * short.draws.stats["step_size"].mean()
    assert long.draws.stats["acceptance_rate"].mean() > 0.8


@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
@pytest.mark.parametrize("alpha", [2.0, 8.0])
def test_single_precision_of_the_reference_is_enough(small, kind, alpha):
    # the error of small steps is that of the integrator, however uneven the variances are
    spectrum, labels, _ = small
    law = priors(spectrum, 30)[kind].with_parameters(alpha=alpha).law
    target = Target(law, bind(gq.GinzburgLandau(1.0, 0.6), labels, n_nodes=law.size))
    errors = []
    for step in (0.1, 0.02):
        sampler = gq.HilbertHMC(step_size=step)
        state, rng = sampler.start(target, np.random.default_rng(0)), np.random.default_rng(1)
        _, chunk = sampler.advance(target, state, rng, draws=60, thin=1, tune=False)
        errors.append(1 - chunk.stats["acceptance_rate"].mean())
    assert errors[1] < 0.1 * errors[0] < 0.01


@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_any_reference_leaves_the_posterior_as_it_is(small, kind):
    """Psi is Phi, plus |a|^2 / 2 + |e|^2 / 2 - |x|^2 / 2, up to a constant."""
    spectrum, labels, _ = small
    law, rng = priors(spectrum, 12)[kind].law, np.random.default_rng(0)
    model = bind(gq.GinzburgLandau(1.0, 0.6), labels, n_nodes=law.size)
    target, p = Target(law, model), law.variances.size
    axes, _ = np.linalg.qr(rng.standard_normal((p, p)))
    mean, shares = 0.3 * rng.standard_normal(p), rng.uniform(0.1, 1.0, p)
    prior = HMC._reference(target, HMC.start(target, rng)._replace(shares=np.ones(p)))
    loadings = prior.loadings.astype(float) @ (axes * np.sqrt(shares))
    center = prior.loadings.astype(float) @ mean
    reference = prior._replace(
        mean=mean, axes=axes, shares=shares, center=center, loadings=loadings.astype(np.float32)
    )

    def psi(x):
        u, s, g = np.empty((law.size, 1)), np.empty((law.size, 1)), np.empty_like(x)
        added = leapfrog._slope(
            x, reference.coordinate_map(), 1.0, model.gradient, model.observed, u, s, g
        )
        a = reference.coefficients(x)
        np.testing.assert_allclose(reference.coordinates(a), x, atol=1e-12)
        kept = Kept(1, 1, x.shape, summed=("diverging",))
        kept.add(0, a[None], {})
        field = HMC._chunk(target, kept).fields[0, 0]
        np.testing.assert_allclose(field, u[:, 0], rtol=1e-5, atol=1e-5)
        phi = model.potential(np.ascontiguousarray(field[:, None]), model.observed)
        return phi + added, phi + 0.5 * ((a**2).sum() - (x**2).sum()), g

    x, y = rng.standard_normal((2, *HMC.start(target, rng).field.shape))
    (one, exact, slope), (other, exact_other, _) = psi(x), psi(y)
    assert one - other == pytest.approx(exact - exact_other, rel=1e-4)
    steps = 1e-3 * np.eye(len(x))[:, :, None]
    numerical = [(psi(x + h)[0] - psi(x - h)[0]) / 2e-3 for h in steps[:: len(x) // 7]]
    np.testing.assert_allclose(slope[:: len(x) // 7, 0], numerical, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("kind", "sampler", "model"),
    [
        pytest.param("projected", gq.PCN(thin=100), gq.NoisyProbit(0.4, 0.2), marks=SLOW),
        pytest.param("approximated", gq.EllipticalSlice(), gq.Probit(0.4), marks=SLOW),
        ("projected", gq.HilbertHMC(), gq.Probit(0.4)),
        ("approximated", gq.HilbertHMC(), gq.NoisyProbit(0.4, 0.2)),
    ],
    ids=["pCN", "slice", "HMC", "HMC, approximated"],
)
def test_the_samplers_agree(small, kind, sampler, model):
    """The samplers agree also with more labels than modes."""
    labels = gq.reveal(np.repeat(["x", "y", "z"], [13, 13, 14]), counts=2, seed=0)
    prior = priors(small[0], 4)[kind]
    post = quietly(prior, model, labels, gq.Harmonic(), draws=2000, seed=1, progress=False)
    other = quietly(prior, model, labels, sampler, draws=1000, seed=2, progress=False)
    assert other.diagnostics().r_hat < 1.02
    spread = np.hypot(post.mcse, other.mcse)
    assert (abs(post.probability - other.probability) / (spread + 1e-6)).max() < 5
    ess = min(post.diagnostics().ess, other.diagnostics().ess)
    deviation = np.sqrt(post.latent_variance)
    gap = abs(post.latent_mean - other.latent_mean) / deviation
    assert gap.max() < 6 * np.sqrt(2 / ess)


@pytest.mark.slow
def test_fields_that_are_labels_themselves_agree(small):
    labels = THREE
    prior, model = gq.Prior.projected(small[0], 4), gq.GinzburgLandau(epsilon=5.0, gamma=0.3)
    post = quietly(prior, model, labels, draws=2000, seed=0, progress=False)
    assert post.settings["sampler"]["name"] == "HilbertHMC"
    other = quietly(prior, model, labels, gq.PCN(thin=150), draws=1000, seed=1, progress=False)
    assert post.diagnostics().r_hat < 1.02 > other.diagnostics().r_hat
    spread = np.hypot(post.mcse, other.mcse)
    assert (abs(post.mean - other.mean) / spread).max() < 5
    np.testing.assert_allclose(post.variance, post.latent_variance.sum(axis=1))
    tempered = quietly(
        prior, model, labels, gq.Tempered(replicas=3), draws=1000, seed=1, progress=False
    )
    spread = np.hypot(post.mcse, tempered.mcse)
    assert (abs(post.mean - tempered.mean) / spread).max() < 5


def test_the_prior_is_sampled_where_nothing_is_observed(small):
    """With a flat likelihood, K fields have the prior moments and classes are equally probable."""
    prior = gq.Prior.approximated(small[0], 8)
    for sampler in (gq.Harmonic(), gq.PCN(1.0, thin=1), gq.HilbertHMC()):
        model = gq.Probit(1e4)
        post = quietly(prior, model, THREE, sampler, draws=8000, seed=0, progress=False)
        np.testing.assert_allclose(post.probability, 1 / 3, atol=0.02)
        np.testing.assert_allclose(
            post.latent_variance, np.repeat(prior.variance()[:, None], 3, 1), rtol=0.1
        )
