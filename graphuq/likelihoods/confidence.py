"""Labels that are right with a given probability only, under a sign model.

A label passes two channels. The likelihood flips the class at rate f to any of the K - 1 others,
where e^-V = f / ((K - 1) (1 - f)) are the odds of one wrong label. Whoever gave the label was right
with probability p, and else named any of the K - 1 others. Both together are one such channel, with
the odds

    e^-V_j = ((1 - f) q + o p + (K - 2) o q) / ((1 - f) p + (K - 1) o q),

with o = f / (K - 1) and q = (1 - p) / (K - 1). So each label has a cost V_j of its own: logit p for
two classes and f = 0. It is negative where p < 1 / K.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphuq.utils.typing import Array


def combined_cost(cost: float, confidence: Array, n_classes: int) -> Array:
    """Return V_j of labels.

    Parameters
    ----------
    cost : float
        V of the likelihood; it may be infinite.
    confidence : ndarray, shape (J,)
        In (0, 1].
    n_classes : int

    Examples
    --------
    >>> np.exp(-combined_cost(math.inf, np.array([1.0, 0.9]), n_classes=2)).round(6)
    array([0.      , 0.111111])
    >>> combined_cost(1.5, np.array([1.0, 0.5]), n_classes=2)
    array([1.5, 0. ])
    """
    n_wrong = n_classes - 1
    odds = math.exp(-cost)
    kept = 1 / (1 + n_wrong * odds)
    o, q = odds * kept, (1 - confidence) / n_wrong
    right = kept * confidence + n_wrong * o * q
    wrong = kept * q + o * confidence + (n_wrong - 1) * o * q
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(right) - np.log(wrong))


def combined_flip_rate(flip_rate: Any, confidence: Array | None, n_classes: int) -> Any:
    """Return the probability that a label is wrong wherever the fields are.

    Parameters
    ----------
    flip_rate : float or ndarray
        f of the likelihood, broadcast with the confidences.
    confidence : ndarray, shape (J,), or None
        None for labels of confidence 1.
    n_classes : int

    Examples
    --------
    >>> combined_flip_rate(0.1, np.array([1.0, 0.8]), n_classes=2).round(6)
    array([0.1 , 0.26])
    """
    if confidence is None:
        return flip_rate
    doubt = 1 - confidence
    # right again where both flip, the second back to the class
    return flip_rate * confidence + doubt - flip_rate * doubt / (n_classes - 1)
