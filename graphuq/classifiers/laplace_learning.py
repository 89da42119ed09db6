"""Laplace learning: harmonic functions with the labels as boundary values."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq import validation
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.diagnostics import ConvergenceWarning
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.solve import solve_positive_definite

# Sums over classes that are further from 1 are reported: what solves the equations gives 1.
SUM = 1e-3

_REMEDY = (
    "where nodes hang on to labelled ones by negligible weights, take larger weights (tau, "
    "n_neighbors) or label some of them"
)


class LaplaceLearning(TransductiveClassifier):
    """The harmonic function of each class: 1 on its labelled nodes, 0 on those of others.

    Minimises sum_ij a_ij |F_i - F_j|^2 subject to F_j = Y_j at the labelled nodes l, so that every
    other node has the weighted mean of its neighbours: with the combinatorial L = D - A,
    L_uu F_u = A_ul Y_l (Zhu, Ghahramani and Lafferty 2003). F_ik is the probability that a random
    walk from node i meets class k first; it is all but flat where few of many nodes are labelled.

    Parameters
    ----------
    max_iter : int, optional
        Conjugate-gradient iterations on a sparse graph, ten times the number of nodes by default.

    Raises
    ------
    ValueError
        From ``fit``: a component of the graph without a label, whose F is not determined.

    Warns
    -----
    ConvergenceWarning
        From ``fit``: conjugate gradients did not converge, or the equations are nearly singular.

    Examples
    --------
    >>> path = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> LaplaceLearning().fit(path, [4, -1, -1, 9]).predict_proba().round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.333, 0.667],
           [0.   , 1.   ]])
    """

    _non_negative = True

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _score(self, graph: Graph, labels: Labels) -> NDArray[np.float64]:
        if self.max_iter is not None:
            validation.integer("max_iter", self.max_iter, 1)
        _require_labels_everywhere(graph, labels)
        F = labels.indicators(graph.n_nodes)
        hidden = np.setdiff1d(np.arange(graph.n_nodes), labels.nodes)
        if hidden.size == 0:
            return F
        rows = graph.laplacian("combinatorial")[hidden]
        boundary = -(rows[:, labels.nodes] @ F[labels.nodes])
        try:
            inside = solve_positive_definite(
                rows[:, hidden], boundary, max_iterations=self.max_iter
            )
        except linalg.LinAlgError as error:
            raise ValueError(f"the graph falls apart numerically: {_REMEDY}") from error
        off = np.abs(inside.sum(axis=1) - 1)
        if not off.max() <= SUM:
            warnings.warn(
                f"the probabilities of {(off > SUM).sum()} nodes, first node "
                f"{hidden[(off > SUM).argmax()]}, do not sum to 1 before they are made to, by up "
                f"to {off.max():.1e}: {_REMEDY}, or raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        F[hidden] = np.clip(inside, 0.0, 1.0)  # the maximum principle, but for rounding
        return F


def _require_labels_everywhere(graph: Graph, labels: Labels) -> None:
    bare = np.setdiff1d(graph.component, graph.component[labels.nodes])
    if bare.size:
        node = np.flatnonzero(np.isin(graph.component, bare))[0]
        raise ValueError(
            f"{bare.size} of {graph.n_components} components of the graph hold no label, that of "
            f"node {node} among them: label a node of each, take graph.largest_component(), or "
            "bridge the gaps with knn_graph(..., connect=True)"
        )
