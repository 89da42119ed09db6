"""Hyperparameters sampled with the field: exact answers, calibration and negative controls."""

from __future__ import annotations

import _thread
import dataclasses
import importlib
import itertools
import sys
import warnings
from functools import lru_cache

import numpy as np
import pytest
from conftest import with_draws
from references.exact import class_evidence, class_probabilities, exact_mean, orthant
from references.mutation import plant, recompiled
from references.selection import SLOW
from scipy import stats
from scipy.special import expit, ndtr

import graphuq as gq
from graphuq.inference.problem import Problem
from graphuq.likelihoods.sign_kernels import class_log_probability, labels_log_probability
from graphuq.posterior.arviz_compat import rhat_and_ess
from graphuq.priors import feature_prior
from graphuq.priors.field import Field
from graphuq.priors.given_modes import columns_of
from graphuq.priors.hyperprior import Density, density_of
from graphuq.priors.sum_prior import Summable
from graphuq.samplers import hyperparameter_slices as hyperparameters
from graphuq.samplers import joint
from graphuq.samplers.protocol import Target

NODES = np.array([3, 29])
ALPHA, TAU, GAMMA, FLIPS = (0.5, 6.0), (0.05, 2.0), (0.05, 2.0), (0.01, 0.4)
LEVEL = (0.0, 3.0)
WEIGHT = (0.1, 0.9)
BOX = {"alpha": ALPHA, "level": LEVEL, "weight": WEIGHT, "tau": TAU, "gamma": GAMMA}
BOX |= {"flip_rate": FLIPS}
LINEAR = ("alpha", "level", "weight")

FEATURES = np.random.default_rng(5).standard_normal((40, 2))

# Means of the exponential densities.
MEANS = {"alpha": 4.0, "tau": 0.3, "gamma": 0.1}


def sampled(prior, likelihood, labels, names, **options):
    options = {"seed": 1, "thin": 5, "progress": False, "nodes": NODES, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        ranges = {name: BOX[name] for name in names}
        return gq.sample_jointly(prior, likelihood, labels, **ranges, **options)


def drawn_from_prior(rng, name, n_classes, size=None, model=gq.Probit, ends=None):
    """Draws of a hyperparameter, between the ends of its range."""
    low, high = BOX[name] if ends is None else ends
    if name == "level":
        return stats.truncnorm.rvs(low, high, size=size, random_state=rng)
    if name == "weight":
        return rng.uniform(low, high, size)
    if name == "flip_rate" or (name == "gamma" and model is gq.LevelSet):
        return np.exp(rng.uniform(np.log(low), np.log(high), size))
    if name == "gamma" and n_classes == 2:
        return 0.2 * np.tan(rng.uniform(*np.arctan(np.array([low, high]) / 0.2), size))
    mean = MEANS[name]
    return -mean * np.log(rng.uniform(np.exp(-high / mean), np.exp(-low / mean), size))


def unit(name, values):
    """Where values lie in their range, from -1 to 1."""
    if name not in LINEAR:
        values = np.log(values)
    low, high = BOX[name] if name in LINEAR else np.log(BOX[name])
    return (2 * values - low - high) / (high - low)


def functionals(hyperparameters, field):
    """Return the functionals whose means are compared; ``field`` ends in nodes, and classes."""
    t = [unit(name, values) for name, values in hyperparameters.items()]
    squares = [a * b for a, b in itertools.combinations_with_replacement(t, 2)]
    more = []
    if field.ndim > t[0].ndim + 1:  # several classes
        *fields, field = np.moveaxis(field, -1, 0)
        more = [a[..., 0] * field[..., 1] for a in fields]
        more += [np.tanh(a[..., 0] - field[..., 0]) for a in fields]
    u, v = np.moveaxis(field, -1, 0)
    return np.stack([*t, *squares, np.tanh(u), np.tanh(v), u * v, u * t[0], *more], axis=-1)


def errors(post, exact, spread=0.0):
    """Distances to exact means in standard errors, of both sides."""
    drawn = functionals(post.draws.hyperparameters, post.draws.field)
    drawn = drawn[..., : len(exact)]
    mcse = drawn.std(axis=(0, 1)) / np.sqrt(rhat_and_ess(drawn)[1])
    return abs(drawn.mean(axis=(0, 1)) - exact) / np.hypot(mcse, spread)


# -- exact answers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    """The spectrum of a ring of six nodes with a chord."""
    edges = np.zeros((6, 6))
    edges[np.arange(6), np.roll(np.arange(6), -1)] = [1.0, 0.4, 0.7, 1.0, 0.5, 0.3]
    edges[1, 4] = 0.2
    return gq.Spectrum.of(gq.Graph(edges + edges.T))


def quadrature(name, n_classes, points=8):
    """Values of a hyperparameter, and their weights under its prior: Gauss-Legendre."""
    t, w = np.polynomial.legendre.leggauss(points)
    low, high = BOX[name]
    if name in LINEAR:
        x = np.interp(t, [-1, 1], (low, high))
        return x, w * np.exp(-x / 4 if name == "alpha" else -(x**2) / 2)
    x = np.exp(np.interp(t, [-1, 1], np.log((low, high))))
    if name == "gamma" and n_classes == 2:
        return x, w * x / (1 + (x / 0.2) ** 2)
    return x, w * x * np.exp(-x / MEANS[name])


def by_quadrature(prior, labels, names, nodes, points):
    """Moments of two hyperparameters and class probabilities of ``nodes``, by orthants."""
    n_classes, total = labels.classes.size, 0.0
    each = [zip(*quadrature(name, n_classes, points), strict=True) for name in names]
    for pairs in itertools.product(*each):
        values = dict(zip(names, (x for x, _ in pairs), strict=True))
        gamma = values.pop("gamma", 0.5)
        at = prior.with_parameters(**values)
        weight = np.prod([w for _, w in pairs])
        if n_classes == 2:
            G = at.covariance(labels.nodes, labels.nodes) + gamma**2 * np.eye(len(labels))
            weight *= orthant(labels.codes[:, None] * G * labels.codes)
            p = (1 + exact_mean(at, gq.Probit(gamma), labels, nodes, gamma)) / 2
            by_class = np.column_stack([1 - p, p])
        else:
            weight *= np.exp(class_evidence(at, labels, gamma, np.inf))
            by_class = class_probabilities(at, labels, nodes, gamma, np.inf, gamma)
        t = [unit(name, x) for name, (x, _) in zip(names, pairs, strict=True)]
        found = np.array([*t, t[0] ** 2, t[0] * t[1], t[1] ** 2, *by_class.ravel()])
        total = total + weight * np.append(found, 1.0)
    return total[:5] / total[-1], total[5:-1].reshape(len(nodes), -1) / total[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "counts", "points"),
    [
        (("level", "gamma"), (1, 1), 8),
        (("alpha", "gamma"), (2, 2), 5),
        (("alpha", "level"), (1, 2), 6),
        (("level", "gamma"), (1, 1, 0), 4),
    ],
)
def test_means_are_those_of_orthant_probabilities(tiny, names, counts, points):
    """Quadrature over hyperparameters; the evidence and nodes of each are orthant probabilities."""
    labels = gq.Labels(
        [0, 3, 1, 5][: sum(counts)], np.repeat(range(len(counts)), counts), range(len(counts))
    )
    prior = gq.Prior.full(tiny, alpha=2.0, tau=0.3)
    prior = prior + gq.Level(1.0) if "level" in names else prior
    nodes = np.array([2, 4])[: 4 - len(counts)]  # orthants of three classes take long
    moments, by_class = by_quadrature(prior, labels, names, nodes, points)
    post = sampled(prior, gq.Probit(0.5), labels, names, draws=600, nodes=[2, 4])
    assert errors(post, moments).max() < 4.5
    mcse = post.probability_mcse[nodes].reshape(len(nodes), -1)
    assert (abs(post.by_class[nodes] - by_class) < 4.5 * mcse).all()


class Bent(Summable):
    """A prior of five columns, with a level of its own."""

    n_nodes = 40

    @property
    def field(self):
        weights = np.full(5, 1 / 3)
        basis = np.sin(np.outer(np.arange(40), np.arange(1, 6)))
        return Field(basis, weights, weights, level=2.0)

    def fingerprint(self):
        return {"kind": "bent", "nodes": 40, "rank": 0}


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("level", [0.0, 0.7])
@pytest.mark.parametrize("other", ["none", "graph", "features", "level"])
def test_compiled_deviations_are_those_of_the_prior(small, other, level, weight):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8, alpha=2.0, tau=0.3)
    others = {
        "graph": gq.Prior.projected(spectrum, 12, alpha=1.0),
        "features": gq.FeaturePrior(FEATURES, 1.0),
        "level": Bent(),
    }
    if other != "none":
        prior = gq.SumPrior.of([prior, others[other]], [weight, 1 - weight])
    prior = prior + gq.Level(level) if level else prior
    problem = Problem.check(prior, gq.Probit(0.3), labels, ())
    module = importlib.import_module("graphuq.inference.sample_jointly")
    sampler = module._joint_sampler(problem, {"alpha": (1.0, 4.0)})
    at = sampler._problem(Target(problem.prior.at(labels.nodes), problem.bound))
    own = weight if other != "none" else 1.0
    point = np.array([3.0, level, own, np.log(0.3), np.log(0.3), -np.inf])
    found = np.empty(at.Q.shape[1])
    hyperparameters._deviations(at, point, found)
    exact = prior.with_parameters(alpha=3.0).deviations()[columns_of(prior)]
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    F = at.Q * found
    C = prior.with_parameters(alpha=3.0).covariance(labels.nodes, labels.nodes)
    np.testing.assert_allclose(F @ F.T, C, atol=1e-6)


@pytest.mark.parametrize(
    "likelihood", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(1.0)], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_compiled_sign_models_are_those_of_the_likelihoods(small, likelihood, n_classes):
    prior, of = (
        gq.Prior.projected(small[0], 8, alpha=2.0),
        small[1] if n_classes == 2 else CLASSES[3],
    )
    labels = gq.Labels(of.nodes, of.values, of.classes, confidence=CONFIDENCE)
    problem = Problem.check(prior, likelihood, labels, ())
    module = importlib.import_module("graphuq.inference.sample_jointly")
    sampler = module._joint_sampler(problem, {"alpha": (1.0, 4.0)})
    at = sampler._problem(Target(prior.at(labels.nodes), problem.bound))
    costs = np.empty(len(labels))
    noise = hyperparameters._sign_model(at, sampler.box[:, 0].copy(), costs)
    exact = problem.bound.label_model
    assert noise == pytest.approx(exact.noise)
    np.testing.assert_allclose(costs, exact.cost, rtol=1e-12, atol=1e-12)
    u = np.random.default_rng(0).normal(size=(len(labels), 1 if n_classes == 2 else n_classes))
    f = np.ascontiguousarray(u.T)
    found = hyperparameters.log_likelihood(f, at, noise, costs, labels_log_probability)
    known = exact.log_probability(u, problem.bound.observed.y).sum()
    assert found == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("likelihood", [gq.Probit(0.2), gq.LevelSet(1.0)])
def test_parts_that_are_easily_forgotten(small, likelihood):
    """A second graph of weight 0, and a part with a level, or contradicted confident labels."""
    spectrum, labels, _ = small
    graph = gq.Prior.projected(spectrum, 8, alpha="auto")
    for prior, own in (
        (gq.SumPrior.of([graph, graph.with_parameters(alpha=1.0)], [1, 0]), labels),
        (gq.SumPrior.of([graph, Bent()], [1, 1]), labels),
        (graph, gq.Labels(labels.nodes, labels.values, confidence=[1e-17, 1, 1, 1, 1])),
    ):
        quick = {"draws": 20, "chains": 1, "seed": 0, "progress": False}
        post = quietly_jointly(prior, likelihood, own, alpha=(1, 6), **quick)
        assert np.isfinite(post.by_class).all()


@pytest.fixture(scope="module")
def apart():
    """Two paths and a node without edges."""
    return gq.Spectrum.of(gq.Graph.from_edge_index([[0, 1, 3], [1, 2, 4]], [1.0, 0.4, 0.7], 6))


def of_components(spectrum, weights):
    """A prior on a graph of several components, with a level of each."""
    graph = gq.Prior.full(spectrum, alpha=2.0, tau=0.3)
    return gq.SumPrior.of([graph, gq.ComponentLevel(spectrum), gq.Level(1.0)], weights)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of 3 components")
@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("level", "gamma"), gq.Labels([0, 3], [0, 1])),
        (("alpha", "gamma"), gq.Labels([0, 1, 3], [0, 1, 1])),
        (("level", "gamma"), gq.Labels([0, 3], [0, 1], [0, 1, 2])),
    ],
)
def test_levels_of_components_are_those_of_orthant_probabilities(apart, names, labels):
    prior = of_components(apart, [2, 1])
    points, nodes = 4 + 2 * (labels.classes.size == 2), np.array([2, 5])[: 4 - labels.classes.size]
    moments, by_class = by_quadrature(prior, labels, names, nodes, points)
    post = sampled(prior, gq.Probit(0.5), labels, names, draws=600, nodes=[2, 5])
    assert errors(post, moments).max() < 4.5
    mcse = post.probability_mcse[nodes].reshape(len(nodes), -1)
    assert (abs(post.by_class[nodes] - by_class) < 4.5 * mcse).all()
    # a negative control: other weights
    _, others = by_quadrature(of_components(apart, [1, 8]), labels, names, nodes[:1], points)
    assert (abs(others - by_class[:1]) > 9 * mcse[:1]).all()


def test_a_graph_of_several_components(tmp_path):
    apart = gq.Spectrum.of(gq.Graph.from_edge_index([[0, 1, 2, 4], [1, 2, 3, 5]], n_nodes=7))
    labels, quick = gq.Labels([0, 4], [0, 1]), {"draws": 50, "chains": 2, "seed": 0}
    with pytest.warns(RuntimeWarning, match="1 of 3 components has no label") as said:
        post = quietly_jointly(apart, gq.Probit(), labels, progress=False, **quick)
    assert len([one for one in said if "components" in str(one.message)]) == 1
    assert list(post.draws.hyperparameters) == ["alpha", "level", "tau", "gamma"]
    drawn = np.concatenate(list(post.latent_draws()))
    np.testing.assert_allclose(
        drawn.mean(axis=0), post.latent_mean, atol=6 * drawn.std() / np.sqrt(len(drawn))
    )
    post.save(tmp_path / "post.nc")
    again = gq.load(tmp_path / "post.nc").latent_draws(post.prior)
    np.testing.assert_allclose(np.concatenate(list(again)), drawn)
    cliques = gq.Graph.from_edge_index([[0, 2], [1, 3]])
    with pytest.raises(ValueError, match="no mode of this graph agrees with its neighbors"):
        gq.sample_jointly(cliques, gq.Probit(), gq.Labels([0, 2], [0, 1]))


def error_without_information(small, labels):
    """Worst error of moments of the prior, where a large gamma makes labels coin tosses."""
    names, large = ("alpha", "level", "tau", "gamma"), (50.0, 500.0)
    prior = gq.Prior.projected(small[0], 4) + gq.Level()
    ranges = {**{name: BOX[name] for name in names}, "gamma": large}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        post = gq.sample_jointly(
            prior, gq.LevelSet(), labels, **ranges, draws=1000, thin=1, seed=2, progress=False
        )
    x = np.stack(list(post.draws.hyperparameters.values()), axis=-1)
    h = np.concatenate([x, x**2], axis=-1)
    mcse = h.std(axis=(0, 1)) / np.sqrt(rhat_and_ess(h)[1])
    return (abs(h.mean(axis=(0, 1)) - moments_of_the_prior(ranges)) / mcse).max()


def moments_of_the_prior(ranges):
    means = []
    for name, (low, high) in ranges.items():
        x = np.linspace(low, high, 200_001)
        if name == "level":
            density = np.exp(-(x**2) / 2)
        elif name == "gamma":  # of the level-set likelihood
            density = 1 / x
        else:
            density = np.exp(-x / MEANS[name])
        means.append([np.average(x, weights=density), np.average(x**2, weights=density)])
    return np.transpose(means).ravel()


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=SLOW)])
def test_labels_without_information_leave_the_prior(small, n_classes, monkeypatch):
    labels = small[1] if n_classes == 2 else CLASSES[3]
    assert error_without_information(small, labels) < 4.5

    def flat_level(name, n_classes, noisy):
        return Density() if name == "level" else density_of(name, n_classes, noisy=noisy)

    module = sys.modules["graphuq.inference.sample_jointly"]
    monkeypatch.setattr(module, "density_of", flat_level)
    assert error_without_information(small, labels) > 10


@lru_cache
def by_importance(prior, likelihood, labels, names, size=100_000):
    """Means of functionals, and their errors: draws of the prior, weighted by the likelihood."""
    rng, n_classes = np.random.default_rng(0), labels.classes.size
    model = type(likelihood)
    drawn = {name: drawn_from_prior(rng, name, n_classes, size, model) for name in names}
    known = {"level": 0.0, **prior.parameters, **dataclasses.asdict(likelihood), **drawn}
    given = {name: np.broadcast_to(values, size)[:, None] for name, values in known.items()}
    graph = prior.graph_part
    values = np.append([0.0] * graph.null_mode, graph.spectrum.values)
    variances = (values + given["tau"] ** 2) ** -given["alpha"]
    share, at = given.get("weight", 1.0), np.append(labels.nodes, NODES)
    variances *= share * prior.n_nodes / variances.sum(axis=1, keepdims=True)
    other = np.zeros((at.size, at.size))
    if "weight" in given:
        other = np.linalg.cholesky(prior.parts[1].covariance(at, at) + 1e-10 * np.eye(at.size))
    u = np.stack([
        (rng.standard_normal(variances.shape) * np.sqrt(variances)) @ graph.vectors[at].T
        + np.sqrt(1 - share) * (rng.standard_normal((size, at.size)) @ other.T)
        + given["level"] * rng.standard_normal((size, 1))
        for _ in range(1 if n_classes == 2 else n_classes)
    ], axis=-1)  # fmt: skip
    field = u[:, len(labels) :, 0] if n_classes == 2 else u[:, len(labels) :]
    w = np.exp(log_labels(u[:, : len(labels)], likelihood, labels, given).sum(axis=1))
    w /= w.sum()
    h = functionals(drawn, field)
    mean = w @ h
    return mean, np.sqrt(w**2 @ (h - mean) ** 2)


def log_labels(u, likelihood, labels, given):
    """Log p(label | field) of each draw and label; u has shape (draws, labels, fields)."""
    gamma, n_wrong = given["gamma"], labels.classes.size - 1
    if isinstance(likelihood, gq.LevelSet):
        flips = expit(np.log(n_wrong) - 2 / gamma**2)
    else:
        flips = given.get("flip_rate", np.zeros_like(gamma))
    if labels.confidence is not None:
        doubt = 1 - labels.confidence
        flips = flips * labels.confidence + doubt - flips * doubt / n_wrong
    other = flips / n_wrong
    signed = labels.codes * u[..., 0] if n_wrong == 1 else None
    if isinstance(likelihood, gq.LevelSet):
        right = signed > 0 if n_wrong == 1 else u.argmax(axis=2) == labels.indices
    elif n_wrong == 1:
        right = ndtr(signed / gamma)
    else:
        right = np.empty(u.shape[:2])
        scaled = np.ascontiguousarray(u / gamma[:, :, None])
        class_log_probability(scaled, labels.indices.astype(np.int64), right)
        right = np.exp(right)
    with np.errstate(divide="ignore"):  # where a label is impossible
        return np.log(other + (1 - flips - other) * right)


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
    "level": (8, 0.0, gq.Probit(0.5), ("alpha", "level", "gamma")),
    "level, flips": (8, 0.3, gq.NoisyProbit(0.3, 0.1), ("level", "tau", "gamma", "flip_rate")),
    "level of a level-set": (3, 0.3, gq.LevelSet(1.0), ("level",)),
    "level given": (8, 0.3, gq.Probit(0.3), ("alpha", "gamma")),
    "level, q_0": (8, 0.5, gq.Probit(0.3), ("alpha", "level", "tau")),
    "features": (8, 0.3, gq.Probit(0.5), ("alpha", "gamma")),
    "features of a share": (8, 0.3, gq.NoisyProbit(0.3, 0.1), ("level", "weight", "tau", "gamma")),
    "a part with a level": (8, 0.3, gq.Probit(0.5), ("level", "weight", "gamma")),
    "another graph": (8, 0.0, gq.LevelSet(1.0), ("alpha", "weight")),
    "confidence": (8, 0.3, gq.Probit(0.5), ("alpha", "gamma")),
    "confidence and flips": (8, 0.3, gq.NoisyProbit(0.3, 0.1), ("gamma", "flip_rate")),
    "confidence in a level-set": (8, 0.0, gq.LevelSet(1.0), ("alpha", "gamma")),
    "3 classes": (8, 0.3, gq.NoisyProbit(0.4, 0.1), ("alpha", "level", "gamma")),
    "3 classes, probit": (8, 0.3, gq.Probit(0.4), ("alpha", "tau", "gamma")),
    "3 classes, level-set": (3, 0.3, gq.LevelSet(1.0), ("alpha", "gamma")),
    "3 classes, flips": (8, 0.3, gq.NoisyProbit(0.4, 0.1), ("tau", "flip_rate")),
    "3 classes, features": (8, 0.3, gq.Probit(0.4), ("alpha", "weight", "gamma")),
    "3 classes, confidence": (8, 0.3, gq.Probit(0.4), ("alpha", "gamma")),
    "4 classes": (8, 0.3, gq.Probit(0.4), ("alpha", "level", "tau", "gamma")),
}


@lru_cache
def problem(spectrum, case):
    rank, tau, likelihood, names = CASES[case]
    if case == "full":
        return gq.Prior.full(spectrum), likelihood, names
    prior = gq.Prior.projected(spectrum, rank, tau=tau, null_mode="q_0" in case)
    if "features" in case:
        prior = gq.SumPrior.of([prior, gq.FeaturePrior(FEATURES, 1.0)], [2, 1])
    if "part" in case:
        prior = gq.SumPrior.of([prior, Bent()], [2, 1])
    if "another" in case:
        other = gq.Prior.projected(spectrum, 12, alpha=1.0)
        prior = gq.SumPrior.of([prior, other], [1, 1])
    if "level" in names or case == "level given":
        prior = prior + gq.Level(0.7)
    return prior, likelihood, names


CLASSES = {
    3: gq.Labels([0, 7, 13, 25, 38], ["a", "a", "b", "b", "c"]),
    4: gq.Labels([0, 7, 13, 25], ["a", "a", "b", "c"], classes=["a", "b", "c", "d"]),
}


# The third label is likelier wrong than right, and the last says nothing of two classes.
CONFIDENCE = np.array([0.9, 1.0, 0.2, 0.6, 0.5])


def worst_error(small, case, draws=1000):
    prior, likelihood, names = problem(small[0], case)
    labels = CLASSES[int(case[0])] if "classes" in case else small[1]
    if "confidence" in case:
        labels = gq.Labels(labels.nodes, labels.values, labels.classes, confidence=CONFIDENCE)
    exact, spread = by_importance(prior, likelihood, labels, names)
    post = sampled(prior, likelihood, labels, names, draws=draws)
    assert tuple(post.draws.hyperparameters) == names
    return errors(post, exact, spread).max()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_they_agree_with_draws_of_the_prior_weighted_by_the_likelihood(small, case):
    draws = 400 if "classes" in case else 1000
    assert worst_error(small, case, draws) < 5


# -- mistakes --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "case"),
    [
        ("noise**2", "noise", "probit"),
        ("... + flight.kicks @ ...", "...", "probit"),
        ("np.array([cost])", "np.array([cost / 2])", "level-set"),
        ("np.array([cost])", "np.array([cost / 2])", "confidence in a level-set"),
        ("... + flight.kicks @ ...", "...", "3 classes"),
    ],
    ids=["noise for its variance", "not carried along", "low walls", "own walls", "nor of classes"],
)
def test_a_wrong_flow_is_detected(small, monkeypatch, right, wrong, case):
    plant(monkeypatch, joint, "_flow", right, wrong)
    assert worst_error(small, case) > 5


@pytest.mark.slow
def test_a_field_corrected_before_the_flow_is_detected(small, monkeypatch):
    def put_right(rng, f, y, noise, costs, x):
        x[:] = abs(f) * y

    monkeypatch.setattr(joint, "add_noise", put_right)
    assert worst_error(small, "level-set") > 5


@pytest.mark.slow
def test_a_likelihood_without_its_constant_is_detected(small, monkeypatch):
    """exp(-Phi) of the level-set likelihood is p(y | u) up to a factor that depends on gamma."""
    plant(monkeypatch, hyperparameters, "_log_likelihood", "math.log1p(...)", "0.0")
    slices = recompiled(hyperparameters.slice_hyperparameters)
    monkeypatch.setattr(joint, "slice_hyperparameters", slices)
    assert worst_error(small, "level-set") > 5


@pytest.mark.slow
@pytest.mark.parametrize("right", ["math.log(...)", "0.5 * ... * ..."], ids=["scale", "modes"])
def test_held_modes_without_their_density_are_detected(small, monkeypatch, right):
    plant(monkeypatch, hyperparameters, "_moved_modes", right, "0.0")
    slices = recompiled(hyperparameters.slice_hyperparameters)
    monkeypatch.setattr(joint, "slice_hyperparameters", slices)
    assert worst_error(small, "q_0, rough") > 5


# -- calibration (Talts et al. 2018) ---------------------------------------------------------

LABELED, DRAWS, SIMULATIONS = np.array([0, 5, 9, 13, 20, 26, 33, 38]), 15, 120


def rank_p_values(spectrum, model, drawn_from):
    """P-values of uniform ranks of alpha, gamma and the field at a node."""
    rng, ranks = np.random.default_rng(3), []
    for seed in range(SIMULATIONS):
        alpha = drawn_from_prior(rng, "alpha", 2, ends=drawn_from)
        gamma = float(drawn_from_prior(rng, "gamma", 2, model=model))
        prior = gq.Prior.projected(spectrum, 8, alpha=alpha)
        (u,) = prior.draw(1, seed=rng)
        f = u[LABELED]
        if model is gq.Probit:
            y = np.sign(f + gamma * rng.standard_normal(f.size))
        else:
            y = np.where(rng.random(f.size) < expit(-2 / gamma**2), -1, 1) * np.sign(f)
        if abs(y.sum()) == y.size:  # one class alone is no data set: given the labels, nothing
            continue  # depends on whether the others were kept
        post = sampled(
            prior,
            model(1.0),
            gq.Labels(LABELED, y),
            ["alpha", "gamma"],
            chains=1,
            draws=DRAWS,
            warmup=15,
            thin=10,
            nodes=[3],
            seed=seed,
        )
        truth = {"alpha": alpha, "gamma": gamma}
        below = [(post.draws.hyperparameters[name] < truth[name]).sum() for name in truth]
        ranks.append([*below, (post.draws.field[0] < u[3]).sum()])
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


@pytest.fixture(scope="module")
def three(small):
    """Three classes and a level."""
    names = ["alpha", "level", "gamma"]
    prior = gq.Prior.projected(small[0], 8) + gq.Level()
    return sampled(prior, gq.NoisyProbit(0.3, 0.1), CLASSES[3], names, draws=100)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["post", "three"])
def test_one_seed_reproduces_it_whatever_the_threads(small, kind, request):
    post = request.getfixturevalue(kind)
    names, draws = list(post.draws.hyperparameters), post.settings["draws"]
    model = gq.NoisyProbit(0.3, 0.1)
    for threads in (1, 4):
        again = sampled(post.prior, model, post.labels, names, draws=draws, threads=threads)
        np.testing.assert_array_equal(again.draws.modes, post.draws.modes)
        np.testing.assert_array_equal(again.mean, post.mean)
        for name in names:
            np.testing.assert_array_equal(
                again.draws.hyperparameters[name], post.draws.hyperparameters[name]
            )
    assert np.unique(post.draws.hyperparameters["alpha"]).size > 0.8 * 4 * draws


def test_traces_have_the_moments_of_the_nodes(small, post):
    """Node statistics, traced nodes and draws made afterwards are of the same draws."""
    flat = post.draws.field.reshape(-1, 2)
    single = 4 * np.finfo(np.float32).eps  # of the products for all nodes
    np.testing.assert_allclose(flat.mean(0), post.latent_mean[NODES], atol=single)
    np.testing.assert_allclose(np.sign(flat).mean(0), post.mean[NODES], atol=1e-9)
    for alpha in (1.0, 3.0, "auto"):  # it was sampled
        prior = gq.Prior.projected(small[0], 8, alpha=alpha)
        drawn = np.concatenate(list(post.latent_draws(prior, NODES)))
        np.testing.assert_allclose(drawn, flat, rtol=1e-9)
    with pytest.raises(ValueError, match="must be the one that was sampled with"):
        next(post.latent_draws(gq.Prior.projected(small[0], 8, tau=0.1)))


@pytest.mark.slow
def test_a_level_and_classes_have_traces_and_files_too(small, three, tmp_path):
    assert three.draws.modes.shape == (4, 100, 9, 3)
    flat = three.draws.field.reshape(400, 2, 3)
    np.testing.assert_allclose(flat.mean(axis=0), three.latent_mean[NODES], rtol=1e-5)
    three.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    for prior in (three.prior, gq.Prior.projected(small[0], 8, alpha="auto") + gq.Level("auto")):
        drawn = np.concatenate(list(again.latent_draws(prior, NODES)))
        np.testing.assert_allclose(drawn, flat, rtol=1e-9)
    with pytest.raises(ValueError, match="must be the one that was sampled with"):
        next(again.latent_draws(gq.Prior.projected(small[0], 8)))
    at = three.labels.nodes
    u = np.concatenate(list(three.latent_draws(nodes=at)))
    model = {n: v.reshape(-1, 1) for n, v in three.draws.hyperparameters.items()} | {
        "flip_rate": 0.1
    }
    np.testing.assert_allclose(
        three.label_draws().log_likelihood,
        log_labels(u, gq.NoisyProbit(), three.labels, model),
        rtol=1e-6,
    )


def test_the_columns_of_features_have_traces_and_files_too(small, tmp_path):
    graph = gq.Prior.projected(small[0], 8, alpha="auto")
    prior = graph + gq.FeaturePrior(FEATURES, 1.0) + gq.Level(0.5)
    post = sampled(prior, gq.Probit(0.3), small[1], ["alpha", "weight"], draws=50)
    assert list(post.draws.hyperparameters) == ["alpha", "weight"]
    assert post.draws.modes.shape == (4, 50, 1 + 8)
    assert post.draws.read.shape == (4, 50, 1 + 8 + 40 + 2)
    flat = post.draws.field.reshape(-1, 2)
    np.testing.assert_allclose(flat.mean(axis=0), post.latent_mean[NODES], atol=1e-6)
    post.save(tmp_path / "a.nc")
    drawn = np.concatenate(list(gq.load(tmp_path / "a.nc").latent_draws(prior, NODES)))
    np.testing.assert_allclose(drawn, flat, rtol=1e-9)


def test_a_bare_graph_has_a_level(small):
    post = quietly_jointly(
        small[0], gq.Probit(), small[1], draws=20, chains=1, progress=False, seed=0
    )
    assert list(post.draws.hyperparameters) == ["alpha", "level", "tau", "gamma"]
    post = quietly_jointly(
        small[0], gq.Probit(0.3), CLASSES[3], draws=20, chains=1, progress=False, seed=0
    )
    assert list(post.draws.hyperparameters) == ["alpha", "level", "tau"]
    assert post.prior.level == post.draws.hyperparameters["level"].mean()


def test_they_survive_a_file(post, tmp_path):
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    assert (
        again.draws.hyperparameters.keys()
        == post.draws.hyperparameters.keys()
        == {"alpha", "gamma"}
    )
    for name, values in post.draws.hyperparameters.items():
        np.testing.assert_array_equal(again.draws.hyperparameters[name], values)
        np.testing.assert_array_equal(post.to_arviz()["posterior"][name].values, values)
    assert again.settings == post.settings
    assert again.draws.stats.keys() == post.draws.stats.keys()
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
    assert not cut.draws.complete
    assert cut.draws.hyperparameters["gamma"].shape == cut.draws.modes.shape[:2]
    assert 1 <= cut.settings["draws"] < 50_000
    assert GAMMA[0] < cut.settings["likelihood"]["gamma"] < GAMMA[1]


def test_diagnostics_look_at_them(post):
    shifted = post.draws.hyperparameters["alpha"] + 3 * np.arange(4)[:, None]
    worse = with_draws(post, hyperparameters={"alpha": shifted})
    assert post.diagnostics().r_hat < 1.05
    with pytest.warns(gq.ConvergenceWarning, match="disagree"):
        assert worse.diagnostics().r_hat > 1.5


@pytest.mark.parametrize(
    ("ranges", "error", "match"),
    [
        ({}, ValueError, "all parameters are fixed"),
        ({"alpha": 3.0}, ValueError, "all parameters are fixed"),
        ({"beta": (1, 2)}, TypeError, "no parameter beta"),
        ({"alpha": (1, 3), "rank": (3, 5)}, TypeError, "a rank is not sampled"),
        ({"flip_rate": (0.1, 0.2)}, TypeError, "the parameters are alpha, tau, rank, gamma"),
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


def test_unsupported_arguments_are_refused_with_a_remedy(small, monkeypatch):
    spectrum, labels, _ = small
    alpha = {"alpha": (1, 2)}
    prior = gq.Prior.projected(spectrum, 8)
    with pytest.raises(TypeError, match=r"take Prior\.projected\(spectrum, rank=100\)"):
        gq.sample_jointly(gq.Prior.approximated(spectrum, 8), gq.Probit(0.3), labels, **alpha)
    with pytest.raises(TypeError, match=r"sign models.*use gq.sample"):
        gq.sample_jointly(prior, gq.GinzburgLandau(1.0, 1.0), labels, **alpha)
    with pytest.raises(TypeError, match="and a rank"):
        gq.sample_jointly(gq.Prior.projected(spectrum, "auto"), gq.Probit(0.3), labels, **alpha)
    features = gq.FeaturePrior(np.eye(40)[:, :2], "auto")
    with pytest.raises(TypeError, match=r"flip_rate, and not length_scale: .* by gq\.tune"):
        gq.sample_jointly(prior + features, gq.Probit(0.3), labels, **alpha)
    both = gq.SumPrior.of([prior, prior, gq.FeaturePrior(np.eye(40)[:, :2], 1.0)])
    with pytest.raises(TypeError, match="and not weight_2"):
        gq.sample_jointly(both, gq.Probit(0.3), labels)
    with monkeypatch.context() as patch:
        patch.setattr(feature_prior, "ALL_ITEMS", 10)
        patch.setattr(feature_prior, "INDUCING", 10)
        sums = prior + gq.FeaturePrior(FEATURES, 0.1)
        with pytest.raises(TypeError, match=r"no node has variance of its own.* use gq\.sample"):
            gq.sample_jointly(sums, gq.Probit(0.3), labels, **alpha)
    with pytest.raises(TypeError, match="needs a prior whose modes"):
        gq.sample_jointly(gq.FeaturePrior(np.eye(40)[:, :2], 1.0), gq.Probit(0.3), labels, **alpha)
    approximated = gq.Prior.approximated(spectrum, 8) + gq.Level()
    with pytest.raises(TypeError, match="or a sum that begins with one"):
        gq.sample_jointly(approximated, gq.Probit(0.3), labels, **alpha)
    with pytest.raises(TypeError, match="labels must be"):
        gq.sample_jointly(prior, gq.Probit(0.3), [0, 1], **alpha)


def test_auto_parameters_have_ranges_of_their_own(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8, alpha="auto", tau="auto")
    post = quietly_jointly(prior, gq.Probit(), labels, draws=20, chains=1, progress=False, seed=0)
    assert post.settings["ranges"] == {
        "alpha": [1.0, 10.0], "tau": [0.01, 1.0], "gamma": [0.01, 1.0]
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Own:
    """A sign model that inherits nothing of graphuq."""

    gamma: float
    flips: float

    def sign_model(self, n_classes=2):
        return gq.likelihoods.SignModel.flipping(self.gamma, self.flips, n_classes)


@pytest.mark.parametrize(
    ("own", "equal"),
    [
        (Own(0.4, 0.0), gq.Probit(0.4)),
        (Own(0.4, 0.1), gq.NoisyProbit(0.4, 0.1)),
        (Own(0.0, float(expit(-8))), gq.LevelSet(0.5)),
    ],
)
def test_a_sign_model_of_ones_own_is_sampled_like_its_equal(small, own, equal):
    prior, labels = gq.Prior.projected(small[0], 8), small[1]
    options = {"alpha": (1.0, 3.0), "draws": 20, "seed": 0, "progress": False}
    one, two = (quietly_jointly(prior, model, labels, **options) for model in (own, equal))
    np.testing.assert_allclose(one.by_class, two.by_class, atol=1e-9)
    suspicions = (post.suspect_labels()["probability_wrong"] for post in (one, two))
    np.testing.assert_allclose(*suspicions, atol=1e-9)
    with pytest.raises(TypeError, match=r"and not gamma of Own.*give it a number"):
        gq.sample_jointly(prior, own, labels, gamma=(0.1, 1.0))


def quietly_jointly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample_jointly(*arguments, **options)
