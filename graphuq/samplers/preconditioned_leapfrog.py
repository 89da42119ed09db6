"""The compiled trajectories of `graphuq.samplers.preconditioned_hmc`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType
from numpy.typing import NDArray

from graphuq.likelihoods.contract import GRADIENT, OBSERVED, POTENTIAL, Observed
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# An energy error beyond this is a divergence.
DIVERGENCE = 1000.0
# A trajectory has at most this many steps, however small they are.
MAX_STEPS = 1000
# The k-th adaptation changes the log step size by GAIN k^-DECAY times the error of the acceptance
# rate, and has weight k^-FORGETTING in its average.
_GAIN, _DECAY, _FORGETTING = 2.0, 0.6, 0.75
# Nodes whose rows of A R stay in cache between the two products of a gradient.
BLOCK_NODES = 256


class Coordinates(NamedTuple):
    """The coordinates z; see `graphuq.samplers.mode_reference.ModeReference`."""

    mean: Array
    root: Array
    center: Array
    loadings: NDArray[np.float32]


class Settings(NamedTuple):
    """The settings of the steps, as the kernel reads them."""

    aim: float
    """Acceptance rate that adaptation aims at; 0 for none."""
    path: float
    jitter: float


_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
COORDINATES = types.NamedTuple([_VECTOR, _MATRIX, _VECTOR, types.float32[:, ::1]], Coordinates)
SETTINGS = types.NamedUniTuple(types.float64, 3, Settings)


@numba.njit(error_model="numpy")
def _slope(z, coordinates, gradient, observed, u, s, g):  # type: ignore[no-untyped-def]
    """Write the field into ``u``, and the gradient of Psi, (A R)' phi' + R' a - z, into ``g``.

    Rows of A R are read once, for both products. Return |a|^2 / 2 - |z|^2 / 2.
    """
    mean, root, center, loadings = coordinates
    y, rows, parameters = observed
    single = z.astype(np.float32)
    a = mean + np.dot(root, z)
    g[:] = np.dot(a, root) - z
    m = center.size
    for start in range(0, m, BLOCK_NODES):
        end = min(start + BLOCK_NODES, m)
        block = loadings[start:end]
        part = np.dot(block, single)
        for j in range(part.size):
            u[start + j, 0] = center[start + j] + part[j]
        seen = Observed(y[start:end], rows[: end - start], parameters)
        gradient(u[start:end], seen, s[start:end])
        for j in range(part.size):
            part[j] = s[start + j, 0]
        g += np.dot(part, block)
    return 0.5 * (np.dot(a, a) - np.dot(z, z))


@kernel(
    types.int64(
        _VECTOR,
        _MATRIX,
        _MATRIX,
        COORDINATES,
        _VECTOR,
        SETTINGS,
        POTENTIAL,
        GRADIENT,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        _MATRIX,
        _MATRIX,
    )
)
def trajectories(  # type: ignore[no-untyped-def]
    z,
    u,
    velocities,
    coordinates,
    averages,
    settings,
    potential,
    gradient,
    observed,
    rng,
    ends,
    stats,
):
    """Move ``z``, in place, along a trajectory for each velocity v ~ N(0, I), which is used up.

    With g the gradient of Psi, a step of angle h is: v -= (h/2) g; turn (z, v) by h; v -= (h/2) g.
    A kick changes the energy by - (h/2) <v, g> + (h^2/8) |g|^2; a turn does not change its
    Gaussian part. ``u`` gets the field, shape (m, 1).
    Write the end of each trajectory into ``ends``, and its `graphuq.samplers.leapfrog.STATISTICS`
    into ``stats``. Return how many trajectories were good: it stops where Phi is NaN or -infinity
    at a finite field, with that field in ``u``.
    """
    aim, path, jitter = settings
    potentials, acceptance, steps, diverging = stats
    w, g, s = np.empty_like(z), np.empty_like(z), np.empty_like(u)
    rest_of_psi = _slope(z, coordinates, gradient, observed, u, s, g)
    phi = potential(u, observed)
    if not phi > -math.inf and np.isfinite(u).all():
        return 0
    psi = phi + rest_of_psi
    g_start = g.copy()
    for i in range(velocities.shape[0]):
        # a jittered angle, in as many equal steps as the step size asks for
        v = velocities[i]
        longest = math.exp(averages[0] if aim > 0.0 else averages[1])
        angle = path * (1.0 + jitter * (2.0 * rng.random() - 1.0))
        count = min(MAX_STEPS, max(1, math.ceil(angle / longest)))
        h = min(angle / count, longest)
        cos, sin = math.cos(h), math.sin(h)
        w[:] = z
        g[:] = g_start
        change, end = 0.0, 0.0
        for _ in range(count):
            # half a kick, and a turn
            for d in range(z.size):
                change += g[d] * (0.125 * h * h * g[d] - 0.5 * h * v[d])
                kicked = v[d] - 0.5 * h * g[d]
                v[d] = kicked * cos - w[d] * sin
                w[d] = w[d] * cos + kicked * sin
            # the gradient where the turn ends, and the other half of the kick
            end = _slope(w, coordinates, gradient, observed, u, s, g)
            for d in range(z.size):
                change += g[d] * (0.125 * h * h * g[d] - 0.5 * h * v[d])
                v[d] -= 0.5 * h * g[d]
            steps[i] += 1.0
            if not change < 1e300:  # overflow: nothing is left to follow
                break
        phi_w = potential(u, observed)
        if not phi_w > -math.inf and np.isfinite(u).all():
            return i
        # accept
        psi_w = phi_w + end
        error = psi_w - psi + change
        alpha = math.exp(min(0.0, -error)) if error == error else 0.0
        if not error < DIVERGENCE:
            diverging[i] = 1.0
        if rng.random() < alpha:
            phi, psi = phi_w, psi_w
            z[:] = w
            g_start[:] = g
        acceptance[i] = alpha
        # adapt the log step size, and its average
        if aim > 0.0:
            averages[2] += 1.0
            tuned = averages[2]
            averages[0] += _GAIN * tuned**-_DECAY * (alpha - aim)
            averages[0] = min(averages[0], math.log(0.5 * math.pi))
            averages[1] += tuned**-_FORGETTING * (averages[0] - averages[1])
        ends[i] = z
        potentials[i] = phi
    return velocities.shape[0]
