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
    NonFinitePotentialError,
    Sampler,
    Target,
    prior_blocks,
)
from graphuq.utils import validation
from graphuq.utils.jit import kernel
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
        fields = np.empty((draws, *target.shape))
        potential, tries = np.empty(draws), np.zeros(draws)
        for first, xi in prior_blocks(target.law, draws * thin, rng, bound.n_fields):
            out = Output(first, thin, fields, potential, tries)
            good = _slide(field, xi, target.power, bound.potential, bound.observed, rng, out)
            if good < len(xi):
                break
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_evaluations": tries,
        }
        chunk = Chunk(fields, stats)
        if good < len(xi):
            raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return SliceState(field), chunk


class Output(NamedTuple):
    """The output arrays of the kernel."""

    first: int
    """Number of the first step in these arrays."""
    thin: int
    fields: Array
    potential: Array
    tries: Array
    """Evaluations of the potential."""


OUTPUT = types.NamedTuple(
    [
        types.int64,
        types.int64,
        types.float64[:, :, ::1],
        types.float64[::1],
        types.float64[::1],
    ],
    Output,
)


@kernel(
    types.int64(
        FIELD,
        types.float64[:, :, ::1],
        types.float64,
        POTENTIAL,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        OUTPUT,
    )
)
def _slide(u, xi, power, potential, observed, rng, out):  # type: ignore[no-untyped-def]
    """Move ``u``, in place, along the ellipse of each xi; every ``thin``-th state is kept.

    Return how many steps were good: it stops where Phi is NaN or -infinity, with that field in
    ``u``.
    """
    m, w = u.shape[0], np.empty_like(u)
    fields, potentials, tries = out.fields, out.potential, out.tries
    phi = potential(u, observed)
    for i in range(xi.shape[0]):
        draw, rest = divmod(out.first + i + 1, out.thin)
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
                u[:] = w
                return i
            tries[draw - (rest == 0)] += 1
            # accept
            if phi_w <= level:
                break
            if high - low < 1e-14:  # only rounding keeps the state itself out
                w[:] = u
                phi_w = phi
                break
            # shrink the bracket toward the state, at angle 0
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * rng.random()
        u[:] = w
        phi = phi_w
        # keep
        if rest == 0:
            for c in range(u.shape[1]):
                fields[draw - 1, c] = u[:, c]
            potentials[draw - 1] = phi
    return xi.shape[0]
