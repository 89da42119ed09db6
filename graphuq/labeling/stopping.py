"""When to stop: whether the goal is reached, and how large a random sample would show it.

The goal is an accuracy of the predictions for the items without a label. It counts as reached when
the accuracy is below the goal with at most a given probability, the risk. The model alone is hardly
ever as certain, since it may be wrong (`expected_accuracy`): a random sample that is labeled apart
makes sure.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import replace
from typing import NamedTuple

from graphuq.labeling.expected_accuracy import Expected
from graphuq.labeling.records import Stop

# All samples that count are together at most so many times the labels so far. Before, questions
# improve the predictions more than a sample tells about them, and each look may end too early.
LARGEST = 1.0


class Drawn(NamedTuple):
    """The items of random samples that have no certain label, and how many may be drawn.

    Attributes
    ----------
    unclear : int
        Items of samples that count, without a certain label: they wait, were skipped, or somebody
        was not sure. They are probably hard, and count as wrong.
    waiting : int
        Those that nobody answered yet.
    most : int
        How many more may be drawn.
    """

    unclear: int
    waiting: int
    most: int


NOTHING = Drawn(0, 0, sys.maxsize)


def judge(
    expected: Expected, goal: float, risk: float, n_labels: int, drawn: Drawn = NOTHING
) -> Stop:
    """Return whether to stop, or what would show whether to.

    The proposed sample is about the smallest one after which the goal would be reached, if the
    expected share of its predictions is right.

    Parameters
    ----------
    expected : Expected
        By the certain labels of random samples.
    goal, risk : float
    n_labels : int
        Labels without those of random samples.
    drawn : Drawn
        Items that wait for an answer count as wrong until they have one. So a sample is looked at
        once, however many of its answers are there.

    Examples
    --------
    >>> expected = Expected(0.96, mean=0.95, worth=20.0, n=500)
    >>> first = judge(expected, goal=0.9, risk=0.05, n_labels=100)
    >>> first.reached, 20 < first.sample < 50
    (False, True)
    >>> judge(expected.with_sample(48, 49), goal=0.9, risk=0.05, n_labels=100).reached
    True
    """
    # they are still without a label, and so among the n items
    expected = replace(expected, total=expected.total + drawn.unclear)
    probability = expected.probability(goal)
    reached = probability >= 1 - risk
    most = min(int(LARGEST * n_labels) - expected.total, drawn.most, expected.n - 1)
    sizes = range(1, 1 if drawn.waiting else max(most, 0) + 1)
    found = len(sizes)
    if not reached and expected.accuracy > goal:
        found = bisect_left(
            sizes,
            1 - risk,
            key=lambda k: expected.with_sample(k * expected.accuracy, k).probability(goal),
        )
    sample = sizes[found] if found < len(sizes) else None
    return Stop(goal, risk, probability, reached, drawn.waiting, sample)
