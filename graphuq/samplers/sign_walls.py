"""Harmonic flow of one field between the walls x_j = 0; a label is the sign of the field."""

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

# |x_j| of a node at its wall, and a cotangent whose square is finite.
AT_THE_WALL, MAX_COT = 1e-290, 1e150


class SignWalls(NamedTuple):
    """The labels of two classes at the walls x_j = 0; see `graphuq.samplers.walls.LabelWalls`."""

    first: Nodes
    """As in `graphuq.samplers.walls.Walls`, like ``of`` and ``ratio``."""
    of: Nodes
    ratio: Array
    covariance: Array
    """G of the walls, shape (W, W)."""
    votes: Array
    """Sum of the labels at each wall, seen from its first node, shape (W,); or of the labels
    times their heights."""

    @classmethod
    def at(cls, law: Gaussian, y: Array, n_fields: int, heights: Array | None = None) -> SignWalls:
        """Return the walls of labels ``y``, -1 or +1, at the nodes of ``law``."""
        del n_fields  # one
        return cls._of(walls_at(law), y, heights)

    def lowered_to(self, height: float) -> SignWalls:
        """Return the walls with heights clipped to at most ``height``."""
        return self._replace(votes=np.clip(self.votes, -height, height))

    @classmethod
    def of_covariance(
        cls, G: Array, y: Array, n_fields: int, heights: Array | None = None
    ) -> SignWalls:
        """Return the walls of labels ``y`` at nodes whose x has covariance ``G``."""
        del n_fields  # one
        return cls._of(walls_of(G), y, heights)

    @classmethod
    def _of(cls, walls: Walls, y: Array, heights: Array | None) -> SignWalls:
        votes = walls.votes(y) if heights is None else walls.total_heights(y, heights)
        return cls(*walls, votes)

    def at_walls(self, fields: Array) -> Array:
        """Return the field at each wall."""
        if self.votes.size == self.of.size:
            return fields
        return np.take(fields, self.first, axis=2)

    def at_nodes(self, kept: Array) -> Array:
        """Return the field at each node."""
        if self.votes.size == self.of.size:
            return kept
        return kept[:, :, self.of] * self.ratio

    def are_right(self, x: Array) -> bool:
        """Whether all labels are right."""
        return bool((x * self.votes >= 0).all())

    def make_right(self, x: Array) -> Array:
        """Return a state with right labels: signs are changed where they are wrong."""
        return np.where(x * self.votes < 0, -x, x)

    def fly(self, x: Array, w: Array, costs: Array) -> Flight:
        """Flow; see `_flow`."""
        out = Flight(np.empty(w.shape), np.zeros(len(w)), np.zeros(x.shape))
        _flow(x[0], w, self.covariance, self.votes, costs, out.states, out.hits, out.kicks[0])
        return out


_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
_CUBE = types.float64[:, :, ::1]


@numba.njit(error_model="numpy", fastmath={"contract", "nsz"})
def _turn(x, w, ratio, row, cos, sin, kick, excluded):  # type: ignore[no-untyped-def]
    """Turn and kick all nodes; return the smallest ``ratio`` w_i / x_i but for ``excluded``.

    If none is below 0 it is any of them.
    """
    # The bits of numbers below 0, as integers without sign, are above those of all others, and grow
    # with the size of the number. A processor takes the largest of several integers at once.
    largest = np.uint64(0)
    for i in range(x.size):
        xi = x[i] * cos + w[i] * sin
        wi = w[i] * cos - x[i] * sin + kick * row[i]
        x[i], w[i] = xi, wi
        ratio[i] = wi / xi if i != excluded else 0.0
        largest = max(largest, np.float64(ratio[i]).view(np.uint64))
    return np.uint64(largest).view(np.float64)


@numba.njit
def _find(ratio, value):  # type: ignore[no-untyped-def]
    """Return where ``ratio`` has the value, without a branch for each node."""
    found = 0
    for i in range(ratio.size):
        found = i if ratio[i] == value else found
    return found


@kernel(types.void(_VECTOR, _CUBE, _MATRIX, _VECTOR, _VECTOR, _CUBE, _VECTOR, _VECTOR))
def _flow(x, velocities, G, votes, costs, states, hits, kicks):  # type: ignore[no-untyped-def]
    """Flow ``x``, in place, a quarter turn for each velocity w ~ N(0, G), which is used up.

    A state in which x_j has the sign of votes_j is lower, by |votes_j| costs, than one on the other
    side of the wall. Write the state and the walls hit of each flow. The last flow ends at
    w(0) + G ``kicks``: without a hit, a quarter turn forgets its start.
    """
    m = x.size
    ratio = np.empty(m)
    for flow in range(velocities.shape[0]):
        w = velocities[flow, 0]
        # of the angle that is left
        cos_left, sin_left = 0.0, 1.0
        kicks[:] = 0.0
        lowest = _turn(x, w, ratio, G[0], 1.0, 0.0, 0.0, m)
        while True:
            # next wall: x_j(s) = 0 first where cot(s) = -w_j / x_j is largest on (0, pi), if that
            # is above the cotangent of the angle left, which is at least 0
            if not -lowest * sin_left > cos_left:
                break
            j = _find(ratio, lowest)
            hits[flow] += 1
            cot = min(-lowest, MAX_COT)
            sin = 1.0 / math.sqrt(1.0 + cot * cot)
            cos = cot * sin
            cos_left, sin_left = cos_left * cos + sin_left * sin, sin_left * cos - cos_left * sin
            # the unit normal velocity v_n, and the step V that it meets
            before = w[j] * cos - x[j] * sin
            speed = before / math.sqrt(G[j, j])
            cost = abs(votes[j]) * costs[flow] if votes[j] != 0.0 else 0.0
            if before * votes[j] > 0.0:
                # downhill, out of a wrong sign: v_n^2 + 2 V; a rigid wall is crossed so only until
                # the chain is where it is allowed
                after = math.sqrt(speed * speed + 2.0 * cost) if cost < math.inf else abs(speed)
                after = math.copysign(after, speed)
            elif speed * speed > 2.0 * cost:
                # uphill, and fast enough to cross: v_n^2 - 2 V
                after = math.copysign(math.sqrt(speed * speed - 2.0 * cost), speed)
            else:
                # reflection
                after = -speed
            # kick along row j of G
            kick = (after - speed) / math.sqrt(G[j, j])
            kicks[j] += kick * sin_left
            lowest = _turn(x, w, ratio, G[j], cos, sin, kick, j)
            # put x_j on the side that it moves to, so that its wall is not hit again at once
            w[j] = before + kick * G[j, j]
            x[j] = math.copysign(AT_THE_WALL, w[j])
        # no wall is left in this quarter turn
        for i in range(m):
            x[i] = x[i] * cos_left + w[i] * sin_left
            states[flow, 0, i] = x[i]
