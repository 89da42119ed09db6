"""Expectation propagation for K > 2 classes: a Gaussian approximation of K fields that depend.

All sites are updated at once, each given the Gaussian of its node's K fields; see
`graphuq.likelihoods.argmax_sites` for a node, and `graphuq.priors.class_sites` for the whole.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from graphuq.likelihoods.argmax_sites import (
    Cavities,
    LabelModel,
    NodeSites,
    visit_nodes,
)
from graphuq.likelihoods.bound import Bound
from graphuq.priors.class_sites import ClassGaussian, classes_at_labeled
from graphuq.priors.gaussian_sites import NotConvergedError
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array

# Sites have converged when a sweep moves means by at most this share of deviations, and variances
# by this share of themselves.
TOLERANCE = 1e-4

# The first and smallest step of the sweeps. It shrinks by SHRINK where sites overshoot, so that the
# mean moves back, and grows again where it moves on.
FIRST_STEP, SMALLEST_STEP, SHRINK = 0.9, 0.1, 0.8

# After a failure the sweeps start again from no sites and with a third of the first step.
MIN_STEP, MAX_SWEEPS = 0.05, 300

# Where labels have less noise, in deviations of the prior, the own noise of their class is replaced
# by it. The hub of a node needs some.
MIN_HUB = 0.01


@dataclass(frozen=True, eq=False)
class ClassSites:
    """The converged sites.

    Attributes
    ----------
    precision, shift : ndarray, shape (J, K)
        pi and b of `graphuq.priors.class_sites`.
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
        being negative, after the last sweep if need be. The Gaussian then exists in any case.

    Raises
    ------
    NotConvergedError
        The sweeps do not converge, even with small steps, and ``must_converge``.
    """
    step = FIRST_STEP
    while True:
        try:
            return _sweep(root, likelihood, start, step)
        except NotConvergedError:
            step, start = step / 3, None
            if step < MIN_STEP:
                if must_converge:
                    raise
                return _sweep(root, likelihood, None, FIRST_STEP / 3, final=True)


def label_model(likelihood: Bound) -> LabelModel:
    """Return how labels arise at a node."""
    model, K, shape = likelihood.label_model, likelihood.rule.n_classes, likelihood.observed.y.shape
    wrong, right = (np.array(np.broadcast_to(p, shape)) for p in (model.wrong(K), model.right(K)))
    return LabelModel(float(max(model.noise, MIN_HUB)), float(model.noise), wrong, right)


def _sweep(
    root: Array,
    likelihood: Bound,
    start: tuple[Array, Array] | None,
    step: float,
    final: bool = False,
) -> ClassSites:
    """Return the sites after sweeps over all nodes, each update damped by ``step`` at first.

    In the ``final`` attempt no precision is negative, and the last sweep has to do.
    """
    least = 0.0 if final else -math.inf
    model, y = label_model(likelihood), likelihood.observed.y.astype(np.int64)
    shape = y.size, likelihood.rule.n_classes
    sites = NodeSites(np.zeros(shape), np.zeros(shape)) if start is None else _opened(*start, y)
    before, last, moved = None, None, math.inf
    for sweep in range(MAX_SWEEPS):
        # 1. the Gaussian of all sites
        precision, shift = _closed(sites, y, model.hub)
        gaussian = classes_at_labeled(root, precision, shift)
        mean, covariance = gaussian.moments()
        # 2. the cavities and new sites, given it
        now = NodeSites(sites.tau.copy(), sites.nu.copy())
        cavities = visit_nodes(mean, covariance, y, model, sites, step, least)
        if cavities is None:
            raise NotConvergedError("a site is more precise than the whole Gaussian")
        # 3. stop when nothing moves, and take smaller steps where sites overshoot
        here = mean, np.einsum("jkk->jk", covariance).copy()
        if before is not None:
            moved, move = _moved(before, here)
            if moved < step * TOLERANCE or (final and sweep == MAX_SWEEPS - 1):
                evidence, correction = _log_evidence(gaussian, cavities, now, y, model)
                return ClassSites(precision, shift, gaussian, cavities, evidence, correction)
            if last is not None:
                onward = float((move * last).sum()) > 0
                step = min(1.0, step / SHRINK) if onward else max(SMALLEST_STEP, step * SHRINK)
            last = move
        before = here
    raise NotConvergedError(f"sites still move by {moved:.1g} deviations of the field")


def _moved(before: tuple[Array, Array], after: tuple[Array, Array]) -> tuple[float, Array]:
    """Return the largest move, as `TOLERANCE` has it, and the moves of all means."""
    variance = np.where(after[1] > 0, after[1], 1.0)
    by_mean = (after[0] - before[0]) / np.sqrt(variance)
    by_variance = abs(after[1] - before[1]) / variance
    return float(max(abs(by_mean).max(), by_variance.max())), by_mean


def _closed(sites: NodeSites, y: NDArray[np.int64], hub: float) -> tuple[Array, Array]:
    """Return pi and b of the sites, with w integrated out."""
    nodes, pi = np.arange(y.size), sites.tau.copy()
    pi[nodes, y] = hub**-2
    center = sites.nu.sum(axis=1) / pi.sum(axis=1)
    shift = pi * center[:, None] - sites.nu
    return pi, shift


def _opened(pi: Array, shift: Array, y: NDArray[np.int64]) -> NodeSites:
    """Return the sites that have this pi and b; see `_closed`."""
    nodes, tau = np.arange(y.size), pi.copy()
    own = pi[nodes, y]
    center = np.where(own > 0, shift[nodes, y], 0.0) / np.where(own > 0, own, 1.0)
    nu = pi * center[:, None] - shift
    tau[nodes, y] = nu[nodes, y] = 0.0
    return NodeSites(tau, nu)


def _log_evidence(
    gaussian: ClassGaussian,
    cavities: Cavities,
    sites: NodeSites,
    y: NDArray[np.int64],
    model: LabelModel,
) -> tuple[float, float]:
    """Return log p(y) with its correction, and the correction."""
    _, shift = _closed(sites, y, model.hub)
    # the mass of the Gaussian: that of pi and b, and of the rest of the sites
    log_gaussian = 0.5 * (float((shift.T * gaussian.mean).sum()) - gaussian.log_shrunk)
    total = sites.tau.sum(axis=1) + model.hub**-2
    log_rest = sites.nu.sum(axis=1) ** 2 / total - np.log(total * model.hub**2)
    correction = _correction(gaussian, sites, y, model)
    log_masses = float((cavities.log_mass + 0.5 * log_rest).sum())
    if not np.isfinite(log_gaussian + log_masses + correction):
        raise NotConvergedError("the evidence is not finite")
    return log_gaussian + log_masses + correction, correction


def _correction(
    gaussian: ClassGaussian, sites: NodeSites, y: NDArray[np.int64], model: LabelModel
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
    pi, _ = _closed(sites, y, model.hub)
    u, total = gaussian.mean.T, pi.sum(axis=1)
    hub = ((pi * u).sum(axis=1) + sites.nu.sum(axis=1)) / total
    # the cavity of each condition, and derivatives of its log mass in the cavity's mean
    cavity_variance = 1 / (1 / v - sites.tau)
    cavity_mean = ((hub[:, None] - u) / v - sites.nu) * cavity_variance
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
