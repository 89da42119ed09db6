"""Krippendorff's alpha: a printed example, its definition by pairs, and chance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import graphuq as gq

# Four observers and twelve units: Krippendorff 2011, Computing Krippendorff's alpha-reliability,
# section C; nominal alpha is 0.743.
PRINTED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def by_pairs(table):
    """Alpha as the shares of pairs of labels that differ: within items, and among all labels."""
    items = [[vote for vote in row if vote is not None] for row in table]
    items = [row for row in items if len(row) > 1]
    every = [vote for row in items for vote in row]
    within = [
        (a != b, 1 / (len(row) - 1)) for row in items for a, b in itertools.permutations(row, 2)
    ]
    among = [a != b for a, b in itertools.permutations(every, 2)]
    return 1 - sum(differ * weight for differ, weight in within) / len(every) / np.mean(among)


def test_alpha_is_that_of_the_printed_example():
    table = [*map(list, zip(*PRINTED, strict=True))]
    assert gq.krippendorff_alpha(table) == pytest.approx(0.743, abs=5e-4)
    assert gq.krippendorff_alpha(table) == pytest.approx(by_pairs(table))
    # annotators, classes and items have no order
    rng = np.random.default_rng(0)
    other = np.array(table, dtype=object)[rng.permutation(12)][:, rng.permutation(4)]
    renamed = [[None if vote is None else f"c{-vote}" for vote in row] for row in other]
    assert gq.krippendorff_alpha(renamed) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_1_where_all_agree_and_0_by_chance():
    rng = np.random.default_rng(0)
    same = np.repeat(rng.integers(3, size=(500, 1)), 3, axis=1)
    assert gq.krippendorff_alpha(same) == 1
    chance = rng.choice(3, size=(4000, 3), p=[0.7, 0.2, 0.1])
    assert abs(gq.krippendorff_alpha(chance)) < 3 / math.sqrt(4000)
    # negative control: they agree in more than half of the pairs
    assert (chance[:, 0] == chance[:, 1]).mean() > 0.5


def test_alpha_is_unknown_without_pairs_that_could_differ():
    assert math.isnan(gq.krippendorff_alpha([["a", None], [None, "b"]]))
    assert math.isnan(gq.krippendorff_alpha([["a", "a"], [None, "b"]]))
