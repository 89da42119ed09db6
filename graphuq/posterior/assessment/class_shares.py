"""Class probabilities that add up to known shares of the classes.

Let p_ic be the probability of class c at node i, and pi_c the share of class c among all N nodes.
The nearest probabilities q whose means over the nodes are pi,

    minimize sum_i KL(q_i | p_i)    subject to    (1 / N) sum_i q_ic = pi_c,

are q_ic = w_c p_ic / sum_k w_k p_ik with one weight for each class (Csiszar 1975, I-divergence
geometry of probability distributions and minimization problems). The weights minimize the convex

    (1 / N) sum_i log sum_c w_c p_ic - sum_c pi_c log w_c.

The exact posterior given the shares also knows that the fields of nodes move together, and is more
certain than q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphuq.graphs.labels import Labels
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Told shares must sum to 1 within this.
SUM_TOLERANCE = 1e-6

# Weights have converged when all shares are met within this.
SHARE_TOLERANCE = 1e-10

# Steps of Newton's method; a step changes the ratio of two weights by at most e.
MAX_STEPS = 200

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


def class_weights(by_class: Array, shares: Array) -> Array:
    """Return weights of the classes, of sum 1, with which the mean probabilities are ``shares``.

    Newton's method. A step that changes no ratio of weights by more than e decreases the objective
    (Bach 2010, Self-concordant analysis for logistic regression).

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
    shares : ndarray, shape (K,)

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
    """
    log_weights = np.zeros(shares.size)
    for _ in range(MAX_STEPS):
        q = reweight(by_class, np.exp(log_weights - log_weights.max()))
        mean = q.mean(axis=0)
        if abs(mean - shares).max() < SHARE_TOLERANCE:
            weights = np.exp(log_weights - log_weights.max())
            return np.asarray(weights / weights.sum())
        # the first weight stays, since only ratios matter
        curvature = (np.diag(mean) - q.T @ q / len(q))[1:, 1:]
        step = np.linalg.pinv(curvature, hermitian=True) @ (shares - mean)[1:]
        log_weights[1:] += step / max(1.0, np.ptp([0.0, *step]))
        if np.ptp(log_weights) > MAX_LOG_RATIO:
            break
    raise ValueError(
        f"the shares {shares.round(4).tolist()} cannot be met: on average the probabilities are "
        f"{by_class.mean(axis=0).round(4).tolist()}, and too many nodes are certain; correct the "
        "shares or the labels, or take a likelihood with more noise"
    )


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
