"""PageRank-based semi-supervised learning."""

from __future__ import annotations

from graphuq.classifiers.diffusion import (
    check_parameters,
    refine_small_scores,
    solve_by_power,
    walk_matrix,
)
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array


class PageRankSSL(TransductiveClassifier):
    r"""PRSSL: personalized PageRank from the labeled nodes of each class.

    Z = (I - alpha D^(sigma-1) A D^(-sigma))^(-1) (1 - alpha) Y,

    eq. (5) at delta = 0 of Avrachenkov, Boisbunon and Kamalov, "Graph diffusion & PCA framework
    for semi-supervised learning" (2021), after Avrachenkov, Mishenin, Goncalves and Sokol (2012),
    who write 1 - sigma for sigma. A walker follows edges with probability alpha, and otherwise
    restarts at a labeled node of class k. At sigma = 1, column k is the share of time that the
    walker spends at each node, times the number of labels of class k.

    Parameters
    ----------
    sigma : float in [0, 1]
        Weight of the degrees: 1 is PageRank, 1/2 the normalized Laplacian, 0 the standard one.
    alpha : float in (0, 1)
        Reach of the labels: 1 / (1 - alpha) steps on average. alpha = 2 / (2 + mu).
    tol : float
        Largest relative residual.
    max_iter : int

    Raises
    ------
    ValueError
        Parameters out of range; nodes without an edge. Disconnected graphs are accepted, but nodes
        that no label reaches have score 0 and a meaningless prediction.

    Warns
    -----
    ConvergenceWarning
        ``max_iter`` iterations did not reach ``tol``, or the smallest scores did not converge.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> classifier = gq.PageRankSSL().fit(path, gq.Labels([0, 3], ["left", "right"]))
    >>> classifier.predict().tolist()
    ['left', 'left', 'right', 'right']
    >>> classifier.predict_proba([1]).round(3)
    array([[0.569, 0.431]])
    """

    _non_negative = True

    def __init__(
        self, sigma: float = 1.0, alpha: float = 0.9, *, tol: float = 1e-8, max_iter: int = 10_000
    ) -> None:
        self.sigma = sigma
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def _score(self, graph: Graph, labels: Labels) -> Array:
        sigma, alpha = check_parameters(self.sigma, self.alpha)
        tol = validation.positive("tol", self.tol)
        validation.integer("max_iter", self.max_iter, 1)
        # eq. (5) at delta = 0: power iteration, then sweeps for the small scores
        Y = labels.indicators(graph.n_nodes)
        M = walk_matrix(graph, sigma)
        return refine_small_scores(
            solve_by_power(M, Y, alpha, tol, self.max_iter), M, alpha, (1 - alpha) * Y
        )
