"""Similarity graphs and their spectra."""

from graphuq.graphs.construction import epsilon_graph, full_graph, knn_graph, pca
from graphuq.graphs.graph import LAPLACIANS, Graph
from graphuq.graphs.graph_union import union

__all__ = ["LAPLACIANS", "Graph", "epsilon_graph", "full_graph", "knn_graph", "pca", "union"]
