"""The preconditioned Crank-Nicolson sampler: Algorithms 1, 2 and 3, one for each prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq import validation
from graphuq.jit import kernel
from graphuq.likelihoods.contract import FIELD, OBSERVED, POTENTIAL, Bound
from graphuq.samplers.family import Array, Chunk, NonFinitePotentialError, Target, prior_blocks


class PCNState(NamedTuple):
    """Where a chain stands."""

    field: Array
    beta: float
    tuned: int
    """Steps of adaptation made so far."""


@dataclass(frozen=True)
class PCN:
    """Preconditioned Crank-Nicolson: propose w = sqrt(1 - beta^2) u + beta xi, xi ~ N(0, C).

    Accept with probability min(1, exp(Phi(u) - Phi(w))); Bertozzi et al. 2017, Algorithms 1 to 3.
    It serves every likelihood, and its draws are strongly correlated: hundreds of steps are worth
    one independent draw.

    Parameters
    ----------
    beta : float in (0, 1], optional
        Size of a step. By default it starts at 0.3, is adapted during warm-up, and is fixed from
        then on.
    target_acceptance : float in (0, 1)
        What adaptation aims at.
    thin : int
        Steps from one kept draw to the next, unless `sample` is told otherwise.

    Raises
    ------
    ValueError
        A parameter outside its range.

    Examples
    --------
    >>> PCN(beta=0.3)
    PCN(beta=0.3, target_acceptance=0.25, thin=100)
    """

    beta: float | None = None
    target_acceptance: float = 0.25
    thin: int = 100

    def __post_init__(self) -> None:
        if self.beta is not None and not 0 < validation.real("beta", self.beta) <= 1:
            raise ValueError(f"beta must lie in (0, 1], got {self.beta}")
        if not 0 < validation.real("target_acceptance", self.target_acceptance) < 1:
            raise ValueError(f"target_acceptance must lie in (0, 1), got {self.target_acceptance}")
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return half of ``draws``, and at least 100."""
        return max(100, draws // 2)

    def noise(self, likelihood: Bound) -> float:
        """Return 0: it serves every likelihood as it stands."""
        del likelihood
        return 0.0

    def start(self, target: Target, rng: np.random.Generator) -> PCNState:
        """Return a draw from the prior."""
        field = target.draw(rng)
        return PCNState(field, 0.3 if self.beta is None else float(self.beta), 0)

    def advance(
        self,
        target: Target,
        state: PCNState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[PCNState, Chunk]:
        """Make ``draws * thin`` steps and keep every ``thin``-th."""
        field = state.field.copy()
        fields = np.empty((draws, target.size))
        potential, acceptance = np.empty(draws), np.zeros(draws)
        beta, tuned = state.beta, state.tuned
        aim = self.target_acceptance if tune and self.beta is None else 0.0
        for first, xi in prior_blocks(target.law, draws * thin, rng, target.likelihood.columns):
            beta, tuned, good = _walk(
                field,
                xi,
                beta,
                tuned,
                aim,
                target.power,
                target.likelihood.potential,
                target.likelihood.observed,
                rng,
                first,
                thin,
                fields,
                potential,
                acceptance,
            )
            if good < xi.shape[0]:
                break
        stats = {
            "potential": potential,
            "acceptance_rate": acceptance,
            "beta": np.full(draws, beta),
        }
        chunk = Chunk(fields, stats)
        if good < xi.shape[0]:
            raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return PCNState(field, beta, tuned), chunk


@numba.njit
def _tempered(phi, power):  # type: ignore[no-untyped-def]
    """Return b Phi; a forbidden place stays so at b = 0, where nothing else counts."""
    return phi if phi == math.inf else power * phi


@kernel(
    types.Tuple([types.float64, types.int64, types.int64])(
        FIELD,
        types.float64[:, ::1],
        types.float64,
        types.int64,
        types.float64,
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
def _walk(  # type: ignore[no-untyped-def]
    u,
    xi,
    beta,
    tuned,
    target_acceptance,
    power,
    potential,
    observed,
    rng,
    first,
    thin,
    fields,
    potentials,
    acceptance,
):
    """Make a step of ``u``, in place, for each draw xi ~ N(0, C) of eqs. (11), (12) or (14).

    Adapt beta if ``target_acceptance`` is positive. Steps count from ``first``; every ``thin``-th
    state is kept. Return beta, its adaptations, and how many steps were good: where Phi is NaN or
    -infinity the walk stops, with that proposal in ``u``.
    """
    m, w = u.shape[0], np.empty_like(u)
    phi = _tempered(potential(u, observed), power)
    keep = math.sqrt(1.0 - beta * beta)
    for i in range(xi.shape[0]):
        draw, rest = divmod(first + i + 1, thin)
        for j in range(m):
            for c in range(u.shape[1]):
                w[j, c] = keep * u[j, c] + beta * xi[i, c * m + j]
        phi_w = _tempered(potential(w, observed), power)
        if not phi_w > -math.inf:
            u[:] = w
            return beta, tuned, i
        alpha = 1.0 if phi == math.inf else math.exp(min(0.0, phi - phi_w))
        if rng.random() < alpha:
            phi = phi_w
            u[:] = w
        acceptance[draw - (rest == 0)] += alpha / thin
        if target_acceptance > 0.0:
            tuned += 1
            beta = min(1.0, beta * math.exp((alpha - target_acceptance) * tuned**-0.6))
            keep = math.sqrt(1.0 - beta * beta)
        if rest == 0:
            for c in range(u.shape[1]):
                fields[draw - 1, c * m : (c + 1) * m] = u[:, c]
            potentials[draw - 1] = potential(u, observed)
    return beta, tuned, xi.shape[0]
