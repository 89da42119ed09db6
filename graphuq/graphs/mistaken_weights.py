"""Weights that are probably something else: distances, or numbers of which none is used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

# Names of distances.
DISTANCES = ("distance", "dist", "length", "cost", "time", "km", "miles")


def names_distances(name: str) -> bool:
    """Return whether a word of a name is one for distances, as in travel_time_min.

    Examples
    --------
    >>> names_distances("Travel_time (min)"), names_distances("timeline")
    (True, False)
    """
    return any(word in DISTANCES for word in re.split(r"[\W_]+", name.lower()))


# Nodes among which triangles are compared; fewer show nothing.
MIN_COMPARED, MAX_COMPARED = 8, 60

# Numbers within a factor 2 are no longer than any two of them together, whatever they are. Beyond
# this factor, a small weight that is no distance joins nodes whose other weights differ by more.
RATIO = 5.0

# Files hold rounded distances, to this share of the largest. Duplicates have the distance 0, so
# that only this share of all pairs must be positive.
ROUNDING, FULL = 5e-3, 0.98


def warn_of_distances(A: Any) -> None:
    """Warn of a matrix of distances, of which similarities are the opposite.

    Its diagonal is 0, nearly all other entries are positive, and no side of a triangle is longer
    than the other two together; that holds for squared distances after a root.

    Parameters
    ----------
    A : ndarray or csr_array, shape (n, n)
        Symmetric, finite and non-negative.

    Examples
    --------
    >>> x = np.linspace(0, 1, 10)
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_distances(abs(x[:, None] - x))
    ...     warn_of_distances(np.exp(-100 * (x[:, None] - x) ** 2) - np.eye(10))
    >>> len(caught)
    1
    """
    n = A.shape[0]
    entries = A.nnz if sparse.issparse(A) else np.count_nonzero(A)
    if n < MIN_COMPARED or entries < FULL * n * (n - 1) or A.diagonal().any():
        return
    some = np.unique(np.linspace(0, n - 1, MAX_COMPARED).astype(int))
    D = A[some][:, some].toarray() if sparse.issparse(A) else A[np.ix_(some, some)]
    if _are_lengths(D) or _are_lengths(np.sqrt(D)):
        warn(
            "the weights look like distances: they are 0 on the diagonal and positive elsewhere, "
            "and fulfill the triangle inequality. Similar nodes need large weights, such as "
            "np.exp(-(D / scale) ** 2); of features, gq.knn_graph(X) builds a graph"
        )


def _are_lengths(D: Array) -> bool:
    """Return whether numbers that differ much fulfill the triangle inequality, up to rounding."""
    sides = D[D > 0]
    if sides.max() <= RATIO * sides.min():
        return False
    detour = (D[:, :, None] + D[None, :, :]).min(axis=1)  # over the node between two others
    return bool((detour + ROUNDING * D.max() >= D).all())


def warn_of_adjacency(X: Array) -> None:
    """Warn of features that are a symmetric matrix, which holds pairs of items instead.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_adjacency(np.ones((10, 10)))
    >>> len(caught)
    1
    """
    n, d = X.shape
    if n == d >= MIN_COMPARED and np.count_nonzero(X) >= 2 * n and np.allclose(X, X.T, 1e-9, 0):
        warn(
            "X is symmetric, as matrices of weights, kernels and distances are, and its rows are "
            'used as features: gq.Graph(X), or affinity="precomputed", takes weights'
        )


def warn_of_unused_weights(
    edges: Iterable[dict[str, Any]], remedy: str = "call it 'weight'"
) -> None:
    """Warn of numbers at the edges of a graph, if none of them is called ``weight``.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_unused_weights([{"value": 2}, {}])
    >>> print(caught[0].message)
    edges have the attribute 'value', which is not used: call it 'weight' if it is their weight
    """
    numeric: dict[str, None] = {}
    for attributes in edges:
        if "weight" in attributes:
            return
        for name, value in attributes.items():
            if isinstance(value, Real) and not isinstance(value, bool):
                numeric.setdefault(name)
    if numeric:
        name = next(iter(numeric))
        far = "; of distances, 1 / distance is one" * names_distances(name)
        warn(
            f"edges have the attribute {name!r}, which is not used: {remedy} if it is their "
            f"weight{far}"
        )
