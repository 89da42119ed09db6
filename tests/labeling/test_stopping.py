"""When to stop: few sessions stop before the goal is reached."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from graphuq.labeling import stopping
from graphuq.labeling.expected_accuracy import Expected
from graphuq.labeling.stopping import Drawn, judge

GOAL, RISK, N, LABELS = 0.85, 0.1, 2000, 300


def too_early(seed, judged, sessions=600):
    """The share of sessions that stop below the goal, and the number of those that stop.

    The model is right about its law. Each session draws the samples that are proposed, until it is
    told to stop or gets no proposal.
    """
    rng, below = np.random.default_rng(seed), []
    for _ in range(sessions):
        share = rng.beta(4.5, 0.5)
        expected = Expected(0.92, 0.9, 5.0, N)
        while True:
            stop = judged(expected)
            if stop.reached:
                below.append(rng.binomial(expected.n, share) < GOAL * expected.n)
            if stop.reached or stop.sample is None:
                break
            expected = expected.with_sample(rng.binomial(stop.sample, share), stop.sample)
    return np.mean(below), len(below)


def test_sessions_that_stop_have_reached_the_goal_but_for_the_risk():
    share, stopped = too_early(0, lambda expected: judge(expected, GOAL, RISK, LABELS))
    assert stopped > 300
    assert share < RISK + 3 * math.sqrt(RISK * (1 - RISK) / stopped)

    # negative control: a session that stops once it expects the goal
    def rash(expected):
        return stopping.Stop(GOAL, RISK, 1.0, expected.accuracy >= GOAL, 0, None)

    share, stopped = too_early(0, rash)
    assert share > 2 * RISK


@pytest.mark.parametrize("accuracy", [0.92, 0.95, 0.99])
def test_the_proposed_sample_is_about_the_smallest_that_would_show_it(accuracy):
    expected = Expected(accuracy, 0.92, 10.0, N)
    found = judge(expected, GOAL, RISK, n_labels=10_000)
    assert not found.reached
    fewer = int(0.9 * found.sample)  # a tenth: the number of items that the goal asks is whole
    before, after = (expected.with_sample(accuracy * k, k) for k in (fewer, found.sample))
    assert before.probability(GOAL) < 1 - RISK <= after.probability(GOAL)
    assert judge(after, GOAL, RISK, 10_000).reached
    # all samples together are small beside the labels
    needed = math.ceil(found.sample / stopping.LARGEST)
    assert judge(expected, GOAL, RISK, needed).sample is not None
    assert judge(expected, GOAL, RISK, int(fewer / stopping.LARGEST)).sample is None
    half = found.sample // 2
    assert judge(expected.with_sample(0.87 * half, half), GOAL, RISK, needed).sample is None


def test_a_sample_is_looked_at_once():
    known = Expected(0.92, 0.92, 10.0, N)
    sample = judge(known, GOAL, RISK, LABELS).sample
    for answered in range(sample):
        left = sample - answered
        found = judge(known.with_sample(answered, answered), GOAL, RISK, LABELS,
                      Drawn(left, left, N))  # fmt: skip
        # it may end early only if the rest could not change what it shows
        given = dataclasses.replace(known.with_sample(answered, answered), total=sample)
        whole = judge(given, GOAL, RISK, LABELS)
        assert (found.reached, found.waiting, found.sample) == (whole.reached, left, None)
    right = known.with_sample(sample - 3, sample - 3)
    assert judge(right, GOAL, RISK, LABELS).reached
    assert not judge(right, GOAL, RISK, LABELS, Drawn(3, 0, N)).reached  # skipped: not sure


def test_no_sample_shows_what_is_not_expected():
    for accuracy in (0.5, GOAL):
        assert judge(Expected(accuracy, 0.9, 1.0, N), GOAL, RISK, 10_000).sample is None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_items_that_are_left_are_not_all_drawn(n):
    found = judge(Expected(0.95, 0.95, 1.0, n), GOAL, 0.001, 100)
    assert found.sample is None or found.sample < n
