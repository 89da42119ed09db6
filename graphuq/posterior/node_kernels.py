"""Sums over draws, at some nodes: of labels, fields, predictive probabilities and entropies.

Where classes overlap, the label of a node is S(u + gamma eta), eta ~ N(0, 1). Given the field read,
u ~ N(m, s^2). For two classes the label is then +1 with probability Psi(m; (s^2 + gamma^2)^(1/2)).
With x = u / gamma, the entropy of the label given u is

    H(Psi(x; 1)) = exp(-x^2 / 2) (b_0 + b_1 x^2 + b_2 x^4),

up to 2e-5. Let w = s^2 / (s^2 + gamma^2). Its expectation over x ~ N(m / gamma, (s / gamma)^2) is

    (1 - w)^(1/2) exp(-m^2 / (2 (s^2 + gamma^2))) E[b_0 + b_1 t^2 + b_2 t^4],

where t has the mean (1 - w) m / gamma and the variance w.

For K > 2 classes probabilities are as in `graphuq.posterior.node_moments`, those of the predictive
with deviation (s^2 + gamma^2)^(1/2). The entropy is that of the probabilities of
`graphuq.posterior.assessment.argmax_probability` at drawn fields. It costs as much as the
probabilities of ten to twenty draws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import entr, erfcx, ndtr

from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# Deviations of a normal law beyond which its tail, 1e-12, is left out; and z = x / sqrt(2) there.
REACH = 7.0
MAX_Z = REACH * math.sqrt(0.5)

# Unlike the functions of math, polynomials are computed for several draws at a time: erfc(z) is
# TAIL(z)^-32, up to 4e-8 relative to its value, and exp(-y) is BELL(y)^-32, up to 1e-6.
ROOT = 32
TAIL = tuple(
    Chebyshev.interpolate(lambda z: np.exp(z**2 / ROOT) * erfcx(z) ** (-1 / ROOT), 12, [0, MAX_Z])
    .convert(kind=Polynomial)
    .coef.tolist()
)
BELL = tuple(
    Chebyshev.interpolate(lambda y: np.exp(y / ROOT), 5, [0, MAX_Z**2])
    .convert(kind=Polynomial)
    .coef.tolist()
)

# b_0, b_1 and b_2, by least squares.
_X = np.linspace(0, REACH, 1401)
_POWERS = np.exp(-(_X[:, None] ** 2) / 2) * _X[:, None] ** [0, 2, 4]
B = tuple(np.linalg.lstsq(_POWERS, entr(ndtr(_X)) + entr(ndtr(-_X)), rcond=None)[0].tolist())

# The integral over the largest sum, in units of gamma about the largest field: fields further than
# REACH_BELOW below it are left out, for they are largest in one of 1e6 cases.
REACH_BELOW = 6.7
POINTS = -3.6 + 0.6 * np.arange(16)

# Below all deviations but 0, in double and in single precision.
TINY = float(np.finfo(np.float64).tiny)
TINY_SINGLE = float(np.finfo(np.float32).tiny)

# Nodes whose sums are in the cache at a time. A processor takes several of them at once.
TILE = 512

# Sums in any order, several at a time.
FAST = {"reassoc", "contract", "nsz"}

# The arguments of a kernel that adds entropies of K classes: mean (K, draws, n), deviation, noise,
# overlap, the draws that count, and the entropies.
OF_CLASS_ENTROPY = types.void(
    types.float32[:, :, ::1],
    types.float64[:],
    types.float64[:, ::1],
    types.float64,
    types.int64[::1],
    types.float64[::1],
)


def expected_entropy(mean: Array, deviation: Array, overlap: float) -> Array:
    """Return E[H(Psi(u; gamma))] over u ~ N(mean, deviation^2), in nats, for two classes.

    Parameters
    ----------
    mean, deviation : ndarray, shape (n,)
    overlap : float
        gamma; without overlap the entropy is 0.

    Examples
    --------
    >>> expected_entropy(np.array([0.0, 9.0]), np.array([0.0, 0.1]), overlap=1.0).round(3)
    array([0.693, 0.   ])
    """
    entropy = np.zeros(mean.size)
    if overlap > 0:
        one_draw = np.ascontiguousarray(mean[None], dtype=np.float32)
        add_entropy(one_draw, deviation, overlap, entropy)
    return entropy


def class_probability(mean: Array, deviation: Array, noise: Array) -> Array:
    """Return the probability of each class, shape (n, K).

    Parameters
    ----------
    mean : ndarray, shape (K, draws, n)
    deviation : ndarray, shape (n,)
        Deviation of each field around its mean.
    noise : ndarray, shape (draws, K)
        The n_k.
    """
    sums = np.zeros((4, deviation.size, len(mean)))
    single, without = np.ascontiguousarray(mean, dtype=np.float32), np.zeros(len(noise))
    add_class_moments(single, deviation, noise, without, sums)
    return np.asarray(sums[0] / len(noise))


@numba.njit(fastmath=FAST, error_model="numpy")
def _tail(z):  # type: ignore[no-untyped-def]
    """Return erfc(z), 0 <= z <= MAX_Z."""
    p = TAIL[12]
    for k in range(11, -1, -1):
        p = p * z + TAIL[k]
    p *= p
    p *= p
    p *= p
    p *= p
    return 1.0 / (p * p)


@numba.njit(fastmath=FAST, error_model="numpy")
def _erf(z):  # type: ignore[no-untyped-def]
    """Return erf(z), which is -1 or 1 beyond MAX_Z."""
    size = abs(z)
    inside = 1.0 - _tail(size) if size < MAX_Z else 1.0
    return inside if z > 0.0 else (-inside if z < 0.0 else 0.0)


@numba.njit(fastmath=FAST, error_model="numpy")
def _bell(y):  # type: ignore[no-untyped-def]
    """Return exp(-y), 0 <= y <= MAX_Z^2."""
    p = ((((BELL[5] * y + BELL[4]) * y + BELL[3]) * y + BELL[2]) * y + BELL[1]) * y + BELL[0]
    p *= p
    p *= p
    p *= p
    p *= p
    return 1.0 / (p * p)


@kernel(types.void(types.float32[:, ::1], types.float64[:], types.float64[:, ::1]), fastmath=FAST)
def add_moments(mean, deviation, sums):  # type: ignore[no-untyped-def]
    """Add E[S(u)], E[u] and E[u^2] of each node's draws to the first rows of ``sums`` (4, n).

    E[S(u)] = 2 Psi(mean / deviation; 1) - 1 for Gaussian u: the sign without its noise
    (Rao-Blackwell). ``mean`` has the shape (draws, n).
    """
    draws, n = mean.shape
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        sign, latent, square = np.zeros(size), np.zeros(size), np.zeros(size)
        spread = deviation[start : start + size]
        # without a deviation every field but 0 is beyond MAX_Z
        scale = math.sqrt(0.5) / np.maximum(spread, TINY)
        for t in range(draws):
            row = mean[t, start : start + size]
            for i in range(size):
                m = float(row[i])
                sign[i] += _erf(m * scale[i])
                latent[i] += m
                square[i] += m * m
        sums[0, start : start + size] += sign
        sums[1, start : start + size] += latent
        sums[2, start : start + size] += square + draws * spread * spread


@kernel(
    types.void(types.float32[:, ::1], types.float64[:], types.float64, types.float64[:]),
    fastmath=FAST,
)
def add_predictive(mean, deviation, overlap, sums):  # type: ignore[no-untyped-def]
    """Add 2 P(label is +1) - 1 of each node's draws; deviation and overlap are not both 0."""
    draws, n = mean.shape
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        label = np.zeros(size)
        scale = np.sqrt(0.5 / (deviation[start : start + size] ** 2 + overlap**2))
        for t in range(draws):
            row = mean[t, start : start + size]
            for i in range(size):
                label[i] += _erf(float(row[i]) * scale[i])
        sums[start : start + size] += label


@kernel(
    types.void(types.float32[:, ::1], types.float64[:], types.float64, types.float64[:]),
    fastmath=FAST,
)
def add_entropy(mean, deviation, overlap, entropies):  # type: ignore[no-untyped-def]
    """Add the expected entropy of the label over each node's draws; the overlap is above 0."""
    draws, n = mean.shape
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        entropy, spread = np.zeros(size), deviation[start : start + size]
        variance = spread**2 + overlap**2
        w, own, scale = spread**2 / variance, overlap**2 / variance, 0.5 / variance
        # E[b_0 + b_1 t^2 + b_2 t^4] as a polynomial in y = m^2 / (2 variance)
        c_0 = B[0] + B[1] * w + 3.0 * B[2] * w * w
        c_1 = 2.0 * own * (B[1] + 6.0 * B[2] * w)
        c_2 = 4.0 * own * own * B[2]
        for t in range(draws):
            row = mean[t, start : start + size]
            for i in range(size):
                m = float(row[i])
                y = min(scale[i] * m * m, MAX_Z * MAX_Z)
                entropy[i] += (c_0[i] + y * (c_1[i] + y * c_2[i])) * _bell(y)
        entropies[start : start + size] += np.sqrt(own) * entropy


class Rivals(NamedTuple):
    """For each node, the class whose mean is the largest, and its largest rival."""

    a: Array
    best: Array
    """The mean of class a."""
    b: Array
    rival: Array
    """The field of class b."""
    wins: Array
    """Probability that the field of class a is the larger one."""


@numba.njit(fastmath=FAST, error_model="numpy")
def _add_largest(m, noise, total, rivals, sums):  # type: ignore[no-untyped-def]
    """Add the probabilities of the classes a and b to ``sums`` (K, n), for deviations above 0.

    The fields but that of class a are those drawn, m_k + total n_k.
    """
    a, best, b, rival, wins = rivals
    rival[:] = -np.float32(math.inf)
    for k in range(m.shape[0]):
        own, n_k, field = np.int32(k), np.float32(noise[k]), m[k]
        for i in range(rival.size):
            u = field[i] + total[i] * n_k
            larger = (u > rival[i]) & (a[i] != own)
            rival[i] = u if larger else rival[i]
            b[i] = own if larger else b[i]
    for i in range(rival.size):
        ahead = float(best[i]) - float(rival[i])
        wins[i] = 0.5 + 0.5 * _erf(ahead * math.sqrt(0.5) / float(total[i]))
    for k in range(m.shape[0]):
        own, probability = np.int32(k), sums[k]
        for i in range(rival.size):
            other = 1.0 - wins[i] if b[i] == own else 0.0
            probability[i] += wins[i] if a[i] == own else other


@kernel(
    types.void(
        types.float32[:, :, ::1],
        types.float64[:],
        types.float64[:, ::1],
        types.float64[:],
        types.float64[:, :, ::1],
    ),
    fastmath=FAST,
)
def add_class_moments(mean, deviation, noise, overlap, sums):  # type: ignore[no-untyped-def]
    """Add probabilities of the label, E[u], E[u^2] and predictive ones to ``sums`` (4, n, K).

    ``mean`` has the shape (K, draws, n). Without overlap nothing is added to the last of ``sums``.
    """
    K, draws, n = mean.shape
    overlapping = overlap.max() > 0.0
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        spread = deviation[start : start + size]
        added = np.zeros((4, K, size))
        m, total = np.empty((K, size), np.float32), np.empty(size, np.float32)
        a, best = np.empty(size, np.int32), np.empty(size, np.float32)
        rivals = Rivals(a, best, np.empty_like(a), np.empty_like(best), np.empty(size))
        for t in range(draws):
            # 1. the moments of the fields, and the class a whose mean is the largest; loops of one
            # line each, of which a processor takes several nodes at once
            best[:] = -np.float32(math.inf)
            for k in range(K):
                own, row = np.int32(k), mean[k, t, start : start + size]
                latent, square, field = added[1, k], added[2, k], m[k]
                for i in range(size):
                    field[i] = row[i]
                for i in range(size):
                    latent[i] += float(row[i])
                for i in range(size):
                    square[i] += float(row[i]) * float(row[i])
                for i in range(size):
                    larger = row[i] > best[i]
                    best[i] = row[i] if larger else best[i]
                    a[i] = own if larger else a[i]
            # 2. the label: a, or the largest b of the others as drawn
            for i in range(size):
                total[i] = max(spread[i], TINY_SINGLE)
            _add_largest(m, noise[t], total, rivals, added[0])
            # 3. the true class, likewise
            if overlapping:
                for i in range(size):
                    total[i] = math.sqrt(spread[i] * spread[i] + overlap[t] * overlap[t])
                _add_largest(m, noise[t], total, rivals, added[3])
        for k in range(K):
            for i in range(size):
                added[2, k, i] += draws * spread[i] * spread[i]
                for row in range(4):
                    sums[row, start + i, k] += added[row, k, i]


@kernel(OF_CLASS_ENTROPY, fastmath=FAST)
def add_class_entropy(mean, deviation, noise, overlap, which, entropies):  # type: ignore[no-untyped-def]
    """Add the entropy of the label at the drawn fields of the draws ``which``.

    ``mean`` has the shape (K, draws, n).
    """
    K, _, n_nodes = mean.shape
    v, density = np.empty(K), np.empty(K)
    rivals = np.empty(K, dtype=np.int64)
    below, ratio = np.empty(POINTS.size), np.empty((K, POINTS.size))
    for i in range(n_nodes):
        spread = deviation[i]
        for t in which:
            # 1. the fields in units of gamma, and those near the largest
            best = -math.inf
            for k in range(K):
                v[k] = (mean[k, t, i] + spread * noise[t, k]) / overlap
                best = max(best, v[k])
            n = 0
            for k in range(K):
                if v[k] > best - REACH_BELOW:
                    rivals[n] = k
                    n += 1
            if n == 1:
                continue
            if n == 2:
                # the sums differ by N(v_a - v_b, 2): as for two classes, with x^2 the half of
                # the difference squared
                y = 0.25 * (v[rivals[0]] - v[rivals[1]]) ** 2
                entropies[i] += (B[0] + 2.0 * y * (B[1] + 2.0 * y * B[2])) * _bell(y)
                continue
            # 2. the density of the largest sum at the points, split by the class that it has
            below[:] = 1.0
            for r in range(n):
                shift = best - v[rivals[r]]
                for p in range(POINTS.size):
                    x = (POINTS[p] + shift) * math.sqrt(0.5)
                    size = min(abs(x), MAX_Z)
                    under = 0.5 * _tail(size)
                    under = 1.0 - under if x > 0.0 else under
                    ratio[r, p] = _bell(size * size) / under
                    below[p] *= under
            total = 0.0
            for r in range(n):
                density[r] = 0.0
                for p in range(POINTS.size):
                    density[r] += below[p] * ratio[r, p]
                total += density[r]
            # 3. the entropy of the shares
            entropy = 0.0
            for r in range(n):
                share = density[r] / total
                if share > 0.0:
                    entropy -= share * math.log(share)
            entropies[i] += entropy
