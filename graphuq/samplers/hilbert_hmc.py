"""Hilbert-space Hamiltonian Monte Carlo about a Gaussian that warm-up finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.likelihoods.bound import Bound
from graphuq.priors.gaussian import Gaussian
from graphuq.samplers.leapfrog import STATISTICS, Reference, Settings, trajectories
from graphuq.samplers.protocol import Chunk, Kept, NonFinitePotentialError, Sampler, Target
from graphuq.utils import validation
from graphuq.utils.typing import Array
from graphuq.utils.white_noise import white_noise

# Warm-up learns the reference for the first time from this many draws; the number then doubles.
WINDOW = 64
# This many leading directions get a variance of their own, from warm-up's draws; the prior's
# variance counts as much as SHRINKAGE draws. A direction keeps the prior's unless the posterior's
# is below the share NARROW of it.
LEADING, SHRINKAGE, NARROW = 32, 5, 0.5


class HMCState(NamedTuple):
    """The state of a chain."""

    field: Array
    """The coefficients (a, e) of the field, white under the prior, shape (p or p + m, C)."""
    averages: Array
    """The log step size, its average, and the number of adaptations made."""
    shares: Array
    """Variances of a in the reference."""
    window: int
    """Draws from which the reference is learned next."""
    seen: Array
    """Leading coefficients of warm-up's draws since then, shape (draws, d, C)."""


@dataclass(frozen=True)
class HilbertHMC(Sampler):
    """Leapfrog steps that turn the Gaussian part exactly, and kick with the gradient of Phi.

    A step with position u and velocity v ~ N(0, C) is: v -= (h/2) C grad Phi(u); turn (u, v) by
    the angle h; v -= (h/2) C grad Phi(u). Without Phi it is exact for every h and any number of
    nodes. Warm-up narrows the Gaussian that turns to the posterior's variances in the leading
    directions of the prior (`graphuq.samplers.leapfrog.Reference`). A trajectory turns by
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
    first_step: ClassVar[float] = 0.1
    jitter: ClassVar[float] = 0.5
    """The angle of a trajectory is ``path`` times a number from (1 - jitter, 1 + jitter)."""

    def __post_init__(self) -> None:
        step = self.step_size
        if step is not None and not 0 < validation.real("step_size", step) <= math.pi / 2:
            raise ValueError(f"step_size must lie in (0, pi/2], got {step}")
        if not 0 < validation.real("target_acceptance", self.target_acceptance) < 1:
            raise ValueError(f"target_acceptance must lie in (0, 1), got {self.target_acceptance}")
        validation.positive("path", self.path)
        validation.integer("thin", self.thin, 1)

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
        law, n_fields = target.law, target.likelihood.n_fields
        size = law.variances.size + law.size * law.has_tail
        seen = np.empty((0, _leading(law).size, n_fields))
        shares = np.ones(law.variances.size)
        return HMCState(
            rng.standard_normal((size, n_fields)), self._first_averages(), shares, WINDOW, seen
        )

    def _first_averages(self) -> Array:
        step = math.log(self.first_step if self.step_size is None else self.step_size)
        return np.array([step, step, 0.0])

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
        tune = tune and self.step_size is None
        kept = Kept(draws, thin, state.field.shape, ("potential", "step_size"), STATISTICS[1:])
        together = WINDOW if tune else draws
        for start in range(0, draws, together):
            part = slice(start, min(start + together, draws))
            if tune and 0 < state.window <= len(state.seen):
                state = _with_new_reference(state, target.law)
            state = self._walk(target, state, rng, part, thin, tune, kept)
            kept.stats["step_size"][part] = math.exp(state.averages[1])
            if tune and state.window:
                found = kept.fields[part][:, _leading(target.law)]
                state = state._replace(seen=np.concatenate([state.seen, found]))
        return state, self._chunk(target, kept)

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
        bound, reference = target.likelihood, self._reference(target, state)
        x, averages = reference.coordinates(state.field), state.averages.copy()
        u = np.empty((reference.center.size, bound.n_fields))
        aim = float(self.target_acceptance) if tune else 0.0
        settings = Settings(aim, float(self.path), self.jitter, float(target.power))
        block = int(np.clip(2**21 // x.size, 1, 256))
        for first in range(part.start * thin, part.stop * thin, block):
            steps = min(block, part.stop * thin - first)
            velocities = white_noise(rng, steps, x.size).reshape(steps, *x.shape)
            ends, stats = np.empty(velocities.shape), np.zeros((4, steps))
            good = trajectories(
                x,
                u,
                velocities,
                reference.coordinate_map(),
                averages,
                settings,
                bound.potential,
                bound.gradient,
                bound.observed,
                rng,
                ends,
                stats,
            )
            kept.add(first, reference.coefficients(ends), dict(zip(STATISTICS, stats, strict=True)))
            if good < steps:
                chunk = self._chunk(target, kept, (first + good) // thin)
                raise NonFinitePotentialError.after(first + good, thin, target, u, chunk)
        return state._replace(field=reference.coefficients(x), averages=averages)

    def _reference(self, target: Target, state: HMCState) -> Reference:
        """Return the Gaussian about which steps move."""
        law, p = target.law, state.shares.size
        loadings = law.rows(slice(None)) * (_scale(law) * np.sqrt(state.shares))
        return Reference(
            np.zeros(p),
            np.empty((0, 0)),
            state.shares,
            np.zeros(law.size),
            loadings.astype(np.float32),
            law.tail * law.has_tail,
        )

    def _chunk(self, target: Target, kept: Kept, draws: int | None = None) -> Chunk:
        """Return the first draws, in double precision."""
        np.minimum(kept.stats["diverging"], 1.0, out=kept.stats["diverging"])
        law, p = target.law, target.law.variances.size
        a = kept.fields[:draws].swapaxes(1, 2)
        fields = (a[:, :, :p] * _scale(law)) @ law.rows(slice(None)).T
        if law.has_tail:
            fields += law.tail * a[:, :, p:]
        return Chunk(fields, kept.stats)


def _scale(law: Gaussian) -> Array:
    """Return the deviation of the field along the basis, without the tail's."""
    return np.sqrt(np.maximum(law.variances - law.tail**2 * law.has_tail, 0.0))


def _leading(law: Gaussian) -> NDArray[np.intp]:
    """Return the positions of the basis's directions with the largest variances."""
    return np.argsort(-law.variances)[:LEADING]


def _with_new_reference(state: HMCState, law: Gaussian) -> HMCState:
    """Return the state with the reference that warm-up's draws suggest, and restart the step."""
    count, shares = len(state.seen), np.ones(law.variances.size)
    found = state.seen.var(axis=0).mean(axis=1)  # one for all classes
    found = np.maximum((count * found + SHRINKAGE) / (count + SHRINKAGE), 1e-6)
    shares[_leading(law)] = np.where(found > NARROW, 1.0, found)
    step = state.averages[0]
    return HMCState(
        state.field, np.array([step, step, 0.0]), shares, 2 * state.window, state.seen[:0]
    )
