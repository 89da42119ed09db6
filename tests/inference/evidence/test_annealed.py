"""The annealed evidence against exact answers, and wrong versions of it that must fail."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from conftest import priors
from numba import njit
from references import problems
from references.exact import class_evidence, orthant
from references.problems import THREE
from references.selection import SLOW, each_once, first_of, shown
from scipy.stats import multivariate_normal

import graphuq as gq
from graphuq.inference.evidence import annealed
from graphuq.likelihoods.bound import bind, evaluate
from graphuq.likelihoods.label_rule import Argmax
from graphuq.likelihoods.sign_model import SignModel

# gamma before the threshold and flip rate after it, for each model
MODELS = [
    *((gq.Probit(gamma), gamma, 0.0) for gamma in (0.01, 0.1, 1.0)),
    *((gq.LevelSet(g), 0.0, 1 / (1 + math.exp(min(2 / g**2, 700)))) for g in (0.01, 0.7, 1.0)),
    *((gq.NoisyProbit(gamma, 0.1), gamma, 0.1) for gamma in (0.01, 0.1, 1.0)),
]


def log_probability(prior, labels, gamma, flip_rate):
    """Log P(labels): orthant probabilities, summed over which labels were flipped."""
    codes, total = labels.codes, 0.0
    G = prior.covariance(labels.nodes, labels.nodes) + gamma**2 * np.eye(codes.size)
    for flips in itertools.product([1.0, -1.0], repeat=codes.size):
        signs = codes * np.array(flips)
        weight = np.prod(np.where(np.array(flips) < 0, flip_rate, 1 - flip_rate))
        if weight > 1e-12:
            total += weight * orthant(signs[:, None] * G * signs)
    return math.log(total)


def off(found, exact):
    """Return the error of the estimate in standard errors."""
    return abs(found.log_evidence - exact) / found.mcse


@pytest.mark.parametrize(
    ("kind", "model", "gamma", "flip_rate"),
    each_once(["full", "projected", "approximated"], MODELS),
    ids=shown,
)
def test_sign_models_are_exact(small, kind, model, gamma, flip_rate):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    found = gq.annealed_evidence(prior, model, labels, draws=1000, chains=16, seed=1)
    assert found.mcse < 0.05
    assert off(found, log_probability(prior, labels, gamma, flip_rate)) < 4
    assert found.stones[0] == 0
    assert found.stones[-1] == gq.likelihoods.bound.bind(model, labels, 40).sign_model[1]
    assert (np.diff(found.stones) > 0).all()


def one_mode():
    """Two opposite groups, in which the field is the same everywhere, up to rounding."""
    twins = np.ones((6, 6)) - np.eye(6)
    twins[:3, 3:] = twins[3:, :3] = 0.01
    return gq.Prior.projected(gq.Graph(twins), 1)


@pytest.mark.parametrize("gamma", [0.05, 0.6])
def test_more_labels_than_modes(gamma):
    labels = gq.Labels([0, 1, 2, 3], [1, 1, 0, 0])  # one is wrong, or three
    found = gq.annealed_evidence(one_mode(), gq.LevelSet(gamma), labels, chains=16, seed=0)
    V = 2 / gamma**2
    exact = math.log(0.5) + np.logaddexp(-V, -3 * V) - 4 * math.log1p(math.exp(-V))
    assert abs(found.log_evidence - exact) < 4 * found.mcse + 1e-9
    assert found.mcse < 0.05


GRAPH = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
PRIOR, LABELS = gq.Prior.full(GRAPH), gq.Labels([0, 3], ["a", "b"])


def ginzburg_landau_log_density(epsilon, gamma, points=60):
    """Return log p(y) E[exp(-wells) | y] / E[exp(-wells)], with v Gaussian without the wells.

    Expectations by quadrature over the three modes.
    """
    z, weights = np.polynomial.hermite_e.hermegauss(points)
    grid = np.stack(np.meshgrid(z, z, z, indexing="ij"), -1).reshape(-1, 3)
    mass = np.prod(np.stack(np.meshgrid(weights, weights, weights), -1).reshape(-1, 3), axis=1)
    F = PRIOR.spectrum.vectors * PRIOR.sigma
    F_J, y = F[LABELS.nodes], LABELS.codes

    def log_expectation(mean, root):
        v = (mean + grid @ root.T) @ F.T
        return math.log(mass @ np.exp(-((v**2 - 1) ** 2).sum(1) / (4 * epsilon)) / mass.sum())

    covariance = np.linalg.inv(np.eye(3) + F_J.T @ F_J / gamma**2)
    given_y = covariance @ F_J.T @ y / gamma**2, np.linalg.cholesky(covariance)
    log_ratio = log_expectation(*given_y) - log_expectation(np.zeros(3), np.eye(3))
    return log_ratio + multivariate_normal.logpdf(y, cov=F_J @ F_J.T + gamma**2 * np.eye(2))


@pytest.mark.parametrize(("epsilon", "gamma"), first_of([(0.5, 0.6), (0.3, 2.0), (1.0, 0.01)]))
def test_ginzburg_landau_is_exact(epsilon, gamma):
    exact = ginzburg_landau_log_density(epsilon, gamma)
    assert math.isclose(exact, ginzburg_landau_log_density(epsilon, gamma, 80), abs_tol=1e-3)
    model = gq.GinzburgLandau(epsilon, gamma)
    # gamma = 0.01 needs more: at 16 chains the error is 0.05, on either side by the last digits
    found = gq.annealed_evidence(PRIOR, model, LABELS, chains=16 if gamma > 0.01 else 40, seed=0)
    assert found.mcse < 0.05
    assert off(found, exact) < 4


@njit
def _misfit(u, seen):
    phi = 0.0
    for j in range(seen.y.size):
        phi += (seen.y[j] - u[seen.rows[j], 0]) ** 2
    return phi / (2 * seen.parameters[0] ** 2)


@njit
def _slope(u, seen, out):
    out[:] = 0.0
    for j in range(seen.y.size):
        out[seen.rows[j], 0] -= (seen.y[j] - u[seen.rows[j], 0]) / seen.parameters[0] ** 2


@dataclass(frozen=True)
class Regression:
    """Labels observe the field with Gaussian noise, so the posterior is Gaussian."""

    gamma: float
    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_misfit)


@dataclass(frozen=True)
class SmoothRegression(Regression):
    gradient = staticmethod(_slope)


@dataclass(frozen=True)
class NormalizedRegression(SmoothRegression):
    def log_normalizer(self, n_classes=2):
        return 0.5 * math.log(2 * math.pi * self.gamma**2)


@pytest.mark.parametrize("model", first_of([NormalizedRegression, SmoothRegression, Regression]))
def test_gaussian_potentials_are_exact(small, model):
    spectrum, labels, _ = small
    gamma, prior = 0.1, gq.Prior.approximated(spectrum, 8)
    found = gq.annealed_evidence(prior, model(gamma), labels, chains=16, seed=0)
    G = prior.covariance(labels.nodes, labels.nodes) + gamma**2 * np.eye(5)
    exact = multivariate_normal.logpdf(labels.codes, cov=G)
    if model is not NormalizedRegression:  # E[exp(-Phi)]
        exact += 2.5 * math.log(2 * math.pi * gamma**2)
    assert found.mcse < 0.1
    assert off(found, exact) < 4
    assert found.stones[-1] == 1


def test_elliptical_slice_that_looks_at_no_power_fails(small, monkeypatch):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    advance = gq.EllipticalSlice.advance
    monkeypatch.setattr(
        gq.EllipticalSlice,
        "advance",
        lambda self, target, *rest: advance(self, target._replace(power=1.0), *rest),
    )
    found = gq.annealed_evidence(prior, Regression(0.1), labels, seed=0)
    G = prior.covariance(labels.nodes, labels.nodes) + 0.01 * np.eye(5)
    normalizer = 2.5 * math.log(2 * math.pi * 0.01)
    assert off(found, multivariate_normal.logpdf(labels.codes, cov=G) + normalizer) > 4


@njit
def _fenced(u, seen):
    return 0.0 if u[seen.rows[0], 0] * seen.y[0] > 0 else np.inf


@njit
def _level(u, seen, out):
    out[:] = 0.0


@dataclass(frozen=True)
class Fenced:
    """One label, never wrong."""

    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_fenced)
    gradient = staticmethod(_level)


def test_forbidden_places_count_as_nothing():
    found = gq.annealed_evidence(PRIOR, Fenced(), LABELS, draws=2000, seed=0)
    assert found.mcse < 0.05
    assert off(found, math.log(0.5)) < 4


def _weights_too_flat(energies, step):
    return -0.9 * step * energies if step < np.inf else np.where(energies > 0, -np.inf, 0.0)


@pytest.mark.parametrize("mistake", ["weights", "no flips", "walls that do not rise"])
def test_negative_controls_fail(small, monkeypatch, mistake):
    spectrum, labels, _ = small
    prior, flip_rate = gq.Prior.approximated(spectrum, 8), 0.1
    exact = log_probability(prior, labels, 0.1, flip_rate)
    if mistake == "weights":
        monkeypatch.setattr(annealed, "_log_weights", _weights_too_flat)
    if mistake == "no flips":
        monkeypatch.setattr(SignModel, "right", lambda model, n_classes: 1.0)
    if mistake == "walls that do not rise":
        walk = annealed._Walls.walk
        monkeypatch.setattr(
            annealed._Walls, "walk", lambda self, state, _, *rest: walk(self, state, 0.0, *rest)
        )
    model = gq.NoisyProbit(0.1, flip_rate)
    found = gq.annealed_evidence(prior, model, labels, draws=1000, chains=16, seed=1)
    assert off(found, exact) > 4


def test_wells_that_are_not_the_priors_fail(monkeypatch):
    monkeypatch.setattr(gq.likelihoods.bound.Bound, "without_labels", lambda self: self)
    found = gq.annealed_evidence(PRIOR, gq.GinzburgLandau(0.5, 0.6), LABELS, chains=16, seed=0)
    assert off(found, ginzburg_landau_log_density(0.5, 0.6)) > 4


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (gq.Probit(0.1), 2),
        (gq.Probit(0.1), 3),
        (gq.GinzburgLandau(1.0, 0.5), 2),
        pytest.param(gq.GinzburgLandau(1.0, 0.5), 3, marks=SLOW),
        (Regression(0.5), 2),
    ],
)
def test_a_seed_gives_the_same_whatever_the_threads(small, model, n_classes):
    prior, labels = gq.Prior.approximated(small[0], 8), problems.LABELS[n_classes]
    run = {"draws": 50, "chains": 3}
    one, two = (
        gq.annealed_evidence(prior, model, labels, seed=3, threads=threads, **run)
        for threads in (1, 2)
    )
    assert one.log_evidence == two.log_evidence
    assert one.mcse == two.mcse
    assert np.array_equal(one.stones, two.stones)
    other = gq.annealed_evidence(prior, model, labels, seed=5, **run)
    assert other.log_evidence != one.log_evidence


def test_chains_that_disagree_are_reported():
    clumps = np.kron(np.eye(2), np.ones((15, 15))) + 1e-3
    prior = gq.Prior.projected(gq.Graph(clumps - np.diag(np.diag(clumps))), 29)
    labels, model = gq.Labels([0, 29], [0, 1]), gq.GinzburgLandau(1e-3, 0.05)
    with pytest.warns(gq.ConvergenceWarning, match="estimates of the log evidence disagree"):
        gq.annealed_evidence(prior, model, labels, draws=1, chains=2, seed=0)


@njit
def _nowhere(u, seen):
    return np.inf if u[seen.rows[0], 0] != 0.1 else 0.0


@njit
def _undefined(u, seen):
    return np.log(u[seen.rows[0], 0]) if u[seen.rows[0], 0] < 1 else np.nan


@dataclass(frozen=True)
class Nowhere:
    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_nowhere)


@dataclass(frozen=True)
class Undefined:
    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_undefined)


@dataclass(frozen=True)
class Impossible:
    """No label is ever wrong."""

    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_misfit)
    gamma: float = 1.0

    def sign_model(self, n_classes=2):
        return 0.0, math.inf


def test_invalid_evidences_are_errors():
    with pytest.raises(ValueError, match=r"Undefined.*: the potential is nan at a field"):
        gq.annealed_evidence(PRIOR, Undefined(), LABELS, seed=0)
    with pytest.raises(RuntimeError, match=r"Nowhere.*infinite at every draw"):
        gq.annealed_evidence(PRIOR, Nowhere(), LABELS, seed=0)
    with pytest.raises(RuntimeError, match=r"Impossible\(gamma=1\).*ladder did not reach"):
        gq.annealed_evidence(one_mode(), Impossible(), gq.Labels([0, 1], [1, 0]), seed=0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prior": GRAPH}, TypeError, "prior must be"),
        ({"likelihood": gq.Probit}, TypeError, "an instance"),
        ({"labels": [0, 1]}, TypeError, "labels must be"),
        ({"draws": 0}, ValueError, "draws must be at least 1"),
        ({"chains": 1}, ValueError, "chains must be at least 2"),
        ({"threads": 0}, ValueError, "threads must be"),
        ({"seed": -1}, TypeError, "seed must be"),
        ({"draws": 10**13}, MemoryError, "fewer draws"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    arguments = {"prior": PRIOR, "likelihood": gq.Probit(0.1), "labels": LABELS, **change}
    with pytest.raises(error, match=message):
        gq.annealed_evidence(**arguments)


@dataclass(frozen=True)
class BadNormalizer:
    reads: ClassVar[str] = "labelled"
    potential = staticmethod(_misfit)
    gamma: float = 1.0

    def log_normalizer(self, n_classes=2):
        return math.nan


def test_a_normalizer_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match=r"BadNormalizer\.log_normalizer must be finite"):
        gq.annealed_evidence(PRIOR, BadNormalizer(), LABELS)


@pytest.mark.slow
def test_walls_rise_slowly_where_all_draws_have_the_same_energy():
    """Three of twenty labels contradict the graph: most draws have three wrong signs at first."""
    X, y = gq.datasets.two_moons(200, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=50)
    labels = gq.reveal(y, counts=10, seed=0)
    values = labels.values.copy()
    wrong = np.random.default_rng(0).choice(20, 3, replace=False)
    values[wrong] = 1 - values[wrong]
    problem = (
        gq.Prior.projected(spectrum, 50, alpha=3.46875),
        gq.Probit(0.0237137),
        gq.Labels(labels.nodes, values),
    )
    exact = -17.590  # Genz's integral, scipy.stats.multivariate_normal.cdf with 10^7 points
    found = gq.annealed_evidence(*problem, chains=16, seed=0)
    assert abs(found.log_evidence - exact) < 4 * found.mcse < 2
    assert abs(gq.evidence(*problem) - exact) < 0.1


SAME = gq.Labels([0, 7, 38], ["a", "a", "b"], classes=["a", "b", "c"])


FOUR = gq.Labels([7, 25], ["a", "d"], classes=["a", "b", "c", "d"])


MODELS_OF_CLASSES = [gq.Probit(0.3), gq.LevelSet(1.2), gq.LevelSet(0.7), gq.NoisyProbit(0.3, 0.2)]


def annealed_at(prior, model, labels, seed=1):
    return gq.annealed_evidence(prior, model, labels, draws=1000, chains=16, seed=seed)


def exact_of_classes(prior, model, labels):
    return class_evidence(prior, labels, *bind(model, labels, prior.n_nodes).sign_model)


@pytest.mark.parametrize(
    "labels", [THREE, SAME, pytest.param(FOUR, marks=SLOW)], ids=["three", "same", "four"]
)
@pytest.mark.parametrize("model", MODELS_OF_CLASSES, ids=repr)
def test_sign_models_of_three_and_four_classes_are_exact(small, model, labels):
    kind = {3: "approximated", 4: "projected"}[labels.classes.size]
    prior = priors(small[0], 8)[kind]
    found = annealed_at(prior, model, labels)
    assert found.mcse < 0.05
    assert abs(found.log_evidence - exact_of_classes(prior, model, labels)) < 4 * found.mcse


@pytest.mark.parametrize("mistake", ["normalizer of two classes", "smallest field"])
def test_negative_controls_of_three_classes_fail(small, monkeypatch, mistake):
    prior, model = gq.Prior.approximated(small[0], 8), gq.LevelSet(1.2)
    if mistake == "normalizer of two classes":
        right_of = SignModel.right
        monkeypatch.setattr(SignModel, "right", lambda model, _: right_of(model, 2))
    else:
        right = Argmax.wrong
        monkeypatch.setattr(Argmax, "wrong", lambda rule, x, y: right(rule, -x, y))
    found = annealed_at(prior, model, THREE)
    assert abs(found.log_evidence - exact_of_classes(prior, model, THREE)) > 4 * found.mcse


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_annealed_evidence_of_all_labels_adds_up_to_one(small, n_classes):
    prior, model, total, variance = gq.Prior.projected(small[0], 8), gq.LevelSet(1.2), 0.0, 0.0
    classes = list("abc"[:n_classes])
    for values in itertools.product(classes, repeat=2):
        labels = gq.Labels([7, 13], values, classes=classes)
        found = gq.annealed_evidence(prior, model, labels, chains=4, seed=0)
        total += math.exp(found.log_evidence)
        variance += (math.exp(found.log_evidence) * found.mcse) ** 2
    assert abs(total - 1) < 4 * math.sqrt(variance) < 0.1


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_label_is_one_of_k(small, n_classes):
    labels = gq.Labels([7], ["b"], classes=list("abcde"[:n_classes]))
    prior = gq.Prior.projected(small[0], 8)
    found = gq.annealed_evidence(prior, gq.Probit(0.1), labels, seed=0)
    assert abs(found.log_evidence - math.log(1 / n_classes)) < 4 * found.mcse < 0.2


@pytest.mark.slow
def test_ginzburg_landau_of_three_classes_is_exact():
    """Wells and labels of three fields with one mode: quadrature over its three numbers."""
    graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
    prior, labels = gq.Prior.projected(graph, 1), gq.Labels([0, 1, 3], ["a", "b", "c"])
    bound = bind(gq.GinzburgLandau(1.0, 1.0), labels, 4)
    mode, field_alone = prior.vectors * prior.sigma, bound.without_labels()
    points, weights = np.polynomial.hermite_e.hermegauss(24)
    with_labels = without = 0.0
    for at in itertools.product(range(24), repeat=3):
        u, mass = mode * points[list(at)], weights[list(at)].prod()
        with_labels += mass * math.exp(-evaluate(bound, u))
        without += mass * math.exp(-evaluate(field_alone, u))
    exact = math.log(with_labels / without) - 3 * 3 * 0.5 * math.log(2 * math.pi)
    found = gq.evidence(prior, gq.GinzburgLandau(1.0, 1.0), labels, seed=0)
    assert abs(found - exact) < 4 * found.mcse < 0.4


@dataclass(frozen=True)
class Plugin(gq.LevelSet):
    """The same model, which defines its potential only."""

    def sign_model(self, n_classes=2):
        return None


def test_a_potential_alone_has_an_evidence(small):
    """It is E[exp(-Phi)], without the normalizer of the labels."""
    prior = gq.Prior.projected(small[0], 8)
    found = gq.evidence(prior, Plugin(1.2), THREE, seed=0)
    exact = exact_of_classes(prior, gq.LevelSet(1.2), THREE) + 3 * math.log1p(
        2 * math.exp(-2 / 1.2**2)
    )
    assert abs(found - exact) < 4 * found.mcse < 0.2
