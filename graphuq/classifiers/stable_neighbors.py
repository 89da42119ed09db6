"""The nearest training items, in an order independent of the search and of rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array


class Nearest:
    """Rows of X in order of their distance; the earlier of equally distant rows is first.

    Duplicates and features on a grid make ties common, and a search returns tied rows in any order,
    or leaves some out. Distances that agree to ten digits count as equal, since those between
    features such as 0.1 and 0.3 are ties except for rounding.

    Parameters
    ----------
    X : ndarray, shape (n, d)

    Examples
    --------
    >>> Nearest(np.array([[0.0], [1.0], [-1.0], [1.0]])).rows(2)
    array([[1, 2],
           [3, 0],
           [0, 1],
           [1, 0]])
    """

    def __init__(self, X: Array) -> None:
        self._X = X
        # a tree computes each distance directly; brute force loses digits to cancellation
        self._search = NearestNeighbors(algorithm="ball_tree").fit(X)

    def rows(self, K: int, queries: Array | None = None) -> NDArray[np.int64]:
        """Return the K nearest rows to each query, shape (m, K).

        Without ``queries``, return those of each row of X among the others.
        """
        n, itself = self._X.shape[0], int(queries is None)
        queries = self._X if queries is None else queries
        rows = np.empty((queries.shape[0], K), dtype=np.int64)
        undecided = np.arange(queries.shape[0])
        requested = K + itself
        while undecided.size:
            requested = min(requested + K, n)
            require_memory(
                40.0 * undecided.size * requested,
                f"the order of {requested} neighbors of {undecided.size} items",
                "use fewer items",
            )
            distances, found = self._search.kneighbors(queries[undecided], requested)
            distances = _to_ten_digits(distances)
            if itself:
                distances[found == undecided[:, None]] = np.inf
            order = np.lexsort((found, distances))
            rows[undecided] = np.take_along_axis(found, order, axis=1)[:, :K]
            # there may be more rows at the distance of the last one found: search again
            distances = np.take_along_axis(distances, order, axis=1)
            tied = distances[:, K - 1] == distances[:, requested - 1 - itself]
            undecided = undecided[tied & (requested < n)]
        return rows


def _to_ten_digits(distances: Array) -> Array:
    shifted = distances * (2**20 + 1)  # Veltkamp's splitting keeps the first 33 of 53 bits
    return shifted - (shifted - distances)
