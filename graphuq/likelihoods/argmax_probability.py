"""The probability of each of K numbers to be the largest after noise is added to them."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from scipy.special import erfcx

from graphuq.utils.jit import kernel
from graphuq.utils.polynomials import interpolate
from graphuq.utils.typing import Array

# Noise lies within REACH deviations, except in one of 1e9 cases. The error of the trapezoidal rule
# decreases exponentially with the number of points in the smallest deviation, from which others may
# differ by MAX_RATIO.
REACH, POINTS, MAX_RATIO = 6.0, 32, 16
STEP = 2 * REACH / (POINTS - 1)
MAX_POINTS = MAX_RATIO * (POINTS - 1) + 1

# Unlike the functions of math, polynomials are computed for several points at a time: erfc(z) is
# TAIL(z)^-32 and exp(-y) is BELL(y)^-32, up to 2e-11 relative to their values. Beyond MAX_T
# deviations the tail of the normal law is left out.
MAX_T, SQUARES = 7.0, 5
ROOT, MAX_Z = 2**SQUARES, MAX_T * math.sqrt(0.5)
TAIL_DEGREE, BELL_DEGREE = 18, 9
TAIL = interpolate(lambda z: np.exp(z**2 / ROOT) * erfcx(z) ** (-1 / ROOT), TAIL_DEGREE, (0, MAX_Z))
BELL = interpolate(lambda y: np.exp(y / ROOT), BELL_DEGREE, (0, MAX_Z**2))

# Products and sums in any order, several at a time.
FAST = {"reassoc", "contract", "nsz"}


def argmax_probability(u: Array, noise: float) -> Array:
    """Return P(argmax_k (u_k + noise eta_k) = c) for every c, with independent eta_k ~ N(0, 1).

    It is int phi(x - v_c) prod_{k != c} Psi(x - v_k; 1) dx with v = u / noise, computed by the
    trapezoidal rule on points around the largest v_k, the same points for every c.

    Parameters
    ----------
    u : ndarray, shape (..., K)
    noise : float
        At least 0.

    Returns
    -------
    ndarray, shape (..., K)

    Examples
    --------
    >>> argmax_probability(np.array([0.0, 0.0, 0.0, -9.0]), noise=1.0).round(6)
    array([0.333333, 0.333333, 0.333333, 0.      ])
    >>> argmax_probability(np.array([0.2, 0.1]), noise=0.0)
    array([1., 0.])
    """
    K = u.shape[-1]
    out = np.zeros(u.shape)
    if noise == 0:
        np.put_along_axis(out, u.argmax(axis=-1, keepdims=True), 1.0, axis=-1)
    else:
        v = np.ascontiguousarray(u / noise, dtype=np.float64)
        _integrate(v.reshape(1, -1, K), np.ones((1, K)), out.reshape(1, -1, K))
    return out


def argmax_probability_of_draws(u: Array, deviation: Array) -> Array:
    """Return P(argmax_k (u_k + s_k eta_k) = c) for every c, given draws of u.

    Parameters
    ----------
    u : ndarray, shape (n, draws, K)
    deviation : ndarray, shape (n, K)
        s_k, above 0. The largest of a row is at most MAX_RATIO times the smallest.

    Returns
    -------
    ndarray, shape (n, draws, K)

    Examples
    --------
    >>> u = np.array([[[0.0, 1.0], [0.0, -1.0]]])
    >>> argmax_probability_of_draws(u, np.array([[1.0, 0.5]])).round(3)
    array([[[0.186, 0.814],
            [0.814, 0.186]]])
    """
    out = np.zeros(u.shape)
    _integrate(u, deviation, out)
    return out


@numba.njit(fastmath=FAST, error_model="numpy")
def _tail(z):  # type: ignore[no-untyped-def]
    """Return erfc(z), z >= 0."""
    p = TAIL[TAIL_DEGREE]
    for k in range(TAIL_DEGREE - 1, -1, -1):
        p = p * z + TAIL[k]
    for _ in range(SQUARES):
        p *= p
    return 1.0 / p


@numba.njit(fastmath=FAST, error_model="numpy")
def _bell(y):  # type: ignore[no-untyped-def]
    """Return exp(-y), y >= 0."""
    p = BELL[BELL_DEGREE]
    for k in range(BELL_DEGREE - 1, -1, -1):
        p = p * y + BELL[k]
    for _ in range(SQUARES):
        p *= p
    return 1.0 / p


@numba.njit(fastmath=FAST, error_model="numpy")
def _add_rival(first, step, below, ratio):  # type: ignore[no-untyped-def]
    """Multiply ``below`` by Psi(t; 1), and write the slope of its log, at t = first + p step."""
    for p in range(below.size):
        t = first + step * p
        size = min(abs(t), MAX_T)
        tail = 0.5 * _tail(size * math.sqrt(0.5))
        under = 1.0 - tail if t > 0.0 else tail
        below[p] *= under
        ratio[p] = _bell(0.5 * size * size) / under


@kernel(
    types.void(types.float64[:, :, ::1], types.float64[:, ::1], types.float64[:, :, ::1]),
    fastmath=FAST,
)
def _integrate(u, deviation, out):  # type: ignore[no-untyped-def]
    """Add the integral of each draw to ``out``, (n, draws, K), and scale them to sum to 1."""
    K = u.shape[2]
    rivals = np.empty(K, dtype=np.int64)
    below, ratio = np.empty(MAX_POINTS), np.empty((K, MAX_POINTS))
    for i, draw in np.ndindex(u.shape[0], u.shape[1]):
        v, s, shares = u[i, draw], deviation[i], out[i, draw]
        # the largest sum lies between ``low`` and ``high``
        low, high = (v - REACH * s).max(), (v + REACH * s).max()
        n, narrowest = 0, np.inf
        for k in range(K):
            # a number 2^(1/2) times as far below another is the largest no more often
            if v[k] + (math.sqrt(2.0) - 1.0) * REACH * s[k] > low:
                rivals[n] = k
                n += 1
                narrowest = min(narrowest, s[k])
        if n == 1:
            shares[rivals[0]] = 1.0
            continue
        if n == 2:  # the sign of their difference
            a, b = rivals[0], rivals[1]
            spread = math.sqrt(2.0 * (s[a] * s[a] + s[b] * s[b]))
            wins = 0.5 * math.erfc((v[b] - v[a]) / spread)
            shares[a], shares[b] = wins, 1.0 - wins
            continue
        points = min(MAX_POINTS, math.ceil((high - low) / (STEP * narrowest) - 1e-6) + 1)
        step = (high - low) / (points - 1)
        below[:points] = 1.0
        for r in range(n):
            k = rivals[r]
            _add_rival((low - v[k]) / s[k], step / s[k], below[:points], ratio[r, :points])
        total = 0.0
        for r in range(n):
            share = 0.0
            for p in range(points):
                share += below[p] * ratio[r, p]
            share /= s[rivals[r]]
            shares[rivals[r]] += share
            total += share
        for r in range(n):
            shares[rivals[r]] /= total
