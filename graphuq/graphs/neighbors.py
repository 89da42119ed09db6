"""Nearest neighbors and their weights, among the items of a graph and for new items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.mistaken_weights import warn_of_adjacency
from graphuq.graphs.neighbor_search import (
    SEARCH_ROUNDING,
    TIE_TOLERANCE,
    build_search,
    find_nearest,
    squared_lengths,
)
from graphuq.utils import validation
from graphuq.utils.features import check_features, require_spread
from graphuq.utils.outliers import warn_of_outliers
from graphuq.utils.typing import Array, Nodes

# Distances in one block.
BLOCK_SIZE = 2**23

# Columns whose medians are computed at once: they copy their part of the items.
MEDIAN_COLUMNS = 16

WEIGHTS = ("self-tuning", "gaussian", "binary", "cosine")


class Neighbors:
    """Items, the nearest neighbors of each among the others, and the scales of the weights.

    Parameters
    ----------
    X, n_neighbors, weights, tau, method
        See `graphuq.knn_graph`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        The items, centered, or as unit vectors for cosine weights.
    scale : ndarray, shape (n,)
        tau_i of eq. (15).
    recall : float
        Share of true neighbors found, measured on a sample.
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int,
        weights: str,
        tau: float | None = None,
        method: str = "auto",
    ) -> None:
        X = check_items(X, weights, tau)
        n = X.shape[0]
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        self.weights, self._center = weights, center_of(X)
        self.X = center_or_normalize(X, weights, self._center)
        # 1. the nearest neighbors, with all that tie with the last
        self._n_neighbors = n_neighbors
        self._search = build_search(self.X, n_neighbors, method)
        self.recall = self._search.recall
        self._links = find_nearest(self._search, None, self.X, n_neighbors)
        # 2. the scales, by the distance to the last neighbor
        self.scale = scales(weights, tau, lambda: self._links.kth, n)

    def adjacency(self) -> sparse.csr_array:
        """Return the weights from each item to its nearest neighbors, shape (n, n)."""
        i, j, squared, _ = self._links
        w = weigh(squared, self.scale[i] * self.scale[j], self.weights)
        return sparse_weights(i, j, w, (self.X.shape[0],) * 2)

    def weigh_new(self, X: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return the weights between new items and the items, and the items that equal new ones.

        As in the union of `graphuq.knn_graph`, a new item is connected to its nearest items, and
        to the items to which it is at least as near as their own last neighbor.

        Parameters
        ----------
        X : ndarray, shape (m, d)
            Checked features.

        Returns
        -------
        weights, same : csr_array, shape (m, n)
            ``same`` is 1 / k at the k connected items that equal the new one.
        """
        # 1. the nearest items of each new one, and its scale
        shape = X.shape[0], self.X.shape[0]
        X = center_or_normalize(X, self.weights, self._center)
        i, j, _, kth = find_nearest(self._search, X, self.X, self._n_neighbors)
        scale = np.full(shape[0], self.scale[0])  # the same for all items unless self-tuning
        if self.weights == "self-tuning":
            scale = np.sqrt(np.where(kth > 0, kth, self.scale.min() ** 2))
        # 2. the union with the items that would name the new one
        links = sparse.coo_array(
            (np.ones(i.size), (i, j)), shape=shape
        ) + self._find_reverse_neighbors(X)
        i, j = sparse.coo_array(links).coords
        squared = squared_lengths(X, i, j, self.X)
        near = squared <= np.maximum(kth[i], self._links.kth[j]) * (1 + TIE_TOLERANCE)
        i, j, squared = i[near], j[near], squared[near]
        w = weigh(squared, scale[i] * self.scale[j], self.weights)
        # 3. items at distance zero
        equal = squared == 0
        n_equal = np.bincount(i, weights=equal, minlength=shape[0])
        same = sparse_weights(i, j, equal / np.maximum(n_equal, 1)[i], shape)
        return sparse_weights(i, j, w, shape), same

    def _find_reverse_neighbors(self, X: Array) -> sparse.csr_array:
        """Return ones where a new item may be as near to an item as the item's last neighbor."""
        norms = np.einsum("ij,ij->i", self.X, self.X)
        lengths = norms * (1 - SEARCH_ROUNDING) - self._links.kth * (1 + TIE_TOLERANCE)
        blocks = []
        for part in np.array_split(X, -(-X.shape[0] * self.X.shape[0] // BLOCK_SIZE)):
            # |x - y|^2 - reach^2 by one product, and no more than rounding above 0
            own = np.einsum("ij,ij->i", part, part)[:, None] * (1 - SEARCH_ROUNDING)
            beyond = own - 2 * part @ self.X.T + lengths
            blocks.append(sparse.csr_array(beyond <= 0, dtype=np.float64))
        return sparse.csr_array(sparse.vstack(blocks))


def check_items(X: Any, weights: str, tau: float | None) -> Array:
    """Return ``X`` as a matrix, and refuse weights and scales that do not fit together."""
    validation.one_of("weights", weights, WEIGHTS)
    check_scale(weights, tau)
    matrix: Array = check_features(X)
    require_spread(matrix)
    return matrix


def check_scale(weights: str, tau: float | None) -> None:
    """Refuse Gaussian weights without a scale, and a scale with other weights."""
    if weights == "gaussian":
        if tau is None:
            raise ValueError("gaussian weights need a scale: give tau, in units of X")
        validation.positive("tau", tau)
    elif tau is not None:
        raise ValueError(f"tau is the scale of gaussian weights; {weights} weights take none")


def center_of(X: Array) -> Array:
    """Return the medians of the columns, and warn of cells that dwarf their column.

    One such cell would move means so far that all other items lose their digits.
    """
    center = np.empty(X.shape[1])
    for start in range(0, X.shape[1], MEDIAN_COLUMNS):
        part = slice(start, start + MEDIAN_COLUMNS)
        center[part] = np.median(X[:, part], axis=0)
    warn_of_outliers(X, center)
    warn_of_adjacency(X)
    return center


def center_or_normalize(X: Array, weights: str, center: Array) -> Array:
    """Return the points whose distances are measured: unit vectors for cosine weights."""
    if weights == "cosine":
        norms = np.linalg.norm(X, axis=1)
        if not norms.all():
            raise ValueError(
                f"row {int(norms.argmin())} of X is zero and has no direction: drop it, or use "
                "other weights than cosine"
            )
        return X / norms[:, None]
    return X - center  # the search loses digits far from the origin


def scales(weights: str, tau: float | None, squared_to_kth: Callable[[], Array], n: int) -> Array:
    """Return tau_i of eq. (15): the distance to the K-th neighbor, or the fixed tau."""
    if weights != "self-tuning":
        return np.full(n, 1.0 if tau is None else float(tau))
    kth_distance = np.sqrt(squared_to_kth())
    # An item with K duplicates gets the smallest scale of the others instead of 0, so that it still
    # has edges to other items than its duplicates.
    duplicate = kth_distance == 0
    if duplicate.all():
        return np.ones_like(kth_distance)
    return np.where(duplicate, kth_distance[~duplicate].min(), kth_distance)


def weigh(squared: Array, scale: Array, weights: str) -> Array:
    """Return weights from squared lengths and tau_i tau_j, eq. (15)."""
    if weights == "binary":
        return np.ones_like(squared)
    if weights == "cosine":  # the cosine of the angle between unit vectors
        cosine = 1 - squared / 2
        return np.where(abs(cosine) < 1e-14, 0.0, cosine)  # right angles to rounding
    w: Array = np.exp(-squared / (2 * scale))
    return w


def sparse_weights(i: Nodes, j: Nodes, w: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the weights w_ij as a sparse matrix."""
    kept = w > 0  # negative cosines and weights that underflow are not edges
    return sparse.csr_array(sparse.coo_array((w[kept], (i[kept], j[kept])), shape=shape))
