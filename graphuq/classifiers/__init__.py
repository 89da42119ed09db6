"""Deterministic classifiers of nodes, and the posterior for scikit-learn."""

from graphuq.classifiers.ando_zhang_bounds import (
    Projection,
    component_bound,
    cut,
    kernel_bound,
    oracle_bound,
    projection_bound,
    small_cut_bound,
    tr_p,
)
from graphuq.classifiers.bayesian import BayesianGraphClassifier
from graphuq.classifiers.belkin import BelkinNiyogi
from graphuq.classifiers.fiedler_clustering import FiedlerClustering
from graphuq.classifiers.gdpca import GDPCA
from graphuq.classifiers.kaog import KAssociatedOptimalGraph
from graphuq.classifiers.labeled_folds import LabelledKFold
from graphuq.classifiers.laplace_learning import LaplaceLearning
from graphuq.classifiers.laplacian_kernel import (
    LaplacianKernel,
    kernel_diagonal,
    kernel_inverse,
    scaling_factors,
)
from graphuq.classifiers.pagerank import PageRankSSL
from graphuq.classifiers.robust import RobustGC
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.classifiers.zhou import ZhouGC

__all__ = [
    "GDPCA",
    "BayesianGraphClassifier",
    "BelkinNiyogi",
    "FiedlerClustering",
    "KAssociatedOptimalGraph",
    "LabelledKFold",
    "LaplaceLearning",
    "LaplacianKernel",
    "PageRankSSL",
    "Projection",
    "RobustGC",
    "TransductiveClassifier",
    "ZhouGC",
    "component_bound",
    "cut",
    "kernel_bound",
    "kernel_diagonal",
    "kernel_inverse",
    "oracle_bound",
    "projection_bound",
    "scaling_factors",
    "small_cut_bound",
    "tr_p",
]
