"""The entropy of the label of a node, given its fields.

With the noise gamma before the threshold and x = u / gamma, the entropy of the label of two classes
is, up to 2e-5,

    H(Psi(x; 1)) = exp(-x^2 / 2) (b_0 + b_1 x^2 + b_2 x^4).

For K > 2 classes it is that of the probabilities of
`graphuq.likelihoods.argmax_probability`. It costs as much as the probabilities of ten to
twenty draws.

Its sums over draws are near to those of a cheap formula: the entropy of shares in
proportion to exp(-y_k), y_k = d_k (c_1 + c_2 d_k), where d_k is how far field k lies below the
largest, in units of gamma. For three to ten classes the difference from the entropy has a deviation
of 0.01 to 0.05 nats, and the entropy itself one of 0.2 to 0.4.
`graphuq.posterior.node_statistics` corrects its mean.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from scipy.special import entr, erfcx, ndtr

from graphuq.utils.jit import kernel
from graphuq.utils.polynomials import interpolate

# Deviations of a normal law beyond which its tail, 1e-12, is left out; and z = x / sqrt(2) there.
REACH = 7.0
MAX_Z = REACH * math.sqrt(0.5)

# Unlike the functions of math, polynomials are computed for several points at a time: erfc(z) is
# TAIL(z)^-32, up to 4e-8 relative to its value, and exp(-y) is BELL(y)^-32, up to 1e-6.
ROOT = 32
TAIL = interpolate(lambda z: np.exp(z**2 / ROOT) * erfcx(z) ** (-1 / ROOT), 12, (0, MAX_Z))
BELL = interpolate(lambda y: np.exp(y / ROOT), 5, (0, MAX_Z**2))

# b_0, b_1 and b_2, by least squares.
_X = np.linspace(0, REACH, 1401)
_POWERS = np.exp(-(_X[:, None] ** 2) / 2) * _X[:, None] ** [0, 2, 4]
B = tuple(np.linalg.lstsq(_POWERS, entr(ndtr(_X)) + entr(ndtr(-_X)), rcond=None)[0].tolist())

# The integral over the largest sum, in units of gamma about the largest field: fields further than
# REACH_BELOW below it are left out, for they are largest in one of 1e6 cases.
REACH_BELOW = 6.7
POINTS = -3.6 + 0.6 * np.arange(16)

# Sums in any order, several at a time.
FAST = {"reassoc", "contract", "nsz"}

# Nodes whose sums are in the cache at a time. A processor takes several of them at once.
TILE = 512

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

# c_1 is 1 + NEAR[0] log(K), and c_2 is NEAR[1]. Fields further than FAR below the largest count as
# being that far below.
NEAR = 0.1, 0.1

FAR = np.float32(12.0)


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
def _bell(y):  # type: ignore[no-untyped-def]
    """Return exp(-y), 0 <= y <= MAX_Z^2."""
    p = ((((BELL[5] * y + BELL[4]) * y + BELL[3]) * y + BELL[2]) * y + BELL[1]) * y + BELL[0]
    p *= p
    p *= p
    p *= p
    p *= p
    return 1.0 / (p * p)


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


@numba.njit(fastmath=FAST, error_model="numpy")
def _near_share(y):  # type: ignore[no-untyped-def]
    """Return about exp(-y), in single precision."""
    z = y * np.float32(1 / 16)
    p = np.float32(1.0) + z + np.float32(0.5) * z * z
    p *= p
    p *= p
    p *= p
    return np.float32(1.0) / (p * p)


@numba.njit(fastmath=FAST, error_model="numpy")
def _near_log(z):  # type: ignore[no-untyped-def]
    """Return about log(z), z >= 1: 1% less at 10."""
    one, four, six = np.float32(1.0), np.float32(4.0), np.float32(6.0)
    return six * (z - one) / (one + four * np.sqrt(z) + z)


@kernel(OF_CLASS_ENTROPY, fastmath=FAST)
def add_near_entropy(mean, deviation, noise, overlap, which, entropies):  # type: ignore[no-untyped-def]
    """Add what is near to the entropy that `add_class_entropy` adds, at a fraction of its cost.

    It is log(Z) + sum_k y_k exp(-y_k) / Z with Z = sum_k exp(-y_k).
    """
    K, _, n = mean.shape
    scale = np.float32(1.0 / overlap)
    c_1, c_2 = np.float32(1.0 + NEAR[0] * math.log(K)), np.float32(NEAR[1])
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        spread = deviation[start : start + size].astype(np.float32)
        u, best = np.empty((K, size), np.float32), np.empty(size, np.float32)
        total, weighted = np.empty(size, np.float32), np.empty(size, np.float32)
        added = np.zeros(size)
        for t in which:
            best[:] = -np.float32(math.inf)
            for k in range(K):
                n_k, row, field = np.float32(noise[t, k]), mean[k, t, start : start + size], u[k]
                for i in range(size):
                    field[i] = (row[i] + spread[i] * n_k) * scale
                    best[i] = max(best[i], field[i])
            total[:] = np.float32(0.0)
            weighted[:] = np.float32(0.0)
            for k in range(K):
                field = u[k]
                for i in range(size):
                    d = min(best[i] - field[i], FAR)
                    y = d * (c_1 + c_2 * d)
                    share = _near_share(y)
                    total[i] += share
                    weighted[i] += y * share
            for i in range(size):
                added[i] += _near_log(total[i]) + weighted[i] / total[i]
        for i in range(size):
            entropies[start + i] += added[i]
