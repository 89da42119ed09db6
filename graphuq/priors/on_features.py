"""What the priors on features share: a checked copy of these, and the labeled nodes."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.priors.propagated_features import PropagatedFeatures
from graphuq.priors.sum_prior import Summable
from graphuq.utils import validation
from graphuq.utils.features import check_features, digest, require_spread
from graphuq.utils.typing import Array, Nodes

# Up to ALL_ITEMS items such a prior is exact at all of them. Beyond, it is exact at the labeled
# ones, and between others as far as each prior says.
ALL_ITEMS = 800


class OnFeatures(Summable):
    """A prior on the features of items.

    Attributes
    ----------
    X : ndarray or csr_array, shape (N, d)
    labeled : ndarray of int or None
    propagated : PropagatedFeatures or None
        What X are the values of.
    """

    X: Any
    labeled: Nodes | None
    propagated: PropagatedFeatures | None

    def _check(self, *, accept_sparse: bool = False) -> None:
        """Replace the attributes by checked ones: what is not yet computed reads them."""
        given = self.X if isinstance(self.X, PropagatedFeatures) else None
        object.__setattr__(self, "propagated", given)
        X = check_features(given.values if given else self.X, accept_sparse=accept_sparse)
        if sparse.issparse(X) or np.may_share_memory(X, self.X):
            X = X.copy()
        if sparse.issparse(X):
            X.eliminate_zeros()
        object.__setattr__(self, "X", X)
        if given is not None and given.is_constant:
            raise ValueError(
                f"{given.hops} steps along the graph leave all nodes with the same features: take "
                "fewer hops, or X itself"
            )
        if not require_spread(X):
            raise ValueError(
                "X is the same for all items, which carries no information: use the graph alone"
            )
        if self.labeled is not None:
            nodes = validation.node_ids("labeled", self.labeled, self.n_nodes)
            object.__setattr__(self, "labeled", nodes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.X.shape[0])

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies X in a fingerprint; propagated features also by their own values."""
        found = {"features": digest(self.X)}
        if self.propagated is None:
            return found
        return {**self.propagated.fingerprint(), "propagated": found["features"]}

    @abstractmethod
    def rows(self, X: Any) -> Array:
        """Return rows of the basis for items with these features, shape (m, P)."""

    def rows_of_new(self, degrees: Array, weights: Any, X: Any) -> tuple[Array, Array]:
        """Return rows of the field's basis for new items, which have no other variance."""
        if X is None:
            raise ValueError("the prior has features: give those of the new items, X=")
        if self.propagated is not None:
            X = self.propagated.of_new(weights, X)
        return self.rows(X), np.zeros(weights.shape[0])

    def _shown(self) -> str:
        """Return what `repr` says of X."""
        shape = " x ".join(map(str, self.X.shape))
        return shape if self.propagated is None else f"{shape}, {self.propagated.hops} hops"

    @abstractmethod
    def _block(self, rows: Nodes, columns: Nodes) -> Array:
        """Return the covariance block between two lists of nodes."""

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes.

        Parameters
        ----------
        rows, columns : array_like of int
        """
        return self._block(
            validation.node_ids("rows", rows, self.n_nodes),
            validation.node_ids("columns", columns, self.n_nodes),
        )
