"""Spectral clustering into two clusters: the sign of the Fiedler vector."""

from __future__ import annotations

import numpy as np

from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array


class FiedlerClustering(TransductiveClassifier):
    """Two clusters by the sign of the Fiedler vector q_1; labels only name the clusters.

    L q_1 = lambda_1 q_1 with the smallest non-zero eigenvalue lambda_1 (Fiedler 1973; the baseline
    of Bertozzi et al. 2018, appendix B). The sign of q_1 is chosen to agree with most labels. The
    scores of a node are -q_1 and q_1. If lambda_1 is a repeated eigenvalue, as on a cycle or a
    complete graph, q_1 is an arbitrary one of its eigenvectors and the clusters are meaningless.

    Parameters
    ----------
    laplacian : {"normalized", "combinatorial"}
        "normalized" balances the sums of degrees in the clusters, "combinatorial" the numbers of
        nodes. The latter tends to separate a few loosely attached nodes.

    Raises
    ------
    ValueError
        From ``fit``: a disconnected graph, more than two classes.

    Examples
    --------
    >>> import graphuq as gq
    >>> from graphuq.datasets import two_moons
    >>> from graphuq.graphs import knn_graph
    >>> X, y = two_moons(200, sigma=0.02, seed=0)
    >>> graph = knn_graph(X, n_neighbors=10, connect=True)
    >>> bool(gq.FiedlerClustering().fit(graph, gq.Labels([0, 199], y[[0, 199]])).accuracy(y) > 0.8)
    True
    """

    def __init__(self, laplacian: str = "normalized") -> None:
        self.laplacian = laplacian

    def _score(self, graph: Graph, labels: Labels) -> Array:
        _ = labels.codes  # refuses K > 2 classes before the eigenvectors are computed
        graph.require_connected()
        field = labels.oriented(Spectrum.of(graph, 1, self.laplacian).vectors[:, 0])
        return np.column_stack([-field, field])
