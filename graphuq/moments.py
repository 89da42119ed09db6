"""Statistics of some nodes over one chain: never an N x draws array.

Of two classes the label is the sign of the field, whose expectation given the field read is known.
Of K > 2 classes it is the largest of K fields, u_k = mean_k + deviation n_k with independent
standard normal n_k, and to integrate out all of them takes a quadrature for every node and draw.
Instead the n_k are drawn, the same for all nodes, and the one of the class a whose mean is the
largest is integrated out: against b, the largest of the others as drawn, it wins with probability
Psi((mean_a - u_b) / deviation; 1).
"""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from graphuq.extension import Rows
from graphuq.jit import kernel

Array = NDArray[np.float64]

# Batch means per chain, from which Monte Carlo errors come.
BATCHES = 25

# Draws of which moments are made at a time.
DRAWS = 256

# erf and its slope times STEP at the knots 0, STEP, ..., between which it is a cubic: math.erf, off
# by at most 1e-11, at a fifth of its time. Beyond the last knot it is 1.
STEP = 1 / 256
KNOTS = STEP * np.arange(6 * 256 + 1)
ERF = np.array([math.erf(knot) for knot in KNOTS])
SLOPE = STEP * 2 / math.sqrt(math.pi) * np.exp(-(KNOTS**2))


def at_a_time(columns: int) -> int:
    """Return of how many draws moments are made at a time."""
    return max(16, DRAWS // columns)


def batch_length(draws: int) -> int:
    """Return how many draws make a batch where so many are expected."""
    return max(1, draws // BATCHES)


class Batches(NamedTuple):
    """Batches of equally many draws of one chain."""

    length: int
    number: int
    label: Array
    """Sum over batches of the batch's mean label, shape (N,)."""
    label_square: Array


class NodeTotals(NamedTuple):
    """Sums over draws of one chain; arrays have shape (N,), or (N, K) of K > 2 classes."""

    draws: int
    label: Array
    """Of E[S(u_i) | field read], or of the probability that the class is the label."""
    latent: Array
    """Of E[u_i | field read]."""
    latent_square: Array
    """Of E[u_i^2 | field read]."""
    batches: Batches
    """The complete ones since `NodeMoments.expect`."""
    before: Batches
    """Those before that."""


class NodeMoments:
    """Accumulate statistics of some nodes over one chain's draws.

    Parameters
    ----------
    rows : Rows
        How draws determine the field at these nodes.
    label : {"sign", "field"}
        What a node's label is; Monte Carlo errors are those of its mean.
    draws : int
        How many draws will come; it sets the length of a batch. See `expect`.
    columns : int
        Fields at each node: K of K > 2 classes, else 1.
    """

    _CHANGING: ClassVar = (
        "_sums",
        "_batch",
        "_in_batch",
        "_draws",
        "_batches",
        "_before",
        "_previous_mean",
        "batch_length",
        "changes",
    )

    def __init__(self, rows: Rows, label: str, draws: int, columns: int = 1) -> None:
        n: tuple[int, ...] = (
            (rows.deviation.size,) if columns == 1 else (rows.deviation.size, columns)
        )
        if columns > 1:  # K times the products, and 1e-7 of a field is far below its error
            rows = rows._replace(loadings=rows.loadings.astype(np.float32))
        self._rows, self._label, self._columns = rows, label, columns
        self._sums = np.zeros((3, *n))
        self._batch = np.zeros((3, *n))
        self._in_batch = 0
        self._draws = 0
        self._batches = Batches(0, 0, np.zeros(n), np.zeros(n))
        self.expect(draws)

    def expect(self, draws: int) -> None:
        """Begin anew with batches, as long as so many further draws ask for."""
        self._fold()
        self.batch_length = batch_length(draws)
        self._before = self._batches
        none = np.zeros_like(self._before.label)
        self._batches = Batches(self.batch_length, 0, none, none)
        self._previous_mean: Array | None = None
        self.changes: list[float] = []
        """|mean of u after k batches - after k - 1|^2 over these nodes, eq. (16), from k = 2."""

    def add(self, kept: Array) -> None:
        """Take in what was kept of some draws, one a row; of K classes it ends with the n_k."""
        columns = self._columns
        while kept.shape[0]:
            piece = kept[: min(self.batch_length - self._in_batch, at_a_time(columns))]
            kept = kept[piece.shape[0] :]
            if columns == 1:
                _accumulate(self._rows.mean(piece), self._rows.deviation, self._batch)
            else:
                each: Any = (
                    piece[:, :-columns].reshape(piece.shape[0] * columns, -1).astype(np.float32)
                )
                noise = np.ascontiguousarray(piece[:, -columns:])
                _accumulate_classes(self._rows.mean(each), self._rows.deviation, noise, self._batch)
            self._in_batch += piece.shape[0]
            if self._in_batch == self.batch_length:
                self._close_batch()

    def _close_batch(self) -> None:
        mean = self._batch[0 if self._label == "sign" else 1] / self._in_batch
        length, number, label, square = self._batches
        self._batches = Batches(length, number + 1, label + mean, square + mean**2)
        self._fold()
        latent = self._sums[1] / self._draws
        if self._previous_mean is not None:
            self.changes.append(float(((latent - self._previous_mean) ** 2).sum()))
        self._previous_mean = latent

    def _fold(self) -> None:
        self._sums += self._batch
        self._draws += self._in_batch
        self._batch[:] = 0.0
        self._in_batch = 0

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of all that changes as draws come."""
        return copy.deepcopy({name: getattr(self, name) for name in self._CHANGING})

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        for name, value in saved.items():
            setattr(self, name, value)

    def totals(self) -> NodeTotals:
        """Return the sums so far."""
        self._fold()
        return NodeTotals(
            self._draws,
            self._sums[0],
            self._sums[1],
            self._sums[2],
            self._batches,
            self._before,
        )


def class_probability(mean: Array, noise: Array) -> Array:
    """Return how probable each class is, shape (n, K), if the fields' deviation is 1.

    Parameters
    ----------
    mean : ndarray, shape (n, draws K)
        The K means of a draw side by side.
    noise : ndarray, shape (draws, K)
        The n_k.
    """
    sums = np.zeros((3, len(mean), noise.shape[1]))
    _accumulate_classes(
        np.ascontiguousarray(mean, dtype=np.float32), np.ones(len(mean)), noise, sums
    )
    return np.asarray(sums[0] / len(noise))


@numba.njit
def _erf(place):  # type: ignore[no-untyped-def]
    """Return erf(place STEP) for a place of at least 0."""
    if not place < ERF.size - 1:
        return 1.0
    k = int(place)
    s = place - k
    rise = ERF[k + 1] - ERF[k]
    bend = SLOPE[k] - rise
    skew = SLOPE[k + 1] - rise
    return ERF[k] + s * (rise + (1 - s) * (bend * (1 - s) - skew * s))


@kernel(types.void(types.float64[:, ::1], types.float64[:], types.float64[:, :]))
def _accumulate(mean, deviation, sums):  # type: ignore[no-untyped-def]
    """Add E[S(u)], E[u] and E[u^2] of each row's draws to ``sums``.

    E[S(u)] = 2 Psi(mean / deviation; 1) - 1 for Gaussian u: the sign without its noise
    (Rao-Blackwell).
    """
    for i in range(mean.shape[0]):
        sign, latent, square = 0.0, 0.0, 0.0
        spread = deviation[i]
        scale = math.inf if spread == 0.0 else math.sqrt(0.5) / (spread * STEP)
        for t in range(mean.shape[1]):
            m = mean[i, t]
            latent += m
            square += m * m
            expected = _erf(abs(m) * scale)
            sign += expected if m >= 0.0 else -expected
        sums[0, i] += sign
        sums[1, i] += latent
        sums[2, i] += square + mean.shape[1] * spread * spread


@kernel(
    types.void(
        types.float32[:, ::1], types.float64[:], types.float64[:, ::1], types.float64[:, :, ::1]
    )
)
def _accumulate_classes(mean, deviation, noise, sums):  # type: ignore[no-untyped-def]
    """Add probabilities of the label, E[u] and E[u^2] of each row's draws to ``sums`` (3, n, K).

    ``mean`` (n, draws K) holds the K means of a draw side by side.
    """
    draws, K = noise.shape
    for i in range(mean.shape[0]):
        spread = deviation[i]
        scale = math.inf if spread == 0.0 else math.sqrt(0.5) / (spread * STEP)
        for t in range(draws):
            a, best = 0, -math.inf
            for k in range(K):
                m = float(mean[i, t * K + k])
                sums[1, i, k] += m
                sums[2, i, k] += m * m + spread * spread
                if m > best:
                    a, best = k, m
            if spread == 0.0:
                sums[0, i, a] += 1.0
                continue
            b, rival = 0, -math.inf
            for k in range(K):
                u = mean[i, t * K + k] + spread * noise[t, k]
                if k != a and u > rival:
                    b, rival = k, u
            expected = _erf(abs(best - rival) * scale)
            wins = 0.5 + (0.5 * expected if best >= rival else -0.5 * expected)
            sums[0, i, a] += wins
            sums[0, i, b] += 1.0 - wins
