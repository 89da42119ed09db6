"""The methods that `benchmarks.trust.side_by_side` compares: a table, and a file per package.

To add a method, write a function that takes a `Task` and returns an `Answer`, and give it a row
here. Import packages other than numpy, scipy and scikit-learn inside that function: a method whose
package is absent is reported absent. It raises `SkippedError` where it does not apply. Settings may
be chosen by the labels of the task alone, as in tuning.py.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.trust.peers import (
    ours,
    with_geometric,
    with_gpytorch,
    with_graphlearning,
    with_sklearn,
    with_torchcp,
)

OURS, GRAPH, FEATURES = "graphuq", "graph + level", "features + level"
PARTS = (GRAPH, FEATURES)

METHODS: dict[str, Callable] = {
    OURS: ours.default,
    GRAPH: ours.graph_alone,
    FEATURES: ours.features_alone,
    "graphuq, conformal": ours.conformal,
    "label spreading": with_sklearn.label_spreading,
    "logistic regression": with_sklearn.logistic_regression,
    "random forest": with_sklearn.random_forest,
    "random forest, calibrated": with_sklearn.calibrated_forest,
    "support vectors, calibrated": with_sklearn.support_vectors,
    "Gaussian process": with_sklearn.gaussian_process,
    "Laplace": with_graphlearning.laplace,
    "Poisson": with_graphlearning.poisson,
    "graph Matern": with_gpytorch.graph_matern,
    "GCN": with_geometric.plain,
    "GCN, temperature": with_geometric.scaled,
    "DAPS": with_torchcp.daps,
}
