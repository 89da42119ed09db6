"""PageRank-based semi-supervised learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.classifiers.diffusion import checked, power, settle, walk
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels import Labels


class PageRankSSL(TransductiveClassifier):
    r"""PRSSL: personalised PageRank from the labelled nodes of each class.

    Z = (I - alpha D^(sigma-1) A D^(-sigma))^(-1) (1 - alpha) Y,

    eq. (5) at delta = 0 of Avrachenkov, Boisbunon and Kamalov, "Graph diffusion & PCA framework
    for semi-supervised learning" (2021), after Avrachenkov, Mishenin, Goncalves and Sokol (2012),
    who write 1 - sigma for sigma. Column k is the share of time that a walker spends at each node
    who follows edges with probability alpha, and else restarts at a labelled node of class k,
    times the number of these (sigma = 1).

    Parameters
    ----------
    sigma : float in [0, 1]
        What degrees count for: 1 is PageRank, 1/2 the normalised Laplacian, 0 the standard one.
    alpha : float in (0, 1)
        How far labels reach: 1 / (1 - alpha) steps on average. alpha = 2 / (2 + mu).
    tol : float
        Largest relative residual.
    max_iter : int

    Raises
    ------
    ValueError
        Parameters out of range; nodes without any edge. Disconnected graphs are taken, but nodes
        that no label reaches score 0, so that their prediction means nothing.

    Warns
    -----
    ConvergenceWarning
        ``max_iter`` iterations did not reach ``tol``, or scores far from all labels did not settle.

    Examples
    --------
    >>> path = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> classifier = PageRankSSL().fit(path, Labels([0, 3], ["left", "right"]))
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

    def _score(self, graph: Graph, labels: Labels) -> NDArray[np.float64]:
        sigma, alpha = checked(self.sigma, self.alpha)
        tol = validation.positive("tol", self.tol)
        validation.integer("max_iter", self.max_iter, 1)
        Y = labels.indicators(graph.n_nodes)
        M = walk(graph, sigma)
        return settle(power(M, Y, alpha, tol, self.max_iter), M, alpha, (1 - alpha) * Y)
