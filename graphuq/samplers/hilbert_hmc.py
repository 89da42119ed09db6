"""Hilbert-space Hamiltonian Monte Carlo (Beskos, Pinski, Sanz-Serna, Stuart 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound
from graphuq.priors.gaussian import Gaussian
from graphuq.samplers.hmc_reference import Reference, leading_directions
from graphuq.samplers.hmc_settings import check_settings
from graphuq.samplers.leapfrog import STATISTICS, Metric, Settings, trajectories
from graphuq.samplers.protocol import (
    Chunk,
    Kept,
    NonFinitePotentialError,
    Sampler,
    Target,
    prior_blocks,
)
from graphuq.utils.typing import Array

# Warm-up learns the reference for the first time from this many draws; the number then doubles.
WINDOW = 64
FIRST_STEP = 0.1


class HMCState(NamedTuple):
    """The state of a chain."""

    field: Array
    """The field at the nodes read, shape (m, C)."""
    averages: Array
    """The log step size, its average, and the number of adaptations made."""
    reference: Reference
    window: int
    """Draws from which the reference is learned next."""
    seen: Array
    """Coordinates of warm-up's draws in the leading directions since then, shape (draws, C, d)."""


@dataclass(frozen=True)
class HilbertHMC(Sampler):
    """Leapfrog steps that turn the Gaussian part exactly, and kick with the gradient of Phi.

    A step with position u and velocity v ~ N(0, C) is: v -= (h/2) C grad Phi(u); turn (u, v) by
    the angle h; v -= (h/2) C grad Phi(u). Without Phi it is exact for every h and any number of
    nodes. Warm-up narrows the Gaussian that turns to the posterior's variances in the leading
    directions of the prior (`graphuq.samplers.hmc_reference.Reference`). A trajectory turns by
    ``path`` times a uniform number from (1/2, 3/2), so that no mode returns to its start. The
    likelihood needs a gradient.

    Parameters
    ----------
    step_size : float in (0, pi/2], optional
        h, an angle. By default it is adapted during warm-up.
    target_acceptance : float in (0, 1)
        The acceptance rate that adaptation aims at.
    path : float
        Mean angle of a trajectory. Under the prior a quarter turn, 1.57, forgets the start; under
        an informative likelihood less is enough.
    thin : int
        Trajectories from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        A parameter outside its range; a likelihood without a gradient.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.HilbertHMC(step_size=0.1)
    HilbertHMC(step_size=0.1, target_acceptance=0.9, path=1.25, thin=1)
    """

    step_size: float | None = None
    target_acceptance: float = 0.9
    path: float = 1.25
    thin: int = 1

    def __post_init__(self) -> None:
        check_settings(self.step_size, self.target_acceptance, self.path, self.thin)

    def warmup(self, draws: int) -> int:
        """Return half of ``draws``, and at least 200, which the step size needs."""
        return max(200, draws // 2)

    def noise(self, likelihood: Bound) -> float:
        """Return 0 if the likelihood has a gradient."""
        if likelihood.gradient is None:
            raise ValueError(
                "gq.HilbertHMC needs a likelihood with a gradient, such as GinzburgLandau, Probit "
                "and NoisyProbit; this one has none: use gq.EllipticalSlice or gq.PCN, or "
                "gq.Harmonic for sign models"
            )
        return 0.0

    def start(self, target: Target, rng: np.random.Generator) -> HMCState:
        """Return a draw from the prior."""
        law = target.law
        field = target.draw(rng)
        step = math.log(FIRST_STEP if self.step_size is None else self.step_size)
        leading = leading_directions(law)
        reference = Reference.narrowed(law, leading, np.ones(leading.size))
        seen = np.empty((0, target.likelihood.n_fields, leading.size))
        return HMCState(field, np.array([step, step, 0.0]), reference, WINDOW, seen)

    def advance(
        self,
        target: Target,
        state: HMCState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[HMCState, Chunk]:
        """Make ``draws * thin`` trajectories and keep every ``thin``-th end."""
        law, tune = target.law, tune and self.step_size is None
        kept = Kept(draws, thin, target.shape, ("potential", "step_size"), STATISTICS[1:])
        together = WINDOW if tune else draws  # a call of the kernel takes a millisecond
        for start in range(0, draws, together):
            part = slice(start, min(start + together, draws))
            if tune and len(state.seen) >= state.window:
                state = _with_new_reference(law, state)
            state = self._walk(target, state, rng, part, thin, tune, kept)
            kept.stats["step_size"][part] = math.exp(state.averages[1])
            if tune:
                found = kept.fields[part] @ law.basis[:, leading_directions(law)]
                state = state._replace(seen=np.concatenate([state.seen, found]))
        np.minimum(kept.stats["diverging"], 1.0, out=kept.stats["diverging"])
        return state, kept.chunk()

    def _walk(
        self,
        target: Target,
        state: HMCState,
        rng: np.random.Generator,
        part: slice,
        thin: int,
        tune: bool,
        kept: Kept,
    ) -> HMCState:
        """Make the trajectories of some draws."""
        bound, law = target.likelihood, state.reference.law
        field, averages = state.reference.inside(state.field).copy(), state.averages.copy()
        metric = _metric(state.reference)
        aim = float(self.target_acceptance) if tune else 0.0
        settings = Settings(aim, float(self.path), float(target.power))
        begin, total = part.start * thin, (part.stop - part.start) * thin
        for first, velocities in prior_blocks(law, total, rng, bound.n_fields):
            fields, stats = np.empty(velocities.shape), np.zeros((4, len(velocities)))
            good = trajectories(
                field,
                velocities,
                metric,
                averages,
                settings,
                bound.potential,
                bound.gradient,
                bound.observed,
                rng,
                fields,
                stats,
            )
            kept.add(begin + first, fields, dict(zip(STATISTICS, stats, strict=True)))
            if good < len(velocities):
                steps, chunk = begin + first + good, kept.chunk()
                raise NonFinitePotentialError.after(steps, thin, target, field, chunk)
        return state._replace(field=field, averages=averages)


def _with_new_reference(prior: Gaussian, state: HMCState) -> HMCState:
    """Return the state with the reference of the last window, and restart the step size."""
    step = state.averages[0]
    return HMCState(
        state.field,
        np.array([step, step, 0.0]),
        Reference.learned(prior, state.seen),
        2 * state.window,
        state.seen[:0],
    )


def _metric(reference: Reference) -> Metric:
    """Return K for compiled code."""
    law, tail_variance = reference.law, float(reference.law.tail**2)
    return Metric(
        reference.matrix,
        reference.single,
        law.basis,
        law.variances - tail_variance,
        tail_variance,
        reference.directions,
        reference.pull,
    )
