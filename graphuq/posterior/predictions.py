"""Predictions of every node, their uncertainty and their calibration, from class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq.labels.labels import Labels
from graphuq.posterior.assessment.class_shares import (
    class_weights,
    require_shares,
    require_strength,
    reweight,
)
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    from graphuq.posterior.assessment.calibration import Calibration
    from graphuq.posterior.assessment.prediction_sets import PredictionSets

# A node is unsure if no class is this probable. Texts print it in whole percent, so it is one.
SURE = 0.85


class Predictions(Protocol):
    """A class for every node: of a sampled or approximate posterior, a MAP estimate, a classifier.

    `PredictionMixin` derives the rest from ``labels`` and ``by_class``.
    """

    @property
    def labels(self) -> Labels:
        """What was observed."""
        ...

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        ...

    @property
    def by_class(self) -> Array | None:
        """Probabilities of ``labels.classes``, shape (N, K); None where there are none."""
        ...

    @property
    def prediction(self) -> NDArray[Any]:
        """The predicted class of every node, shape (N,)."""
        ...

    def accuracy(self, truth: Any) -> float:
        """Return the share of unlabeled nodes whose prediction is right."""
        ...


def most_probable(by_class: Array) -> NDArray[np.int64]:
    """Return the column of the largest probability in each row, shape (N,).

    The second of two classes wins a tie, as the sign of 0 is +1; for K > 2 classes the first wins.
    """
    if by_class.shape[1] == 2:
        return (by_class[:, 1] >= by_class[:, 0]).astype(np.int64)
    return by_class.argmax(axis=1)


def order_by_entropy(by_class: Array) -> NDArray[np.int64]:
    """Return all nodes, those of the largest entropy first; ties keep the order of the nodes.

    Examples
    --------
    >>> order_by_entropy(np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]))
    array([1, 0, 2])
    """
    if by_class.shape[1] == 2:
        return np.argsort(np.abs(by_class[:, 1] - 0.5), kind="stable")
    return np.argsort(-entr(by_class).sum(axis=1), kind="stable")


class PredictionMixin:
    """Predictions, uncertainty and calibration from ``labels`` and ``by_class``.

    ``by_class`` (N, K) has the probabilities of ``labels.classes``. It may be None; then a class
    defines ``prediction`` itself, and what needs probabilities is missing.

    Examples
    --------
    >>> import graphuq as gq
    >>> model = gq.ZhouGC(gamma=1.0).fit([[0, 1, 0], [1, 0, 2], [0, 2, 0]], ["a", None, "b"])
    >>> model.by_class.round(2)
    array([[0.88, 0.12],
           [0.41, 0.59],
           [0.11, 0.89]])
    >>> model.n_nodes, model.prediction, model.accuracy(["a", "b", "b"])
    (3, array(['a', 'b', 'b'], dtype='<U1'), 1.0)
    >>> model.entropy.round(2), model.margin.round(2), model.unsure
    (array([0.37, 0.68, 0.35]), array([0.75, 0.17, 0.77]), array([False,  True, False]))
    >>> model.calibration(["a", "b", "b"]).accuracy
    1.0
    """

    @property
    def n_nodes(self: Predictions) -> int:
        """Number of nodes N."""
        return self.prediction.shape[0]

    @property
    def prediction(self: Predictions) -> NDArray[Any]:
        """The most probable class of every node, shape (N,)."""
        return self.labels.classes[most_probable(_probabilities(self))]

    @property
    def entropy(self: Predictions) -> Array:
        """Entropy of every node's label in nats, shape (N,): 0 is certain, log K is uniform."""
        return np.asarray(entr(_probabilities(self)).sum(axis=1))

    @property
    def margin(self: Predictions) -> Array:
        """Largest probability minus the second largest, shape (N,): 1 is certain, 0 is a tie."""
        largest = np.sort(_probabilities(self), axis=1)[:, -2:]
        return np.asarray(largest[:, 1] - largest[:, 0])

    @property
    def unsure(self: Predictions) -> NDArray[np.bool_]:
        """Whether no class of a node has a probability of 85% or more, shape (N,)."""
        return np.asarray(_probabilities(self).max(axis=1) < SURE)

    def accuracy(self: Predictions, truth: Any) -> float:
        """Return the share of unlabeled nodes whose prediction is right.

        Parameters
        ----------
        truth : array_like, shape (N,)
            The true classes.

        Raises
        ------
        ValueError
            A wrong length, or every node labeled.
        """
        return self.labels.accuracy(self.prediction, truth)

    def calibration(
        self: Predictions, truth: Any = None, *, n_bins: int = 10, seed: validation.Seed = 0
    ) -> Calibration:
        """Return how far the probabilities of unlabeled nodes can be trusted.

        See `graphuq.calibrate` and `graphuq.Calibration`; `graphuq.plots.reliability` shows it.

        Parameters
        ----------
        truth : array_like, shape (N,)
            The true classes.
        n_bins : int
            Bins of confidence, equal parts of [1/K, 1].
        seed : int, SeedSequence or Generator
            Seed of the bootstrap.

        Raises
        ------
        TypeError
            No truth.
        ValueError
            A wrong length, missing values, other classes, or every node labeled; fewer than
            one bin.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> labels = gq.reveal(y, counts=3, seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
        >>> result = post.calibration(y)
        >>> result.accuracy == post.accuracy(y)
        True
        >>> int(result.curve["count"].sum())
        94
        """
        from graphuq.posterior.assessment.calibration import calibrate

        if truth is None:
            raise TypeError(
                "truth is needed; without it gq.approximate(prior, likelihood, labels)"
                ".calibration() compares each label with what all others predict"
            )
        p, classes = _probabilities(self), self.labels.classes
        hidden, hidden_truth = self.labels.unlabelled_truth(truth, p.shape[0])
        return calibrate(p[hidden], hidden_truth, classes, n_bins=n_bins, seed=seed)

    def prediction_sets(
        self: Predictions,
        held_out: Any,
        coverage: float = 0.9,
        per_class: bool = False,
        *,
        score: str = "probability",
        graph: Any = None,
        seed: validation.Seed = 0,
    ) -> PredictionSets:
        """Return sets of classes that contain the truth with a given probability: split conformal.

        A class is in a node's set if its probability is not lower than what most held-out labels
        got (Vovk, Gammerman and Shafer 2005; Papadopoulos et al. 2002; Lei et al. 2018). Then,
        however wrong prior and likelihood are, the set of an unlabeled node contains its class with
        probability at least ``coverage``, and at most 1 / (n + 1) more with n held-out labels. This
        requires that the n held-out nodes are exchangeable with the unlabeled ones, as when they
        are drawn at random (`Labels.split`). The probability is over that draw: the share covered
        in one run differs from it by about sqrt(coverage (1 - coverage) / n). Nothing is guaranteed
        for single nodes, nor for true classes where held-out labels are wrong.

        A set has one class where the model is sure enough and more classes where it is not. A set
        is empty at the least sure nodes if the model is right more often than ``coverage`` asks;
        ask for a coverage above its accuracy to avoid empty sets.

        Parameters
        ----------
        held_out : Labels or array_like, shape (N,)
            Labels that were not used; not all classes need to occur. An array has -1 at all
            other nodes.
        coverage : float in (0, 1)
        per_class : bool
            Whether to reach the coverage in each class separately, from its own held-out labels
            (Vovk et al.'s Mondrian predictor). They need only be drawn at random within each class,
            at any rates.
        score : {"probability", "aps", "daps"}
            How little a class conforms: `graphuq.posterior.assessment.prediction_sets`.
            "probability" makes the smallest sets, "aps" larger ones where several classes are
            likely, and "daps" averages "aps" over neighbors.
        graph : Graph, optional
            The graph of the nodes, for "daps".
        seed : int, SeedSequence or Generator
            Breaks ties: where draws all agree, probabilities are 0 or 1 exactly. "aps" and "daps"
            are random by definition.

        Raises
        ------
        ValueError
            A coverage outside (0, 1); held-out labels that were used already, of other classes, or
            too few: coverage / (1 - coverage) are needed, in each class if ``per_class``.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> given, held_out = gq.reveal(y, counts=20, seed=0).split(seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), given, seed=0, progress=False)
        >>> result = post.prediction_sets(held_out, coverage=0.9)
        >>> result.sets.shape
        (100, 2)
        >>> result.coverage(y) > 0.75
        True
        """
        from graphuq.posterior.assessment.prediction_sets import prediction_sets

        p = _probabilities(self)
        return prediction_sets(
            p, self.labels, held_out, coverage, per_class, seed, score=score, graph=graph
        )

    def with_class_shares(
        self: Predictions, class_shares: Any, *, strength: float = np.inf
    ) -> ReweightedPredictions:
        """Return predictions whose classes have known shares among all nodes.

        Labels that are not drawn at random, such as five of each class, do not show how frequent
        the classes are. If you know it, say so here. The result has the nearest probabilities with
        these shares: those of each class are multiplied by one weight, see
        `graphuq.posterior.assessment.class_shares`. Prior, likelihood and draws stay as they are.

        By default shares are certain. If they are a guess, give it a ``strength``: then the shares
        of the result lie between the predicted and the given ones.

        Parameters
        ----------
        class_shares : dict
            From each class to its share among all nodes, labeled ones too: positive numbers that
            sum to 1.
        strength : float from 0 to infinity
            The number of items that the knowledge of the shares is worth, where each node counts as
            one item: with a strength of N it weighs as much as the probabilities of N nodes. 0
            changes nothing, and with infinity, the default, the result has these shares exactly.

        Raises
        ------
        TypeError, ValueError
            Not a dict of all classes to positive numbers that sum to 1; shares that contradict
            probabilities of 0 or 1; a strength that is negative, NaN or not a number.

        Examples
        --------
        One in ten is rare, and five of each class are labeled:

        >>> import graphuq as gq
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2))
        >>> y = np.where(X[:, 0] > np.sort(X[:, 0])[-31], "rare", "usual")
        >>> labels = gq.reveal(y, counts=5, seed=0)
        >>> post = gq.approximate(gq.knn_graph(X, n_neighbors=8), gq.Probit(), labels)
        >>> known = post.with_class_shares({"rare": 0.1, "usual": 0.9})
        >>> known
        ReweightedPredictions(300 nodes, shares 0.1 of 'rare', 0.9 of 'usual')
        >>> known.accuracy(y) > post.accuracy(y)
        True
        >>> known.calibration(y).log_score < post.calibration(y).log_score
        True

        A guess that is worth 100 items:

        >>> guess = post.with_class_shares({"rare": 0.05, "usual": 0.95}, strength=100)
        >>> bool(0.05 < guess.by_class[:, 0].mean() < post.by_class[:, 0].mean())
        True
        """
        strength = require_strength(strength)
        shares = require_shares(class_shares, self.labels)
        p = _probabilities(self)
        weights = class_weights(p, shares, strength)
        return ReweightedPredictions(self.labels, reweight(p, weights), shares, weights, strength)


@dataclass(frozen=True, eq=False)
class ReweightedPredictions(PredictionMixin):
    """Predictions whose classes have known shares; ``with_class_shares`` of a result makes them.

    Attributes
    ----------
    labels : Labels
        What was observed.
    by_class : ndarray, shape (N, K)
        Probabilities of ``labels.classes``; their means over all nodes are the shares, or with a
        finite strength between these and those predicted.
    shares : ndarray, shape (K,)
        The given shares.
    class_weights : ndarray, shape (K,)
        What the probabilities of each class were multiplied by, of sum 1.
    strength : float
        The number of items that the shares are worth.

    Examples
    --------
    >>> import graphuq as gq
    >>> model = gq.ZhouGC(gamma=1.0).fit([[0, 1, 0], [1, 0, 2], [0, 2, 0]], ["a", None, "b"])
    >>> known = model.with_class_shares({"a": 0.6, "b": 0.4})
    >>> known.by_class.mean(axis=0).round(6), known.prediction
    (array([0.6, 0.4]), array(['a', 'a', 'b'], dtype='<U1'))
    >>> known.ranking()
    array([1, 2, 0])
    """

    labels: Labels
    by_class: Array
    shares: Array
    class_weights: Array
    strength: float = np.inf

    def ranking(self) -> NDArray[np.int64]:
        """Return all nodes, most uncertain first, by their entropy."""
        return order_by_entropy(self.by_class)

    def __repr__(self) -> str:
        each = zip(self.shares, self.labels.classes.tolist(), strict=True)
        shares = ", ".join(f"{share:.3g} of {name!r}" for share, name in each)
        guess = f", strength {self.strength:g}" if np.isfinite(self.strength) else ""
        return f"ReweightedPredictions({len(self.by_class)} nodes, shares {shares}{guess})"


def _probabilities(result: Predictions) -> Array:
    if result.by_class is None:
        raise AttributeError(
            f"{type(result).__name__} has no class probabilities here: take one that has, such as "
            "gq.sample(prior, likelihood, labels)"
        )
    return result.by_class
