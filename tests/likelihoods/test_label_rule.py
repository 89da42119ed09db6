"""The rule that turns fields into a label."""

import numpy as np
import pytest

import graphuq as gq
from graphuq.likelihoods.bound import bind, evaluate
from graphuq.likelihoods.label_rule import Argmax, Sign, label_rule


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_rule_counts_as_the_potential_does(n_classes):
    """Level-set's potential is 2 / gamma^2 times the number of wrong labels."""
    labels = gq.Labels([4, 0, 7, 2, 5], np.arange(5) % n_classes)
    bound = bind(gq.LevelSet(1.0), labels, 8)
    rule = bound.rule
    assert rule == label_rule(labels) == label_rule(n_classes)
    assert rule.n_classes == n_classes
    assert bound.n_fields == rule.n_fields == (1 if n_classes == 2 else n_classes)
    fields = np.random.default_rng(0).standard_normal((50, rule.n_fields, 5))
    fields[0] = 0.0  # S(0) = +1, and the first of equal fields is the largest
    phi = [evaluate(bound, np.ascontiguousarray(field.T)) for field in fields]
    wrong = rule.wrong(fields, bound.observed.y)
    np.testing.assert_array_equal(2.0 * wrong, phi)
    index = rule.index(fields, axis=1)
    np.testing.assert_array_equal((index != labels.indices).sum(axis=1), wrong)


def test_labels_are_coded_by_their_rule():
    two = gq.Labels([3, 1], ["a", "b"])
    np.testing.assert_array_equal(Sign().observed(two), [1.0, -1.0])  # in the order of nodes
    three = gq.Labels([3, 1, 2], ["a", "b", "c"])
    observed = Argmax(3).observed(three)
    assert observed.dtype == np.float64
    np.testing.assert_array_equal(observed, [1.0, 2.0, 0.0])
