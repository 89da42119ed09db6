"""Expectation propagation: a Gaussian in the place of a sign model's posterior, and the evidence.

A site exp(nu_j u_j - tau_j u_j^2 / 2) stands for each label's likelihood
t_j(u_j) = f + (1 - 2 f) Psi(y_j u_j; gamma), f = 1 / (1 + e^V). In turn, each is made such that the
Gaussian has the mean and variance that it would have with t_j in the site's place (Minka 2001;
Rasmussen and Williams 2006, section 3.6). With a root F of the prior's covariance at the labelled
nodes, C_JJ = F F', all else happens in as many dimensions as F has columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import log_ndtr, ndtr, owens_t

from graphuq.jit import kernel
from graphuq.likelihoods.contract import Bound
from graphuq.likelihoods.probit import log_cdf_slope

Array = NDArray[np.float64]

# Sites have settled when no sweep moves the Gaussian's means by more of its deviations, or its
# variances by more of themselves; the evidence is stationary there, so its error is the square.
TOLERANCE = 1e-6

# After so many sweeps without progress all begins anew, and sites go only half as far.
PATIENCE, SMALLEST_STEP = 30, 0.1

# Beyond this, a site pins a field of deviation 1 down to rounding.
LARGEST_SITE = 1e15

# Sites of a block are visited in turn with what they do to each other alone; what they do to all
# others is one product of matrices, the same as if it had been done in turn.
BLOCK = 64


class NotConvergedError(ArithmeticError):
    """The sites do not settle."""


@dataclass(frozen=True, eq=False)
class Sites:
    """Where expectation propagation came to rest; arrays have shape (J,) but for the last.

    Attributes
    ----------
    precision, shift : ndarray
        tau and nu.
    mean, variance : ndarray
        Of u_J.
    cavity_mean, cavity_variance : ndarray
        Of each u_j given all labels but its own.
    log_evidence : float
        log p(y), with ``correction``.
    correction : float
        The leading term that expectation propagation leaves out (Opper, Paquet and Winther 2013).
    spread : ndarray, shape (J, p)
        A root of the covariance of u_J.
    """

    precision: Array
    shift: Array
    mean: Array
    variance: Array
    cavity_mean: Array
    cavity_variance: Array
    log_evidence: float
    correction: float
    spread: Array


def flip_rate(cost: float) -> float:
    """Return f = 1 / (1 + e^V): the share of labels that are wrong wherever the field is."""
    return float(np.exp(-np.logaddexp(0.0, cost)))


def _log_margin(cost: float) -> float:
    """Return log(1 - 2 f), -infinity for labels that say nothing."""
    margin = math.tanh(cost / 2)
    return math.log(margin) if margin > 0 else -math.inf


def propagate(
    root: Array,
    likelihood: Bound,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
) -> Sites:
    """Return the sites at rest.

    Parameters
    ----------
    root : ndarray, shape (J, p)
        F, with F F' the prior's covariance at the labelled nodes.
    likelihood : Bound
        Of a sign model.
    start : (ndarray, ndarray), optional
        tau and nu to start from.
    tolerance : float
        Of a sweep's moves, in the Gaussian's deviations.

    Raises
    ------
    NotConvergedError
        Even small steps come to no rest.
    """
    assert likelihood.sign_model is not None
    noise, cost = likelihood.sign_model
    flip, y = flip_rate(cost), likelihood.observed.y
    step = 1.0
    while True:
        try:
            tau, nu = _settled(root, y, noise, flip, step, start, tolerance)
            return _at_rest(root, tau, nu, y, noise, cost)
        except NotConvergedError:
            step, start = step / 2, None
            if step < SMALLEST_STEP:
                raise


def _settled(
    root: Array,
    y: Array,
    noise: float,
    flip: float,
    step: float,
    start: tuple[Array, Array] | None,
    tolerance: float,
) -> tuple[Array, Array]:
    """Return tau and nu after sweeps that go ``step`` of the way each time."""
    J, p = root.shape
    tau, nu = (np.zeros(J), np.zeros(J)) if start is None else (start[0].copy(), start[1].copy())
    best, idle = np.inf, 0
    while idle < PATIENCE:
        factor, h = _whole(root, tau, nu)
        A = linalg.cho_solve((factor, True), np.eye(p), check_finite=False)
        moved = 0.0
        for first in range(0, J, BLOCK):
            block = slice(first, first + BLOCK)
            F = root[block]
            FA = F @ A
            S, m = FA @ F.T, F @ h
            tau_before, nu_before = tau[block].copy(), nu[block].copy()
            arguments = (tau[block], nu[block], y[block], noise, flip, step, log_cdf_slope)
            moved = max(moved, _visit(S.copy(), m.copy(), *arguments))
            # (A^-1 + F' D F)^-1, and the mean that goes with it
            D = tau[block] - tau_before
            A -= FA.T @ (D[:, None] * np.linalg.solve(np.eye(D.size) + S * D, FA))
            h += A @ (F.T @ (nu[block] - nu_before - D * m))
        if moved < tolerance:
            return tau, nu
        idle = 0 if moved < 0.9 * best else idle + 1
        best = min(best, moved)
    raise NotConvergedError(f"sites still move by {best:.1g} of the field's deviation")


def _whole(root: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Return the lower factor of I + F' diag(tau) F, and the mean of the whitened field."""
    if not max(abs(tau).max(), abs(nu).max()) < LARGEST_SITE:
        raise NotConvergedError("sites grow without end")
    precision = (root.T * tau) @ root
    precision[np.diag_indices_from(precision)] += 1.0
    try:
        factor = linalg.cholesky(precision, lower=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise NotConvergedError("the sites' precisions add up to no Gaussian") from error
    return factor, linalg.cho_solve((factor, True), root.T @ nu, check_finite=False)


def at_labelled(root: Array, tau: Array, nu: Array) -> tuple[Array, Array, float]:
    """Return the Gaussian of u_J that sites make: mean, root of the covariance, log |prior| / |it|.

    The last is that of the whitened field's determinants.
    """
    factor, h = _whole(root, tau, nu)
    spread = linalg.solve_triangular(factor, root.T, lower=True, check_finite=False).T
    return root @ h, spread, 2 * float(np.log(np.diag(factor)).sum())


def _at_rest(root: Array, tau: Array, nu: Array, y: Array, noise: float, cost: float) -> Sites:
    m, half, log_shrunk = at_labelled(root, tau, nu)
    v = np.einsum("ij,ij->i", half, half)
    alive = v > 0  # a node without a field learns nothing from its label
    tau, nu = np.where(alive, tau, 0.0), np.where(alive, nu, 0.0)
    safe = np.where(alive, v, 1.0)
    precision, shift = 1 / safe - tau, m / safe - nu  # of the cavities
    if not (precision > 0).all():
        raise NotConvergedError("a label's own site outweighs the whole")
    cavity_variance = np.where(alive, 1 / precision, 0.0)
    cavity_mean = shift / precision
    spread = np.sqrt(cavity_variance + noise**2)
    z = y * np.where(spread > 0, cavity_mean / np.where(spread > 0, spread, 1.0), 0.0)
    log_mass = _log_mass(z, cost)
    # each label's mass, less what its site has already put into the Gaussian's
    a, b = precision + tau, shift + nu
    site_mass = -0.5 * np.log(a / precision) + 0.5 * (b**2 / a - shift**2 / precision)
    log_gaussian = 0.5 * (float(nu @ m) - log_shrunk)
    # Cumulants of t_j times its cavity, beyond the second, are derivatives of its log mass in the
    # cavity's mean. Far against its label (z < -100) a node's third is next to none, and rounding.
    slope = np.exp(_log_margin(cost) - 0.5 * z**2 - 0.5 * math.log(2 * math.pi) - log_mass)
    bend = -slope * (z + slope)
    third = np.where(z < -100, 0.0, -slope - bend * (z + 2 * slope))
    ratio = cavity_variance / np.where(spread > 0, spread, 1.0)
    correction = _correction(half / np.sqrt(safe)[:, None], y * ratio**3 * third / safe**1.5)
    evidence = float((log_mass - site_mass).sum()) + log_gaussian + correction
    if not np.isfinite(evidence):
        raise NotConvergedError("the evidence is not finite")
    return Sites(tau, nu, m, v, cavity_mean, cavity_variance, evidence, correction, half)


def _log_mass(z: Array, cost: float) -> Array:
    """Return log(f + (1 - 2 f) Psi(z; 1)), the log of a label's probability given all others."""
    log_flip = -np.logaddexp(0.0, cost)
    return np.logaddexp(log_flip, _log_margin(cost) + log_ndtr(z))


def _correction(half: Array, skew: Array) -> float:
    """Return sum_{i < j} rho_ij^3 kappa_i kappa_j / 3!, with the tilted laws' skewness kappa."""
    total = 0.0
    for start in range(0, skew.size, 512):
        rows = slice(start, start + 512)
        total += float(skew[rows] @ (half[rows] @ half.T) ** 3 @ skew)
    squares = np.einsum("ij,ij->i", half, half)  # 1, and 0 of nodes without a field
    return (total - float(skew**2 @ squares**3)) / 12


def label_probability(sites: Sites, likelihood: Bound) -> Array:
    """Return P(label j is +1 | all other labels), shape (J,)."""
    assert likelihood.sign_model is not None
    noise, cost = likelihood.sign_model
    spread = np.sqrt(sites.cavity_variance + noise**2)
    z = sites.cavity_mean / np.where(spread > 0, spread, np.inf)
    flip = flip_rate(cost)
    return np.asarray(flip + (1 - 2 * flip) * ndtr(z))


def sign_probability(sites: Sites, likelihood: Bound) -> Array:
    """Return P(u_j > 0 | all labels) at the labelled nodes, by the true t_j there, shape (J,)."""
    assert likelihood.sign_model is not None
    noise, cost = likelihood.sign_model
    flip, y = flip_rate(cost), likelihood.observed.y
    deviation = np.sqrt(sites.cavity_variance)
    spread = np.hypot(deviation, noise)
    alive = deviation > 0
    h = sites.cavity_mean / np.where(alive, deviation, np.inf)
    k = sites.cavity_mean / np.where(spread > 0, spread, np.inf)
    positive = ndtr(h)
    # P(u > 0, u + gamma eta > 0), whose correlation is k / h: one of Owen's two terms is zero
    both = 0.5 * (positive + ndtr(k)) - owens_t(k, noise / np.where(alive, deviation, np.inf))
    agreed = np.where(y > 0, both, positive - both)
    mass = flip + (1 - 2 * flip) * ndtr(y * k)
    share = (flip * positive + (1 - 2 * flip) * agreed) / np.where(mass > 0, mass, 1.0)
    return np.clip(np.where(alive, share, 0.5), 0.0, 1.0)


@kernel(
    types.float64(
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64,
        types.float64,
        types.float64,
        types.FunctionType(types.float64(types.float64)),
    )
)
def _visit(S, m, tau, nu, y, noise, flip, step, slope_of):  # type: ignore[no-untyped-def]
    """Update the sites of some nodes in turn, given their joint Gaussian N(m, S), which is used up.

    Return how far the Gaussian moved.
    """
    size, moved = m.size, 0.0
    for j in range(size):
        v = S[j, j]
        if v <= 0.0:
            continue
        precision = 1.0 / v - tau[j]
        if precision <= 0.0:
            moved = math.inf
            continue
        cavity_variance = 1.0 / precision
        cavity_mean = (m[j] / v - nu[j]) * cavity_variance
        spread = math.sqrt(cavity_variance + noise * noise)
        z = y[j] * cavity_mean / spread
        if flip == 0.0:
            slope = slope_of(z)
        else:
            density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            mass = flip + (1 - 2 * flip) * 0.5 * math.erfc(-z * math.sqrt(0.5))
            slope = (1 - 2 * flip) * density / mass
        first = y[j] * slope / spread
        second = -slope * (z + slope) / (spread * spread)
        left = 1.0 + cavity_variance * second
        if left <= 0.0:  # rounding
            moved = math.inf
            continue
        new_tau = -second / left
        new_nu = (first - cavity_mean * second) / left
        d_tau, d_nu = step * (new_tau - tau[j]), step * (new_nu - nu[j])
        change = 1.0 + d_tau * v
        if change <= 0.0:
            moved = math.inf
            continue
        shift = (d_nu - d_tau * m[j]) / change
        moved = max(moved, abs(shift) * math.sqrt(v) / step, abs(d_tau) * v / change / step)
        for i in range(size):
            m[i] += S[i, j] * shift
        gain = d_tau / change
        for i in range(size):
            if i != j:
                part = gain * S[i, j]
                for k in range(size):
                    S[i, k] -= part * S[j, k]
        for k in range(size):
            S[j, k] /= change
        tau[j] += d_tau
        nu[j] += d_nu
    return moved
