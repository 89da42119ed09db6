"""Leapfrog steps of Hilbert-space HMC (Beskos, Pinski, Sanz-Serna and Stuart 2011).

The field at the nodes read is u = A a + rho e, with white coefficients a and e. Steps move it in
coordinates z, in which a Gaussian close to the posterior is white: a = c + V diag(s)^(1/2) z. With
x = (z, e), exp(-Phi(u)) N(a; 0, I) N(e; 0, I) is exp(-Psi(x)) N(x; 0, I), up to a constant, where

    Psi(x) = Phi(u) + <l, z> - sum_d (1 - s_d) z_d^2 / 2,    l = diag(s)^(1/2) V' c.

Any Gaussian leaves the posterior as it is, and a close one allows long steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType
from numpy.typing import NDArray

from graphuq.likelihoods.contract import GRADIENT, OBSERVED, POTENTIAL
from graphuq.utils.jit import copy_matrix, kernel
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


class Reference(NamedTuple):
    """The Gaussian whose part of the motion is exact."""

    mean: Array
    """c, shape (p,)."""
    axes: Array
    """V, shape (p, p), or empty for the identity."""
    shares: Array
    """s, shape (p,): the variance of a along the axes, which is 1 in the prior."""
    center: Array
    """A c, shape (m,)."""
    loadings: NDArray[np.float32]
    """A V diag(s)^(1/2), shape (m, p), in single precision: a step reads it twice."""
    tail: float
    """rho."""

    def coefficients(self, x: Array) -> Array:
        """Return (a, e) of coordinates x, with shape (..., p or p + m, C) both."""
        a, p = x.copy(), self.mean.size
        a[..., :p, :] *= np.sqrt(self.shares)[:, None]
        if self.axes.size:
            a[..., :p, :] = self.axes @ a[..., :p, :]
        a[..., :p, :] += self.mean[:, None]
        return a

    def coordinates(self, a: Array) -> Array:
        """Return the coordinates x of (a, e)."""
        x, p = a.copy(), self.mean.size
        x[..., :p, :] -= self.mean[:, None]
        if self.axes.size:
            x[..., :p, :] = self.axes.T @ x[..., :p, :]
        x[..., :p, :] /= np.sqrt(self.shares)[:, None]
        return x

    def coordinate_map(self) -> CoordinateMap:
        """Return what steps need."""
        root = np.sqrt(self.shares)
        pull = root * (self.axes.T @ self.mean if self.axes.size else self.mean)
        return CoordinateMap(self.center, self.loadings, self.tail, pull, 1 - self.shares)


class CoordinateMap(NamedTuple):
    """The field in coordinates x, and what Psi adds to Phi, as the kernel reads them."""

    center: Array
    loadings: NDArray[np.float32]
    tail: float
    pull: Array
    """l."""
    narrowing: Array
    """1 - s."""


class Settings(NamedTuple):
    """The settings of the steps, as the kernel reads them."""

    aim: float
    """Acceptance rate that adaptation aims at; 0 for none."""
    path: float
    jitter: float
    power: float


_VECTOR, _MATRIX, _BLOCK = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_MAP = types.NamedTuple(
    [_VECTOR, types.float32[:, ::1], types.float64, _VECTOR, _VECTOR], CoordinateMap
)
_SETTINGS = types.NamedUniTuple(types.float64, 4, Settings)


@numba.njit
def _tempered(phi, power):  # type: ignore[no-untyped-def]
    """Return b Phi; a forbidden place stays forbidden at b = 0, where nothing else counts."""
    return phi if phi == math.inf else power * phi


@numba.njit
def _times(matrix, columns):  # type: ignore[no-untyped-def]
    """Return a product; BLAS is faster for a vector than for a matrix of one column."""
    single = columns.astype(np.float32)
    if single.shape[1] == 1:
        return np.dot(matrix, single.reshape(-1)).reshape(-1, 1)
    return np.dot(matrix, single)


@numba.njit(error_model="numpy")
def _slope(x, map_, power, gradient, observed, u, s, g):  # type: ignore[no-untyped-def]
    """Write the field into ``u``, and the gradient of Psi into ``g``; return Psi - Phi."""
    center, loadings, tail, pull, narrowing = map_
    m, p = loadings.shape
    inside = _times(loadings, x[:p])
    for j in range(m):
        for c in range(u.shape[1]):
            u[j, c] = center[j] + inside[j, c]
            if tail > 0.0:
                u[j, c] += tail * x[p + j, c]
    gradient(u, observed, s)
    back = _times(loadings.T, s)
    added = 0.0
    for d in range(p):
        for c in range(u.shape[1]):
            z = x[d, c]
            g[d, c] = power * back[d, c] + pull[d] - narrowing[d] * z
            added += z * (pull[d] - 0.5 * narrowing[d] * z)
    if tail > 0.0:
        for j in range(m):
            for c in range(u.shape[1]):
                g[p + j, c] = power * tail * s[j, c]
    return added


@kernel(
    types.int64(
        _MATRIX,
        _MATRIX,
        _BLOCK,
        _MAP,
        _VECTOR,
        _SETTINGS,
        POTENTIAL,
        GRADIENT,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        _BLOCK,
        _MATRIX,
    )
)
def trajectories(  # type: ignore[no-untyped-def]
    x, u, velocities, map_, averages, settings, potential, gradient, observed, rng, ends, stats
):
    """Move ``x``, in place, along a trajectory for each velocity v ~ N(0, I), which is used up.

    With g the gradient of Psi, a step of angle h is: v -= (h/2) g; turn (x, v) by h; v -= (h/2) g.
    A kick changes the energy by - (h/2) <v, g> + (h^2/8) |g|^2; a turn does not change its
    Gaussian part. ``u`` gets the field, shape (m, C).
    Write the end of each trajectory into ``ends``, and its `STATISTICS` into ``stats``. Return how
    many trajectories were good: it stops where Phi is NaN or -infinity at a finite field, with that
    field in ``u``.
    """
    aim, path, jitter, power = settings
    potentials, acceptance, steps, diverging = stats
    w, g, s = np.empty_like(x), np.empty_like(x), np.empty_like(u)
    added = _slope(x, map_, power, gradient, observed, u, s, g)
    now = potential(u, observed)
    if not now > -math.inf and np.isfinite(u).all():
        return 0
    psi = _tempered(now, power) + added
    g_start = g.copy()
    flat_w, flat_g = w.reshape(-1), g.reshape(-1)  # loops over one index run in vectors
    for i in range(velocities.shape[0]):
        # a jittered angle, in as many equal steps as the step size asks for
        v = velocities[i].reshape(-1)
        longest = min(math.exp(averages[0] if aim > 0.0 else averages[1]), 0.5 * math.pi)
        angle = path * (1.0 + jitter * (2.0 * rng.random() - 1.0))
        count = min(MAX_STEPS, max(1, math.ceil(angle / longest)))
        h = min(angle / count, longest)
        cos, sin = math.cos(h), math.sin(h)
        copy_matrix(x, w)
        copy_matrix(g_start, g)
        change, end = 0.0, 0.0
        for _ in range(count):
            # half a kick, and a turn
            change += 0.125 * h * h * np.dot(flat_g, flat_g) - 0.5 * h * np.dot(flat_g, v)
            for d in range(v.size):
                kicked = v[d] - 0.5 * h * flat_g[d]
                v[d] = kicked * cos - flat_w[d] * sin
                flat_w[d] = flat_w[d] * cos + kicked * sin
            # the gradient where the turn ends, and the other half of the kick
            end = _slope(w, map_, power, gradient, observed, u, s, g)
            change += 0.125 * h * h * np.dot(flat_g, flat_g) - 0.5 * h * np.dot(flat_g, v)
            for d in range(v.size):
                v[d] -= 0.5 * h * flat_g[d]
            steps[i] += 1.0
            if not change < 1e300:  # overflow: nothing is left to follow
                break
        there = potential(u, observed)
        if not there > -math.inf and np.isfinite(u).all():
            return i
        # accept
        psi_w = _tempered(there, power) + end
        error = psi_w - psi + change
        alpha = math.exp(min(0.0, -error)) if error == error else 0.0
        if not error < DIVERGENCE:
            diverging[i] = 1.0
        if rng.random() < alpha:
            psi, now = psi_w, there
            copy_matrix(w, x)
            copy_matrix(g, g_start)
        acceptance[i] = alpha
        # adapt the log step size, and its average
        if aim > 0.0:
            averages[2] += 1.0
            tuned = averages[2]
            averages[0] += _GAIN * tuned**-_DECAY * (alpha - aim)
            averages[0] = min(averages[0], math.log(0.5 * math.pi))
            averages[1] += tuned**-_FORGETTING * (averages[0] - averages[1])
        copy_matrix(x, ends[i])
        potentials[i] = now
    return velocities.shape[0]
