"""What eigenpairs of a graph Laplacian are computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs.graph import Graph
from graphuq.utils.typing import Array


def require_modes(graph: Graph) -> int:
    """Return the number of modes of a graph, and refuse one that joins no two nodes."""
    if graph.n_components == graph.n_nodes:
        raise ValueError("the graph has no edge between two nodes, and so no modes: add edges")
    return graph.n_nodes - graph.n_components


def laplacian_parts(graph: Graph, laplacian: str) -> tuple[Any, Array, float]:
    """Return L, q_0 and an upper bound of the eigenvalues.

    A node without an edge has a loop here: its row of L is 0, as a component's of its own must be.
    """
    if not graph.degrees.all():
        loops = np.where(graph.degrees == 0, graph.adjacency.max(), 0.0)
        looped = graph.adjacency + (
            sparse.diags_array(loops) if graph.is_sparse else np.diag(loops)
        )
        graph = Graph(looped, graph.nodes)
    if laplacian == "normalized":
        null, bound = np.sqrt(graph.degrees), 2.0
    else:
        null, bound = np.ones(graph.n_nodes), 2 * graph.degrees.max()
    return graph.laplacian(laplacian), null / np.linalg.norm(null), bound
