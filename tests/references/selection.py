"""Choose the cases that run in `make test`, and those that run with the slow tests."""

from __future__ import annotations

import pytest

SLOW = pytest.mark.slow


def each_once(kinds, cases, count=None):
    """Return all pairs ``(kind, *case)``.

    Each of the first ``count`` cases, by default of all, runs with one kind. The rest is slow.
    """
    last = len(cases) if count is None else count
    return [
        _case(kind, *_values(case), slow=at >= last or place != at % len(kinds))
        for at, case in enumerate(cases)
        for place, kind in enumerate(kinds)
    ]


def first_of(cases, count=1):
    """Return the cases; all but the first ``count`` are slow."""
    return [_case(*_values(case), slow=at >= count) for at, case in enumerate(cases)]


def slow_among(cases, names):
    """Return the cases; those of ``names`` are slow."""
    return [_case(*_values(case), slow=case in names) for case in cases]


def shown(value):
    """Return the name of a value in the name of a test."""
    return value if isinstance(value, str) else repr(value)[:60]


def _values(case):
    return case if isinstance(case, tuple) else (case,)


def _case(*values, slow):
    return pytest.param(*values, marks=[SLOW] if slow else [])
