"""The log evidence at settings nearby, to first order.

It needs the prior covariance at the labeled nodes, for one setting of the parameters after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import log_ndtr

from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.sum_prior import SumPrior
from graphuq.propagation.sign_propagation import Sites
from graphuq.utils.typing import Array, Nodes


class LabeledCovariance:
    """C_JJ as a sum of B diag(w) B' over the parts of a prior.

    The rows B of a graph's modes are read once, since parameters change only their weights w. Other
    priors have a new root B for each setting.

    Parameters
    ----------
    nodes : ndarray of int, shape (J,)

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, _ = gq.datasets.karate()
    >>> prior = gq.Prior.projected(graph, rank=10) + gq.Level(0.5)
    >>> at = LabeledCovariance(np.array([0, 5, 9]))
    >>> F = root_of(at.terms(prior), slice(None))
    >>> C = prior.covariance([0, 5, 9], [0, 5, 9])
    >>> np.allclose(F @ F.T, C)
    True
    >>> bool(np.isclose(at.trace(prior, lambda B: (B**2).sum(axis=0)), np.trace(C)))
    True
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._ones, self._unit = nodes, np.ones((nodes.size, 1)), np.empty((0, 0))
        self._read: dict[int, tuple[Array, Array]] = {}

    def trace(self, prior: GaussianPrior, products: Callable[[Array], Array]) -> float:
        """Return tr(M C_JJ) for a matrix M, by a function that returns the diagonal of B' M B."""
        return float(sum(products(B) @ w for B, w in self.terms(prior)))

    def terms(self, prior: GaussianPrior) -> list[tuple[Array, Array]]:
        """Return the rows and weights of each part, with its share in the weights."""
        if not isinstance(prior, SumPrior):
            return self._terms_of(0, prior, 1.0)
        terms = [
            term
            for at, (w, part) in enumerate(zip(prior.weights, prior.parts, strict=True))
            if w > 0
            for term in self._terms_of(at, part, float(w))
        ]
        level = float(prior.level)
        return [*terms, (self._ones, np.array([level**2]))] if level else terms

    def _terms_of(self, at: int, part: GaussianPrior, share: float) -> list[tuple[Array, Array]]:
        if not part.has_fixed_basis:
            root = _pivoted_root(part.covariance(self._nodes, self._nodes))
            return [(root, np.full(root.shape[1], share))]
        field = part.field
        basis, rows = self._read.get(at, (None, None))
        if basis is not field.basis:  # the first setting, or another rank
            basis, rows = field.basis, field.rows(self._nodes)
            self._read[at] = basis, rows
        assert rows is not None
        terms = [(rows, share * field.weights)]
        own = field.nugget(rows)
        if own.any():
            if not self._unit.size:
                self._unit = np.eye(self._nodes.size)
            terms.append((self._unit, share * own))
        return terms


def root_of(terms: list[tuple[Array, Array]], rows: NDArray[np.intp] | slice) -> Array:
    """Return F with F F' the covariance of some labeled nodes, as wide as there are modes or less.

    Parameters
    ----------
    terms : list of (ndarray, ndarray)
        B and w, from `LabeledCovariance.terms`.
    rows : ndarray of int or slice
        Positions among all labeled nodes.
    """
    terms = [(B[rows], w) for B, w in terms]
    J = len(terms[0][0])
    if sum(w.size for _, w in terms) <= J and all((w >= 0).all() for _, w in terms):
        return np.hstack([B * np.sqrt(w) for B, w in terms])
    C = np.zeros((J, J))
    for B, w in terms:
        C += (B * w) @ B.T
    return _pivoted_root(C)


def _pivoted_root(C: Array) -> Array:
    """Return F with F F' = C, as wide as the rank of C to rounding."""
    factor, order, rank, _ = lapack.dpstrf(C, lower=1)
    F = np.empty((len(C), rank))
    F[order - 1] = np.tril(factor)[:, :rank]
    return F


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
