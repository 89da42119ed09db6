"""Graphs in files of GraphML, GML, GEXF and Pajek, which networkx reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files.contents import Contents
from graphuq.graphs import Graph
from graphuq.graphs.foreign import without_directions
from graphuq.graphs.mistaken_weights import warn_of_unused_weights
from graphuq.utils.words import list_names

# The formats by the suffixes of their files; networkx has a reader of each.
FORMATS = {".graphml": "GraphML", ".gml": "GML", ".gexf": "GEXF", ".net": "Pajek"}


def read_network(path: Path, suffix: str, weight: str | None) -> Contents:
    """Return the ids of the nodes, the undirected graph and the node attributes.

    ``weight`` is the attribute of the edges that has their weights, by default that of this name.

    Raises
    ------
    ModuleNotFoundError
        networkx is not installed.
    ValueError
        A damaged file, or weights that are negative or not numbers.
    """
    name = FORMATS[suffix]
    try:
        import networkx
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{name} needs networkx: pip install 'graphuq[networkx]', or save a list of edges"
        ) from error
    try:
        network = getattr(networkx, f"read_{name.lower()}")(path)
    except Exception as error:  # damage can make the reader fail in any way
        raise ValueError(
            f"{path} is not {name}, or is damaged ({error}): export it again"
        ) from error
    notes: tuple[str, ...] = ()
    if network.is_multigraph() and len(set(network.edges())) < network.number_of_edges():
        notes += ("added the weights of edges listed more than once",)
    edges = [data for *_, data in network.edges(data=True)]
    if weight is None:
        warn_of_unused_weights(edges, remedy="name it with --weight")
    elif not any(weight in data for data in edges):
        theirs = list_names(sorted({key for data in edges for key in data})) or "none"
        raise ValueError(
            f"{path}: no edge has the attribute {weight!r} (--weight): name one of theirs: {theirs}"
        )
    try:
        # Edges between the same nodes are added here.
        A = networkx.to_scipy_sparse_array(
            network, dtype=float, format="csr", weight=weight or "weight"
        )
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
    if columns:
        notes += (
            f"attributes of nodes can be labels, and are no features: {list_names([*columns])}",
        )
    ids = np.array([str(node) for node in network.nodes])
    if _are_counted(ids) and (names := columns.get("name")) and _are_names(names):
        ids = np.array([str(name) for name in names])
        notes += ("the ids of the nodes are those of the attribute 'name'",)
    return Contents(ids, None, graph, columns, notes)


def _are_counted(ids: NDArray[np.str_]) -> bool:
    """Return whether the ids are n0, n1, ..., which igraph writes in place of names."""
    return bool((ids == [f"n{k}" for k in range(ids.size)]).all())


def _are_names(names: list[Any]) -> bool:
    """Return whether every node has a name, and no two the same."""
    return None not in names and len({str(name) for name in names}) == len(names)
