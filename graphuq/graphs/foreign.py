"""Graphs of networkx and igraph: weights and names of nodes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.edge_index import adjacency_of_edges
from graphuq.utils.words import count


def is_foreign(graph: Any) -> bool:
    """Return whether this is a graph of networkx or igraph."""
    return _is_networkx(graph) or _is_igraph(graph)


def read_foreign(graph: Any, nodes: Any) -> tuple[sparse.csr_array, Any]:
    """Return the weights, and ``nodes`` or else the names of the nodes in the graph."""
    package = "networkx" if _is_networkx(graph) else "igraph"
    if graph.is_directed():
        remedy = "to_undirected" if package == "networkx" else "as_undirected"
        raise ValueError(f"the {package} graph is directed: pass graph.{remedy}()")
    n_nodes = len(graph.nodes) if package == "networkx" else graph.vcount()
    if n_nodes < 2:
        raise ValueError(
            f"the {package} graph has {count(n_nodes, 'node')}, and at least two are needed: add "
            "nodes and edges"
        )
    A, names = (_from_networkx if package == "networkx" else _from_igraph)(graph)
    if nodes is None and names is not None:
        nodes = np.empty(len(names), dtype=object)
        nodes[:] = names
        if all(isinstance(name, int) for name in names):
            nodes = nodes.astype(np.int64)
    return A, nodes


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "adjacency") and hasattr(graph, "is_directed")


def _is_igraph(graph: Any) -> bool:
    return hasattr(graph, "get_edgelist") and hasattr(graph, "vs")


def _from_networkx(network: Any) -> tuple[sparse.csr_array, list[Any]]:
    import networkx

    names = list(network.nodes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            A = networkx.to_scipy_sparse_array(
                network, nodelist=names, dtype=np.float64, format="csr"
            )
    except (
        networkx.NetworkXError,
        np.exceptions.ComplexWarning,
        TypeError,
        ValueError,
    ) as error:
        raise TypeError(f"the networkx graph has no numeric weights: {error}") from error
    return A, names


def _from_igraph(graph: Any) -> tuple[sparse.csr_array, list[Any] | None]:
    """Return the weights, 1 by default, and the names if there are any.

    Weights of edges between the same nodes are added, as networkx does.
    """
    weighted = "weight" in graph.es.attributes()
    weights = graph.es["weight"] if weighted else np.ones(graph.ecount())
    edges = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    try:
        # both ends of an edge in order, so that edges listed either way round add up
        A = adjacency_of_edges(np.sort(edges, axis=0), weights, graph.vcount())
    except TypeError as error:
        raise TypeError(f"the igraph graph has no numeric weights: {error}") from error
    return A, graph.vs["name"] if "name" in graph.vs.attributes() else None
