"""Scores of an answer at the nodes that are asked for."""

from __future__ import annotations

import numpy as np

import graphuq as gq
from benchmarks.trust.peers.ours import COVERAGE
from benchmarks.trust.peers.task import Answer, Task

# how each score is judged: the higher, the lower, or the nearer to the coverage asked for
BEST = {
    "accuracy": lambda x: -x,
    "log score": lambda x: x,
    "ECE": lambda x: x,
    "ECE, 10 bins": lambda x: x,
    "ECE, 15 bins": lambda x: x,
    "coverage": lambda x: abs(x - COVERAGE),
    "set size": None,
}


def score(answer: Answer, task: Task, nodes: np.ndarray) -> dict[str, float]:
    """Return the scores that ``answer`` allows.

    "ECE" is `gq.expected_calibration_error`, with bins on [1/K, 1]; the others have equal bins on
    [0, 1]. Without sets of its own, an answer has those of `likeliest`.
    """
    truth, found = task.problem.y[nodes], {}
    classes = np.arange(task.problem.n_classes)
    if answer.prediction is not None:
        found["accuracy"] = float((answer.prediction[nodes] == truth).mean())
    sets = answer.sets
    if answer.probabilities is not None:
        p = answer.probabilities[nodes]
        judged = gq.calibrate(p, truth, classes)
        found |= {
            "accuracy": judged.accuracy,
            "log score": judged.log_score,
            "ECE": judged.expected_calibration_error,
            "ECE, 10 bins": equal_bins(p, truth, 10),
            "ECE, 15 bins": equal_bins(p, truth, 15),
        }
        sets = likeliest(answer.probabilities, COVERAGE)
    if sets is not None:
        found["coverage"] = float(sets[nodes, truth].mean())
        found["set size"] = float(sets[nodes].sum(axis=1).mean())
    return found


def equal_bins(p: np.ndarray, truth: np.ndarray, n_bins: int) -> float:
    """Return the expected calibration error with equal bins of confidence on [0, 1]."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == truth
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(p))


def likeliest(p: np.ndarray, coverage: float) -> np.ndarray:
    """Return the smallest sets of classes whose probabilities add up to ``coverage``."""
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    sets = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(sets, order, before < coverage - 1e-12, axis=1)
    return sets
