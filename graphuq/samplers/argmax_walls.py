"""Harmonic flow of K > 2 fields at once; a label is the largest of them.

As in `graphuq.samplers.harmonic` the state turns about the origin, x(t) = x cos t + w sin t, with
the same law N(0, G) for each field. Phi is V times the number of labels whose field is not the
largest at their node: it steps where the field x_jc of the label becomes the largest, or no longer
is. There x_jc = x_jk for another class k. With d = w_jc - w_jk the unit normal velocity is
d / (2 G_jj)^(1/2); a change of it by s adds s / (2 G_jj)^(1/2) G_.j to w_.c and subtracts it from
w_.k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types

from graphuq.priors.gaussian import Gaussian
from graphuq.samplers.walls import Flight, Walls, walls_at, walls_of
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array, Nodes


class ArgmaxWalls(NamedTuple):
    """The labels of K > 2 classes; see `graphuq.samplers.walls.LabelWalls`.

    A place is a labeled node, or several with the same fields up to a factor. It has one entry for
    each class of its labels, one after another.
    """

    first: Nodes
    """The first labeled node at the place of each entry, shape (E,)."""
    wanted: Nodes
    """The class of each entry."""
    tally: Array
    """Number of labels of each class at the place, shape (E, K); or the sum of their heights."""
    begin: Nodes
    """The first entry of the same place."""
    end: Nodes
    """One past the last entry of the same place."""
    covariance: Array
    """G of the places, shape (E, E)."""
    entry: Nodes
    """An entry at the place of each labeled node, shape (m,)."""
    ratio: Array
    """Field of each labeled node over that of the first at its place; 0 if it has no field."""

    @classmethod
    def at(
        cls, law: Gaussian, y: Array, n_fields: int, heights: Array | None = None
    ) -> ArgmaxWalls:
        """Return the walls of labels ``y``, class indices, at the nodes of ``law``."""
        return cls._of(walls_at(law, signed=True), y, n_fields, heights)

    def lowered_to(self, height: float) -> ArgmaxWalls:
        """Return the walls with heights clipped to at most ``height``."""
        return self._replace(tally=np.clip(self.tally, -height, height))

    @classmethod
    def of_covariance(
        cls, G: Array, y: Array, n_fields: int, heights: Array | None = None
    ) -> ArgmaxWalls:
        """Return the walls of labels ``y`` at nodes whose x has covariance ``G``."""
        return cls._of(walls_of(G, signed=True), y, n_fields, heights)

    @classmethod
    def _of(cls, walls: Walls, y: Array, n_fields: int, heights: Array | None) -> ArgmaxWalls:
        classes = y.astype(np.int64)
        tally = np.zeros((walls.first.size, n_fields))
        np.add.at(tally, (walls.of, classes), np.sign(walls.ratio))
        place, wanted = map(np.ascontiguousarray, np.nonzero(tally))
        begin, end = np.searchsorted(place, place, "left"), np.searchsorted(place, place, "right")
        G = walls.covariance
        if not np.array_equal(place, np.arange(len(G))):
            G = np.ascontiguousarray(G[np.ix_(place, place)])
        entry = np.searchsorted(place, walls.of)
        if heights is not None:
            each = (y == np.arange(n_fields)[:, None]).astype(np.float64)
            tally = np.column_stack([walls.total_heights(own, heights) for own in each])
            # of several infinite heights at one place the first counts
            rigid = np.isinf(tally)
            tally[rigid & (np.cumsum(rigid, axis=1) > 1)] = 0.0
        return cls(walls.first[place], wanted, tally[place], begin, end, G, entry, walls.ratio)

    @property
    def _is_plain(self) -> bool:
        """Whether each labeled node is a place of its own, with one entry."""
        return np.array_equal(self.first, np.arange(self.entry.size))

    def at_walls(self, fields: Array) -> Array:
        """Return the K fields at each entry."""
        return fields if self._is_plain else np.take(fields, self.first, axis=2)

    def at_nodes(self, kept: Array) -> Array:
        """Return the K fields at each node."""
        return kept if self._is_plain else np.take(kept, self.entry, axis=2) * self.ratio

    def are_right(self, x: Array) -> bool:
        """Whether all labels are right."""
        return bool((x.argmax(axis=0) == self.wanted).all())

    def make_right(self, x: Array) -> Array:
        """Return a state with right labels: the largest field and the label's are exchanged."""
        right = x.copy()
        entries = np.arange(self.first.size)
        best = right.argmax(axis=0)
        largest, own = right[best, entries].copy(), right[self.wanted, entries].copy()
        right[best, entries], right[self.wanted, entries] = own, largest
        return right

    def fly(self, x: Array, w: Array, costs: Array) -> Flight:
        """Flow; see `_flow`."""
        out = Flight(np.empty(w.shape), np.zeros(len(w)), np.zeros(x.shape))
        _flow(x, w, self, costs, out.states, out.hits, out.kicks)
        return out


_INTEGERS, _VECTOR, _MATRIX = types.int64[::1], types.float64[::1], types.float64[:, ::1]
WALLS = types.NamedTuple(
    [_INTEGERS, _INTEGERS, _MATRIX, _INTEGERS, _INTEGERS, _MATRIX, _INTEGERS, _VECTOR], ArgmaxWalls
)
_CUBE = types.float64[:, :, ::1]


@numba.njit
def _turn(x, w, cos, sin):  # type: ignore[no-untyped-def]
    """Turn one field."""
    for j in range(x.size):
        before = x[j]
        x[j] = before * cos + w[j] * sin
        w[j] = w[j] * cos - before * sin


@numba.njit(error_model="numpy")
def _meet(x, w, own_x, own_w, below, above):  # type: ignore[no-untyped-def]
    """Take one field into account, which the fields of the labels may meet.

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


@kernel(types.void(_MATRIX, _CUBE, WALLS, _VECTOR, _CUBE, _VECTOR, _MATRIX))
def _flow(x, velocities, walls, costs, states, hits, kicks):  # type: ignore[no-untyped-def]
    """Flow ``x`` (K, E), in place, a quarter turn for each velocity, which is used up.

    Each label that is not the largest costs as much as ``costs`` says for the flow. Write the state
    and the walls hit of each flow. The last flow ends at w(0) + ``kicks`` G: without a hit, a
    quarter turn forgets its start.
    """
    wanted, tally, begin, end = walls.wanted, walls.tally, walls.begin, walls.end
    G = walls.covariance
    K, m = x.shape
    own_x, own_w = np.empty(m), np.empty(m)
    below, above = np.empty(m), np.empty(m)
    for flow in range(velocities.shape[0]):
        w = velocities[flow]
        left = 0.5 * math.pi
        kicks[:] = 0.0
        hit, c, k, ahead = -1, 0, 0, False
        while True:
            # next wall: where the field of a label meets another field
            below[:] = math.inf
            above[:] = -math.inf
            for j in range(m):
                own_x[j], own_w[j] = x[wanted[j], j], w[wanted[j], j]
            for i in range(K):
                _meet(x[i], w[i], own_x, own_w, below, above)
            if hit >= 0:
                # the two fields at the wall just met are equal, and do not meet again before pi
                for j in range(begin[hit], end[hit]):
                    if (wanted[j] == c and not ahead) or (wanted[j] == k and ahead):
                        above[j] = math.inf
            lowest, hit = math.inf, -1
            for j in range(m):
                # a label is right from when the last field falls below it until one rises above
                meeting = below[j]
                if above[j] > -math.inf:
                    meeting = above[j] if above[j] < below[j] else math.inf
                if meeting < lowest:
                    lowest, hit = meeting, j
            s = math.atan2(1.0, -lowest)
            if hit < 0 or s >= left:
                break
            # k: the other field at the wall
            c, k = wanted[hit], 0
            while k < K - 1 and not (
                x[c, hit] != x[k, hit]
                and (w[c, hit] - w[k, hit]) / (x[c, hit] - x[k, hit]) == lowest
            ):
                k += 1
            left -= s
            hits[flow] += 1
            cos, sin = math.cos(s), math.sin(s)
            for i in range(K):
                _turn(x[i], w[i], cos, sin)
            # the unit normal velocity v_n, and the step V that it meets
            spread = math.sqrt(2.0 * G[hit, hit])
            speed = (w[c, hit] - w[k, hit]) / spread
            # a step up from k to c is a step down from c to k
            rise = tally[hit, k] - tally[hit, c] if speed > 0.0 else tally[hit, c] - tally[hit, k]
            step = rise * costs[flow] if rise != 0.0 else 0.0
            if step == -math.inf:  # from a forbidden place to an allowed one
                after = speed
            # across: v_n^2 - 2 V; or reflection
            elif speed * speed > 2.0 * step:
                after = math.copysign(math.sqrt(speed * speed - 2.0 * step), speed)
            else:
                after = -speed
            # kick both fields along row j of G
            kick = (after - speed) / spread
            kicks[c, hit] += kick * math.sin(left)
            kicks[k, hit] -= kick * math.sin(left)
            for j in range(m):
                w[c, j] += kick * G[hit, j]
                w[k, j] -= kick * G[hit, j]
            ahead = after > 0.0
            for j in range(begin[hit], end[hit]):
                x[c, j] = x[k, j]
        # no wall is left in this quarter turn
        cos, sin = math.cos(left), math.sin(left)
        for i in range(K):
            _turn(x[i], w[i], cos, sin)
            for j in range(m):
                states[flow, i, j] = x[i, j]
