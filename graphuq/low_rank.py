"""Eigenpairs of graphs whose weights are a product of thin matrices, A = K R R' K'.

K (n, M) has a row for each item, made from its features alone, so that it need never be held
whole. With degrees D = diag(A 1), L = I - D^(-1/2) A D^(-1/2) has the eigenvalues 1 - mu of
G = R' K' D^(-1) K R, an M x M matrix at most, and the eigenvectors D^(-1/2) K R w mu^(-1/2):
orthonormal as they come. Three passes over the rows do, for degrees, G and the vectors, and a
fourth measures errors.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.row_blocks import gathered, mapped, taken
from graphuq.spectrum import Spectrum

Array = NDArray[np.float64]

# With a_ii = 1 every degree is at least 1; an estimate below this is the extension's failure.
LEAST_DEGREE = 0.5

# How often items may be found far from all landmarks anew: to replace one changes others' degrees.
ROUNDS = 20

# Rows held out, on which errors are measured against the graph's own weights.
HELD_OUT = 100


class Kernel(Protocol):
    """Weights of a graph, as a product and one by one."""

    @property
    def root(self) -> Array:
        """R, shape (M, m)."""

    def rows(self, X: Array) -> Array:
        """Return rows of K, shape (b, M), for those of features."""

    def nearest(self, X: Array) -> Array:
        """Return rows for items that have degrees below `LEAST_DEGREE` with their own."""

    def between(self, X: Array, Y: Array) -> Array:
        """Return the graph's own weights between items and items."""


@dataclass(frozen=True, eq=False)
class LowRankSpectrum(Spectrum):
    """Eigenpairs from a product of thin matrices, with errors measured on rows held out.

    Parameters
    ----------
    values, vectors, null
        See `Spectrum`.
    residuals : ndarray, shape (r,)
        |L q_k - lambda_k q_k| with the graph's own weights, estimated on 100 rows.
    degree_error : float
        Root mean square of (estimated - own) / own degree there.
    n_replaced : int
        Items whose degree was estimated below what a_ii = 1 alone makes: far from all landmarks,
        they take the weights of the nearest.

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


def spectrum_of(
    X: Any, rank: int, kernel: Kernel, dtype: str, rng: np.random.Generator, bar: Any
) -> LowRankSpectrum:
    """Return the smallest non-zero eigenpairs; see `graphuq.nystrom`."""
    n, width = X.shape[0], kernel.root.shape[0]
    total = np.zeros(width)
    for _, sums in mapped(partial(_sums, kernel), X, width, bar=bar):
        total += sums
    degrees, replaced = np.empty(n), np.zeros(n, dtype=bool)
    for _ in range(ROUNDS):
        gram, change, far = np.zeros((width, width)), np.zeros(width), 0
        weigh = kernel.root @ (kernel.root.T @ total)
        for rows, part in mapped(partial(_degrees, kernel, weigh), X, width, replaced, bar=bar):
            degrees[rows] = part.degrees
            gram += part.gram
            if part.far.any():
                replaced[rows] |= part.far
                change += part.change
                far += 1
        if not far:
            break
        total += change
    else:
        raise ValueError(
            "degrees stay negative however many items take the weights of their nearest landmark: "
            "take a larger tau, or more landmarks"
        )
    n_replaced = int(np.count_nonzero(replaced))
    if n_replaced:
        warnings.warn(
            f"{n_replaced} of {n} items are far from all landmarks, and take the weights of the "
            "nearest: a larger tau, or more landmarks, would serve them better",
            RuntimeWarning,
            stacklevel=3,
        )
    volume = degrees.sum()
    small = kernel.root.T @ gram @ kernel.root
    known = kernel.root.T @ total / np.sqrt(volume)  # q_0, whose mu is 1
    mu, W = np.linalg.eigh(small - np.multiply.outer(known, known))
    usable = int(np.count_nonzero(mu > 1e-8))
    if usable < rank:
        raise ValueError(
            f"the weights have {usable} modes to rounding, got rank {rank}: ask for fewer, or take "
            "more landmarks or a smaller tau"
        )
    mu, W = mu[::-1][:rank], W[:, ::-1][:, :rank]
    if 1 - mu[0] <= 1e-12:
        raise ValueError(
            "the graph falls apart numerically: lambda_1 is 0 to rounding; take a larger tau"
        )
    rows_of = partial(_basis, kernel, kernel.root @ (W / np.sqrt(mu)), volume)
    basis = gathered(rows_of, X, width, rank + 1, dtype, degrees, replaced, bar=bar)
    basis *= np.append(1, _signs(basis)[1:]).astype(dtype)
    residuals, degree_error = _errors(X, kernel, basis, 1 - mu, degrees, rng, bar)
    return LowRankSpectrum(1 - mu, basis[:, 1:], basis[:, 0], residuals, degree_error, n_replaced)


def _signs(basis: Array) -> Array:
    """Return the sign of each column's largest entry."""
    largest = np.zeros(basis.shape[1])
    for _, entries in mapped(_largest, basis, basis.shape[1]):
        largest = np.where(abs(entries) > abs(largest), entries, largest)
    return np.sign(largest)


def _largest(rows: Array) -> Array:
    """Return the entry of each column that is largest but for its sign."""
    return np.asarray(rows[abs(rows).argmax(axis=0), np.arange(rows.shape[1])])


def _errors(
    X: Any,
    kernel: Kernel,
    basis: Array,
    values: Array,
    degrees: Array,
    rng: np.random.Generator,
    bar: Any,
) -> tuple[Array, float]:
    """Return residuals, and the relative error of degrees, on rows held out."""
    n = X.shape[0]
    held = np.sort(rng.choice(n, min(HELD_OUT, n), replace=False))
    own, image = np.zeros(held.size), np.zeros((held.size, values.size))
    exact = partial(_exact, kernel, taken(X, held))
    for _, (sums, product) in mapped(exact, X, held.size, basis, degrees, bar=bar):
        own += sums
        image += product
    q = taken(basis, held)[:, 1:]
    gap = q - image / np.sqrt(own)[:, None] - values * q
    error = degrees[held] / own - 1
    residuals = np.sqrt(n / held.size * (gap**2).sum(axis=0))
    return residuals, float(np.sqrt((error**2).mean()))


def _sums(kernel: Kernel, X: Array) -> Array:
    """Return K'1."""
    return np.asarray(kernel.rows(X).sum(axis=0))


class _Part(NamedTuple):
    degrees: Array
    gram: Array | float
    far: NDArray[np.bool_]
    change: Array | float


def _degrees(kernel: Kernel, weigh: Array, X: Array, replaced: NDArray[np.bool_]) -> _Part:
    """Return degrees, K' D^-1 K, and by how much K'1 changes if far items are replaced."""
    K = _rows(kernel, X, replaced)
    degrees = K @ weigh
    far = degrees < LEAST_DEGREE
    if far.any():  # there will be another round
        return _Part(degrees, 0.0, far, (kernel.nearest(X[far]) - K[far]).sum(axis=0))
    return _Part(degrees, K.T @ (K / degrees[:, None]), far, 0.0)


def _basis(
    kernel: Kernel,
    coefficients: Array,
    volume: float,
    X: Array,
    degrees: Array,
    replaced: NDArray[np.bool_],
) -> Array:
    """Return rows of [q_0, Q], Q = D^-1/2 K coefficients."""
    K = _rows(kernel, X, replaced)
    scale = np.sqrt(degrees)[:, None]
    return np.hstack([scale / np.sqrt(volume), (K @ coefficients) / scale])


def _exact(
    kernel: Kernel, held: Array, X: Array, basis: Array, degrees: Array
) -> tuple[Array, Array]:
    """Return, for the rows held out, sums over these items of weights, and of weights times q."""
    weights = kernel.between(held, X)
    return weights.sum(axis=1), weights @ (basis[:, 1:] / np.sqrt(degrees)[:, None])


def _rows(kernel: Kernel, X: Array, replaced: NDArray[np.bool_]) -> Array:
    K = kernel.rows(X)
    if replaced.any():
        K[replaced] = kernel.nearest(X[replaced])
    return K
