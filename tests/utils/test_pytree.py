import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphuq.utils.pytree import flatten, unflatten


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Record:
    count: int
    inner: Pair
    table: dict


BLANK = Record(0, Pair(np.zeros(2), None), {})


@pytest.mark.parametrize(
    "tree",
    [
        BLANK,
        Record(3, Pair(np.array([1.0, np.nan]), np.arange(3)), {}),
        Record(0, Pair(np.zeros(2), None), {"rate": np.array(0.5)}),
    ],
)
def test_what_is_flattened_is_rebuilt(tree):
    arrays = flatten(tree, "0/state", BLANK)
    again = unflatten(BLANK, arrays, "0/state")
    assert isinstance(again, Record)
    assert again.count == tree.count
    np.testing.assert_array_equal(again.inner.left, tree.inner.left)
    np.testing.assert_array_equal(again.inner.right, tree.inner.right)
    assert again.table == tree.table


def test_values_equal_to_the_blank_are_left_out():
    assert flatten(BLANK, "x", BLANK) == {}
    again = Record(0, Pair(np.array([0.0, 2.0]), None), {})
    assert list(flatten(again, "x", BLANK)) == ["x/inner/left"]
