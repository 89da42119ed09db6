"""Tables that are matrices: a row and a column for each node, as R and pandas write them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest

import numpy as np

from graphuq.cli.files.contents import NUMBERED, Contents
from graphuq.cli.files.numbers import is_number
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table
from graphuq.cli.files.text_table import TextTable
from graphuq.graphs import Graph

# A table with fewer rows is no matrix.
MIN_NODES = 3


def find_edge_matrix(table: Table, options: ReadOptions) -> Contents | None:
    """Return the graph whose weights a table holds, None of another table.

    Raises
    ------
    ValueError
        ``--edges`` or ``--table`` does not say whether it is one; its names do not match; cells
        that are not numbers; a matrix that is not symmetric, or has negative weights.
    """
    if options.edges is False:
        return None
    if options.edges:
        numbers = all(map(is_number, next(table.rows(), (0, []))[1]))  # or an empty file
        if numbers:
            return _read(table, options, named=False) if _is_plain(table) else None
        if not _is_named(table):
            _require_names_in_order(table)
            return None
        return _read(table, options, named=True)
    if _is_named(table):
        raise ValueError(
            f"{table.path}: the rows are called as the columns: use --edges if the cells are "
            "weights of edges, or --table if each row is an item, and its cells are features"
        )
    return None


def _is_named(table: Table) -> bool:
    """Return whether the rows are called as the columns after the first one are."""
    first, *names = table.columns
    if isinstance(table, TextTable):  # most tables differ in the first row already
        cells: Iterator[str] = (row[0].strip() for _, row in islice(table.rows(), 1, None))
    else:
        cells = iter(table.texts(first))
    pairs = zip_longest(islice(cells, len(names) + 1), names)
    return len(names) >= MIN_NODES and all(cell == name for cell, name in pairs)


def _require_names_in_order(table: Table) -> None:
    """Refuse a table of edges whose rows are called nearly as its columns are."""
    names = [name.lower() for name in table.columns[1:]]
    cells = {row[0].strip().lower() for _, row in islice(table.rows(), 1, None)}
    if len(names) >= MIN_NODES and 2 * len(cells & {*names}) > len(names):
        raise ValueError(
            f"{table.path}: the rows are called nearly as the columns are: a matrix of weights has "
            "the same names, in the same order, in its first row and its first column"
        )


def _is_plain(table: Table) -> bool:
    """Return whether the file holds numbers alone, in as many rows as columns."""
    rows = [cells for _, cells in table.rows()]
    width = len(rows[0]) if rows else 0
    return len(rows) == width > MIN_NODES and all(
        len(cells) == width and all(map(is_number, cells)) for cells in rows
    )


def _read(table: Table, options: ReadOptions, *, named: bool) -> Contents:
    """Return the names of the nodes, if the table has any, and the graph."""
    if options.weight is not None or options.ignore:
        raise ValueError(
            f"{table.path}: --weight and --ignore cannot be used with a matrix: leave them out"
        )
    problems = Problems()
    skipped = 1 if named else 0
    rows = [(line, cells[skipped:]) for line, cells in islice(table.rows(), skipped, None)]
    n = len(rows)
    A = np.zeros((n, n))
    for i, (line, cells) in enumerate(rows):
        for j, cell in enumerate(cells[:n]):
            text = cell.strip() or "0"
            if is_number(text):
                A[i, j] = float(text)
            else:
                problems.add(
                    f"{table.path}, line {line}, column {j + 1 + skipped}: {text!r} is not a "
                    "number: correct it, or leave the cell blank if there is no edge"
                )
    problems.require_none()
    try:
        graph = Graph(A)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{table.path}: {error}") from error
    if named:
        return Contents(np.array(table.columns[1:]), None, graph, {}, ())
    return Contents(np.arange(n).astype(str), None, graph, {}, (NUMBERED,))
