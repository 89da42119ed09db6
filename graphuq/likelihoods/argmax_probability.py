"""The probability of each of K numbers to be the largest after noise is added to them.

If the numbers are Gaussian, part of each is independent of the others: a share of its variance that
is the smallest eigenvalue of the correlations. Given the rest, the probability is an integral over
one number, which is averaged over evenly spread draws of the rest.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from scipy.special import erfcx, ndtri

from graphuq.utils.jit import kernel
from graphuq.utils.polynomials import interpolate
from graphuq.utils.typing import Array, Nodes

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

# Draws are doubled until independent ones would have a standard error below this. The error of
# evenly spread ones is several times smaller. They come in pairs of opposite signs: the average of
# what depends on them linearly is exact.
MIN_PAIRS, MAX_PAIRS, TOLERANCE = 4, 1024, 0.01

# Numbers in the draws that are held at a time.
MAX_NUMBERS = 2**21

# Moments that differ by less, relative to the largest, are the same.
SAME = 1e-6

# Deviations below this, relative to the largest, are this.
MIN_DEVIATION = 1e-8

# Added to variances, relative to their size, against rounding.
JITTER = 1e-10

# Below the size of all numbers but 0; its square is above 0.
MIN_SIZE = 1e-150


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
    n, K = mean.shape
    order, alike = order_by_law(mean, covariance)
    mean, covariance = in_order(mean, covariance, order)
    share, deviation, root = _split(mean, covariance, noise)
    white = white_draws(K, MAX_PAIRS)
    found, total, squares = np.empty((n, K)), np.zeros((n, K)), np.zeros((n, K))
    pairs, left = 0, np.arange(n)
    while left.size:
        fresh = white[pairs : max(2 * pairs, MIN_PAIRS)]
        pairs += len(fresh)
        for part in np.array_split(left, -(-left.size * fresh.size // MAX_NUMBERS)):
            moves = fresh @ root[part].transpose(0, 2, 1)
            u = mean[part, None] + np.concatenate([moves, -moves], axis=1)
            p = argmax_probability_of_draws(u, deviation[part])
            each = p.reshape(part.size, 2, -1, K).mean(axis=1)
            total[part] += each.sum(axis=1)
            squares[part] += (each**2).sum(axis=1)
        found[left] = total[left] / pairs
        spread = squares[left] - pairs * found[left] ** 2
        # few draws may agree by chance, unless most of the variance is independent
        chance = (total[left] + 0.5) / (pairs + 1)
        unseen = chance * (1 - chance) * (1 - share[left, None])
        error = np.sqrt((spread + unseen).max(axis=1)) / pairs
        left = left[error > TOLERANCE] if pairs < MAX_PAIRS else left[:0]
    return average_alike(alike, np.take_along_axis(found, np.argsort(order, axis=1), axis=1))


def _split(mean: Array, covariance: Array, noise: float) -> tuple[Array, Array, Array]:
    """Return what is independent in u + noise eta, and a root of the covariance of the rest.

    Returns
    -------
    share : ndarray, shape (n,)
        The least that is independent of a variance.
    deviation : ndarray, shape (n, K)
        That of the independent part.
    root : ndarray, shape (n, K, K)
    """
    unit = np.eye(mean.shape[1])
    added = noise**2 + (MIN_DEVIATION * _scale(mean, covariance)) ** 2
    covariance = covariance + added[:, None, None] * unit
    deviation = np.sqrt(np.einsum("ikk->ik", covariance))
    correlation = covariance / (deviation[:, :, None] * deviation[:, None])
    smallest = np.linalg.eigvalsh(correlation)[:, 0] - JITTER
    limit = MAX_RATIO * deviation.min(axis=1, keepdims=True)
    part = np.minimum(1, limit / deviation) ** 2
    share = np.maximum(smallest, MIN_DEVIATION**2)[:, None] * part
    removed = np.where(smallest[:, None] > 0, smallest[:, None] * part, smallest[:, None])
    root = np.linalg.cholesky(correlation - removed[:, :, None] * unit)
    return share.min(axis=1), deviation * np.sqrt(share), root * deviation[:, :, None]


def white_draws(K: int, number: int) -> Array:
    """Return evenly spread draws of K standard normal numbers, shape (number, K)."""
    from scipy.stats.qmc import Sobol

    points = Sobol(K, seed=0).random(number)
    return np.asarray(ndtri(np.clip(points, 1e-12, 1 - 1e-12)))


def order_by_law(mean: Array, covariance: Array) -> tuple[Nodes, Array]:
    """Return an order of each case's K numbers by their law alone, and which are alike.

    Draws treat the numbers by their order: those of the largest mean come first. Numbers of the
    same law have no order, so that `average_alike` averages over them.

    Returns
    -------
    order : ndarray, shape (n, K)
    alike : ndarray of bool, shape (n, K, K)
    """
    variance = np.einsum("ikk->ik", covariance)
    scale = _scale(mean, covariance)[:, None]
    moments = [-mean / scale, variance / scale**2, covariance.sum(axis=2) / scale**2]
    keys = [_places(moment) for moment in moments]
    same = [key[:, :, None] == key[:, None] for key in keys]
    return np.lexsort(keys[::-1], axis=1), np.logical_and.reduce(same)


def _places(values: Array) -> Nodes:
    """Return the place of each number among those of its case, one for numbers that are the same.

    Rounding would tell numbers apart that lie on two sides of a half.
    """
    order = np.argsort(values, axis=1)
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1) > SAME
    places = np.zeros(values.shape, dtype=np.intp)
    np.put_along_axis(places, order[:, 1:], np.cumsum(gaps, axis=1), axis=1)
    return places


def _scale(mean: Array, covariance: Array) -> Array:
    """Return the size of each case's numbers, above 0."""
    size = abs(mean).max(axis=1) + np.sqrt(np.einsum("ikk->i", covariance))
    return np.asarray(np.maximum(size, MIN_SIZE))


def average_alike(alike: Array, p: Array) -> Array:
    """Return values of K classes, shape (n, K), averaged over classes that are alike."""
    return np.asarray(np.einsum("ikl,il->ik", alike, p) / alike.sum(axis=2))


def in_order(mean: Array, covariance: Array, order: Nodes) -> tuple[Array, Array]:
    """Return means and covariances of each case's numbers in another order."""
    rows = np.take_along_axis(covariance, order[:, :, None], axis=1)
    covariance = np.take_along_axis(rows, order[:, None, :], axis=2)
    return np.take_along_axis(mean, order, axis=1), covariance


def cholesky(covariance: Array) -> Array:
    """Return the Cholesky factors of some covariances, which may be singular to rounding."""
    scale = np.einsum("jkk->j", covariance) / covariance.shape[1]
    jitter = JITTER * np.where(scale > 0, scale, 1.0)
    diagonal = jitter[:, None, None] * np.eye(covariance.shape[1])
    return np.asarray(np.linalg.cholesky(covariance + diagonal), dtype=np.float64)
