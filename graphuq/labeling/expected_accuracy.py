"""The accuracy that a posterior expects of its own predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

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

# 0.9 x 10 may be rounded to a little more than 9 items.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Expected:
    """What is known of the accuracy of n items: how many predictions are right is beta-binomial.

    Attributes
    ----------
    alone : float
        The accuracy that the model expects.
    mean, worth : float
        The mean m of the model's law, and its weight w in labels: the beta law of the probability
        that a prediction is right has the parameters m w and (1 - m) w.
    n : int
    right, total : float, int
        How many predictions are right in the random sample, and of how many. Right and wrong ones
        are added to the parameters.

    Examples
    --------
    >>> found = Expected(0.9, mean=0.9, worth=20.0, n=300)
    >>> found.interval[0] < 0.9 < found.interval[1]
    True
    >>> found.probability(0.8) > 0.9 > found.probability(0.85)
    True
    >>> found.with_sample(right=12, total=20).accuracy
    0.75
    """

    alone: float
    mean: float
    worth: float
    n: int
    right: float = 0.0
    total: int = 0

    @property
    def accuracy(self) -> float:
        """The expected accuracy."""
        if not self.total:
            return self.alone
        return (self.alone * self.worth + self.right) / (self.worth + self.total)

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% interval of the accuracy; it holds the expected accuracy."""
        low, high = (np.searchsorted(self._cumulative, ENDS) / self.n).tolist()
        return min(low, self.accuracy), max(high, self.accuracy)

    def probability(self, goal: float) -> float:
        """Return the probability that the accuracy is at least ``goal``."""
        needed = math.ceil(goal * self.n - ROUNDING)
        return 1.0 if needed == 0 else float(1 - self._cumulative[needed - 1])

    def with_sample(self, right: float, total: int) -> Expected:
        """Return what is known of the other items once a random sample of them is labeled."""
        n, right, total = self.n - total, self.right + right, self.total + total
        return replace(self, n=n, right=right, total=total)

    @cached_property
    def _cumulative(self) -> Array:
        """P(at most k of n are right), k = 0 ... n."""
        parameters = (
            self.mean * self.worth + self.right,
            (1 - self.mean) * self.worth + self.total - self.right,
        )
        a, b = np.maximum(parameters, np.finfo(float).tiny)  # 0 where the model is certain
        k = np.arange(self.n + 1)
        log_p = special.betaln(k + a, self.n - k + b) - special.betaln(k + 1, self.n - k + 1)
        total = np.exp(log_p - log_p.max()).cumsum()
        return np.asarray(total / total[-1])


def expect_accuracy(
    posterior: Posterior,
    hidden: NDArray[np.int64],
    seed: validation.Seed,
    right: int = 0,
    total: int = 0,
) -> Expected:
    """Return the mean of the largest predictive probability, and the law of the accuracy.

    The law has the mean m and the variance of `draw_accuracies`, moved by what the accuracy would
    be if the probabilities q_ic of classes were in proportion to q_ic^b. The power b is random,
    since the parameters are chosen from a few labels that are not a random sample, and since the
    model may be wrong.

    Both are guesses all the same. A random sample that is labeled apart measures. If r of its t
    predictions are right, the parameters m w and (1 - m) w become m w + r and (1 - m) w + t - r.
    The expected accuracy e becomes (e w + r) / (w + t); it is not m, since the draws are skewed.

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
    # powers hardly move probabilities near 1 or 1/K: few labels are not worth as much as it seems
    mean, worth = float(drawn.mean()), min(_worth(drawn), len(posterior.labels))
    known = Expected(expected, mean, worth, hidden.size + total)
    return known.with_sample(right, total)


def _worth(drawn: Array) -> float:
    """Return the sum of the parameters of the beta law with the mean and variance of draws."""
    mean, variance = drawn.mean(), drawn.var()
    return float(mean * (1 - mean) / variance - 1) if variance > 0 else np.inf


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
