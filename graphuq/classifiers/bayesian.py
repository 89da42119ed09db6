"""The posterior as a scikit-learn estimator: features or a graph in, probabilities out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from graphuq import validation
from graphuq.approximation import approximate
from graphuq.graphs import Graph
from graphuq.graphs.construction import joined
from graphuq.graphs.neighbours import Neighbours
from graphuq.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.out_of_sample import new_probability
from graphuq.prior import MOST_MODES, Prior
from graphuq.sampling import sample
from graphuq.tuning import left_tau, settled

PRECOMPUTED = "precomputed"
AFFINITIES = ("self-tuning", "cosine", PRECOMPUTED)
METHODS = ("sample", "approximate")


class BayesianGraphClassifier(ClassifierMixin, BaseEstimator):
    """Posterior probabilities of the labels of a graph's nodes, and of new items.

    What `graphuq.sample`, or `graphuq.approximate`, makes of `Prior.projected` on the graph of the
    nearest neighbours, in scikit-learn's shape: it goes into pipelines and grid searches. Rows
    without a label are part of the graph, and the more of them the better.

    A new item is joined to the graph by its own rule, is given the field of its neighbours,
    averaged with the weights, and more doubt the weaker these are (`graphuq.out_of_sample`). An
    item that equals one of those fitted is that node.

    Parameters
    ----------
    likelihood : likelihood or "auto"
        How labels come from the field: `Probit`, `LevelSet`, `NoisyProbit`, `GinzburgLandau` or
        one of your own. "auto" is ``Probit()``, whose noise the labels choose.
    affinity : {"self-tuning", "cosine", "precomputed"}
        Weights of the graph, as in `graphuq.knn_graph`, its components bridged; or X is itself an
        adjacency.
    n_neighbors : int
        Of every item; of fewer items all others. Not read for a precomputed graph.
    rank : int
        Modes that are kept; of a smaller graph all of them.
    alpha : float or "auto"
        Smoothness of the prior; "auto" lets the labels choose (`graphuq.tune`), and tau too of
        more than two classes.
    method : {"sample", "approximate"}
        Draws, or expectation propagation's Gaussian, which takes milliseconds and serves two
        classes and the likelihoods that observe signs.
    draws, chains : int
        Draws kept from each chain, and independent chains. Not read for "approximate".
    seed : int, SeedSequence or Generator, optional
        Of the draws.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    posterior_ : Posterior or ApproximatePosterior
        Of the fitted items, with all that it offers: calibration, suspect labels, diagnostics;
        what to label next is ``posterior_.suggest(k)``.
    transduction_ : ndarray, shape (n,)
        The likeliest class of every fitted item.
    label_variance_ : ndarray, shape (n,)
        ``posterior_.variance``: 0 is certain, 1 a toss between all classes.
    ranking_ : ndarray of int, shape (n,)
        Fitted items, most uncertain first.
    graph_ : Graph
    prior_ : Prior
    likelihood_ : likelihood
        With the parameters that the labels chose.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (d,)
        Where X was a data frame with names.

    Raises
    ------
    ValueError, TypeError
        In ``fit``: parameters out of range, unknown options, features that are missing or
        infinite, a disconnected precomputed graph, labels of one class, or for "approximate" of
        more than two.

    Warns
    -----
    ConvergenceWarning
        In ``fit``: chains that disagree.

    See Also
    --------
    LabelledKFold : holds out labelled items alone, for grid searches.

    Notes
    -----
    Of scikit-learn's estimator checks it fails one, check_classifiers_classes, which has -1 for a
    class; here it marks what is not labelled. ``score`` counts such rows as wrong: leave them out.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(220, seed=0)
    >>> known = np.where(np.arange(200) % 20 == 0, y[:200], -1)  # ten labels
    >>> model = BayesianGraphClassifier(n_neighbors=8).fit(X[:200], known)
    >>> bool(model.posterior_.accuracy(y[:200]) > 0.9)
    True
    >>> model.score(X[200:], y[200:]) > 0.9                      # items that it has not seen
    True
    >>> model.predict(X[200:]).shape
    (20,)
    >>> model.predict_proba(X[:1] + 100.0)                       # and one that is like none
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        likelihood: Any = validation.AUTO,
        *,
        affinity: str = "self-tuning",
        n_neighbors: int = 20,
        rank: int = MOST_MODES,
        alpha: float | str = validation.AUTO,
        method: str = "sample",
        draws: int = 1000,
        chains: int = 4,
        seed: validation.Seed = 0,
    ) -> None:
        self.likelihood = likelihood
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.rank = rank
        self.alpha = alpha
        self.method = method
        self.draws = draws
        self.chains = chains
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Build the graph, choose what is "auto", and infer the labels of all items.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Features; for a precomputed graph its adjacency, shape (n, n), which may be sparse, or
            a `Graph` or networkx.Graph.
        y : array_like, shape (n,), or Labels
            Classes by any names, and -1, None or NaN where there is no label.

        Returns
        -------
        self
        """
        validation.one_of("affinity", self.affinity, AFFINITIES)
        validation.one_of("method", self.method, METHODS)
        rank = validation.integer("rank", self.rank, 1)
        k = validation.integer("n_neighbors", self.n_neighbors, 1)
        likelihood = Probit() if validation.is_auto(self.likelihood) else self.likelihood
        if self.affinity == PRECOMPUTED:
            matrix = Graph.of(X).adjacency if hasattr(X, "adjacency") else X
            matrix = validate_data(
                self, matrix, dtype=np.float64, accept_sparse="csr", ensure_min_samples=2
            )
            n = matrix.shape[0]
            labels = self._labels(y, n)
            self.graph_ = Graph(matrix)
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            n = X.shape[0]
            labels = self._labels(y, n)
            self._neighbours = Neighbours(X, min(k, n - 1), self.affinity)
            self.graph_ = joined(self._neighbours, connect=True)
        tau = left_tau(self.alpha, labels)
        prior = Prior.projected(self.graph_, min(rank, n - 1), alpha=self.alpha, tau=tau)
        self.prior_, self.likelihood_ = settled(prior, likelihood, labels)
        if self.method == "sample":
            self.posterior_: Any = sample(
                self.prior_,
                self.likelihood_,
                labels,
                draws=self.draws,
                chains=self.chains,
                seed=self.seed,
                progress=False,
            )
        else:
            self.posterior_ = approximate(self.prior_, self.likelihood_, labels)
        self.classes_ = labels.classes
        self.transduction_: NDArray[Any] = self.posterior_.prediction
        self.label_variance_: NDArray[np.float64] = self.posterior_.variance
        self.ranking_: NDArray[np.int64] = self.posterior_.ranking()
        return self

    def _labels(self, y: Any, n: int) -> Labels:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the class of every item, -1 where it is not known"
            )
        if np.asarray(y, dtype=object).ndim == 2:
            y = column_or_1d(y, warn=True)
        labels = Labels.of(y, n)
        check_classification_targets(labels.values)
        if labels.classes.size > 2 and self.method == "approximate":
            raise ValueError(
                "Only binary classification is supported by method='approximate', and y shows "
                f"{labels.classes.size} classes: {labels.classes.tolist()[:5]}; take "
                "method='sample', or keep the labels of two of them"
            )
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the posterior probability of each class, shape (m, K).

        Parameters
        ----------
        X : array_like, shape (m, d)
            For a precomputed graph the weights between m new items and the n fitted ones, shape
            (m, n), which may be sparse. What the fitted ones are is in ``posterior_``.

        Raises
        ------
        ValueError
            Other features than were fitted, missing or infinite ones, negative weights.
        """
        check_is_fitted(self)
        if self.affinity == PRECOMPUTED:
            weights = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
            if weights.size and weights.min() < 0:
                raise ValueError(
                    f"weights of new items must be non-negative, got {weights.min():g}: mend or "
                    "drop those edges"
                )
            same = None
        else:
            X = validate_data(self, X, dtype=np.float64, reset=False)
            validation.squarable(X)
            weights, same = self._neighbours.of_new(X)
        p = new_probability(self.posterior_, self.prior_, self.graph_.degrees, weights)
        by_class = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        if same is None:
            return by_class
        fitted = np.asarray(same.sum(axis=1) > 0)[:, None]
        return np.where(fitted, same @ self.posterior_.by_class, by_class)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class, shape (m,); see `predict_proba`."""
        p = self.predict_proba(X)
        likeliest = p.argmax(axis=1) if p.shape[1] > 2 else (p[:, 1] >= 0.5).astype(int)
        return self.classes_[likeliest]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.method == "sample"
        tags.input_tags.pairwise = tags.input_tags.sparse = self.affinity == PRECOMPUTED
        return tags
