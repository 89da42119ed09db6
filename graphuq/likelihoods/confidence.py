"""Labels that are right with a given probability only, under a sign model.

A label passes two channels. The likelihood flips the class at rate f to any of the K - 1 others,
where e^-V = f / ((K - 1) (1 - f)) are the odds of one wrong label. Whoever gave the label was right
with probability p_j, and else named any of the K - 1 others. Both together are one such channel,
which is wrong with probability

    f_j = f p_j + (1 - f) (1 - p_j) + f (1 - p_j) (K - 2) / (K - 1).

So each label has a cost V_j of its own: logit p_j for two classes and f = 0. It is negative where
p_j < 1 / K.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit

from graphuq.utils.typing import Array


def flip_rate_of(cost: float, n_classes: int) -> float:
    """Return f, the probability that a label is flipped, from its cost V.

    Examples
    --------
    >>> round(flip_rate_of(math.log(9), n_classes=2), 6)
    0.1
    """
    return float(expit(math.log(n_classes - 1) - cost))


def combined_cost(cost: float, confidence: Array, n_classes: int) -> Array:
    """Return V_j, the cost of each label if it is wrong.

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
    flip = combined_flip_rate(flip_rate_of(cost, n_classes), confidence, n_classes)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((n_classes - 1) * (1 - flip)) - np.log(flip))


def combined_flip_rate(flip_rate: Any, confidence: Array | None, n_classes: int) -> Any:
    """Return f_j, the probability that each label is flipped.

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
