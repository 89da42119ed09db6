"""Class probabilities that add up to known shares of the classes.

Let p_ic be the probability of class c at node i, and pi_c the share of class c among all N nodes.
The nearest probabilities q whose means over the nodes are pi,

    minimize sum_i KL(q_i | p_i)    subject to    (1 / N) sum_i q_ic = pi_c,

are q_ic = w_c p_ic / sum_k w_k p_ik with one weight for each class (Csiszar 1975, I-divergence
geometry of probability distributions and minimization problems). The weights minimize the convex

    (1 / N) sum_i log sum_c w_c p_ic - sum_c pi_c log w_c.

Shares that are a guess have a strength S, the number of items that the guess is worth. It has the
weight of S items whose classes were seen and have the shares pi, under a Dirichlet distribution
with parameters 1 + S pi_c, of density proportional to prod_c s_c^(S pi_c). Then q maximizes

    - sum_i KL(q_i | p_i) + S sum_c pi_c log s_c,    s_c = (1 / N) sum_i q_ic,

which is strictly concave, so that there is one solution: q_ic proportional to
p_ic exp(S pi_c / (N s_c)). With e = N / S and weights w_c = exp(eta_c), its dual problem is to
minimize the convex

    (1 / N) sum_i log sum_c p_ic exp(eta_c) - (1 / e) sum_c pi_c log(1 + e eta_c),

whose solution has s_c = pi_c / (1 + e eta_c). For S = infinity this is the problem above, and for
S = 0 nothing changes. In between the divergence of s from pi falls as S grows.

Either law counts each node as an item of its own. So S weighs against N: with S = N the shares and
the probabilities weigh alike. The exact posterior given the shares also knows that the fields of
nodes move together. It follows the shares more readily, and is more certain than q.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphuq.labels.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Given shares must sum to 1 within this.
SUM_TOLERANCE = 1e-6

# Weights have converged when every share is met within this part of itself, and rounding.
SHARE_TOLERANCE, ROUNDING = 1e-10, 1e-15

# Items for each node; knowledge that is worth less changes nothing.
MIN_STRENGTH = 1e-100

# Steps of Newton's method. Few are needed, but for classes that are nearly impossible.
MAX_STEPS = 500

# Weights whose ratio is larger than exp of this would turn certainties around.
MAX_LOG_RATIO = 25.0


def require_shares(class_shares: Any, labels: Labels) -> Array:
    """Return the shares of ``labels.classes``, shape (K,), checked.

    Parameters
    ----------
    class_shares : mapping
        From each class to its share.
    labels : Labels

    Raises
    ------
    TypeError, ValueError
        Not a mapping of all classes to positive numbers that sum to 1.

    Examples
    --------
    >>> require_shares({"dog": 0.3, "cat": 0.7}, Labels([2, 5], ["cat", "dog"]))
    array([0.7, 0.3])
    """
    classes = labels.classes.tolist()
    if not isinstance(class_shares, Mapping):
        raise TypeError(
            "class_shares must be a dict from each class to its share, such as "
            f"{{{classes[0]!r}: 0.1, ...}}, got {class_shares!r}"
        )
    unknown = [c for c in class_shares if c not in classes]
    if unknown:
        raise ValueError(
            f"class_shares names {unknown[0]!r}, which is not a class: the classes are {classes}; "
            "a class without labels is given by gq.Labels(nodes, values, classes=...)"
        )
    left_out = [c for c in classes if c not in class_shares]
    if left_out:
        raise ValueError(f"class_shares leaves out {left_out}: give the share of every class")
    shares = np.array([validation.real(f"the share of {c!r}", class_shares[c]) for c in classes])
    if shares.min() <= 0:
        raise ValueError(
            f"shares must be positive, got {shares.min():g} for {classes[shares.argmin()]!r}: keep "
            "only classes that occur, labels.of_classes(...), or give a small share"
        )
    if abs(shares.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"shares must sum to 1, got {shares.sum():.6g}: divide each by their sum")
    return np.asarray(shares / shares.sum())


def require_strength(strength: Any, name: str = "strength") -> float:
    """Return the strength of shares, checked: a number from 0 to infinity.

    Parameters
    ----------
    strength : float
    name : str
        What the user calls it.

    Raises
    ------
    TypeError, ValueError
        Not a number; negative or NaN.

    Examples
    --------
    >>> require_strength(50), require_strength(float("inf"))
    (50.0, inf)
    """
    remedy = "give the number of items that the shares are worth, or infinity for exact shares"
    # a duration of NumPy is an integer for Python
    if isinstance(strength, bool | np.timedelta64) or not isinstance(strength, numbers.Real):
        raise TypeError(f"{name} must be a number, got {strength!r}: {remedy}")
    try:
        number = float(strength)
    except OverflowError:  # an integer of hundreds of digits
        number = np.inf
    if not number >= 0:
        raise ValueError(f"{name} must not be negative or NaN, got {strength!r}: {remedy}")
    return abs(number)  # not -0


def describe_shares(shares: Mapping[Any, float], strength: float) -> str:
    """Return shares of classes as text for readers.

    Examples
    --------
    >>> describe_shares({"ham": 0.9, "spam": 0.1}, 50.0)
    '0.9 of ham, 0.1 of spam, worth 50 items'
    """
    listed = ", ".join(f"{share:.3g} of {name}" for name, share in shares.items())
    return listed + (f", worth {strength:g} items" if np.isfinite(strength) else "")


def class_weights(by_class: Array, shares: Array, strength: float = np.inf) -> Array:
    """Return weights of the classes, of sum 1, that bring the mean probabilities to ``shares``.

    Newton's method on the dual problem, with steps so short that each decreases the objective: both
    terms are self-concordant, the first in the sense of Bach (2010, Self-concordant analysis for
    logistic regression).

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
    shares : ndarray, shape (K,)
    strength : float from 0 to infinity
        Items that the shares are worth. With infinity the mean probabilities are ``shares``.

    Returns
    -------
    ndarray, shape (K,)

    Raises
    ------
    ValueError
        No weights reach these shares, since too many nodes are certain of their class.

    Examples
    --------
    Two nodes that say nothing, and one that is nearly certain:

    >>> p = np.array([[0.5, 0.5], [0.5, 0.5], [0.99, 0.01]])
    >>> w = class_weights(p, np.array([0.4, 0.6]))
    >>> reweight(p, w).mean(axis=0).round(6)
    array([0.4, 0.6])
    >>> w = class_weights(p, np.array([0.4, 0.6]), strength=3)
    >>> reweight(p, w).mean(axis=0).round(2)
    array([0.56, 0.44])
    """
    if strength < MIN_STRENGTH * len(by_class):
        return np.full(shares.size, 1 / shares.size)
    slack = len(by_class) / strength
    log_weights, growth = np.zeros(shares.size), np.ones(shares.size)
    for _ in range(MAX_STEPS):
        weights = np.exp(log_weights - log_weights.max())
        q = reweight(by_class, weights)
        mean, wanted = q.mean(axis=0), shares / growth
        if (abs(mean - wanted) < SHARE_TOLERANCE * wanted + ROUNDING).all():
            return np.asarray(weights / weights.sum())
        step = _newton_step(q, wanted - mean, wanted * slack / growth)
        # the ratio of two weights changes by at most e, and the growth by a quarter
        step /= max(1.0, np.ptp(step), 4 * abs(slack * step / growth).max())
        log_weights += step
        growth += slack * step  # 1 + slack * log_weights, without cancellation
        if np.ptp(log_weights) > MAX_LOG_RATIO:
            break
    shown, found = (", ".join(f"{x:.3g}" for x in each) for each in (shares, by_class.mean(axis=0)))
    raise ValueError(
        f"the shares {shown} cannot be met: on average the probabilities are {found}, and too "
        "many nodes are certain or a share is too small; correct the shares or the labels, give "
        "the shares less strength, or take a likelihood with more noise"
    )


def _newton_step(q: Array, gap: Array, barrier: Array) -> Array:
    """Return the step of Newton's method, with the diagonal of the curvature scaled to 1."""
    curvature = -q.T @ q / len(q)
    np.fill_diagonal(curvature, 0.0)
    np.fill_diagonal(curvature, barrier - curvature.sum(axis=1))  # rows of q sum to 1
    scale = 1 / np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
    # without slack all weights may grow alike, which changes nothing
    inverse = np.linalg.pinv(curvature * np.outer(scale, scale), hermitian=True)
    return np.asarray(scale * (inverse @ (scale * gap)))


def reweight(by_class: Array, weights: Array) -> Array:
    """Return the probabilities times the weights of the classes, scaled to sum to 1, (N, K).

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
    weights : ndarray, shape (K,)

    Examples
    --------
    >>> reweight(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([1.0, 9.0])).round(6)
    array([[0.1, 0.9],
           [0.5, 0.5]])
    """
    joint = by_class * weights
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def reweight_error(error: Array, before: Array, after: Array) -> Array:
    """Return the standard errors of reweighted probabilities, of any shape.

    The weights are taken as known, and the ratios of the other classes too. Then the error of the
    log odds log(p / (1 - p)) stays as it is.

    Parameters
    ----------
    error : ndarray
        Those of the probabilities before.
    before, after : ndarray
        Probabilities of one class, before and after.

    Examples
    --------
    >>> reweight_error(np.array([0.01, 0.0]), np.array([0.5, 1.0]), np.array([0.9, 1.0])).round(4)
    array([0.0036, 0.    ])
    """
    spread = before * (1 - before)
    return np.where(spread > 0, error * after * (1 - after) / np.maximum(spread, 1e-300), error)
