"""Slice sampling of hyperparameters given the white noise z of the field.

A point is (alpha, level, weight, log tau, log gamma, log flip_rate), in a box whose sides may have
no width. In the box each has the density of `graphuq.priors.hyperprior`. Given z, each field at the
labeled nodes is f = Q_J diag(sigma) z, with sigma a function of the first four, and the noise
before the label rule is integrated out, so that the likelihood of the labels costs O(J p) for each
field.

Where labels determine a column's part of the field, sigma z, a new sigma with the same z
contradicts them, and slices are narrow. Where they say nothing of it, the same sigma z would keep
sigma narrow. So every other round holds sigma^w z, with w between 0 and 1, of each column
(partially non-centered parametrizations, Papaspiliopoulos, Roberts and Skold 2007; interweaving, Yu
and Meng 2011).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

NAMES = ("alpha", "level", "weight", "tau", "gamma", "flip_rate")

# This many of the names belong to the prior, and this many are sampled on their own scale, the
# others on a logarithmic one.
OF_THE_PRIOR, N_LINEAR = 4, 3

ALPHA, LEVEL, WEIGHT, TAU, GAMMA, FLIP_RATE = range(6)

# A slice makes at most this many proposals; each about halves the interval.
MAX_PROPOSALS = 200

_SQRT_HALF = math.sqrt(0.5)

_GENERATOR = NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
# `graphuq.likelihoods.sign_kernels.labels_log_probability`. It enters as a pointer: numba's cache
# does not see edits in another file.
_LOG_RIGHT = types.FunctionType(types.void(_MATRIX, _VECTOR, types.float64, _VECTOR))


class Problem(NamedTuple):
    """The problem at the labeled nodes, and the hyperparameters that are sampled."""

    Q: Array
    """At the labeled nodes, shape (J, p): ones if there is a level, the modes of the graph, and the
    columns of other priors."""
    values: Array
    """Eigenvalues of the modes."""
    variance: float
    """The sum of the modes' variances, where the graph is the only prior."""
    others: Array
    """Deviations of the level and of the columns of other priors, where the graph has no weight."""
    y: Array
    confidence: Array
    """That of each label; 1 where none is given."""
    box: Array
    """Ranges of a point, shape (6, 2)."""
    density: Array
    """The numbers of `graphuq.priors.hyperprior.Density` of each coordinate, shape (6, 4)."""
    level_set: bool
    """Whether gamma is that of the level-set likelihood, which has no flip rate."""
    n_wrong: float
    """Number of classes to which a label may be flipped."""
    sweeps: int
    """Rounds of slices in a step."""
    centering: Array
    """w of each column, shape (p,): every other round holds sigma^w z in place of z."""


PROBLEM = types.NamedTuple(
    [
        _MATRIX,
        _VECTOR,
        types.float64,
        _VECTOR,
        _VECTOR,
        _VECTOR,
        _MATRIX,
        _MATRIX,
        types.boolean,
        types.float64,
        types.int64,
        _VECTOR,
    ],
    Problem,
)


@numba.njit
def _sign_model(problem, point, costs):  # type: ignore[no-untyped-def]
    """Return the noise before the label rule, and write the cost of each wrong label after it."""
    n_wrong, rate = problem.n_wrong, math.exp(point[FLIP_RATE])
    cost = math.log1p(-rate) - point[FLIP_RATE] + math.log(n_wrong) if rate > 0.0 else math.inf
    if problem.level_set:
        cost = 2.0 * math.exp(-2.0 * point[GAMMA])
        rate = n_wrong / (n_wrong + math.exp(cost))
    for j in range(costs.size):
        costs[j], doubt = cost, 1.0 - problem.confidence[j]
        if doubt > 0.0:  # as `SignModel.with_confidence`
            flips = rate * (1.0 - doubt) + doubt - rate * doubt / n_wrong
            costs[j] = math.log(n_wrong * (1.0 - flips) / flips)
    return 0.0 if problem.level_set else math.exp(point[GAMMA])


@numba.njit
def _deviations(problem, point, sigma):  # type: ignore[no-untyped-def]
    """Write ``sigma``, that of the modes by the formula of `Prior.sigma`."""
    values, weight = problem.values, point[WEIGHT]
    # of p columns one may be a level, and the first of ``others`` is that of the level
    first = sigma.size - values.size - (problem.others.size - 1)
    other = math.sqrt(1.0 - weight)
    sigma[:first] = math.hypot(point[LEVEL], other * problem.others[0])
    for k in range(1, problem.others.size):
        sigma[first + values.size + k - 1] = other * problem.others[k]
    modes, alpha, tau = sigma[first : first + values.size], point[ALPHA], math.exp(point[TAU])
    top = -math.inf
    for k in range(values.size):
        modes[k] = -0.5 * alpha * math.log(values[k] + tau * tau)
        top = max(top, modes[k])
    total = 0.0
    for k in range(values.size):
        modes[k] = math.exp(modes[k] - top)
        total += modes[k] * modes[k]
    scale = math.sqrt(weight * problem.variance / total)
    for k in range(values.size):
        modes[k] *= scale


@numba.njit(fastmath={"reassoc"})  # a sum in vectors
def _field(Q, sigma, z, f):  # type: ignore[no-untyped-def]
    """Write Q diag(sigma) z; np.dot would take seconds more to compile."""
    for j in range(f.size):
        total = 0.0
        for k in range(z.size):
            total += Q[j, k] * (sigma[k] * z[k])
        f[j] = total


@numba.njit
def _fields(problem, point, z, sigma, f):  # type: ignore[no-untyped-def]
    """Write ``sigma``, and ``f`` (C, J) from ``z`` (C, p)."""
    _deviations(problem, point, sigma)
    for c in range(z.shape[0]):
        _field(problem.Q, sigma, z[c], f[c])


@numba.njit
def _hold(z, sigma, centering, held):  # type: ignore[no-untyped-def]
    """Write sigma^w z."""
    for c in range(z.shape[0]):
        for k in range(sigma.size):
            held[c, k] = z[c, k]
            if centering[k] > 0.0:
                held[c, k] *= sigma[k] ** centering[k]


@numba.njit
def _moved_modes(problem, point, held, z, sigma, f):  # type: ignore[no-untyped-def]
    """Write ``sigma``, ``z`` and ``f`` for a new point; return log p(held) up to a constant."""
    _deviations(problem, point, sigma)
    total = 0.0
    for k in range(sigma.size):
        w = problem.centering[k]
        if w > 0.0:
            scale = sigma[k] ** -w
            for c in range(z.shape[0]):
                z[c, k] = held[c, k] * scale
                total += math.log(scale) - 0.5 * z[c, k] * z[c, k]
    for c in range(z.shape[0]):
        _field(problem.Q, sigma, z[c], f[c])
    return total


@numba.njit
def _log_density(point, density):  # type: ignore[no-untyped-def]
    """Return the log density of a point; see `graphuq.priors.hyperprior.Density`."""
    total = 0.0
    for i in range(point.size):
        x = point[i] if i < N_LINEAR else math.exp(point[i])
        if density[i, 0] != 0.0:  # log x may be -infinity
            total += density[i, 0] * (math.log(x) if i < N_LINEAR else point[i])
        total -= density[i, 1] * x + 0.5 * density[i, 2] * x * x
        total -= math.log1p(density[i, 3] * x * x)
    return total


@numba.njit
def _log_likelihood(f, problem, noise, costs, log_right):  # type: ignore[no-untyped-def]
    """Return sum_j log((o + (1 - o) P_j) / (1 + n_wrong o)), o = e^-cost, for fields f (C, J).

    P_j is the probability of label j before flips. Unlike minus a potential the sum includes the
    constant of each label, which depends on the cost.
    """
    y, total, is_sign = problem.y, 0.0, f.shape[0] == 1
    logs = np.empty(y.size)
    # for one field, unless a label is never wrong, the log of a small probability does not count
    direct = is_sign and math.exp(-costs.max()) > 0.0
    if noise > 0.0 and not direct:
        log_right(f, y, noise, logs)
    for j in range(y.size):
        odds = math.exp(-costs[j])
        if noise == 0.0:
            right = (f[0, j] >= 0.0) == (y[j] > 0.0) if is_sign else f[:, j].argmax() == y[j]
            total -= 0.0 if right else costs[j]
        elif odds > 0.0:
            if direct:
                share = 0.5 * math.erfc(-y[j] * f[0, j] / noise * _SQRT_HALF)
            else:
                share = math.exp(logs[j])
            total += math.log(odds + (1.0 - odds) * share)
        else:
            total += logs[j]
        total -= math.log1p(problem.n_wrong * odds)
    return total


@numba.njit
def _line(rng, i, box, point, line):  # type: ignore[no-untyped-def]
    """Write the direction in which coordinate i moves; return the ends of the line in the box.

    Alpha and log tau move together, in a random direction: a rougher field of a longer range is
    much like a smoother one of a shorter range.
    """
    low, high = -math.inf, math.inf
    for k in range(point.size):
        line[k] = 0.0
        if not box[k, 0] < box[k, 1]:
            continue
        side = box[k, 1] - box[k, 0]
        if k == i:
            line[k] = side
        elif (i == ALPHA and k == TAU) or (i == TAU and k == ALPHA):
            line[k] = side * rng.standard_normal()
        if line[k] != 0.0:
            first, second = (box[k, 0] - point[k]) / line[k], (box[k, 1] - point[k]) / line[k]
            low, high = max(low, min(first, second)), min(high, max(first, second))
    return low, high


@kernel(types.float64(_GENERATOR, _MATRIX, PROBLEM, _VECTOR, _LOG_RIGHT, _VECTOR, _MATRIX, _VECTOR))
def slice_hyperparameters(rng, z, problem, point, log_right, sigma, f, costs):  # type: ignore[no-untyped-def]
    """Move ``point`` in its box, and return its noise; ``sigma``, ``f`` and ``costs`` follow.

    Neal 2003, section 4: the first interval is the whole side, which shrinks toward the point
    until a proposal lies in the slice. Even rounds hold z, and odd ones sigma^w z, whose density is
    that of z times sigma^-w; ``z`` follows.
    """
    box = problem.box
    held, here, line = np.empty(z.shape), np.empty(point.size), np.empty(point.size)
    _fields(problem, point, z, sigma, f)
    noise = _sign_model(problem, point, costs)
    for sweep in range(problem.sweeps):
        of_modes, centered = 0.0, sweep % 2 == 1
        if centered:
            _hold(z, sigma, problem.centering, held)
            of_modes = _moved_modes(problem, point, held, z, sigma, f)
        now = _log_likelihood(f, problem, noise, costs, log_right) + of_modes
        now += _log_density(point, problem.density)
        for i in range(point.size):
            if not box[i, 0] < box[i, 1]:
                continue
            low, high = _line(rng, i, box, point, line)
            for k in range(point.size):
                here[k] = point[k]
            # draw the level of the slice
            floor = now - rng.standard_exponential()
            for proposal in range(MAX_PROPOSALS):
                # propose
                last = proposal == MAX_PROPOSALS - 1
                length = 0.0 if last else low + (high - low) * rng.random()
                for k in range(point.size):
                    point[k] = min(max(here[k] + length * line[k], box[k, 0]), box[k, 1])
                if i < OF_THE_PRIOR and centered:
                    of_modes = _moved_modes(problem, point, held, z, sigma, f)
                elif i < OF_THE_PRIOR:
                    _fields(problem, point, z, sigma, f)
                noise = _sign_model(problem, point, costs)
                now = _log_likelihood(f, problem, noise, costs, log_right) + of_modes
                now += _log_density(point, problem.density)
                # accept
                if now >= floor:
                    break
                # shrink the interval
                if length < 0.0:
                    low = length
                else:
                    high = length
    return noise


@kernel(types.float64(_MATRIX, PROBLEM, types.float64, _VECTOR, _LOG_RIGHT))
def log_likelihood(f, problem, noise, costs, log_right):  # type: ignore[no-untyped-def]
    """Return log p(y | f), the noise before the label rule integrated out."""
    return _log_likelihood(f, problem, noise, costs, log_right)
