"""Likelihoods of three classes and more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

import graphuq as gq
from graphuq.likelihoods.contract import Observed, bind, differentiate, evaluate, parameters_of

BUILT_IN = [gq.Probit(0.1), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(0.3), gq.GinzburgLandau(2.0, 0.5)]


def phi(likelihood, u, classes):
    """Phi at u, shape (J, K), all of whose nodes are labelled."""
    return likelihood.potential(np.ascontiguousarray(u, dtype=float), seen_of(likelihood, classes))


def slope(likelihood, u, classes):
    out = np.full(np.shape(u), np.nan)
    likelihood.gradient(np.ascontiguousarray(u, float), seen_of(likelihood, classes), out)
    return out


def seen_of(likelihood, classes):
    y = np.array(classes, dtype=float)
    parameters = np.array(list(parameters_of(likelihood).values()))
    return Observed(y, np.arange(y.size), parameters)


def probabilities(likelihood, u):
    return np.exp([-phi(likelihood, u[None], [c]) for c in range(u.size)])


# Probit


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize("gap", [-4000, -300, -52, -40, -20, -3, -0.1, 0, 0.3, 2, 7, 12, 50])
def test_two_columns_are_the_binary_probit_of_their_difference(gap, gamma):
    u = np.array([[0.3, 0.3 + gap * gamma]])
    d = np.diff(u)
    wide = gamma * math.sqrt(2)
    for likelihood, binary in (
        (gq.Probit(gamma), gq.Probit(wide)),
        (gq.NoisyProbit(gamma, 0.1), gq.NoisyProbit(wide, 0.1)),
    ):
        for c, sign in ((0, -1), (1, 1)):
            expected = phi(binary, d, [sign])
            assert np.isclose(phi(likelihood, u, [c]), expected, rtol=1e-10, atol=1e-15)
            down = slope(binary, d, [sign])[0, 0]
            got = slope(likelihood, u, [c])
            assert np.allclose(got, [[-down, down]], rtol=1e-8, atol=1e-14)


def orthant(u, c, gamma):
    """P(u_c + gamma eta_c is the largest), as a probability of K - 1 differences."""
    others = np.delete(u, c)
    n = others.size
    law = multivariate_normal(
        mean=others - u[c],
        cov=gamma**2 * (np.eye(n) + 1),
        maxpts=2_000_000,
        abseps=1e-9,
        releps=1e-9,
        seed=0,
    )
    return law.cdf(np.zeros(n))


@pytest.mark.parametrize("n_classes", [3, 4])
def test_probit_is_an_orthant_probability(n_classes):
    rng = np.random.default_rng(n_classes)
    for gamma in (0.3, 1.0):
        u = gamma * rng.standard_normal(n_classes)
        exact = [orthant(u, c, gamma) for c in range(n_classes)]
        assert np.allclose(probabilities(gq.Probit(gamma), u), exact, atol=1e-7)
        # a control: another gamma is seen
        assert not np.allclose(probabilities(gq.Probit(1.01 * gamma), u), exact, atol=1e-4)


def exact_minus_log(gaps):
    """The same by mpmath, around the peak that bisection finds."""
    with mpmath.workdps(30):
        a = [mpmath.mpf(float(g)) for g in gaps]

        def log_height(t):
            return -t * t / 2 + sum(
                mpmath.log(mpmath.erfc(-(g + t) / mpmath.sqrt(2)) / 2) for g in a
            )

        low, high = mpmath.mpf(-50), mpmath.mpf(2000)
        for _ in range(150):
            t = (low + high) / 2
            rising = -t + sum(mpmath.npdf(g + t) / mpmath.ncdf(g + t) for g in a) > 0
            low, high = (t, high) if rising else (low, t)
        top = log_height(t)
        grid = [t + mpmath.mpf(i) / 2 for i in range(-20, 41)]
        total = mpmath.quad(lambda s: mpmath.exp(log_height(s) - top), grid)
        return -float(top + mpmath.log(total) - mpmath.log(2 * mpmath.pi) / 2)


@pytest.mark.parametrize(
    "gaps",
    [
        (-60, -30),
        (-60, 5),
        (-1000, -400),
        (-1.0, 2.0),
        (-40, -39, -38),
        (-45, 0, 30),
        (-200, -3, 3),
    ],
)
def test_probit_is_accurate_far_into_the_tail(gaps):
    u = -np.array([[0.0, *gaps]])
    assert np.isclose(phi(gq.Probit(1.0), u, [0]), exact_minus_log(gaps), rtol=1e-9, atol=1e-9)


def test_probit_is_finite_and_smooth_where_probabilities_underflow():
    # class 1 comes from far below the others to far above
    u = np.stack([np.array([0.0, x, 0.2, -0.1]) for x in np.linspace(-120, 30, 3001)])
    values = np.array([phi(gq.Probit(1.0), row[None], [1]) for row in u])
    slopes = np.array([slope(gq.Probit(1.0), row[None], [1])[0, 1] for row in u])
    assert values[0] > 1000  # below the smallest float
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0)[u[1:, 1] < 6].all()
    assert (np.diff(slopes) > 0)[u[1:, 1] < 6].all()  # Phi is convex
    # Simpson's rule on the slopes gives back the values
    step = u[2, 1] - u[0, 1]
    gained = (slopes[:-2:2] + 4 * slopes[1:-1:2] + slopes[2::2]) * step / 6
    assert np.allclose(np.diff(values[::2]), gained, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [1e5, 1e10, 1e17, 1e150])
def test_probit_stands_fields_of_any_size(scale):
    u = np.array([[-scale, 0.0, 0.0, 0.0]])
    # the three others pull alike: Phi = (3/8) gap^2 to leading order
    assert math.isclose(phi(gq.Probit(1.0), u, [0]), 0.375 * scale**2, rel_tol=1e-7)
    assert np.allclose(slope(gq.Probit(1.0), u, [0]) / scale, [[-0.75, 0.25, 0.25, 0.25]])
    assert abs(phi(gq.Probit(1.0), -u, [0])) < 1e-15
    assert phi(gq.Probit(1e-100), np.array([[-1e60, 0.0, 0.0]]), [0]) == math.inf  # as of two


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([3, 5, 10, 100]),
    gamma=st.floats(0.01, 3),
)
def test_probabilities_sum_to_one_and_follow_their_classes(seed, n_classes, gamma):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n_classes)
    order = rng.permutation(n_classes)
    for likelihood in (gq.Probit(gamma), gq.NoisyProbit(gamma, 0.2)):
        p = probabilities(likelihood, u)
        assert abs(p.sum() - 1) < 1e-6
        assert np.argmax(p) == np.argmax(u) or np.ptp(p) < 1e-6
        assert np.allclose(probabilities(likelihood, u[order]), p[order], rtol=1e-9, atol=1e-300)
        assert np.allclose(probabilities(likelihood, u + 0.5), p, rtol=1e-6, atol=1e-300)
        gradient = slope(likelihood, u[None], [0])
        assert abs(gradient.sum()) <= 1e-12 * np.abs(gradient).sum()


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
def test_equal_fields_give_equal_probabilities(n_classes):
    p = probabilities(gq.Probit(0.2), np.full(n_classes, 0.7))
    assert np.allclose(p, 1 / n_classes, rtol=1e-5, atol=0)


# noisy probit and level-set


def test_noisy_probit_flips_to_any_other_class_alike():
    u = np.random.default_rng(0).standard_normal(5)
    p, f = probabilities(gq.Probit(0.5), u), 0.3
    confusion = np.full((5, 5), f / 4) + (1 - f - f / 4) * np.eye(5)
    assert np.allclose(probabilities(gq.NoisyProbit(0.5, f), u), confusion @ p, atol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_sign_models_say_what_potentials_do(n_classes):
    rng = np.random.default_rng(0)
    u, c = rng.standard_normal((40, n_classes)), rng.integers(0, n_classes, 40)
    wrong = (u.argmax(axis=1) != c).sum()
    assert 0 < wrong < 40
    _, cost = gq.LevelSet(0.8).sign_model
    assert np.isclose(phi(gq.LevelSet(0.8), u, c), cost * wrong)
    # noise that is too small to matter leaves the flips: Phi is -log(1 - f), or the cost more
    noisy = gq.NoisyProbit(1e-6, 0.2)
    noise, cost = noisy.sign_model_of(n_classes)
    assert noise == 1e-6
    assert cost == pytest.approx(math.log(0.8 * (n_classes - 1) / 0.2))
    assert phi(noisy, u, c) == pytest.approx(cost * wrong - 40 * math.log(0.8))
    assert noisy.sign_model_of(2) == noisy.sign_model
    assert gq.Probit(0.3).sign_model == (0.3, math.inf)


# Ginzburg-Landau


def wells(u):
    """The potential of epsilon = 1 at nodes of u without labels, shape (m, K)."""
    return phi(gq.GinzburgLandau(1.0, 1.0), np.atleast_2d(u), [])


@pytest.mark.parametrize("n_classes", [3, 5, 12])
def test_wells_are_those_of_garcia_cardona_on_the_simplex(n_classes):
    rng = np.random.default_rng(0)
    vertices = np.eye(n_classes)
    for w in rng.dirichlet(np.full(n_classes, 0.5), size=20):
        theirs = np.prod([0.25 * np.abs(w - e).sum() ** 2 for e in vertices])
        assert np.isclose(wells(w - 1 / n_classes), 4 * theirs, atol=1e-15)
        # off the plane, the squared distance from it
        assert np.isclose(wells(w - 1 / n_classes + 0.1), 4 * (theirs + n_classes * 0.01))
    for b in np.linspace(-1, 1, 9):  # between two vertices: the well of two classes
        edge = (1 + b) / 2 * vertices[0] + (1 - b) / 2 * vertices[1]
        binary = gq.GinzburgLandau.potential(
            np.array([[b]]), Observed(np.empty(0), np.empty(0, int), np.array([1.0, 1.0]))
        )
        assert np.isclose(wells(edge - 1 / n_classes), binary, atol=1e-15)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_vertices_are_the_only_minima(n_classes):
    rng = np.random.default_rng(1)
    vertices = np.eye(n_classes) - 1 / n_classes
    likelihood = gq.GinzburgLandau(1.0, 1.0)
    reached = set()
    for scale in (0.01, 0.3, 3.0):
        for _ in range(15):
            end = minimize(
                lambda u: phi(likelihood, u[None], []),
                scale * rng.standard_normal(n_classes),
                jac=lambda u: slope(likelihood, u[None], [])[0],
                options={"gtol": 1e-8},
            )
            distance = np.abs(vertices - end.x).max(axis=1)
            assert distance.min() < 1e-3
            reached.add(int(distance.argmin()))
    assert len(reached) == n_classes


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.sampled_from([3, 4, 20]), face=st.booleans())
def test_the_gradient_is_continuous_and_that_of_the_potential(seed, n_classes, face):
    rng = np.random.default_rng(seed)
    likelihood = gq.GinzburgLandau(0.7, 0.4)
    u = 10 ** rng.uniform(-1, 0.7) * rng.standard_normal(n_classes)
    if face:  # where the pieces meet: w_k = 0, and w_k = 1
        w = np.zeros(n_classes)
        w[0], w[1] = 1 + rng.exponential() * rng.integers(0, 2), rng.standard_normal()
        w[2] = 1 - w.sum()
        u = rng.permutation(w) - 1 / n_classes + 0.1 * rng.standard_normal()
    direction = rng.standard_normal(n_classes)
    h = 1e-6
    ends = [u + s * h * direction for s in (-1, 1)]
    before, after = (slope(likelihood, e[None], [1])[0] for e in ends)
    assert np.abs(after - before).max() < 1e-3 * (1 + np.abs(u).max())
    rise = np.diff([phi(likelihood, e[None], [1]) for e in ends])[0] / (2 * h)
    along = direction @ slope(likelihood, u[None], [1])[0]
    assert abs(rise - along) < 1e-4 * (1 + abs(along))


def test_labels_are_gaussian_about_the_field():
    labels = gq.Labels([0, 2, 3], ["a", "c", "a"], classes=["a", "b", "c", "d"])
    bound = bind(gq.GinzburgLandau(2.0, 0.3), labels, 5)
    u = 0.3 * np.random.default_rng(0).standard_normal((5, 4))
    y = np.eye(4)[[0, 2, 0]] - 1 / 4
    density = sum(
        multivariate_normal.logpdf(y[j], u[i], 0.3**2 * np.eye(4)) for j, i in enumerate([0, 2, 3])
    )
    said = evaluate(bound.without_labels(), u) - evaluate(bound, u) - 3 * bound.log_normaliser
    assert np.isclose(said, density)


# the contract


@pytest.mark.parametrize("likelihood", BUILT_IN, ids=repr)
def test_built_in_likelihoods_serve_any_number_of_classes(likelihood):
    assert likelihood.multiclass
    classes = np.array(["ant", "bee", "cat", "dog", "eel"])
    labels = gq.Labels([1, 4, 6, 7], classes[[0, 3, 3, 1]], classes=classes)
    bound = bind(likelihood, labels, 9)
    assert bound.columns == 5
    assert bound.observed.y.tolist() == [0, 3, 3, 1]
    u = np.random.default_rng(0).standard_normal((9 if bound.nodes is None else 4, 5))
    value = evaluate(bound, u)
    assert np.isfinite(value)
    # other names of the classes change nothing
    order = np.array([3, 0, 4, 1, 2])
    renamed = gq.Labels([1, 4, 6, 7], order[[0, 3, 3, 1]], classes=range(5))
    moved = np.empty_like(u)
    moved[:, order] = u
    again = bind(likelihood, renamed, 9)
    assert np.isclose(evaluate(again, moved), value, rtol=1e-12)
    if bound.gradient is not None:
        assert np.allclose(differentiate(again, moved)[:, order], differentiate(bound, u))


def test_bind_asks_for_the_sign_model_of_so_many_classes():
    labels = gq.Labels([0, 1, 2], [0, 1, 2])
    likelihood = gq.NoisyProbit(0.1, 0.05)
    assert bind(likelihood, labels, 3).sign_model == likelihood.sign_model_of(3)
    two = bind(likelihood, labels.of_classes(0, 1), 3)
    assert two.sign_model == likelihood.sign_model
    assert two.sign_model[1] == pytest.approx(math.log(0.95 / 0.05))


@njit
def _softmax(u, seen):
    scale, total = seen.parameters[0], 0.0
    for j in range(seen.y.size):
        at = u[seen.rows[j]] / scale
        if at.size == 1:
            total += np.log1p(np.exp(-seen.y[j] * at[0]))
        else:
            total += np.log(np.exp(at).sum()) - at[int(seen.y[j])]
    return total


@njit
def _softmax_gradient(u, seen, out):
    scale = seen.parameters[0]
    out[:] = 0.0
    for j in range(seen.y.size):
        row, y = seen.rows[j], seen.y[j]
        at = u[row] / scale
        if at.size == 1:
            out[row, 0] = -y / scale / (1 + np.exp(y * at[0]))
        else:
            share = np.exp(at)
            out[row] = share / share.sum() / scale
            out[row, int(y)] -= 1 / scale


@njit
def _gradient_of_another_class(u, seen, out):
    _softmax_gradient(u, seen, out)
    if u.shape[1] > 1:
        out[3, 2] += 0.1


@dataclass(frozen=True)
class Softmax:
    scale: float
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential = staticmethod(_softmax)
    gradient = staticmethod(_softmax_gradient)


@dataclass(frozen=True)
class WrongOfThree(Softmax):
    gradient = staticmethod(_gradient_of_another_class)


@dataclass(frozen=True)
class OfTwo(WrongOfThree):
    multiclass: ClassVar[bool] = False


def test_a_plugin_of_three_classes_keeps_the_contract():
    gq.check_likelihood(Softmax(0.5))
    bound = bind(Softmax(0.5), gq.Labels([1, 3, 4], ["x", "z", "y"]), 5)
    u = np.random.default_rng(0).standard_normal((3, 3))
    expected = -log_softmax(u / 0.5, axis=1)[np.arange(3), [0, 2, 1]].sum()
    assert np.isclose(evaluate(bound, u), expected)


def test_a_gradient_that_is_wrong_of_three_classes_alone_is_caught():
    with pytest.raises(ValueError, match=r"node 3, class 2 of 3: gradient .* central difference"):
        gq.check_likelihood(WrongOfThree(0.5))


def test_a_plugin_that_does_not_say_so_serves_two_classes_alone():
    gq.check_likelihood(OfTwo(0.5))
    with pytest.raises(ValueError, match="OfTwo serves two classes, and the labels have 3"):
        bind(OfTwo(0.5), gq.Labels([1, 3, 4], ["x", "z", "y"]), 5)
