"""Graphs in GraphML files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from graphuq.cli.files.contents import Contents
from graphuq.graphs import Graph


def read_graphml(path: Path) -> Contents:
    """Return the ids of the nodes, the undirected graph and the node attributes.

    Raises
    ------
    ModuleNotFoundError
        networkx is not installed.
    ValueError
        A damaged file, or weights that are negative or not numbers.
    """
    try:
        import networkx
    except ImportError as error:
        raise ModuleNotFoundError(
            "GraphML needs networkx: pip install 'graphuq[networkx]', or save a list of edges"
        ) from error
    try:
        network = networkx.read_graphml(path)
    except Exception as error:  # damage can make the reader fail in any way
        raise ValueError(
            f"{path} is not GraphML, or is damaged ({error}): export it again"
        ) from error
    notes: tuple[str, ...] = ()
    if network.is_multigraph():
        notes += ("added the weights of edges listed more than once",)
    try:
        # Edges between the same nodes are added here.
        A = networkx.to_scipy_sparse_array(network, dtype=float, format="csr")
        if network.is_directed():
            A, note = without_directions(A)
            notes += (note,)
        graph = Graph(A)
    except (ValueError, TypeError, networkx.NetworkXError) as error:
        raise ValueError(f"{path}: {error}") from error
    attributes = [values for _, values in network.nodes(data=True)]
    columns = {
        name: [values.get(name) for values in attributes]
        for name in sorted({name for values in attributes for name in values})
    }
    ids = np.array([str(node) for node in network.nodes])
    return Contents(ids, None, graph, columns, notes)


def without_directions(A: sparse.csr_array) -> tuple[sparse.csr_array, str]:
    """Return the weights of undirected edges, and a note; those of both directions are added.

    If every edge is there in both directions with one weight, it counts once.
    """
    if (A != A.T).nnz == 0:
        return A, "the graph has every edge in both directions: each counts once"
    loops = sparse.diags_array(A.diagonal())
    return sparse.csr_array(A + A.T - loops), "added the weights of both directions of the edges"
