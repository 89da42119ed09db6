"""Classification by a concave loss that tolerates wrong labels (Alaíz et al. 2016)."""

from __future__ import annotations

import numpy as np

from graphuq.classifiers.one_vs_rest import one_vs_rest, require_labels_of_each
from graphuq.classifiers.resolvent import resolvent
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array

# The smallest distance of gamma from lambda_1: eigenvalues are not more accurate.
MIN_MARGIN = 1e-12


class RobustGC(TransductiveClassifier):
    """Smooth fields far from zero, by a loss that tolerates wrong labels.

    Problem (4) of Alaíz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),

        min_f  1/2 f' L f - gamma/2 |f + y|^2   such that   f' v_0 = 0,

    where L is the normalized Laplacian, v_0 its null vector, and y is -1 or +1 at labeled nodes and
    0 elsewhere. It is convex for gamma = eta lambda_1 with eta < 1, and Algorithm 1 solves it:

        f = (L / gamma - I)^(-1) (y - v_0 v_0' y).

    For K > 2 classes, each class is fitted against the rest.

    Parameters
    ----------
    eta : float in (0, 1)
        Share of lambda_1. Near 1 the labels only decide the sign of the eigenvector v_1, even if
        many of them are wrong; near 0 each label determines its neighborhood. The paper's
        parameter-free form, for two classes, is 0.9. Many classes, which v_1 cannot separate, need
        a smaller value.

    Attributes
    ----------
    gamma_ : float
        eta lambda_1.
    decision_scores_ : ndarray, shape (n, K)
        f of each class; for two classes -f and f.

    Raises
    ------
    ValueError
        On ``fit``: ``eta`` outside (0, 1), where the problem is not convex, or within rounding of
        1; a disconnected graph; a class without labels.

    Warns
    -----
    ConvergenceWarning
        On ``fit`` of a sparse graph: conjugate gradients did not converge.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> gq.RobustGC().fit(path, ["left", None, None, "right"]).predict()
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
        graph.require_connected()
        # Algorithm 1: gamma from the first non-zero eigenvalue
        lambda_1 = float(Spectrum.of(graph, 1).values[0])
        if (1 - eta) * lambda_1 < MIN_MARGIN:
            raise ValueError(
                f"eta = {eta!r} leaves gamma within rounding of lambda_1 = {lambda_1:.2g}, where "
                "the problem stops being convex: take a smaller eta"
            )
        gamma = eta * lambda_1

        # then one linear system: f = gamma (L - gamma I)^(-1) p0(y)
        def regress(c: Array) -> Array:
            y = np.zeros((graph.n_nodes, c.shape[1]))
            y[labels.nodes] = c
            return gamma * resolvent(graph, -gamma, y)[1]

        scores = one_vs_rest(labels, regress)
        self.gamma_ = gamma
        return scores
