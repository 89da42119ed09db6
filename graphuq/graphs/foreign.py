"""Graphs of networkx, igraph and pandas, and lists of edges as others hold them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.mistaken_weights import warn_of_unused_weights
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn
from graphuq.utils.words import count

# Two weights are the same up to this relative difference, the rounding of single precision.
SAME_WEIGHT = 1e-6


def is_foreign(graph: Any) -> bool:
    """Return whether this is a graph of networkx or igraph, or a data frame of weights."""
    return _is_networkx(graph) or _is_igraph(graph) or _is_frame(graph)


def read_foreign(graph: Any, nodes: Any) -> tuple[Any, Any]:
    """Return the weights, and ``nodes`` or else the names of the nodes in the graph."""
    if _is_frame(graph):
        return _named(*_from_frame(graph), nodes)
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
    return _named(*(_from_networkx if package == "networkx" else _from_igraph)(graph), nodes)


def _named(A: Any, names: list[Any] | None, nodes: Any) -> tuple[Any, Any]:
    if nodes is None and names is not None:
        nodes = np.empty(len(names), dtype=object)
        nodes[:] = names
        if are_whole(names):
            nodes = nodes.astype(np.int64)
            _warn_of_numbers(nodes)
    return A, nodes


def are_whole(names: Iterable[Any]) -> bool:
    """Return whether all names are whole numbers."""
    return all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in names)


def _warn_of_numbers(nodes: Nodes) -> None:
    """Warn of names that are other numbers than the positions, by which labels refer to nodes."""
    if (nodes != np.arange(nodes.size)).any():
        warn(
            f"the nodes are called {nodes.min()} to {nodes.max()}, and gq.Labels counts them from "
            "0: give labels by name, gq.Labels({name: class, ...}, graph)"
        )


def _is_frame(graph: Any) -> bool:
    return hasattr(graph, "iloc") and hasattr(graph, "columns")


def _from_frame(frame: Any) -> tuple[Array, list[Any] | None]:
    """Return the weights, and the names of rows or columns that are more than numbers in order."""
    rows, columns = frame.index.tolist(), frame.columns.tolist()
    names = [those for those in (rows, columns) if those != list(range(len(those)))]
    if len(names) == 2 and rows != columns:
        raise ValueError(
            "rows and columns of a data frame of weights must have the same names in the same "
            "order: sort them alike, A.loc[A.index, A.index], or pass A.to_numpy()"
        )
    return frame.to_numpy(), names[0] if names else None


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "adjacency") and hasattr(graph, "is_directed")


def _is_igraph(graph: Any) -> bool:
    return hasattr(graph, "get_edgelist") and hasattr(graph, "vs")


def _from_networkx(network: Any) -> tuple[sparse.csr_array, list[Any]]:
    import networkx

    names = list(network.nodes)
    if are_whole(names) and sorted(names) == list(range(len(names))):
        names.sort()  # a file of edges names them in another order
    warn_of_unused_weights((data for *_, data in network.edges(data=True)))
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
    first = {name: values[0] for name in graph.es.attributes() if (values := graph.es[name])}
    warn_of_unused_weights([first])
    weights = graph.es["weight"] if weighted else np.ones(graph.ecount())
    edges = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    try:
        # both ends of an edge in order, so that edges listed either way round add up
        A = adjacency_of_edges(np.sort(edges, axis=0), weights, graph.vcount())
    except TypeError as error:
        raise TypeError(f"the igraph graph has no numeric weights: {error}") from error
    return A, graph.vs["name"] if "name" in graph.vs.attributes() else None


def adjacency_of_edges(edge_index: Any, edge_weight: Any, n_nodes: Any) -> sparse.csr_array:
    """Return the symmetric weights of listed edges; see `Graph.from_edge_index`."""
    i, j = edges = _check_edges(edge_index)
    n = _check_size(edges, n_nodes)
    require_memory(
        16.0 * n + 64.0 * i.size, f"a graph of {n} nodes", "number the nodes from 0 without gaps"
    )
    if edge_weight is None:
        ones = sparse.csr_array(sparse.coo_array((np.ones(i.size), (i, j)), shape=(n, n)))
        joined = ones.maximum(ones.T)
        joined.data[:] = 1.0
        return joined
    weights = _check_weights(edge_weight, i.size)
    A = sparse.csr_array(sparse.coo_array((weights, (i, j)), shape=(n, n)))
    A, _ = without_directions(A)
    return A


def without_directions(A: sparse.csr_array) -> tuple[sparse.csr_array, str]:
    """Return the weights of undirected edges, and a note; those of both directions are added.

    If every edge is there in both directions with one weight, up to rounding in single precision,
    it counts once.
    """
    larger = A.maximum(A.T)
    if (abs(A - A.T) - SAME_WEIGHT * larger).max() <= 0:
        return larger, "the graph has every edge in both directions: each counts once"
    loops = sparse.diags_array(A.diagonal())
    return sparse.csr_array(A + A.T - loops), "added the weights of both directions of the edges"


def _check_edges(edge_index: Any) -> Nodes:
    edges = validation.unmasked("edge_index", edge_index)
    if edges.ndim != 2 or edges.shape[0] != 2:
        remedy = ": pass edge_index.T" if edges.ndim == 2 and edges.shape[1] == 2 else ""
        raise ValueError(
            "edge_index must have two rows, the nodes at both ends of each edge, got shape "
            f"{edges.shape}{remedy}"
        )
    if edges.size and edges.dtype.kind not in "iu":
        raise TypeError(f"edge_index must hold integers, the nodes, got {edges.dtype}")
    if edges.size and not 0 <= edges.min() <= edges.max() <= validation.MAX_INTEGER:
        raise ValueError(
            f"edge_index must count the nodes from 0, got nodes {edges.min()} to {edges.max()}"
        )
    return edges.astype(np.int64)


def _check_size(edges: Nodes, n_nodes: Any) -> int:
    fewest = int(edges.max()) + 1 if edges.size else 0
    if n_nodes is not None:
        return validation.integer("n_nodes", n_nodes, max(fewest, 2))
    if fewest < 2:
        raise ValueError("edge_index lists no edge between two nodes: give n_nodes")
    return fewest


def _check_weights(edge_weight: Any, n_edges: int) -> Array:
    weights = validation.real_array("edge_weight", edge_weight)
    if weights.shape == (n_edges, 1):
        weights = weights[:, 0]
    if weights.shape != (n_edges,):
        raise ValueError(
            f"edge_weight must give one number for each of {n_edges} edges, got shape "
            f"{weights.shape}"
        )
    if weights.dtype.kind not in "fiub":
        raise TypeError(f"edge_weight must hold numbers, got {weights.dtype}")
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"edge_weight must be finite and not negative, but edge {bad[0]} has weight "
            f"{weights[bad[0]]} ({count(bad.size, 'such edge')}): correct them, or leave those "
            "edges out"
        )
    return weights
