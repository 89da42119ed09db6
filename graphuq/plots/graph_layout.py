"""A small graph with its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.plots.canvas import escape, new_axes
from graphuq.plots.nodes import draw_nodes
from graphuq.plots.results import require_posterior
from graphuq.posterior.assessment.uncertainty import PARTS
from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation

# In larger graphs, edges overlap and the layout takes long.
MAX_NODES, MAX_EDGES = 500, 5000

# In larger graphs, names cannot be read.
MAX_NAMED = 80


def can_be_drawn(graph: Graph) -> bool:
    """Return whether the graph is small enough to tell its edges apart."""
    return graph.n_nodes <= MAX_NODES and graph.n_edges <= MAX_EDGES


def graph_layout(posterior: Posterior, graph: Any, *, color: str = "class", ax: Any = None) -> Any:
    """Show a small graph with its edges, the nodes colored as in `embedding`.

    networkx places nodes with heavy edges close together (Fruchterman and Reingold 1991). Graphs
    of at most 80 nodes show the names of their nodes. For larger graphs, see `embedding`.

    Parameters
    ----------
    posterior : Posterior
    graph : Graph, networkx graph or adjacency
        At most 500 nodes and 5,000 edges.
    color : {"class", "total", "aleatoric", "epistemic"}
        By default the class; else the entropy or a part of it, `Posterior.uncertainty`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        A result that is not a posterior, such as `MapEstimate`.
    ValueError
        The graph has other nodes than the posterior, or too many nodes or edges.
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
    require_posterior(posterior)
    graph = Graph.of(graph)
    n = posterior.n_nodes
    if graph.n_nodes != n:
        raise ValueError(
            f"graph must have the posterior's {n} nodes, got {graph.n_nodes}: give the graph of "
            "its prior"
        )
    if not can_be_drawn(graph):
        raise ValueError(
            f"graph must have up to {MAX_NODES} nodes and {MAX_EDGES} edges to be drawn, got {n} "
            f"nodes and {graph.n_edges} edges: use gq.plots.embedding(posterior, prior)"
        )
    try:
        import networkx
    except ImportError as error:
        raise ImportError("the layout of a graph needs networkx: pip install networkx") from error
    from matplotlib.collections import LineCollection

    # Place the nodes; draw edges by their weight, then the nodes and their names.
    edges = sparse.triu(sparse.coo_array(graph.adjacency), k=1)
    network = networkx.from_scipy_sparse_array(sparse.csr_array(graph.adjacency))
    found = networkx.spring_layout(network, seed=0, iterations=200)
    places = np.array([found[node] for node in range(n)])
    validation.one_of("color", color, ("class", *PARTS))
    ax = new_axes(ax)
    width = 0.3 + 1.2 * edges.data / edges.data.max(initial=1e-300)
    ends = places[np.column_stack([edges.row, edges.col])]
    ax.add_collection(LineCollection(ends, linewidths=width, colors="0.7", zorder=1))
    draw_nodes(ax, posterior, places, size=float(np.clip(6000 / n, 15, 70)), color=color)
    if n <= MAX_NAMED:
        for place, name in zip(places, graph.nodes, strict=True):
            ax.annotate(
                escape(name), place, (4, 4), textcoords="offset points", fontsize=7, zorder=5
            )
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax
