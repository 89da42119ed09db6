"""What a file says of the items to classify."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph, knn_graph
from graphuq.labels import Labels

Array = NDArray[np.float64]

# Neighbours of an item where the user does not say.
NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class Items:
    """Items, with features or with a graph that joins them, and the labels of some.

    Attributes
    ----------
    path : Path
        The file.
    ids : ndarray of str, shape (n,)
    features : ndarray, shape (n, d), or None
    graph : Graph or None
        One of the two is there.
    known : ndarray of object, shape (n,)
        The class of each item, a string, or None where it is not known.
    truth : ndarray of object, shape (n,), or None
        The true classes, where a column gives them; to score only.
    notes : tuple of str
        What was done to the file's contents on the way, in words.
    left_out : tuple of str
        Ids of items that the file has and that are not here.
    """

    path: Path
    ids: NDArray[Any]
    features: Array | None
    graph: Graph | None
    known: NDArray[Any]
    truth: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def labels(self) -> Labels:
        """Return the labels that are known.

        Raises
        ------
        ValueError
            Fewer than two classes.

        Examples
        --------
        >>> known = np.array(["spam", None, "ham"], dtype=object)
        >>> Items(Path("mail.npz"), np.array(["a", "b", "c"]), np.eye(3), None, known).labels()
        Labels(2 nodes: 1 x 'ham', 1 x 'spam')
        """
        nodes = np.flatnonzero([label is not None for label in self.known])
        values = [str(label) for label in self.known[nodes]]
        if len(set(values)) < 2:
            if not values:
                raise ValueError(
                    f"{self.path}: no item has a label: name the column that holds them with "
                    "--label, or a file of them with --labels"
                )
            raise ValueError(
                f"{self.path}: all {len(values)} labels are {values[0]!r}: label at least one item "
                "of another class too"
            )
        return Labels(nodes, values)

    def joined(self, n_neighbors: int | None = None) -> Graph:
        """Return the graph, made of the features if the file has none.

        Parameters
        ----------
        n_neighbors : int, optional
            Each item is joined to so many nearest ones, 10 by default, or all there are.
        """
        if self.graph is not None:
            return self.graph
        assert self.features is not None
        return knn_graph(self.features, self.neighbors(n_neighbors), connect=True)

    def neighbors(self, wanted: int | None) -> int:
        """Return how many neighbours `joined` takes."""
        return min(NEIGHBORS, self.ids.size - 1) if wanted is None else wanted
