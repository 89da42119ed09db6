"""Prediction sets with guaranteed coverage, also if the model is wrong: split conformal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.posterior.assessment.conformal_scores import conformal_scores
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Rounding in (n + 1) coverage must not ask for one label more: 0.9 * 10 may be 9.000...1.
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """A set of classes for every node; `Posterior.prediction_sets` makes it.

    Attributes
    ----------
    sets : ndarray of bool, shape (N, K)
        Whether ``classes[k]`` is in the set of a node. All nodes have a set, but the guarantee
        holds only for nodes that are not among ``known``.
    classes : ndarray, shape (K,)
    threshold : ndarray, shape (K,)
        The largest score of a class in a set; ties there are broken at random.
        The same for all classes unless ``per_class``.
    nominal : float
        The requested coverage.
    known : Labels
        The labels given to the posterior and those held out.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> known = gq.Labels([0, 1], ["cat", "dog"])
    >>> sets = np.array([[True, False], [False, True], [True, True], [True, False]])
    >>> result = gq.PredictionSets(sets, known.classes, np.array([0.6, 0.6]), 0.9, known)
    >>> result
    PredictionSets(0.9 coverage; sets by number of classes: 0 of 0, 1 of 1, 1 of 2)
    >>> result.coverage(["cat", "dog", "dog", "dog"])
    0.5
    """

    sets: NDArray[np.bool_]
    classes: NDArray[Any]
    threshold: Array
    nominal: float
    known: Labels

    def coverage(self, truth: Any) -> float:
        """Return the share of nodes not ``known`` whose set contains their true class.

        Parameters
        ----------
        truth : array_like, shape (N,)
            The true classes. A class not among ``classes`` is in no set.

        Raises
        ------
        ValueError
            A wrong length, missing values, other classes.
        """
        nodes, true = self.known.unlabelled_truth(truth, self.sets.shape[0])
        return float((self.sets[nodes] & (true[:, None] == self.classes)).any(axis=1).mean())

    def __repr__(self) -> str:
        sizes = np.delete(self.sets, self.known.nodes, axis=0).sum(axis=1)
        counts = np.bincount(sizes, minlength=self.classes.size + 1)
        shown = ", ".join(f"{nodes} of {size}" for size, nodes in enumerate(counts))
        return f"PredictionSets({self.nominal:.4g} coverage; sets by number of classes: {shown})"


def prediction_sets(
    probabilities: Array,
    labels: Labels,
    held_out: Any,
    coverage: float = 0.9,
    per_class: bool = False,
    seed: validation.Seed = 0,
    score: str = "probability",
    graph: Any = None,
) -> PredictionSets:
    """Return split conformal sets {k : s_jk <= q}; see `Posterior.prediction_sets`.

    q is the r-th smallest of the scores s_i(y_i) of n held-out labels, where r is
    (n + 1) coverage rounded up (Papadopoulos et al. 2002; Vovk et al. 2005, chapter 4; Lei et al.
    2018). Every node has a random number, by which equal scores are ordered. If the score of a
    node's own class is exchangeable with those held out, its rank among them all is then uniform on
    1 to n + 1, and at most r with probability r / (n + 1): from ``coverage`` to ``coverage`` +
    1 / (n + 1).

    Parameters
    ----------
    probabilities : ndarray, shape (N, K)
        Probabilities of ``labels.classes``.
    labels : Labels
        Those that the probabilities come from.
    held_out, coverage, per_class, seed, score, graph
        See `Posterior.prediction_sets`.
    """
    n_nodes = probabilities.shape[0]
    held_out = Labels.of(held_out, n_nodes, labels.classes)
    if not 0 < validation.real("coverage", coverage) < 1:
        raise ValueError(f"coverage must lie in (0, 1), got {coverage}")
    if not set(held_out.classes.tolist()) <= set(labels.classes.tolist()):
        raise ValueError(
            f"held_out must be labels of the classes {labels.classes.tolist()}, got "
            f"{held_out.classes.tolist()}"
        )
    held_out = Labels(held_out.nodes, held_out.values, labels.classes)
    seen = np.intersect1d(labels.nodes, held_out.nodes)
    if seen.size:
        raise ValueError(
            f"node {seen[0]} is among the labels that the posterior was given: hold labels out "
            "before sampling, given, held_out = labels.split()"
        )
    known = Labels(
        np.concatenate([labels.nodes, held_out.nodes]),
        np.concatenate([labels.values, held_out.values]),
        labels.classes,
    )
    rng = np.random.default_rng(validation.seed_sequence(seed))
    ties = rng.random(size=(n_nodes,))
    scores = conformal_scores(probabilities, score, graph, rng.random(size=(n_nodes,)))
    own, tie = scores[held_out.nodes, held_out.indices], ties[held_out.nodes]
    sets = np.empty(scores.shape, dtype=bool)
    threshold = np.empty(labels.classes.size)
    for k, name in enumerate(labels.classes.tolist()):
        peers = np.flatnonzero((held_out.indices == k) | (not per_class))
        rank = max(1, math.ceil((peers.size + 1) * coverage - SLACK))
        if rank > peers.size:
            whose = f" of class {name!r}" if per_class else ""
            needed = math.ceil(coverage / (1 - coverage) - SLACK)
            raise ValueError(
                f"{peers.size} held-out labels{whose} are too few for coverage {coverage}, which "
                f"needs {needed}: hold out more, or ask for less"
            )
        last = peers[np.lexsort((tie[peers], own[peers]))[rank - 1]]
        threshold[k] = own[last]
        below, at = scores[:, k] < own[last], scores[:, k] == own[last]
        sets[:, k] = below | (at & (ties <= tie[last]))
    return PredictionSets(sets, labels.classes, threshold, float(coverage), known)
