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


class Expected(NamedTuple):
    """The expected accuracy, and its interval."""

    accuracy: float
    interval: tuple[float, float]


def expect_accuracy(
    posterior: ApproximatePosterior, hidden: NDArray[np.int64], seed: validation.Seed
) -> Expected:
    """Return the mean of the largest predictive probability, and a 90% interval of the accuracy.

    Let p_i be the probability that the predicted class of item i is right, given the field. In each
    draw of the field the share of right predictions among n items is normal with mean p-bar and
    variance sum_i p_i (1 - p_i) / n^2, nearly. The interval has quantiles of such draws. The field
    is drawn at some of the items only, which widens it a little.

    It says what the model expects of itself. Where the model is wrong, so may be the interval: a
    random sample that is labeled apart tells.

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
    predicted = posterior.by_class[some].argmax(axis=1)
    shares = []
    for block in posterior.latent_draws(nodes=some, draws=DRAWS, seed=rng):
        p = _right(block, predicted, posterior.overlap)
        spread = np.sqrt((p * (1 - p)).mean(axis=1) / hidden.size)
        shares.append(p.mean(axis=1) + spread * rng.standard_normal(len(p)))
    drawn = np.concatenate(shares)
    ends = np.quantile(drawn - drawn.mean(), [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    low, high = np.clip(expected + ends, 0.0, 1.0).tolist()
    # where few draws are much worse than the others, their mean is outside of the quantiles
    return Expected(expected, (min(low, expected), max(high, expected)))


def _right(u: Array, predicted: NDArray[np.int64], overlap: float) -> Array:
    """Return the probability of each item's predicted class, given draws of the field."""
    if u.ndim == 2:
        second = answer_probability(u[:, :, None], overlap, 0.0)[:, :, 0]
        return np.where(predicted == 1, second, 1 - second)
    p = answer_probability(u, overlap, 0.0)
    return np.take_along_axis(p, predicted[None, :, None], axis=2)[:, :, 0]
