"""Items that are rows of a table, with the columns in which one differs most from its neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.utils.words import shorten

# Columns of a neighbor that are shown, and letters of a cell.
N_BESIDE, MAX_LETTERS = 4, 300


class Column(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    name : str
    cells : sequence of str, length N
        As they are written; "" where nothing is.
    numbers : ndarray, shape (N,), or None
        NaN where a cell is no number; None for a column of texts.
    compared : bool
        Whether items are compared by it, as they are by features.
    """

    name: str
    cells: Sequence[str]
    numbers: NDArray[np.float64] | None
    compared: bool = True


def columns_of(frame: Any) -> list[Column]:
    """Return the columns of a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> column, = columns_of(pd.DataFrame({"size": [1.5, None]}))
    >>> column.cells, column.numbers
    (['1.5', ''], array([1.5, nan]))
    """
    import pandas as pd

    found = []
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan) if numeric else None
        cells = [
            "" if missing else str(cell)
            for cell, missing in zip(column, column.isna(), strict=True)
        ]
        found.append(Column(str(name), cells, numbers))
    return found


class Rows:
    """The rows of a table.

    An item differs in a column of numbers by its distance from the weighted mean of its neighbors
    in the graph, in standard deviations of the column, and in a column of texts by the weighted
    share of neighbors with another text, times the root of 2: the distance of two indicators.

    Parameters
    ----------
    columns : sequence of Column
    graph : Graph

    Examples
    --------
    >>> from graphuq.graphs import knn_graph
    >>> sizes = np.array([1.0, 1.1, 1.2, 9.0])
    >>> columns = [
    ...     Column("color", ["red", "red", "red", "red"], None),
    ...     Column("size", [str(size) for size in sizes], sizes),
    ... ]
    >>> rows = Rows(columns, knn_graph(sizes[:, None], 2, connect=True))
    >>> [(cell["column"], cell["value"], cell["around"]) for cell in rows.show(3)["cells"]]
    [('size', '9.0', '1.2'), ('color', 'red', 'red')]
    """

    def __init__(self, columns: Sequence[Column], graph: Graph) -> None:
        self._columns = tuple(columns)
        self._edges = sparse.csr_array(graph.adjacency)
        self._scales = [
            None if column.numbers is None else _spread(column.numbers) for column in self._columns
        ]

    def show(self, node: int) -> dict[str, Any]:
        """Return all cells, first those that differ most from the neighbors'."""
        return {"kind": "row", "cells": [cell for _, cell in self._by_difference(node)]}

    def show_beside(self, neighbor: int, node: int) -> dict[str, Any]:
        """Return the cells of a neighbor in the columns in which the item differs most."""
        cells = [
            {"column": column.name, "value": shorten(column.cells[neighbor], MAX_LETTERS)}
            for column, _ in self._by_difference(node)[:N_BESIDE]
        ]
        return {"kind": "row", "cells": cells}

    def _by_difference(self, node: int) -> list[tuple[Column, dict[str, Any]]]:
        its = slice(self._edges.indptr[node], self._edges.indptr[node + 1])
        others = self._edges.indices[its] != node
        around, weights = self._edges.indices[its][others], self._edges.data[its][others]
        found = []
        for column, scale in zip(self._columns, self._scales, strict=True):
            typical, difference = _compare(column, scale, node, around, weights)
            cell = {
                "column": column.name,
                "value": shorten(column.cells[node], MAX_LETTERS),
                "around": typical,
                "difference": difference,
            }
            found.append((column, cell))
        return sorted(found, key=lambda pair: -pair[1]["difference"])


def _spread(numbers: NDArray[np.float64]) -> float:
    known = numbers[np.isfinite(numbers)]
    return float(known.std()) if known.size else 0.0


def _compare(
    column: Column,
    scale: float | None,
    node: int,
    around: NDArray[Any],
    weights: NDArray[np.float64],
) -> tuple[str, float]:
    """Return what is typical of the neighbors, and by how much the item differs."""
    if not column.compared:
        return "", 0.0
    if scale is None or column.numbers is None:
        texts: dict[str, float] = {}
        for other, weight in zip(around, weights, strict=True):
            texts[column.cells[other]] = texts.get(column.cells[other], 0.0) + float(weight)
        if not texts:
            return "", 0.0
        typical = max(texts, key=lambda text: texts[text])
        same = texts.get(column.cells[node], 0.0) / sum(texts.values())
        return shorten(typical, MAX_LETTERS), round(float(np.sqrt(2) * (1 - same)), 3)
    own, others = column.numbers[node], column.numbers[around]
    known = np.isfinite(others)
    if not known.any() or not np.isfinite(own) or scale == 0:
        return "", 0.0
    mean = float(np.average(others[known], weights=weights[known]))
    return f"{mean:.3g}", round(float(abs(own - mean) / scale), 3)
