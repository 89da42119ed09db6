"""The base of the classifiers of a graph's nodes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.posterior.predictions import PredictionMixin
from graphuq.utils import validation
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn


def _has_distributions(classifier: Any) -> bool:
    return bool(classifier._non_negative)


class TransductiveClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers that give every node of one graph a score for each class.

    A subclass checks its parameters and computes the scores in ``_score``.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    labels_ : Labels
        The labels that it was fitted to.
    decision_scores_ : ndarray, shape (n, K)
        The class with the largest is predicted.
    label_distributions_ : ndarray, shape (n, K)
        Scores scaled to sum to 1 over classes, where all of them are non-negative by
        construction; a node without any score gets 1 / K.
    transduction_ : ndarray, shape (n,)
        The predicted class of every node.

    Examples
    --------
    >>> from graphuq.classifiers import ZhouGC
    >>> model = ZhouGC(gamma=1.0).fit([[0, 1, 0], [1, 0, 2], [0, 2, 0]], ["a", None, "b"])
    >>> model.predict()
    array(['a', 'b', 'b'], dtype='<U1')
    >>> model.predict_proba([1]).round(2)
    array([[0.41, 0.59]])
    >>> model.accuracy(["a", "b", "b"])
    1.0
    >>> len(model.labels), model.by_class.shape, bool((model.prediction == model.predict()).all())
    (2, (3, 2), True)
    """

    # whether scores are non-negative, so that their shares are a distribution
    _non_negative = False

    # scores below this share of the largest are lost in the solver's error
    _resolution = 0.0

    def fit(self, graph: Any, labels: Any) -> Self:
        """Score every node.

        Parameters
        ----------
        graph : Graph, array_like, sparse matrix or networkx.Graph, shape (n, n)
        labels : Labels or array_like, shape (n,)
            An array gives every node's class, -1 where it is not known.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Parameters out of range, a graph that is invalid or that the method does not support,
            labels that do not fit the graph.

        Warns
        -----
        UserWarning
            Nodes that no label reaches.
        """
        graph = Graph.of(graph)
        labels = Labels.of(labels, graph.n_nodes)
        return self._keep(labels, self._score(graph, labels))

    def _keep(self, labels: Labels, scores: Array) -> Self:
        """Set the fitted attributes; warn of nodes that no label reaches."""
        reached = abs(scores).max(axis=1)
        lost = np.flatnonzero(reached <= self._resolution * reached.max())
        if lost.size:
            warn(
                f"no label reaches {lost.size} of {reached.size} nodes, first node {lost[0]}, by "
                f"more than the solver's error: their scores are meaningless, and their class "
                f"{labels.classes[0]} is a placeholder; label a node near them",
                UserWarning,
            )
        self.labels_, self.classes_ = labels, labels.classes
        self.decision_scores_ = scores
        if self._non_negative:
            total = scores.sum(axis=1, keepdims=True)
            even = np.full_like(scores, 1 / labels.classes.size)
            self.label_distributions_ = np.divide(scores, total, out=even, where=total > 0)
        self.transduction_: NDArray[Any] = labels.classes[scores.argmax(axis=1)]
        return self

    def _score(self, graph: Graph, labels: Labels) -> Array:
        """Return scores, shape (n, K)."""
        raise NotImplementedError

    def predict(self, nodes: Any = None) -> NDArray[Any]:
        """Return the predicted classes of ``nodes``, by default of all."""
        check_is_fitted(self)
        return self.transduction_[self._positions(nodes)]

    @available_if(_has_distributions)
    def predict_proba(self, nodes: Any = None) -> Array:
        """Return the label distributions of ``nodes``, by default of all, shape (n, K)."""
        check_is_fitted(self)
        return self.label_distributions_[self._positions(nodes)]

    def _positions(self, nodes: Any) -> Any:
        if nodes is None:
            return slice(None)
        return validation.node_ids("nodes", nodes, self.transduction_.size)

    @property
    def labels(self) -> Labels:
        """The labels that it was fitted to."""
        check_is_fitted(self)
        return self.labels_

    @property
    def by_class(self) -> Array | None:
        """The label distributions of all nodes, shape (n, K); None where scores are signed."""
        check_is_fitted(self)
        return self.label_distributions_ if self._non_negative else None

    @property
    def prediction(self) -> NDArray[Any]:
        """The predicted class of every node, shape (n,)."""
        check_is_fitted(self)
        return self.transduction_
