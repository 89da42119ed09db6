"""The helper that plants mistakes, and its errors."""

from __future__ import annotations

import math
import sys

import numba
import pytest
from references.mutation import mutated, plant, recompiled

THIS = globals()


def slope(x, y):
    """Return x + 2 y."""
    rise = x + (
        2  # brackets, breaks and comments do not matter
        * y
    )
    rise += 0
    return rise


def twice_root(x):
    return math.sqrt(x) + math.sqrt(x)


@numba.njit
def _half(x):
    return 0.5 * x


@numba.njit
def quarter(x):
    return _half(_half(x))


def test_an_expression_is_replaced_whatever_its_format():
    assert slope(3, 4) == 11
    assert mutated(slope, "x+2*y", "x - 2 * y")(3, 4) == -5
    assert mutated(slope, "... + ...", "...")(3, 4) == 3
    assert mutated(slope, "... + 2 * ...", "... - ...")(3, 4) == -1
    assert slope(3, 4) == 11


def test_statements_are_replaced():
    assert mutated(slope, "rise += ...", "rise = -...")(3, 4) == 0
    assert mutated(slope, "rise += 0\nreturn rise", "return 5")(3, 4) == 5
    assert mutated(slope, "rise += 0", "pass")(3, 4) == 11


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("y + x", "x", r"expected 'y \+ x' once in slope, found it 0 times:\ndef slope"),
        ("rise", "x", r"once in slope, found it 3 times"),
        ("x + ...", "pass", "two expressions or two statements"),
    ],
)
def test_what_cannot_be_planted_is_refused(right, wrong, message):
    with pytest.raises(AssertionError, match=message):
        mutated(slope, right, wrong)


def test_each_occurrence_where_that_is_asked_for():
    assert mutated(twice_root, "math.sqrt(...)", "...", every=True)(16.0) == 32.0
    with pytest.raises(AssertionError, match="found it 2 times"):
        mutated(twice_root, "math.sqrt(...)", "...")


def test_compiled_functions_stay_compiled_and_their_callers_see_it(monkeypatch):
    assert quarter(1.0) == 0.25
    plant(monkeypatch, sys.modules[__name__], "_half", "0.5", "0.2")
    assert isinstance(_half, type(quarter))
    assert quarter(1.0) == 0.25
    assert recompiled(quarter)(1.0) == pytest.approx(0.04)


def test_a_planted_mistake_ends_with_the_test():
    assert quarter(1.0) == 0.25
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, sys.modules[__name__], "_half", "0.5", "0.2", callers=["quarter"])
        assert quarter(1.0) == pytest.approx(0.04)
    assert quarter(1.0) == 0.25
