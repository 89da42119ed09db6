"""Elliptical slice sampling (Murray, Adams, MacKay 2010): nothing to tune, no gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq import validation
from graphuq.jit import kernel
from graphuq.likelihoods.contract import FIELD, OBSERVED, POTENTIAL, Bound
from graphuq.samplers.family import Array, Chunk, NonFinitePotentialError, Target, prior_blocks


class SliceState(NamedTuple):
    """Where a chain stands."""

    field: Array


@dataclass(frozen=True)
class EllipticalSlice:
    """Move along a random ellipse through the state and a draw of the prior, as far as Phi allows.

    Each step draws xi ~ N(0, C) and a level Phi(u) + E, E ~ Exp(1), and shrinks a bracket of
    angles t until Phi(u cos t + xi sin t) is at most that level. It serves every likelihood. Where
    Phi counts b times, so does b times the level: E is divided by b.

    Parameters
    ----------
    thin : int
        Steps from one kept draw to the next, unless `sample` is told otherwise.

    Raises
    ------
    ValueError
        ``thin`` below 1.

    Examples
    --------
    >>> EllipticalSlice()
    EllipticalSlice(thin=20)
    """

    thin: int = 20

    def __post_init__(self) -> None:
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return half of ``draws``, and at least 100."""
        return max(100, draws // 2)

    def noise(self, likelihood: Bound) -> float:
        """Return 0: it serves every likelihood as it stands."""
        del likelihood
        return 0.0

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
        field = state.field.copy()
        fields = np.empty((draws, target.size))
        potential, tries = np.empty(draws), np.zeros(draws)
        for first, xi in prior_blocks(target.law, draws * thin, rng, target.likelihood.columns):
            good = _slide(
                field,
                xi,
                target.power,
                target.likelihood.potential,
                target.likelihood.observed,
                rng,
                first,
                thin,
                fields,
                potential,
                tries,
            )
            if good < xi.shape[0]:
                break
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_evaluations": tries,
        }
        chunk = Chunk(fields, stats)
        if good < xi.shape[0]:
            raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return SliceState(field), chunk


@kernel(
    types.int64(
        FIELD,
        types.float64[:, ::1],
        types.float64,
        POTENTIAL,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.int64,
        types.int64,
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
    )
)
def _slide(  # type: ignore[no-untyped-def]
    u, xi, power, potential, observed, rng, first, thin, fields, potentials, tries
):
    """Move ``u``, in place, along the ellipse of each xi; every ``thin``-th state is kept.

    Return how many steps were good: where Phi is NaN or -infinity it stops, with that field in
    ``u``.
    """
    m, w = u.shape[0], np.empty_like(u)
    phi = potential(u, observed)
    for i in range(xi.shape[0]):
        draw, rest = divmod(first + i + 1, thin)
        level = phi - math.log(1.0 - rng.random()) / power
        angle = 2.0 * math.pi * rng.random()
        low, high = angle - 2.0 * math.pi, angle
        while True:
            cos, sin = math.cos(angle), math.sin(angle)
            for j in range(m):
                for c in range(u.shape[1]):
                    w[j, c] = u[j, c] * cos + xi[i, c * m + j] * sin
            phi_w = potential(w, observed)
            if not phi_w > -math.inf:
                u[:] = w
                return i
            tries[draw - (rest == 0)] += 1
            if phi_w <= level:
                break
            if high - low < 1e-14:  # rounding alone keeps the state itself out
                w[:] = u
                phi_w = phi
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * rng.random()
        u[:] = w
        phi = phi_w
        if rest == 0:
            for c in range(u.shape[1]):
                fields[draw - 1, c * m : (c + 1) * m] = u[:, c]
            potentials[draw - 1] = phi
    return xi.shape[0]
