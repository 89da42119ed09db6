"""A small graph, drawn with its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_axes, plain
from graphuq.plots.nodes import draw_nodes

# Beyond these edges are a tangle, and their layout takes long.
MOST_NODES, MOST_EDGES = 500, 5000

# Up to so many nodes' names can be read.
MOST_NAMES = 80


def can_be_drawn(graph: Graph) -> bool:
    """Whether edges can be told apart."""
    return graph.n_nodes <= MOST_NODES and graph.n_edges <= MOST_EDGES


def graph_layout(posterior: NodePosterior, graph: Any, *, ax: Any = None) -> Any:
    """Show a small graph, its nodes coloured by posterior mean, the uncertain ones ringed.

    Nodes that heavy edges join are drawn near each other (Fruchterman and Reingold 1991), by
    networkx. Up to 80 nodes carry their names. For larger graphs there is `embedding`, which says
    how more than two classes look.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    graph : Graph, networkx graph or adjacency
        Of at most 500 nodes and 5,000 edges.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        A graph of other nodes, or of too many nodes or edges.
    ImportError
        networkx is not installed.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(60, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=5, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    >>> ax = gq.plots.graph_layout(quick, graph)
    """
    graph = Graph.of(graph)
    n = posterior.n_nodes
    if graph.n_nodes != n:
        raise ValueError(f"graph must have the posterior's {n} nodes, got {graph.n_nodes}")
    if not can_be_drawn(graph):
        raise ValueError(
            f"a graph of {n} nodes and {graph.n_edges} edges is too large to draw edge by edge, "
            f"which goes up to {MOST_NODES} nodes and {MOST_EDGES} edges: see "
            "gq.plots.embedding(posterior, prior)"
        )
    try:
        import networkx
    except ImportError as error:
        raise ImportError("the layout of a graph needs networkx: pip install networkx") from error
    from matplotlib.collections import LineCollection

    edges = sparse.triu(sparse.coo_array(graph.adjacency), k=1)
    network = networkx.from_scipy_sparse_array(sparse.csr_array(graph.adjacency))
    found = networkx.spring_layout(network, seed=0, iterations=200)
    places = np.array([found[node] for node in range(n)])
    ax = new_axes(ax)
    width = 0.3 + 1.2 * edges.data / edges.data.max(initial=1e-300)
    ends = places[np.column_stack([edges.row, edges.col])]
    ax.add_collection(LineCollection(ends, linewidths=width, colors="0.7", zorder=1))
    draw_nodes(ax, posterior, places, size=float(np.clip(6000 / n, 15, 70)))
    if n <= MOST_NAMES:
        for place, name in zip(places, graph.nodes, strict=True):
            ax.annotate(
                plain(name), place, (4, 4), textcoords="offset points", fontsize=7, zorder=5
            )
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax
