"""When to stop: whether the goal is reached, and how large a random sample would show it.

The goal is an accuracy of the predictions for the items without a label. It counts as reached when
the accuracy is below the goal with at most a given probability, the risk. The model alone is hardly
ever as certain, since it may be wrong (`expected_accuracy`): a random sample that is labeled apart
makes sure.
"""

from __future__ import annotations

from bisect import bisect_left

from graphuq.labeling.expected_accuracy import Expected
from graphuq.labeling.records import Stop

# All samples together are at most so many times the labels so far: before, questions improve the
# predictions more than a sample tells about them, and too many looks make for too early an end.
LARGEST = 1.0


def judge(expected: Expected, goal: float, risk: float, n_labels: int) -> Stop:
    """Return whether to stop, or what would show whether to.

    The proposed sample is about the smallest one after which the goal would be reached, if as many
    predictions in it are right as expected.

    Parameters
    ----------
    expected : Expected
    goal, risk : float
    n_labels : int
        Labels without those of random samples.

    Examples
    --------
    >>> expected = Expected(0.96, mean=0.95, worth=20.0, n=500)
    >>> first = judge(expected, goal=0.9, risk=0.05, n_labels=100)
    >>> first.reached, 20 < first.sample < 50
    (False, True)
    >>> judge(expected.with_sample(48, 49), goal=0.9, risk=0.05, n_labels=100).reached
    True
    """
    probability = expected.probability(goal)
    reached = probability >= 1 - risk
    most = min(int(LARGEST * n_labels - expected.total), expected.n - 1)
    sizes = range(1, max(most, 0) + 1)
    found = len(sizes)
    if not reached and expected.accuracy > goal:
        found = bisect_left(
            sizes,
            1 - risk,
            key=lambda k: expected.with_sample(k * expected.accuracy, k).probability(goal),
        )
    return Stop(goal, risk, probability, reached, sizes[found] if found < len(sizes) else None)
