"""Eigenpairs of graphs whose weights are a product of thin matrices, A = K R R' K'.

K (n, M) has a row for each item. The row is computed from the item's features alone, so that K is
never held as a whole. With degrees D = diag(A 1), L = I - D^(-1/2) A D^(-1/2) has the eigenvalues
1 - mu of G = R' K' D^(-1) K R, an M x M matrix at most, and the orthonormal eigenvectors
D^(-1/2) K R w mu^(-1/2). Three passes over the rows compute the degrees, G and the vectors; a
fourth measures the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs.spectrum import Spectrum
from graphuq.utils.row_blocks import collect_rows, column_signs, map_rows, take_rows
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

# Since a_ii = 1, every degree is at least 1; an estimate below this means that the extension fails.
MIN_DEGREE = 0.5

# Rounds of replacing the weights of far items: each replacement changes the degrees of others.
MAX_ROUNDS = 20

# Rows held out to compare the approximation with the graph's own weights.
HELD_OUT = 100

# Eigenvalues mu up to this are zero to rounding.
MIN_MU = 1e-8

# The smallest lambda_1 of a graph that is connected numerically.
MIN_LAMBDA_1 = 1e-12


class Kernel(Protocol):
    """The weights of a graph, as a product and one by one."""

    @property
    def root(self) -> Array:
        """R, shape (M, m)."""

    def rows(self, X: Array) -> Array:
        """Return the rows of K for items, shape (b, M)."""

    def nearest(self, X: Array) -> Array:
        """Return rows for items whose own rows give degrees below `MIN_DEGREE`."""

    def between(self, X: Array, Y: Array) -> Array:
        """Return the graph's own weights between two sets of items."""


@dataclass(frozen=True, eq=False, repr=False)
class LowRankSpectrum(Spectrum):
    """Eigenpairs from a product of thin matrices, with errors measured on held-out rows.

    Parameters
    ----------
    values, vectors, null
        See `Spectrum`.
    residuals : ndarray, shape (r,)
        |L q_k - lambda_k q_k| with the graph's own weights, estimated on 100 rows.
    degree_error : float
        Root mean square of the relative error of degrees on these rows.
    n_replaced : int
        Number of items far from all landmarks, whose estimated degree is below the a_ii = 1 of the
        self-loop. They get the weights of the nearest landmark.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(1000, d=2, seed=0)
    >>> few, many = (gq.nystrom(X, 10, tau=0.2, n_landmarks=m) for m in (50, 200))
    >>> bool(many.residuals.max() < few.residuals.max())
    True
    >>> many.degree_error < few.degree_error, many.n_replaced
    (True, 0)
    """

    degree_error: float = 0.0
    n_replaced: int = 0


def compute_spectrum(
    X: Any, rank: int, kernel: Kernel, dtype: str, rng: np.random.Generator, bar: Any
) -> LowRankSpectrum:
    """Return the smallest non-zero eigenpairs; see `graphuq.nystrom`."""
    n = X.shape[0]
    passes = _pass_over_degrees(X, kernel, bar)
    if n_replaced := int(np.count_nonzero(passes.replaced)):
        warn(
            f"{n_replaced} of {n} items are far from all landmarks and get the weights of the "
            "nearest landmark: take a larger tau or more landmarks"
        )
    volume = passes.degrees.sum()
    mu, W = _small_eigenpairs(kernel, passes, volume, rank)
    # D^(-1/2) K R w mu^(-1/2): the third pass
    basis_rows = partial(_basis_rows, kernel, kernel.root @ (W / np.sqrt(mu)), volume)
    alongside = passes.degrees, passes.replaced
    width = kernel.root.shape[0]
    basis = collect_rows(basis_rows, X, width, rank + 1, dtype, *alongside, bar=bar)
    basis *= np.append(1, column_signs(basis)[1:]).astype(dtype)
    residuals, degree_error = _measure_errors(X, kernel, basis, 1 - mu, passes.degrees, rng, bar)
    return LowRankSpectrum(1 - mu, basis[:, 1:], basis[:, 0], residuals, degree_error, n_replaced)


class _Degrees(NamedTuple):
    """What the first two passes find.

    Attributes
    ----------
    degrees : ndarray, shape (n,)
    replaced : ndarray of bool, shape (n,)
        Items with the weights of the nearest landmark.
    total : ndarray, shape (M,)
        K' 1.
    gram : ndarray, shape (M, M)
        K' D^(-1) K.
    """

    degrees: Array
    replaced: NDArray[np.bool_]
    total: Array
    gram: Array


def _pass_over_degrees(X: Any, kernel: Kernel, bar: Any) -> _Degrees:
    n, width = X.shape[0], kernel.root.shape[0]
    # the first pass: K' 1, by which D = diag(K R R' K' 1)
    total = np.zeros(width)
    for _, sums in map_rows(partial(_sum_rows, kernel), X, width, bar=bar):
        total += sums
    # the second pass: degrees and G; again whenever far items were replaced
    degrees, replaced = np.empty(n), np.zeros(n, dtype=bool)
    for _ in range(MAX_ROUNDS):
        gram, change, far = np.zeros((width, width)), np.zeros(width), 0
        weigh = kernel.root @ (kernel.root.T @ total)
        for rows, part in map_rows(
            partial(_block_degrees, kernel, weigh), X, width, replaced, bar=bar
        ):
            degrees[rows] = part.degrees
            gram += part.gram
            if part.far.any():
                replaced[rows] |= part.far
                change += part.change
                far += 1
        if not far:
            return _Degrees(degrees, replaced, total, gram)
        total += change
    raise ValueError(
        "degrees stay negative although far items get the weights of their nearest landmark: take "
        "a larger tau or more landmarks"
    )


def _small_eigenpairs(
    kernel: Kernel, passes: _Degrees, volume: float, rank: int
) -> tuple[Array, Array]:
    """Return the largest mu and their w, the pair of q_0 with mu = 1 left out."""
    small = kernel.root.T @ passes.gram @ kernel.root
    known = kernel.root.T @ passes.total / np.sqrt(volume)  # the w of q_0
    mu, W = np.linalg.eigh(small - np.multiply.outer(known, known))
    usable = int(np.count_nonzero(mu > MIN_MU))
    if usable < rank:
        raise ValueError(
            f"the weights have {usable} modes to rounding, got rank {rank}: ask for a smaller "
            "rank, or take more landmarks or a smaller tau"
        )
    mu, W = mu[::-1][:rank], W[:, ::-1][:, :rank]
    if 1 - mu[0] <= MIN_LAMBDA_1:
        raise ValueError(
            "the graph falls apart numerically: lambda_1 is 0 to rounding; take a larger tau"
        )
    return mu, W


def _measure_errors(
    X: Any,
    kernel: Kernel,
    basis: Array,
    values: Array,
    degrees: Array,
    rng: np.random.Generator,
    bar: Any,
) -> tuple[Array, float]:
    """Return residuals and the relative error of degrees on held-out rows, by a fourth pass."""
    n = X.shape[0]
    held = np.sort(rng.choice(n, min(HELD_OUT, n), replace=False))
    own, image = np.zeros(held.size), np.zeros((held.size, values.size))
    exact = partial(_own_sums, kernel, take_rows(X, held))
    for _, (sums, product) in map_rows(exact, X, held.size, basis, degrees, bar=bar):
        own += sums
        image += product
    q = take_rows(basis, held)[:, 1:]
    gap = q - image / np.sqrt(own)[:, None] - values * q
    error = degrees[held] / own - 1
    residuals = np.sqrt(n / held.size * (gap**2).sum(axis=0))
    return residuals, float(np.sqrt((error**2).mean()))


def _sum_rows(kernel: Kernel, X: Array) -> Array:
    """Return K' 1."""
    return np.asarray(kernel.rows(X).sum(axis=0))


class _DegreesPart(NamedTuple):
    degrees: Array
    gram: Array | float
    far: NDArray[np.bool_]
    change: Array | float


def _block_degrees(
    kernel: Kernel, weigh: Array, X: Array, replaced: NDArray[np.bool_]
) -> _DegreesPart:
    """Return degrees, K' D^(-1) K, and the change of K' 1 if far items are replaced."""
    K = _kernel_rows(kernel, X, replaced)
    degrees = K @ weigh
    far = degrees < MIN_DEGREE
    if far.any():  # there will be another round
        return _DegreesPart(degrees, 0.0, far, (kernel.nearest(X[far]) - K[far]).sum(axis=0))
    return _DegreesPart(degrees, K.T @ (K / degrees[:, None]), far, 0.0)


def _basis_rows(
    kernel: Kernel,
    coefficients: Array,
    volume: float,
    X: Array,
    degrees: Array,
    replaced: NDArray[np.bool_],
) -> Array:
    """Return rows of [q_0, Q], where Q = D^(-1/2) K coefficients."""
    K = _kernel_rows(kernel, X, replaced)
    scale = np.sqrt(degrees)[:, None]
    return np.hstack([scale / np.sqrt(volume), (K @ coefficients) / scale])


def _own_sums(
    kernel: Kernel, held: Array, X: Array, basis: Array, degrees: Array
) -> tuple[Array, Array]:
    """Return the sums, over the items of X, of weights and of weights times q."""
    weights = kernel.between(held, X)
    return weights.sum(axis=1), weights @ (basis[:, 1:] / np.sqrt(degrees)[:, None])


def _kernel_rows(kernel: Kernel, X: Array, replaced: NDArray[np.bool_]) -> Array:
    K = kernel.rows(X)
    if replaced.any():
        K[replaced] = kernel.nearest(X[replaced])
    return K
