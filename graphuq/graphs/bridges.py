"""Bridges between the components of a graph of items: their shortest edges."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from graphuq.graphs.nearest import MAX_LINKS, TIE_TOLERANCE
from graphuq.graphs.neighbors import weigh
from graphuq.utils.typing import Array, Nodes

# Distances in one block of the search for bridges.
BRIDGE_BLOCK = 10**7


def bridge_components(
    A: sparse.csr_array, X: Array, scale: Array, weights: str
) -> sparse.csr_array:
    """Add the shortest edges out of the smallest components until one component is left.

    The shortest edge out of any component belongs to a minimum spanning tree, so the total length
    added is minimal. Edges of equal length are all added, so that the order of the rows does not
    matter.

    Parameters
    ----------
    A : csr_array, shape (n, n)
        The weights of a disconnected graph.
    X : ndarray, shape (n, d)
    scale : ndarray, shape (n,)
    weights : str
        See `graphuq.graphs.neighbors.weigh`.

    Warns
    -----
    RuntimeWarning
        More edges are equally short than are added.
    """
    if not A.nnz:
        raise ValueError(
            "no edge has a weight above zero: take a larger tau, or other weights than cosine"
        )
    lightest = A.data.min()
    while True:
        count, component = csgraph.connected_components(A, directed=False)
        if count == 1:
            return A
        # the shortest edges out of each of the smallest components
        sizes = np.bincount(component)
        found = [
            _shortest_edges(X, np.flatnonzero(component == c), np.flatnonzero(component != c))
            for c in np.flatnonzero(sizes == sizes.min())
        ]
        i, j, squared = (np.concatenate(part) for part in zip(*found, strict=True))
        # in both directions, at least as heavy as the lightest edge
        w = np.maximum(weigh(squared, scale[i] * scale[j], weights), lightest)
        bridges = sparse.csr_array(sparse.coo_array((w, (i, j)), shape=A.shape))
        A = A.maximum(bridges.maximum(bridges.T))


def _shortest_edges(X: Array, inside: Nodes, outside: Nodes) -> tuple[Nodes, Nodes, Array]:
    """Return all edges between two sets of items that are as short as the shortest."""
    from scipy.spatial import distance

    best = np.inf
    i, j, squared = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    cut = False
    for block in np.array_split(inside, -(-inside.size * outside.size // BRIDGE_BLOCK)):
        lengths = distance.cdist(X[block], X[outside], "sqeuclidean")
        shortest = float(lengths.min())
        if shortest > best * (1 + TIE_TOLERANCE):
            continue
        best = min(best, shortest)
        row, column = np.nonzero(lengths <= best * (1 + TIE_TOLERANCE))
        # with those of earlier blocks that are as short
        kept = squared <= best * (1 + TIE_TOLERANCE)
        cut &= bool(kept.any())
        i = np.append(i[kept], block[row])
        j = np.append(j[kept], outside[column])
        squared = np.append(squared[kept], lengths[row, column])
        if squared.size > MAX_LINKS:
            i, j, squared, cut = i[:MAX_LINKS], j[:MAX_LINKS], squared[:MAX_LINKS], True
    if cut:
        warnings.warn(
            f"more than {MAX_LINKS:.0e} edges between two components are equally short: only so "
            "many are added, and which ones depends on the order of the rows; drop duplicate rows",
            RuntimeWarning,
            stacklevel=5,
        )
    return i, j, squared
