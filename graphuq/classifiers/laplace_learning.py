"""Laplace learning: harmonic functions with the labels as boundary values."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.linear_solve import solve_positive_definite
from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn
from graphuq.utils.words import choose_form, count

# Probabilities whose sum over classes differs from 1 by more than this raise a warning.
MAX_SUM_ERROR = 1e-3

_REMEDY = (
    "where nodes are attached to labeled ones by negligible weights, take larger weights (tau, "
    "n_neighbors) or label some of them"
)


class LaplaceLearning(TransductiveClassifier):
    """The harmonic function of each class: 1 on its labeled nodes, 0 on those of others.

    F minimizes sum_ij a_ij |F_i - F_j|^2 subject to F_j = Y_j at the labeled nodes l. Every other
    node has the weighted mean of its neighbors: L_uu F_u = A_ul Y_l with the combinatorial
    L = D - A (Zhu, Ghahramani and Lafferty 2003). F_ik is the probability that a random walk from
    node i first meets a label of class k. It is nearly constant if few of many nodes are labeled.

    Parameters
    ----------
    max_iter : int, optional
        Iterations of conjugate gradients on a sparse graph, 10 n by default.

    Raises
    ------
    ValueError
        From ``fit``: a component of the graph without labels, where F is not determined.

    Warns
    -----
    ConvergenceWarning
        From ``fit``: conjugate gradients did not converge, or the equations are nearly singular.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> gq.LaplaceLearning().fit(path, [4, -1, -1, 9]).predict_proba().round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.333, 0.667],
           [0.   , 1.   ]])
    """

    _non_negative = True

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _score(self, graph: Graph, labels: Labels) -> Array:
        if self.max_iter is not None:
            validation.integer("max_iter", self.max_iter, 1)
        _require_labels_everywhere(graph, labels)
        F = labels.indicators(graph.n_nodes)
        hidden = np.setdiff1d(np.arange(graph.n_nodes), labels.nodes)
        if hidden.size == 0:
            return F
        # L_uu F_u = A_ul Y_l
        rows = graph.laplacian("combinatorial")[hidden]
        boundary = -(rows[:, labels.nodes] @ F[labels.nodes])
        try:
            inside = solve_positive_definite(
                rows[:, hidden], boundary, max_iterations=self.max_iter
            )
        except linalg.LinAlgError as error:
            raise ValueError(f"the graph falls apart numerically: {_REMEDY}") from error
        off = np.abs(inside.sum(axis=1) - 1)
        if not off.max() <= MAX_SUM_ERROR:
            bad = ~(off <= MAX_SUM_ERROR)
            warn(
                f"the unnormalized probabilities of {count(int(bad.sum()), 'node')}, first node "
                f"{hidden[bad.argmax()]}, do not sum to 1, by up to {off.max():.1e}: {_REMEDY}, "
                "or raise max_iter",
                ConvergenceWarning,
            )
        F[hidden] = np.clip(inside, 0.0, 1.0)  # the maximum principle holds except for rounding
        return F


def _require_labels_everywhere(graph: Graph, labels: Labels) -> None:
    bare = np.setdiff1d(graph.component, graph.component[labels.nodes])
    if bare.size:
        node = np.flatnonzero(np.isin(graph.component, bare))[0]
        raise ValueError(
            f"{bare.size} of {graph.n_components} components of the graph "
            f"{choose_form(bare.size, 'has', 'have')} no label, for example that of node {node}: "
            "label a node of each, take graph.largest_component(), or bridge the gaps with "
            "knn_graph(..., connect=True)"
        )
