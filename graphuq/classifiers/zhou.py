"""Classification by local and global consistency (Zhou et al. 2004)."""

from __future__ import annotations

from graphuq.classifiers.diffusion import refine_small_scores
from graphuq.classifiers.resolvent import resolvent
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array


class ZhouGC(TransductiveClassifier):
    """Label spreading, solved exactly: least squares between smoothness and labels.

    Problem (3) of Alaíz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),
    for each class, with y its indicator of labeled nodes and L the normalized Laplacian,

        min_f  1/2 f' L f + gamma/2 |f - y|^2,   f = gamma (L + gamma I)^(-1) y.

    This is the limit of scikit-learn's ``LabelSpreading(alpha=1 / (1 + gamma))`` on a graph
    without self-loops. On a disconnected graph, nodes that no label reaches have score 0.

    Parameters
    ----------
    gamma : float
        Positive. With large values, fields fit the labels and decay fast around them. With small
        values every label spreads over the graph, in the limit as the square roots of degrees.

    Attributes
    ----------
    decision_scores_ : ndarray, shape (n, K)
        f of each class, non-negative.

    Raises
    ------
    ValueError
        On ``fit``: ``gamma`` that is not positive; nodes without an edge.

    Warns
    -----
    ConvergenceWarning
        On ``fit``: the solver or the smallest scores did not converge.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> model = gq.ZhouGC(gamma=1.0).fit(path, [7, -1, 9])
    >>> model.decision_scores_.round(3)
    array([[0.583, 0.083],
           [0.236, 0.236],
           [0.083, 0.583]])
    """

    _non_negative = True

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def _score(self, graph: Graph, labels: Labels) -> Array:
        gamma = validation.positive("gamma", self.gamma)
        Y = labels.indicators(graph.n_nodes)
        # f = gamma (L + gamma I)^(-1) y, in the null space of L and in the rest
        constant, solved = resolvent(graph, gamma, Y)
        f = constant + gamma * solved
        # refine by Zhou's fixed point: (1 + gamma) f = S f + gamma y, where S = I - L
        reach = 1 / (1 + gamma)
        return refine_small_scores(f, graph.normalized_adjacency(), reach, gamma * reach * Y)
