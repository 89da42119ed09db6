"""The accuracy that a posterior expects of its own predictions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.posterior.approximate import ApproximatePosterior
from graphuq.posterior.assessment.answer_scores import answer_probability
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Draws of the field, and items at which it is drawn.
DRAWS, ITEMS = 200, 300

# Nominal coverage of the interval.
COVERAGE = 0.9

# Log odds of predictions are too large by a factor whose logarithm is normal with this deviation.
# Errors of models in `benchmarks.trust.label_session` are like that.
MISFIT = 0.75


class Expected(NamedTuple):
    """The expected accuracy, and its interval."""

    accuracy: float
    interval: tuple[float, float]


def expect_accuracy(
    posterior: ApproximatePosterior, hidden: NDArray[np.int64], seed: validation.Seed
) -> Expected:
    """Return the mean of the largest predictive probability, and a 90% interval of the accuracy.

    The interval has quantiles of `draw_accuracies`, moved by what the accuracy would be if the
    probabilities q_ic of classes were in proportion to q_ic^b. The power b is random, since the
    parameters are chosen from a few labels that are not a random sample, and since the model may be
    wrong.

    The interval is a guess all the same. A random sample that is labeled apart measures.

    Parameters
    ----------
    posterior : ApproximatePosterior
    hidden : ndarray of int
        The items whose predictions are meant, at least one.
    seed : int, SeedSequence or Generator

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> quick = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    >>> found = expect_accuracy(quick, np.setdiff1d(np.arange(200), quick.labels.nodes), seed=0)
    >>> found.interval[0] < found.accuracy < found.interval[1]
    True
    """
    expected = float(posterior.by_class[hidden].max(axis=1).mean())
    rng = np.random.default_rng(validation.seed_sequence(seed))
    some = np.sort(rng.permutation(hidden)[:ITEMS])
    drawn = draw_accuracies(posterior, some, hidden.size, rng)
    power = np.exp(MISFIT * rng.standard_normal(drawn.size))
    odds = np.log(np.maximum(posterior.by_class[some], np.finfo(float).tiny))
    odds -= odds.max(axis=1, keepdims=True)
    right = 1 / np.exp(power[:, None, None] * odds).sum(axis=2)  # of the largest
    moved = right.mean(axis=1) - posterior.by_class[some].max(axis=1).mean()
    drawn += expected - drawn.mean() + moved  # the mean is that of all items, not of some
    ends = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    low, high = np.clip(ends, 0.0, 1.0).tolist()
    return Expected(expected, (min(low, expected), max(high, expected)))


def draw_accuracies(
    posterior: ApproximatePosterior, some: NDArray[np.int64], n: int, rng: np.random.Generator
) -> Array:
    """Return draws of the accuracy of n items, by the field at some of them.

    Let p_i be the probability that the predicted class of item i is right, given the field. In each
    draw of the field the share of right predictions is normal with mean p-bar and variance
    sum_i p_i (1 - p_i) / n^2, nearly.

    Parameters
    ----------
    posterior : ApproximatePosterior
    some : ndarray of int
    n : int
    rng : Generator
    """
    predicted = posterior.by_class[some].argmax(axis=1)
    shares = []
    for block in posterior.latent_draws(nodes=some, draws=DRAWS, seed=rng):
        p = _right(block, predicted, posterior.overlap)
        spread = np.sqrt((p * (1 - p)).mean(axis=1) / n)
        shares.append(p.mean(axis=1) + spread * rng.standard_normal(len(p)))
    return np.concatenate(shares)


def _right(u: Array, predicted: NDArray[np.int64], overlap: float) -> Array:
    """Return the probability of each item's predicted class, given draws of the field."""
    if u.ndim == 2:
        second = answer_probability(u[:, :, None], overlap, 0.0)[:, :, 0]
        return np.where(predicted == 1, second, 1 - second)
    p = answer_probability(u, overlap, 0.0)
    return np.take_along_axis(p, predicted[None, :, None], axis=2)[:, :, 0]
