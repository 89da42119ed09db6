"""The items of a file: ids, features or a graph, and labels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.columns import Column
from graphuq.cli.files.encoding import Encoding
from graphuq.cli.files.numbers import DECIMAL_COMMA, POINTED
from graphuq.cli.files.problems import FileProblemsError
from graphuq.graphs import Graph, knn_graph
from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array

# Default number of neighbors of an item.
NEIGHBORS = 10

# More classes that are numbers with decimals are measurements.
MAX_DECIMALS = 10


@dataclass(frozen=True, eq=False)
class Items:
    """Items to classify, with features or a graph, and the labels of some of them.

    Attributes
    ----------
    path : Path
        The file.
    ids : ndarray of str, shape (n,)
    features : ndarray, shape (n, d), or None
    graph : Graph or None
        Either the features or the graph is given; cells have both, and so have linked items.
    known : ndarray of object, shape (n,)
        The class of each item, a string, or None if it is unknown.
    truth : ndarray of object, shape (n,), or None
        The true classes, if a column gives them. They are used only to score predictions.
    notes : tuple of str
        Sentences that say how the contents of the file were changed.
    left_out : tuple of str
        Ids of the items in the file that were dropped.
    image_shape : (int, int) or None
        Height and width, if the features are the pixels of images.
    encoding : Encoding or None
        How the columns of the file became features.
    classes : tuple of str
        Classes that the user listed; they may have no label.
    confidence : ndarray, shape (n,), or None
        The probability that each label is right; None if all are certain.
    groups : ndarray of str, shape (n,), or None
        The group of each item, whose shares of the classes are wanted.
    columns : tuple of Column
        How the columns of a table were read.
    shown : DataFrame, n rows, or None
        Columns that lists of items show.
    images : ndarray, shape (n, n_pixels), or None
        Gray levels of items that are pictures in files.
    linked : bool
        Whether the graph has links that were not made of the features.
    sampling : str or None
        How the labels were chosen, if the file says so; see `Labels`.
    """

    path: Path
    ids: NDArray[Any]
    features: Array | None
    graph: Graph | None
    known: NDArray[Any]
    truth: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    encoding: Encoding | None = None
    classes: tuple[str, ...] = ()
    confidence: Array | None = None
    groups: NDArray[Any] | None = None
    columns: tuple[Column, ...] = ()
    shown: pd.DataFrame | None = None
    images: Array | None = None
    linked: bool = False
    sampling: str | None = None

    def labels(self, sampling: str | None = None) -> Labels:
        """Return the known labels, chosen as ``sampling`` says, or else as the file does.

        Raises
        ------
        ValueError
            The labels have fewer than two classes.

        Examples
        --------
        >>> known = np.array(["spam", None, "ham"], dtype=object)
        >>> Items(Path("mail.npz"), np.array(["a", "b", "c"]), np.eye(3), None, known).labels()
        Labels(2 nodes: 1 x 'ham', 1 x 'spam')
        """
        nodes = np.flatnonzero([label is not None for label in self.known])
        values = [str(label) for label in self.known[nodes]]
        if not values:
            raise self._error(
                f"{self.path}: no item has a label: name the column of labels with --label, or a "
                "file of labels with --labels"
            )
        classes = sorted({*values, *self.classes})
        self._require_classes(values, classes)
        trust = None if self.confidence is None else self.confidence[nodes]
        return Labels(nodes, values, classes, confidence=trust, sampling=sampling or self.sampling)

    def _require_classes(self, values: list[str], classes: list[str]) -> None:
        """Refuse a single class, names of items and measurements."""
        if len(classes) < 2:
            found = f"all {len(values)} labels are" if len(values) > 1 else "the only label is"
            marks = "".join(f"; {note}" for note in self.notes if "use --class" in note)
            raise self._error(
                f"{self.path}: {found} {values[0]!r}: label at least one item of another class"
                f"{marks}"
            )
        if len(set(values)) == len(values) == self.ids.size > 2:
            raise self._error(
                f"{self.path}: each of the {len(values)} items has a label of its own, such as "
                f"{values[0]!r}: name the column of labels with --label; if this one names the "
                "items, use it with --id"
            )
        decimals = [name for name in classes if re.fullmatch(f"{POINTED}|{DECIMAL_COMMA}", name)]
        whole = sum(name.lstrip("+-").isdigit() for name in classes)
        if len(decimals) > MAX_DECIMALS and len(decimals) + whole == len(classes):
            raise self._error(
                f"{self.path}: the labels are {len(classes)} different numbers, such as "
                f"{decimals[0]!r}: name a column of classes with --label, write ranges of the "
                "numbers as classes, or, if they are names, write a letter in front of each"
            )

    def _error(self, problem: str) -> FileProblemsError:
        """Return an error that shows how the columns were read."""
        return FileProblemsError([problem], columns=self.columns)

    def to_graph(self, n_neighbors: int | None = None) -> Graph:
        """Return the graph of the file, or the nearest-neighbor graph of its features.

        Parameters
        ----------
        n_neighbors : int, optional
            Number of neighbors of each item, by default 10, or all other items if there are fewer.
        """
        if self.graph is not None:
            if n_neighbors is not None:
                given = "its links are" if self.linked else f"{self.path} is"
                raise ValueError(
                    f"{given} a graph, and --neighbors builds one from features: leave it out"
                )
            return self.graph
        assert self.features is not None
        return knn_graph(self.features, self.n_neighbors(n_neighbors), connect=True)

    def n_neighbors(self, wanted: int | None) -> int:
        """Return the number of neighbors that `to_graph` uses."""
        return min(NEIGHBORS, self.ids.size - 1) if wanted is None else wanted
