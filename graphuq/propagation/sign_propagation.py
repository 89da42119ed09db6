"""Expectation propagation: a Gaussian approximation of a sign model's posterior, and the evidence.

A site exp(nu_j u_j - tau_j u_j^2 / 2) approximates the likelihood of each label,
t_j(u_j) = f + (1 - 2 f) Psi(y_j u_j; gamma), f = 1 / (1 + e^V). A visit asks for sites such that
each node has the mean and variance that it would have with t_j in place of its site (Minka 2001;
Rasmussen and Williams 2006, section 3.6); see `graphuq.propagation.settle`. With a root F of the
prior covariance at the labeled nodes, C_JJ = F F', all computations have as many dimensions as F
has columns. The cavities say of labeled nodes their label, their sign and their true class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import entr, erfcx, log_ndtr, ndtr, owens_t

from graphuq.likelihoods.bound import Bound
from graphuq.likelihoods.sign_model import SignModel
from graphuq.propagation.gaussian_sites import NotConvergedError, at_labeled
from graphuq.propagation.settle import Visit, settle
from graphuq.utils.typing import Array

# Sites have converged when the means of the Gaussian move by at most this share of its deviations,
# and its variances by this share of themselves. The evidence is stationary there, so its error is
# of the order of the square.
TOLERANCE = 1e-8

# The same where settings are compared and J (COARSE)^2 is far below the differences that matter.
COARSE = 1e-3

# Below this z the third cumulant of a site is smaller than its rounding error.
MIN_Z = -100

# Gauss-Hermite points for integrals over t = u / gamma of at most unit variance.
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)

# The least share of a variance that is not rounding.
_ROUNDING = 1e-30

# A variance below all others but 0.
_MIN_VARIANCE = 1e-200


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


class _Given(NamedTuple):
    """The Gaussian of some sites; arrays have shape (J,) unless said otherwise."""

    mean: Array
    variance: Array
    spread: tuple[Array, ...]
    """A root of the covariance of each field."""
    log_shrunk: tuple[float, ...]
    cavity_mean: Array
    cavity_variance: Array
    z: Array
    log_mass: Array
    """Log of the mass of t_j times the cavity."""
    slope: Array
    """Its derivative in z."""


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
        See `settle`.

    Raises
    ------
    NotConvergedError
        The sites do not converge, even with short steps.
    """
    return propagate_apart([root], likelihood, start, tolerance)[0]


def propagate_apart(
    roots: list[Array],
    likelihood: Bound,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
) -> list[Sites]:
    """Return the converged sites of fields that are independent, those of each.

    They settle together, since a visit to many fields takes little longer than to one.

    Parameters
    ----------
    roots : list of ndarray
        F of each field.
    likelihood : Bound
        The labels of all, one field after another.
    start, tolerance
        As in `propagate`.
    """
    (tau, nu), given = settle_signs(roots, likelihood, start, tolerance)
    y, model = _faced(likelihood)
    # log evidence: the mass of each label, without its site's share of the Gaussian's mass
    alive = given.variance > 0  # where the field is 0, its label changes nothing
    precision = 1 / np.where(alive, given.cavity_variance, 1.0)
    shift = given.cavity_mean * precision
    a, b = precision + tau, shift + nu
    site_mass = -0.5 * np.log(a / precision) + 0.5 * (b**2 / a - shift**2 / precision)
    # its correction: cumulants of t_j times its cavity, beyond the second, are derivatives of its
    # log mass with respect to the cavity mean
    z, slope = given.z, given.slope
    bend = -slope * (z + slope)
    third = np.where(z < MIN_Z, 0.0, -slope - bend * (z + 2 * slope))
    safe = np.where(alive, given.variance, 1.0)
    ratio = given.cavity_variance / _spread(given.cavity_variance, model)
    skew, deviation = y * ratio**3 * third / safe**1.5, np.sqrt(safe)
    found = []
    for root, rows, spread, log_shrunk in zip(
        roots, _rows_of(roots), given.spread, given.log_shrunk, strict=True
    ):
        correction = _correction(spread / deviation[rows, None], skew[rows])
        log_integral = 0.5 * (float(nu[rows] @ given.mean[rows]) - log_shrunk)
        mass = float((given.log_mass[rows] - site_mass[rows]).sum())
        evidence = mass + log_integral + correction
        if not np.isfinite(evidence):
            raise NotConvergedError("the evidence is not finite")
        found.append(
            Sites(
                precision=tau[rows],
                shift=nu[rows],
                mean=given.mean[rows],
                variance=given.variance[rows],
                cavity_mean=given.cavity_mean[rows],
                cavity_variance=given.cavity_variance[rows],
                log_evidence=evidence,
                correction=correction,
                spread=spread,
                log_integral=log_integral,
                root=root,
            )
        )
    return found


def settle_signs(
    roots: list[Array],
    likelihood: Bound,
    start: tuple[Array, Array] | None,
    tolerance: float,
    must_converge: bool = True,
) -> tuple[Array, _Given]:
    """Return tau and nu, shape (2, J), and their Gaussian; see `propagate_apart` and `settle`."""
    y, model = _faced(likelihood)
    sites = np.zeros((2, y.size)) if start is None else np.array(start)
    sites, seen = settle(partial(_visit, roots, y, model), sites, tolerance, must_converge)
    return sites, seen.found


def _faced(likelihood: Bound) -> tuple[Array, SignModel]:
    """Return the labels, of the other class where likelier wrong than right, and their model."""
    (noise, cost), y = likelihood.label_model, likelihood.observed.y
    return np.where(np.less(cost, 0), -y, y), SignModel(noise, np.abs(cost))


def _spread(cavity_variance: Array, model: SignModel) -> Array:
    """Return the deviation of u_j + noise eta under the cavity, or 1 where it is 0."""
    spread = np.sqrt(cavity_variance + model.noise**2)
    return np.where(spread > 0, spread, 1.0)


def _rows_of(roots: list[Array]) -> list[slice]:
    """Return the labels of each field among all."""
    ends = np.cumsum([0, *map(len, roots)]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def _visit(roots: list[Array], y: Array, model: SignModel, sites: Array, least: float) -> Visit:
    """Return the sites that all nodes ask for, of at least a given precision."""
    # 1. the Gaussian of all sites
    tau, nu = sites
    fields = [
        at_labeled(root, tau[rows], nu[rows])
        for root, rows in zip(roots, _rows_of(roots), strict=True)
    ]
    means, halves, log_shrunk = zip(*fields, strict=True)
    mean = np.concatenate(means)
    variance = np.concatenate([np.einsum("ij,ij->i", half, half) for half in halves])
    alive = variance > 0
    safe = np.where(alive, variance, 1.0)
    # 2. the cavities: without each node's own site
    precision = 1 / safe - tau
    has_cavity = precision > 0
    precision = np.where(has_cavity, precision, 1.0)
    cavity_variance = np.where(alive, 1 / precision, 0.0)
    cavity_mean = (mean / safe - nu) / precision
    # 3. the mass of t_j times the cavity, and derivatives of its log
    spread = _spread(cavity_variance, model)
    z = y * cavity_mean / spread
    log_right = log_ndtr(z)
    log_mass = model.log_of_label(log_right, 2)
    slope = math.sqrt(2 / math.pi) / erfcx(-math.sqrt(0.5) * z)
    if np.min(model.cost) < math.inf:
        slope *= (model.right(2) - model.wrong(2)) * np.exp(log_right - log_mass)
    bend = slope * (z + slope) / spread**2
    # 4. the sites that give the same means and variances
    left = 1 - cavity_variance * bend
    fits = has_cavity & (left > 0)
    left = np.where(fits, left, 1.0)
    new_tau = np.maximum(bend / left, least)
    new_nu = (y * slope / spread + cavity_mean * bend) / left
    asked = np.where(fits, (new_tau, new_nu), sites)
    given = mean, variance, halves, log_shrunk, cavity_mean, cavity_variance, z, log_mass, slope
    complete = bool((fits | ~alive).all())
    return Visit(np.where(alive, asked, 0.0), mean, safe, complete, _Given(*given))


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


def predict_labeled(sites: Sites, likelihood: Bound) -> tuple[Array, Array]:
    """Return predictive probability and expected entropy of the true class at labeled nodes.

    The law of u_j is the true t_j(u_j) = f + (1 - 2 f) Psi(y_j u_j; noise) times its cavity. The
    true class is S(u_j + gamma eta), with eta independent of the noise that the label had.

    Parameters
    ----------
    sites : Sites
    likelihood : Bound
        A sign model whose overlap gamma is positive.

    Returns
    -------
    probability, aleatoric : ndarray, shape (J,)
    """
    model, gamma, y = likelihood.label_model, likelihood.overlap, likelihood.observed.y
    noise, wrong = model.noise, model.wrong(2)
    margin = model.right(2) - wrong
    m, v = sites.cavity_mean, sites.cavity_variance
    alive = v + noise**2 > 0
    # 1. P(u + gamma eta > 0, y (u + noise eta') > 0), whose correlation is rho
    truth, seen = np.sqrt(v + gamma**2), np.sqrt(np.where(alive, v + noise**2, 1.0))
    h, k, rho = m / truth, m / seen, v / (truth * seen)
    positive, both = ndtr(h), _both_positive(h, k, rho)
    agreed = np.where(y > 0, both, positive - both)
    mass = wrong + margin * ndtr(y * k)
    probability = (wrong * positive + margin * agreed) / mass
    # 2. the entropy decreases as exp(-u^2 / (2 gamma^2)), which times the cavity is a Gaussian
    w = v / (v + gamma**2)
    t = (1 - w[:, None]) * m[:, None] / gamma + np.sqrt(w[:, None]) * _POINTS
    bounded = (entr(ndtr(t)) + entr(ndtr(-t))) * np.exp(t**2 / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = ndtr(y[:, None] * t * gamma / noise)
    t_j = model.of_label(np.nan_to_num(share, nan=0.5).T, 2).T
    height = np.sqrt(1 - w) * np.exp(-0.5 * h**2)
    aleatoric = height * ((bounded * t_j) @ _WEIGHTS) / _WEIGHTS.sum() / mass
    return np.clip(probability, 0.0, 1.0), aleatoric


def probability_of_overlap(sites: Sites, likelihood: Bound) -> Array:
    """Return P(label j is not flipped, and the sign of u_j is not the label | labels), shape (J,).

    It is that of the noise alone making the label, of u_j as in `predict_labeled`.

    Parameters
    ----------
    sites : Sites
    likelihood : Bound
        A sign model whose noise is positive.
    """
    model, y, m = likelihood.label_model, likelihood.observed.y, sites.cavity_mean
    v = np.maximum(sites.cavity_variance, _MIN_VARIANCE)
    h, k = y * m / np.sqrt(v), y * m / np.sqrt(v + model.noise**2)
    seen = ndtr(k)
    opposite = seen - _both_positive(h, k, np.sqrt(v / (v + model.noise**2)))
    return np.clip(model.right(2) * opposite / model.of_label(seen, 2), 0.0, 1.0)


def _both_positive(h: Array, k: Array, rho: Array) -> Array:
    """Return P(x > 0, y > 0) for means h, k of the same sign, variances 1, correlation rho.

    Owen 1956, Tables for computing bivariate normal probabilities.
    """
    left = np.sqrt(np.maximum(1 - rho**2, _ROUNDING))  # noise may be lost beside the field
    zero = (h == 0) | (k == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (k / h - rho) / left, (h / k - rho) / left
    total = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, a) - owens_t(k, b)
    return np.where(zero, 0.25 + np.arcsin(rho) / (2 * np.pi), total)
