"""scikit-learn: label spreading, and classifiers of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from benchmarks.trust.peers.task import Answer, SkippedError, Task
from benchmarks.trust.peers.tuning import FOLDS, choose, spread

STEPS = 100
CLAMPING = (0.2, 0.5, 0.9, 0.99)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
TREES = 300


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

    return _fitted(task, LogisticRegression(C=C, max_iter=1000))


def random_forest(task: Task) -> Answer:
    """Return the shares of the trees' leaves."""
    return Answer(_fitted(task, _forest(task)))


def calibrated_forest(task: Task) -> Answer:
    """Return these shares after a sigmoid for each class, fitted by cross-validation."""
    return Answer(_fitted(task, _calibrated(task, _forest(task))))


def _forest(task: Task) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(TREES, random_state=task.seed)


def support_vectors(task: Task) -> Answer:
    """Return support vectors with a Gaussian kernel, calibrated as the forest."""
    C = 1.0
    if np.bincount(task.labels.indices).min() > 2:  # enough to calibrate without a fold
        C = choose(task, _support_vectors, PENALTIES[2:], C)
    return Answer(_support_vectors(task, C))


def _support_vectors(task: Task, C: float) -> np.ndarray:
    from sklearn.svm import SVC

    return _fitted(task, _calibrated(task, SVC(C=C)))


def _calibrated(task: Task, model: Any) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    counts = np.bincount(task.labels.indices)
    folds = min(FOLDS, int(counts[counts > 0].min()))
    if folds < 2:
        raise SkippedError("too few labels")
    return CalibratedClassifierCV(model, cv=folds, ensemble=False)


def _fitted(task: Task, model: Any) -> np.ndarray:
    X, nodes = task.problem.features, task.labels.nodes
    model.fit(X[nodes], task.labels.values)
    return spread(model.classes_, model.predict_proba(X), task.problem.n_classes)


def gaussian_process(task: Task) -> Answer:
    """Return one process for each class, with variance and length scale chosen by the evidence."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    X, nodes = task.problem.features, task.labels.nodes
    typical = float(np.median(pdist(X[nodes])))
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(typical, (0.1 * typical, 10 * typical))
    return Answer(_fitted(task, GaussianProcessClassifier(kernel)))
