"""Similarity graphs and their spectra."""

from graphuq.graphs.construction import epsilon_graph, full_graph, knn_graph, pca, union
from graphuq.graphs.graph import LAPLACIANS, Graph

__all__ = ["LAPLACIANS", "Graph", "epsilon_graph", "full_graph", "knn_graph", "pca", "union"]
