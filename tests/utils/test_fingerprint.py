"""Fingerprints of arrays, and their comparison up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from graphuq.utils.fingerprint import array_fingerprint, same_fingerprint

OWN = {"kind": "full", "rank": 3, "scale": 0.3, "nested": [{"x": float("nan")}, None]}


def test_rounding_is_ignored_and_nothing_else():
    assert same_fingerprint(OWN, {**OWN, "scale": 0.1 + 0.2})
    for changed in (
        {"kind": "projected"},
        {"rank": 4},
        {"scale": 0.301},
        {"nested": [{"x": 0.0}, None]},
        {"nested": [{"x": float("nan")}]},
        {"more": 1},
    ):
        assert not same_fingerprint(OWN, {**OWN, **changed})


@pytest.mark.parametrize(
    "other", [np.array([0, 1, 3]), np.array([0.0, 1, 2]), np.array([[0, 1, 2]])], ids=repr
)
def test_values_types_and_shapes_change_it(other):
    own = array_fingerprint(np.array([0, 1, 2]))
    assert own == array_fingerprint(np.array([0, 1, 2]))
    assert own != array_fingerprint(other)
