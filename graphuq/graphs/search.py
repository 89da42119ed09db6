"""The search for nearest neighbours: exact, or approximate with a recall that is measured."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]

METHODS = ("auto", "exact", "approximate")

# Beyond so many items all pairs of distances take minutes.
MOST_EXACT = 100_000

# As many items train a cell; with fewer, cells would be poor.
ITEMS_PER_CELL = 40

# Items whose neighbours are held against the true ones, and the share that shall be as near.
SAMPLE, RECALL = 1000, 0.98


class Search(Protocol):
    """Nearest neighbours among items.

    Attributes
    ----------
    recall : float
        Share of true neighbours that are found, measured on a sample.
    """

    recall: float

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k items nearest to each row, or to each item and other than it."""


def search(X: Array, k: int, method: str) -> Search:
    """Return what finds k neighbours; ``"auto"`` is approximate beyond `MOST_EXACT` items."""
    validation.one_of("method", method, METHODS)
    n = X.shape[0]
    if method == "exact" or n < ITEMS_PER_CELL or (method == "auto" and n <= MOST_EXACT):
        return Exact(X)
    return Approximate(X, k)


class Exact:
    """All distances in blocks, by matrix products in all cores."""

    recall = 1.0

    def __init__(self, X: Array) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._search = NearestNeighbors().fit(X)

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k nearest items."""
        found: Nodes = self._search.kneighbors(X, n_neighbors=k, return_distance=False)
        return found


class Approximate:
    """Distances to the items of the nearest cells of a partition, in single precision.

    As many cells are searched as find `RECALL` of the true neighbours of a sample.
    """

    def __init__(self, X: Array, k: int) -> None:
        try:
            import faiss
        except ImportError as error:
            raise ImportError(
                f"approximate neighbours of {X.shape[0]} items need faiss: pip install "
                "'graphuq[neighbours]', or take method='exact'"
            ) from error
        n, d = X.shape
        self._X = X
        self._unit = abs(X).max() or 1.0  # single precision has a narrow range
        cells = max(1, min(int(4 * np.sqrt(n)), n // ITEMS_PER_CELL))
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, cells)
        self._index.cp.seed = 0
        rng = np.random.default_rng(0)
        some = rng.choice(n, min(n, ITEMS_PER_CELL * cells), replace=False)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # or last digits of the cells' centres hang on their number
        try:
            self._index.train(self._single(X[some]))
        finally:
            faiss.omp_set_num_threads(threads)
        for start in range(0, n, MOST_EXACT):
            self._index.add(self._single(X[start : start + MOST_EXACT]))
        sample = rng.choice(n, min(SAMPLE, n), replace=False)
        true = _others(Exact(X).nearest(X[sample], k + 1), sample, k)
        reach = _squared(X, sample, true).max(axis=1, keepdims=True)
        self._index.nprobe = 1
        while True:
            found = _others(self._searched(X[sample], k + 1), sample, k)
            # by distance: of neighbours that are as far, any will do
            self.recall = float((_squared(X, sample, found) <= reach).mean())
            if self.recall >= RECALL:
                return
            if self._index.nprobe >= cells:
                warnings.warn(
                    f"single precision tells only {self.recall:.0%} of the nearest neighbours of a "
                    "sample: rescale X, or take method='exact'",
                    RuntimeWarning,
                    stacklevel=5,
                )
                return
            self._index.nprobe *= 2

    def _single(self, X: Array) -> NDArray[np.float32]:
        return (X / self._unit).astype(np.float32)

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k nearest items, or nearly."""
        if X is not None:
            return self._searched(X, k)
        return _others(self._searched(self._X, k + 1), np.arange(self._X.shape[0]), k)

    def _searched(self, X: Array, k: int) -> Nodes:
        found = np.empty((X.shape[0], k), dtype=np.int64)
        for start in range(0, X.shape[0], MOST_EXACT):
            part = slice(start, start + MOST_EXACT)
            found[part] = self._index.search(self._single(X[part]), k)[1]
        if (found < 0).any():  # the cells searched hold fewer items
            short = np.flatnonzero((found < 0).any(axis=1))
            found[short] = Exact(self._X).nearest(X[short], k)
        return found


def _squared(X: Array, rows: Nodes, others: Nodes) -> Array:
    """|x_i - x_j|^2 of some rows to some others each."""
    return np.asarray(((X[others] - X[rows][:, None]) ** 2).sum(axis=2))


def _others(found: Nodes, own: Nodes, k: int) -> Nodes:
    """Drop each row's own item, or else the last found."""
    itself = found == own[:, None]
    itself[~itself.any(axis=1), -1] = True
    return found[~itself].reshape(-1, k)
