"""The posterior as a scikit-learn estimator of features or graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from graphuq.classifiers.new_rows import classify_new_rows
from graphuq.graphs import Graph
from graphuq.graphs.construction import build_graph
from graphuq.graphs.neighbors import Neighbors
from graphuq.inference.approximate import approximate
from graphuq.inference.problem import choose_parameters
from graphuq.inference.sample import sample
from graphuq.labels.class_values import as_given, is_minus_one, is_missing, to_one_type
from graphuq.labels.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import adopt, has_sign_model
from graphuq.posterior.assessment.class_shares import require_shares, require_strength, reweight
from graphuq.posterior.new_items import new_probability
from graphuq.posterior.node_names import names_of_rows
from graphuq.posterior.predictions import ReweightedPredictions, most_probable
from graphuq.priors.default_sum import check_terms, default_graph_prior, default_sum
from graphuq.priors.prior import DEFAULT_MAX_MODES
from graphuq.utils import validation
from graphuq.utils.features import refuse_masks_and_dates
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array
from graphuq.utils.words import count

PRECOMPUTED = "precomputed"
AFFINITIES = ("self-tuning", "cosine", PRECOMPUTED)
METHODS = ("sample", "approximate")


class BayesianGraphClassifier(ClassifierMixin, BaseEstimator):
    """Posterior probabilities of the labels of a graph's nodes, and of new items.

    A scikit-learn estimator around `graphuq.sample` or `graphuq.approximate`, with
    `Prior.projected` on the graph of nearest neighbors, plus a `FeaturePrior`, a `LinearPrior` and
    a `Level`; it works in pipelines and grid searches.
    Rows without a label are part of the graph; more of them improve it.

    A new item is connected to the graph by the rule of the graph. Its field is the weighted mean
    of its neighbors' fields, and less certain the smaller the weights are
    (`graphuq.posterior.new_items`). An item that equals a fitted one gets the result of that one.

    Parameters
    ----------
    likelihood : likelihood or "auto"
        How labels arise from the field: `Probit`, `LevelSet`, `NoisyProbit`, `GinzburgLandau` or
        one of your own. "auto" is ``Probit()``, whose noise is chosen from the labels.
    affinity : {"self-tuning", "cosine", "precomputed"}
        Weights of the graph, as in `graphuq.knn_graph` with ``connect=True``. With "precomputed",
        X is the adjacency matrix.
    n_neighbors : int
        Number of neighbors of each item, or all others if there are fewer. Ignored for
        "precomputed".
    rank : int
        Number of modes; a smaller graph uses all of its modes.
    alpha : float or "auto"
        Smoothness of the prior. With "auto" `graphuq.tune` chooses it and tau from the labels.
        With a number, tau is 0.
    graph_weight : float from 0 to 1, or "auto"
        Share of the graph in the prior; the rest is the share of the features. With "auto" it
        is chosen from the labels. "precomputed" and "cosine" use the graph alone, and refuse other
        numbers than 1.
    level : float from 0 or "auto"
        Deviation of the level, which lets classes differ in size. With "auto" it is chosen from
        labels drawn at random, and is 1 for others; see `Level` and ``sampling`` of `Labels`.
    class_shares : dict, optional
        From each class to its share among the fitted items, if it is known and labels are not drawn
        at random; see ``with_class_shares`` of `Posterior`. Predictions have these shares.
    class_shares_strength : float from 0 to infinity
        The number of items that the knowledge of ``class_shares`` is worth, where each fitted item
        counts as one. By default the shares are exact.
    method : {"sample", "approximate"}
        Sample the posterior, or approximate it by expectation propagation, which takes
        milliseconds, or seconds for many classes and labels, and supports sign models.
    draws, chains : int
        Draws kept from each chain, and independent chains. Not used for "approximate".
    seed : int, SeedSequence or Generator, optional
        Seed of the draws.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    posterior_ : Posterior
        The posterior of the fitted items, with calibration, suspect labels and diagnostics;
        ``posterior_.suggest(k)`` returns items to label next.
    predictions_ : Posterior or ReweightedPredictions
        ``posterior_``, or with ``class_shares`` its predictions with these shares.
    transduction_ : ndarray, shape (n,)
        The most probable class of every fitted item by ``predictions_``.
    label_variance_ : ndarray, shape (n,)
        ``posterior_.variance``: 0 is certain, 1 means all classes are equally likely.
    ranking_ : ndarray of int, shape (n,)
        Fitted items, most uncertain first, by ``posterior_``.
    graph_ : Graph
    prior_ : SumPrior, or Prior with ``level=0`` and without features
    likelihood_ : likelihood
        The likelihood with the parameters used.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (d,)
        Where X was a data frame with names.

    Raises
    ------
    ValueError, TypeError
        In ``fit``: parameters out of range, unknown options, features that are missing or
        infinite, a disconnected precomputed graph, or labels of one class. A ``graph_weight``
        below 1 with features that are constant.

    Warns
    -----
    RuntimeWarning
        In ``fit``: features that are constant, so that the graph alone is used.
    ConvergenceWarning
        In ``fit``: chains that disagree.

    See Also
    --------
    LabelledKFold : holds out labeled items alone, for grid searches.

    Notes
    -----
    It fails one of scikit-learn's estimator checks, check_classifiers_classes, which uses -1 as a
    class; here -1 marks unlabeled items. ``score`` leaves them out.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(220, seed=0)
    >>> known = np.where(np.arange(200) % 20 == 0, y[:200], -1)  # ten labels
    >>> model = gq.BayesianGraphClassifier(n_neighbors=8).fit(X[:200], known)
    >>> bool(model.posterior_.accuracy(y[:200]) > 0.9)
    True
    >>> model.score(X[200:], y[200:]) > 0.9                      # items that it has not seen
    True
    >>> model.predict(X[200:]).shape
    (20,)
    >>> model.predict_proba(X[:1] + 100.0).round(4)              # and one that is like none
    array([[0.5, 0.5]])

    Classes of known shares:

    >>> model = gq.BayesianGraphClassifier(class_shares={0: 0.45, 1: 0.55}, method="approximate")
    >>> model.fit(X[:200], known).predictions_.by_class.mean(axis=0).round(6)
    array([0.45, 0.55])
    """

    def __init__(
        self,
        likelihood: Any = validation.AUTO,
        *,
        affinity: str = "self-tuning",
        n_neighbors: int = 20,
        rank: int = DEFAULT_MAX_MODES,
        alpha: float | str = validation.AUTO,
        graph_weight: float | str = validation.AUTO,
        level: float | str = validation.AUTO,
        class_shares: Mapping[Any, float] | None = None,
        class_shares_strength: float = np.inf,
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
        self.graph_weight = graph_weight
        self.level = level
        self.class_shares = class_shares
        self.class_shares_strength = class_shares_strength
        self.method = method
        self.draws = draws
        self.chains = chains
        self.seed = seed

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Build the graph, choose what is "auto", and infer the labels of all items.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Features; for a precomputed graph its adjacency, shape (n, n), or a `Graph` or
            networkx.Graph. Either may be sparse; sparse features are made dense. The index of a
            data frame names the items in ``posterior_``.
        y : array_like, shape (n,), or Labels
            Classes by any names, and -1, None or NaN where there is no label.
        **refused
            There is no ``sample_weight``: give `Labels` with confidences instead. It is not a named
            parameter, so that meta-estimators do not pass it.

        Returns
        -------
        self
        """
        _refuse_weights(refused)
        validation.one_of("affinity", self.affinity, AFFINITIES)
        validation.one_of("method", self.method, METHODS)
        rank = validation.integer("rank", self.rank, 1)
        k = validation.integer("n_neighbors", self.n_neighbors, 1)
        run = self._check_run()
        likelihood = Probit() if validation.is_auto(self.likelihood) else self.likelihood
        adopt(likelihood)
        check_terms(self.graph_weight, self.level)
        if self.affinity != "self-tuning" and self.graph_weight not in (validation.AUTO, 1):
            raise ValueError(
                f"graph_weight must be 1 or {validation.AUTO!r} with affinity={self.affinity!r}, "
                f"which uses the graph alone, got {self.graph_weight!r}: leave it out, or take "
                'features and affinity="self-tuning"'
            )
        names = names_of_rows(X)
        # 1. graph and prior
        graph, neighbors, labels, features = self._build_graph(X, y, k)
        modes = default_graph_prior(graph, min(rank, graph.n_nodes - 1), self.alpha)
        prior = default_sum(modes, features, *self._weight_and_level(likelihood))
        # 2. parameters that are "auto"
        prior, likelihood = choose_parameters(prior, likelihood, labels)
        # 3. posterior
        if self.method == "sample":
            posterior: Any = sample(prior, likelihood, labels, progress=False, **run)
        else:
            posterior = approximate(prior, likelihood, labels)
        if names is not None:
            posterior = posterior.with_names(names)
        predictions: Any = posterior
        if self.class_shares is not None:
            predictions = posterior.with_class_shares(
                self.class_shares, strength=self.class_shares_strength
            )
        # a fit that fails leaves the one before it whole
        self.graph_ = graph
        self._neighbors: Any = neighbors
        self.prior_, self.likelihood_ = prior, likelihood
        self.posterior_, self.predictions_ = posterior, predictions
        self.classes_ = labels.classes
        self.transduction_: NDArray[Any] = predictions.prediction
        self.label_variance_: NDArray[np.float64] = posterior.variance
        self.ranking_: NDArray[np.int64] = posterior.ranking()
        return self

    def _check_run(self) -> dict[str, Any]:
        """Return the arguments of `sample` that say how to run it."""
        if self.method == "approximate":
            return {}
        return {
            "draws": validation.integer("draws", self.draws, 1),
            "chains": validation.integer("chains", self.chains, 1),
            "seed": validation.seed_sequence(self.seed),
        }

    def _build_graph(
        self, X: Any, y: Any, n_neighbors: int
    ) -> tuple[Graph, Neighbors | None, Labels, Array | None]:
        """Return the graph, its neighbors, the labels, and features that the prior uses, too."""
        if self.affinity == PRECOMPUTED:
            matrix = Graph.of(X).adjacency if hasattr(X, "adjacency") else X
            refuse_masks_and_dates(matrix)
            matrix = validate_data(
                self, matrix, dtype=np.float64, accept_sparse="csr", ensure_min_samples=2
            )
            labels = self._labels(y, matrix.shape[0])
            graph = Graph(matrix)
            graph.require_connected()
            return graph, None, labels, None
        X = self._dense_features(X, ensure_min_samples=2)
        n = X.shape[0]
        labels = self._labels(y, n)
        neighbors = Neighbors(X, min(n_neighbors, n - 1), self.affinity)
        # cosines depend on directions alone, and features on lengths too
        features = X if self.affinity == "self-tuning" else None
        return build_graph(neighbors, connect=True), neighbors, labels, features

    def _dense_features(self, X: Any, **checks: Any) -> Array:
        """Return checked features; sparse ones are made dense if they fit in memory."""
        refuse_masks_and_dates(X)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", **checks)
        if not sparse.issparse(X):
            return X
        require_memory(
            8.0 * X.shape[0] * X.shape[1],
            f"dense features of shape {X.shape}",
            "reduce them first, for example with sklearn.decomposition.TruncatedSVD",
        )
        return X.toarray()

    def _weight_and_level(self, likelihood: Any) -> tuple[float | str, float | str]:
        """Return the share of the graph and the level.

        Without a sign model the labels choose nothing, and the terms that are "auto" are left out.
        """
        if has_sign_model(likelihood):
            return self.graph_weight, self.level
        return (
            1.0 if validation.is_auto(self.graph_weight) else self.graph_weight,
            0.0 if validation.is_auto(self.level) else self.level,
        )

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
        strength = require_strength(self.class_shares_strength, "class_shares_strength")
        if self.class_shares is not None:
            require_shares(self.class_shares, labels)
        elif np.isfinite(strength):
            raise ValueError(
                f"class_shares_strength is {strength:g} without class_shares, so that it has "
                "no effect: give class_shares too, or leave it out"
            )
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the posterior probability of each class, shape (m, K).

        With ``class_shares`` each class has the weight that it has for fitted items.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (m, d)
            For a precomputed graph the weights between m new items and the n fitted ones, shape
            (m, n). What the fitted ones are is in ``predictions_``.

        Raises
        ------
        ValueError
            Other features than were fitted, missing or infinite ones, negative weights.
        """
        by_class = self._posterior_of(X)
        if isinstance(self.predictions_, ReweightedPredictions):
            return reweight(by_class, self.predictions_.class_weights)
        return by_class

    def _posterior_of(self, X: Any) -> NDArray[np.float64]:
        """Return the posterior probabilities of new items, shape (m, K)."""
        check_is_fitted(self)
        if self.affinity == PRECOMPUTED:
            refuse_masks_and_dates(X)
            weights = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
            if weights.size and weights.min() < 0:
                raise ValueError(
                    f"weights of new items must be non-negative, got {weights.min():g}: fix or "
                    "drop those edges"
                )
            return new_probability(
                self.posterior_, self.posterior_.prior, self.graph_.degrees, weights
            )
        X = self._dense_features(X, reset=False)
        return classify_new_rows(
            self.posterior_, self.posterior_.prior, self.graph_, self._neighbors, X
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, shape (m,); see `predict_proba`."""
        by_class = self.predict_proba(X)
        return self.classes_[most_probable(by_class)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the items whose class is known.

        Parameters
        ----------
        X
            See `predict_proba`.
        y : array_like, shape (m,)
            Classes, and -1, None or NaN where the class is not known.
        sample_weight : array_like, shape (m,), optional

        Raises
        ------
        ValueError
            No class is known, other lengths than that of X, classes of another type than the labels
            have, negative or infinite weights.
        """
        from sklearn.metrics import accuracy_score  # takes a moment to import

        predicted = self.predict(X)
        y = as_given(y)
        y = column_or_1d(y, warn=True) if y.ndim == 2 else y
        if y.shape != predicted.shape:
            raise ValueError(
                f"y must have the class of each of the {count(predicted.size, 'row')} of X, got "
                f"shape {y.shape}"
            )
        known = np.flatnonzero(~is_missing(y) & ~is_minus_one(y))
        if not known.size:
            raise ValueError(
                "y shows no class: score items whose class is known, for example by "
                "gq.LabelledKFold, which splits only labeled items"
            )
        weights = np.ones(y.size) if sample_weight is None else _check_weights(sample_weight, y)
        right = accuracy_score(
            to_one_type(y[known]), predicted[known], sample_weight=weights[known]
        )
        return float(right)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == PRECOMPUTED
        tags.input_tags.sparse = True
        return tags


def _check_weights(sample_weight: Any, y: NDArray[Any]) -> Array:
    """Return the weight of each item in a score."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != y.shape:
        raise ValueError(
            f"sample_weight must have one weight for each class in y, shape {y.shape}, got shape "
            f"{weights.shape}"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise ValueError(
            "sample_weight must be finite and non-negative, and not 0 for all items: correct the "
            "weights, or leave them out"
        )
    return weights


def _refuse_weights(refused: dict[str, Any]) -> None:
    """Refuse weights of samples, and other arguments that ``fit`` does not have."""
    if "sample_weight" in refused:
        raise TypeError(
            "sample_weight is not supported: give -1 as the label of items of weight 0, and take "
            "gq.NoisyProbit where labels may be wrong, or y = gq.Labels(nodes, values, "
            "confidence=...) where you know how probably"
        )
    if refused:
        raise TypeError(f"fit takes X and y, got also {', '.join(refused)}: leave them out")
