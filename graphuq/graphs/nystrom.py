"""Eigenpairs of fully connected graphs with too many weights to store: the Nystrom extension.

Fowlkes, Belongie, Chung and Malik (2004), as in section 5.1.4 of the paper. The weights of all
pairs follow from those to a few landmarks: A = K R R' K', where K (n, M) holds the weights of items
to landmarks and R R' is the inverse of the weights among landmarks. The eigenpairs of
L = I - D^(-1/2) A D^(-1/2) are then exactly those of an M x M matrix, so that the vectors need no
orthogonalization. Three or four passes over the rows suffice, and A is never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphuq.graphs.low_rank import Kernel, LowRankSpectrum, compute_spectrum
from graphuq.graphs.neighbors import check_scale
from graphuq.utils import validation
from graphuq.utils.features import check_table, require_finite, require_spread
from graphuq.utils.memory import require_memory
from graphuq.utils.progress import progress_bar
from graphuq.utils.row_blocks import take_rows
from graphuq.utils.typing import Array

WEIGHTS = ("gaussian", "self-tuning", "cosine")
LANDMARKS = ("kmeans", "uniform")

# Rows drawn at random for each landmark, on which k-means runs.
ROWS_PER_LANDMARK = 100

# A squared distance below this share of the item's squared norm is zero to rounding.
ZERO_DISTANCE_SHARE = 1e-12

# Eigenvalues of the landmarks' weights below this share of the largest are dropped, and with them
# the negative ones of self-tuning weights.
MIN_EIGENVALUE_SHARE = 1e-9

# The default number of landmarks: a multiple of the rank, but no less than the minimum.
LANDMARKS_PER_MODE, MIN_LANDMARKS = 4, 200


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

    The graph is that of `full_graph` with ``self_loops=True``. Rows are read block by block, so
    that memory is that of the n x r vectors.

    Parameters
    ----------
    X : array_like, memory map or Dask array, shape (n, d)
        One row for each item.
    rank : int
        Number of modes r.
    weights : {"gaussian", "self-tuning", "cosine"}
        As in `knn_graph`. Self-tuning scales tau_i are distances to the K-th nearest landmark, so
        that the graph depends on the landmarks; errors are measured for these scales.
        Cosine weights need no landmarks: their matrix has rank d, and the pairs are exact.
    tau : float, optional
        Scale of ``"gaussian"``, in units of X.
    n_neighbors : int
        K of self-tuning weights.
    n_landmarks : int, optional
        M > r; by default 4 r, but at least 200.
    landmarks : {"kmeans", "uniform"}
        Cluster centers, or rows drawn at random.
    dtype : {"float64", "float32"}
        Type of the vectors; single precision takes half the memory, with errors of 1e-7.
    seed : int, SeedSequence or Generator
        Determines the landmarks and the held-out rows.
    progress : bool
        Show the number of rows read, in four passes.

    Returns
    -------
    LowRankSpectrum

    Raises
    ------
    ValueError, TypeError
        Features that are not finite, a rank above that of the landmarks' weights, cosines that
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
    >>> spectrum = gq.nystrom(X, 10, tau=0.2, n_landmarks=100)
    >>> exact = gq.Spectrum.of(gq.full_graph(X, weights="gaussian", tau=0.2, self_loops=True), 10)
    >>> bool(abs(spectrum.values - exact.values).max() < 1e-3)
    True
    """
    validation.one_of("weights", weights, WEIGHTS)
    validation.one_of("landmarks", landmarks, LANDMARKS)
    validation.one_of("dtype", dtype, ("float64", "float32"))
    X = check_table(X)
    n, d = X.shape
    validation.integer("rank", rank, 1, n - 1, f"X has {n} rows, so n - 1 modes")
    require_memory(
        np.dtype(dtype).itemsize * n * (rank + 1.0) + 17.0 * n,
        f"{rank} modes of {n} nodes",
        "ask for a smaller rank, or dtype='float32'",
    )
    count = 0
    if weights == "cosine":
        validation.integer("rank", rank, 1, d - 1, f"cosine weights of {d} features have d modes")
    else:
        default = min(n, max(MIN_LANDMARKS, LANDMARKS_PER_MODE * rank))
        count = default if n_landmarks is None else n_landmarks
        validation.integer("n_landmarks", count, rank + 1, n, "it must exceed the rank")
    if weights == "self-tuning":
        validation.integer("n_neighbors", n_neighbors, 1, count - 1, "take more landmarks")
    check_scale(weights, tau)
    tau = None if tau is None else float(tau)
    ends = require_finite(X)
    rng = np.random.default_rng(validation.seed_sequence(seed))
    if weights == "cosine":
        kernel: Kernel = _Cosine(np.eye(d))
    else:
        require_spread(ends)
        kernel = _Radial.of(_choose_landmarks(X, count, landmarks, rng), tau, n_neighbors)
    with progress_bar(4 * n, progress, "row") as bar:
        return compute_spectrum(X, rank, kernel, dtype, rng, bar)


@dataclass(frozen=True)
class _Cosine:
    """Unit rows: A = K K'."""

    root: Array

    def rows(self, X: Array) -> Array:
        largest = abs(X).max(axis=1)
        if not largest.all():
            raise ValueError("X has rows of zeros, which have no direction: drop them")
        unit = X / largest[:, None]  # keeps squares from overflow and underflow
        return np.asarray(unit / np.linalg.norm(unit, axis=1)[:, None])

    def between(self, X: Array, Y: Array) -> Array:
        return self.rows(X) @ self.rows(Y).T

    def nearest(self, X: Array) -> Array:
        raise ValueError(
            "cosine weights must not be negative on the whole: those of some item sum to less than "
            "its self-loop; use non-negative features, or Gaussian weights"
        )


@dataclass(frozen=True)
class _Radial:
    """Weights exp(-|x - y|^2 / (2 tau_x tau_y)) to the landmarks, eq. (15).

    Attributes
    ----------
    centers : ndarray, shape (M, d)
        The landmarks.
    scales : ndarray, shape (M,)
        Their tau.
    root : ndarray, shape (M, m)
        R, where R R' is the pseudo-inverse of the landmarks' weights.
    landmark_weights : ndarray, shape (M, M)
    """

    centers: Array
    tau: float | None
    n_neighbors: int
    scales: Array
    root: Array
    landmark_weights: Array

    @classmethod
    def of(cls, centers: Array, tau: float | None, n_neighbors: int) -> _Radial:
        # scales of the landmarks
        squared = _squared_distances(centers, centers)
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
            scales = np.full(centers.shape[0], tau)
        landmark_weights = np.exp(-squared / (2 * np.multiply.outer(scales, scales)))
        # their weights' inverse square root, negligible directions left out
        values, vectors = np.linalg.eigh(landmark_weights)
        kept = values > MIN_EIGENVALUE_SHARE * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        return cls(centers, tau, n_neighbors, scales, root, landmark_weights)

    def rows(self, X: Array) -> Array:
        """Return the weights of items to the landmarks."""
        squared = _squared_distances(X, self.centers)
        return _gaussian_weights(squared, self._scale(X, squared), self.scales)

    def _scale(self, X: Array, squared: Array) -> Array:
        if self.tau is not None:
            return np.full(squared.shape[0], self.tau)
        # an item that is a landmark is at distance zero to itself, which does not count
        k = self.n_neighbors
        nearest = np.partition(squared, [0, k - 1, k], axis=1)
        own = nearest[:, 0] <= ZERO_DISTANCE_SHARE * np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.where(own, nearest[:, k], nearest[:, k - 1]))

    def between(self, X: Array, Y: Array) -> Array:
        """Return the weights between two sets of items."""
        scale_x = self._scale(X, _squared_distances(X, self.centers))
        return _gaussian_weights(
            _squared_distances(X, Y), scale_x, self._scale(Y, _squared_distances(Y, self.centers))
        )

    def nearest(self, X: Array) -> Array:
        """Return for each item the weights of its nearest landmark."""
        return self.landmark_weights[_squared_distances(X, self.centers).argmin(axis=1)]


def _choose_landmarks(X: Any, count: int, how: str, rng: np.random.Generator) -> Array:
    n = X.shape[0]
    if how == "uniform":
        return take_rows(X, np.sort(rng.choice(n, count, replace=False)))
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    size = min(n, ROWS_PER_LANDMARK * count)
    sample = take_rows(X, np.sort(rng.choice(n, size, replace=False)))
    with threadpool_limits(1):  # the number of threads changes last digits
        search = KMeans(
            count, init="random", n_init=1, max_iter=10, random_state=int(rng.integers(2**32))
        )
        centers: Array = search.fit(sample).cluster_centers_
    return centers


def _squared_distances(X: Array, Y: Array) -> Array:
    """Return |x_i - y_j|^2 by one product; scikit-learn's copies and checks take longer."""
    squared = X @ (-2 * Y.T)
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(squared, 0.0, out=squared)


def _gaussian_weights(squared: Array, scale_x: Array, scale_y: Array) -> Array:
    """Return the weights of eq. (15), in place of the squared lengths."""
    squared *= (-0.5 / scale_x)[:, None]
    squared /= scale_y
    return np.exp(squared, out=squared)
