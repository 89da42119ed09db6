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

# The largest sum lies within REACH deviations of the noise around the largest number, except in
# one of 1e9 cases, and a number 2^(1/2) times as far below it is the largest no more often. The
# error of the trapezoidal rule decreases exponentially with the number of points.
REACH, POINTS = 6.0, 32
STEP = 2 * REACH / (POINTS - 1)

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
        _integrate(v.reshape(-1, K), out.reshape(-1, K))
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
def _add_rival(first, below, ratio):  # type: ignore[no-untyped-def]
    """Multiply ``below`` by Psi(t; 1), and write the slope of its log, at t = first + p STEP."""
    for p in range(POINTS):
        t = first + STEP * p
        size = min(abs(t), MAX_T)
        tail = 0.5 * _tail(size * math.sqrt(0.5))
        under = 1.0 - tail if t > 0.0 else tail
        below[p] *= under
        ratio[p] = _bell(0.5 * size * size) / under


@kernel(types.void(types.float64[:, ::1], types.float64[:, ::1]), fastmath=FAST)
def _integrate(v, out):  # type: ignore[no-untyped-def]
    """Add the integrals of each row of ``v`` to ``out``, (rows, K), and scale them to sum to 1."""
    K = v.shape[1]
    rivals = np.empty(K, dtype=np.int64)
    below, ratio = np.empty(POINTS), np.empty((K, POINTS))
    for i in range(v.shape[0]):
        best = v[i].max()
        n = 0
        for k in range(K):
            if v[i, k] > best - math.sqrt(2.0) * REACH:
                rivals[n] = k
                n += 1
        if n == 1:
            out[i, rivals[0]] = 1.0
            continue
        if n == 2:  # the sign of their difference, whose noise has variance 2
            wins = 0.5 * math.erfc(0.5 * (v[i, rivals[1]] - v[i, rivals[0]]))
            out[i, rivals[0]], out[i, rivals[1]] = wins, 1.0 - wins
            continue
        for p in range(POINTS):
            below[p] = 1.0
        for r in range(n):
            _add_rival(best - REACH - v[i, rivals[r]], below, ratio[r])
        total = 0.0
        for r in range(n):
            share = 0.0
            for p in range(POINTS):
                share += below[p] * ratio[r, p]
            out[i, rivals[r]] += share
            total += share
        for r in range(n):
            out[i, rivals[r]] /= total
