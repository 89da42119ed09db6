"""The compiled trajectories of `graphuq.samplers.hilbert_hmc`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType
from numpy.typing import NDArray

from graphuq.likelihoods.contract import FIELD, GRADIENT, OBSERVED, POTENTIAL
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# An energy error beyond this is a divergence: the integrator has left the level set.
DIVERGENCE = 1000.0
# A trajectory has at most this many steps, however small they are.
MAX_STEPS = 1000
# The k-th adaptation changes the log step size by GAIN k^-DECAY times the error of the acceptance
# rate, and has weight k^-FORGETTING in its average. Dual averaging swings further, and its average
# accepts more than the target.
_GAIN, _DECAY, _FORGETTING = 2.0, 0.6, 0.75


# What a trajectory has in the rows of ``stats``.
STATISTICS = ("potential", "acceptance_rate", "n_steps", "diverging")


class Metric(NamedTuple):
    """K as the kernel reads it; see `graphuq.samplers.hmc_reference.Reference`."""

    matrix: Array
    """K, or empty: then K = U diag(excess) U' + tail_variance I, with U the basis."""
    single: NDArray[np.float32]
    """K in single precision, or empty."""
    basis: Array
    excess: Array
    tail_variance: float
    directions: Array
    pull: Array


class Settings(NamedTuple):
    """The settings of the steps, as the kernel reads them."""

    aim: float
    """Acceptance rate that adaptation aims at; 0 for none."""
    path: float
    power: float


_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
METRIC = types.NamedTuple(
    [_MATRIX, types.float32[:, ::1], _MATRIX, _VECTOR, types.float64, _MATRIX, _VECTOR], Metric
)
SETTINGS = types.NamedUniTuple(types.float64, 3, Settings)


@numba.njit
def _tempered(phi, power):  # type: ignore[no-untyped-def]
    """Return b Phi; a forbidden place stays forbidden at b = 0, where nothing else counts."""
    return phi if phi == math.inf else power * phi


@numba.njit(error_model="numpy")
def _times(g, metric):  # type: ignore[no-untyped-def]
    """Return K g, for each column of g."""
    matrix, single, basis, excess, tail_variance, _, _ = metric
    if single.size > 0:
        return np.dot(single, g.astype(np.float32)).astype(np.float64)
    if matrix.size > 0:
        return np.dot(matrix, g)
    inside = np.dot(basis.T, g)
    for d in range(excess.size):
        inside[d] *= excess[d]
    return np.dot(basis, inside) + tail_variance * g


@numba.njit
def _along(directions, u):  # type: ignore[no-untyped-def]
    """Return <b, u> for each column of u; BLAS takes no matrix without rows."""
    return np.dot(directions, u) if directions.size > 0 else np.empty((0, u.shape[1]))


@numba.njit
def _narrowing(pull, along):  # type: ignore[no-untyped-def]
    """Return <u, (K^-1 - C^-1) u> / 2."""
    total = 0.0
    for d in range(pull.size):
        for c in range(along.shape[1]):
            total += pull[d] * along[d, c] ** 2
    return 0.5 * total


@numba.njit
def _less_narrowing(g, power, directions, pull, along):  # type: ignore[no-untyped-def]
    """Turn Phi's gradient, in place, into Phi_K's."""
    for d in range(pull.size):
        along[d] *= pull[d]
    g *= power
    if pull.size > 0:
        g -= np.dot(directions.T, along)


@kernel(
    types.int64(
        FIELD,
        types.float64[:, :, ::1],
        METRIC,
        types.float64[::1],
        SETTINGS,
        POTENTIAL,
        GRADIENT,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.float64[:, :, ::1],
        types.float64[:, ::1],
    )
)
def trajectories(  # type: ignore[no-untyped-def]
    u, velocities, metric, averages, settings, potential, gradient, observed, rng, fields, stats
):
    """Move ``u``, in place, along a trajectory for each velocity v ~ N(0, K), which is used up.

    Potential and gradient g are those of Phi_K. K g is one product with the matrix, or two with
    the basis U, U (kappa - rho^2) U' g + rho^2 g, and is kept from the end of a trajectory for the
    start of the next. A kick changes the energy by - (h/2) <v, g> + (h^2/8) <g, K g>; a turn does
    not change its Gaussian part.
    Write the end of each trajectory into ``fields``, and its `STATISTICS` into ``stats``. Return
    how many trajectories were good: it stops where Phi is NaN or -infinity at a finite field, with
    that field in ``u``.
    """
    k = u.shape[1]
    directions, pull = metric.directions, metric.pull
    aim, path, power = settings
    potentials, acceptance, steps, diverging = stats
    now = potential(u, observed)
    w, g = np.empty_like(u), np.empty_like(u)
    along = _along(directions, u)
    phi = _tempered(now, power) - _narrowing(pull, along)
    gradient(u, observed, g)
    _less_narrowing(g, power, directions, pull, along)
    Kg = _times(g, metric)
    g_start, Kg_start = g.copy(), Kg.copy()
    # loops over one index run in vectors
    flat_w, flat_g, flat_Kg = w.reshape(-1), g.reshape(-1), Kg.reshape(-1)
    for i in range(velocities.shape[0]):
        # a jittered number of steps of one size
        v = velocities[i].T.copy().reshape(-1)
        h = min(math.exp(averages[0] if aim > 0.0 else averages[1]), 0.5 * math.pi)
        count = min(MAX_STEPS, max(1, math.ceil(path * (0.5 + rng.random()) / h)))
        cos, sin = math.cos(h), math.sin(h)
        w[:] = u
        g[:] = g_start
        Kg[:] = Kg_start
        change, last = 0.0, 0.0
        for _ in range(count):
            # half a kick, and a turn
            change += 0.125 * h * h * np.dot(flat_g, flat_Kg) - 0.5 * h * np.dot(flat_g, v)
            for j in range(v.size):
                kicked = v[j] - 0.5 * h * flat_Kg[j]
                v[j] = kicked * cos - flat_w[j] * sin
                flat_w[j] = flat_w[j] * cos + kicked * sin
            # the gradient of Phi_K where the turn ends
            gradient(w, observed, g)
            along = _along(directions, w)
            last = _narrowing(pull, along)
            _less_narrowing(g, power, directions, pull, along)
            Kg[:] = _times(g, metric)
            # the other half of the kick
            change += 0.125 * h * h * np.dot(flat_g, flat_Kg) - 0.5 * h * np.dot(flat_g, v)
            for j in range(v.size):
                v[j] -= 0.5 * h * flat_Kg[j]
            steps[i] += 1.0
            if not change < 1e300:  # overflow: nothing is left to follow
                break
        there = potential(w, observed)
        phi_w = _tempered(there, power) - last
        if not phi_w > -math.inf and np.isfinite(w).all():
            u[:] = w
            return i
        # accept
        error = phi_w - phi + change
        alpha = math.exp(min(0.0, -error)) if error == error else 0.0
        if not error < DIVERGENCE:
            diverging[i] = 1.0
        if rng.random() < alpha:
            phi, now = phi_w, there
            u[:] = w
            g_start[:] = g
            Kg_start[:] = Kg
        acceptance[i] = alpha
        # adapt the log step size, and its average
        if aim > 0.0:
            averages[2] += 1.0
            tuned = averages[2]
            averages[0] += _GAIN * tuned**-_DECAY * (alpha - aim)
            averages[0] = min(averages[0], math.log(0.5 * math.pi))
            averages[1] += tuned**-_FORGETTING * (averages[0] - averages[1])
        for c in range(k):
            fields[i, c] = u[:, c]
        potentials[i] = now
    return velocities.shape[0]
