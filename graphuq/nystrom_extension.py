"""Eigenpairs of fully connected graphs too large for their weights: the Nystrom extension.

Fowlkes, Belongie, Chung and Malik (2004), as in section 5.1.4 of the paper. All weights come from
those to a few landmarks, A = K R R' K' with the items' weights K (n, M) to the landmarks and
R R' the inverse of the landmarks' own. L = I - D^(-1/2) A D^(-1/2) then has the eigenpairs of an
M x M matrix, exactly, so that no orthogonalisation is left to do, and nothing as long as A is
ever held: three or four passes over the rows do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.low_rank import Kernel, LowRankSpectrum, spectrum_of
from graphuq.progress import progress_bar
from graphuq.row_blocks import require_finite, table, taken

Array = NDArray[np.float64]

WEIGHTS = ("gaussian", "self-tuning", "cosine")
LANDMARKS = ("kmeans", "uniform")

# k-means looks at so many rows for each landmark, drawn at random.
ROWS_PER_LANDMARK = 100

# A squared distance below this share of an item's own square is one to itself.
ROUNDING = 1e-12

# Directions of the landmarks' weights below this share of the largest are left out: with them
# goes what self-tuning weights have below zero.
NEGLIGIBLE = 1e-9


def nystrom(
    X: Any,
    rank: int,
    *,
    weights: str = "gaussian",
    tau: float | None = None,
    n_neighbors: int = 10,
    n_landmarks: int | None = None,
    landmarks: str = "kmeans",
    dtype: str = "float64",
    seed: validation.Seed = 0,
    progress: bool = False,
) -> LowRankSpectrum:
    """Compute the smallest eigenpairs of a fully connected graph's Laplacian from few weights.

    The graph is that of `full_graph` with ``self_loops=True``. Memory is that of the n x r
    vectors; rows are read some at a time.

    Parameters
    ----------
    X : array_like, memory map or Dask array, shape (n, d)
        One row an item.
    rank : int
        Number of modes r.
    weights : {"gaussian", "self-tuning", "cosine"}
        As in `knn_graph`. Self-tuning scales tau_i are distances to the K-th nearest landmark, so
        that the graph hangs on these, and errors are those with the scales as they are.
        Cosine weights need no landmarks: their matrix has rank d, and the pairs are exact.
    tau : float, optional
        Scale of ``"gaussian"``, in units of X.
    n_neighbors : int
        K of self-tuning weights.
    n_landmarks : int, optional
        M, more than r; by default four times as many and at least 200.
    landmarks : {"kmeans", "uniform"}
        Centres of clusters, or rows drawn at random.
    dtype : {"float64", "float32"}
        Of the vectors; in half the memory, with errors of 1e-7.
    seed : int, SeedSequence or Generator
        Of the landmarks, and of the rows held out.
    progress : bool
        Show how many rows were read, in four passes.

    Returns
    -------
    LowRankSpectrum

    Raises
    ------
    ValueError, TypeError
        Features that are not finite, more modes than the landmarks' weights have, cosines that
        make a degree negative.
    MemoryError
        The n x r vectors do not fit.

    Warns
    -----
    RuntimeWarning
        Items are far from all landmarks.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(1000, d=2, seed=0)
    >>> spectrum = nystrom(X, 10, tau=0.2, n_landmarks=100)
    >>> exact = gq.Spectrum.of(gq.full_graph(X, weights="gaussian", tau=0.2, self_loops=True), 10)
    >>> bool(abs(spectrum.values - exact.values).max() < 1e-3)
    True
    """
    validation.one_of("weights", weights, WEIGHTS)
    validation.one_of("landmarks", landmarks, LANDMARKS)
    validation.one_of("dtype", dtype, ("float64", "float32"))
    X = table(X)
    n, d = X.shape
    validation.integer("rank", rank, 1, n - 1, f"X has {n} rows, so n - 1 modes")
    validation.memory(
        np.dtype(dtype).itemsize * n * (rank + 1.0) + 17.0 * n,
        f"{rank} modes of {n} nodes",
        "ask for a smaller rank, or dtype='float32'",
    )
    count = 0
    if weights == "cosine":
        validation.integer("rank", rank, 1, d - 1, f"cosine weights of {d} features have d modes")
    else:
        count = min(n, max(200, 4 * rank)) if n_landmarks is None else n_landmarks
        validation.integer("n_landmarks", count, rank + 1, n, "it must exceed the rank")
    if weights == "self-tuning":
        validation.integer("n_neighbors", n_neighbors, 1, count - 1, "take more landmarks")
    if weights == "gaussian":
        if tau is None:
            raise ValueError("gaussian weights need a scale: give tau, in units of X")
        validation.positive("tau", tau)
    elif tau is not None:
        raise ValueError(f"tau is the scale of gaussian weights; {weights} weights take none")
    require_finite(X)
    rng = np.random.default_rng(validation.seed_sequence(seed))
    if weights == "cosine":
        kernel: Kernel = _Cosine(np.eye(d))
    else:
        kernel = _Radial.of(_landmarks(X, count, landmarks, rng), tau, n_neighbors)
    with progress_bar(4 * n, progress, "row") as bar:
        return spectrum_of(X, rank, kernel, dtype, rng, bar)


@dataclass(frozen=True)
class _Cosine:
    """Unit rows: A = K K'."""

    root: Array

    def rows(self, X: Array) -> Array:
        largest = abs(X).max(axis=1)
        if not largest.all():
            raise ValueError("X has rows of zeros, which have no direction: drop them")
        unit = X / largest[:, None]  # or squares could overflow, or vanish
        return np.asarray(unit / np.linalg.norm(unit, axis=1)[:, None])

    def between(self, X: Array, Y: Array) -> Array:
        return self.rows(X) @ self.rows(Y).T

    def nearest(self, X: Array) -> Array:
        raise ValueError(
            "cosine weights must not be negative on the whole: some item's add up to less than "
            "its own; use non-negative features, or Gaussian weights"
        )


@dataclass(frozen=True)
class _Radial:
    """Weights exp(-|x - y|^2 / (2 tau_x tau_y)) to the landmarks, eq. (15)."""

    centres: Array
    tau: float | None
    n_neighbors: int
    scales: Array
    root: Array
    among: Array

    @classmethod
    def of(cls, centres: Array, tau: float | None, n_neighbors: int) -> _Radial:
        squared = _squared(centres, centres)
        np.fill_diagonal(squared, 0.0)
        if tau is None:  # position 0 of each sorted row is the landmark itself
            kth = np.partition(squared, n_neighbors, axis=1)[:, n_neighbors]
            if not kth.all():
                raise ValueError(
                    f"more than {n_neighbors} landmarks coincide: drop duplicate rows of X, or "
                    "take a larger n_neighbors, or Gaussian weights"
                )
            scales = np.sqrt(kth)
        else:
            scales = np.full(centres.shape[0], tau)
        among = np.exp(-squared / (2 * np.multiply.outer(scales, scales)))
        values, vectors = np.linalg.eigh(among)
        kept = values > NEGLIGIBLE * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        return cls(centres, tau, n_neighbors, scales, root, among)

    def rows(self, X: Array) -> Array:
        """Return the weights of items to the landmarks."""
        squared = _squared(X, self.centres)
        return _gauss(squared, self._scale(X, squared), self.scales)

    def _scale(self, X: Array, squared: Array) -> Array:
        if self.tau is not None:
            return np.full(squared.shape[0], self.tau)
        # an item that is a landmark has that at no distance, but for rounding: it does not count
        k = self.n_neighbors
        nearest = np.partition(squared, [0, k - 1, k], axis=1)
        own = nearest[:, 0] <= ROUNDING * np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.where(own, nearest[:, k], nearest[:, k - 1]))

    def between(self, X: Array, Y: Array) -> Array:
        """Return the weights of items to items."""
        scale_x = self._scale(X, _squared(X, self.centres))
        return _gauss(_squared(X, Y), scale_x, self._scale(Y, _squared(Y, self.centres)))

    def nearest(self, X: Array) -> Array:
        """Return the weights of the nearest landmark, for each item."""
        return self.among[_squared(X, self.centres).argmin(axis=1)]


def _landmarks(X: Any, count: int, how: str, rng: np.random.Generator) -> Array:
    n = X.shape[0]
    if how == "uniform":
        return taken(X, np.sort(rng.choice(n, count, replace=False)))
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    asked = min(n, ROWS_PER_LANDMARK * count)
    some = taken(X, np.sort(rng.choice(n, asked, replace=False)))
    with threadpool_limits(1):  # the number of threads changes last digits
        search = KMeans(count, init="random", n_init=1, max_iter=10, random_state=_word(rng))
        centres: Array = search.fit(some).cluster_centers_
    return centres


def _word(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def _squared(X: Array, Y: Array) -> Array:
    """|x_i - y_j|^2, by one product."""
    squared = X @ (-2 * Y.T)
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(squared, 0.0, out=squared)


def _gauss(squared: Array, scale_x: Array, scale_y: Array) -> Array:
    """Eq. (15), in place of the squared lengths."""
    squared *= (-0.5 / scale_x)[:, None]
    squared /= scale_y
    return np.exp(squared, out=squared)
