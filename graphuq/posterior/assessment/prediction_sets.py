"""Prediction sets with guaranteed coverage, also if the model is wrong: split conformal.

Every node and class has a conformal score: the larger it is, the less the class conforms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs.graph import Graph
from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Rounding in (n + 1) coverage must not ask for one label more: 0.9 * 10 may be 9.000...1.
SLACK = 1e-9

SCORES = ("probability", "aps", "daps")

# Share of the neighbors in a diffused score.
NEIGHBORS_SHARE = 0.5


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


def conformal_scores(probabilities: Array, kind: str, graph: Any, u: Array) -> Array:
    """Return the scores, shape (N, K).

    - "probability": 1 - p_ik.
    - "aps": the probability of all likelier classes, and a random share of the class's own,
      sum_(l likelier than k) p_il + u_i p_ik (Romano, Sesia and Candes 2020). Sets are larger where
      several classes are likely, and coverage varies less from node to node.
    - "daps": half of that, and half of the mean over neighbors, weighted by the edges (Zargarbashi,
      Antonelli and Bojchevski 2023). Where neighbors are alike, sets are smaller. Nodes without
      neighbors keep their own.

    Parameters
    ----------
    probabilities : ndarray, shape (N, K)
    kind : {"probability", "aps", "daps"}
    graph : Graph or None
        Needed for "daps" only.
    u : ndarray, shape (N,)
        Uniform on (0, 1).

    Examples
    --------
    >>> p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> conformal_scores(p, "aps", None, u=np.array([0.5, 0.5]))
    array([[0.35, 0.8 , 0.95],
           [0.95, 0.3 , 0.75]])
    """
    validation.one_of("score", kind, SCORES)
    if (graph is None) == (kind == "daps"):
        raise ValueError(
            'score="daps" needs the graph, graph=..., and the other scores do not use one'
        )
    if kind == "probability":
        return 1 - probabilities
    order = np.argsort(-probabilities, axis=1, kind="stable")
    sorted_p = np.take_along_axis(probabilities, order, axis=1)
    scores = np.empty_like(probabilities)
    above = np.cumsum(sorted_p, axis=1) - sorted_p
    np.put_along_axis(scores, order, above + u[:, None] * sorted_p, axis=1)
    return scores if kind == "aps" else _diffuse(scores, graph)


def _diffuse(scores: Array, graph: Any) -> Array:
    """Return half of each node's scores, and half of the mean of its neighbors'."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a gq.Graph, got {type(graph).__name__}")
    if graph.n_nodes != len(scores):
        raise ValueError(f"the graph has {graph.n_nodes} nodes, and the posterior {len(scores)}")
    weights = graph.adjacency
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    around = (weights @ scores) / np.where(degrees > 0, degrees, 1.0)[:, None]
    share = np.where(degrees > 0, NEIGHBORS_SHARE, 0.0)[:, None]
    return np.asarray((1 - share) * scores + share * around)
