"""Spectral clustering in two: the sign of the Fiedler vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.spectrum import Spectrum


class FiedlerClustering(TransductiveClassifier):
    """Two clusters by the sign of the Fiedler vector q_1; labels only tell which is which.

    L q_1 = lambda_1 q_1, lambda_1 the smallest non-zero eigenvalue (Fiedler 1973; the baseline of
    Bertozzi et al. 2017, appendix B). Each cluster takes the class that lets most labelled nodes
    keep theirs. The scores of a node are -q_1 and q_1. Where lambda_1 is a repeated eigenvalue, as
    on a cycle or a complete graph, q_1 is any of its eigenvectors, and the clusters mean nothing.

    Parameters
    ----------
    laplacian : {"normalised", "combinatorial"}
        Normalised balances the clusters' degrees, combinatorial their numbers of nodes; the latter
        tends to cut off a few loosely attached nodes.

    Raises
    ------
    ValueError
        From ``fit``: a disconnected graph, labels of more than two classes.

    Examples
    --------
    >>> from graphuq.datasets import two_moons
    >>> from graphuq.graphs import knn_graph
    >>> X, y = two_moons(200, sigma=0.02, seed=0)
    >>> graph = knn_graph(X, n_neighbors=10, connect=True)
    >>> bool(FiedlerClustering().fit(graph, Labels([0, 199], y[[0, 199]])).accuracy(y) > 0.8)
    True
    """

    def __init__(self, laplacian: str = "normalised") -> None:
        self.laplacian = laplacian

    def _score(self, graph: Graph, labels: Labels) -> NDArray[np.float64]:
        _ = labels.codes  # refuses more than two classes before the eigenvectors are computed
        field = labels.oriented(Spectrum.of(graph, 1, self.laplacian).vectors[:, 0])
        return np.column_stack([-field, field])
