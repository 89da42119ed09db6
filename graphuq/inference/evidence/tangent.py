"""The log evidence at settings nearby, to first order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from graphuq.inference.evidence.labeled_covariance import LabeledCovariance
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.propagation.sign_propagation import Sites
from graphuq.utils.typing import Array


class TangentPart(NamedTuple):
    """What the sites of some labels say of it."""

    rows: NDArray[np.intp]
    """Positions of the labels among all labeled nodes."""
    y: Array
    sites: Sites
    confidence: Array | None
    """That of the labels; None if it is 1."""


class Near(NamedTuple):
    """The evidence of a setting, to a coarse tolerance."""

    log_evidence: LogEvidence
    sites: Any
    """Where the search for sites of settings nearby starts."""
    tangent: Tangent


class Tangent:
    """The log evidence of expectation propagation, to first order about a setting.

    The evidence is stationary in the sites, so that only the prior covariance C and the likelihood
    terms t_j count (Seeger 2005; Rasmussen and Williams 2006, section 5.5.2). With the sites'
    precisions T and shifts nu, posterior mean m and covariance S at the setting, and b = nu - T m,

        1/2 tr[(b b' - T + T S T) C] + sum_j log E[t_j]

    under the cavity of each node differs from it by a constant and by terms of second order. The
    correction of the evidence is left out.

    Parameters
    ----------
    covariance : LabeledCovariance
    parts : list of TangentPart
        Their tangents are added.
    n_classes : int
    weight : float
        A factor of the sum.
    """

    def __init__(
        self,
        covariance: LabeledCovariance,
        parts: list[TangentPart],
        n_classes: int,
        weight: float = 1.0,
    ) -> None:
        self._covariance, self._parts, self._weight = covariance, parts, weight
        self._n_classes = n_classes
        self._known: dict[int, Any] = {}
        self._y = np.concatenate([part.y for part in parts])
        self._mean = np.concatenate([part.sites.cavity_mean for part in parts])
        trust = [part.confidence for part in parts if part.confidence is not None]
        self._confidence = np.concatenate(trust) if trust else None
        self._variance = np.concatenate([part.sites.cavity_variance for part in parts])

    def __call__(self, prior: GaussianPrior, sign_model: SignModel) -> float:
        """Return it at a setting, up to a constant."""
        model = sign_model.with_confidence(self._confidence, self._n_classes)
        spread = np.sqrt(self._variance + model.noise**2)
        z = self._y * self._mean / np.where(spread > 0, spread, np.inf)
        trace = self._covariance.trace(prior, self._products)
        return self._weight * (0.5 * trace + float(np.sum(model.log_of_label(log_ndtr(z), 2))))

    def _products(self, B: Array) -> Array:
        """Return the diagonal of B' (b b' - T + T S T) B for rows B of all labeled nodes."""
        if id(B) not in self._known:
            total = np.zeros(B.shape[1])
            for rows, _, sites, _ in self._parts:
                own = B[rows] if rows.size < len(B) else B
                tau = sites.precision
                b = sites.shift - tau * sites.mean
                G = (sites.spread * tau[:, None]).T @ own
                total += (b @ own) ** 2 + np.einsum("ij,ij->j", G, G) - tau @ own**2
            self._known[id(B)] = B, total
        return np.asarray(self._known[id(B)][1])
