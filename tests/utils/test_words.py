"""Counts and lists of names in messages."""

from __future__ import annotations

import pytest

from graphuq.utils.words import choose_form, count, list_names


@pytest.mark.parametrize("n", [0, 2, 1200])
def test_all_numbers_but_one_take_the_plural(n):
    assert count(n, "row") == f"{n} rows"
    assert choose_form(n, "is", "are") == "are"
    assert count(1, "row") == "1 row"
    assert choose_form(1, "is", "are") == "is"


def test_the_rest_is_counted_only_if_there_is_one():
    assert list_names(["a", "b"], 2) == "'a', 'b'"
    assert list_names(["a", "b", "c"], 2) == "'a', 'b' and 1 more"
    assert list_names(["a"], 2) == "'a'"
