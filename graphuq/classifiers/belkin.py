"""Classification by regression on smooth eigenvectors (Belkin and Niyogi 2004)."""

from __future__ import annotations

import numpy as np

from graphuq.classifiers.one_vs_rest import one_vs_rest, require_labels_of_each
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.graphs.graph import check_laplacian
from graphuq.graphs.spectrum import Spectrum
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array


class BelkinNiyogi(TransductiveClassifier):
    """Least squares of the labels on the smoothest eigenvectors of the graph.

    Problem (2) of Alaíz, Fanuel and Suykens, "Robust classification of graph-based data" (2016),
    with labels c_i of -1 and +1 at the labeled nodes,

        min_a  sum_i (c_i - sum_{l < p} a_l v_l,i)^2,   f = sum_{l < p} a_l v_l.

    If p exceeds the number of labels, the solution with the smallest |a| is taken. If p cuts
    through a repeated eigenvalue, the formula does not determine which of its eigenvectors are
    used. For K > 2 classes, each class is fitted against the rest.

    Parameters
    ----------
    n_eigenvectors : int
        p, from 1 to n, including the constant v_0. More eigenvectors follow finer structure, and
        also wrong labels.
    laplacian : {"normalized", "combinatorial", "signless"}
        The Laplacian whose eigenvectors are used. The paper's introduction of the method says
        combinatorial, but its problem (2) has the eigenvectors of the normalized one, and its
        Table 1 agrees with these. Signless is for graphs whose neighbors differ.

    Attributes
    ----------
    decision_scores_ : ndarray, shape (n, K)
        f of each class; for two classes -f and f.

    Raises
    ------
    ValueError
        On ``fit``: ``n_eigenvectors`` out of range, an unknown Laplacian, a disconnected graph, a
        class without labels.

    Examples
    --------
    >>> import graphuq as gq
    >>> path = gq.Graph([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> gq.BelkinNiyogi(2).fit(path, ["left", None, None, "right"]).predict()
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    def __init__(self, n_eigenvectors: int, *, laplacian: str = "normalized") -> None:
        self.n_eigenvectors = n_eigenvectors
        self.laplacian = laplacian

    def _score(self, graph: Graph, labels: Labels) -> Array:
        n = graph.n_nodes
        p = validation.integer(
            "n_eigenvectors", self.n_eigenvectors, 1, n, f"the graph has {n} nodes"
        )
        laplacian = check_laplacian("laplacian", self.laplacian)
        require_labels_of_each(labels, type(self).__name__)
        graph.require_connected()
        # the p smoothest eigenvectors v_0, ..., v_(p-1)
        spectrum = Spectrum.of(graph, max(p - 1, 1), laplacian, precision="double")
        V = np.column_stack([spectrum.null, spectrum.vectors])[:, :p]

        def regress(c: Array) -> Array:
            # problem (2): least squares at the labeled nodes, evaluated at all nodes
            a, *_ = np.linalg.lstsq(V[labels.nodes], c, rcond=None)
            return V @ a

        return one_vs_rest(labels, regress)
