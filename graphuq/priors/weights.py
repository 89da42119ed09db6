"""Weights of a sum as fractions, each of what earlier parts leave.

Fractions between 0 and 1 may be chosen one by one, whereas weights must sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphuq.utils import validation
from graphuq.utils.typing import Array


def fractions_of(weights: Any, n_parts: int) -> tuple[float, ...]:
    """Return the fractions of given weights, which need not sum to 1.

    Raises
    ------
    TypeError, ValueError
        Not numbers; negative, infinite, all zero; another number than there are parts.

    Examples
    --------
    >>> fractions_of([2, 1, 1], 3)
    (0.5, 0.5)
    """
    given = validation.real_array("weights", weights)
    try:
        given = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"weights must be {n_parts} numbers, got {weights!r}") from error
    if given.shape != (n_parts,):
        raise ValueError(
            f"weights must be {n_parts} numbers, one for each part, and none for a level, got "
            f"{weights!r}"
        )
    if any(isinstance(weight, bool | np.bool_) for weight in weights):
        raise TypeError(f"weights must be numbers, not True or False, got {weights!r}")
    if not (np.isfinite(given).all() and (given >= 0).all() and (given > 0).any()):
        raise ValueError(
            f"weights must be finite and not negative, and not all zero, got {given.tolist()}: "
            'give each part its share of the variance, or weights="auto"'
        )
    if given.max() > 1 or abs(given.sum() - 1) > 1e-12:  # others are kept to the last digit
        given = given / given.max()  # so that no sum overflows
        given /= given.sum()
    fractions, left = [], 1.0
    for at, weight in enumerate(given[:-1].tolist()):
        all_of_it = weight > 0 and not given[at + 1 :].any()  # exactly 0 is left for the others
        fractions.append(1.0 if all_of_it else _fraction(weight, left))
        left -= left * fractions[-1]
    return tuple(fractions)


def _fraction(weight: float, left: float) -> float:
    """Return f, with left f = weight to the last digit wherever there is such a number."""
    if weight == 0 or left == 0:  # a first weight next to 1 leaves 0 for all others
        return 0.0
    near = min(weight / left, 1.0)
    candidates = (near, math.nextafter(near, 0), math.nextafter(near, 1))
    return next((f for f in candidates if left * f == weight), near)


def weights_of(fractions: Sequence[Any]) -> Array:
    """Return the weights, which sum to 1, of fractions.

    Examples
    --------
    >>> weights_of([0.5, 0.5])
    array([0.5 , 0.25, 0.25])
    """
    shares, left = [], 1.0
    for fraction in fractions:
        shares.append(left * float(fraction))
        left -= shares[-1]
    return np.array([*shares, left])


def check_fraction(name: str, fraction: Any) -> float | str:
    """Return a fraction from 0 to 1, or "auto"."""
    if validation.is_auto(fraction):
        return validation.AUTO
    try:
        return validation.between(name, fraction, 0, 1)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f'{error}: give the share of a part in what earlier parts leave, or "auto"; '
            "gq.SumPrior.of(parts, weights) scales other weights"
        ) from error
