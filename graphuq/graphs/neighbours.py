"""Nearest neighbours and their weights, among the items of a graph and for new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq import validation
from graphuq.graphs.search import search

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]

# Candidates beyond the number asked for. The search's own order of neighbours that are as far hangs
# on its rounding, and so on the number of threads: theirs is by exact length, then by position.
SPARE = 10

# Distances held at a time.
BLOCK = 2**23

WEIGHTS = ("self-tuning", "gaussian", "binary", "cosine")


class Neighbours:
    """Items, their nearest neighbours among each other, and the scales of the weights.

    Parameters
    ----------
    X, n_neighbors, weights, tau, method
        See `graphuq.knn_graph`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        The items, centred, or as unit vectors for cosine weights.
    scale : ndarray, shape (n,)
        tau_i of eq. (15).
    recall : float
        Share of true neighbours that were found, measured on a sample.
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int,
        weights: str,
        tau: float | None = None,
        method: str = "auto",
    ) -> None:
        X = checked(X, weights, tau)
        n = X.shape[0]
        validation.integer("n_neighbors", n_neighbors, 1, n - 1, f"X has only {n} rows")
        self.weights, self._centre = weights, X.mean(axis=0)
        self.X = placed(X, weights, self._centre)
        asked = min(n_neighbors + SPARE, n - 1)
        self._search = search(self.X, n_neighbors, method)
        self.recall = self._search.recall
        candidates = self._search.nearest(None, asked)
        self._nearest = _closest(self.X, candidates, self.X, n_neighbors)
        i, j = _pairs(self._nearest)
        self._squared = squared_lengths(self.X, i, j)
        self._reach = self._squared.reshape(n, -1).max(axis=1)
        self.scale = scales(weights, tau, lambda: self._reach, n)

    def adjacency(self) -> sparse.csr_array:
        """Return the weight from each item to those that it names, shape (n, n)."""
        i, j = _pairs(self._nearest)
        w = weigh(self._squared, self.scale[i] * self.scale[j], self.weights)
        return sparse_weights(i, j, w, (self.X.shape[0],) * 2)

    def of_new(self, X: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return the weights of new items to the items, and where the two coincide.

        As in the union of `graphuq.knn_graph`, a new item is joined to the items nearest to it,
        and to those that have it nearer than their own last neighbour.

        Parameters
        ----------
        X : ndarray, shape (m, d)
            Checked.

        Returns
        -------
        weights, same : csr_array, shape (m, n)
            ``same`` is 1 / k at the k joined items that are equal to the new one.
        """
        shape = X.shape[0], self.X.shape[0]
        X = placed(X, self.weights, self._centre)
        k = self._nearest.shape[1]
        asked = min(k + SPARE, shape[1])
        candidates = self._search.nearest(X, asked)
        nearest = _closest(X, candidates, self.X, k)
        i, j = _pairs(nearest)
        kth = squared_lengths(X, i, j, self.X).reshape(nearest.shape).max(axis=1)
        scale = np.full(shape[0], self.scale[0])  # one for all, but for self-tuning weights
        if self.weights == "self-tuning":
            scale = np.sqrt(np.where(kth > 0, kth, self.scale.min() ** 2))
        links = sparse.coo_array((np.ones(i.size), (i, j)), shape=shape) + self._naming(X)
        i, j = sparse.coo_array(links).coords
        squared = squared_lengths(X, i, j, self.X)
        w = weigh(squared, scale[i] * self.scale[j], self.weights)
        equal = squared == 0
        number = np.bincount(i, weights=equal, minlength=shape[0])
        same = sparse_weights(i, j, equal / np.maximum(number, 1)[i], shape)
        return sparse_weights(i, j, w, shape), same

    def _naming(self, X: Array) -> sparse.csr_array:
        """Return ones where an item has a new one nearer than its own last neighbour."""
        lengths = np.einsum("ij,ij->i", self.X, self.X) - self._reach
        blocks = []
        for part in np.array_split(X, -(-X.shape[0] * self.X.shape[0] // BLOCK)):
            # |x - y|^2 - reach^2, by one product; a tie to rounding may go either way
            beyond = np.einsum("ij,ij->i", part, part)[:, None] - 2 * part @ self.X.T + lengths
            blocks.append(sparse.csr_array(beyond < 0, dtype=np.float64))
        return sparse.csr_array(sparse.vstack(blocks))


def checked(X: Any, weights: str, tau: float | None) -> Array:
    """Return ``X`` as a matrix, with weights that can be made of it."""
    validation.one_of("weights", weights, WEIGHTS)
    if weights == "gaussian":
        if tau is None:
            raise ValueError("gaussian weights need a scale: give tau, in units of X")
        validation.positive("tau", tau)
    elif tau is not None:
        raise ValueError(f"tau is the scale of gaussian weights; {weights} weights take none")
    matrix: Array = validation.features(X)
    return matrix


def placed(X: Array, weights: str, centre: Array) -> Array:
    """Return the points between which lengths are measured."""
    if weights == "cosine":
        norms = np.linalg.norm(X, axis=1)
        if not norms.all():
            raise ValueError(
                f"row {int(norms.argmin())} of X is zero and has no direction: drop it, or use "
                "other weights than cosine"
            )
        return X / norms[:, None]
    return X - centre  # the search for neighbours loses digits far from the origin


def squared_lengths(X: Array, i: Nodes, j: Nodes, Y: Array | None = None) -> Array:
    """|x_i - y_j|^2, exactly 0 for duplicates, which the search does not promise.

    Rows j are those of ``Y``, by default X itself.
    """
    Y = X if Y is None else Y
    squared = np.empty(i.size)
    block = max(1, 10**7 // X.shape[1])
    for start in range(0, i.size, block):
        part = slice(start, start + block)
        difference = X[i[part]] - Y[j[part]]
        squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared


def scales(weights: str, tau: float | None, squared_to_kth: Callable[[], Array], n: int) -> Array:
    """tau_i of eq. (15): the distance to the K-th neighbour, or the fixed tau."""
    if weights != "self-tuning":
        return np.full(n, 1.0 if tau is None else tau)
    kth_distance = np.sqrt(squared_to_kth())
    # An item with K duplicates takes the smallest scale of the others, not 0, so that it still has
    # edges to more than its duplicates.
    duplicate = kth_distance == 0
    if duplicate.all():
        return np.ones_like(kth_distance)
    return np.where(duplicate, kth_distance[~duplicate].min(), kth_distance)


def weigh(squared: Array, scale: Array, weights: str) -> Array:
    """Weights from squared lengths and tau_i tau_j, eq. (15)."""
    if weights == "binary":
        return np.ones_like(squared)
    if weights == "cosine":  # of unit vectors
        cosine = 1 - squared / 2
        return np.where(abs(cosine) < 1e-14, 0.0, cosine)  # right angles, to rounding
    w: Array = np.exp(-squared / (2 * scale))
    return w


def sparse_weights(i: Nodes, j: Nodes, w: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the weights w_ij as a sparse matrix."""
    kept = w > 0  # cosines below zero, and weights that underflow, are no edges
    return sparse.csr_array(sparse.coo_array((w[kept], (i[kept], j[kept])), shape=shape))


def _closest(X: Array, candidates: Nodes, Y: Array, k: int) -> Nodes:
    """Return, of each row's candidates among the rows of ``Y``, the k closest in order."""
    squared = squared_lengths(X, *_pairs(candidates), Y).reshape(candidates.shape)
    order = np.lexsort((candidates, squared), axis=-1)[:, :k]
    return np.take_along_axis(candidates, order, axis=1)


def _pairs(nearest: Nodes) -> tuple[Nodes, Nodes]:
    """Return both ends of the edges from each item to those in its row."""
    m, k = nearest.shape
    return np.repeat(np.arange(m), k), nearest.ravel()
