"""Statistics of some nodes over one chain, without an N x draws array.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.posterior.class_entropy import add_class_entropy
from graphuq.posterior.near_entropy import add_near_entropy
from graphuq.posterior.node_kernels import (
    add_class_moments,
    add_signs,
    sign_factors,
)
from graphuq.priors.given import Rows
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
