"""Search for nearest neighbors: exact, or approximate with a measured recall.

Binary and rounded features tie. Which of the tied neighbors a search returns depends on the order
of the rows and on rounding, so that all of them are kept.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation
from graphuq.utils.interruption import interruptible
from graphuq.utils.progress import announce_long_work
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn

# What Ctrl-C interrupts.
DOING = "looking for nearest neighbors"

METHODS = ("auto", "exact", "approximate")

# Above this number of items the distances of all pairs take minutes.
MAX_EXACT_ITEMS = 100_000

# About how long a pair of items takes, for each number of an item and 100 more.
PAIR_SECONDS = 1e-10

# Items that faiss takes in one call, and an exact search: Ctrl-C leaves behind one call. The cores
# share fewer items less well.
BLOCK_ROWS, EXACT_ROWS = 100_000, 4096

# Items that train a cell, and the number of cells relative to the square root of n.
ITEMS_PER_CELL, CELLS_PER_ROOT = 40, 4

# The number of items whose neighbors are compared with the true ones, and the share of neighbors
# that must be as near.
SAMPLE_SIZE, MIN_RECALL = 1000, 0.98

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


class Search(Protocol):
    """Nearest neighbors among items.

    Attributes
    ----------
    recall : float
        Share of true neighbors found, measured on a sample.
    """

    recall: float

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k items nearest to each row of X, or by default to each item but itself."""


def build_search(X: Array, k: int, method: str) -> Search:
    """Return a search; ``"auto"`` is approximate above `MAX_EXACT_ITEMS` items."""
    validation.one_of("method", method, METHODS)
    n = X.shape[0]
    if method == "exact" or n < ITEMS_PER_CELL or (method == "auto" and n <= MAX_EXACT_ITEMS):
        return Exact(X)
    return Approximate(X, k)


class Exact:
    """All distances, in blocks, on all cores, or a tree where features are few."""

    recall = 1.0

    def __init__(self, X: Array) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._search = NearestNeighbors().fit(X)
        self._X = X

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k nearest items."""
        n, d = self._X.shape
        rows = n if X is None else X.shape[0]
        announce_long_work(
            PAIR_SECONDS * rows * n * (d + 100),
            f"looking for the neighbors of {rows:,} items among {n:,}",
            "take method='approximate', or fewer items",
        )
        if X is not None:
            return interruptible(DOING, self._find, X, k)
        return drop_self(interruptible(DOING, self._find, self._X, k + 1), np.arange(n), k)

    def _find(self, X: Array, k: int) -> Nodes:
        found = np.empty((X.shape[0], k), dtype=np.int64)
        for start in range(0, X.shape[0], EXACT_ROWS):
            part = slice(start, start + EXACT_ROWS)
            found[part] = self._search.kneighbors(X[part], k, return_distance=False)
        return found


class Approximate:
    """Distances to the items in the nearest cells of a partition, in single precision.

    The number of cells searched doubles until `MIN_RECALL` of the true neighbors of a sample are
    found.
    """

    def __init__(self, X: Array, k: int) -> None:
        try:
            import faiss
        except ImportError as error:
            raise ImportError(
                f"approximate neighbors of {X.shape[0]} items need faiss: pip install "
                "'graphuq[neighbors]', or take method='exact'"
            ) from error
        # 1. partition the items into cells by k-means
        n, d = X.shape
        self._X = X
        self._unit = abs(X).max() or 1.0  # single precision has a narrow range
        cells = max(1, min(int(CELLS_PER_ROOT * np.sqrt(n)), n // ITEMS_PER_CELL))
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, cells)
        self._index.cp.seed = 0
        rng = np.random.default_rng(0)
        training = rng.choice(n, min(n, ITEMS_PER_CELL * cells), replace=False)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # their number changes the last digits of the centers
        try:
            interruptible(DOING, self._index.train, self._to_single(X[training]))
        finally:
            faiss.omp_set_num_threads(threads)
        for start in range(0, n, BLOCK_ROWS):
            self._index.add(self._to_single(X[start : start + BLOCK_ROWS]))
        # 2. search more cells until the recall suffices
        sample = rng.choice(n, min(SAMPLE_SIZE, n), replace=False)
        true = drop_self(Exact(X).nearest(X[sample], k + 1), sample, k)
        reach = _squared_distances(X, sample, true).max(axis=1, keepdims=True)
        self._index.nprobe = 1
        while True:
            found = drop_self(self._search_cells(X[sample], k + 1), sample, k)
            # compare distances: any of equally distant neighbors is right
            self.recall = float((_squared_distances(X, sample, found) <= reach).mean())
            if self.recall >= MIN_RECALL:
                return
            if self._index.nprobe >= cells:
                warn(
                    f"single precision finds only {self.recall:.0%} of the nearest neighbors of a "
                    "sample: rescale X, or take method='exact'"
                )
                return
            self._index.nprobe *= 2

    def _to_single(self, X: Array) -> NDArray[np.float32]:
        return (X / self._unit).astype(np.float32)

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k nearest items, approximately."""
        if X is not None:
            return self._search_cells(X, k)
        return drop_self(self._search_cells(self._X, k + 1), np.arange(self._X.shape[0]), k)

    def _search_cells(self, X: Array, k: int) -> Nodes:
        found = np.empty((X.shape[0], k), dtype=np.int64)
        for start in range(0, X.shape[0], BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            found[part] = interruptible(DOING, self._index.search, self._to_single(X[part]), k)[1]
        if (found < 0).any():  # the searched cells hold fewer than k items
            short = np.flatnonzero((found < 0).any(axis=1))
            found[short] = Exact(self._X).nearest(X[short], k)
        return found


def _squared_distances(X: Array, rows: Nodes, others: Nodes) -> Array:
    """Return |x_i - x_j|^2 from each of ``rows`` to its own row of ``others``."""
    return np.asarray(((X[others] - X[rows][:, None]) ** 2).sum(axis=2))


def drop_self(found: Nodes, own: Nodes, k: int) -> Nodes:
    """Drop each row's own item, or the last one if its own was not found."""
    itself = found == own[:, None]
    itself[~itself.any(axis=1), -1] = True
    return found[~itself].reshape(-1, k)


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
    warn(
        f"more than {size} neighbors of {rows.size} items, first item {rows[0]}, are as near as "
        f"the {k}-th: {size} are kept, and which ones depends on the order of the rows; drop "
        "duplicate rows, or add features that distinguish items"
    )
