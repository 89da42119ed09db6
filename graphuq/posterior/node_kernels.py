"""Sums over draws, at some nodes: of labels, fields, predictive probabilities and entropies.

Where classes overlap, the label of a node is S(u + gamma eta), eta ~ N(0, 1). Given the field read,
u ~ N(m, s^2). For two classes the label is then +1 with probability Psi(m; (s^2 + gamma^2)^(1/2)).
With x = u / gamma, the entropy of the label given u is nearly a polynomial in x^2 times
exp(-x^2 / 2), with the coefficients b_0, b_1 and b_2 of `graphuq.posterior.class_entropy`. Let
w = s^2 / (s^2 + gamma^2). Its expectation over x ~ N(m / gamma, (s / gamma)^2) is

    (1 - w)^(1/2) exp(-m^2 / (2 (s^2 + gamma^2))) E[b_0 + b_1 t^2 + b_2 t^4],

where t has the mean (1 - w) m / gamma and the variance w.

For K > 2 classes probabilities are as in `graphuq.posterior.node_statistics`, those of the
predictive with deviation (s^2 + gamma^2)^(1/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from scipy.special import erfcx

from graphuq.posterior.class_entropy import FAST, TILE, B
from graphuq.utils.jit import kernel
from graphuq.utils.polynomials import interpolate
from graphuq.utils.typing import Array

# Deviations of a normal law beyond which its tail, 1e-12, is left out; and z = x / sqrt(2) there.
REACH = 7.0
MAX_Z = REACH * math.sqrt(0.5)

# Unlike the functions of math, polynomials are computed for several nodes at a time, and in single
# precision for twice as many: log2 erfc(z) is z LOG_TAIL(z), up to 2e-7, and 2^x is 1 + x POWER(x)
# for -1 <= x <= 0, up to 1e-8. The error of the logarithm is in proportion to it, so that erfc(z)
# is right to 1e-7, and where it is small to 1e-5 of its value.
PER_NAT = np.float32(1 / math.log(2))


def _in_single(f: Callable[[Array], Array], degree: int, ends: tuple[float, float]) -> Any:
    return tuple(np.array(interpolate(f, degree, ends), dtype=np.float32))


LOG_TAIL = _in_single(lambda z: (np.log(erfcx(z)) - z**2) / (z * math.log(2)), 11, (0, MAX_Z))
POWER = _in_single(lambda x: np.expm1(x * math.log(2)) / x, 5, (-1, 0))

# Below all deviations but 0 in single precision.
TINY_SINGLE = float(np.finfo(np.float32).tiny)

# Draws that are summed in single precision, before their sum is added in double.
RUN = 16


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
        factors, unused = sign_factors(deviation, overlap), np.zeros((4, mean.size))
        add_signs(one_draw, one_draw, deviation, factors, unused, entropy)
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
def _power_of_two(x):  # type: ignore[no-untyped-def]
    """Return 2^x in single precision, -100 <= x <= 0: exactly 1 at 0."""
    whole = np.int32(x)
    rest = x - np.float32(whole)
    p = POWER[5]
    for k in range(4, -1, -1):
        p = p * rest + POWER[k]
    p = p * rest + np.float32(1.0)
    # the exponent of a float32 begins at bit 23
    bits = np.float32(p).view(np.int32) + (whole << np.int32(23))
    return np.int32(bits).view(np.float32)


@numba.njit(fastmath=FAST, error_model="numpy")
def _single_tail(z):  # type: ignore[no-untyped-def]
    """Return erfc(z) in single precision, z >= 0: exactly 1 at 0, and 0 from MAX_Z on."""
    largest = np.float32(MAX_Z)
    size = min(z, largest)
    p = LOG_TAIL[11]
    for k in range(10, -1, -1):
        p = p * size + LOG_TAIL[k]
    return _power_of_two(p * size) if z < largest else np.float32(0.0)


def sign_factors(deviation: Array, overlap: float) -> Array:
    """Return what `add_signs` knows of each node before its draws.

    Without overlap these are the factors of z = m / (2^(1/2) s) alone, shape (1, n). With it there
    follow those of m / (2 (s^2 + overlap^2))^(1/2), and the coefficients of the expected entropy as
    exp(-z^2) times a polynomial in the latter's z^2, shape (5, n). They are in single precision.

    Examples
    --------
    >>> sign_factors(np.array([0.5, 1.0]), overlap=0.0).round(3)
    array([[1.414, 0.707]], dtype=float32)
    """
    # without a deviation every field but 0 is beyond MAX_Z
    factors = [np.sqrt(0.5) / np.maximum(deviation, TINY_SINGLE)]
    if overlap > 0:
        spread = deviation
        variance = spread**2 + overlap**2
        w, own = spread**2 / variance, overlap**2 / variance
        # E[b_0 + b_1 t^2 + b_2 t^4] as a polynomial in z^2 = m^2 / (2 variance)
        polynomial = (
            B[0] + B[1] * w + 3.0 * B[2] * w * w,
            2.0 * own * (B[1] + 6.0 * B[2] * w),
            4.0 * own * own * B[2],
        )
        factors.append(np.sqrt(0.5 / np.maximum(variance, TINY_SINGLE)))
        factors += [np.sqrt(own) * coefficient for coefficient in polynomial]
    return np.array(factors, dtype=np.float32)


@kernel(
    types.void(
        types.float32[:, ::1],
        types.float32[:, ::1],
        types.float64[:],
        types.float32[:, ::1],
        types.float64[:, ::1],
        types.float64[::1],
    ),
    fastmath=FAST,
)
def add_signs(mean, scaled, deviation, factors, sums, entropies):  # type: ignore[no-untyped-def]
    """Add E[S(u)], E[u], E[u^2] and predictive labels to ``sums`` (4, n), and expected entropies.

    E[S(u)] = 2 Psi(mean / deviation; 1) - 1 for Gaussian u: the sign without its noise
    (Rao-Blackwell). ``mean`` has the shape (draws, n). The last two are added if there are factors
    for them, and are of the means ``scaled``.
    """
    draws, n = mean.shape
    # the rows of local arrays are apart, which lets loops over several of them run in vectors
    run, known = np.empty((4, TILE), np.float32), np.empty((5, TILE), np.float32)
    added, moments = np.empty((4, TILE)), np.empty((2, TILE))
    one, zero, largest = np.float32(1.0), np.float32(0.0), np.float32(MAX_Z * MAX_Z)
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for k in range(factors.shape[0]):
            for i in range(size):
                known[k, i] = factors[k, start + i]
        added[:] = 0.0
        moments[:] = 0.0
        for first in range(0, draws, RUN):
            run[:] = zero
            for t in range(first, min(first + RUN, draws)):
                row = mean[t, start : start + size]
                for i in range(size):
                    m = row[i]
                    sign = one if m >= zero else -one
                    run[0, i] += sign
                    run[1, i] += sign * _single_tail(abs(m) * known[0, i])
                # in double precision: the variance may be far below the mean's square
                for i in range(size):
                    moments[0, i] += np.float64(row[i])
                    moments[1, i] += np.float64(row[i]) * np.float64(row[i])
                if factors.shape[0] > 1:
                    row = scaled[t, start : start + size]
                    for i in range(size):
                        m = row[i]
                        sign = one if m >= zero else -one
                        z = abs(m) * known[1, i]
                        y = min(z * z, largest)
                        run[2, i] += sign * _single_tail(z)
                        polynomial = known[2, i] + y * (known[3, i] + y * known[4, i])
                        run[3, i] += polynomial * _power_of_two(-PER_NAT * y)
            for k in range(4):
                for i in range(size):
                    added[k, i] += run[k, i]
        for i in range(size):
            spread = deviation[start + i]
            sums[0, start + i] += added[0, i] - added[1, i]
            sums[1, start + i] += moments[0, i]
            sums[2, start + i] += moments[1, i] + draws * spread * spread
            if factors.shape[0] > 1:
                sums[3, start + i] += added[0, i] - added[2, i]
                entropies[start + i] += added[3, i]


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
    root = np.float32(math.sqrt(0.5))
    for i in range(rival.size):
        ahead = best[i] - rival[i]
        # in double precision the two probabilities add up to 1
        tail = 0.5 * float(_single_tail(abs(ahead) * (root / total[i])))
        wins[i] = 1.0 - tail if ahead > np.float32(0.0) else tail
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
                    square[i] += np.float64(row[i]) * np.float64(row[i])
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
