"""Classification by a concave loss, which forgives wrong labels (Alaiz et al. 2016)."""

from __future__ import annotations

import numpy as np

from graphuq import validation
from graphuq.classifiers.one_vs_rest import one_vs_rest, require_labels_of_each
from graphuq.classifiers.resolvent import resolvent
from graphuq.classifiers.transductive import Array, TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.spectrum import Spectrum

# What gamma must stay below lambda_1 by: eigenvalues are known no better.
MARGIN = 1e-12


class RobustGC(TransductiveClassifier):
    """Smooth fields far from 0, on the side of their labels: a loss that forgives wrong ones.

    Problem (4) of Alaiz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),

        min_f  1/2 f' L f - gamma/2 |f + y|^2   such that   f' v_0 = 0,

    with the normalised Laplacian L, v_0 its null vector and y the labels -1 and +1, 0 where
    unknown. It is convex for gamma = eta lambda_1 with eta < 1, and Algorithm 1 solves it:

        f = (L / gamma - I)^(-1) (y - v_0 v_0' y).

    More than two classes are taken one against the rest.

    Parameters
    ----------
    eta : float in (0, 1)
        Share of lambda_1. Near 1 the labels choose between the two sides of the eigenvector v_1
        only, however many of them are wrong; near 0 each label speaks for its surroundings. The
        paper's parameter-free form, for two classes, is 0.9. Many classes, which v_1 cannot tell
        apart, need less.

    Attributes
    ----------
    gamma_ : float
        eta lambda_1.
    decision_scores_ : ndarray, shape (n, K)
        f of each class; of two classes, -f and f.

    Raises
    ------
    ValueError
        On ``fit``: ``eta`` outside (0, 1), where the problem is not convex, or within rounding of
        1; a disconnected graph; a class without labels.

    Warns
    -----
    ConvergenceWarning
        On ``fit``, of a sparse graph: conjugate gradients stopped short.

    Examples
    --------
    >>> path = Graph([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> RobustGC().fit(path, ["left", None, None, "right"]).predict()
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    def __init__(self, eta: float = 0.9) -> None:
        self.eta = eta

    def _score(self, graph: Graph, labels: Labels) -> Array:
        eta = validation.real("eta", self.eta)
        if not 0 < eta < 1:
            raise ValueError(
                f"eta must lie in (0, 1), got {eta:g}: gamma = eta lambda_1, and the problem is "
                "convex for gamma below lambda_1 only; the paper's choice is 0.9"
            )
        require_labels_of_each(labels, type(self).__name__)
        lambda_1 = float(Spectrum.of(graph, 1).values[0])
        if (1 - eta) * lambda_1 < MARGIN:
            raise ValueError(
                f"eta = {eta!r} leaves gamma within rounding of lambda_1 = {lambda_1:.2g}, where "
                "the problem stops being convex: take a smaller eta"
            )
        gamma = eta * lambda_1

        def regress(c: Array) -> Array:
            y = np.zeros((graph.n_nodes, c.shape[1]))
            y[labels.nodes] = c
            return gamma * resolvent(graph, -gamma, y)[1]

        scores = one_vs_rest(labels, regress)
        self.gamma_ = gamma
        return scores
