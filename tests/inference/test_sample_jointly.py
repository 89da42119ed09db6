"""Hyperparameters sampled with the field: exact answers, calibration and negative controls."""

from __future__ import annotations

import _thread
import dataclasses
import itertools
import warnings
from functools import lru_cache

import numpy as np
import pytest
from references.exact import exact_mean, orthant
from references.mutation import plant, recompiled
from references.selection import first_of
from scipy import stats
from scipy.special import expit, log_ndtr, ndtr

import graphuq as gq
from graphuq.posterior.arviz_compat import rhat_and_ess
from graphuq.samplers import hyperparameter_slices as hyperparameters
from graphuq.samplers import joint

NODES = np.array([3, 29])
ALPHA, TAU, GAMMA, FLIPS = (0.5, 6.0), (0.05, 2.0), (0.05, 2.0), (0.01, 0.4)
BOX = {"alpha": ALPHA, "tau": TAU, "gamma": GAMMA, "flip_rate": FLIPS}


def sampled(prior, likelihood, labels, names, **options):
    options = {"seed": 1, "thin": 5, "progress": False, "nodes": NODES, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        ranges = {name: BOX[name] for name in names}
        return gq.sample_jointly(prior, likelihood, labels, **ranges, **options)


def drawn_alpha(rng, low, high, size=None):
    """Exponential with mean 4, between its ends."""
    return -4 * np.log(rng.uniform(np.exp(-high / 4), np.exp(-low / 4), size))


def unit(name, values):
    """Where values lie in their range, from -1 to 1."""
    if name != "alpha":
        values = np.log(values)
    low, high = BOX[name] if name == "alpha" else np.log(BOX[name])
    return (2 * values - low - high) / (high - low)


def functionals(hyperparameters, field):
    """Return the functionals whose means are compared; nodes are the last axis of ``field``."""
    t = [unit(name, values) for name, values in hyperparameters.items()]
    squares = [a * b for a, b in itertools.combinations_with_replacement(t, 2)]
    u, v = np.moveaxis(field, -1, 0)
    return np.stack([*t, *squares, np.tanh(u), np.tanh(v), u * v, u * t[0]], axis=-1)


def errors(post, exact, spread=0.0):
    """Distances to exact means in standard errors, of both sides."""
    drawn = functionals(post.hyperparameters, post.field)
    drawn = drawn[..., : len(exact)]
    mcse = drawn.std(axis=(0, 1)) / np.sqrt(rhat_and_ess(drawn)[1])
    return abs(drawn.mean(axis=(0, 1)) - exact) / np.hypot(mcse, spread)


# -- exact answers ---------------------------------------------------------------------------


@pytest.mark.slow
def test_means_are_those_of_orthant_probabilities(small):
    """A Gauss-Legendre grid of evidences, each an orthant probability, and of node means."""
    labels = gq.Labels([0, 7, 13, 25], [0, 0, 1, 1])
    prior = gq.Prior.projected(small[0], 6)
    points, weights = np.polynomial.legendre.leggauss(5)
    total, moments, means = 0.0, np.zeros(5), np.zeros(2)
    for (a, wa), (b, wb) in itertools.product(zip(points, weights, strict=True), repeat=2):
        at = prior.with_parameters(alpha=np.interp(a, [-1, 1], ALPHA))
        gamma = float(np.exp(np.interp(b, [-1, 1], np.log(GAMMA))))
        G = at.covariance(labels.nodes, labels.nodes) + gamma**2 * np.eye(4)
        mass = wa * wb * orthant(labels.codes[:, None] * G * labels.codes) * np.exp(-at.alpha / 4)
        total += mass
        moments += mass * np.array([a, b, a * a, a * b, b * b])
        means += mass * exact_mean(at, gq.Probit(gamma), labels, NODES)
    moments, means = moments / total, means / total
    assert abs(moments[:2]).max() > 0.1  # the labels have a say
    post = sampled(prior, gq.Probit(1.0), labels, ["alpha", "gamma"], draws=2000, thin=8)
    assert errors(post, moments).max() < 4.5
    np.testing.assert_array_less(abs(post.mean[NODES] - means), 4.5 * post.mcse[NODES])


@lru_cache
def by_importance(prior, likelihood, labels, names, size=200_000):
    """Means of functionals, and their errors: draws of the prior, weighted by the likelihood."""
    rng = np.random.default_rng(0)
    drawn = {}
    for name in names:
        if name == "alpha":
            drawn[name] = drawn_alpha(rng, *ALPHA, size)
        else:
            drawn[name] = np.exp(rng.uniform(*np.log(BOX[name]), size))
    alpha, tau = (drawn.get(name, getattr(prior, name)) for name in ("alpha", "tau"))
    alpha, tau = (np.broadcast_to(values, size)[:, None] for values in (alpha, tau))
    values = np.append([0.0] * prior.null_mode, prior.spectrum.values)
    variances = (values + tau**2) ** -alpha
    variances *= prior.n_nodes / variances.sum(axis=1, keepdims=True)
    at = np.append(labels.nodes, NODES)
    u = (rng.standard_normal(variances.shape) * np.sqrt(variances)) @ prior.vectors[at].T
    signed, field = labels.codes * u[:, : len(labels)], u[:, len(labels) :]
    gamma = drawn.get("gamma", likelihood.gamma)
    gamma = np.broadcast_to(gamma, size)[:, None]
    if isinstance(likelihood, gq.LevelSet):
        logs = -np.logaddexp(0, np.where(signed > 0, -2, 2) / gamma**2)
    elif isinstance(likelihood, gq.Probit):
        logs = log_ndtr(signed / gamma)
    else:
        flips = np.broadcast_to(drawn.get("flip_rate", likelihood.flip_rate), size)[:, None]
        logs = np.log(flips + (1 - 2 * flips) * ndtr(signed / gamma))
    w = np.exp(logs.sum(axis=1))
    w /= w.sum()
    h = functionals(drawn, field)
    mean = w @ h
    return mean, np.sqrt(w**2 @ (h - mean) ** 2)


CASES = {
    "probit": (8, 0.0, gq.Probit(0.5), ("alpha", "gamma")),
    "level-set": (8, 0.0, gq.LevelSet(1.0), ("alpha", "gamma")),
    "noisy probit": (8, 0.0, gq.NoisyProbit(0.3, 0.1), ("alpha", "gamma", "flip_rate")),
    "tau alone": (8, 0.3, gq.NoisyProbit(0.3, 0.1), ("tau",)),
    "gamma alone, of a level-set": (8, 0.3, gq.LevelSet(1.0), ("gamma",)),
    "fewer modes than labels": (3, 0.0, gq.LevelSet(1.0), ("alpha", "tau")),
    "one mode": (1, 0.0, gq.LevelSet(1.0), ("gamma",)),
    "q_0, rough": (8, 0.5, gq.Probit(0.3), ("alpha", "tau", "gamma")),
    "full": (39, 0.0, gq.Probit(0.3), ("alpha", "gamma")),
}


@lru_cache
def problem(spectrum, case):
    rank, tau, likelihood, names = CASES[case]
    if case == "full":
        return gq.Prior.full(spectrum), likelihood, names
    prior = gq.Prior.projected(spectrum, rank, tau=tau, null_mode=case.startswith("q_0"))
    return prior, likelihood, names


def worst_error(small, case):
    prior, likelihood, names = problem(small[0], case)
    exact, spread = by_importance(prior, likelihood, small[1], names)
    post = sampled(prior, likelihood, small[1], names)
    assert tuple(post.hyperparameters) == names
    return errors(post, exact, spread).max()


@pytest.mark.parametrize("case", first_of(CASES, 2))
def test_they_agree_with_draws_of_the_prior_weighted_by_the_likelihood(small, case):
    assert worst_error(small, case) < 5


# -- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "case"),
    first_of(
        [
            ("noise**2", "noise", "probit"),
            ("... + ... @ kicks", "...", "probit"),
            (
                "quarter_turn(..., ..., ..., cost)",
                "quarter_turn(..., ..., ..., cost / 2)",
                "level-set",
            ),
        ]
    ),
    ids=["noise for its variance", "modes not carried along", "walls half as high"],
)
def test_a_wrong_flow_is_detected(small, monkeypatch, right, wrong, case):
    plant(monkeypatch, joint, "_flow", right, wrong)
    assert worst_error(small, case) > 5


@pytest.mark.slow
def test_a_field_corrected_before_the_flow_is_detected(small, monkeypatch):
    def put_right(rng, f, y, noise, cost, x):
        x[:] = abs(f) * y

    monkeypatch.setattr(joint, "add_noise", put_right)
    assert worst_error(small, "level-set") > 5


@pytest.mark.slow
def test_a_likelihood_without_its_constant_is_detected(small, monkeypatch):
    """exp(-Phi) of the level-set likelihood is p(y | u) up to a factor that depends on gamma."""
    plant(monkeypatch, hyperparameters, "_log_likelihood", "math.log1p(odds)", "0.0")
    slices = recompiled(hyperparameters.slice_hyperparameters)
    monkeypatch.setattr(joint, "slice_hyperparameters", slices)
    assert worst_error(small, "level-set") > 5


@pytest.mark.parametrize("f", [-2.0, -0.4, 0.1, 1.5])
@pytest.mark.parametrize("cost", [0.7, np.inf])
def test_noise_given_the_label_is_a_truncated_normal_or_two(f, cost):
    noise, size = 0.5, 40_000
    x, rng = np.empty(size), np.random.default_rng(2)
    joint.add_noise(rng, np.full(size, f), np.ones(size), noise, cost, x)
    right, wrong = (stats.truncnorm(*np.sort([-f / noise, end]), f, noise) for end in (99, -99))
    weight = 1 / (1 + np.exp(-cost) * stats.norm.cdf(-f / noise) / stats.norm.cdf(f / noise))
    cdf = lambda t: weight * right.cdf(t) + (1 - weight) * wrong.cdf(t)  # noqa: E731
    assert stats.kstest(x, cdf).pvalue > 1e-4 / 8


# -- calibration (Talts et al. 2018) ---------------------------------------------------------

LABELLED, DRAWS, SIMULATIONS = np.array([0, 5, 9, 13, 20, 26, 33, 38]), 15, 120


def rank_p_values(spectrum, model, drawn_from):
    """P-values of uniform ranks of alpha, gamma and the field at a node."""
    rng, ranks = np.random.default_rng(3), []
    for seed in range(SIMULATIONS):
        alpha = drawn_alpha(rng, *drawn_from)
        gamma = float(np.exp(rng.uniform(*np.log(GAMMA))))
        prior = gq.Prior.projected(spectrum, 8, alpha=alpha)
        (u,) = prior.draw(1, seed=rng)
        f = u[LABELLED]
        if model is gq.Probit:
            y = np.sign(f + gamma * rng.standard_normal(f.size))
        else:
            y = np.where(rng.random(f.size) < expit(-2 / gamma**2), -1, 1) * np.sign(f)
        if abs(y.sum()) == y.size:  # one class alone is no data set: given the labels, nothing
            continue  # depends on whether the others were kept
        post = sampled(
            prior,
            model(1.0),
            gq.Labels(LABELLED, y),
            ["alpha", "gamma"],
            chains=1,
            draws=DRAWS,
            warmup=15,
            thin=10,
            nodes=[3],
            seed=seed,
        )
        truth = {"alpha": alpha, "gamma": gamma}
        below = [(post.hyperparameters[name] < truth[name]).sum() for name in truth]
        ranks.append([*below, (post.field[0] < u[3]).sum()])
    assert len(ranks) > 0.8 * SIMULATIONS
    counts = [np.bincount(r // 2, minlength=(DRAWS + 1) // 2) for r in np.transpose(ranks)]
    return np.array([stats.chisquare(count).pvalue for count in counts])


@pytest.mark.slow
@pytest.mark.parametrize("model", [gq.Probit, gq.LevelSet])
def test_ranks_are_uniform(small, model):
    # the smallest of 6 p-values is below this once in 1,000 times
    assert rank_p_values(small[0], model, ALPHA).min() > 1e-3 / 6


@pytest.mark.slow
def test_ranks_of_parameters_from_elsewhere_are_not_uniform(small):
    assert rank_p_values(small[0], gq.Probit, (4.0, 6.0)).min() < 1e-6


# -- the posterior ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def post(small):
    prior = gq.Prior.projected(small[0], 8)
    return sampled(prior, gq.NoisyProbit(0.3, 0.1), small[1], ["alpha", "gamma"], draws=300)


def test_one_seed_reproduces_it_whatever_the_threads(small, post):
    prior = gq.Prior.projected(small[0], 8)
    names = ["alpha", "gamma"]
    for threads in (1, 4):
        again = sampled(
            prior, gq.NoisyProbit(0.3, 0.1), small[1], names, draws=300, threads=threads
        )
        np.testing.assert_array_equal(again.modes, post.modes)
        np.testing.assert_array_equal(again.mean, post.mean)
        for name in names:
            np.testing.assert_array_equal(again.hyperparameters[name], post.hyperparameters[name])
    assert np.unique(post.hyperparameters["alpha"]).size > 1000


def test_traces_have_the_moments_of_the_nodes(small, post):
    """Node statistics, traced nodes and draws made afterwards are of the same draws."""
    flat = post.field.reshape(-1, 2)
    np.testing.assert_allclose(flat.mean(0), post.latent_mean[NODES], rtol=1e-9)
    np.testing.assert_allclose(np.sign(flat).mean(0), post.mean[NODES], atol=1e-9)
    for alpha in (1.0, 3.0, "auto"):  # it was sampled
        prior = gq.Prior.projected(small[0], 8, alpha=alpha)
        drawn = np.concatenate(list(post.latent_draws(prior, NODES)))
        np.testing.assert_allclose(drawn, flat, rtol=1e-9)
    with pytest.raises(ValueError, match="must be the one that was sampled with"):
        next(post.latent_draws(gq.Prior.projected(small[0], 8, tau=0.1)))


def test_they_survive_a_file(post, tmp_path):
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    assert again.hyperparameters.keys() == post.hyperparameters.keys() == {"alpha", "gamma"}
    for name, values in post.hyperparameters.items():
        np.testing.assert_array_equal(again.hyperparameters[name], values)
        np.testing.assert_array_equal(post.to_arviz()["posterior"][name].values, values)
    assert again.settings == post.settings
    assert again.stats.keys() == post.stats.keys()
    assert again.settings["ranges"] == {"alpha": [*ALPHA], "gamma": [*GAMMA]}
    assert again.settings["likelihood"]["flip_rate"] == 0.1


def test_ctrl_c_returns_what_there_is(small, monkeypatch):
    advance, calls = joint.Joint.advance, []

    def interrupting(*arguments):
        calls.append(None)
        if len(calls) == 6:
            _thread.interrupt_main()
        return advance(*arguments)

    monkeypatch.setattr(joint.Joint, "advance", interrupting)
    prior = gq.Prior.projected(small[0], 8)
    cut = sampled(prior, gq.Probit(0.3), small[1], ["gamma"], draws=50_000, warmup=0, chains=2)
    assert not cut.complete
    assert cut.hyperparameters["gamma"].shape == cut.modes.shape[:2]
    assert 1 <= cut.settings["draws"] < 50_000
    assert GAMMA[0] < cut.settings["likelihood"]["gamma"] < GAMMA[1]


def test_diagnostics_look_at_them(post):
    shifted = post.hyperparameters["alpha"] + 3 * np.arange(4)[:, None]
    worse = dataclasses.replace(post, hyperparameters={"alpha": shifted})
    assert post.diagnostics().r_hat < 1.05
    with pytest.warns(gq.ConvergenceWarning, match="disagree"):
        assert worse.diagnostics().r_hat > 1.5


@pytest.mark.parametrize(
    ("ranges", "error", "match"),
    [
        ({}, ValueError, "nothing is open"),
        ({"alpha": 3.0}, ValueError, "nothing is open"),
        ({"beta": (1, 2)}, TypeError, "no parameter beta"),
        ({"alpha": (1, 3), "rank": (3, 5)}, TypeError, "a rank is not sampled"),
        ({"flip_rate": (0.1, 0.2)}, TypeError, "there are alpha, tau, rank, gamma"),
        ({"alpha": (3, 1)}, ValueError, "must have low below high"),
        ({"alpha": (0, 1)}, ValueError, "between 0.01 and 100"),
        ({"tau": (0, 1)}, ValueError, "must begin above 0"),
        ({"gamma": (float("nan"), 1)}, ValueError, "finite"),
    ],
)
def test_bad_ranges_are_refused(small, ranges, error, match):
    prior = gq.Prior.projected(small[0], 8)
    with pytest.raises(error, match=match):
        gq.sample_jointly(prior, gq.Probit(0.3), small[1], **ranges)


def test_unsupported_arguments_are_refused_with_a_remedy(small):
    spectrum, labels, _ = small
    alpha = {"alpha": (1, 2)}
    prior = gq.Prior.projected(spectrum, 8)
    with pytest.raises(TypeError, match=r"take Prior\.projected\(spectrum, rank=100\)"):
        gq.sample_jointly(gq.Prior.approximated(spectrum, 8), gq.Probit(0.3), labels, **alpha)
    with pytest.raises(TypeError, match=r"sign models.*use gq.sample"):
        gq.sample_jointly(prior, gq.GinzburgLandau(1.0, 1.0), labels, **alpha)
    with pytest.raises(TypeError, match="and a rank"):
        gq.sample_jointly(gq.Prior.projected(spectrum, "auto"), gq.Probit(0.3), labels, **alpha)
    with pytest.raises(TypeError, match="needs a prior whose modes"):
        gq.sample_jointly(spectrum, gq.Probit(0.3), labels, gamma=(0.1, 1.0))
    with pytest.raises(TypeError, match="labels must be"):
        gq.sample_jointly(prior, gq.Probit(0.3), [0, 1], **alpha)


def test_auto_parameters_have_ranges_of_their_own(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8, alpha="auto", tau="auto")
    post = quietly_jointly(prior, gq.Probit(), labels, draws=20, chains=1, progress=False, seed=0)
    assert post.settings["ranges"] == {
        "alpha": [1.0, 10.0], "tau": [0.01, 1.0], "gamma": [0.01, 1.0]
    }  # fmt: skip


def quietly_jointly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample_jointly(*arguments, **options)
