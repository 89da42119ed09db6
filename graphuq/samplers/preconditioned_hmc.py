"""Hilbert HMC of the modes, about a Gaussian close to the posterior: for many labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound
from graphuq.samplers.hmc_settings import check_settings
from graphuq.samplers.leapfrog import STATISTICS
from graphuq.samplers.mode_reference import mode_reference
from graphuq.samplers.preconditioned_leapfrog import (
    Coordinates,
    Settings,
    trajectories,
)
from graphuq.samplers.protocol import Chunk, Kept, NonFinitePotentialError, Sampler, Target
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

FIRST_STEP = 0.5

# A forecast of the steps of a trajectory; labels that agree need more.
STEPS = 4

# Velocities drawn at a time.
BLOCK_STEPS = 256

# The angle of a trajectory is ``path`` times a uniform number from (1 - JITTER, 1 + JITTER).
JITTER = 0.3


class PreconditionedState(NamedTuple):
    """The state of a chain."""

    field: Array
    """z, the coordinates of the field about the reference, shape (p,)."""
    averages: Array
    """The log step size, its average, and the number of adaptations made."""


def is_supported(likelihood: Bound) -> bool:
    """Whether a likelihood is a sign model of two classes with a gradient."""
    signs = likelihood.sign_model is not None and likelihood.n_fields == 1
    return signs and likelihood.gradient is not None


@dataclass(frozen=True)
class PreconditionedHMC(Sampler):
    """Hilbert HMC of the p modes of the field, about a Gaussian close to the posterior.

    For many labels: J several times the rank. Without a tail the field at the labeled nodes is
    u_J = A a, where a ~ N(0, I) are the modes. A Gaussian close to the posterior of a turns
    exactly, as in `HilbertHMC`. What is left of the potential is small where labels are many, and a
    few steps of a large angle give a nearly independent draw. A step reads A once, O(J p);
    `Harmonic` needs J x J numbers. It supports probit and noisy probit of two classes,
    under priors whose modes determine the field, such as `Prior.projected`.

    Parameters
    ----------
    step_size : float in (0, pi/2], optional
        Largest angle of a step. By default it is adapted during warm-up.
    target_acceptance : float in (0, 1)
        The acceptance rate that adaptation aims at.
    path : float
        Mean angle of a trajectory. A quarter turn, 1.57, forgets the start; a little more makes
        successive draws anticorrelated and their means more accurate.
    thin : int
        Trajectories from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        A parameter outside its range; a likelihood or a prior that it does not support.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.PreconditionedHMC(step_size=0.5)
    PreconditionedHMC(step_size=0.5, target_acceptance=0.8, path=1.8, thin=1)
    """

    step_size: float | None = None
    target_acceptance: float = 0.8
    path: float = 1.8
    thin: int = 1
    samples_modes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self.step_size, self.target_acceptance, self.path, self.thin)

    def warmup(self, draws: int) -> int:
        """Return 100: the step size needs no more, and a few trajectories forget the start."""
        del draws
        return 100

    def noise(self, likelihood: Bound) -> float:
        """Return 0 if the likelihood is supported."""
        if not is_supported(likelihood):
            raise ValueError(
                "gq.PreconditionedHMC needs a sign model of two classes with a gradient, Probit or "
                "NoisyProbit: use gq.Harmonic for other sign models, else gq.HilbertHMC or "
                "gq.EllipticalSlice"
            )
        return 0.0

    def check(self, target: Target) -> None:
        """Refuse modes at so many nodes that there is too little memory."""
        assert target.loadings is not None
        m, p = target.loadings.shape
        require_memory(4.0 * m * p, f"{p} modes at {m} labeled nodes", "take fewer modes")

    def draw_seconds(
        self, target: Target, thin: int, stats: dict[str, Array] | None = None
    ) -> float:
        """Return about how long a kept draw takes: most of it reads the loadings."""
        assert target.loadings is not None
        steps = STEPS if stats is None else float(stats["n_steps"].mean()) / thin
        return thin * (1e-6 + steps * 4e-10 * target.loadings.size)

    def start(self, target: Target, rng: np.random.Generator) -> PreconditionedState:
        """Return a draw from a Gaussian twice as wide as the reference."""
        z = 2.0 * rng.standard_normal(target.law.size)
        step = math.log(FIRST_STEP if self.step_size is None else self.step_size)
        return PreconditionedState(z, np.array([step, step, 0.0]))

    def advance(
        self,
        target: Target,
        state: PreconditionedState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[PreconditionedState, Chunk]:
        """Make ``draws * thin`` trajectories and keep every ``thin``-th end."""
        bound, reference = target.likelihood, mode_reference(target)
        z, averages = state.field.copy(), state.averages.copy()
        u = np.empty((reference.center.size, 1))
        kept = Kept(draws, thin, z.shape, summed=STATISTICS[1:])
        aim = float(self.target_acceptance) if tune and self.step_size is None else 0.0
        settings = Settings(aim, float(self.path), JITTER)
        good = total = draws * thin
        for first in range(0, total, BLOCK_STEPS):
            velocities = rng.standard_normal((min(BLOCK_STEPS, total - first), z.size))
            ends, stats = np.empty(velocities.shape), np.zeros((4, len(velocities)))
            done = trajectories(
                z,
                u,
                velocities,
                Coordinates(reference.mean, reference.root, reference.center, reference.loadings),
                averages,
                settings,
                bound.potential,
                bound.gradient,
                bound.observed,
                rng,
                ends,
                stats,
            )
            kept.add(first, ends, dict(zip(STATISTICS, stats, strict=True)))
            if done < len(velocities):
                good = first + done
                break
        np.minimum(kept.stats["diverging"], 1.0, out=kept.stats["diverging"])
        kept.stats["step_size"] = np.full(draws, math.exp(averages[1]))
        chunk = Chunk(reference.modes(kept.fields[: good // thin])[:, None], kept.stats)
        if good < total:
            raise NonFinitePotentialError.after(good, thin, target, u, chunk)
        return PreconditionedState(z, averages), chunk
