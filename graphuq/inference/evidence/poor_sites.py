"""Whether expectation propagation is poor, by importance weights of draws of its Gaussian."""

from __future__ import annotations

import math

import numpy as np

from graphuq.inference.evidence.expectation_propagation import (
    Sites,
    log_mass,
    sign_probability,
)
from graphuq.likelihoods.bound import Bound
from graphuq.utils.typing import Array

# Draws of the Gaussian, and numbers that all draws have at most.
MAX_DRAWS, MAX_NUMBERS = 8000, 10**6

# Errors that say that the approximation is poor: of a probability at a labeled node, beyond SIGMAS
# standard errors, where others are mostly off by more, and of the log evidence.
MAX_ERROR, MAX_EVIDENCE_ERROR, SIGMAS = 0.02, 0.1, 3.0

# Weights of a smaller effective size say nothing.
MIN_SIZE = 100.0

# A leading term of the error of the log evidence above this says that further terms matter, too.
MAX_CORRECTION = 1.0


def describe_poor_signs(sites: Sites, bound: Bound) -> str:
    """Return why probabilities are poor, "" if they are not."""
    if (message := _describe_large_correction(sites)) or _has_one_mode(bound):
        return message
    error, certain = errors_of_signs(sites, bound)
    worst = int(certain.argmax())
    if certain[worst] <= MAX_ERROR:
        return ""
    assert bound.nodes is not None
    node, off = bound.nodes[worst], error[worst]
    return _describe(f"P(u > 0) is off by {off:.2f} at node {node}")


def describe_poor_evidence(sites: Sites, bound: Bound) -> str:
    """Return why the log evidence is poor, "" if it is not."""
    if (message := _describe_large_correction(sites)) or _has_one_mode(bound):
        return message
    _, log_weight = _weighted_draws(sites, bound)
    most = log_weight.max()
    weight = np.exp(log_weight - most) if most > -math.inf else np.zeros(log_weight.size)
    total = weight.sum()
    share = float(weight @ weight) / total**2 if total else math.inf  # 1 / effective size
    if share > 1 / MIN_SIZE:
        return ""
    exact = sites.log_integral + most + math.log(total / weight.size)
    error = abs(exact - sites.log_evidence)
    if error <= max(MAX_EVIDENCE_ERROR, SIGMAS * math.sqrt(share)):
        return ""
    return _describe(f"the log evidence is off by {error:.2g}")


def errors_of_signs(sites: Sites, bound: Bound) -> tuple[Array, Array]:
    """Return by how much `sign_probability` is off, and by how much it is at least.

    Returns
    -------
    error, certain : ndarray, shape (J,)
        ``certain`` is the error less three standard errors; zeros where the weights say nothing.
    """
    u, log_weight = _weighted_draws(sites, bound)
    most = log_weight.max()
    weight = np.exp(log_weight - most) if most > -math.inf else np.ones(log_weight.size)
    weight /= weight.sum()
    if most == -math.inf or weight @ weight > 1 / MIN_SIZE:
        return np.zeros(u.shape[1]), np.zeros(u.shape[1])
    positive = (u > 0).astype(float)
    mean = weight @ positive
    error = abs(mean - sign_probability(sites, bound))
    return error, error - SIGMAS * np.sqrt(weight**2 @ (positive - mean) ** 2)


def _weighted_draws(sites: Sites, bound: Bound) -> tuple[Array, Array]:
    """Return draws of the Gaussian, and the logs of their weights.

    With the likelihood of each label over its site as weights, they follow the posterior.
    """
    assert bound.sign_model is not None
    (noise, cost), y = bound.sign_model, bound.observed.y
    J, p = sites.spread.shape
    n = max(1, min(MAX_DRAWS, MAX_NUMBERS // max(J, p)))
    u = sites.mean + np.random.default_rng(0).standard_normal((n, p)) @ sites.spread.T
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(u == 0, 0.0, y * u / noise)
    sites_of_draws = sites.shift * u - 0.5 * sites.precision * u**2
    return u, (log_mass(z, cost) - sites_of_draws).sum(axis=1)


def _has_one_mode(bound: Bound) -> bool:
    """Whether the likelihood is log-concave, as without flips.

    Probabilities are then off by 0.06 at most, and draws, which take as long as the rest, are not
    needed.
    """
    assert bound.sign_model is not None
    return bound.sign_model[1] == math.inf


def _describe_large_correction(sites: Sites) -> str:
    if abs(sites.correction) <= MAX_CORRECTION:
        return ""
    return _describe(f"the leading term of its error is {sites.correction:.2g} in the log evidence")


def _describe(reason: str) -> str:
    return (
        f"expectation propagation is poor here, since {reason}: take gq.sample, which is exact up "
        "to its Monte Carlo error, or more modes, or allow more noise (gamma) or flips"
    )
