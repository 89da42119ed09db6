"""Classifiers, posteriors and MAP estimates side by side, on one graph and one set of labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from graphuq.classifiers import (
    GDPCA,
    FiedlerClustering,
    LaplaceLearning,
    PageRankSSL,
    RobustGC,
    TransductiveClassifier,
)
from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.approximate import approximate
from graphuq.inference.map_estimate import map_estimate
from graphuq.inference.problem import choose_parameters
from graphuq.inference.sample import sample
from graphuq.labels.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.bound import bind
from graphuq.likelihoods.label_rule import Argmax
from graphuq.posterior.assessment.calibration import brier_score, expected_calibration_error
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.features import check_node_features
from graphuq.utils.typing import Array


def compare(
    graph: Any,
    labels: Any,
    truth: Any,
    methods: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    X: Any = None,
    seed: validation.Seed = 0,
) -> pd.DataFrame:
    """Fit methods to the same labels and score them on the unlabeled nodes.

    Parameters
    ----------
    graph : Graph, array_like, sparse matrix or networkx.Graph, shape (n, n)
    labels : Labels or array_like, shape (n,)
        An array gives every node's class, -1 where it is not known.
    truth : array_like, shape (n,)
        True classes.
    methods : sequence, or mapping from name to method, optional
        Classifiers, fitted or not, of which copies are fitted; and pairs (prior, likelihood), as
        `graphuq.sample` takes them, for the posterior, its approximation under sign models and
        the MAP estimate where the likelihood has a gradient. By default
        `LaplaceLearning`, `PageRankSSL`, `RobustGC` if each class has labels, with two classes
        `FiedlerClustering`, and probit with parameters chosen from the labels.
    X : array_like, shape (n, d), optional
        Features of the nodes, for `GDPCA` and for classifiers of features, such as
        `KAssociatedOptimalGraph`, which are fitted to the labeled nodes' rows.
    seed : int, SeedSequence or Generator, optional
        For the sampled posteriors.

    Returns
    -------
    pandas.DataFrame
        A row for each method, in order, with columns ``accuracy``, ``brier`` (`brier_score`),
        ``calibration_error`` (`expected_calibration_error` in ten bins) and ``seconds``. Methods
        without probabilities have NaN. The seconds of wall time exclude making the prior and
        choosing parameters, but include loading or compiling a sampler at its first use.

    Raises
    ------
    TypeError, ValueError
        Something that is not a method, two methods of one name, arguments that do not fit
        together, or arguments that a method itself refuses.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> table = gq.compare(graph, labels, y)
    >>> table.columns.tolist()
    ['accuracy', 'brier', 'calibration_error', 'seconds']
    >>> bool((table["accuracy"] > 0.6).all())
    True
    """
    graph = Graph.of(graph)
    labels = Labels.of(labels, graph.n_nodes)
    hidden, hidden_truth = labels.unlabelled_truth(truth, graph.n_nodes)
    if methods is None:
        methods = _default_methods(graph, labels)
    if not isinstance(methods, list | tuple | Mapping):
        raise TypeError(f"methods must be a list of methods, or name them, got {methods!r}")
    if not methods:
        raise ValueError("no methods to compare: leave methods out for the default ones")
    named = methods.items() if isinstance(methods, Mapping) else [("", m) for m in methods]
    runs = [run for name, m in named for run in _runs(name, m, graph, labels, X, seed)]
    names = [name for name, _ in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"duplicate method {twice[0]}: name methods that look alike, {{'name': method}}"
        )
    rows = []
    for _, run in runs:
        start = time.perf_counter()
        found = run()
        seconds = time.perf_counter() - start
        scores = [np.nan, np.nan]
        if found.by_class is not None:
            seen = (found.by_class[hidden], hidden_truth, labels.classes)
            scores = [brier_score(*seen), expected_calibration_error(*seen)]
        rows.append([labels.accuracy(found.prediction, truth), *scores, seconds])
    columns = ["accuracy", "brier", "calibration_error", "seconds"]
    return pd.DataFrame(rows, index=pd.Index(names, name="method"), columns=columns)


class Outcome(Protocol):
    """What is scored; all `graphuq.posterior.predictions.Predictions` have it."""

    @property
    def prediction(self) -> NDArray[Any]:
        """Shape (N,)."""
        ...

    @property
    def by_class(self) -> Array | None:
        """Shape (N, K)."""
        ...


class Classified(NamedTuple):
    """The outcome of a classifier of features."""

    prediction: NDArray[Any]
    by_class: Array | None


Run = tuple[str, Callable[[], Outcome]]


def _default_methods(graph: Graph, labels: Labels) -> list[Any]:
    """Return the classifiers that accept these labels, and a probit posterior."""
    methods: list[Any] = [LaplaceLearning(), PageRankSSL()]
    if np.isin(labels.classes, labels.values).all():
        methods.append(RobustGC())
    if labels.classes.size == 2:
        methods.append(FiedlerClustering())
    return [*methods, (graph, Probit())]


def _runs(
    name: str, method: Any, graph: Graph, labels: Labels, X: Any, seed: validation.Seed
) -> list[Run]:
    """Check ``method`` and return its runs: names, and functions of no argument."""
    if isinstance(method, TransductiveClassifier):
        features = [X] if isinstance(method, GDPCA) and X is not None else []
        return [(name or repr(method), lambda: clone(method).fit(graph, labels, *features))]
    if isinstance(method, BaseEstimator) and is_classifier(method):
        if X is None:
            raise ValueError(f"{method!r} classifies features: pass those of the nodes, X=")
        rows = check_node_features(X, graph.n_nodes)
        return [(name or repr(method), lambda: _classify(clone(method), rows, labels))]
    pair = isinstance(method, tuple) and len(method) == 2
    if not pair or not isinstance(method[0], GaussianPrior | Spectrum | Graph):
        raise TypeError(
            "a method is a classifier of nodes, such as gq.LaplaceLearning(), or of features, or a "
            f"pair (prior, likelihood), got {method!r}"
        )
    if method[0].n_nodes != graph.n_nodes:
        raise ValueError(
            f"a prior on {method[0].n_nodes} nodes does not fit the graph's {graph.n_nodes}: make "
            "it from the same graph"
        )
    prior, likelihood = choose_parameters(method[0], method[1], labels)
    model = name or f"{likelihood!r} under {prior!r}"

    bound = bind(likelihood, labels, prior.n_nodes)
    model_args = (prior, likelihood, labels)
    runs: list[Run] = [
        (f"posterior of {model}", partial(sample, *model_args, seed=seed, progress=False))
    ]
    several = isinstance(bound.rule, Argmax)
    if bound.sign_model is not None:
        runs.append((f"approximation of {model}", partial(approximate, *model_args)))
    if bound.gradient is not None and (bound.nodes is not None or not several):
        runs.append((f"MAP of {model}", partial(map_estimate, *model_args)))
    return runs


def _classify(classifier: Any, X: Array, labels: Labels) -> Classified:
    """Fit a classifier of features to the labeled nodes, and classify all of them."""
    classifier.fit(X[labels.nodes], labels.values)
    has = hasattr(classifier, "predict_proba")
    return Classified(classifier.predict(X), classifier.predict_proba(X) if has else None)
