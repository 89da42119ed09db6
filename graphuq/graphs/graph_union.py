"""The union of two graphs on the same nodes, such as citations and similar words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.graph import Graph


def union(graph_a: Any, graph_b: Any) -> Graph:
    """Add the weights of two graphs on the same nodes, each scaled to the same mean degree.

    A = d A_a / d_a + d A_b / d_b, with the mean degrees d_a and d_b and their mean d. Without the
    scales, the graph whose weights have the larger unit would decide. The union is connected if
    one of the graphs is. A sum of priors keeps the graphs apart, and weighs them by the evidence.

    Parameters
    ----------
    graph_a, graph_b : Graph, adjacency or networkx.Graph
        Node i of one is node i of the other.

    Returns
    -------
    Graph
        Dense if both are. Its ``recall`` is the smaller one.

    Raises
    ------
    ValueError
        Graphs of different sizes, with different names of nodes, or without edges.

    Examples
    --------
    >>> import graphuq as gq
    >>> path, edge = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 0, 6], [0, 0, 0], [6, 0, 0]]
    >>> both = gq.union(path, edge)
    >>> both.adjacency.round(2)
    array([[0., 2., 4.],
           [2., 0., 2.],
           [4., 2., 0.]])
    """
    first, second = Graph.of(graph_a), Graph.of(graph_b)
    if first.n_nodes != second.n_nodes:
        raise ValueError(
            f"the union needs graphs on the same nodes, got {first.n_nodes} and {second.n_nodes}: "
            "build both from the same items, in the same order"
        )
    means = [float(graph.degrees.mean()) for graph in (first, second)]
    if not all(means):
        which = "first" if means[1] else "second"
        raise ValueError(f"the {which} graph has no edge: leave it out of the union")
    parts = [
        graph.adjacency * (np.mean(means) / mean)
        for graph, mean in zip((first, second), means, strict=True)
    ]
    if first.is_sparse or second.is_sparse:
        parts = [sparse.csr_array(part) for part in parts]
    both = Graph(parts[0] + parts[1], _common_names(first, second))
    both.recall = min(first.recall, second.recall)
    return both


def _common_names(first: Graph, second: Graph) -> Any:
    """Return the names of the nodes, which one of the graphs may lack."""
    if not np.array_equal(first.nodes, second.nodes):
        positions = np.arange(first.n_nodes)
        if np.array_equal(first.nodes, positions):
            return second.nodes
        if not np.array_equal(second.nodes, positions):
            at = int(np.flatnonzero(first.nodes != second.nodes)[0])
            raise ValueError(
                f"the graphs name node {at} differently, {first.nodes[at]!r} and "
                f"{second.nodes[at]!r}: bring the nodes of both into the same order"
            )
    return first.nodes
