"""Graphs in Matrix Market files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from graphuq.cli.files.contents import Contents
from graphuq.graphs import Graph
from graphuq.graphs.foreign import without_directions


def read_matrix_market(path: Path) -> Contents:
    """Return the numbers of the nodes, from 1 as in the file, and the undirected graph.

    Raises
    ------
    ValueError
        A damaged file, a matrix that is not square, weights that are negative or not finite.
    """
    from scipy.io import mmread  # reads a dozen formats, none of which others need

    try:
        with warnings.catch_warnings():  # of newer SciPy: its matrix becomes an array here
            warnings.simplefilter("ignore", DeprecationWarning)
            matrix = sparse.csr_array(mmread(path))
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(
            f"{path} is not in Matrix Market format, or is damaged ({error}): write it again"
        ) from error
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{path}: an adjacency matrix is square, got shape {matrix.shape}: save features and "
            "labels as a table"
        )
    notes: tuple[str, ...] = ("the nodes have the numbers of the file, from 1",)
    try:
        if (matrix != matrix.T).nnz:
            matrix, note = without_directions(matrix)
            notes += (note,)
        graph = Graph(matrix.astype(np.float64))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    ids = np.arange(1, graph.n_nodes + 1).astype(str)
    return Contents(ids, None, graph, {}, notes)
