"""The expected accuracy against the number of labels, and how many more a goal takes."""

from __future__ import annotations

from typing import NamedTuple

from graphuq.labeling.learner import BINS
from graphuq.labeling.records import Forecast
from graphuq.utils.typing import Array


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


def sum_above(counts: Array, threshold: float) -> int:
    """Return how many items have a class of at least this probability, by their counts in bins."""
    return round(counts[round(threshold * BINS) :].sum())


def forecast(points: list[Point], goal: float) -> Forecast | None:
    """Return how many more labels the expected accuracy takes to reach the goal."""
    return None
