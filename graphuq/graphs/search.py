"""The search for nearest neighbours: exact, or approximate with a recall that is measured."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]

METHODS = ("auto", "exact", "approximate")

# Beyond so many items all pairs of distances take minutes.
MOST_EXACT = 100_000

# Items of which the true neighbours are found, and the share of them that shall be found.
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
    if method == "exact" or (method == "auto" and X.shape[0] <= MOST_EXACT):
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
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, max(1, int(4 * np.sqrt(n))))
        self._index.cp.seed = 0
        rng = np.random.default_rng(0)
        some = rng.choice(n, min(n, 40 * self._index.nlist), replace=False)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # or last digits of the cells' centres hang on their number
        try:
            self._index.train(X[some].astype(np.float32))
        finally:
            faiss.omp_set_num_threads(threads)
        for start in range(0, n, MOST_EXACT):
            self._index.add(X[start : start + MOST_EXACT].astype(np.float32))
        sample = rng.choice(n, min(SAMPLE, n), replace=False)
        true = _others(Exact(X).nearest(X[sample], k + 1), sample, k)
        self._index.nprobe = 4
        while True:
            found = _others(self._searched(X[sample], k + 1), sample, k)
            same = [np.intersect1d(a, b).size for a, b in zip(found, true, strict=True)]
            self.recall = float(np.mean(same)) / k
            if self.recall >= RECALL or self._index.nprobe >= self._index.nlist:
                return
            self._index.nprobe *= 2

    def nearest(self, X: Array | None, k: int) -> Nodes:
        """Return the k nearest items, or nearly."""
        if X is not None:
            return self._searched(X, k)
        return _others(self._searched(self._X, k + 1), np.arange(self._X.shape[0]), k)

    def _searched(self, X: Array, k: int) -> Nodes:
        found = np.empty((X.shape[0], k), dtype=np.int64)
        for start in range(0, X.shape[0], MOST_EXACT):
            part = slice(start, start + MOST_EXACT)
            found[part] = self._index.search(X[part].astype(np.float32), k)[1]
        if (found < 0).any():  # the cells searched hold fewer items
            short = np.flatnonzero((found < 0).any(axis=1))
            found[short] = Exact(self._X).nearest(X[short], k)
        return found


def _others(found: Nodes, own: Nodes, k: int) -> Nodes:
    """Drop each row's own item, or else the last found."""
    itself = found == own[:, None]
    itself[~itself.any(axis=1), -1] = True
    return found[~itself].reshape(-1, k)
