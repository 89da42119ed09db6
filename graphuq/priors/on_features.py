"""What the priors on features share: a checked copy of these, and the labeled nodes."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.priors.propagated_features import NO_SPREAD, PropagatedFeatures
from graphuq.priors.sum_prior import Summable
from graphuq.utils import validation
from graphuq.utils.features import check_features, digest, require_spread
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.words import count

# Up to ALL_ITEMS items such a prior is exact at all of them. Beyond, it is exact at the labeled
# ones, and between others as far as each prior says.
ALL_ITEMS = 800


class OnFeatures(Summable):
    """A prior on the features of items.

    Attributes
    ----------
    X : ndarray, csr_array or PropagatedFeatures, shape (N, d)
    labeled : ndarray of int or None
    """

    X: Any
    labeled: Nodes | None

    def _check(self, *, accept_sparse: bool = False) -> None:
        """Replace the attributes by checked ones: what is not yet computed reads them."""
        if isinstance(self.X, PropagatedFeatures):
            self.X.require_spread()
        else:
            X = check_features(self.X, accept_sparse=accept_sparse)
            if sparse.issparse(X) or np.may_share_memory(X, self.X):
                X = X.copy()
            if sparse.issparse(X):
                X.eliminate_zeros()
            object.__setattr__(self, "X", X)
            if not require_spread(X):
                raise ValueError(NO_SPREAD)
        if self.labeled is not None:
            nodes = validation.node_ids("labeled", self.labeled, self.n_nodes)
            object.__setattr__(self, "labeled", nodes)

    @property
    def _features(self) -> Any:
        """X, or its averages, as a matrix."""
        return self.X.values if isinstance(self.X, PropagatedFeatures) else self.X

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self._features.shape[0])

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies X in a fingerprint."""
        if isinstance(self.X, PropagatedFeatures):
            return self.X.fingerprint()
        return {"features": digest(self.X)}

    @abstractmethod
    def rows(self, X: Any) -> Array:
        """Return rows of the basis for items with these features, shape (m, P)."""

    def rows_of_new(self, degrees: Array, weights: Any, X: Any) -> tuple[Array, Array]:
        """Return rows of the field's basis for new items, which have no other variance."""
        if X is None:
            raise ValueError("the prior has features: give those of the new items, X=")
        if isinstance(self.X, PropagatedFeatures):
            X = self.X.of_new(weights, X)
        return self.rows(X), np.zeros(weights.shape[0])

    @property
    def _shown(self) -> str:
        """What `repr` says of X."""
        shape = " x ".join(map(str, self._features.shape))
        steps = isinstance(self.X, PropagatedFeatures)
        return f"{shape}, {count(self.X.hops, 'hop')}" if steps else shape

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
