"""Expectation propagation: a Gaussian approximation of a sign model's posterior, and the evidence.

A site exp(nu_j u_j - tau_j u_j^2 / 2) approximates the likelihood of each label,
t_j(u_j) = f + (1 - 2 f) Psi(y_j u_j; gamma), f = 1 / (1 + e^V). Sites are updated in turn such that
the Gaussian has the mean and variance that it would have with t_j in place of the site (Minka 2001;
Rasmussen and Williams 2006, section 3.6). With a root F of the prior covariance at the labeled
nodes, C_JJ = F F', all computations have as many dimensions as F has columns.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import log_ndtr, ndtr, owens_t

from graphuq.inference.evidence.simultaneous_sweeps import sweep_at_once
from graphuq.likelihoods.bound import Bound
from graphuq.likelihoods.probit import log_cdf_slope
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian_sites import NotConvergedError, at_labeled, whitened
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array

# Sites have converged when a sweep moves the means of the Gaussian by at most this share of its
# deviations, and its variances by this share of themselves. The evidence is stationary there, so
# its error is of the order of the square.
TOLERANCE = 1e-6

# The same where settings are compared and J (COARSE)^2 is far below the differences that matter.
COARSE = 1e-3

# Keys by which sites are sorted, and their decimal places: far more than rounding changes.
KEYS, KEY_DIGITS = 4, 9

# After MAX_IDLE sweeps without progress the sweeps start again with half the step.
MAX_IDLE, MIN_STEP = 30, 0.1

# Nodes in a block. Within it, sites are visited in turn, with their effect on each other. Their
# effect on all other nodes is then one matrix product, with the same result.
BLOCK_NODES = 64

# So many nodes are one block, which is visited so often before its Gaussian is computed again.
SMALL, SMALL_VISITS = 128, 4

# Below this z the third cumulant of a site is smaller than its rounding error.
MIN_Z = -100


@dataclass(frozen=True, eq=False)
class Sites:
    """The converged sites; arrays have shape (J,) unless said otherwise.

    Attributes
    ----------
    precision, shift : ndarray
        tau and nu.
    mean, variance : ndarray
        Mean and variance of u_J.
    cavity_mean, cavity_variance : ndarray
        Mean and variance of each u_j given all labels but its own.
    log_evidence : float
        log p(y), with ``correction``.
    correction : float
        The leading term of the error of expectation propagation (Opper, Paquet and Winther 2013).
    spread : ndarray, shape (J, p)
        A root of the covariance of u_J.
    log_integral : float
        The log of the integral of the prior times all sites.
    root : ndarray, shape (J, p)
        A root of the prior covariance of u_J.
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
    log_integral: float
    root: Array


def propagate(
    root: Array,
    likelihood: Bound,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
) -> Sites:
    """Return the converged sites.

    Parameters
    ----------
    root : ndarray, shape (J, p)
        F, with F F' the prior covariance at the labeled nodes.
    likelihood : Bound
        A sign model.
    start : (ndarray, ndarray), optional
        tau and nu to start from.
    tolerance : float
        Largest move of a converged sweep, in deviations of the Gaussian.

    Raises
    ------
    NotConvergedError
        The sweeps do not converge, even with small steps.
    """
    noise, cost = likelihood.label_model
    # a label that is likelier wrong than right is one of the other class
    y = np.where(np.less(cost, 0), -likelihood.observed.y, likelihood.observed.y)
    model = SignModel(noise, np.abs(cost))
    flip = np.broadcast_to(model.flip_rate(2), y.shape)
    if not flip.any() and y.size > BLOCK_NODES:
        with suppress(NotConvergedError):
            return _sites(root, *sweep_at_once(root, y, noise, start, tolerance), y, model)
    order = _order_of_visits(root, y)
    back = np.argsort(order)
    ordered, signs, flips = np.ascontiguousarray(root[order]), y[order], flip[order]
    start = None if start is None else (start[0][order], start[1][order])
    step = 1.0
    while True:
        try:
            tau, nu = _sweep(ordered, signs, noise, flips, step, start, tolerance)
            return _sites(root, tau[back], nu[back], y, model)
        except NotConvergedError:
            step, start = step / 2, None
            if step < MIN_STEP:
                raise


def _order_of_visits(root: Array, y: Array) -> NDArray[np.intp]:
    """Return an order of the labeled nodes that does not depend on how they are numbered.

    Sweeps that stop early then stop at the same sites. Nodes are sorted by how far the other labels
    agree with theirs. Where that ties, as it does on grids and with binary features, the agreement
    of the labels about them decides, and then of those about these.
    """
    keys, weights = [], np.ones(y.size)
    for _ in range(KEYS):
        agreement = y * (root @ (root.T @ (weights * y)))
        agreement /= abs(agreement).max() or 1.0
        keys.append(np.round(agreement, KEY_DIGITS))
        weights = agreement**2
    return np.lexsort(keys[::-1])


def _sweep(
    root: Array,
    y: Array,
    noise: float,
    flip: Array,
    step: float,
    start: tuple[Array, Array] | None,
    tolerance: float,
) -> tuple[Array, Array]:
    """Return tau and nu after sweeps over all sites, each update damped by ``step``."""
    J, p = root.shape
    tau, nu = (np.zeros(J), np.zeros(J)) if start is None else (start[0].copy(), start[1].copy())
    size, visits = (J, SMALL_VISITS) if J <= SMALL else (BLOCK_NODES, 1)
    best, idle = np.inf, 0
    while idle < MAX_IDLE:
        # 1. the whitened Gaussian of all sites: covariance A, mean h
        factor, h = whitened(root, tau, nu)
        A = linalg.cho_solve((factor, True), np.eye(p), check_finite=False)
        moved = 0.0
        for first in range(0, J, size):
            block = slice(first, first + size)
            # 2. the Gaussian at a block's nodes, whose sites are updated in turn
            F = root[block]
            FA = F @ A
            S, m = FA @ F.T, F @ h
            tau_before, nu_before = tau[block].copy(), nu[block].copy()
            sites = tau[block], nu[block], y[block], flip[block]
            arguments = noise, step, tolerance, visits, log_cdf_slope
            moved = max(moved, _visit(S.copy(), m.copy(), *sites, *arguments))
            if J <= SMALL:
                break
            # 3. the new sites enter the whole Gaussian: (A^-1 + F' D F)^-1, and its mean
            D = tau[block] - tau_before
            A -= FA.T @ (D[:, None] * np.linalg.solve(np.eye(D.size) + S * D, FA))
            h += A @ (F.T @ (nu[block] - nu_before - D * m))
        # 4. stop when nothing moves, or when there is no progress
        if moved < tolerance:
            return tau, nu
        idle = 0 if moved < 0.9 * best else idle + 1
        best = min(best, moved)
    raise NotConvergedError(f"sites still move by {best:.1g} deviations of the field")


def _sites(root: Array, tau: Array, nu: Array, y: Array, model: SignModel) -> Sites:
    """Return the moments, cavities and evidence of converged sites."""
    m, half, log_shrunk = at_labeled(root, tau, nu)
    v = np.einsum("ij,ij->i", half, half)
    alive = v > 0  # where the field is 0, its label changes nothing
    tau, nu = np.where(alive, tau, 0.0), np.where(alive, nu, 0.0)
    safe = np.where(alive, v, 1.0)
    # cavities: the Gaussian without a node's own site
    precision, shift = 1 / safe - tau, m / safe - nu
    if not (precision > 0).all():
        raise NotConvergedError("a site is more precise than the whole Gaussian")
    cavity_variance = np.where(alive, 1 / precision, 0.0)
    cavity_mean = shift / precision
    spread = np.sqrt(cavity_variance + model.noise**2)
    z = y * np.where(spread > 0, cavity_mean / np.where(spread > 0, spread, 1.0), 0.0)
    log_masses = model.log_of_label(log_ndtr(z), 2)
    # log evidence: the mass of each label, without its site's share of the Gaussian's mass
    a, b = precision + tau, shift + nu
    site_mass = -0.5 * np.log(a / precision) + 0.5 * (b**2 / a - shift**2 / precision)
    log_gaussian = 0.5 * (float(nu @ m) - log_shrunk)
    # its correction: cumulants of t_j times its cavity, beyond the second, are derivatives of its
    # log mass with respect to the cavity mean
    slope = (model.right(2) - model.wrong(2)) * np.exp(
        -0.5 * z**2 - 0.5 * math.log(2 * math.pi) - log_masses
    )
    bend = -slope * (z + slope)
    third = np.where(z < MIN_Z, 0.0, -slope - bend * (z + 2 * slope))
    ratio = cavity_variance / np.where(spread > 0, spread, 1.0)
    correction = _correction(half / np.sqrt(safe)[:, None], y * ratio**3 * third / safe**1.5)
    evidence = float((log_masses - site_mass).sum()) + log_gaussian + correction
    if not np.isfinite(evidence):
        raise NotConvergedError("the evidence is not finite")
    moments = m, v, cavity_mean, cavity_variance
    return Sites(tau, nu, *moments, evidence, correction, half, log_gaussian, root)


def _correction(half: Array, skew: Array) -> float:
    """Return sum_{i < j} rho_ij^3 kappa_i kappa_j / 3!, with kappa the tilted laws' skewness."""
    total = 0.0
    for start in range(0, skew.size, 512):
        rows = slice(start, start + 512)
        rho = half[rows] @ half.T
        total += float(skew[rows] @ (rho * rho * rho) @ skew)  # rho**3 would take far longer
    squares = np.einsum("ij,ij->i", half, half)  # 1, and 0 where the field is 0
    return (total - float(skew**2 @ squares**3)) / 12


def label_probability(sites: Sites, likelihood: Bound) -> Array:
    """Return P(a label of node j of confidence 1 is +1 | all other labels), shape (J,)."""
    model = likelihood.sign_model
    assert model is not None
    spread = np.sqrt(sites.cavity_variance + model.noise**2)
    z = sites.cavity_mean / np.where(spread > 0, spread, np.inf)
    return np.asarray(model.of_label(ndtr(z), 2))


def sign_probability(sites: Sites, likelihood: Bound) -> Array:
    """Return P(u_j > 0 | all labels) at the labeled nodes, with the true t_j there, shape (J,)."""
    model, y = likelihood.label_model, likelihood.observed.y
    noise = model.noise
    deviation = np.sqrt(sites.cavity_variance)
    spread = np.hypot(deviation, noise)
    alive = deviation > 0
    h = sites.cavity_mean / np.where(alive, deviation, np.inf)
    k = sites.cavity_mean / np.where(spread > 0, spread, np.inf)
    positive = ndtr(h)
    # P(u > 0, u + gamma eta > 0), whose correlation is k / h: one of Owen's two terms is zero
    both = 0.5 * (positive + ndtr(k)) - owens_t(k, noise / np.where(alive, deviation, np.inf))
    agreed = np.where(y > 0, both, positive - both)
    mass, wrong = model.of_label(ndtr(y * k), 2), model.wrong(2)
    share = (wrong * positive + (model.right(2) - wrong) * agreed) / np.where(mass > 0, mass, 1.0)
    return np.clip(np.where(alive, share, 0.5), 0.0, 1.0)


@numba.njit
def _visit_once(S, m, tau, nu, y, flips, noise, step, slope_of):  # type: ignore[no-untyped-def]
    """Update each site once; return how far the Gaussian moved."""
    size, moved = m.size, 0.0
    for j in range(size):
        # the cavity: node j without its own site
        v = S[j, j]
        if v <= 0.0:
            continue
        precision = 1.0 / v - tau[j]
        if precision <= 0.0:
            moved = math.inf
            continue
        cavity_variance = 1.0 / precision
        cavity_mean = (m[j] / v - nu[j]) * cavity_variance
        # first and second derivative of the log mass of t_j times the cavity, in the cavity's mean
        spread = math.sqrt(cavity_variance + noise * noise)
        z, flip = y[j] * cavity_mean / spread, flips[j]
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
        # the site that gives the same mean and variance, damped
        new_tau = -second / left
        new_nu = (first - cavity_mean * second) / left
        d_tau, d_nu = step * (new_tau - tau[j]), step * (new_nu - nu[j])
        change = 1.0 + d_tau * v
        if change <= 0.0:
            moved = math.inf
            continue
        # the Gaussian with the new site
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


@kernel(
    types.float64(
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64,
        types.float64,
        types.float64,
        types.int64,
        types.FunctionType(types.float64(types.float64)),
    )
)
def _visit(S, m, tau, nu, y, flips, noise, step, tolerance, visits, slope_of):  # type: ignore[no-untyped-def]
    """Update the sites of some nodes in turn, given their joint Gaussian N(m, S), in place.

    Return how far the last of some visits to all of them moved the Gaussian. It moved by less than
    ``tolerance`` if it is not the last of ``visits``.
    """
    moved = math.inf
    for _ in range(visits):
        moved = _visit_once(S, m, tau, nu, y, flips, noise, step, slope_of)
        if moved < tolerance:
            break
    return moved
