"""Points that may be decimal or stand between thousands, as in 1.234."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from graphuq.utils.typing import Array

POINTS_BETWEEN_THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+"


def may_be_thousands(texts: Iterable[str]) -> bool:
    """Return whether all numbers with a point may have it between thousands, as in 1.234."""
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(re.fullmatch(POINTS_BETWEEN_THOUSANDS, text) for text in pointed)


def may_be_in_thousands(values: Array) -> bool:
    """Return whether numbers with a point may be thousands: 2.345 beside 812, and no 0.125.

    Examples
    --------
    >>> may_be_in_thousands(np.array([812, 2.345])), may_be_in_thousands(np.array([0.5, 2]))
    (True, False)
    """
    known = values[np.isfinite(values)]
    whole = known % 1 == 0
    thousands = 1000 * known[~whole]
    return bool(
        0 < whole.sum() < known.size
        and (abs(known) >= 1).all()
        and (abs(thousands - thousands.round()) < 1e-6).all()
    )
