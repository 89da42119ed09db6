"""One label of an item from those of several people, with its confidence."""

from __future__ import annotations

import math
from collections.abc import Iterable

# People who are certain and contradict each other are this sure, and no more.
CERTAIN = 0.99

# Log odds that differ less are equal.
TIE = 1e-9


def combine(answers: Iterable[tuple[str, float]], n_classes: int) -> tuple[str, float] | None:
    """Return the likeliest label and the probability that it is right.

    An answer of confidence p makes its class p (K - 1) / (1 - p) times as likely beside each other
    class: mistakes are independent, and any of the other classes alike. The factors of all answers
    are multiplied. As in `Labels.from_annotators`, the rest of the probability is spread over the
    other classes.

    Parameters
    ----------
    answers : iterable of (label, confidence)
    n_classes : int

    Returns
    -------
    tuple of str and float, or None
        None where there is no answer, or two classes are equally likely.

    Examples
    --------
    >>> combine([("cat", 1.0)], 2)
    ('cat', 1.0)
    >>> label, confidence = combine([("cat", 0.9), ("cat", 0.8), ("dog", 0.8)], 2)
    >>> label, round(confidence, 3)
    ('cat', 0.9)
    >>> combine([("cat", 1.0), ("dog", 1.0)], 2) is None
    True
    """
    given = list(answers)
    if len({label for label, _ in given}) == 1 and any(p == 1 for _, p in given):
        return given[0][0], 1.0
    K = max(n_classes, 2)
    odds: dict[str, float] = {}
    for label, p in given:
        sure = min(p, CERTAIN) if len(given) > 1 else p
        odds[label] = odds.get(label, 0.0) + math.log(sure * (K - 1) / (1 - sure))
    ranked = sorted(odds.items(), key=lambda one: -one[1])
    # classes that nobody named have log odds 0
    others = [value for _, value in ranked[1:]] + [0.0] * (K - len(ranked))
    if not ranked or ranked[0][1] <= max(others, default=0.0) + TIE:
        return None
    (label, best), *_ = ranked
    return label, 1 / (1 + sum(math.exp(other - best) for other in others))
