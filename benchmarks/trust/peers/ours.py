"""Graphuq's default, a graph beside features and a level; its parts; its conformal sets."""

from __future__ import annotations

from typing import Any

import graphuq as gq
from benchmarks.trust.peers.task import Answer, SkippedError, Task
from graphuq.priors.default_sum import default_graph_prior, default_sum

COVERAGE = 0.9


def _graph(task: Task) -> gq.Prior:
    spectrum = task.problem.spectrum
    return default_graph_prior(spectrum, spectrum.rank)


def _posterior(prior: Any, labels: gq.Labels) -> gq.Posterior:
    tuned = gq.tune(prior, labels)
    return gq.approximate(tuned.prior, tuned.likelihood, labels)


def _default(task: Task) -> gq.Posterior:
    problem = task.problem
    if problem.is_given:
        prior = gq.default_prior(problem.links, problem.X, task.labels)
    else:
        prior = default_sum(_graph(task), problem.X)
    return _posterior(prior, task.labels)


def default(task: Task) -> Answer:
    """Return what `gq.BayesianGraphClassifier(method="approximate")` infers, or `default_prior`."""
    return Answer(_default(task).by_class)


def graph_alone(task: Task) -> Answer:
    task.problem.features  # without features it is the default  # noqa: B018
    return Answer(_posterior(_graph(task) + gq.Level(), task.labels).by_class)


def features_alone(task: Task) -> Answer:
    prior = gq.FeaturePrior(task.problem.features) + gq.Level()
    return Answer(_posterior(prior, task.labels).by_class)


def conformal(task: Task) -> Answer:
    """Return split conformal sets of the default, with half of the labels held out."""
    given, held_out = halves(task)
    post = _default(task.given(given))
    return Answer(sets=post.prediction_sets(held_out, COVERAGE, seed=task.seed).sets)


def halves(task: Task) -> tuple[gq.Labels, gq.Labels]:
    """Return labels to learn from and labels to calibrate with; too few of them are refused."""
    n_held_out = round(0.5 * len(task.labels))
    if n_held_out * (1 - COVERAGE) < COVERAGE:  # the rank of split conformal sets is above n
        raise SkippedError("too few labels")
    try:
        return task.labels.split(seed=task.seed)
    except ValueError:
        raise SkippedError("too few labels") from None
