"""Search for nearest neighbors: exact, or approximate with a measured recall."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation
from graphuq.utils.forecast import announce_long_work
from graphuq.utils.interruption import interruptible
from graphuq.utils.typing import Array, Nodes

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
                warnings.warn(
                    f"single precision finds only {self.recall:.0%} of the nearest neighbors of a "
                    "sample: rescale X, or take method='exact'",
                    RuntimeWarning,
                    stacklevel=5,
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
