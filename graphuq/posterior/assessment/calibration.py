"""Calibration of class probabilities: reliability curve, calibration error, Brier and log score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from graphuq.labels.class_values import as_given, find_classes, to_one_type
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# The log score counts smaller probabilities as this: thousands of draws resolve no finer, and a
# share of draws may be exactly 0. A wrong answer called certain then costs -log(1e-4) = 9.2.
MIN_PROBABILITY = 1e-4

# Bootstrap samples; the ends of a 95% interval are then known to a fiftieth of its width.
N_BOOTSTRAP = 1000
TAIL = 0.025

# A bin's gap has a certain sign if it is larger than this many standard errors.
MIN_CLEAR_GAP = 3.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far probabilities can be trusted, by items whose truth is known; see `calibrate`.

    Attributes
    ----------
    expected_calibration_error : float
        See `expected_calibration_error`. With few items even true probabilities have an error:
        see whether its interval reaches 0.
    brier : float
        See `brier_score`.
    log_score : float
        Mean of -log(probability of the truth), 0 at best (Good 1952); a coin toss between two
        classes scores log(2) = 0.69. Probabilities below 1e-4 count as 1e-4: sampled ones may be 0.
    accuracy : float
        Share of items whose most probable class is right.
    intervals : dict from str to (float, float)
        95% intervals of these four, by their names; see `calibrate`.
    curve : pandas.DataFrame
        The reliability curve, a row for each bin of confidence: its ends ``low`` and ``high``; the
        ``count`` of items; their mean ``confidence`` and their ``accuracy``; its 95% interval,
        ``accuracy_low`` and ``accuracy_high``. NaN in bins without items.

    Examples
    --------
    Half of forty items with confidence 75% are right:

    >>> import graphuq as gq
    >>> result = gq.calibrate([[0.75, 0.25]] * 40, ["cat", "dog"] * 20, classes=["cat", "dog"])
    >>> result.expected_calibration_error, result.accuracy
    (0.25, 0.5)
    >>> low, high = result.intervals["expected_calibration_error"]
    >>> 0 < low < 0.25 < high
    True
    """

    expected_calibration_error: float
    brier: float
    log_score: float
    accuracy: float
    intervals: dict[str, tuple[float, float]]
    curve: pd.DataFrame

    def __repr__(self) -> str:
        lines = [
            f"{name} {getattr(self, name):.4f} ({low:.4f} to {high:.4f})"
            for name, (low, high) in self.intervals.items()
        ]
        return f"Calibration({self.curve['count'].sum()} items: {', '.join(lines)})"


def calibrate(
    probabilities: Any,
    truth: Any,
    classes: Any,
    *,
    n_bins: int = 10,
    seed: validation.Seed = 0,
) -> Calibration:
    """Compare probabilities with the truth, with 95% intervals.

    The intervals assume that the items are drawn independently. Errors on a graph come in clusters,
    so the intervals are somewhat too short; nor do they include what another choice of labels would
    change. Accuracies have Wilson's intervals (1927), which hold even if none or all of the items
    are right; the others come from bootstrap samples of the items (Efron 1979).

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
        The true classes.
    classes : array_like, shape (K,)
        The classes of the columns.
    n_bins : int
        Number of bins of confidence, equal parts of [1/K, 1].
    seed : int, SeedSequence or Generator
        For the bootstrap.

    Raises
    ------
    ValueError
        Shapes that do not match, fewer than two classes, a truth that is not a class, rows that
        are not probabilities, fewer than one bin.

    Examples
    --------
    >>> import graphuq as gq
    >>> p = [[0.75, 0.25]] * 40
    >>> result = gq.calibrate(p, ["cat"] * 30 + ["dog"] * 10, classes=["cat", "dog"], n_bins=2)
    >>> result.expected_calibration_error, result.accuracy
    (0.0, 0.75)
    >>> result.curve[["low", "high", "count", "confidence", "accuracy"]]
        low  high  count  confidence  accuracy
    0  0.50  0.75     40        0.75      0.75
    1  0.75  1.00      0         NaN       NaN
    """
    p, hits = _check(probabilities, truth, classes)
    edges, bins, confidence, right = _bin(p, hits, n_bins)
    log_losses = -np.log(np.maximum((p * hits).sum(axis=1), MIN_PROBABILITY))
    losses = np.column_stack([_brier(p, hits), log_losses])
    rng = np.random.default_rng(validation.seed_sequence(seed))
    (brier, log_score), (low, high), error, reach = _bootstrap(
        losses, bins, right - confidence, rng
    )
    accuracy = wilson_interval(right.sum(keepdims=True), np.array([right.size]))
    return Calibration(
        expected_calibration_error=error,
        brier=brier,
        log_score=log_score,
        accuracy=float(right.mean()),
        intervals={
            "expected_calibration_error": (max(error - reach, 0.0), min(error + reach, 1.0)),
            "brier": (low[0], high[0]),
            "log_score": (low[1], high[1]),
            "accuracy": (float(accuracy[0, 0]), float(accuracy[1, 0])),
        },
        curve=_curve(edges, bins, confidence, right),
    )


def _bootstrap(
    losses: Array, bins: NDArray[np.int64], gap: Array, rng: np.random.Generator
) -> tuple[list[float], list[list[float]], float, float]:
    """Return the means of ``losses`` and their interval's ends, the error and its interval's reach.

    The error is the norm |d|_1 of the bins' gaps d_b, sums of right - confidence over m. Where
    calibration is good, the gaps d* of every bootstrap sample have a larger norm, and percentiles
    fail. The reach is the 95% quantile of |sum_b c_b| over samples, where c_b is
    sign(d_b) (d*_b - d_b) if the sign of d_b is clear, and |d*_b - d_b| if it may be either (after
    Fang and Santos 2019, on functions with kinks).
    """
    m = gap.size
    d = np.bincount(bins, weights=gap) / m
    clear = np.abs(d) > MIN_CLEAR_GAP * np.sqrt(np.bincount(bins, weights=gap**2)) / m
    changes, means = np.empty(N_BOOTSTRAP), np.empty((N_BOOTSTRAP, 2))
    for b in range(N_BOOTSTRAP):
        times = np.bincount(rng.integers(m, size=m), minlength=m)  # each item is drawn
        moved = np.bincount(bins, weights=times * gap) / m - d
        changes[b] = np.where(clear, np.sign(d) * moved, np.abs(moved)).sum()
        means[b] = times @ losses / m
    ends = np.quantile(means, [TAIL, 1 - TAIL], axis=0).tolist()
    reach = float(np.quantile(np.abs(changes), 1 - 2 * TAIL))
    return losses.mean(axis=0).tolist(), ends, float(np.abs(d).sum()), reach


def _curve(edges: Array, bins: NDArray[np.int64], confidence: Array, right: Array) -> pd.DataFrame:
    import pandas as pd

    n_bins = edges.size - 1
    count = np.bincount(bins, minlength=n_bins)
    items = np.where(count > 0, count, np.nan)
    correct = np.bincount(bins, weights=right, minlength=n_bins)
    accuracy_low, accuracy_high = wilson_interval(correct, count)
    return pd.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "count": count,
            "confidence": np.bincount(bins, weights=confidence, minlength=n_bins) / items,
            "accuracy": correct / items,
            "accuracy_low": accuracy_low,
            "accuracy_high": accuracy_high,
        }
    )


def brier_score(probabilities: Any, truth: Any, classes: Any) -> float:
    """Return the mean over items of sum_k (p_k - [truth is class k])^2, from 0, best, to 2.

    Brier (1950). For two classes it is twice the mean of (p - [truth is the second])^2.

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
    classes : array_like, shape (K,)
        The classes of the columns.

    Raises
    ------
    ValueError
        Shapes that do not match, fewer than two classes, a truth that is not a class, rows that
        are not probabilities.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.brier_score([[1.0, 0.0], [0.5, 0.5]], ["cat", "dog"], ["cat", "dog"])
    0.25
    """
    p, hits = _check(probabilities, truth, classes)
    return float(_brier(p, hits).mean())


def expected_calibration_error(
    probabilities: Any, truth: Any, classes: Any, n_bins: int = 10
) -> float:
    """Return the mean distance between confidence and accuracy, sum_b (m_b / m) |acc_b - conf_b|.

    The confidence of a prediction is its probability, the largest of the row. Items are binned by
    confidence, and bin b has the accuracy and mean confidence of its m_b items (Naeini, Cooper and
    Hauskrecht 2015; Guo et al. 2017). The bins are equal parts of [1/K, 1], where the largest of K
    probabilities lies; others often take parts of [0, 1], half of which stay empty for two classes.
    A bin contains its upper end, and the first bin also its lower end.

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
    classes : array_like, shape (K,)
        The classes of the columns.
    n_bins : int
        More bins resolve more but are noisier: with few items per bin, even true probabilities
        have an error.

    Raises
    ------
    ValueError
        Shapes that do not match, fewer than two classes, a truth that is not a class, rows that
        are not probabilities, fewer than one bin.

    Examples
    --------
    >>> import graphuq as gq
    >>> p = [[0.75, 0.25]] * 4
    >>> gq.expected_calibration_error(p, [0, 0, 0, 1], classes=[0, 1])
    0.0
    >>> gq.expected_calibration_error(p, [0, 0, 0, 0], classes=[0, 1])
    0.25
    """
    p, hits = _check(probabilities, truth, classes)
    _, bins, confidence, right = _bin(p, hits, n_bins)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / p.shape[0])


def wilson_interval(right: NDArray[Any], count: NDArray[Any]) -> Array:
    """Return the ends of Wilson's 95% intervals (1927) of right / count, shape (2, n).

    They are NaN where ``count`` is 0.
    """
    n, z = np.where(count > 0, count, np.nan), ndtri(1 - TAIL)
    wrong = n - right
    spread = z * np.sqrt(right * wrong / n + z**2 / 4)
    ends = (right + z**2 / 2 + np.multiply.outer([-1, 1], spread)) / (n + z**2)
    ends[0, wrong == n] = 0.0  # without rounding
    ends[1, right == n] = 1.0
    return np.asarray(ends, dtype=np.float64)


def _brier(p: Array, hits: Array) -> Array:
    return ((p - hits) ** 2).sum(axis=1)


def _bin(p: Array, hits: Array, n_bins: int) -> tuple[Array, NDArray[np.int64], Array, Array]:
    """Return the edges of the bins, and each item's bin, confidence, and 1 if it is right."""
    validation.integer("n_bins", n_bins, 1, 100_000)
    confidence = p.max(axis=1)
    edges = np.linspace(1 / p.shape[1], 1, n_bins + 1)
    bins = np.clip(np.searchsorted(edges, confidence) - 1, 0, n_bins - 1)
    return edges, bins, confidence, hits[np.arange(p.shape[0]), p.argmax(axis=1)]


def _check(probabilities: Any, truth: Any, classes: Any) -> tuple[Array, Array]:
    """Return p and the indicators [truth is class k], both (m, K)."""
    p, truth = validation.real_array("probabilities", probabilities), as_given(truth)
    classes = to_one_type(np.atleast_1d(as_given(classes)))
    shapes_fit = p.ndim == 2 and p.shape == (*truth.shape, *classes.shape)
    if not shapes_fit or p.shape[0] < 1 or p.shape[1] < 2:
        raise ValueError(
            "probabilities, truth and classes must have shapes (m, K), (m,) and (K,) with m > 0 "
            f"and K > 1, got {p.shape}, {truth.shape} and {classes.shape}"
        )
    right = (p >= 0).all(axis=1) & np.isclose(p.sum(axis=1), 1, atol=1e-6)
    if not right.all():
        odd = int(right.argmin())
        raise ValueError(
            f"row {odd} of probabilities is {p[odd].tolist()}, and rows must be non-negative and "
            "sum to 1: divide them by their sums, and fill in NaN"
        )
    return p.astype(np.float64), np.eye(classes.size)[find_classes("truth", truth, classes)]
