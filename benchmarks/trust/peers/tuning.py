"""Settings chosen by labeled nodes alone: each fold is held out in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

import graphuq as gq
from benchmarks.trust.peers.task import Task

FOLDS = 3


def folds(task: Task) -> Iterator[tuple[gq.Labels, gq.Labels]]:
    """Yield the labels without a fold, and the fold; parts without two classes are left out."""
    labels = task.labels
    # within each class the folds follow each other, so that each fold shows most classes
    order = np.random.default_rng(task.seed).permutation(len(labels))
    order = order[np.argsort(labels.indices[order], kind="stable")]
    fold = np.empty(len(labels), dtype=int)
    fold[order] = np.arange(len(labels)) % FOLDS
    for k in range(FOLDS):
        kept, left = fold != k, fold == k
        if np.unique(labels.indices[kept]).size > 1 and left.any():
            yield (
                gq.Labels(labels.nodes[kept], labels.values[kept], labels.classes),
                gq.Labels(labels.nodes[left], labels.values[left], labels.classes),
            )


def choose(
    task: Task, fit: Callable[[Task, float], np.ndarray], candidates: Sequence[float], usual: float
) -> float:
    """Return the candidate with the least log score at held-out labels, or the usual one.

    ``fit(task, candidate)`` returns probabilities at all nodes. Each class needs two labels.
    """
    if np.bincount(task.labels.indices).min() < 2:
        return usual
    parts = list(folds(task))
    losses = [
        sum(
            -np.log(np.maximum(fit(task.given(kept), c)[left.nodes, left.indices], 1e-4)).sum()
            for kept, left in parts
        )
        for c in candidates
    ]
    return candidates[int(np.argmin(losses))]


def spread(classes: np.ndarray, probabilities: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of all classes; those that were not among ``classes`` have 0."""
    out = np.zeros((len(probabilities), n_classes))
    out[:, classes] = probabilities
    return out
