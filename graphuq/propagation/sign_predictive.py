"""What expectation propagation says of labeled nodes: their label, their sign, their true class."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, ndtr, owens_t

from graphuq.likelihoods.bound import Bound
from graphuq.propagation.sign_propagation import Sites
from graphuq.utils.typing import Array

# Gauss-Hermite points for integrals over t = u / gamma of at most unit variance.
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)

# The least share of a variance that is not rounding.
_ROUNDING = 1e-30

# A variance below all others but 0.
_MIN_VARIANCE = 1e-200


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
