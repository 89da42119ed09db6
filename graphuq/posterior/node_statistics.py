"""Statistics of every node from the summaries of all chains' draws, a block of rows at a time."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.likelihoods.label_rule import both_classes
from graphuq.posterior.node_moments import Batches, NodeMoments, NodeTotals, draws_per_block
from graphuq.priors.given import Conditional, MakeRows
from graphuq.utils.progress import progress_bar
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array

# Numbers held per node of a block: a batch of means, and the sums of a few chains.
NUMBERS_PER_NODE = 1024

# If the errors from the chains' own means are this much larger than those from batches, chains
# disagree. Among chains that agree this happens at one of a thousand nodes (four chains:
# chi-squared with 3 degrees of freedom), so that sound runs keep the less noisy estimate.
MAX_ERROR_RATIO = 2.3


# About how long a node takes for each draw and field, and for each number of the draw's summary.
NODE_SECONDS, SUMMARY_SECONDS = 2e-8, 1e-11

# Seconds that Ctrl-C waits for the rest of the statistics.
MAX_WAIT_SECONDS = 0.6

FINISHED = "Ctrl-C came when the statistics of nodes were nearly done: they are complete"


class Summaries(NamedTuple):
    """What is stored of one chain's draws to determine all nodes."""

    values: Array
    """The summary of each draw, shape (draws, C, n_summary); see `Conditional`."""
    noise: Array
    """The n_k of each draw for K > 2 classes, shape (draws, K), else (draws, 0); see
    `graphuq.posterior.node_moments`."""
    overlap: Array | float = 0.0
    """Overlap of the classes, or that of each draw; see `NodeMoments.add`."""


class Statistics(NamedTuple):
    """Statistics of all nodes."""

    nodes: dict[str, Any]
    """By their names in `Posterior`."""
    running_mean_change: Array
    """Shape (chains, batches)."""


def node_statistics(
    conditional: Conditional,
    chains: Sequence[Summaries],
    rounds: Sequence[int],
    label: str,
    n_fields: int = 1,
    threads: int | None = None,
    progress: bool = False,
) -> Statistics:
    """Return the statistics of all nodes over the chains.

    Parameters
    ----------
    conditional : Conditional
    chains : sequence of Summaries
    rounds : sequence of int
        Number of draws in each round; see `NodeMoments.expect`.
    label : {"sign", "field"}
    n_fields : int
        Fields per node: 1 for two classes, else K.
    threads : int, optional
        Largest number of threads; by default one per core.
    progress : bool
        Show a progress bar.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, if the rest would take more than a moment, or if it is pressed twice.
    """
    nodes: dict[str, Array] = {}
    changes: Array | float = 0.0
    work = partial(_compute_rows, conditional.rows, chains, rounds, label, n_fields)
    width = (
        NUMBERS_PER_NODE
        if n_fields == 1
        else NUMBERS_PER_NODE + 2 * draws_per_block(n_fields) * n_fields
    )
    basis, which = conditional.basis, conditional.which
    bar = progress_bar(basis.shape[0], progress, "node")
    draws = sum(len(chain.values) for chain in chains)
    rest = _Rest(basis.shape[0], seconds_needed(conditional, draws, n_fields, threads))
    with bar, rest.finish_if_short():
        done = map_rows(work, basis, width, which, threads=threads, bar=bar)
        for rows, (part, squares) in done:
            rest.done = rows.stop
            for name, values in part.items():
                if name not in nodes:
                    nodes[name] = np.empty((basis.shape[0], *values.shape[1:]))
                nodes[name][rows] = values
            changes = changes + squares
    return Statistics(nodes, np.sqrt(changes))


def seconds_needed(
    conditional: Conditional, draws: int, n_fields: int, threads: int | None = None
) -> float:
    """Return about how long the statistics of all nodes take."""
    each = n_fields * (NODE_SECONDS + SUMMARY_SECONDS * conditional.n_summary)
    return conditional.basis.shape[0] * draws * each / (threads or cpu_count())


class _Rest:
    """The work that is left when Ctrl-C is pressed.

    Attributes
    ----------
    done : int
        Number of rows that are done.
    """

    def __init__(self, total: int, expected: float) -> None:
        self._total, self._expected = total, expected
        self._begun, self.done = time.monotonic(), 0

    @property
    def seconds(self) -> float:
        """About how long it takes, by the pace so far."""
        if not self.done:
            return self._expected
        return (time.monotonic() - self._begun) * (self._total / self.done - 1)

    @contextmanager
    def finish_if_short(self) -> Iterator[None]:
        """Finish after a first Ctrl-C if it takes at most `MAX_WAIT_SECONDS`, and say so."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or before is None:
            yield
            return

        pressed = False

        def press(*_: object) -> None:
            nonlocal pressed
            signal.signal(signal.SIGINT, before)
            pressed = True
            if self.seconds > MAX_WAIT_SECONDS:
                raise KeyboardInterrupt("interrupted while computing the statistics of nodes")

        signal.signal(signal.SIGINT, press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if pressed:
            warnings.warn(FINISHED, RuntimeWarning, stacklevel=2)


def _compute_rows(
    make: MakeRows,
    chains: Sequence[Summaries],
    rounds: Sequence[int],
    label: str,
    n_fields: int,
    basis: Array,
    which: NDArray[np.int32],
) -> tuple[dict[str, Array], Array]:
    rows = make(basis, which)
    totals = []
    for values, noise, overlap in chains:
        overlaps = np.broadcast_to(overlap, len(values))
        moments = NodeMoments(rows, label, rounds[0], n_fields)
        done = 0
        for number, asked in enumerate(rounds):
            if number:
                moments.expect(asked)
            part = slice(done, done + asked)
            moments.add(values[part], noise[part], overlaps[part])
            done += asked
        totals.append(moments)
    return combine_chains(totals, label), square_changes(totals)


def square_changes(chains: Sequence[NodeMoments]) -> Array:
    """Return the squares of eq. (16) summed over these nodes, shape (chains, batches)."""
    batches = min(len(chain.changes) for chain in chains)
    return np.array([chain.changes[:batches] for chain in chains])


def combine_chains(moments: list[NodeMoments], label: str) -> dict[str, Array]:
    """Return the node statistics of all chains together, named as in `Posterior`."""
    chains = [chain.totals() for chain in moments]
    draws = sum(chain.draws for chain in chains)
    expected = np.sum([chain.label for chain in chains], axis=0) / draws
    latent = np.sum([chain.latent for chain in chains], axis=0) / draws
    square = np.sum([chain.latent_square for chain in chains], axis=0) / draws
    latent_variance = np.clip(square - latent**2, 0, None)
    batches, before = [chain.batches for chain in chains], [chain.before for chain in chains]
    if min(b.number for b in batches) < 2 <= min(b.number for b in before):
        batches = before  # interrupted early in a new round
    if label == "sign":
        variance = label_variance(expected)
    else:
        variance = latent_variance.reshape(len(latent), -1).sum(axis=1)
    sums = [chain.label if label == "sign" else chain.latent for chain in chains]
    mcse = _standard_error(chains, [b[2:4] for b in batches], sums, batches)
    if label == "sign":
        mcse = _apply_rule_of_three(mcse, expected, draws)
    predictive = np.sum([chain.predictive for chain in chains], axis=0) / draws
    sums = [chain.predictive for chain in chains]
    predictive_mcse = _standard_error(chains, [b[4:6] for b in batches], sums, batches)
    predictive_mcse = _apply_rule_of_three(predictive_mcse, predictive, draws)
    # for two classes the predictive is summed as the label is, from -1 to +1
    scale = 0.5 if expected.ndim == 1 else 1.0
    return {
        "mean": expected if label == "sign" else latent,
        "variance": variance,
        "by_class": class_probabilities(predictive),
        "mcse": mcse,
        "latent_mean": latent,
        "latent_variance": latent_variance,
        "probability_mcse": scale * predictive_mcse,
        "aleatoric": np.average(
            [chain.aleatoric for chain in chains], axis=0, weights=[chain.draws for chain in chains]
        ),
    }


def _apply_rule_of_three(mcse: Array, expected: Array, draws: int) -> Array:
    """Return the errors, and where all draws agree what they leave open.

    If n draws out of n agree, the probability of another value is at most 3 / n with 95%
    confidence (Hanley and Lippman-Hand 1983). The draws count as independent here, so that this is
    a lower bound. Draws are probabilities here: they agree where their mean is within 1 / n of 0
    or 1.

    Parameters
    ----------
    mcse, expected : ndarray, shape (n,) or (n, K)
        Labels from -1 to +1, or class probabilities.
    draws : int
    """
    width = 2.0 if expected.ndim == 1 else 1.0
    away = 1 - abs(expected) if expected.ndim == 1 else np.minimum(expected, 1 - expected)
    agree = away < width / draws
    return np.where(agree, np.maximum(mcse, 3 * width / draws), mcse)


def class_probabilities(expected: Array) -> Array:
    """Return the probability of each class, shape (n, K).

    Parameters
    ----------
    expected : ndarray, shape (n,) or (n, K)
        The expected label, eq. (9): from -1 to +1 for two classes, else the class probabilities.
    """
    return both_classes((1 + expected) / 2) if expected.ndim == 1 else expected


def label_variance(expected: Array) -> Array:
    """Return the variance of each node's label, shape (n,), whose mean over nodes is eq. (10).

    Var S(u) = 1 - E[S(u)]^2. For K > 2 classes it is the variance of the corner of a simplex,
    scaled to be 1 if all classes are equally probable.

    Parameters
    ----------
    expected : ndarray, shape (n,) or (n, K)
        As in `class_probabilities`.
    """
    if expected.ndim == 1:
        return np.asarray(1 - expected**2)
    K = expected.shape[1]
    return np.asarray(K / (K - 1) * (1 - (expected**2).sum(axis=1)))


def _standard_error(
    chains: list[NodeTotals],
    batch_sums: list[tuple[Array, Array]],
    sums: list[Array],
    batches: list[Batches],
) -> Array:
    """Return the Monte Carlo standard error of a mean over all draws.

    Parameters
    ----------
    batch_sums : list of (ndarray, ndarray)
        Sums over each chain's batches of the batch mean and of its square.
    sums : list of ndarray
        Sums over each chain's draws.
    """
    number, draws = sum(b.number for b in batches), sum(chain.draws for chain in chains)
    if number < 2:
        return np.full(sums[0].shape, np.inf)
    total = np.sum([first for first, _ in batch_sums], axis=0)
    squares = np.sum([second for _, second in batch_sums], axis=0)
    spread = np.clip(squares - total**2 / number, 0, None) / (number - 1)
    mcse = np.sqrt(spread * batches[0].length / draws)
    if len(chains) > 1:
        # if chains disagree, their batches are not independent: use the means of the chains
        means = np.array([s / chain.draws for s, chain in zip(sums, chains, strict=True)])
        between = means.std(axis=0, ddof=1) / np.sqrt(len(chains))
        mcse = np.where(between > MAX_ERROR_RATIO * mcse, between, mcse)
    return np.asarray(mcse)
