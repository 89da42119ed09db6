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
        Shapes that do not fit, rows that are no probabilities.

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

    The confidence of a prediction is its probability, the largest of the row; items go to bins
    ((b - 1) / n_bins, b / n_bins] by it, and each bin has the accuracy and mean confidence of its
    m_b items (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017).

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
        Shapes that do not fit, rows that are no probabilities, fewer than one bin.

    Examples
    --------
    >>> p = [[0.75, 0.25]] * 4
    >>> expected_calibration_error(p, [0, 0, 0, 1], classes=[0, 1])
    0.0
    >>> expected_calibration_error(p, [0, 0, 0, 0], classes=[0, 1])
    0.25
    """
    p, hits = _checked(probabilities, truth, classes)
    validation.integer("n_bins", n_bins, 1, 100_000)
    confidence = p.max(axis=1)
    right = hits[np.arange(p.shape[0]), p.argmax(axis=1)]
    bins = np.clip(np.ceil(confidence * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / p.shape[0])


def _checked(probabilities: Any, truth: Any, classes: Any) -> tuple[Array, Array]:
    """Return p and the indicators [truth is class k], both (m, K)."""
    p, truth, classes = (np.asarray(values) for values in (probabilities, truth, classes))
    if p.ndim != 2 or p.shape[0] == 0 or p.shape != (*truth.shape, *classes.shape):
        raise ValueError(
            "probabilities, truth and classes must have shapes (m, K), (m,) and (K,) with m > 0, "
            f"got {p.shape}, {truth.shape} and {classes.shape}"
        )
    if not ((p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
        raise ValueError(
            "rows of probabilities must be non-negative and sum to 1: divide them by their sums"
        )
    return p.astype(np.float64), (truth[:, None] == classes).astype(np.float64)
