"""A covariance of all nodes in terms of one row for each node."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from graphuq.priors.gaussian import Gaussian
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.typing import Array


class Expansion(NamedTuple):
    """The covariance C_ij = b_i' diag(w) b_j + c, and C_ii = b_i' diag(v) b_i + c + rho^2.

    The weights v differ from w where a column of the basis holds deviations of variance that nodes
    do not share with each other.

    Examples
    --------
    Two nodes that share a level of variance 1/4, with variance 1 of their own:

    >>> level = Expansion(np.ones((2, 1)), np.array([0.0]), np.array([1.0]), constant=0.25)
    >>> level.variance()
    array([1.25, 1.25])
    >>> level._replace(weights=level.own_weights).law().variance()
    array([1.25, 1.25])
    """

    basis: Array
    """b_i in row i, shape (N, P)."""
    weights: Array
    """w, shape (P,); may be negative where there is a tail."""
    own_weights: Array
    """v, shape (P,)."""
    constant: float = 0.0
    """c, the variance of a level that all nodes share."""
    tail: float = 0.0
    """rho, the deviation of independent noise on every node."""

    def at(self, nodes: Any) -> Array:
        """Return rows of the basis, in float64."""
        return np.asarray(self.basis[nodes], dtype=np.float64)

    def variances_of(self, rows: Array) -> Array:
        """Return the variances of nodes with these rows of the basis, shape (rows,)."""
        own = np.einsum("ij,ij,j->i", rows, rows, self.own_weights)
        return np.asarray(self.tail**2 + own + self.constant)

    def variance(self) -> Array:
        """Return the variance of every node, shape (N,)."""
        found = np.empty(self.basis.shape[0])
        work = partial(Expansion.variances_of, self._replace(basis=np.empty((0, 0))))
        for nodes, part in map_rows(work, self.basis, self.weights.size):
            found[nodes] = part
        return found

    def law(self) -> Gaussian:
        """Return the law of the whole field, without variance that nodes do not share.

        With the basis and a column of ones B = Q R, the covariance is Q (R diag(w) R' + rho^2) Q'
        inside the span of Q, and rho^2 outside.
        """
        used = self.weights != 0
        ones = np.ones((self.basis.shape[0], 1)) * bool(self.constant)
        columns = np.hstack([ones, np.asarray(self.basis, dtype=np.float64)[:, used]])
        weights = np.append(self.constant, self.weights[used])
        Q, R = linalg.qr(columns, mode="economic", check_finite=False)
        if self.tail:
            inside, U = linalg.eigh((R * weights) @ R.T + self.tail**2 * np.eye(R.shape[0]))
            inside[inside < 1e-13 * inside.max()] = 0.0  # rounding
        else:
            U, S, _ = linalg.svd(R * np.sqrt(weights), full_matrices=False)
            inside = S**2
        return Gaussian(np.ascontiguousarray(Q @ U), inside, self.tail)
