"""The preconditioned Crank-Nicolson sampler: Algorithms 1, 2 and 3, one for each prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq import validation
from graphuq.jit import kernel
from graphuq.likelihoods.contract import FIELD, OBSERVED, POTENTIAL
from graphuq.samplers.family import Array, Chunk, Target

# Proposals do not depend on the state, so this many are made at once, by a matrix product.
BLOCK = 32

_VECTOR = types.float64[::1]


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
        Size of a step. By default it is adapted during warm-up, and fixed from then on.
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

    def start(self, target: Target, rng: np.random.Generator) -> PCNState:
        """Return a draw from the prior."""
        field = np.ascontiguousarray(target.law.draw(1, rng).T)
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
        law = target.law
        field = state.field.copy()
        fields = np.empty((draws, law.size))
        potential, acceptance = np.empty(draws), np.empty(draws)
        beta, tuned = _walk(
            field,
            law.basis,
            np.sqrt(law.variances) - (law.tail if law.has_tail else 0.0),
            law.tail if law.has_tail else 0.0,
            state.beta,
            state.tuned,
            self.target_acceptance if tune and self.beta is None else 0.0,
            target.potential,
            target.observed,
            rng,
            thin,
            BLOCK,
            fields,
            potential,
            acceptance,
        )
        stats = {
            "potential": potential,
            "acceptance_rate": acceptance,
            "beta": np.full(draws, beta),
        }
        return PCNState(field, beta, tuned), Chunk(fields, stats)


@kernel(
    types.Tuple([types.float64, types.int64])(
        FIELD,
        types.float64[:, ::1],
        _VECTOR,
        types.float64,
        types.float64,
        types.int64,
        types.float64,
        POTENTIAL,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.int64,
        types.int64,
        types.float64[:, ::1],
        _VECTOR,
        _VECTOR,
    )
)
def _walk(  # type: ignore[no-untyped-def]
    u,
    basis,
    factor,
    tail,
    beta,
    tuned,
    target_acceptance,
    potential,
    observed,
    rng,
    thin,
    block,
    fields,
    potentials,
    acceptance,
):
    """Walk from ``u``, in place; adapt beta if ``target_acceptance`` is positive."""
    m, p = basis.shape
    white = np.empty((block, m if tail > 0.0 else p))
    inside = np.empty((block, p))
    xi = np.empty((block, m))
    w = np.empty_like(u)
    phi = potential(u, observed)
    keep = math.sqrt(1.0 - beta * beta)
    total = fields.shape[0] * thin
    accepted = 0.0
    for step in range(total):
        b = step % block
        if b == 0:
            # xi ~ N(0, C) = C^(1/2) white, eqs. (11), (12), (14)
            for i in range(min(block, total - step)):
                for k in range(white.shape[1]):
                    white[i, k] = rng.standard_normal()
            if tail > 0.0:
                np.dot(white, basis, inside)
                inside *= factor
                np.dot(inside, basis.T, xi)
                xi += tail * white
            else:
                inside[:] = white * factor
                np.dot(inside, basis.T, xi)
        for j in range(m):
            w[j, 0] = keep * u[j, 0] + beta * xi[b, j]
        phi_w = potential(w, observed)
        alpha = math.exp(min(0.0, phi - phi_w))
        if rng.random() < alpha:
            phi = phi_w
            u[:] = w
        accepted += alpha
        if target_acceptance > 0.0:
            tuned += 1
            beta = min(1.0, beta * math.exp((alpha - target_acceptance) * tuned**-0.6))
            keep = math.sqrt(1.0 - beta * beta)
        if (step + 1) % thin == 0:
            draw = step // thin
            for j in range(m):
                fields[draw, j] = u[j, 0]
            potentials[draw] = phi
            acceptance[draw] = accepted / thin
            accepted = 0.0
    return beta, tuned
