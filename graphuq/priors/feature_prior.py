"""The Gaussian prior of features: items with similar features have similar fields."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from graphuq.priors.field import Field
from graphuq.priors.gaussian import MIN_RELATIVE_DEVIATION, law_of
from graphuq.priors.gaussian_prior import Ranges, require_chosen
from graphuq.priors.on_features import ALL_ITEMS, OnFeatures
from graphuq.utils import validation
from graphuq.utils.row_blocks import row_slices
from graphuq.utils.typing import Array, Nodes

# Beyond ALL_ITEMS items the prior is exact at the labeled ones and at INDUCING others.
INDUCING = 400

# Items whose distances give the median.
MEDIAN_ITEMS = 800

# The length scale is searched between these multiples of the median distance. Its prior is small
# at both.
LENGTH_SCALES = (0.1, 10.0)

# Variance added at the inducing items, for a stable factorization.
JITTER = 1e-10

# Smaller variance beyond the inducing items is rounding.
MIN_REST = 1e-8


@dataclass(frozen=True, eq=False)
class FeaturePrior(OnFeatures):
    """A Gaussian prior with the squared exponential covariance of features.

    C_ij = exp(-|x_i - x_j|^2 / (2 l^2)) with length scale l, as in Gaussian process classification
    (Rasmussen and Williams 2006, eq. 4.9). Added to a `Prior`, it lets features explain what the
    graph does not; features should have comparable scales, since distances add over them.

    Beyond 800 items, covariances with the labeled items and all variances are exact. Covariances
    between other items go through them and 400 inducing items (Snelson and Ghahramani 2006), so
    that memory is O(N (J + 400)).

    Parameters
    ----------
    X : array_like or PropagatedFeatures, shape (N, d)
        Features, one row for each node; they are copied.
    length_scale : float or "auto"
        l, in units of X. With "auto", the default, it is chosen from the labels, with a prior
        about the median distance.

    Raises
    ------
    ValueError, TypeError
        Missing or infinite features, features that are constant, ``length_scale`` not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X = np.array([[0.0], [1.0], [4.0]])
    >>> prior = gq.FeaturePrior(X, length_scale=1.0)
    >>> prior.covariance([0], [0, 1, 2]).round(3)
    array([[1.   , 0.607, 0.   ]])
    >>> prior.variance().round(6)
    array([1., 1., 1.])
    >>> prior
    FeaturePrior(3 x 1, length_scale 1)
    >>> prior.rows([[2.0]]).shape          # of a new item
    (1, 4)
    """

    has_fixed_basis: ClassVar[bool] = False

    X: Array
    length_scale: float | str = validation.AUTO
    labeled: Nodes | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._check()
        _check_length_scale(self.length_scale)

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels."""
        return ("length_scale",) if validation.is_auto(self.length_scale) else ()

    @property
    def ranges(self) -> Ranges:
        """The range in which the length scale is searched."""
        low, high = LENGTH_SCALES
        return {"length_scale": (low * self._median, high * self._median)}

    @property
    def typical(self) -> dict[str, float]:
        """The median distance of items."""
        return {"length_scale": self._median}

    @property
    def parameters(self) -> dict[str, float | str]:
        """The length scale."""
        return {"length_scale": self.length_scale}

    def with_parameters(  # type: ignore[override]
        self, *, length_scale: float | str | None = None
    ) -> FeaturePrior:
        """Return the prior with this length scale."""
        if length_scale is None:
            return self
        return self._copy(length_scale=_check_length_scale(length_scale))

    def with_labeled(self, nodes: Nodes) -> FeaturePrior:
        """Return the prior whose covariances with labeled nodes are exact.

        Parameters
        ----------
        nodes : ndarray of int
        """
        if self.n_nodes <= ALL_ITEMS:
            return self
        return self._copy(labeled=np.asarray(nodes))

    def _copy(self, **changes: Any) -> FeaturePrior:
        """Return a copy without checking X again, and with the median known."""
        other = object.__new__(FeaturePrior)
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | changes
        for name, value in {**values, "_median": self._median, "_order": self._order}.items():
            object.__setattr__(other, name, value)
        return other

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Distinct items in an order that looks random and does not depend on the order of rows."""
        digests = np.array(
            [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in self._features],
            dtype="S8",
        )
        return np.unique(digests, return_index=True)[1]

    @cached_property
    def _median(self) -> float:
        """Median distance between distinct items."""
        from scipy.spatial.distance import pdist

        some = self._features[self._order[:MEDIAN_ITEMS]]
        return float(np.median(pdist(some)))

    @cached_property
    def _inducing(self) -> NDArray[np.intp]:
        """The items through which covariances go."""
        if self.n_nodes <= ALL_ITEMS:
            return self._order
        labeled = np.empty(0, dtype=np.intp) if self.labeled is None else self.labeled
        return np.union1d(self._order[:INDUCING], labeled)

    def _kernel(self, left: Array, right: Array) -> Array:
        from scipy.spatial.distance import cdist

        scale = self._chosen_length_scale
        return np.asarray(np.exp(-0.5 * cdist(left, right, "sqeuclidean") / scale**2))

    @property
    def _chosen_length_scale(self) -> float:
        require_chosen(self.open)
        return float(self.length_scale)

    @cached_property
    def _factor(self) -> Array:
        """L with L L' the covariance of the inducing items."""
        at = self._features[self._inducing]
        K = self._kernel(at, at)
        K[np.diag_indices_from(K)] += JITTER
        return np.asarray(linalg.cholesky(K, lower=True))

    def rows(self, X: Any) -> Array:
        """Return rows of the basis for items with these features, shape (m, P).

        The last column is the deviation of variance that an item does not share.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (m, d)
        """
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        d = self._features.shape[1]
        if X.ndim != 2 or X.shape[1] != d:
            raise ValueError(
                f"X must have a row for each item and the {d} features of the prior, got shape "
                f"{X.shape}"
            )
        at, found = self._features[self._inducing], np.empty((len(X), self._inducing.size + 1))
        for part in row_slices(len(X), self._inducing.size):
            K = self._kernel(at, X[part])
            shared = linalg.solve_triangular(self._factor, K, lower=True, check_finite=False).T
            found[part, :-1] = shared
            rest = 1 - np.einsum("ij,ij->i", shared, shared)
            found[part, -1] = np.sqrt(np.where(rest > MIN_REST, rest, 0.0))
        return found

    @cached_property
    def field(self) -> Field:
        """The field at all nodes, through the inducing items."""
        basis = self.rows(self._features)
        own = np.ones(basis.shape[1])
        shared = np.append(own[:-1], 0.0)
        return Field(basis, shared, own, rounding=MIN_RELATIVE_DEVIATION)

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes, from their covariance, exactly.

        Parameters
        ----------
        nodes : ndarray of int
        """
        root = law_of(self._kernel(self._features[nodes], self._features[nodes])).root()
        own = np.ones(root.shape[1])
        return Field(root, own, own, rounding=MIN_RELATIVE_DEVIATION)

    def _block(self, rows: Nodes, columns: Nodes) -> Array:
        return self._kernel(self._features[rows], self._features[columns])

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`."""
        return {
            "kind": "features",
            "nodes": self.n_nodes,
            "rank": 0,
            "length_scale": self._chosen_length_scale,
            **self._identity,
        }

    def __repr__(self) -> str:
        scale = self.length_scale
        shown = scale if validation.is_auto(scale) else format(scale, ".3g")
        return f"FeaturePrior({self._shown}, length_scale {shown})"


def _check_length_scale(value: Any) -> float | str:
    """Return a positive length scale, or "auto"."""
    if validation.is_auto(value):
        return validation.AUTO
    remedy = 'give a distance in units of X, or "auto"'
    return validation.positive("length_scale", value, remedy=remedy)
