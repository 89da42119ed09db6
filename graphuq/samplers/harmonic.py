"""The harmonic sampler: Gaussian Hamiltonian flow between walls, exact for sign models.

Pakman and Paninski 2014, with the finite walls of Afshar and Domke 2015. Under N(0, G) with mass
G^(-1), Hamilton's equations turn the state about the origin, x(t) = x cos t + w sin t, with
velocity w(0) ~ N(0, G): no integrator, no accept step, nothing to tune. A sign model's potential
is flat but for a step where a labelled x_j changes sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from graphuq import validation
from graphuq.gaussian import Gaussian
from graphuq.jit import kernel
from graphuq.likelihoods.contract import Bound
from graphuq.samplers.argmax_walls import ArgmaxWalls
from graphuq.samplers.family import Array, Chunk, Target, prior_blocks

# Walls up to CROSSED are crossed often enough by themselves. To start below higher ones they are
# raised to ANNEALED, in so many flows that all labels together are looked at START_WORK times.
CROSSED, ANNEALED, START_WORK = 10.0, 40.0, 600_000

# |x_j| of a node at its wall.
AT_THE_WALL = 1e-290

# Fields whose correlation is as near to 1 or -1 are multiples of each other, but for rounding.
COLLINEAR = 1e-12


class HarmonicState(NamedTuple):
    """Where a chain stands."""

    x: Array


@dataclass(frozen=True)
class Harmonic:
    """Exact Hamiltonian flow between the walls x_j = 0; draws are nearly independent.

    Serves the sign models: level-set (walls of height V = 2 / gamma^2), probit (x = u_J + gamma
    eta, walls that cannot be crossed) and noisy probit (both). Each draw refreshes the velocity
    and flows for a quarter turn. Its cost is a few products with the factor of C_JJ, and J
    operations for each wall that is hit. With K > 2 classes the walls are x_jc = x_jk, and a hit
    costs J K operations.

    Parameters
    ----------
    thin : int
        Flows from one kept draw to the next, unless `sample` is told otherwise.

    Raises
    ------
    ValueError
        A likelihood that is no sign model, ``thin`` below 1.

    Examples
    --------
    >>> Harmonic()
    Harmonic(thin=1)
    """

    thin: int = 1

    def __post_init__(self) -> None:
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return 100: it forgets its start within a few flows."""
        del draws
        return 100

    def noise(self, likelihood: Bound) -> float:
        """Return the noise before the threshold, which is sampled along."""
        if likelihood.sign_model is None:
            raise ValueError(
                "gq.Harmonic serves the sign models Probit, LevelSet and NoisyProbit; for other "
                "likelihoods take gq.HilbertHMC (with a gradient), gq.EllipticalSlice or gq.PCN"
            )
        return likelihood.sign_model[0]

    def start(self, target: Target, rng: np.random.Generator) -> HarmonicState:
        """Return a draw from the prior, flown to where the labels are right, or nearly.

        Walls are raised while it flies; where labels are hard to satisfy together, walls of full
        height from the start would leave it with whichever of them it first gave in to.
        """
        law, columns, cost, walls = target.law, target.likelihood.columns, *_at(target)
        x = walls.read(law.draw(columns, rng).reshape(1, -1))[0]
        if cost <= CROSSED:
            return HarmonicState(x)
        count = int(np.clip(START_WORK // target.size, 200, 4000))
        heights = np.minimum(cost, np.linspace(0, ANNEALED, count))
        kept, none = np.empty((1, x.size)), np.zeros(1)
        for flow, velocity in prior_blocks(law, count, rng, columns):
            w = walls.read(velocity)
            for i in range(w.shape[0]):
                if walls.right(x):
                    return HarmonicState(x)
                walls.fly(x, w[i : i + 1], heights[flow + i : flow + i + 1], 0, 1, kept, none)
        return HarmonicState(walls.made_right(x) if math.isinf(cost) else x)

    def advance(
        self,
        target: Target,
        state: HarmonicState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[HarmonicState, Chunk]:
        """Make ``draws * thin`` flows and keep every ``thin``-th state."""
        del tune  # there is nothing to tune
        cost, walls = _at(target)
        x = state.x.copy()
        kept, hits = np.empty((draws, x.size)), np.zeros(draws)
        for first, velocities in prior_blocks(
            target.law, draws * thin, rng, target.likelihood.columns
        ):
            w = walls.read(velocities)
            walls.fly(x, w, np.full(w.shape[0], cost), first, thin, kept, hits)
        fields = walls.at_nodes(kept)
        wrong = walls.wrong(fields)
        stats = {
            "potential": np.where(wrong > 0, wrong * cost, 0.0) if cost < np.inf else 0.0 * hits,
            "acceptance_rate": np.ones(draws),
            "n_walls": hits,
        }
        return HarmonicState(x), Chunk(fields, stats)


def _at(target: Target) -> tuple[float, SignWalls | ArgmaxWalls]:
    """Return the walls' height and what stands where."""
    bound = target.likelihood
    assert bound.sign_model is not None
    walls = _walls(target.law, bound.columns > 1)
    y = bound.observed.y
    if bound.columns == 1:
        return bound.sign_model[1], SignWalls(walls, y, walls.votes(y))
    return bound.sign_model[1], ArgmaxWalls.of(walls, y.astype(np.int64), bound.columns)


class Walls(NamedTuple):
    """The hyperplanes x_j = 0, or the nodes of x_jc = x_jk, each once.

    Without noise before the threshold, few modes may give several labelled nodes the same field
    but for a factor, or none. The former have one wall together; at it, rounding would put each
    on a side of its own. The latter have none.
    """

    first: NDArray[np.int64]
    """The first labelled node of each wall."""
    of: NDArray[np.int64]
    """Which wall each labelled node has."""
    ratio: Array
    """x of each labelled node over that of its wall's first; 0 where there is no field."""
    covariance: Array
    """G of the first nodes, whose rows are the kicks."""

    def votes(self, y: Array) -> Array:
        """Return the sum of labels at each wall, seen from its first node."""
        return np.asarray(np.bincount(self.of, y * np.sign(self.ratio)), dtype=np.float64)


class SignWalls(NamedTuple):
    """The labels of two classes at the walls x_j = 0."""

    walls: Walls
    y: Array
    votes: Array

    def read(self, fields: Array) -> Array:
        """Return the field at each wall, from that at each node, to be overwritten."""
        if self.votes.size == self.y.size:
            return fields
        return np.take(fields, self.walls.first, axis=1)

    def right(self, x: Array) -> bool:
        """Whether all labels are."""
        return bool((x * self.votes >= 0).all())

    def made_right(self, x: Array) -> Array:
        """Return a state where they are."""
        return np.where(x * self.votes < 0, -x, x)

    def fly(
        self, x: Array, w: Array, costs: Array, first: int, thin: int, kept: Array, hits: Array
    ) -> None:
        """Flow; see `_flow`."""
        kicks = np.empty(x.size)
        _flow(x, w, self.walls.covariance, self.votes, costs, first, thin, kept, hits, kicks)

    def at_nodes(self, kept: Array) -> Array:
        """Return the field at each node, from that at each wall."""
        if self.votes.size == self.y.size:
            return kept
        return kept[:, self.walls.of] * self.walls.ratio

    def wrong(self, fields: Array) -> Array:
        """Return how many labels are wrong in each draw."""
        return np.asarray((fields * self.y < 0).sum(axis=1))


@lru_cache(maxsize=1)  # chains share it
def _walls(law: Gaussian, signed: bool = False) -> Walls:
    validation.memory(
        8.0 * law.size**2,
        f"the covariance of {law.size} labelled nodes",
        "take gq.PCN, or fewer labels",
    )
    return walls_of(law.covariance(), signed)


def walls_of(G: Array, signed: bool = False) -> Walls:
    """Return the walls of labelled nodes whose x has covariance ``G``.

    If ``signed``, nodes whose fields are multiples by a negative factor are held apart.

    Raises
    ------
    ValueError
        No field at any of them.
    """
    m = G.shape[0]
    deviation = np.sqrt(np.diag(G))
    if deviation.max() == 0:
        raise ValueError("the prior has no field at any labelled node: take more modes")
    alive = deviation > 1e-11 * deviation.max()
    scale = np.where(alive, 1 / np.where(alive, deviation, 1.0), 0.0)
    blocks = (slice(start, start + 256) for start in range(0, m, 256))
    size = np.asarray if signed else np.abs
    alike = [size(G[rows] * scale[rows, None] * scale) > 1 - COLLINEAR for rows in blocks]
    if alive.all() and sum(map(np.count_nonzero, alike)) == m:  # each node only like itself
        return Walls(np.arange(m), np.arange(m), np.ones(m), np.ascontiguousarray(G))
    _, group = csgraph.connected_components(sparse.vstack(list(map(sparse.csr_array, alike))))
    _, first, of = np.unique(group, return_index=True, return_inverse=True)
    at = first[of]
    ratio = np.where(alive, G[np.arange(m), at] * scale[at] ** 2, 0.0)
    kept = np.flatnonzero(alive[first])  # walls of nodes that have a field
    number = np.zeros(first.size, dtype=np.int64)
    number[kept] = np.arange(kept.size)
    first = first[kept]
    return Walls(first, number[of], ratio, np.ascontiguousarray(G[np.ix_(first, first)]))


def quarter_turn(x: Array, w: Array, walls: Walls, votes: Array, cost: float) -> tuple[Array, int]:
    """Flow ``x``, in place, once from velocity ``w`` ~ N(0, G); return its kicks and their number.

    With x = M a, a ~ N(0, I) and w = M b, the flow carries a along, to b + M' kicks.
    """
    kicks, hits, kept = np.empty(x.size), np.zeros(1), np.empty((1, x.size))
    _flow(x, w[None].copy(), walls.covariance, votes, np.array([cost]), 0, 1, kept, hits, kicks)
    return kicks, int(hits[0])


@numba.njit(error_model="numpy", fastmath={"nnan", "nsz"})  # flags: a minimum in vectors
def _turn(x, w, row, cos, sin, kick, start, stop):  # type: ignore[no-untyped-def]
    """Turn and kick some of the nodes; return the smallest w_i / x_i among them."""
    lowest = math.inf
    for i in range(start, stop):
        xi = x[i] * cos + w[i] * sin
        wi = w[i] * cos - x[i] * sin + kick * row[i]
        x[i], w[i] = xi, wi
        lowest = min(lowest, wi / xi)
    return lowest


@kernel(
    types.void(
        types.float64[::1],
        types.float64[:, ::1],
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
        types.int64,
        types.int64,
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
    )
)
def _flow(x, velocities, G, votes, costs, first, thin, fields, hits, kicks):  # type: ignore[no-untyped-def]
    """Flow ``x``, in place, a quarter turn for each velocity w ~ N(0, G), which is used up.

    Where x_j has the sign of votes_j it is as many costs below the other side of its wall. Flows
    count from ``first``; every ``thin``-th state is kept, and the walls hit on the way. The last
    flow ends at w(0) + G ``kicks``: where no wall is hit, a quarter turn forgets its start.
    """
    m = x.size
    for flow in range(velocities.shape[0]):
        draw, rest = divmod(first + flow + 1, thin)
        w = velocities[flow]
        left = 0.5 * math.pi
        kicks[:] = 0.0
        lowest = _turn(x, w, G[0], 1.0, 0.0, 0.0, 0, m)
        while True:
            # x_j(s) = 0 first where cot(s) = -w_j / x_j is largest on (0, pi)
            s = math.atan2(1.0, -lowest)
            if s >= left:
                break
            j = 0
            while j < m - 1 and w[j] / x[j] != lowest:
                j += 1
            left -= s
            hits[draw - (rest == 0)] += 1
            cos, sin = math.cos(s), math.sin(s)
            # the unit normal velocity, against a step of height cost
            before = w[j] * cos - x[j] * sin
            speed = before / math.sqrt(G[j, j])
            cost = abs(votes[j]) * costs[flow] if votes[j] != 0.0 else 0.0
            if before * votes[j] > 0.0:
                # down, out of a wrong sign; a rigid wall is only crossed so before the chain has
                # come to where it is allowed to be
                after = math.sqrt(speed * speed + 2.0 * cost) if cost < math.inf else abs(speed)
                after = math.copysign(after, speed)
            elif speed * speed > 2.0 * cost:
                after = math.copysign(math.sqrt(speed * speed - 2.0 * cost), speed)
            else:
                after = -speed
            kick = (after - speed) / math.sqrt(G[j, j])
            kicks[j] += kick * math.sin(left)
            lowest = _turn(x, w, G[j], cos, sin, kick, 0, j)
            lowest = min(lowest, _turn(x, w, G[j], cos, sin, kick, j + 1, m))
            # on the side that it moves to, where it cannot be hit again at once
            w[j] = before + kick * G[j, j]
            x[j] = math.copysign(AT_THE_WALL, w[j])
            lowest = min(lowest, w[j] / x[j])
        cos, sin = math.cos(left), math.sin(left)
        for i in range(m):
            x[i] = x[i] * cos + w[i] * sin
        if rest == 0:
            fields[draw - 1] = x
