"""Classifiers, posteriors and MAP estimates side by side, on one graph and one set of labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from graphuq import validation
from graphuq.approximation import approximate
from graphuq.calibration import brier_score, expected_calibration_error
from graphuq.classifiers import (
    GDPCA,
    FiedlerClustering,
    LaplaceLearning,
    PageRankSSL,
    RobustGC,
    TransductiveClassifier,
)
from graphuq.graphs import Graph
from graphuq.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import bind
from graphuq.map import map_estimate
from graphuq.prior import Prior
from graphuq.sampling import sample
from graphuq.spectrum import Spectrum
from graphuq.tuning import settled


def compare(
    graph: Any,
    labels: Any,
    truth: Any,
    methods: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    X: Any = None,
    seed: validation.Seed = 0,
) -> pd.DataFrame:
    """Fit methods to the same labels and score them on the unlabelled nodes.

    Parameters
    ----------
    graph : Graph, array_like, sparse matrix or networkx.Graph, shape (n, n)
    labels : Labels or array_like, shape (n,)
        An array gives every node's class, -1 where it is not known.
    truth : array_like, shape (n,)
        True classes.
    methods : sequence, or mapping from name to method, optional
        Classifiers, fitted or not, of which copies are fitted; and pairs (prior, likelihood), as
        `graphuq.sample` takes them, for the posterior and, with two classes, its approximation
        under sign models and the MAP estimate where the likelihood has a gradient. By default
        `LaplaceLearning`, `PageRankSSL`, `RobustGC` if each class has labels, with two classes
        `FiedlerClustering`, and probit with parameters chosen by the labels.
    X : array_like, shape (n, d), optional
        Features of the nodes, for `GDPCA` and for classifiers of features, such as
        `KAssociatedOptimalGraph`, which are fitted to the labelled nodes' rows.
    seed : int, SeedSequence or Generator, optional
        Of the sampled posteriors.

    Returns
    -------
    pandas.DataFrame
        A row for each method, in order, with columns ``accuracy``, ``brier`` (`brier_score`),
        ``calibration_error`` (`expected_calibration_error` in ten bins) and ``seconds`` of wall
        time, without that of making the prior and choosing parameters, and with that of loading or
        compiling a sampler which the process has not used before. NaN for methods without
        probabilities.

    Raises
    ------
    TypeError, ValueError
        What is no method, two of one name, arguments that do not fit together; and what the
        methods themselves refuse.

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
            f"{twice[0]} is there more than once: name methods that look alike, {{'name': method}}"
        )
    rows = []
    for _, run in runs:
        start = time.perf_counter()
        prediction, probabilities = run()
        seconds = time.perf_counter() - start
        scores = [np.nan, np.nan]
        if probabilities is not None:
            seen = (probabilities[hidden], hidden_truth, labels.classes)
            scores = [brier_score(*seen), expected_calibration_error(*seen)]
        rows.append([labels.accuracy(prediction, truth), *scores, seconds])
    columns = ["accuracy", "brier", "calibration_error", "seconds"]
    return pd.DataFrame(rows, index=pd.Index(names, name="method"), columns=columns)


Outcome = tuple[NDArray[Any], NDArray[np.float64] | None]
Run = tuple[str, Callable[[], Outcome]]


def _default_methods(graph: Graph, labels: Labels) -> list[Any]:
    methods: list[Any] = [LaplaceLearning(), PageRankSSL()]
    if np.isin(labels.classes, labels.values).all():
        methods.append(RobustGC())
    if labels.classes.size == 2:
        methods.append(FiedlerClustering())
    return [*methods, (graph, Probit())]


def _runs(
    name: str, method: Any, graph: Graph, labels: Labels, X: Any, seed: validation.Seed
) -> list[Run]:
    """Return what ``method`` stands for, checked: names, and functions of no argument."""
    if isinstance(method, GDPCA) and X is not None:
        return [(name or repr(method), lambda: _classify(clone(method), graph, labels, X))]
    if isinstance(method, TransductiveClassifier):
        return [(name or repr(method), lambda: _classify(clone(method), graph, labels))]
    if isinstance(method, BaseEstimator) and is_classifier(method):
        if X is None:
            raise ValueError(f"{method!r} classifies features: pass those of the nodes, X=")
        rows = validation.node_features(X, graph.n_nodes)
        return [(name or repr(method), lambda: _classify_features(clone(method), rows, labels))]
    pair = isinstance(method, tuple) and len(method) == 2
    if not pair or not isinstance(method[0], Prior | Spectrum | Graph):
        raise TypeError(
            "a method is a classifier of nodes, such as gq.LaplaceLearning(), or of features, or a "
            f"pair (prior, likelihood), got {method!r}"
        )
    if method[0].n_nodes != graph.n_nodes:
        raise ValueError(
            f"a prior on {method[0].n_nodes} nodes does not fit the graph's {graph.n_nodes}: make "
            "it from the same graph"
        )
    prior, likelihood = settled(method[0], method[1], labels)
    model = name or f"{likelihood!r} under {prior!r}"

    def posterior() -> Outcome:
        post = sample(prior, likelihood, labels, seed=seed, progress=False)
        return post.prediction, post.by_class

    def approximation() -> Outcome:
        quick = approximate(prior, likelihood, labels)
        return quick.prediction, quick.by_class

    def mode() -> Outcome:
        estimate = map_estimate(prior, likelihood, labels)
        p = estimate.probability
        return estimate.prediction, None if p is None else np.column_stack([1 - p, p])

    bound = bind(likelihood, labels, prior.n_nodes)
    runs: list[Run] = [(f"posterior of {model}", posterior)]
    if bound.columns > 1:
        return runs
    if bound.sign_model is not None:
        runs.append((f"approximation of {model}", approximation))
    if bound.gradient is not None:
        runs.append((f"MAP of {model}", mode))
    return runs


def _classify_features(classifier: Any, X: NDArray[np.float64], labels: Labels) -> Outcome:
    classifier.fit(X[labels.nodes], labels.values)
    has = hasattr(classifier, "predict_proba")
    return classifier.predict(X), classifier.predict_proba(X) if has else None


def _classify(classifier: Any, graph: Graph, labels: Labels, *features: Any) -> Outcome:
    classifier.fit(graph, labels, *features)
    has = hasattr(classifier, "predict_proba")
    return classifier.predict(), classifier.predict_proba() if has else None
