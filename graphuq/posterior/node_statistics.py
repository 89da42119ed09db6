"""Statistics of every node from the summaries of all chains' draws, a block of rows at a time.

There is no array of nodes times draws.

For two classes the label is the sign of the field, whose expectation given the field read is known.
For K > 2 classes it is the largest of K fields, u_k = mean_k + deviation n_k with independent
standard normal n_k, and integrating out all n_k needs a quadrature for every node and draw. Instead
the n_k are drawn, the same for all nodes, and only that of class a, whose mean is the largest, is
integrated out: against b, the largest of the others as drawn, it wins with probability
Psi((mean_a - u_b) / deviation; 1).

The true class is the label after noise of deviation ``overlap``, which adds to that of the field;
see `graphuq.posterior.node_kernels`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.likelihoods.label_rule import both_classes
from graphuq.posterior.class_entropy import add_class_entropy, add_near_entropy
from graphuq.posterior.node_kernels import (
    add_class_moments,
    add_signs,
    sign_factors,
)
from graphuq.priors.given import Conditional, MakeRows, Rows
from graphuq.utils.progress import progress_bar
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.typing import Array

# Batch means per chain, from which Monte Carlo errors are computed.
BATCHES = 25

# For K > 2 classes an entropy costs as much as the probabilities of ten to twenty draws. It is
# computed from one draw in this number, and a cheap formula near to it from all draws. The mean
# difference of the two over the former corrects the mean over the latter. The error is then little
# more than that of all draws, and shrinks with their number.
ENTROPY_EVERY = 50

# Numbers of draws per block for one field, and at least, for many.
BLOCK_DRAWS, MIN_BLOCK_DRAWS = 256, 16

# Numbers held per node of a block: a batch of means, and the sums of a few chains.
NUMBERS_PER_NODE = 1024

# If the errors from the chains' own means are this much larger than those from batches, chains
# disagree. Among chains that agree this happens at one of a thousand nodes (four chains:
# chi-squared with 3 degrees of freedom), so that sound runs keep the less noisy estimate.
MAX_ERROR_RATIO = 2.3


def draws_per_block(n_fields: int) -> int:
    """Return the number of draws that are processed at a time."""
    return max(MIN_BLOCK_DRAWS, BLOCK_DRAWS // n_fields)


def batch_length(draws: int) -> int:
    """Return the number of draws per batch if ``draws`` are expected."""
    return max(1, draws // BATCHES)


class Batches(NamedTuple):
    """Batches of equally many draws of one chain."""

    length: int
    number: int
    label: Array
    """Sum over batches of the batch's mean label, shape (N,)."""
    label_square: Array
    predictive: Array
    """The same of the predictive probability."""
    predictive_square: Array


class NodeTotals(NamedTuple):
    """Sums over draws of one chain; arrays have shape (N,), or (N, K) for K > 2 classes."""

    draws: int
    label: Array
    """Sum of E[S(u_i) | field read], or of the probability of each class."""
    latent: Array
    """Sum of E[u_i | field read]."""
    latent_square: Array
    """Sum of E[u_i^2 | field read]."""
    predictive: Array
    """As ``label``, of the label after noise of the overlap."""
    aleatoric: Array
    """Mean of E[H(label after noise) | field read], shape (N,)."""
    batches: Batches
    """The complete batches since `NodeMoments.expect`."""
    before: Batches
    """The batches before that."""


class NodeMoments:
    """Accumulate statistics of some nodes over one chain's draws.

    Parameters
    ----------
    rows : Rows
        How draws determine the field at these nodes.
    label : {"sign", "field"}
        What a node's label is; Monte Carlo errors are those of its mean.
    draws : int
        Number of draws to come, which sets the length of a batch. See `expect`.
    n_fields : int
        Fields per node: 1 for two classes, else K.
    """

    _CHANGING: ClassVar = (
        "_sums",
        "_batch",
        "_in_batch",
        "_draws",
        "_entropy",
        "_entropy_draws",
        "_near",
        "_near_of_same",
        "_overlapping",
        "_batches",
        "_before",
        "_previous_mean",
        "batch_length",
        "changes",
    )

    def __init__(self, rows: Rows, label: str, draws: int, n_fields: int = 1) -> None:
        n: tuple[int, ...] = (
            (rows.deviation.size,) if n_fields == 1 else (rows.deviation.size, n_fields)
        )
        # products take half the time in single precision, whose error is far below that of draws
        rows = rows._replace(loadings=rows.loadings.astype(np.float32))
        self._rows, self._label, self._n_fields = rows, label, n_fields
        # sums of the label, of u, of u^2, and of the predictive probability where classes overlap
        self._sums = np.zeros((4, *n))
        self._batch = np.zeros((4, *n))
        self._in_batch = 0
        self._draws = 0
        self._entropy, self._entropy_draws = np.zeros(n[0]), 0
        # sums of what is near to the entropy, over all draws and over those of the entropy
        self._near, self._near_of_same = np.zeros(n[0]), np.zeros(n[0])
        self._overlapping = False
        self._factors: tuple[float, Array] | None = None  # of one field, for an overlap
        self._batches = Batches(0, 0, *(np.zeros(n) for _ in range(4)))
        self.expect(draws)

    def expect(self, draws: int) -> None:
        """Begin new batches, for this number of further draws."""
        self._add_batch()
        self.batch_length = batch_length(draws)
        self._before = self._batches
        none = np.zeros_like(self._before.label)
        self._batches = Batches(self.batch_length, 0, none, none, none, none)
        self._previous_mean: Array | None = None
        self.changes: list[float] = []
        """|mean of u after k batches - after k - 1|^2 over these nodes, eq. (16), from k = 2."""

    def add(self, summaries: Array, noise: Array, overlap: Array | float = 0.0) -> None:
        """Add the summaries of some draws, and for K > 2 classes the n_k.

        Parameters
        ----------
        summaries : ndarray, shape (draws, C, n_summary)
        noise : ndarray, shape (draws, K)
            Not used for two classes.
        overlap : float, or ndarray of shape (draws,)
            Deviation of the noise that belongs to the true class. If it varies from draw to draw,
            the summaries must determine the field.
        """
        overlaps, start = np.full(len(summaries), overlap, dtype=np.float64), 0
        self._overlapping = bool(overlaps.any())
        while start < len(summaries):
            size = min(self.batch_length - self._in_batch, draws_per_block(self._n_fields))
            piece, n_k = summaries[start : start + size], noise[start : start + size]
            gamma = overlaps[start : start + size]
            mean = self._mean(piece)
            if self._n_fields == 1:
                self._add_signs(mean[0], gamma)
            else:
                self._add_classes(mean, n_k, gamma)
            start += len(piece)
            self._in_batch += len(piece)
            if self._in_batch == self.batch_length:
                self._close_batch()

    def _close_batch(self) -> None:
        mean = self._batch[0 if self._label == "sign" else 1] / self._in_batch
        predictive = self._batch[self._predictive_row] / self._in_batch
        length, number, *sums = self._batches
        added = mean, mean**2, predictive, predictive**2
        self._batches = Batches(
            length, number + 1, *(a + b for a, b in zip(sums, added, strict=True))
        )
        self._add_batch()
        latent = self._sums[1] / self._draws
        if self._previous_mean is not None:
            self.changes.append(float(((latent - self._previous_mean) ** 2).sum()))
        self._previous_mean = latent

    def _mean(self, summaries: Array) -> Array:
        """Return E[u | field read] of each field and draw in single precision, (C, draws, n)."""
        each: Any = np.swapaxes(summaries, 0, 1).reshape(-1, summaries.shape[2]).astype(np.float32)
        mean = np.ascontiguousarray(self._rows.mean(each).T)
        return mean.reshape(summaries.shape[1], -1, mean.shape[1])

    def _add_signs(self, mean: Array, overlap: Array) -> None:
        """Add draws of one field."""
        scaled, gamma = _in_units_of(overlap, mean)
        if self._factors is None or gamma != self._factors[0]:
            self._factors = gamma, sign_factors(self._rows.deviation, gamma)
        add_signs(mean, scaled, self._rows.deviation, self._factors[1], self._batch, self._entropy)
        self._entropy_draws += overlap.size

    def _add_classes(self, mean: Array, noise: Array, overlap: Array) -> None:
        """Add draws of K fields."""
        deviation = self._rows.deviation
        add_class_moments(mean, deviation, noise, overlap, self._batch)
        if self._overlapping:
            mean, gamma = _in_units_of(overlap, mean)
            which = self._next_of_entropy(len(noise))
            add_near_entropy(mean, deviation, noise, gamma, np.arange(len(noise)), self._near)
            add_near_entropy(mean, deviation, noise, gamma, which, self._near_of_same)
            add_class_entropy(mean, deviation, noise, gamma, which, self._entropy)

    def _next_of_entropy(self, size: int) -> NDArray[np.int64]:
        """Return which of the next ``size`` draws the entropy of classes is of, and count them."""
        which = np.arange(-(self._draws + self._in_batch) % ENTROPY_EVERY, size, ENTROPY_EVERY)
        self._entropy_draws += which.size
        return which

    def _mean_entropy(self) -> Array:
        """Return the mean of the expected entropy, whose draws are some or all."""
        of = max(self._entropy_draws, 1)
        mean = self._entropy / of
        if self._n_fields == 1:
            return mean
        mean += self._near / max(self._draws, 1) - self._near_of_same / of
        return np.asarray(mean.clip(0.0, np.log(self._n_fields)))

    @property
    def _predictive_row(self) -> int:
        """Row of the sums with the predictive probability: without overlap that of the label."""
        return 3 if self._overlapping else 0

    def _add_batch(self) -> None:
        """Add the sums of the current batch to those of the chain, and reset them."""
        self._sums += self._batch
        self._draws += self._in_batch
        self._batch[:] = 0.0
        self._in_batch = 0

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the state."""
        return copy.deepcopy({name: getattr(self, name) for name in self._CHANGING})

    def restore(self, saved: dict[str, Any]) -> None:
        """Resume from a snapshot."""
        for name, value in saved.items():
            setattr(self, name, value)

    def totals(self) -> NodeTotals:
        """Return the sums so far."""
        self._add_batch()
        return NodeTotals(
            self._draws,
            self._sums[0],
            self._sums[1],
            self._sums[2],
            self._sums[self._predictive_row],
            self._mean_entropy(),
            self._batches,
            self._before,
        )


def _in_units_of(overlap: Array, mean: Array) -> tuple[Array, float]:
    """Return means and overlap: if it varies, in units of each draw's, where deviations are 0.

    Parameters
    ----------
    overlap : ndarray, shape (draws,)
    mean : ndarray, shape (draws, n) or (K, draws, n)
    """
    if (overlap == overlap[0]).all():
        return mean, float(overlap[0])
    return mean / overlap.astype(mean.dtype)[:, None], 1.0


class Summaries(NamedTuple):
    """What is stored of one chain's draws to determine all nodes."""

    values: Array
    """The summary of each draw, shape (draws, C, n_summary); see `Conditional`."""
    noise: Array
    """The n_k of each draw for K > 2 classes, shape (draws, K), else (draws, 0); see
    `graphuq.posterior.node_statistics`."""
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
    with bar:
        for rows, (part, squares) in map_rows(work, basis, width, which, threads=threads, bar=bar):
            for name, values in part.items():
                if name not in nodes:
                    nodes[name] = np.empty((basis.shape[0], *values.shape[1:]))
                nodes[name][rows] = values
            changes = changes + squares
    return Statistics(nodes, np.sqrt(changes))


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
