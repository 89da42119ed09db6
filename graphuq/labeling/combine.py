"""One label of an item from those of several people, with its confidence."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphuq.labels.annotators import likeliest, log_votes

# People who are certain and contradict each other are this sure, and no more.
CERTAIN = 0.99


def combine(answers: Iterable[tuple[str, float]], n_classes: int) -> tuple[str, float] | None:
    """Return the likeliest label and the probability that it is right.

    Each answer is that of an annotator whose rate of mistakes is 1 less its confidence, as in
    `Labels.from_annotators`.

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
    named = list(dict.fromkeys(label for label, _ in given))
    K = max(n_classes, len(named), 2)
    sure = np.array([p for _, p in given])
    if len(given) > 1:
        sure = np.minimum(sure, CERTAIN)
    votes = np.array([named.index(label) for label, _ in given], dtype=np.intp)
    clear, best, confidence = likeliest(log_votes(votes, 1 - sure, K).sum(axis=0, keepdims=True))
    # people who only guess may make a class likelier that nobody named
    if not clear.size or best[0] >= len(named):
        return None
    return named[best[0]], float(confidence[0])
