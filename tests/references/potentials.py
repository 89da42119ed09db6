"""Potentials and gradients at given fields, all of whose nodes are labeled."""

from __future__ import annotations

import numpy as np

from graphuq.likelihoods.bound import parameters_of
from graphuq.likelihoods.contract import Observed


def phi(likelihood, u, classes):
    """Phi at u, shape (J, K), all of whose nodes are labeled."""
    return likelihood.potential(np.ascontiguousarray(u, dtype=float), seen_of(likelihood, classes))


def slope(likelihood, u, classes):
    out = np.full(np.shape(u), np.nan)
    likelihood.gradient(np.ascontiguousarray(u, float), seen_of(likelihood, classes), out)
    return out


def seen_of(likelihood, classes):
    y = np.array(classes, dtype=float)
    parameters = np.array(list(parameters_of(likelihood).values()))
    return Observed(y, np.arange(y.size), parameters)


def probabilities(likelihood, u):
    return np.exp([-phi(likelihood, u[None], [c]) for c in range(u.size)])
