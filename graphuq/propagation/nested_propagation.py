"""Moments of K Gaussian fields given that one of them is the largest, by expectation propagation.

Under a Gaussian law of the K fields u at a node, the label c has probability

    P(w > u_k + noise eta_k for all k != c),    w = u_c + hub noise eta_c,

with independent eta ~ N(0, 1). Each of these K - 1 conditions has a site
exp(nu_k d_k - tau_k d_k^2 / 2) of d_k = w - u_k (Riihimaki, Jylanki and Vehtari 2013, Nested
expectation propagation for Gaussian process classification with a multinomial probit likelihood).
Kernels work on the joint Gaussian of (u, w), of dimension K + 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from graphuq.likelihoods.probit import log_cdf
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# The sites of a node have converged when no move is larger, in deviations; they converge in about
# ten passes.
TOLERANCE, MAX_PASSES = 1e-8, 200

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class LabelModel(NamedTuple):
    """The likelihood of a label: t(u) = wrong + (right - wrong) P(label | u)."""

    hub: float
    """Deviation of the label's own noise."""
    noise: float
    """Deviation of the noise of all other classes."""
    wrong: Array
    """Probability of each label if its class is not the largest, shape (J,)."""
    right: Array
    """Probability of each label if its class is the largest, shape (J,)."""


class Cavities(NamedTuple):
    """The Gaussian of the K fields at each labeled node, given all labels but its own."""

    mean: Array
    """Shape (J, K)."""
    covariance: Array
    """Shape (J, K, K)."""
    log_mass: Array
    """Log of the mass of t_j under it, over that of its sites, shape (J,)."""


_MATRIX, _CUBE, _VECTOR = types.float64[:, ::1], types.float64[:, :, ::1], types.float64[::1]
_MODEL = types.NamedTuple([types.float64, types.float64, _VECTOR, _VECTOR], LabelModel)
_CAVITIES = types.NamedTuple([_MATRIX, _CUBE, _VECTOR], Cavities)
# Psi enters as a pointer: numba's cache does not see edits in another file.
_LOG_CDF = types.FunctionType(types.float64(types.float64))


def visit_nodes(
    mean: Array,
    covariance: Array,
    y: NDArray[np.int64],
    model: LabelModel,
    sites: Array,
    least: float,
) -> tuple[Array, Cavities] | None:
    """Return the sites that nodes ask for, given the Gaussian of their fields; None if one fails.

    At the label's own class they are 0.

    Parameters
    ----------
    mean : ndarray, shape (J, K)
    covariance : ndarray, shape (J, K, K)
    y : ndarray of int, shape (J,)
        Classes of the labels.
    model : LabelModel
        With a positive hub.
    sites : ndarray, shape (2, J, K)
        tau and nu.
    least : float
        The least precision of a site. Labels that may be wrong have negative ones where others
        contradict them, and with -infinity these are as they are.
    """
    cavities = Cavities(np.empty(mean.shape), np.empty(covariance.shape), np.empty(y.size))
    parts, asked = map(np.ascontiguousarray, (mean, covariance, y)), np.array(sites)
    fits = _visit(*parts, model, sites, least, log_cdf, asked, cavities)
    return (asked, cavities) if fits else None


@numba.njit
def _multiply(S, m, k, tau, nu, g):  # type: ignore[no-untyped-def]
    """Multiply N(m, S) by exp(nu d - tau d^2 / 2), d = w - u_k; return the log of its mass.

    Return NaN where the product has no mass. Of S the lower triangle is read and changed. ``g`` is
    a buffer.
    """
    K = m.size - 1
    for i in range(K + 1):
        g[i] = S[K, i] - (S[k, i] if i < k else S[i, k])
    v, d = g[K] - g[k], m[K] - m[k]
    change = 1.0 + tau * v
    if not change > 0.0:
        return math.nan
    shift, gain = (nu - tau * d) / change, tau / change
    for i in range(K + 1):
        m[i] += shift * g[i]
        part = gain * g[i]
        for j in range(i + 1):
            S[i, j] -= part * g[j]
    return 0.5 * ((2.0 * nu * d + nu * nu * v - tau * d * d) / change - math.log(change))


@numba.njit
def _condition(S, m, c, noise, log_cdf, tau, nu, log_gaussian, g):  # type: ignore[no-untyped-def]
    """Fit sites for w > u_k + noise eta_k, k != c; return the log of their probability, or NaN.

    N(m, S) holds the sites so far, whose log mass under the Gaussian without them is
    ``log_gaussian``.
    """
    K, log_terms = m.size - 1, 0.0
    for _ in range(MAX_PASSES):
        moved, log_terms = 0.0, 0.0
        for k in range(K):
            v, d = S[K, K] - 2.0 * S[K, k] + S[k, k], m[K] - m[k]
            if k == c or v <= 0.0:
                continue
            # the cavity of one condition
            precision = 1.0 / v - tau[k]
            if not precision > 0.0:
                return math.nan
            cavity_variance = 1.0 / precision
            cavity_mean = (d / v - nu[k]) * cavity_variance
            spread = math.sqrt(cavity_variance + noise * noise)
            z = cavity_mean / spread
            log_term = log_cdf(z)
            slope = math.exp(-0.5 * z * z - _LOG_SQRT_2PI - log_term)
            first, second = slope / spread, -slope * (z + slope) / (spread * spread)
            left = 1.0 + cavity_variance * second
            if not left > 0.0:  # rounding
                return math.nan
            # the site that gives the same mean and variance
            new_tau, new_nu = -second / left, (first - cavity_mean * second) / left
            change = 1.0 + new_tau * cavity_variance
            log_terms += log_term + 0.5 * math.log(change)
            log_terms -= (
                0.5
                * (
                    2.0 * new_nu * cavity_mean
                    + new_nu * new_nu * cavity_variance
                    - new_tau * cavity_mean * cavity_mean
                )
                / change
            )
            d_tau, d_nu = new_tau - tau[k], new_nu - nu[k]
            moved = max(moved, abs(d_tau) * v, abs(d_nu - d_tau * d) * math.sqrt(v))
            log_gaussian += _multiply(S, m, k, d_tau, d_nu, g)
            tau[k], nu[k] = new_tau, new_nu
        if moved < TOLERANCE:
            break
    return log_gaussian + log_terms


@numba.njit
def _match(S, m, c, means, variances, least, tau, nu, g):  # type: ignore[no-untyped-def]
    """Set sites such that each d_k has a given mean and variance, by proportional fitting.

    Variances are smaller where a site would be less precise than ``least``.
    """
    K = m.size - 1
    tau[:], nu[:] = 0.0, 0.0
    for _ in range(MAX_PASSES):
        moved = 0.0
        for k in range(K):
            v, d = S[K, K] - 2.0 * S[K, k] + S[k, k], m[K] - m[k]
            if k == c or v <= 0.0:
                continue
            d_tau = max(1.0 / variances[k] - 1.0 / v, least - tau[k])
            d_nu = means[k] * (1.0 / v + d_tau) - d / v
            moved = max(moved, abs(d_tau) * v, abs(d_nu - d_tau * d) * math.sqrt(v))
            _multiply(S, m, k, d_tau, d_nu, g)
            tau[k] += d_tau
            nu[k] += d_nu
        if moved < TOLERANCE:
            break


@numba.njit
def _tilt(S, m, c, j, model, least, log_cdf, tau, nu, g):  # type: ignore[no-untyped-def]
    """Write the sites of label j, of class c, which may be wrong, given its cavity.

    Return the log of its mass, or NaN.
    """
    K = m.size - 1
    S_right, m_right = S.copy(), m.copy()
    tau[:], nu[:] = 0.0, 0.0
    log_right = _condition(S_right, m_right, c, model.noise, log_cdf, tau, nu, 0.0, g)
    # a mixture: the label says nothing with the rest of its probability
    share = (model.right[j] - model.wrong[j]) * math.exp(log_right)
    mass = model.wrong[j] + share
    share /= mass
    means, variances = np.empty(K), np.empty(K)
    for k in range(K):
        v, d = S[K, K] - 2.0 * S[K, k] + S[k, k], m[K] - m[k]
        v_right = S_right[K, K] - 2.0 * S_right[K, k] + S_right[k, k]
        gap = m_right[K] - m_right[k] - d
        means[k] = d + share * gap
        variances[k] = v + share * (v_right - v) + share * (1.0 - share) * gap * gap
    _match(S.copy(), m.copy(), c, means, variances, least, tau, nu, g)
    return math.log(mass)


@kernel(
    types.boolean(
        _MATRIX,
        _CUBE,
        types.int64[::1],
        _MODEL,
        _CUBE,
        types.float64,
        _LOG_CDF,
        _CUBE,
        _CAVITIES,
    )
)
def _visit(mean, covariance, y, model, sites, least, log_cdf, asked, out):  # type: ignore[no-untyped-def]
    """Write the sites asked for, and the cavities; return False where a node fails."""
    J, K = mean.shape
    S, m, g = np.empty((K + 1, K + 1)), np.empty(K + 1), np.empty(K + 1)
    weights = np.empty(K)
    for j in range(J):
        c = y[j]
        tau, nu = sites[0, j], sites[1, j]
        # 1. the joint Gaussian of the fields and w, which given the fields is N(mean, 1 / total)
        for k in range(K):
            weights[k] = tau[k] if k != c else 1.0 / (model.hub * model.hub)
        total = weights.sum()
        if not total > 0.0:
            return False
        m[K], S[K, K] = nu.sum() / total, 1.0 / total
        for k in range(K):
            weights[k] /= total
        for k in range(K):
            for i in range(K):
                S[k, i] = covariance[j, k, i]
            m[k] = mean[j, k]
            m[K] += weights[k] * m[k]
            S[K, k] = 0.0
            for i in range(K):
                S[K, k] += weights[i] * covariance[j, k, i]
        for k in range(K):
            S[K, K] += weights[k] * S[K, k]
        # 2. the cavity: without the sites of this node
        S_before, m_before = S.copy(), m.copy()
        log_mass = 0.0
        for k in range(K):
            if k != c:
                log_mass += _multiply(S, m, k, -tau[k], -nu[k], g)
        for k in range(K):
            out.mean[j, k] = m[k]
            for i in range(k + 1):
                out.covariance[j, k, i] = out.covariance[j, i, k] = S[k, i]
        # 3. new sites
        tau, nu = asked[0, j], asked[1, j]
        if model.wrong[j] == 0.0:  # the sites are near to those of the label
            out.log_mass[j] = log_mass + _condition(
                S_before, m_before, c, model.noise, log_cdf, tau, nu, -log_mass, g
            )
        else:
            out.log_mass[j] = log_mass + _tilt(S, m, c, j, model, least, log_cdf, tau, nu, g)
        if not math.isfinite(out.log_mass[j]):
            return False
    return True
