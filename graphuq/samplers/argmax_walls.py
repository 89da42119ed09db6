"""Harmonic flow of K > 2 fields at once, where a label is the largest of them.

As in `graphuq.samplers.harmonic` the state turns about the origin, x(t) = x cos t + w sin t, with
the same law N(0, G) for each field. Phi is V times the number of labels that are not the largest of
their node's fields: it steps where the label's field x_jc comes to be the largest, or ceases to be.
There x_jc = x_jk, k being the other of the two, and with d = w_jc - w_jk the normal velocity is
d / (2 G_jj)^(1/2): a change of it by s adds s / (2 G_jj)^(1/2) G_.j to w_.c and takes as much from
w_.k.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from graphuq.jit import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class ArgmaxWalls(NamedTuple):
    """The labels, as the flow meets them: each class at each place once.

    A place is a labelled node, or several with the same fields but for a factor. Where these have
    labels of several classes, it comes once for each, one after another.
    """

    first: Ints
    """The first labelled node of each entry's place, shape (E,)."""
    wanted: Ints
    """The entry's class."""
    tally: Array
    """How many labels of each class are at the place, shape (E, K)."""
    begin: Ints
    """The first entry of the same place."""
    end: Ints
    """One past the last."""
    covariance: Array
    """G of the places, shape (E, E)."""
    entry: Ints
    """An entry of each labelled node's place."""
    ratio: Array
    """The node's field over that of the place's first; 0 where there is no field."""
    classes: Ints
    """Class of each labelled node, shape (m,)."""

    @classmethod
    def of(cls, walls: Any, classes: Ints, n_classes: int) -> ArgmaxWalls:
        """Return those of labels of these ``classes`` at `graphuq.samplers.harmonic.Walls`."""
        tally = np.zeros((walls.first.size, n_classes))
        np.add.at(tally, (walls.of, classes), np.sign(walls.ratio))
        place, wanted = map(np.ascontiguousarray, np.nonzero(tally))
        begin, end = np.searchsorted(place, place, "left"), np.searchsorted(place, place, "right")
        G = walls.covariance
        if not np.array_equal(place, np.arange(len(G))):
            G = np.ascontiguousarray(G[np.ix_(place, place)])
        entry = np.searchsorted(place, walls.of)
        return cls(
            walls.first[place], wanted, tally[place], begin, end, G, entry, walls.ratio, classes
        )

    def read(self, fields: Array) -> Array:
        """Return the K fields at each entry, from those at each node, to be overwritten."""
        if np.array_equal(self.first, np.arange(self.classes.size)):
            return fields
        by_class = fields.reshape(len(fields), -1, self.classes.size)
        return by_class[:, :, self.first].reshape(len(fields), -1)

    def right(self, x: Array) -> bool:
        """Whether all labels are."""
        best = x.reshape(-1, self.first.size).argmax(axis=0)
        return bool((best == self.wanted).all())

    def made_right(self, x: Array) -> Array:
        """Return a state where they are: the largest field goes to the label's class."""
        right = x.reshape(-1, self.first.size).copy()
        entries = np.arange(self.first.size)
        best = right.argmax(axis=0)
        largest, own = right[best, entries].copy(), right[self.wanted, entries].copy()
        right[best, entries], right[self.wanted, entries] = own, largest
        return right.reshape(-1)

    def fly(
        self, x: Array, w: Array, costs: Array, first: int, thin: int, kept: Array, hits: Array
    ) -> None:
        """Flow; see `_flow`."""
        shape = len(w), -1, self.first.size
        _flow(
            x.reshape(shape[1:]),
            w.reshape(shape),
            self.covariance,
            self.wanted,
            self.tally,
            self.begin,
            self.end,
            costs,
            first,
            thin,
            kept,
            hits,
        )

    def at_nodes(self, kept: Array) -> Array:
        """Return the K fields at each node, from those at each entry."""
        if np.array_equal(self.first, np.arange(self.classes.size)):
            return kept
        by_class = kept.reshape(len(kept), -1, self.first.size)
        return (by_class[:, :, self.entry] * self.ratio).reshape(len(kept), -1)

    def wrong(self, fields: Array) -> Array:
        """Return how many labels are wrong in each draw."""
        return wrong_labels(fields, self.classes)


def wrong_labels(fields: Array, classes: Ints) -> Array:
    """Return at how many labelled nodes another class's field is the largest, for each draw.

    Parameters
    ----------
    fields : ndarray, shape (draws, K m)
        As in `graphuq.samplers.family.Chunk`.
    classes : ndarray of int, shape (m,)
    """
    best = fields.reshape(len(fields), -1, classes.size).argmax(axis=1)
    return np.asarray((best != classes).sum(axis=1))


@numba.njit
def _turn(x, w, cos, sin):  # type: ignore[no-untyped-def]
    """Turn one field."""
    for j in range(x.size):
        before = x[j]
        x[j] = before * cos + w[j] * sin
        w[j] = w[j] * cos - before * sin


@numba.njit(error_model="numpy")
def _meet(x, w, own_x, own_w, below, above):  # type: ignore[no-untyped-def]
    """Take one field into account, which the labels' own fields may meet.

    D = x_jc - x_jk is 0 first where cot(s) = -D' / D, the sooner the smaller D' / D. The smallest
    where D > 0 goes to ``below``, the largest where D < 0 to ``above``.
    """
    for j in range(x.size):
        ahead = own_x[j] - x[j]
        ratio = (own_w[j] - w[j]) / ahead
        if ahead > 0.0 and ratio < below[j]:
            below[j] = ratio
        if ahead < 0.0 and ratio > above[j]:
            above[j] = ratio


@kernel(
    types.void(
        types.float64[:, ::1],
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64[::1],
        types.float64[:, ::1],
        types.int64[::1],
        types.int64[::1],
        types.float64[::1],
        types.int64,
        types.int64,
        types.float64[:, ::1],
        types.float64[::1],
    )
)
def _flow(x, velocities, G, wanted, tally, begin, end, costs, first, thin, fields, hits):  # type: ignore[no-untyped-def]
    """Flow ``x`` (K, E), in place, a quarter turn for each velocity, which is used up.

    Each label that is not the largest costs as much as ``costs`` says for the flow. Flows count
    from ``first``; every ``thin``-th state is kept, and the walls hit on the way.
    """
    K, m = x.shape
    own_x, own_w = np.empty(m), np.empty(m)
    below, above = np.empty(m), np.empty(m)
    for flow in range(velocities.shape[0]):
        draw, rest = divmod(first + flow + 1, thin)
        w = velocities[flow]
        left = 0.5 * math.pi
        hit, c, k, ahead = -1, 0, 0, False
        while True:
            below[:] = math.inf
            above[:] = -math.inf
            for j in range(m):
                own_x[j], own_w[j] = x[wanted[j], j], w[wanted[j], j]
            for i in range(K):
                _meet(x[i], w[i], own_x, own_w, below, above)
            if hit >= 0:
                # at the wall just met both are equal, and do not meet again before pi
                for j in range(begin[hit], end[hit]):
                    if (wanted[j] == c and not ahead) or (wanted[j] == k and ahead):
                        above[j] = math.inf
            lowest, hit = math.inf, -1
            for j in range(m):
                # a label is the largest from when the last comes below it until the first is above
                meeting = below[j]
                if above[j] > -math.inf:
                    meeting = above[j] if above[j] < below[j] else math.inf
                if meeting < lowest:
                    lowest, hit = meeting, j
            s = math.atan2(1.0, -lowest)
            if hit < 0 or s >= left:
                break
            c, k = wanted[hit], 0
            while k < K - 1 and not (
                x[c, hit] != x[k, hit]
                and (w[c, hit] - w[k, hit]) / (x[c, hit] - x[k, hit]) == lowest
            ):
                k += 1
            left -= s
            hits[draw - (rest == 0)] += 1
            cos, sin = math.cos(s), math.sin(s)
            for i in range(K):
                _turn(x[i], w[i], cos, sin)
            spread = math.sqrt(2.0 * G[hit, hit])
            speed = (w[c, hit] - w[k, hit]) / spread
            # what is gained where c takes over from k is lost the other way round
            rise = tally[hit, k] - tally[hit, c] if speed > 0.0 else tally[hit, c] - tally[hit, k]
            step = rise * costs[flow] if rise != 0.0 else 0.0
            if step == -math.inf:  # into where it is allowed to be
                after = speed
            elif speed * speed > 2.0 * step:
                after = math.copysign(math.sqrt(speed * speed - 2.0 * step), speed)
            else:
                after = -speed
            kick = (after - speed) / spread
            for j in range(m):
                w[c, j] += kick * G[hit, j]
                w[k, j] -= kick * G[hit, j]
            ahead = after > 0.0
            for j in range(begin[hit], end[hit]):
                x[c, j] = x[k, j]
        cos, sin = math.cos(left), math.sin(left)
        for i in range(K):
            _turn(x[i], w[i], cos, sin)
            if rest == 0:
                fields[draw - 1, i * m : (i + 1) * m] = x[i]
