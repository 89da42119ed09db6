"""The probability of each of K Gaussian numbers to be the largest, by expectation propagation.

That of number c is the probability that d_k = u_c - u_k > 0 for all k != c. Each of these K - 1
conditions has a site exp(nu_k d_k - tau_k d_k^2 / 2), which is visited in turn (Cunningham, Hennig
and Lacoste-Julien 2011, Gaussian probabilities and expectation propagation).
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from scipy.special import erfcx

from graphuq.utils.jit import kernel
from graphuq.utils.polynomials import interpolate
from graphuq.utils.typing import Array

# The sites of a case have converged when a pass moves none by more, in deviations: the error of a
# probability is of the order of the square. They converge in about five passes.
TOLERANCE, MAX_PASSES = 1e-3, 200

# Cases that are worked on at a time. A processor takes several of them at once.
LANES = 64

# Unlike the functions of math, polynomials are computed for several cases at a time, here up to
# rounding: (1 + t) R(t) with the Mills ratio R of the normal law is MILLS(y) with
# t = CENTER (1 + y) / (1 - y), and its density at t is BELL(t^2 / 2)^ROOT, or 0 from MAX_HALF on.
CENTER, MAX_HALF = 4.0, 40.0
SQUARES = 6
ROOT = 2**SQUARES
MILLS_DEGREE, BELL_DEGREE = 20, 9


def _mills_ratio(y: Array) -> Array:
    t = CENTER * (1 + y) / (1 - y)
    return np.asarray((1 + t) * math.sqrt(math.pi / 2) * erfcx(t * math.sqrt(0.5)))


def _root_of_density(half: Array) -> Array:
    return np.asarray(np.exp(-half / ROOT) * (2 * math.pi) ** (-0.5 / ROOT))


MILLS = interpolate(_mills_ratio, MILLS_DEGREE, (-1, 1))
BELL = interpolate(_root_of_density, BELL_DEGREE, (0, MAX_HALF))

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)

# Below all variances but those that are 0.
TINY = 1e-200

# Products and sums in any order, several at a time.
FAST = {"reassoc", "contract", "nsz"}


def argmax_probability_of_gaussian(mean: Array, covariance: Array, noise: float) -> Array:
    """Return P(argmax_k (u_k + noise eta_k) = c) for every c, with u ~ N(mean, covariance).

    Parameters
    ----------
    mean : ndarray, shape (n, K)
    covariance : ndarray, shape (n, K, K)
    noise : float
        At least 0.

    Returns
    -------
    ndarray, shape (n, K)

    Examples
    --------
    >>> mean = np.array([[9.0, 0.0, 0.0]])
    >>> argmax_probability_of_gaussian(mean, np.eye(3)[None], noise=0.0).round(6)
    array([[1., 0., 0.]])
    >>> argmax_probability_of_gaussian(np.zeros((1, 4)), np.eye(4)[None], noise=1.0).round(6)
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    noisy = covariance + noise**2 * np.eye(mean.shape[1])
    logs = np.empty(mean.shape)
    _log_masses(np.ascontiguousarray(mean), np.ascontiguousarray(noisy), logs)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@numba.njit(fastmath=FAST, error_model="numpy")
def _begin(mean, covariance, first, c, m, S):  # type: ignore[no-untyped-def]
    """Write the mean and the covariance of the d_k, of some cases; the last case fills up."""
    K = mean.shape[1]
    for lane in range(LANES):
        i = min(first + lane, mean.shape[0] - 1)
        of, own = covariance[i], covariance[i, c, c]
        row = 0
        for a in range(K - 1):
            k = a + (a >= c)
            m[a, lane] = mean[i, c] - mean[i, k]
            for b in range(a + 1):
                other = b + (b >= c)
                S[row, lane] = own - of[c, k] - of[c, other] + of[k, other]
                row += 1
            S[row - 1, lane] = max(S[row - 1, lane], TINY)


@numba.njit(fastmath=FAST, error_model="numpy")
def _mills(t):  # type: ignore[no-untyped-def]
    """Return the probability beyond t >= 0 over the density at t, of the normal law."""
    y = (t - CENTER) / (t + CENTER)
    p = MILLS[MILLS_DEGREE]
    for k in range(MILLS_DEGREE - 1, -1, -1):
        p = p * y + MILLS[k]
    return p / (1.0 + t)


@numba.njit(fastmath=FAST, error_model="numpy")
def _density(half):  # type: ignore[no-untyped-def]
    """Return exp(-half) / (2 pi)^(1/2), half >= 0."""
    at = min(half, MAX_HALF)
    p = BELL[BELL_DEGREE]
    for k in range(BELL_DEGREE - 1, -1, -1):
        p = p * at + BELL[k]
    for _ in range(SQUARES):
        p *= p
    return p if half < MAX_HALF else 0.0


@numba.njit(fastmath=FAST, error_model="numpy")
def _renew_site(w):  # type: ignore[no-untyped-def]
    """Set the site of a condition to that with the moments of its tilted law, in every case.

    The rows of ``w`` are the variance and the mean of d, tau, nu, what `_apply_site` needs, and
    sums and products for `_log_masses`. In one array they are known to be apart, without which the
    loop would not run in vectors.
    """
    variance, mean, tau, nu, shift, gain = w[0], w[1], w[2], w[3], w[4], w[5]
    exponent, ratio, moved, factor, height = w[6], w[7], w[8], w[9], w[10]
    for i in range(w.shape[1]):
        v, d = variance[i], mean[i]
        # 1. the cavity
        precision = 1.0 / v - tau[i]
        cavity_variance = 1.0 / precision
        cavity_mean = (d / v - nu[i]) * cavity_variance
        deviation = math.sqrt(cavity_variance)
        z = cavity_mean * deviation * precision
        # 2. its mass above 0, which is ``mass`` times exp(-``left_out``), and the slope of its log
        size, half = abs(z), 0.5 * z * z
        mills, density = _mills(size), _density(half)
        above = z > 0.0
        mass = 1.0 - density * mills if above else mills
        left_out = 0.0 if above else half + _LOG_SQRT_2PI
        slope = (density if above else 1.0) / mass
        # 3. the site that gives the same mean and variance
        fall = slope * (slope + z)
        left = 1.0 - fall
        swell = 1.0 / left
        new_tau = fall * precision * swell
        new_nu = (slope * deviation + cavity_mean * fall) * precision * swell
        factor[i] *= mass * math.sqrt(swell)
        height[i] -= left_out + 0.5 * left * (
            2.0 * new_nu * cavity_mean
            + new_nu * new_nu * cavity_variance
            - new_tau * cavity_mean * cavity_mean
        )
        # 4. what its change does to the Gaussian
        by_tau, by_nu = new_tau - tau[i], new_nu - nu[i]
        pull = by_nu - by_tau * d
        moved[i] = max(moved[i], max(abs(by_tau) * v, abs(pull) * math.sqrt(v)))
        change = v * (precision + new_tau)
        ratio[i] *= change
        shift[i], gain[i] = pull / change, by_tau / change
        exponent[i] += 0.5 * (2.0 * by_nu * d + by_nu * by_nu * v - by_tau * d * d) / change
        tau[i], nu[i] = new_tau, new_nu


@numba.njit(fastmath=FAST, error_model="numpy")
def _copy(source, target):  # type: ignore[no-untyped-def]
    """Copy one row; an assignment would first look whether the two overlap."""
    for i in range(target.size):
        target[i] = source[i]


@numba.njit(fastmath=FAST, error_model="numpy")
def _apply_site(w, g, m, S):  # type: ignore[no-untyped-def]
    """Change mean and covariance by a site's change; ``g`` has its row of the covariance."""
    shift, gain, scaled = w[4], w[5], w[11]
    row = 0
    for a in range(m.shape[0]):
        for i in range(w.shape[1]):
            m[a, i] += shift[i] * g[a, i]
        for i in range(w.shape[1]):
            scaled[i] = gain[i] * g[a, i]
        for b in range(a + 1):
            for i in range(w.shape[1]):
                S[row, i] -= scaled[i] * g[b, i]
            row += 1


@kernel(
    types.void(types.float64[:, ::1], types.float64[:, :, ::1], types.float64[:, ::1]),
    fastmath=FAST,
)
def _log_masses(mean, covariance, out):  # type: ignore[no-untyped-def]
    """Write the log probability of each number to be the largest, up to the error of the sites."""
    n, K = mean.shape
    m, g = np.empty((K - 1, LANES)), np.empty((K - 1, LANES))
    tau, nu = np.empty_like(m), np.empty_like(m)
    # the lower triangle of the covariance, row by row
    S, w = np.empty((K * (K - 1) // 2, LANES)), np.empty((12, LANES))
    for first in range(0, n, LANES):
        for c in range(K):
            _begin(mean, covariance, first, c, m, S)
            tau[:], nu[:] = 0.0, 0.0
            w[6], w[7] = 0.0, 1.0
            for _ in range(MAX_PASSES):
                w[8], w[9], w[10] = 0.0, 1.0, 0.0
                for k in range(K - 1):
                    for a in range(K - 1):
                        high, low = max(a, k), min(a, k)
                        _copy(S[high * (high + 1) // 2 + low], g[a])
                    _copy(g[k], w[0])
                    _copy(m[k], w[1])
                    _copy(tau[k], w[2])
                    _copy(nu[k], w[3])
                    _renew_site(w)
                    _copy(w[2], tau[k])
                    _copy(w[3], nu[k])
                    _apply_site(w, g, m, S)
                if not w[8].max() >= TOLERANCE:
                    break
            for lane in range(min(LANES, n - first)):
                found = w[6, lane] + w[10, lane] + math.log(w[9, lane])
                found -= 0.5 * math.log(w[7, lane])
                out[first + lane, c] = found if found == found else -math.inf
