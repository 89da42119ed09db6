"""Elliptical slice sampling (Murray, Adams, MacKay 2010): nothing to tune, no gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq.likelihoods.contract import FIELD, OBSERVED, POTENTIAL
from graphuq.samplers.protocol import (
    Chunk,
    Kept,
    NonFinitePotentialError,
    Sampler,
    Target,
    prior_blocks,
)
from graphuq.utils import validation
from graphuq.utils.jit import copy_matrix, kernel
from graphuq.utils.typing import Array


class SliceState(NamedTuple):
    """The state of a chain."""

    field: Array
    """The field at the nodes read, shape (m, C)."""


@dataclass(frozen=True)
class EllipticalSlice(Sampler):
    """Move along a random ellipse through the state and a draw from the prior, as Phi allows.

    Each step draws xi ~ N(0, C) and a level Phi(u) + E, E ~ Exp(1), and shrinks a bracket of
    angles t until Phi(u cos t + xi sin t) is at most that level. It supports every likelihood.
    For b Phi the level is Phi(u) + E / b.

    Parameters
    ----------
    thin : int
        Steps from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        ``thin`` below 1.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.EllipticalSlice()
    EllipticalSlice(thin=20)
    """

    thin: int = 20

    def __post_init__(self) -> None:
        validation.integer("thin", self.thin, 1)

    def start(self, target: Target, rng: np.random.Generator) -> SliceState:
        """Return a draw from the prior."""
        return SliceState(target.draw(rng))

    def advance(
        self,
        target: Target,
        state: SliceState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[SliceState, Chunk]:
        """Make ``draws * thin`` steps and keep every ``thin``-th."""
        del tune  # there is nothing to tune
        field, bound = state.field.copy(), target.likelihood
        kept = Kept(draws, thin, target.shape, summed=("n_evaluations",))
        for first, xi in prior_blocks(target.law, draws * thin, rng, bound.n_fields):
            fields, potential, tries = np.empty(xi.shape), np.empty(len(xi)), np.zeros(len(xi))
            good = _slide(
                field,
                xi,
                target.power,
                bound.potential,
                bound.observed,
                rng,
                fields,
                potential,
                tries,
            )
            kept.add(first, fields, {"potential": potential, "n_evaluations": tries})
            kept.stats["acceptance_rate"] = np.ones(draws)
            if good < len(xi):
                chunk = kept.chunk()
                raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return SliceState(field), kept.chunk()


@kernel(
    types.int64(
        FIELD,
        types.float64[:, :, ::1],
        types.float64,
        POTENTIAL,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.float64[:, :, ::1],
        types.float64[::1],
        types.float64[::1],
    )
)
def _slide(u, xi, power, potential, observed, rng, fields, potentials, tries):  # type: ignore[no-untyped-def]
    """Move ``u``, in place, along the ellipse of each xi.

    Write the state, its Phi and the evaluations of the potential of each step. Return how many
    steps were good: it stops where Phi is NaN or -infinity, with that field in ``u``.
    """
    m, w = u.shape[0], np.empty_like(u)
    phi = potential(u, observed)
    for i in range(xi.shape[0]):
        # draw the level, and the first bracket of angles
        level = phi - math.log(1.0 - rng.random()) / power
        angle = 2.0 * math.pi * rng.random()
        low, high = angle - 2.0 * math.pi, angle
        while True:
            # propose
            cos, sin = math.cos(angle), math.sin(angle)
            for j in range(m):
                for c in range(u.shape[1]):
                    w[j, c] = u[j, c] * cos + xi[i, c, j] * sin
            phi_w = potential(w, observed)
            if not phi_w > -math.inf:
                copy_matrix(w, u)
                return i
            tries[i] += 1
            # accept
            if phi_w <= level:
                break
            if high - low < 1e-14:  # only rounding keeps the state itself out
                copy_matrix(u, w)
                phi_w = phi
                break
            # shrink the bracket toward the state, at angle 0
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * rng.random()
        copy_matrix(w, u)
        phi = phi_w
        for c in range(u.shape[1]):
            for j in range(m):
                fields[i, c, j] = u[j, c]
        potentials[i] = phi
    return xi.shape[0]
