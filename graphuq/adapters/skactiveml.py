"""Scikit-activeml: a classifier that sees unlabeled items, and what to label next.

This module needs scikit-activeml, ``pip install 'graphuq[skactiveml]'``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_is_fitted, check_random_state

from graphuq.classifiers.bayesian import BayesianGraphClassifier
from graphuq.classifiers.new_rows import draw_new_rows
from graphuq.labels.labels import ANY, Labels
from graphuq.likelihoods.probit import Probit
from graphuq.posterior.assessment.suggestion import Answers, answer_probability
from graphuq.priors.hyperprior import MEAN_ALPHA, NOISE_SCALE
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

try:
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SkactivemlClassifier
    from skactiveml.utils import MISSING_LABEL, check_n_features, check_type, rand_argmax
except ImportError as error:
    raise ImportError(
        f"gq.skactiveml needs scikit-activeml ({error}): pip install 'graphuq[skactiveml]'"
    ) from error

METHODS = ("bald", "variance_reduction", "variance")


class GraphClassifier(SkactivemlClassifier):
    """`gq.BayesianGraphClassifier` as a classifier of scikit-activeml.

    ``fit`` uses all rows, those without a label too. scikit-activeml's wrapper of scikit-learn
    classifiers drops them. The posterior is that of `graphuq.approximate`, with parameters chosen
    by the labels. As long as these show one class, parameters are fixed, and without any label all
    classes are equally probable.

    Parameters
    ----------
    n_neighbors : int
        Neighbors of an item in the graph, all others if there are fewer.
    likelihood : likelihood or "auto"
        As in `gq.BayesianGraphClassifier`.
    classes : array_like, shape (K,), optional
        All classes; by default those of the labels.
    missing_label : scalar, str, None or NaN
        What marks an item without a label.
    cost_matrix : array_like, shape (K, K), optional
        The cost of predicting each class for an item of each class, which ``predict`` minimizes.
    random_state : int or RandomState, optional
        Decides between classes of equal cost.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    model_ : BayesianGraphClassifier or None
        None without labels.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> known = np.where(np.arange(200) % 20 == 0, y, np.nan)      # ten labels
    >>> model = gq.skactiveml.GraphClassifier(classes=[0, 1]).fit(X, known)
    >>> bool((model.predict(X) == y).mean() > 0.9), model.predict_proba(X).shape
    (True, (200, 2))
    >>> model.sample_proba(X, n_samples=5, random_state=0).shape
    (5, 200, 2)
    """

    def __init__(
        self,
        n_neighbors: int = 20,
        likelihood: Any = validation.AUTO,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        cost_matrix: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            classes=classes,
            missing_label=missing_label,
            cost_matrix=cost_matrix,
            random_state=random_state,
        )
        self.n_neighbors = n_neighbors
        self.likelihood = likelihood

    def fit(self, X: Any, y: Any) -> Self:
        """Infer the classes of all rows.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)
            Classes, and ``missing_label`` where there is no label.

        Returns
        -------
        self
        """
        validation.integer("n_neighbors", self.n_neighbors, 1)
        X, y, _ = self._validate_data(X, y)
        check_n_features(self, X, reset=True)
        known = np.flatnonzero(y >= 0)
        self.model_ = None
        if known.size and len(X) > 1 and len(self.classes_) > 1:
            self.model_ = self._model(y[known])
            values, classes = y[known].astype(np.int64), np.arange(len(self.classes_))
            labels = Labels(known, values, classes, sampling=ANY)  # a strategy asks for them
            self.model_.fit(X, labels)
        return self

    def _model(self, shown: NDArray[Any]) -> BayesianGraphClassifier:
        """Return the estimator; labels of one class choose no parameters."""
        options: dict[str, Any] = {"n_neighbors": self.n_neighbors, "method": "approximate"}
        if np.unique(shown).size > 1:
            return BayesianGraphClassifier(self.likelihood, **options)
        likelihood = Probit(NOISE_SCALE) if validation.is_auto(self.likelihood) else self.likelihood
        return BayesianGraphClassifier(
            likelihood, alpha=MEAN_ALPHA, graph_weight=1.0, level=1.0, **options
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the posterior probability of each class, shape (m, K).

        Rows that were fitted have that of `graphuq.approximate`; others are joined to the graph.

        Parameters
        ----------
        X : array_like, shape (m, d)
        """
        X = self._checked(X)
        if self.model_ is None:
            return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        return self.model_.predict_proba(X)

    def sample_proba(self, X: Any, n_samples: int = 10, random_state: Any = None) -> Array:
        """Return class probabilities under draws of the posterior, shape (n_samples, m, K).

        They are P(class | u) under draws of the field u at all rows of X together. Their spread is
        what labels would still teach.

        Parameters
        ----------
        X : array_like, shape (m, d)
        n_samples : int
        random_state : int or RandomState, optional
        """
        X, n_samples = self._checked(X), validation.integer("n_samples", n_samples, 1)
        seed = int(check_random_state(random_state).randint(2**31))
        K = len(self.classes_)
        if self.model_ is None:
            return np.full((n_samples, len(X), K), 1 / K)
        model = self.model_
        arguments = model.posterior_, model.prior_, model.graph_, model._neighbors, X
        u = draw_new_rows(*arguments, draws=n_samples, seed=seed)
        p = answer_probability(u, model.posterior_.overlap, 0.0)
        return np.concatenate([1 - p, p], axis=2) if K == 2 else p

    def _checked(self, X: Any) -> Array:
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)
        check_n_features(self, X, reset=False)
        return np.asarray(X)


class GraphQuery(SingleAnnotatorPoolQueryStrategy):
    """What to label next, by the joint posterior of all items, for scikit-activeml.

    Within a batch each pick takes into account what those before it will tell. Ties are broken at
    random, and so are all scores as long as labels show no class.

    Parameters
    ----------
    method : {"bald", "variance_reduction", "variance"}
        As in `Posterior.suggest`.
    clf : GraphClassifier, optional
        The classifier that is fitted to all rows; by default one with its default settings.
    classes : array_like, shape (K,), optional
        All classes; by default those of ``clf`` or of the labels.
    missing_label : scalar, str, None or NaN
    random_state : int or RandomState, optional

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> known = np.full(200, np.nan)
    >>> known[:4] = y[:4]
    >>> strategy = gq.skactiveml.GraphQuery(classes=[0, 1], random_state=0)
    >>> picked, utilities = strategy.query(X, known, batch_size=3, return_utilities=True)
    >>> picked.shape, utilities.shape, bool(np.isnan(utilities[0, :4]).all())
    ((3,), (3, 200), True)
    """

    def __init__(
        self,
        method: str = "bald",
        clf: GraphClassifier | None = None,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.method = method
        self.clf = clf
        self.classes = classes

    def query(
        self,
        X: Any,
        y: Any,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Return the rows to label next.

        Parameters
        ----------
        X : array_like, shape (n, d)
            All items.
        y : array_like, shape (n,)
            Classes, and ``missing_label`` where there is no label.
        candidates : array_like of int, shape (m,), optional
            Rows of ``X``; by default all without a label.
        batch_size : int
        return_utilities : bool
            Whether to return the scores as well.

        Returns
        -------
        query_indices : ndarray of int, shape (batch_size,)
        utilities : ndarray, shape (batch_size, n)
            With ``return_utilities``: the scores given the picks before, NaN where there is no
            candidate.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        _, mapping = self._transform_candidates(candidates, X, y, enforce_mapping=True)
        validation.one_of("method", self.method, METHODS)
        if self.clf is not None:
            check_type(self.clf, "clf", GraphClassifier)
        clf = GraphClassifier() if self.clf is None else clone(self.clf)
        clf.set_params(missing_label=self.missing_label)
        if self.classes is not None:
            clf.set_params(classes=self.classes)
        nodes = np.sort(np.asarray(mapping))
        answers = _answers(clf, X, y, nodes, self.method)
        utilities = np.full((batch_size, len(X)), np.nan)
        picked = np.empty(batch_size, dtype=np.int64)
        with one_blas_thread():
            for turn in range(batch_size):
                score = np.zeros(nodes.size) if answers is None else answers.scores()
                utilities[turn, nodes] = score
                utilities[turn, picked[:turn]] = np.nan
                found = rand_argmax(utilities[turn], random_state=self.random_state_)
                picked[turn] = found[0]
                if answers is not None:
                    answers.observe(int(np.searchsorted(nodes, picked[turn])))
        return (picked, utilities) if return_utilities else picked


def _answers(
    clf: GraphClassifier, X: Array, y: NDArray[Any], nodes: NDArray[np.int64], method: str
) -> Answers | None:
    """Return the joint answers of some nodes; None as long as the labels say nothing."""
    try:
        model = clf.fit(X, y).model_
    except ValueError:
        if clf.classes is not None or _shows_a_class(clf, y):
            raise
        return None
    if model is None:
        return None
    posterior, sign_model = model.posterior_, model.posterior_.settings["sign_model"]
    with one_blas_thread():
        noise = sign_model["noise"], sign_model["flip_rate"]
        return Answers(posterior, model.prior_, nodes, method, noise, 0)


def _shows_a_class(clf: GraphClassifier, y: NDArray[Any]) -> bool:
    from skactiveml.utils import is_labeled

    return bool(is_labeled(y, missing_label=clf.missing_label).any())
