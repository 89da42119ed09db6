"""Whether probabilities mean what they say: the Brier score and the expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

Array = NDArray[np.float64]


def brier_score(probabilities: Any, truth: Any, classes: Any) -> float:
    """Return the mean over items of sum_k (p_k - [truth is class k])^2, from 0, best, to 2.

    Brier (1950). Of two classes it is twice the mean of (p - [truth is the second])^2.

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
    classes : array_like, shape (K,)
        What the columns stand for. An item whose truth is none of them scores sum_k p_k^2.

    Raises
    ------
    ValueError
        Shapes that do not fit, fewer than two classes, rows that are no probabilities.

    Examples
    --------
    >>> brier_score([[1.0, 0.0], [0.5, 0.5]], ["cat", "dog"], ["cat", "dog"])
    0.25
    """
    p, hits = _checked(probabilities, truth, classes)
    return float(((p - hits) ** 2).sum(axis=1).mean())


def expected_calibration_error(
    probabilities: Any, truth: Any, classes: Any, n_bins: int = 10
) -> float:
    """Return the mean distance between confidence and accuracy, sum_b (m_b / m) |acc_b - conf_b|.

    The confidence of a prediction is its probability, the largest of the row; by it items go to
    bins, and bin b has the accuracy and mean confidence of its m_b items (Naeini, Cooper and
    Hauskrecht 2015; Guo et al. 2017). The bins are equal parts of [1/K, 1], where a largest of K
    probabilities lies; elsewhere they are often those of [0, 1], of which two classes leave half
    empty. A bin holds its upper end, the first its lower end too.

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
    classes : array_like, shape (K,)
        What the columns stand for.
    n_bins : int
        More bins see finer, and noisier: with few items a bin, even true probabilities have an
        error.

    Raises
    ------
    ValueError
        Shapes that do not fit, fewer than two classes, rows that are no probabilities, fewer than
        one bin.

    Examples
    --------
    >>> p = [[0.75, 0.25]] * 4
    >>> expected_calibration_error(p, [0, 0, 0, 1], classes=[0, 1])
    0.0
    >>> expected_calibration_error(p, [0, 0, 0, 0], classes=[0, 1])
    0.25
    """
    p, hits = _checked(probabilities, truth, classes)
    _, bins, confidence, right = _binned(p, hits, n_bins)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / p.shape[0])


def _binned(p: Array, hits: Array, n_bins: int) -> tuple[Array, NDArray[np.int64], Array, Array]:
    """Return the bins' edges; and of each item its bin, its confidence, and 1 if it is right."""
    validation.integer("n_bins", n_bins, 1, 100_000)
    confidence = p.max(axis=1)
    edges = np.linspace(1 / p.shape[1], 1, n_bins + 1)
    bins = np.clip(np.searchsorted(edges, confidence) - 1, 0, n_bins - 1)
    return edges, bins, confidence, hits[np.arange(p.shape[0]), p.argmax(axis=1)]


def _checked(probabilities: Any, truth: Any, classes: Any) -> tuple[Array, Array]:
    """Return p and the indicators [truth is class k], both (m, K)."""
    p, truth, classes = (np.asarray(values) for values in (probabilities, truth, classes))
    shapes_fit = p.ndim == 2 and p.shape == (*truth.shape, *classes.shape)
    if not shapes_fit or p.shape[0] < 1 or p.shape[1] < 2:
        raise ValueError(
            "probabilities, truth and classes must have shapes (m, K), (m,) and (K,) with m > 0 "
            f"and K > 1, got {p.shape}, {truth.shape} and {classes.shape}"
        )
    if not ((p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
        raise ValueError(
            "rows of probabilities must be non-negative and sum to 1: divide them by their sums"
        )
    return p.astype(np.float64), (truth[:, None] == classes).astype(np.float64)
