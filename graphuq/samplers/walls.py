"""The walls of a sign model: the hyperplanes at which the label of a node changes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from graphuq.priors.gaussian import Gaussian
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

# Fields whose correlation is this close to 1 or -1 are multiples of each other, up to rounding.
COLLINEAR = 1e-12


class Flight(NamedTuple):
    """What flows write."""

    states: Array
    """The end of each flow, shape (flows, C, walls)."""
    hits: Array
    """Walls that it hit, shape (flows,)."""
    kicks: Array
    """Kicks of the last flow, shape (C, walls). With x = M a, a ~ N(0, I) and w = M b, the flow
    carries a along, to b + M' kicks."""


class LabelWalls(Protocol):
    """The labels as a flow meets them: one class for each `graphuq.likelihoods.label_rule`.

    The flow moves the state x, shape (C, walls), which is the field plus its noise at the walls.
    """

    def at_walls(self, fields: Array) -> Array:
        """Return the fields at the walls, from those at the nodes; they may be overwritten."""

    def at_nodes(self, kept: Array) -> Array:
        """Return the fields at the nodes, from those at the walls."""

    def are_right(self, x: Array) -> bool:
        """Whether all labels are right."""

    def make_right(self, x: Array) -> Array:
        """Return a state with right labels."""

    def fly(self, x: Array, w: Array, costs: Array) -> Flight:
        """Flow ``x``, in place, a quarter turn for each velocity, which is used up.

        Parameters
        ----------
        x : ndarray, shape (C, walls)
        w : ndarray, shape (flows, C, walls)
            Velocities.
        costs : ndarray, shape (flows,)
            The cost of a wrong label in each flow.
        """

    def lowered_to(self, height: float) -> LabelWalls:
        """Return the walls with heights clipped to at most ``height``."""


class Walls(NamedTuple):
    """The hyperplanes x_j = 0, or the nodes with x_jc = x_jk, each once.

    Without noise before the threshold, a few modes may give several labeled nodes the same field
    up to a factor, or no field. The former share one wall; rounding would otherwise put them on
    different sides of it. The latter have no wall.
    """

    first: NDArray[np.int64]
    """The first labeled node of each wall."""
    of: NDArray[np.int64]
    """The wall of each labeled node."""
    ratio: Array
    """x of each labeled node over x of the first node of its wall; 0 if it has no field."""
    covariance: Array
    """G of the first nodes, whose rows are the kicks."""

    def votes(self, y: Array) -> Array:
        """Return the sum of labels at each wall, seen from its first node."""
        return np.asarray(np.bincount(self.of, y * np.sign(self.ratio)), dtype=np.float64)

    def total_heights(self, y: Array, heights: Array) -> Array:
        """Return the sum of labels times their heights at each wall.

        Infinite heights are majorities: finite ones do not count beside them.
        """
        rigid, number = np.isinf(heights), self.covariance.shape[0]
        votes = y * np.sign(self.ratio)
        total = np.bincount(self.of, votes * np.where(rigid, 0.0, heights), number)
        majority = np.bincount(self.of, votes * rigid, number)
        return np.asarray(np.where(majority != 0, np.copysign(np.inf, majority), total))


def require_walls_memory(n_labeled: int) -> None:
    """Refuse walls whose covariance exceeds the memory."""
    require_memory(
        8.0 * n_labeled**2,
        f"the covariance of {n_labeled} labeled nodes",
        "take gq.PreconditionedHMC, for probit and noisy probit of two classes, gq.PCN, or fewer "
        "labels",
    )


@lru_cache(maxsize=1)  # chains share it
def walls_at(law: Gaussian, signed: bool = False) -> Walls:
    """Return the walls of the nodes of a law; see `walls_of`."""
    require_walls_memory(law.size)
    return walls_of(law.covariance(), signed)


def walls_of(G: Array, signed: bool = False) -> Walls:
    """Return the walls of labeled nodes whose x has covariance ``G``.

    If ``signed``, nodes whose fields differ by a negative factor have different walls.

    Raises
    ------
    ValueError
        No node has a field.
    """
    m = G.shape[0]
    deviation = np.sqrt(np.diag(G))
    if deviation.max() == 0:
        raise ValueError("the prior has no field at any labeled node: take more modes")
    alive = deviation > 1e-11 * deviation.max()
    scale = np.where(alive, 1 / np.where(alive, deviation, 1.0), 0.0)
    blocks = (slice(start, start + 256) for start in range(0, m, 256))
    size = np.asarray if signed else np.abs
    alike = [size(G[rows] * scale[rows, None] * scale) > 1 - COLLINEAR for rows in blocks]
    if alive.all() and sum(map(np.count_nonzero, alike)) == m:  # no two nodes are alike
        return Walls(np.arange(m), np.arange(m), np.ones(m), np.ascontiguousarray(G))
    _, group = csgraph.connected_components(sparse.vstack(list(map(sparse.csr_array, alike))))
    _, first, of = np.unique(group, return_index=True, return_inverse=True)
    at = first[of]
    ratio = np.where(alive, G[np.arange(m), at] * scale[at] ** 2, 0.0)
    kept = np.flatnonzero(alive[first])  # walls whose nodes have a field
    number = np.zeros(first.size, dtype=np.int64)
    number[kept] = np.arange(kept.size)
    first = first[kept]
    return Walls(first, number[of], ratio, np.ascontiguousarray(G[np.ix_(first, first)]))
