"""The accuracy that a posterior expects of its own predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from graphuq.posterior.assessment.suggestion import answer_probability
from graphuq.posterior.posterior import Posterior
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Draws of the field, and items at which it is drawn.
DRAWS, ITEMS = 200, 300

# Nominal coverage of the interval.
COVERAGE = 0.9
ENDS = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]

# Log odds of predictions are too large by a factor whose logarithm is normal with this deviation.
# Errors of models in `benchmarks.trust.label_session` are like that.
MISFIT = 0.75


class Expected(NamedTuple):
    """The expected accuracy, and its interval."""

    accuracy: float
    interval: tuple[float, float]


def expect_accuracy(
    posterior: Posterior,
    hidden: NDArray[np.int64],
    seed: validation.Seed,
    right: int = 0,
    total: int = 0,
) -> Expected:
    """Return the mean of the largest predictive probability, and a 90% interval of the accuracy.

    The interval has quantiles of `draw_accuracies`, moved by what the accuracy would be if the
    probabilities q_ic of classes were in proportion to q_ic^b. The power b is random, since the
    parameters are chosen from a few labels that are not a random sample, and since the model may be
    wrong.

    Both are guesses all the same. A random sample that is labeled apart measures, and moves them:
    before it, the accuracy has the beta law with the mean and the variance of these draws
    (`learn_from_sample`). The mean of the draws is not the one that is expected, since they are
    skewed; this difference stays, with the weight that the draws keep.

    Parameters
    ----------
    posterior : Posterior
    hidden : ndarray of int
        The items whose predictions are meant, at least one.
    seed : int, SeedSequence or Generator
    right, total : int
        How many predictions are right in the random sample, and of how many.

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
    largest = 1 / np.exp(power[:, None, None] * odds).sum(axis=2)
    moved = largest.mean(axis=1) - posterior.by_class[some].max(axis=1).mean()
    drawn += expected - drawn.mean() + moved  # the mean is that of all items, not of some
    np.clip(drawn, 0.0, 1.0, out=drawn)
    if not total:
        return _between(expected, np.quantile(drawn, ENDS))
    # powers hardly move probabilities near 1 or 1/K: few labels are not worth as much as it seems
    worth = min(_worth(drawn), len(posterior.labels))
    mean = float(drawn.mean())
    found = learn_from_sample(mean, worth, right, total, hidden.size)
    kept = (expected - mean) * worth / (worth + total)
    return _between(found.accuracy + kept, found.interval)


def learn_from_sample(mean: float, worth: float, right: int, total: int, n: int) -> Expected:
    """Return the expected accuracy of n items, given how many others of a random sample are right.

    The probability that a prediction is right has the beta law with parameters m w and (1 - m) w
    before the sample, and with a = m w + right and b = (1 - m) w + total - right after it. The
    number of right predictions among n more items is beta-binomial.

    Parameters
    ----------
    mean, worth : float
        m and w: the mean without the sample, and how many items of the sample it is worth.
    right, total : int
        Right predictions in the sample, and its size.
    n : int

    Examples
    --------
    >>> [learn_from_sample(0.9, 10.0, right, 20, 300).accuracy for right in (18, 12)]
    [0.9, 0.7]
    """
    ab = [mean * worth + right, (1 - mean) * worth + total - right]
    a, b = np.maximum(ab, np.finfo(float).tiny).tolist()  # 0 where the model is certain
    k = np.arange(n + 1)
    log_p = special.betaln(k + a, n - k + b) - special.betaln(k + 1, n - k + 1)
    p = np.exp(log_p - log_p.max()).cumsum()
    return _between(a / (a + b), np.searchsorted(p, np.multiply(ENDS, p[-1])) / n)


def _worth(drawn: Array) -> float:
    """Return the sum of the parameters of the beta law with the mean and variance of draws."""
    mean, variance = drawn.mean(), drawn.var()
    return float(mean * (1 - mean) / variance - 1) if variance > 0 else np.inf


def _between(accuracy: float, ends: Iterable[float]) -> Expected:
    """Return an expected accuracy with an interval that holds it."""
    low, high = map(float, ends)
    return Expected(accuracy, (min(low, accuracy), max(high, accuracy)))


def draw_accuracies(
    posterior: Posterior, some: NDArray[np.int64], n: int, rng: np.random.Generator
) -> Array:
    """Return draws of the accuracy of n items, by the field at some of them.

    Let p_i be the probability that the predicted class of item i is right, given the field. In each
    draw of the field the share of right predictions is normal with mean p-bar and variance
    sum_i p_i (1 - p_i) / n^2, nearly.

    Parameters
    ----------
    posterior : Posterior
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
