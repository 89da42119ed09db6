"""Classification by regression on smooth eigenvectors (Belkin and Niyogi 2004)."""

from __future__ import annotations

import numpy as np

from graphuq import validation
from graphuq.classifiers.one_vs_rest import one_vs_rest, require_labels_of_each
from graphuq.classifiers.transductive import Array, TransductiveClassifier
from graphuq.graphs import LAPLACIANS, Graph
from graphuq.labels import Labels
from graphuq.spectrum import Spectrum


class BelkinNiyogi(TransductiveClassifier):
    """Least squares of the labels on the smoothest eigenvectors of the graph.

    Problem (2) of Alaiz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),
    with labels c_i of -1 and +1 at the labelled nodes,

        min_a  sum_i (c_i - sum_{l < p} a_l v_l,i)^2,   f = sum_{l < p} a_l v_l.

    Of many solutions, where p exceeds the number of labels, the one with the smallest |a| is
    taken. Where p cuts through a repeated eigenvalue, the formula leaves open which of its
    eigenvectors take part. More than two classes are taken one against the rest.

    Parameters
    ----------
    n_eigenvectors : int
        p, from 1 to n, the constant v_0 among them. More follow finer structure, and wrong
        labels too.
    laplacian : {"normalised", "combinatorial"}
        Whose eigenvectors. The paper's text says combinatorial; its figures agree with
        normalised.

    Attributes
    ----------
    decision_scores_ : ndarray, shape (n, K)
        f of each class; of two classes, -f and f.

    Raises
    ------
    ValueError
        On ``fit``: ``n_eigenvectors`` out of range, an unknown Laplacian, a disconnected graph, a
        class without labels.

    Examples
    --------
    >>> path = Graph([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> BelkinNiyogi(2).fit(path, ["left", None, None, "right"]).predict()
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    def __init__(self, n_eigenvectors: int, *, laplacian: str = "normalised") -> None:
        self.n_eigenvectors = n_eigenvectors
        self.laplacian = laplacian

    def _score(self, graph: Graph, labels: Labels) -> Array:
        n = graph.n_nodes
        p = validation.integer(
            "n_eigenvectors", self.n_eigenvectors, 1, n, f"the graph has {n} nodes"
        )
        validation.one_of("laplacian", self.laplacian, LAPLACIANS)
        require_labels_of_each(labels, type(self).__name__)
        spectrum = Spectrum.of(graph, max(p - 1, 1), self.laplacian)
        V = np.column_stack([spectrum.null, spectrum.vectors])[:, :p]

        def regress(c: Array) -> Array:
            a, *_ = np.linalg.lstsq(V[labels.nodes], c, rcond=None)
            return V @ a

        return one_vs_rest(labels, regress)
