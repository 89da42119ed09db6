"""The preconditioned Crank-Nicolson sampler: Algorithms 1, 2 and 3, one for each prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
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

FIRST_BETA = 0.3


class PCNState(NamedTuple):
    """The state of a chain."""

    field: Array
    """The field at the nodes read, shape (m, C)."""
    beta: float
    """Size of a step."""
    tuned: int
    """Steps of adaptation made so far."""


@dataclass(frozen=True)
class PCN(Sampler):
    """Preconditioned Crank-Nicolson: propose w = sqrt(1 - beta^2) u + beta xi, xi ~ N(0, C).

    Accept with probability min(1, exp(Phi(u) - Phi(w))); Bertozzi et al. 2018, Algorithms 1 to 3.
    It supports every likelihood. Its draws are strongly correlated: hundreds of steps are worth one
    independent draw.

    Parameters
    ----------
    beta : float in (0, 1], optional
        Size of a step. By default it starts at 0.3, and step t of the warm-up multiplies it by
        exp((alpha - target_acceptance) t^-0.6), where alpha is the step's acceptance probability
        (Robbins and Monro 1951); it stays at most 1, and is fixed after the warm-up.
    target_acceptance : float in (0, 1)
        The acceptance rate that adaptation aims at.
    thin : int
        Steps from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        A parameter outside its range.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.PCN(beta=0.3)
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
        field = target.draw(rng)
        return PCNState(field, FIRST_BETA if self.beta is None else float(self.beta), 0)

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
        field, bound = state.field.copy(), target.likelihood
        aim = float(self.target_acceptance) if tune and self.beta is None else 0.0
        beta, tuned = state.beta, state.tuned
        kept = Kept(draws, thin, target.shape, summed=("acceptance_rate",))
        for first, xi in prior_blocks(target.law, draws * thin, rng, bound.n_fields):
            fields, potential, alpha = np.empty(xi.shape), np.empty(len(xi)), np.zeros(len(xi))
            step = Step(beta, tuned, aim, target.power)
            beta, tuned, good = _walk(
                field, xi, step, bound.potential, bound.observed, rng, fields, potential, alpha
            )
            kept.add(first, fields, {"potential": potential, "acceptance_rate": alpha})
            kept.stats["beta"] = np.full(draws, beta)
            if good < len(xi):
                chunk = kept.chunk()
                raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return PCNState(field, beta, tuned), kept.chunk()


class Step(NamedTuple):
    """The settings of a step, as the kernel reads them."""

    beta: float
    tuned: int
    aim: float
    """Acceptance rate that adaptation aims at; 0 for none."""
    power: float


STEP = types.NamedTuple([types.float64, types.int64, types.float64, types.float64], Step)


@numba.njit
def _tempered(phi, power):  # type: ignore[no-untyped-def]
    """Return b Phi; a forbidden place stays forbidden at b = 0, where nothing else counts."""
    return phi if phi == math.inf else power * phi


@kernel(
    types.Tuple([types.float64, types.int64, types.int64])(
        FIELD,
        types.float64[:, :, ::1],
        STEP,
        POTENTIAL,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.float64[:, :, ::1],
        types.float64[::1],
        types.float64[::1],
    )
)
def _walk(u, xi, step, potential, observed, rng, fields, potentials, alphas):  # type: ignore[no-untyped-def]
    """Make a step of ``u``, in place, for each draw xi ~ N(0, C) of eqs. (11), (12) or (14).

    Write the state, its Phi and the acceptance probability of each step. Return beta, its
    adaptations, and how many steps were good: the walk stops where Phi is NaN or -infinity, with
    that proposal in ``u``.
    """
    m, w = u.shape[0], np.empty_like(u)
    beta, tuned, aim, power = step
    now = potential(u, observed)
    for i in range(xi.shape[0]):
        # propose
        keep = math.sqrt(1.0 - beta * beta)
        for j in range(m):
            for c in range(u.shape[1]):
                w[j, c] = keep * u[j, c] + beta * xi[i, c, j]
        there = potential(w, observed)
        if not there > -math.inf:
            copy_matrix(w, u)
            return beta, tuned, i
        # accept
        phi, phi_w = _tempered(now, power), _tempered(there, power)
        alphas[i] = 1.0 if phi == math.inf else math.exp(min(0.0, phi - phi_w))
        if rng.random() < alphas[i]:
            now = there
            copy_matrix(w, u)
        # adapt: Robbins-Monro on log beta
        if aim > 0.0:
            tuned += 1
            beta = min(1.0, beta * math.exp((alphas[i] - aim) * tuned**-0.6))
        for c in range(u.shape[1]):
            for j in range(m):
                fields[i, c, j] = u[j, c]
        potentials[i] = now
    return beta, tuned, xi.shape[0]
