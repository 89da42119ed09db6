"""Slice sampling of hyperparameters given the whitened modes.

A point is (alpha, log tau, log gamma, log flip_rate), in a box whose sides may have no width. In
the box alpha has an exponential prior, and the others are uniform. Given z, the field at the
labeled nodes is f = Q_J diag(sigma(alpha, tau)) z, and the noise before the threshold is integrated
out, so that the likelihood of the labels costs O(J r).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

NAMES = ("alpha", "tau", "gamma", "flip_rate")

# A slice makes at most this many proposals; each about halves the interval.
MAX_PROPOSALS = 200

_SQRT_HALF = math.sqrt(0.5)

_GENERATOR = NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
# Psi enters as a pointer: numba's cache does not see edits in another file.
_LOG_CDF = types.FunctionType(types.float64(types.float64))


class Problem(NamedTuple):
    """The problem at the labeled nodes, and the hyperparameters that are sampled."""

    Q: Array
    """Modes at the labeled nodes, shape (J, r)."""
    values: Array
    """Eigenvalues of the modes, shape (r,)."""
    n_nodes: float
    y: Array
    box: Array
    """Ranges of (alpha, log tau, log gamma, log flip_rate), shape (4, 2)."""
    mean_alpha: float
    """Mean of alpha's exponential prior."""
    level_set: bool
    """Whether gamma is that of the level-set likelihood, which has no flip rate."""
    sweeps: int
    """Rounds of slices in a step."""


PROBLEM = types.NamedTuple(
    [
        _MATRIX,
        _VECTOR,
        types.float64,
        _VECTOR,
        _MATRIX,
        types.float64,
        types.boolean,
        types.int64,
    ],
    Problem,
)


@numba.njit
def _sign_model(point, level_set):  # type: ignore[no-untyped-def]
    """Return the noise before the threshold, and the cost of a wrong sign after it."""
    if level_set:
        return 0.0, 2.0 * math.exp(-2.0 * point[2])
    flip_rate = math.exp(point[3])
    cost = math.log1p(-flip_rate) - point[3] if flip_rate > 0.0 else math.inf
    return math.exp(point[2]), cost


@numba.njit
def _deviations(values, n_nodes, alpha, tau, sigma):  # type: ignore[no-untyped-def]
    """Write ``sigma`` by the formula of `Prior.sigma`."""
    top = -math.inf
    for k in range(values.size):
        sigma[k] = -0.5 * alpha * math.log(values[k] + tau * tau)
        top = max(top, sigma[k])
    total = 0.0
    for k in range(values.size):
        sigma[k] = math.exp(sigma[k] - top)
        total += sigma[k] * sigma[k]
    scale = math.sqrt(n_nodes / total)
    for k in range(values.size):
        sigma[k] *= scale


@numba.njit(fastmath={"reassoc"})  # a sum in vectors
def _field(Q, sigma, z, f):  # type: ignore[no-untyped-def]
    """Write Q diag(sigma) z; np.dot would take seconds more to compile."""
    for j in range(f.size):
        total = 0.0
        for k in range(z.size):
            total += Q[j, k] * (sigma[k] * z[k])
        f[j] = total


@numba.njit
def _log_likelihood(f, y, noise, cost, log_cdf):  # type: ignore[no-untyped-def]
    """Return sum_j log(q + (1 - 2 q) Psi(y_j f_j; noise)), q = 1 / (1 + e^cost).

    Unlike minus a potential it includes the constant of each label, which depends on the cost.
    """
    odds, total = math.exp(-cost), 0.0
    for j in range(f.size):
        if noise == 0.0:
            total -= cost if (f[j] >= 0.0) != (y[j] > 0.0) else 0.0
        elif odds == 0.0:
            total += log_cdf(y[j] * f[j] / noise)
        else:
            right = 0.5 * math.erfc(-y[j] * f[j] / noise * _SQRT_HALF)
            total += math.log(odds + (1.0 - odds) * right)
    return total - f.size * math.log1p(odds)


@kernel(types.float64(_VECTOR, _VECTOR, types.float64, types.float64, _LOG_CDF))
def log_likelihood(f, y, noise, cost, log_cdf):  # type: ignore[no-untyped-def]
    """Return log p(y | f), the noise before the threshold integrated out."""
    return _log_likelihood(f, y, noise, cost, log_cdf)


@kernel(
    types.UniTuple(types.float64, 2)(
        _GENERATOR, _VECTOR, PROBLEM, _VECTOR, _LOG_CDF, _VECTOR, _VECTOR
    )
)
def slice_hyperparameters(rng, z, problem, point, log_cdf, sigma, f):  # type: ignore[no-untyped-def]
    """Move ``point`` within its box, and return its noise and cost; ``sigma`` and ``f`` follow.

    Neal 2003, section 4: the first interval is the whole side, which shrinks toward the point
    until a proposal lies in the slice.
    """
    Q, values, n_nodes, y, box, mean_alpha, level_set, sweeps = problem
    _deviations(values, n_nodes, point[0], math.exp(point[1]), sigma)
    _field(Q, sigma, z, f)
    noise, cost = _sign_model(point, level_set)
    now = _log_likelihood(f, y, noise, cost, log_cdf) - point[0] / mean_alpha
    for update in range(sweeps * point.size):
        i = update % point.size
        low, high, here = box[i, 0], box[i, 1], point[i]
        if not low < high:
            continue
        # draw the level
        floor = now - rng.standard_exponential()
        for proposal in range(MAX_PROPOSALS):
            # propose
            last = proposal == MAX_PROPOSALS - 1
            point[i] = here if last else low + (high - low) * rng.random()
            if i < 2:
                _deviations(values, n_nodes, point[0], math.exp(point[1]), sigma)
                _field(Q, sigma, z, f)
            noise, cost = _sign_model(point, level_set)
            now = _log_likelihood(f, y, noise, cost, log_cdf) - point[0] / mean_alpha
            # accept
            if now >= floor:
                break
            # shrink the interval
            if point[i] < here:
                low = point[i]
            else:
                high = point[i]
    return noise, cost


@numba.njit
def _positive(rng, mean):  # type: ignore[no-untyped-def]
    """Draw from N(mean, 1) given that it is positive; Robert 1995."""
    if mean > -0.5:
        while True:
            t = mean + rng.standard_normal()
            if t > 0.0:
                return t
    rate = 0.5 * (-mean + math.sqrt(mean * mean + 4.0))
    while True:
        t = rng.standard_exponential() / rate
        if rng.random() < math.exp(-0.5 * (t - mean - rate) ** 2):
            return t


@kernel(types.void(_GENERATOR, _VECTOR, _VECTOR, types.float64, types.float64, _VECTOR))
def add_noise(rng, f, y, noise, cost, x):  # type: ignore[no-untyped-def]
    """Write a draw of x = f + noise eta given the labels."""
    odds = math.exp(-cost)
    for j in range(f.size):
        if noise == 0.0:
            x[j] = f[j]
            continue
        sign, mean = y[j], y[j] * f[j] / noise
        right = math.erfc(-mean * _SQRT_HALF)
        wrong = odds * math.erfc(mean * _SQRT_HALF)
        if wrong > 0.0 and rng.random() * (right + wrong) < wrong:
            sign, mean = -sign, -mean
        x[j] = sign * noise * _positive(rng, mean)
