"""Conformal scores of every node and class: the larger, the less the class conforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.graphs.graph import Graph
from graphuq.utils import validation
from graphuq.utils.typing import Array

SCORES = ("probability", "aps", "daps")

# Share of the neighbors in a diffused score.
NEIGHBORS_SHARE = 0.5


def conformal_scores(probabilities: Array, kind: str, graph: Any, u: Array) -> Array:
    """Return the scores, shape (N, K).

    - "probability": 1 - p_ik.
    - "aps": the probability of all likelier classes, and a random share of the class's own,
      sum_(l likelier than k) p_il + u_i p_ik (Romano, Sesia and Candes 2020). Sets are larger where
      several classes are likely, and coverage varies less from node to node.
    - "daps": half of that, and half of the mean over neighbors, weighted by the edges (Zargarbashi,
      Antonelli and Bojchevski 2023). Where neighbors are alike, sets are smaller. Nodes without
      neighbors keep their own.

    Parameters
    ----------
    probabilities : ndarray, shape (N, K)
    kind : {"probability", "aps", "daps"}
    graph : Graph or None
        Needed for "daps" only.
    u : ndarray, shape (N,)
        Uniform on (0, 1).

    Examples
    --------
    >>> p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> conformal_scores(p, "aps", None, u=np.array([0.5, 0.5]))
    array([[0.35, 0.8 , 0.95],
           [0.95, 0.3 , 0.75]])
    """
    validation.one_of("score", kind, SCORES)
    if (graph is None) == (kind == "daps"):
        raise ValueError(
            'score="daps" needs the graph, graph=..., and the other scores do not use one'
        )
    if kind == "probability":
        return 1 - probabilities
    order = np.argsort(-probabilities, axis=1, kind="stable")
    sorted_p = np.take_along_axis(probabilities, order, axis=1)
    scores = np.empty_like(probabilities)
    above = np.cumsum(sorted_p, axis=1) - sorted_p
    np.put_along_axis(scores, order, above + u[:, None] * sorted_p, axis=1)
    return scores if kind == "aps" else _diffuse(scores, graph)


def _diffuse(scores: Array, graph: Any) -> Array:
    """Return half of each node's scores, and half of the mean of its neighbors'."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a gq.Graph, got {type(graph).__name__}")
    if graph.n_nodes != len(scores):
        raise ValueError(f"the graph has {graph.n_nodes} nodes, and the posterior {len(scores)}")
    weights = graph.adjacency
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    around = (weights @ scores) / np.where(degrees > 0, degrees, 1.0)[:, None]
    share = np.where(degrees > 0, NEIGHBORS_SHARE, 0.0)[:, None]
    return np.asarray((1 - share) * scores + share * around)
