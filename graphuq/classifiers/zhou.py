"""Classification by local and global consistency (Zhou et al. 2004)."""

from __future__ import annotations

from graphuq import validation
from graphuq.classifiers.diffusion import settle
from graphuq.classifiers.resolvent import resolvent
from graphuq.classifiers.transductive import Array, TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels import Labels


class ZhouGC(TransductiveClassifier):
    """Smooth fields near the labels, by least squares: label spreading, solved to the end.

    Problem (3) of Alaiz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),
    for each class, with y its indicator of labelled nodes and L the normalised Laplacian,

        min_f  1/2 f' L f + gamma/2 |f - y|^2,   f = gamma (L + gamma I)^(-1) y.

    This is the limit of scikit-learn's ``LabelSpreading(alpha=1 / (1 + gamma))`` on a graph
    without self-loops. On a disconnected graph, nodes that no label reaches score 0.

    Parameters
    ----------
    gamma : float
        Positive. Large values fit the labels, and scores decay fast around them; small ones
        spread every label over the graph, in the end in proportion to the roots of degrees.

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
        On ``fit``: the solver stopped short, or scores far from all labels did not settle.

    Examples
    --------
    >>> path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> model = ZhouGC(gamma=1.0).fit(path, [7, -1, 9])
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
        constant, solved = resolvent(graph, gamma, Y)
        f = constant + gamma * solved
        # Zhou's own fixed point, (1 + gamma) f = S f + gamma y
        reach = 1 / (1 + gamma)
        return settle(f, graph.normalised_adjacency(), reach, gamma * reach * Y)
