"""The expected accuracy against the number of labels, and how many more labels a goal takes.

Let e be the expected accuracy with n labels. The forecast takes log(1 - e), as a function of
t = log n, for a Brownian motion with drift,

    d log(1 - e) = -b dt + s dW,

since errors of learners decrease about as powers of the number of labels, n^-b, and since
parameters that are chosen anew move the expectation at random. With increments over spans of t that
are at least `SPAN`, b and s^2 have a normal-inverse-gamma posterior. The answers to the goal are
first passages of paths with b and s^2 from there. Once all items are labeled the goal is reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphuq.labeling.learner import BINS, Learned
from graphuq.labeling.records import Forecast, Stop
from graphuq.labeling.stopping import judge
from graphuq.utils.typing import Array

# Increments over shorter spans of log n are added up.
SPAN = math.log(1.1)

# The prior: b is normal with mean DRIFT and variance s^2 / WEIGHT, and s^2 is inverse-gamma with
# mean near SCATTER^2, worth 2 SHAPE increments. Learners of `benchmarks.trust.label_session` are
# like that.
DRIFT, WEIGHT, SHAPE, SCATTER = 1.0, 1.0, 2.0, 0.5

# Increments without which there is no forecast.
MIN_INCREMENTS = 5

# Paths, and the growth of n from one of their points to the next.
PATHS, GROWTH = 1000, 1.03

# Quantiles of the answers: the median, and the ends of a 90% interval.
LOW, MEDIAN, HIGH = 0.05, 0.5, 0.95

# A smaller expected error counts as this.
MIN_ERROR = 1e-4


class Point(NamedTuple):
    """The state after some labels.

    Attributes
    ----------
    n_labels : int
    expected : float
        The expected accuracy.
    counts : ndarray of float
        How many unlabeled items have their largest probability in each bin.
    """

    n_labels: int
    expected: float
    counts: Array

    def decided(self, threshold: float) -> int:
        """Return how many items have a label, or a class of at least this probability."""
        return self.n_labels + sum_above(self.counts, threshold)


class Curve:
    """The points of a session, the forecast of its goal, and whether it is reached.

    Parameters
    ----------
    n_items : int
    goal, risk : float
    points : sequence of Point
        Those of an earlier session.

    Attributes
    ----------
    points : list of Point
    goal, risk : float
    forecast : Forecast or None
    stop : Stop or None
    """

    def __init__(
        self, n_items: int, goal: float, risk: float, points: Sequence[Point] = ()
    ) -> None:
        self._n_items = n_items
        self._last: Learned | None = None
        self.points = [*points]
        self.set_goal(goal, risk)

    def set_goal(self, goal: float, risk: float) -> None:
        """Set the accuracy to reach, and the accepted probability that it is not."""
        self.goal, self.risk = goal, risk
        self._look_ahead()

    def add(self, learned: Learned) -> None:
        """Add a point, if the expected accuracy is known; remove those of labels taken back."""
        self.points = [p for p in self.points if p.n_labels <= learned.n_labels]
        if learned.expected is not None and learned.counts is not None:
            point = Point(learned.n_labels, learned.expected.accuracy, learned.counts)
            # what is learned again replaces its point
            self.points = [p for p in self.points if p.n_labels < point.n_labels] + [point]
        self._last = learned
        self._look_ahead()

    def _look_ahead(self) -> None:
        self.forecast = forecast(self.points, self.goal, self._n_items)
        self.stop: Stop | None = None
        last = self._last
        if last is not None and last.expected is not None:
            self.stop = judge(last.expected, self.goal, self.risk, last.n_labels, last.drawn)
        elif last is not None and last.view is not None:  # all items are labeled
            self.stop = Stop(self.goal, self.risk, 1.0, True, 0, None)


def sum_above(counts: Array, threshold: float) -> int:
    """Return how many items have a class of at least this probability, by their counts in bins."""
    return round(counts[round(threshold * BINS) :].sum())


def forecast(points: Sequence[Point], goal: float, n_items: int, seed: int = 0) -> Forecast | None:
    """Return how many more labels the expected accuracy takes to reach the goal.

    Parameters
    ----------
    points : sequence of Point
        With increasing numbers of labels.
    goal : float
    n_items : int
        All items.
    seed : int

    Returns
    -------
    Forecast or None
        None with too few points, or where half of the paths do not reach the goal before all items
        are labeled.

    Examples
    --------
    The error is 2 / n, so that 40 labels reach 95%:

    >>> points = [Point(n, 1 - 2 / n, np.zeros(0)) for n in range(4, 31)]
    >>> found = forecast(points, 0.95, n_items=1000)
    >>> found.low <= 10 <= found.high
    True
    >>> forecast(points[:3], 0.95, n_items=1000) is None
    True
    """
    if points and points[-1].expected >= goal:
        return Forecast(goal, 0, 0, 0)
    span, rise = _increments(points)
    if span.size < MIN_INCREMENTS:
        return None
    rng = np.random.default_rng(seed)
    # 1. the posterior of b and s^2
    weight = WEIGHT + span.sum()
    drift = (WEIGHT * DRIFT - rise.sum()) / weight
    squares = (rise**2 / span).sum() + WEIGHT * DRIFT**2 - weight * drift**2
    rate = SHAPE * SCATTER**2 + squares / 2
    variance = rate / rng.gamma(SHAPE + span.size / 2, size=(PATHS, 1))
    slope = drift + np.sqrt(variance / weight) * rng.standard_normal((PATHS, 1))
    # 2. paths from the last point on
    begin, last = points[-1].n_labels, points[-1].expected
    ahead = _numbers(begin, n_items)
    steps = np.diff(np.log(ahead))
    moves = -slope * steps + np.sqrt(variance * steps) * rng.standard_normal((PATHS, steps.size))
    paths = math.log(max(1 - last, MIN_ERROR)) + moves.cumsum(axis=1)
    # 3. where they first pass the goal
    passed = paths <= math.log(1 - goal)
    passed[:, -1] = True  # all items are labeled
    first = ahead[1:][passed.argmax(axis=1)] - begin
    low, median, high = np.quantile(first, [LOW, MEDIAN, HIGH], method="inverted_cdf")
    if median >= n_items - begin:
        return None
    return Forecast(goal, int(median), int(low), int(high))


def _increments(points: Sequence[Point]) -> tuple[Array, Array]:
    """Return spans of log n, and what log(1 - e) rises over each."""
    spans, rises = [], []
    before = None
    for point in points:
        at = math.log(point.n_labels), math.log(max(1 - point.expected, MIN_ERROR))
        if before is None:
            before = at
        elif at[0] - before[0] >= SPAN:
            spans.append(at[0] - before[0])
            rises.append(at[1] - before[1])
            before = at
    return np.array(spans), np.array(rises)


def _numbers(begin: int, end: int) -> Array:
    """Return growing numbers of labels, from ``begin`` to ``end``."""
    found = [float(begin)]
    while found[-1] < end:
        found.append(min(float(end), max(found[-1] + 1, round(found[-1] * GROWTH))))
    return np.array(found)
