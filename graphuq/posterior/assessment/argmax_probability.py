"""The probability of each of K numbers to be the largest after noise is added to them."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# The largest sum lies within REACH deviations of the noise around the largest number, except in
# one of 1e9 cases, and a number 2^(1/2) times as far below it is the largest no more often. The
# error of the trapezoidal rule decreases exponentially with the number of points.
REACH, STEP = 6.0, 0.5


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


@kernel(types.void(types.float64[:, ::1], types.float64[:, ::1]))
def _integrate(v, out):  # type: ignore[no-untyped-def]
    """Add the integrals of each row of ``v`` to ``out``, (rows, K), and scale them to sum to 1."""
    K = v.shape[1]
    rivals, ratio = np.empty(K, dtype=np.int64), np.empty(K)
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
        total = 0.0
        for step in range(int(2 * REACH / STEP) + 1):
            x = best - REACH + step * STEP
            below = 1.0
            for r in range(n):
                t = x - v[i, rivals[r]]
                under = 0.5 * math.erfc(-t * math.sqrt(0.5))
                below *= under
                ratio[r] = math.exp(-0.5 * t * t) / under
            for r in range(n):
                out[i, rivals[r]] += below * ratio[r]
                total += below * ratio[r]
        for r in range(n):
            out[i, rivals[r]] /= total
