"""The probit likelihood: accuracy in the tails, and K classes against exact answers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.potentials import phi, probabilities, slope
from references.selection import SLOW
from scipy.stats import multivariate_normal

import graphuq as gq
from graphuq.likelihoods.probit import log_cdf, log_cdf_slope


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


@pytest.mark.parametrize("n_classes", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_probit_is_an_orthant_probability(n_classes):
    rng = np.random.default_rng(n_classes)
    for gamma in (0.3, 1.0):
        u = gamma * rng.standard_normal(n_classes)
        exact = [orthant(u, c, gamma) for c in range(n_classes)]
        assert np.allclose(probabilities(gq.Probit(gamma), u), exact, atol=1e-7)
        # negative control: another gamma is detected
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
        pytest.param((-40, -39, -38), marks=SLOW),
        pytest.param((-45, 0, 30), marks=SLOW),
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
def test_probit_is_accurate_for_fields_of_any_size(scale):
    u = np.array([[-scale, 0.0, 0.0, 0.0]])
    # the three others pull alike: Phi = (3/8) gap^2 to leading order
    assert math.isclose(phi(gq.Probit(1.0), u, [0]), 0.375 * scale**2, rel_tol=1e-7)
    assert np.allclose(slope(gq.Probit(1.0), u, [0]) / scale, [[-0.75, 0.25, 0.25, 0.25]])
    assert abs(phi(gq.Probit(1.0), -u, [0])) < 1e-15
    assert phi(gq.Probit(1e-8), np.array([[-1e152, 0.0, 0.0]]), [0]) == math.inf  # as of two


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
        assert abs(p.sum() - 1) < 3e-8 * n_classes  # the errors of all classes add up
        assert np.argmax(p) == np.argmax(u) or np.ptp(p) < 1e-6
        assert np.allclose(probabilities(likelihood, u[order]), p[order], rtol=1e-9, atol=1e-300)
        assert np.allclose(probabilities(likelihood, u + 0.5), p, rtol=1e-6, atol=1e-300)
        gradient = slope(likelihood, u[None], [0])
        assert abs(gradient.sum()) <= 1e-12 * np.abs(gradient).sum()


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
def test_equal_fields_give_equal_probabilities(n_classes):
    p = probabilities(gq.Probit(0.2), np.full(n_classes, 0.7))
    assert np.allclose(p, 1 / n_classes, rtol=1e-5, atol=0)


@pytest.mark.parametrize("x", np.concatenate([np.linspace(-45, 9, 109), [-20.0, -1e-9, -1e4]]))
def test_log_cdf_and_its_slope_are_accurate_far_into_the_tail(x):
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        slope = mpmath.npdf(mpmath.mpf(x)) / (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        assert abs(log_cdf(x) / exact - 1) < 1e-12
        assert abs(log_cdf_slope(x) / slope - 1) < 1e-12
