"""Whether probabilities mean what they say: reliability, calibration error, Brier and log score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

# The log score takes no probability for less: thousands of draws tell no finer, and a share of
# draws may be 0 exactly. A wrong answer that was called certain so costs -log(1e-4) = 9.2.
LEAST = 1e-4

# Bootstrap samples; the ends of a 95% interval are then known to a fiftieth of its width.
REPLICATES = 1000
TAIL = 0.025
Z = 1.959963984540054  # the standard normal's upper 2.5% point

# Standard errors by which a bin's gap is taken to have the sign that it shows.
CLEAR = 3.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far probabilities can be trusted, on items whose truth is known; `calibrate` makes it.

    Attributes
    ----------
    expected_calibration_error : float
        See `expected_calibration_error`. True probabilities have some too, the more the fewer the
        items: see whether its interval reaches down to 0.
    brier : float
        See `brier_score`.
    log_score : float
        Mean of -log(probability of the truth), 0 at best (Good 1952); log(2) = 0.69 is what a coin
        scores of two classes. Probabilities below 1e-4 count as 1e-4: sampled ones may be 0.
    accuracy : float
        Share of items whose likeliest class is right.
    intervals : dict from str to (float, float)
        95% intervals of these four, by their names; see `calibrate`.
    curve : pandas.DataFrame
        The reliability curve, a row a bin of confidence: ``low`` and ``high``, its ends; ``count``
        of items; their mean ``confidence`` and their ``accuracy``; ``accuracy_low`` and
        ``accuracy_high``, a 95% interval of it. NaN in bins without items.

    Examples
    --------
    Of forty items called 75% sure, half are right:

    >>> result = calibrate([[0.75, 0.25]] * 40, ["cat", "dog"] * 20, classes=["cat", "dog"])
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
    """Hold probabilities against the truth, with 95% intervals.

    The intervals are of what ever more such items would give, were they drawn independently.
    Errors on a graph come in clusters, so that the intervals are rather too short; nor do they
    know how much another choice of labels would change. Accuracies have Wilson's (1927), which
    hold where nothing, or all, is right; the rest comes from bootstrap samples of the items (Efron
    1979).

    Parameters
    ----------
    probabilities : array_like, shape (m, K)
        Rows sum to 1.
    truth : array_like, shape (m,)
        An item whose truth is none of the classes counts as wrong, and its truth as improbable.
    classes : array_like, shape (K,)
        What the columns stand for.
    n_bins : int
        Bins of confidence, equal parts of [1/K, 1].
    seed : int, SeedSequence or Generator
        Of the bootstrap.

    Raises
    ------
    ValueError
        Shapes that do not fit, fewer than two classes, rows that are no probabilities, fewer than
        one bin.

    Examples
    --------
    >>> p = [[0.75, 0.25]] * 40
    >>> result = calibrate(p, ["cat"] * 30 + ["dog"] * 10, classes=["cat", "dog"], n_bins=2)
    >>> result.expected_calibration_error, result.accuracy
    (0.0, 0.75)
    >>> result.curve[["low", "high", "count", "confidence", "accuracy"]]
        low  high  count  confidence  accuracy
    0  0.50  0.75     40        0.75      0.75
    1  0.75  1.00      0         NaN       NaN
    """
    p, hits = _checked(probabilities, truth, classes)
    edges, bins, confidence, right = _binned(p, hits, n_bins)
    losses = np.column_stack([_brier(p, hits), -np.log(np.maximum((p * hits).sum(axis=1), LEAST))])
    rng = np.random.default_rng(validation.seed_sequence(seed))
    (brier, log_score), (low, high), error, reach = _bootstrap(
        losses, bins, right - confidence, rng
    )
    accuracy_low, accuracy_high = wilson(right.sum(), right.size)
    return Calibration(
        expected_calibration_error=error,
        brier=brier,
        log_score=log_score,
        accuracy=float(right.mean()),
        intervals={
            "expected_calibration_error": (max(error - reach, 0.0), min(error + reach, 1.0)),
            "brier": (low[0], high[0]),
            "log_score": (low[1], high[1]),
            "accuracy": (float(accuracy_low), float(accuracy_high)),
        },
        curve=_curve(edges, bins, confidence, right),
    )


def _bootstrap(
    losses: Array, bins: NDArray[np.int64], gap: Array, rng: np.random.Generator
) -> tuple[list[float], list[list[float]], float, float]:
    """Return the means of ``losses`` and their interval's ends, the error and its interval's reach.

    The error is the norm |d|_1 of the bins' gaps d_b, sums of right - confidence over m. Where
    calibration is good, the gaps of every bootstrap sample d* have a larger norm, and percentiles
    miss. The reach is the 95% quantile of |sum_b c_b| over samples, where c_b is
    sign(d_b) (d*_b - d_b) if d_b is clear of noise, and else |d*_b - d_b|: such a gap may point
    either way (after Fang and Santos 2019, on functions with kinks).
    """
    m = gap.size
    d = np.bincount(bins, weights=gap) / m
    clear = np.abs(d) > CLEAR * np.sqrt(np.bincount(bins, weights=gap**2)) / m
    changes, means = np.empty(REPLICATES), np.empty((REPLICATES, 2))
    for b in range(REPLICATES):
        times = np.bincount(rng.integers(m, size=m), minlength=m)  # that each item is drawn
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
    accuracy_low, accuracy_high = wilson(correct, items)
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
    return float(_brier(p, hits).mean())


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


def wilson(right: Any, count: Any) -> tuple[Any, Any]:
    """Return the ends of Wilson's 95% interval of the share right / count.

    They solve (share - p)^2 = Z^2 p (1 - p) / count for p (Wilson 1927).
    """
    centre = (right + Z**2 / 2) / (count + Z**2)
    reach = Z / (count + Z**2) * np.sqrt(right * (count - right) / count + Z**2 / 4)
    share = right / count  # an end where all, or none, is right
    return np.clip(centre - reach, 0.0, share), np.clip(centre + reach, share, 1.0)


def _brier(p: Array, hits: Array) -> Array:
    return ((p - hits) ** 2).sum(axis=1)


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
