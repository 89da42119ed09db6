"""GraphLearning: Laplace learning, whose values are probabilities, and Poisson learning."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.trust.peers.task import Answer, Task


def laplace(task: Task) -> Answer:
    """Return the probabilities that a random walk meets a label of each class first."""
    import graphlearning

    found = graphlearning.ssl.laplace(_matrix(task)).fit(task.labels.nodes, task.labels.values)
    found = np.clip(found, 1e-12, None)  # it solves to 1e-5
    return Answer(found / found.sum(axis=1, keepdims=True))


def poisson(task: Task) -> Answer:
    import graphlearning

    model = graphlearning.ssl.poisson(_matrix(task))
    return Answer(prediction=model.fit_predict(task.labels.nodes, task.labels.values))


def _matrix(task: Task) -> sparse.csr_matrix:
    return sparse.csr_matrix(task.problem.graph.adjacency)  # it needs a matrix, not an array
