"""Labels of several annotators: how often each is wrong, and what they say together.

An annotator of rate e gives the true class with probability 1 - e, and each of the K - 1 others
with probability e / (K - 1): the one-coin model of Dawid and Skene 1979 (Applied Statistics 28).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from graphuq.labels.class_values import (
    as_given,
    check_classes,
    is_minus_one,
    is_missing,
    to_one_type,
)
from graphuq.utils import validation
from graphuq.utils.jit import cached_njit
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# A rate has the prior Beta(1, 3), of mean 1/4, below that of chance.
PRIOR = 1.0, 3.0

# The smallest rate, and what keeps logarithms finite.
LEAST, TINY = 1e-9, float(np.finfo(float).tiny)

# Share of a rate's posterior within its interval, and sweeps to forget the start.
INTERVAL, WARMUP = 0.9, 200

# The column of the rates, and how far rows of given probabilities may be from a sum of 1.
RATE, SUM_TOLERANCE = "rate", 1e-6

# Classes whose log odds differ by less are equally likely; rates that are inferred have noise.
TIE, NOISE = 1e-9, 0.2


class Votes(NamedTuple):
    """The labels that annotators gave, each with its item, its annotator and its class's index."""

    item: NDArray[np.intp]
    annotator: NDArray[np.intp]
    vote: NDArray[np.intp]
    n_items: int
    names: list[Any]
    classes: NDArray[Any]


def annotator_rates(
    frame: Any,
    *,
    probabilities: Any = None,
    classes: Any = None,
    draws: int = 2000,
    seed: validation.Seed = 0,
) -> pd.DataFrame:
    """Infer how often each annotator is wrong, from how far annotators agree.

    A Gibbs sampler draws each rate by slices with the true classes summed out, then the true
    classes, and the shares of the classes given these. Rates have the prior Beta(1, 3), cut off at
    that of chance, 1 - 1 / K.

    Parameters
    ----------
    frame : pandas.DataFrame or array_like, shape (items, annotators)
        As `Labels.from_annotators`.
    probabilities : array_like, shape (items, K), optional
        The probability of each true class of each item without its annotators, such as
        ``post.pred_probs(mistakes=False)`` under `NoisyProbit`, whose ``flip_rate`` keeps mistakes
        apart from the overlap of classes. Without it, the annotators alone say which class an item
        has, and items of one annotator each say nothing.
    classes : array_like, optional
        All classes, if some of them may not occur.
    draws : int
        Draws of the sampler.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    pandas.DataFrame
        A row for each annotator: ``rate``, its posterior mean; ``low`` and ``high``, between which
        it lies with probability 0.9; ``n_labels``.

    Raises
    ------
    ValueError
        Annotators who labeled nothing, -1 where ``classes`` does not list it, fewer than two
        classes, probabilities of another shape or that do not sum to 1.

    Examples
    --------
    The third annotator often contradicts the first two, who agree:

    >>> import graphuq as gq
    >>> votes = [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["cat", "cat", "dog"]] * 20
    >>> rates = gq.annotator_rates(votes)["rate"]
    >>> bool(rates[0] < 0.1), bool(rates[2] > 0.4)
    (True, True)
    """
    import pandas as pd

    votes = read_votes(frame, classes)
    validation.integer("draws", draws, 1)
    K = votes.classes.size
    given = None if probabilities is None else _read_probabilities(probabilities, votes)
    rng = np.random.default_rng(validation.seed_sequence(seed))
    counts = np.bincount(votes.annotator, minlength=len(votes.names))
    rates, shares = np.full(counts.size, 0.2), np.full(K, 1 / K)
    kept = np.empty((draws, counts.size))
    order, ends = np.argsort(votes.annotator, kind="stable"), np.append(0, np.cumsum(counts))
    item, vote = votes.item[order], votes.vote[order]
    log_p = _log_likelihood(votes, rates) + (np.log(shares) if given is None else given)
    for sweep in range(-WARMUP, draws):
        # 1. each rate, given what the others say of its items
        _draw_rates(item, vote, ends, log_p, rates, rng)
        # 2. the true classes, and the shares of the classes
        if given is None:
            truth = (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=1)
            before = shares
            shares = rng.dirichlet(1.0 + np.bincount(truth, minlength=K))
            shares = np.maximum(shares, TINY)
            log_p += np.log(shares) - np.log(before)
        if sweep >= 0:
            kept[sweep] = rates
    low, high = np.quantile(kept, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2], axis=0)
    return pd.DataFrame(
        {RATE: kept.mean(axis=0), "low": low, "high": high, "n_labels": counts},
        index=pd.Index(votes.names, name="annotator"),
    )


class Combined(NamedTuple):
    """One label of each item, as `graphuq.Labels` takes it."""

    nodes: NDArray[np.intp]
    values: NDArray[Any]
    classes: NDArray[Any]
    confidence: Array


def combine(frame: Any, rates: Any, classes: Any, seed: validation.Seed) -> Combined:
    """Return what `Labels.from_annotators` makes labels of."""
    votes, tie = read_votes(frame, classes), TIE
    if rates is None:
        tie = NOISE
        found = annotator_rates(frame, classes=classes, seed=seed)[RATE].to_numpy()
    else:
        found = _read_rates(rates, votes)
    clear, best, confidence = likeliest(_log_likelihood(votes, found), tie)
    if clear.size == 0:
        raise ValueError("annotators contradict each other at every item: ask one more of them")
    return Combined(clear, votes.classes[best], votes.classes, confidence)


def likeliest(log_p: Array, tie: float = TIE) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return the rows that have one likeliest class, this class, and its probability.

    Parameters
    ----------
    log_p : ndarray, shape (items, K)
        The log probability of each class, up to a constant of each row.
    tie : float
        Log odds up to which no class is the likeliest.

    Examples
    --------
    >>> likeliest(np.log([[0.9, 0.1], [0.5, 0.5]]))
    (array([0]), array([0]), array([0.9]))
    """
    log_p = log_p - logsumexp(log_p, axis=1, keepdims=True)
    two = np.sort(log_p, axis=1)[:, -2:]
    clear = np.flatnonzero(two[:, 1] - two[:, 0] > tie)
    best = log_p[clear].argmax(axis=1)
    return clear, best, np.exp(log_p[clear, best])


def _log_likelihood(votes: Votes, rates: Array) -> Array:
    """Return the log probability of each item's labels under each class, shape (items, K)."""
    found = np.zeros((votes.n_items, votes.classes.size))
    each = log_votes(votes.vote, rates[votes.annotator], votes.classes.size)
    np.add.at(found, votes.item, each)
    return found


def log_votes(vote: NDArray[np.intp], rate: Any, n_classes: int) -> Array:
    """Return the log probability of each vote under each class, shape (votes, K)."""
    right, wrong = np.log1p(-rate), np.log(rate / (n_classes - 1))
    is_right = vote[:, None] == np.arange(n_classes)
    return np.where(is_right, np.reshape(right, (-1, 1)), np.reshape(wrong, (-1, 1)))


@cached_njit
def _height(e: float, p: Array, n_classes: int) -> float:
    """Return the log density of a rate e whose votes are right with probabilities ``p``."""
    found = (PRIOR[0] - 1) * math.log(e) + (PRIOR[1] - 1) * math.log1p(-e)
    for right in p:
        found += math.log((1 - e) * right + e / (n_classes - 1) * (1 - right) + TINY)
    return found


@cached_njit
def _draw_rates(
    item: NDArray[np.intp],
    vote: NDArray[np.intp],
    ends: NDArray[np.intp],
    log_p: Array,
    rates: Array,
    rng: np.random.Generator,
) -> None:
    """Draw each rate given the others, and keep log_p, the sum of all votes, up to date.

    Annotator a gave the votes from ends[a] to ends[a + 1]. The density of a rate is log-concave.
    Its slice is found by shrinking the whole range (Neal 2003).
    """
    K = log_p.shape[1]
    for a in range(rates.size):
        # 1. the probability of each vote by the others
        first, last = ends[a], ends[a + 1]
        right, wrong = math.log1p(-rates[a]), math.log(rates[a] / (K - 1))
        p = np.empty(last - first)
        for j in range(first, last):
            largest, total = -math.inf, 0.0
            for k in range(K):
                log_p[item[j], k] -= right if k == vote[j] else wrong
                largest = max(largest, log_p[item[j], k])
            for k in range(K):
                total += math.exp(log_p[item[j], k] - largest)
            p[j - first] = math.exp(log_p[item[j], vote[j]] - largest) / total
        # 2. the slice
        level = _height(rates[a], p, K) + math.log(1 - rng.random())
        low, high = LEAST, 1 - 1 / K
        while True:
            moved = low + (high - low) * rng.random()
            if _height(moved, p, K) >= level or high - low < LEAST:
                break
            if moved < rates[a]:
                low = moved
            else:
                high = moved
        rates[a] = moved
        # 3. the votes with the new rate
        right, wrong = math.log1p(-moved), math.log(moved / (K - 1))
        for j in range(first, last):
            for k in range(K):
                log_p[item[j], k] += right if k == vote[j] else wrong


def read_votes(frame: Any, classes: Any) -> Votes:
    """Return the labels of a table of items and annotators, or refuse them."""
    names = list(getattr(frame, "columns", ()))
    validation.unmasked("frame", frame)
    table = np.asarray(getattr(frame, "to_numpy", lambda *_: frame)(object), dtype=object)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            "the labels of annotators must be a table of items and annotators, got shape "
            f"{table.shape}"
        )
    names = names or list(range(table.shape[1]))
    known = ~is_missing(table.ravel()).reshape(table.shape)
    silent = np.flatnonzero(~known.any(axis=0))
    if silent.size:
        raise ValueError(f"annotator {names[silent[0]]!r} labeled nothing: leave the column out")
    item, annotator = np.nonzero(known)
    given = as_given(table[known].tolist())
    minus = np.flatnonzero(is_minus_one(given))
    if minus.size and not (np.iterable(classes) and -1 in list(classes)):
        raise ValueError(
            f"annotator {names[annotator[minus[0]]]!r} gave item {item[minus[0]]} the label -1: "
            "where an annotator gave no label, give NaN or None; if -1 is the name of a class, "
            "list all classes, classes=[...]"
        )
    values = to_one_type(given)
    every = check_classes(values, classes)
    return Votes(item, annotator, np.searchsorted(every, values), len(table), names, every)


def _read_rates(rates: Any, votes: Votes) -> Array:
    """Return the rate of each annotator."""
    if hasattr(rates, "columns"):  # what annotator_rates returns
        if RATE not in rates.columns:
            raise ValueError(
                f"rates must have a column {RATE!r}, as gq.annotator_rates returns, got the "
                f"columns {list(rates.columns)}"
            )
        rates = rates[RATE]
    if isinstance(rates, Mapping) or hasattr(rates, "items"):
        given = list(rates.keys())
        lacking = [name for name in votes.names if name not in given]
        if lacking:
            raise ValueError(f"rates must name each annotator, and lack {lacking[0]!r}")
        unknown = [name for name in given if name not in votes.names]
        if unknown:
            raise ValueError(
                f"rates name {unknown[0]!r}, who is none of the annotators {votes.names[:10]}"
            )
        if len(given) > len(votes.names):
            raise ValueError("rates must name each annotator once")
        rates = [rates[name] for name in votes.names]
    found = _numbers("rates", rates)
    n, most = len(votes.names), 1 - 1 / votes.classes.size
    wanted = f"rates must be a number in (0, {most:.3g}) for each of {n} annotators, got "
    if found.ndim == 0:
        raise ValueError(
            f"{wanted}the one number {found:g}: if all have it, give [{found:g}] * {n}"
        )
    if found.shape != (n,):
        raise ValueError(f"{wanted}shape {found.shape}")
    bad = np.flatnonzero(~((found > 0) & (found < most)))
    if bad.size:
        rate = found[bad[0]]
        raise ValueError(
            f"{wanted}{rate:g} for annotator {votes.names[bad[0]]!r}{_explain_rate(rate, most)}"
        )
    return found


def _numbers(name: str, values: Any) -> Array:
    """Return an array of floats, and refuse texts and other things."""
    given = validation.real_array(name, values)
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, got {values!r:.60}") from error


def _explain_rate(rate: float, most: float) -> str:
    """Return what to do about a rate out of range."""
    if rate == 0:
        return ": nobody is never wrong; give a small rate, such as 0.001"
    if rate >= most:
        return f": a rate of {most:.3g} is chance; leave such annotators out"
    return "" if rate < 0 else ": leave rates out, and they are inferred"


def _read_probabilities(probabilities: Any, votes: Votes) -> Array:
    """Return the log of given class probabilities."""
    found = _numbers("probabilities", probabilities)
    shape = votes.n_items, votes.classes.size
    if found.shape != shape or not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(
            f"probabilities must be of shape {shape}, one of each class for each item, got shape "
            f"{found.shape}" + " with NaN, infinite or negative values" * (found.shape == shape)
        )
    sums = found.sum(axis=1)
    off = np.flatnonzero(~np.isclose(sums, 1, rtol=0, atol=SUM_TOLERANCE))
    if off.size:
        raise ValueError(
            f"rows of probabilities must sum to 1, and that of item {off[0]} sums to "
            f"{sums[off[0]]:.6g}: divide them by their sums"
        )
    return np.log(np.maximum(found, TINY))
