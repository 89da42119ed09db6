"""Expectation propagation for K > 2 classes: a Gaussian approximation of K fields that depend.

All nodes are visited at once, each given the Gaussian of its K fields. For the sites of one node
see `graphuq.propagation.nested_propagation`, for the Gaussian of all
`graphuq.propagation.gaussian_sites`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from graphuq.likelihoods.bound import Bound
from graphuq.propagation.gaussian_sites import ClassGaussian, NotConvergedError, classes_at_labeled
from graphuq.propagation.nested_propagation import (
    Cavities,
    LabelModel,
    visit_nodes,
)
from graphuq.propagation.settle import Visit, settle
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array

# Sites have converged when means move by at most this share of deviations, and variances by this
# share of themselves.
TOLERANCE = 1e-7

# Where labels have less noise, in deviations of the prior, the own noise of their class is replaced
# by it. The hub of a node needs some.
MIN_HUB = 0.01


@dataclass(frozen=True, eq=False)
class ClassSites:
    """The converged sites.

    Attributes
    ----------
    precision, shift : ndarray, shape (J, K)
        pi and b of `graphuq.propagation.gaussian_sites`.
    gaussian : ClassGaussian
        The K fields at the labeled nodes.
    cavities : Cavities
    log_evidence : float
    """

    precision: Array
    shift: Array
    gaussian: ClassGaussian
    cavities: Cavities
    log_evidence: float
    correction: float


def propagate_classes(
    root: Array,
    likelihood: Bound,
    start: tuple[Array, Array] | None = None,
    must_converge: bool = True,
) -> ClassSites:
    """Return the converged sites.

    Parameters
    ----------
    root : ndarray, shape (J, p)
        F, with F F' the prior covariance of each field at the labeled nodes.
    likelihood : Bound
        A sign model.
    start : (ndarray, ndarray), optional
        pi and b to start from.
    must_converge : bool
        If not, sites that do not converge are replaced by those whose precisions are kept from
        being negative, after the last visit if need be.

    Raises
    ------
    NotConvergedError
        The sites do not converge, even with short steps, and ``must_converge``.
    """
    model, y = label_model(likelihood), likelihood.observed.y.astype(np.int64)
    none = np.zeros((2, y.size, likelihood.rule.n_classes))
    sites = none if start is None else _opened(*start, y)
    sites, seen = settle(partial(_visit, root, y, model), sites, TOLERANCE, must_converge)
    gaussian, cavities = seen.found
    closed = _closed(sites, y, model.hub)
    evidence, correction = _log_evidence(gaussian, cavities, sites, closed[1], y, model)
    return ClassSites(*closed, gaussian, cavities, evidence, correction)


def label_model(likelihood: Bound) -> LabelModel:
    """Return how labels arise at a node."""
    model, K, shape = likelihood.label_model, likelihood.rule.n_classes, likelihood.observed.y.shape
    wrong, right = (np.array(np.broadcast_to(p, shape)) for p in (model.wrong(K), model.right(K)))
    return LabelModel(float(max(model.noise, MIN_HUB)), float(model.noise), wrong, right)


def _visit(
    root: Array, y: NDArray[np.int64], model: LabelModel, sites: Array, least: float
) -> Visit:
    """Return the sites that all nodes ask for, of at least a given precision."""
    gaussian = classes_at_labeled(root, *_closed(sites, y, model.hub))
    mean, covariance = gaussian.moments()
    found = visit_nodes(mean, covariance, y, model, sites, least)
    if found is None:
        raise NotConvergedError("a site is more precise than the whole Gaussian")
    variance = np.einsum("jkk->jk", covariance)
    safe = np.where(variance > 0, variance, 1.0)
    return Visit(found[0], mean, safe, complete=True, found=(gaussian, found[1]))


def _closed(sites: Array, y: NDArray[np.int64], hub: float) -> tuple[Array, Array]:
    """Return pi and b of the sites, with w integrated out."""
    tau, nu = sites
    pi = tau.copy()
    pi[np.arange(y.size), y] = hub**-2
    center = nu.sum(axis=1) / pi.sum(axis=1)
    return pi, pi * center[:, None] - nu


def _opened(pi: Array, shift: Array, y: NDArray[np.int64]) -> Array:
    """Return the sites that have this pi and b; see `_closed`."""
    nodes, tau = np.arange(y.size), pi.copy()
    own = pi[nodes, y]
    center = np.where(own > 0, shift[nodes, y], 0.0) / np.where(own > 0, own, 1.0)
    nu = pi * center[:, None] - shift
    tau[nodes, y] = nu[nodes, y] = 0.0
    return np.array([tau, nu])


def _log_evidence(
    gaussian: ClassGaussian,
    cavities: Cavities,
    sites: Array,
    shift: Array,
    y: NDArray[np.int64],
    model: LabelModel,
) -> tuple[float, float]:
    """Return log p(y) with its correction, and the correction."""
    tau, nu = sites
    # the mass of the Gaussian: that of pi and b, and of the rest of the sites
    log_gaussian = 0.5 * (float((shift.T * gaussian.mean).sum()) - gaussian.log_shrunk)
    total = tau.sum(axis=1) + model.hub**-2
    log_rest = nu.sum(axis=1) ** 2 / total - np.log(total * model.hub**2)
    correction = _correction(gaussian, sites, y, model)
    log_masses = float((cavities.log_mass + 0.5 * log_rest).sum())
    if not np.isfinite(log_gaussian + log_masses + correction):
        raise NotConvergedError("the evidence is not finite")
    return log_gaussian + log_masses + correction, correction


def _correction(
    gaussian: ClassGaussian, sites: Array, y: NDArray[np.int64], model: LabelModel
) -> float:
    """Return the leading term of the error of the log evidence (Opper, Paquet and Winther 2013).

    It is sum_{a < b} rho_ab^3 kappa_a kappa_b / 3! over all conditions d > noise eta_k, of all
    nodes, with rho the correlation of their d = w - u_k and kappa the skewness of their tilted
    laws. Each kappa takes the other conditions of the node as met.
    """
    # roots of the covariances of d; each is that of the hubs, and one of field k
    half = gaussian.hubs - gaussian.coupling
    v = np.einsum("kij,kij->ik", half, half)
    v += np.einsum("kij,kij->ik", gaussian.spread, gaussian.spread)
    (tau, nu), (pi, _) = sites, _closed(sites, y, model.hub)
    u, total = gaussian.mean.T, pi.sum(axis=1)
    hub = ((pi * u).sum(axis=1) + nu.sum(axis=1)) / total
    # the cavity of each condition, and derivatives of its log mass in the cavity's mean
    cavity_variance = 1 / (1 / v - tau)
    cavity_mean = ((hub[:, None] - u) / v - nu) * cavity_variance
    deviation = np.sqrt(cavity_variance + model.noise**2)
    z = cavity_mean / deviation
    margin = (model.right - model.wrong)[:, None]
    with np.errstate(divide="ignore"):
        signed = np.where(margin > 0, log_ndtr(z), log_ndtr(-z)) + np.log(abs(margin))
        base = np.where(margin > 0, model.wrong[:, None], model.right[:, None])
        log_mass = np.logaddexp(np.log(base), signed)
    slope = margin * np.exp(-0.5 * z**2 - 0.5 * math.log(2 * math.pi) - log_mass)
    third = -slope + slope * (z + slope) * (z + 2 * slope)
    skew = (cavity_variance / deviation) ** 3 * third / v**1.5
    skew[np.arange(y.size), y] = 0.0
    # sums of products, which single precision does not harm
    scale = (1 / np.sqrt(v.T))[:, :, None]
    shared, own = ((root * scale).astype(np.float32) for root in (half, gaussian.spread))
    weight = skew.T.astype(np.float32)

    def with_later_classes(k: int) -> float:
        rho = shared[k:] @ shared[k].T
        rho[0] += own[k] @ own[k].T
        terms = ((rho * rho * rho) @ weight[k] * weight[k:]).sum(axis=1, dtype=np.float64)
        return float(2 * terms.sum() - terms[0])

    with ThreadPoolExecutor(cpu_count()) as pool:
        found = sum(pool.map(with_later_classes, range(len(half))))
    return (found - float((skew**2).sum())) / 12
