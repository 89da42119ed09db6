"""The K nearest neighbors of items, with all that tie with the K-th.

Binary and rounded features tie. Which of the tied neighbors a search returns depends on the order
of the rows and on rounding, so that all of them are kept.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from graphuq.graphs.neighbor_search import Search, drop_self
from graphuq.utils.typing import Array, Nodes

# Candidates requested beyond the number of neighbors, and the factor by which their number grows
# while the farthest of them may tie with the K-th neighbor.
SPARE_CANDIDATES, GROWTH = 3, 4

# Numbers whose differences are in the cache of a core.
CACHED = 2**17

# Squared lengths tie up to this relative difference. It is far above rounding, which depends on the
# order of rows.
TIE_TOLERANCE = 1e-9

# Rounding of the squared distances of a search, relative to the squared norm of an item.
SEARCH_ROUNDING = 1e-13

# An item has at most MAX_RATIO times as many neighbors as requested, or all items together have
# MAX_LINKS, whichever is more.
MAX_RATIO, MAX_LINKS = 10, 10**7


class Links(NamedTuple):
    """Links from items to their nearest neighbors.

    Attributes
    ----------
    i, j : ndarray of int, shape (L,)
        Each item, and one of its neighbors.
    squared : ndarray, shape (L,)
        |x_i - y_j|^2.
    kth : ndarray, shape (m,)
        The squared distance of each item to its K-th neighbor.
    """

    i: Nodes
    j: Nodes
    squared: Array
    kth: Array


def find_nearest(search: Search, X: Array | None, Y: Array, k: int) -> Links:
    """Return links to the k nearest rows of ``Y``, and to all that tie with the k-th.

    Parameters
    ----------
    search : Search
        Searches the rows of ``Y``.
    X : ndarray, shape (m, d), optional
        Items; by default the rows of ``Y``, none of which is its own neighbor.
    Y : ndarray, shape (n, d)
    k : int

    Warns
    -----
    RuntimeWarning
        More neighbors tie than are kept.
    """
    own, items = X is None, Y if X is None else X
    available = Y.shape[0] - own
    most = min(available, max(MAX_RATIO * k, MAX_LINKS // Y.shape[0]))
    # 1. a few candidates for all items
    size = min(k + SPARE_CANDIDATES, available)
    rows = np.arange(items.shape[0])
    candidates = search.nearest(X, size)
    kth = np.empty(rows.size)
    parts = []
    while True:
        # 2. those that are as near as the k-th, by exact lengths
        i = np.repeat(rows, size)
        squared = squared_lengths(items, i, candidates.ravel(), Y).reshape(rows.size, size)
        kth[rows] = np.partition(squared, k - 1, axis=1)[:, k - 1]
        reach = kth[rows] * (1 + TIE_TOLERANCE)
        near = squared <= reach[:, None]
        # 3. more candidates for items whose farthest candidate may tie
        rounding = SEARCH_ROUNDING * np.einsum("ij,ij->i", items[rows], items[rows])
        unsure = squared.max(axis=1) <= reach + rounding
        if size >= most:
            if size < available and unsure.any():
                _warn_of_ties(rows[unsure], k, size)
            unsure[:] = False
        near[unsure] = False
        parts.append((i.reshape(near.shape)[near], candidates[near], squared[near]))
        rows = rows[unsure]
        if not rows.size:
            break
        size = min(GROWTH * size, most)
        candidates = (
            drop_self(search.nearest(Y[rows], size + 1), rows, size)
            if own
            else search.nearest(items[rows], size)
        )
    i, j, squared = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Links(i, j, squared, kth)


def squared_lengths(X: Array, i: Nodes, j: Nodes, Y: Array | None = None) -> Array:
    """Return |x_i - y_j|^2; it is exactly 0 for duplicates, unlike the distances of a search.

    Positions j are rows of ``Y``, by default of X itself.
    """
    Y = X if Y is None else Y
    squared = np.empty(i.size)
    block = max(1, CACHED // X.shape[1])
    for start in range(0, i.size, block):
        part = slice(start, start + block)
        difference = X[i[part]]
        difference -= Y[j[part]]
        squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared


def _warn_of_ties(rows: Nodes, k: int, size: int) -> None:
    warnings.warn(
        f"more than {size} neighbors of {rows.size} items, first item {rows[0]}, are as near as "
        f"the {k}-th: {size} are kept, and which ones depends on the order of the rows; drop "
        "duplicate rows, or add features that distinguish items",
        RuntimeWarning,
        stacklevel=5,
    )
