"""scikit-learn: label spreading, logistic regression and a Gaussian process of features."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from benchmarks.trust.peers.task import Answer, Task
from benchmarks.trust.peers.tuning import choose, spread

STEPS = 100
CLAMPING = (0.2, 0.5, 0.9, 0.99)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def label_spreading(task: Task) -> Answer:
    return Answer(_spreading(task, choose(task, _spreading, CLAMPING, 0.2)))


def _spreading(task: Task, alpha: float) -> np.ndarray:
    from sklearn.semi_supervised import LabelSpreading

    A = sparse.csr_matrix(task.problem.graph.adjacency)
    known = np.full(A.shape[0], -1)
    known[task.labels.nodes] = task.labels.values
    model = LabelSpreading(kernel=lambda *_: A, alpha=alpha, max_iter=STEPS)
    model.fit(np.arange(A.shape[0])[:, None], known)
    found = model.label_distributions_
    # nodes that no label reached within the steps
    uniform = np.full(found.shape[1], 1 / found.shape[1])
    found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, uniform)
    return spread(model.classes_, found, task.problem.n_classes)


def logistic_regression(task: Task) -> Answer:
    return Answer(_regression(task, choose(task, _regression, PENALTIES, 1.0)))


def _regression(task: Task, C: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    X, nodes = task.problem.features, task.labels.nodes
    model = LogisticRegression(C=C, max_iter=1000).fit(X[nodes], task.labels.values)
    return spread(model.classes_, model.predict_proba(X), task.problem.n_classes)


def gaussian_process(task: Task) -> Answer:
    """Return one process for each class, with variance and length scale chosen by the evidence."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    X, nodes = task.problem.features, task.labels.nodes
    typical = float(np.median(pdist(X[nodes])))
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(typical, (0.1 * typical, 10 * typical))
    model = GaussianProcessClassifier(kernel).fit(X[nodes], task.labels.values)
    return Answer(spread(model.classes_, model.predict_proba(X), task.problem.n_classes))
