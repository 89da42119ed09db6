"""The nearest training items, in an order that depends neither on the search nor on rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from graphuq import validation


class Nearest:
    """Rows of X in order of their distance, of equally distant ones the earlier row first.

    Duplicates and features on a grid make ties common; which of them a search returns first, or at
    all, is its own affair. Distances that agree to ten digits count as equal, since those between
    features such as 0.1 and 0.3 are ties but for rounding.

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

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._X = X
        # a tree computes each distance as it stands; brute force loses digits to cancellation
        self._search = NearestNeighbors(algorithm="ball_tree").fit(X)

    def rows(self, K: int, queries: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """Return the K nearest rows to each query, shape (m, K).

        Without ``queries``, to each row of X among the others.
        """
        n, itself = self._X.shape[0], int(queries is None)
        queries = self._X if queries is None else queries
        rows = np.empty((queries.shape[0], K), dtype=np.int64)
        unsettled = np.arange(queries.shape[0])
        asked = K + itself
        while unsettled.size:
            asked = min(asked + K, n)
            validation.memory(
                40.0 * unsettled.size * asked,
                f"the order of {asked} neighbours of {unsettled.size} items",
                "use fewer items",
            )
            distances, found = self._search.kneighbors(queries[unsettled], asked)
            distances = _to_ten_digits(distances)
            if itself:
                distances[found == unsettled[:, None]] = np.inf
            order = np.lexsort((found, distances))
            rows[unsettled] = np.take_along_axis(found, order, axis=1)[:, :K]
            # beyond the last one found there may be more at the same distance
            distances = np.take_along_axis(distances, order, axis=1)
            tied = distances[:, K - 1] == distances[:, asked - 1 - itself]
            unsettled = unsettled[tied & (asked < n)]
        return rows


def _to_ten_digits(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = distances * (2**20 + 1)  # Veltkamp's splitting: the first 33 of 53 bits
    return shifted - (shifted - distances)
