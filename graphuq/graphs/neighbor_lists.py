"""Nearest neighbors that another package found, as the two arrays that it returns.

umap, pynndescent, faiss, hnswlib, and scikit-learn asked about its own rows, list each item among
its own neighbors, mostly as the first; among duplicates it may come later, or not at all. The item
itself is dropped wherever it is listed. If any row lists its item, all rows lose one neighbor: a
row without its item loses the farthest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.neighbors import WEIGHTS, check_scale, scales, sparse_weights, weigh
from graphuq.utils import validation
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.words import count

# Distances of duplicates may be negative by rounding in single precision, relative to the largest.
ROUNDING = 1e-6


def adjacency_of_lists(
    neighbors: Any, n_neighbors: int | None, weights: str, tau: float | None
) -> sparse.csr_array:
    """Return the weights from each item to its listed neighbors; see `graphuq.knn_graph`."""
    validation.one_of("weights", weights, WEIGHTS)
    check_scale(weights, tau)
    indices, distances = without_self(*_check_lists(neighbors))
    n, listed = indices.shape
    if n_neighbors is not None:
        remedy = "so many are listed besides the item itself"
        listed = validation.integer("n_neighbors", n_neighbors, 1, listed, remedy)
    i = np.repeat(np.arange(n), listed)
    j, length = indices[:, :listed].ravel(), distances[:, :listed]
    # |x - y|^2 of unit vectors is twice the distance 1 - cos
    squared = 2 * length if weights == "cosine" else length**2
    scale = scales(weights, tau, lambda: squared[:, -1], n)
    return sparse_weights(i, j, weigh(squared.ravel(), scale[i] * scale[j], weights), (n, n))


def without_self(indices: Nodes, distances: Array) -> tuple[Nodes, Array]:
    """Return lists by increasing distance, without the items themselves.

    Examples
    --------
    Items 0 and 1 are duplicates, and the list of item 1 begins with item 0:

    >>> without_self(np.array([[0, 1], [0, 1], [2, 1]]), np.array([[0, 0], [0, 0], [0, 3.0]]))
    (array([[1],
           [0],
           [1]]), array([[0.],
           [0.],
           [3.]]))
    """
    n, k = indices.shape
    own = indices == np.arange(n)[:, None]
    # the items themselves come last
    order = np.lexsort((distances, own), axis=1)
    kept = order[:, : k - 1] if own.any() else order
    if not kept.shape[1]:
        raise ValueError(
            "neighbors list each item itself, and no other: search for one neighbor more"
        )
    return np.take_along_axis(indices, kept, axis=1), np.take_along_axis(distances, kept, axis=1)


def _check_lists(neighbors: Any) -> tuple[Nodes, Array]:
    if not isinstance(neighbors, list | tuple) or len(neighbors) != 2:
        got = f"{len(neighbors)} of them" if isinstance(neighbors, list | tuple) else "another type"
        raise TypeError(
            "neighbors must be two arrays, (indices, distances), with a row for each item, got "
            f"{got}: from umap, pass neighbors[:2]"
        )
    indices = validation.unmasked("indices", neighbors[0])
    distances = validation.real_array("distances", neighbors[1])
    if indices.dtype.kind == "f" and distances.dtype.kind in "iu":
        raise TypeError(
            "neighbors must be (indices, distances), and the first array has no integers: "
            "scikit-learn and faiss give distances first, so pass (neighbors[1], neighbors[0])"
        )
    if indices.dtype.kind not in "iu" or distances.dtype.kind not in "fiu":
        raise TypeError(
            "neighbors must be integers, the indices, and numbers, the distances, got "
            f"{indices.dtype} and {distances.dtype}"
        )
    if indices.ndim != 2 or indices.shape != distances.shape or 0 in indices.shape:
        raise ValueError(
            "indices and distances must have the same shape (items, neighbors), got "
            f"{indices.shape} and {distances.shape}"
        )
    indices = _check_indices(indices)
    return indices, _check_distances(distances.astype(np.float64))


def _check_indices(indices: Any) -> Nodes:
    n = indices.shape[0]
    outside = np.argwhere((indices < 0) | (indices >= n))
    if outside.size:
        row, column = outside[0]
        value = indices[row, column]
        what, remedy = f"item {value}", f"search the {n} rows among themselves"
        if indices.dtype.kind == "i" and value == -1:
            what, remedy = "-1, no neighbor,", "search with more candidates, or for fewer neighbors"
        raise ValueError(
            f"neighbors list {what} for item {row}, and {n} items have a row: {remedy}"
        )
    ordered = np.sort(indices, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if repeated.size:
        raise ValueError(
            f"neighbors list an item more than once for item {repeated[0]} "
            f"({count(repeated.size, 'such row')}): list every neighbor once"
        )
    return np.asarray(indices, dtype=np.int64)


def _check_distances(distances: Array) -> Array:
    wrong = np.argwhere(~np.isfinite(distances) | (distances > validation.MAX_MAGNITUDE))
    if not wrong.size:
        wrong = np.argwhere(distances < -ROUNDING * distances.max(initial=0.0))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"distances must be finite and not negative, but one of item {row} is "
            f"{distances[row, column]:g}: give distances, not similarities; for roots of rounded "
            "squares np.sqrt(np.maximum(squares, 0))"
        )
    return np.maximum(distances, 0.0)
