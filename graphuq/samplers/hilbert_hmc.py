"""Hilbert-space Hamiltonian Monte Carlo (Beskos, Pinski, Sanz-Serna, Stuart 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

from graphuq import validation
from graphuq.jit import kernel
from graphuq.likelihoods.contract import FIELD, GRADIENT, OBSERVED, POTENTIAL, Bound
from graphuq.samplers.family import Array, Chunk, NonFinitePotentialError, Target, prior_blocks

# An energy error beyond this is a divergence: the integrator has left the level set.
DIVERGENCE = 1000.0
# A trajectory ends after so many steps, however small they are.
MOST_STEPS = 1000
# Dual averaging, with the constants of Hoffman and Gelman 2014, section 3.2.
_SHRINKAGE, _DELAY, _FORGETTING = 0.05, 10.0, 0.75
_FIRST_STEP = 0.1


class HMCState(NamedTuple):
    """Where a chain stands."""

    field: Array
    averages: Array
    """log step size, its average, the running acceptance error, adaptations made."""


@dataclass(frozen=True)
class HilbertHMC:
    """Leapfrog steps that turn the Gaussian part exactly, and kick with the gradient of Phi.

    With position u and velocity v ~ N(0, C): v -= (h/2) C grad Phi(u); turn (u, v) by the angle
    h; v -= (h/2) C grad Phi(u). Without Phi it is exact for every h, whatever the number of
    nodes. A trajectory turns by ``path`` times a number uniform on (1/2, 3/2), so that no mode
    comes back to where it was. Serves likelihoods with a gradient.

    Parameters
    ----------
    step_size : float in (0, pi/2], optional
        h, an angle. By default it is adapted during warm-up, by dual averaging.
    target_acceptance : float in (0, 1)
        What adaptation aims at.
    path : float
        Mean angle of a trajectory; a quarter turn forgets the prior's draw.
    thin : int
        Trajectories from one kept draw to the next, unless `sample` is told otherwise.

    Raises
    ------
    ValueError
        A parameter outside its range; a likelihood without a gradient.

    Examples
    --------
    >>> HilbertHMC(step_size=0.1)
    HilbertHMC(step_size=0.1, target_acceptance=0.8, path=1.5707963267948966, thin=1)
    """

    step_size: float | None = None
    target_acceptance: float = 0.8
    path: float = math.pi / 2
    thin: int = 1

    def __post_init__(self) -> None:
        if self.step_size is not None and not (
            0 < validation.real("step_size", self.step_size) <= math.pi / 2
        ):
            raise ValueError(f"step_size must lie in (0, pi/2], got {self.step_size}")
        if not 0 < validation.real("target_acceptance", self.target_acceptance) < 1:
            raise ValueError(f"target_acceptance must lie in (0, 1), got {self.target_acceptance}")
        validation.positive("path", self.path)
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return half of ``draws``, and at least 200: the step size needs that many."""
        return max(200, draws // 2)

    def noise(self, likelihood: Bound) -> float:
        """Return 0, if the likelihood has a gradient."""
        if likelihood.gradient is None:
            raise ValueError(
                "gq.HilbertHMC serves likelihoods with a gradient, such as GinzburgLandau, Probit "
                "and NoisyProbit; this one has none: take gq.EllipticalSlice or gq.PCN, or "
                "gq.Harmonic for sign models"
            )
        return 0.0

    def start(self, target: Target, rng: np.random.Generator) -> HMCState:
        """Return a draw from the prior."""
        field = np.ascontiguousarray(target.law.draw(1, rng).T)
        step = math.log(_FIRST_STEP if self.step_size is None else self.step_size)
        return HMCState(field, np.array([step, step, 0.0, 0.0]))

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
        law = target.law
        field, averages = state.field.copy(), state.averages.copy()
        adapted = self.step_size is None
        fields = np.empty((draws, law.size))
        potential, acceptance = np.empty(draws), np.zeros(draws)
        steps, diverging = np.zeros(draws), np.zeros(draws)
        for first, velocities in prior_blocks(law, draws * thin, rng):
            good = _trajectories(
                field,
                velocities,
                law.basis,
                law.variances - law.tail**2,
                law.tail**2,
                averages,
                self.target_acceptance if tune and adapted else 0.0,
                self.path,
                target.power,
                target.likelihood.potential,
                target.likelihood.gradient,
                target.likelihood.observed,
                rng,
                first,
                thin,
                fields,
                potential,
                acceptance,
                steps,
                diverging,
            )
            if good < velocities.shape[0]:
                break
        stats = {
            "potential": potential,
            "acceptance_rate": acceptance,
            "step_size": np.full(draws, math.exp(averages[1])),
            "n_steps": steps,
            "diverging": diverging,
        }
        chunk = Chunk(fields, stats)
        if good < velocities.shape[0]:
            raise NonFinitePotentialError.after(first + good, thin, target, field, chunk)
        return HMCState(field, averages), chunk


@kernel(
    types.int64(
        FIELD,
        types.float64[:, ::1],
        types.float64[:, ::1],
        types.float64[::1],
        types.float64,
        types.float64[::1],
        types.float64,
        types.float64,
        types.float64,
        POTENTIAL,
        GRADIENT,
        OBSERVED,
        NumPyRandomGeneratorType("NumPyRandomGeneratorType"),
        types.int64,
        types.int64,
        types.float64[:, ::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
        types.float64[::1],
    )
)
def _trajectories(  # type: ignore[no-untyped-def]
    u,
    velocities,
    basis,
    excess,
    tail_variance,
    averages,
    target_acceptance,
    path,
    power,
    potential,
    gradient,
    observed,
    rng,
    first,
    thin,
    fields,
    potentials,
    acceptance,
    steps,
    diverging,
):
    """Move ``u``, in place, along a trajectory for each velocity v ~ N(0, C), which is used up.

    C g = U (kappa - rho^2) U' g + rho^2 g is two products with the basis U, and is kept from the
    end of a trajectory for the start of the next. A kick changes the energy by
    - (h/2) <v, g> + (h^2/8) <g, C g>; a turn does not change its Gaussian part.
    Return how many were good: where Phi is NaN or -infinity at a finite field it stops, with that
    field in ``u``.
    """
    m = u.shape[0]
    w, g = np.empty_like(u), np.empty_like(u)
    g_flat = g.reshape(m)
    phi = power * potential(u, observed)
    gradient(u, observed, g)
    g *= power
    Cg = np.dot(basis, excess * np.dot(basis.T, g_flat)) + tail_variance * g_flat
    g_start, Cg_start = g_flat.copy(), Cg.copy()
    for i in range(velocities.shape[0]):
        draw, rest = divmod(first + i + 1, thin)
        at = draw - (rest == 0)
        v = velocities[i]
        h = min(math.exp(averages[0] if target_acceptance > 0.0 else averages[1]), 0.5 * math.pi)
        count = min(MOST_STEPS, max(1, math.ceil(path * (0.5 + rng.random()) / h)))
        cos, sin = math.cos(h), math.sin(h)
        w[:] = u
        g_flat[:] = g_start
        Cg[:] = Cg_start
        change = 0.0
        for _ in range(count):
            for j in range(m):
                change += g_flat[j] * (0.125 * h * h * Cg[j] - 0.5 * h * v[j])
                v[j] -= 0.5 * h * Cg[j]
                turned = w[j, 0] * cos + v[j] * sin
                v[j] = v[j] * cos - w[j, 0] * sin
                w[j, 0] = turned
            gradient(w, observed, g)
            g *= power
            Cg[:] = np.dot(basis, excess * np.dot(basis.T, g_flat)) + tail_variance * g_flat
            for j in range(m):
                change += g_flat[j] * (0.125 * h * h * Cg[j] - 0.5 * h * v[j])
                v[j] -= 0.5 * h * Cg[j]
            steps[at] += 1
            if not change < 1e300:  # overflow: nothing is left to follow
                break
        phi_w = power * potential(w, observed)
        if not phi_w > -math.inf and np.isfinite(w).all():
            u[:] = w
            return i
        error = phi_w - phi + change
        alpha = math.exp(min(0.0, -error)) if error == error else 0.0
        if not error < DIVERGENCE:
            diverging[at] = 1.0
        if rng.random() < alpha:
            phi = phi_w
            u[:] = w
            g_start[:] = g_flat
            Cg_start[:] = Cg
        acceptance[at] += alpha / thin
        if target_acceptance > 0.0:
            # eq. (6) there, shrunk towards log step size 0
            averages[3] += 1.0
            k = averages[3]
            averages[2] += (target_acceptance - alpha - averages[2]) / (k + _DELAY)
            averages[0] = min(-math.sqrt(k) / _SHRINKAGE * averages[2], math.log(0.5 * math.pi))
            averages[1] += k**-_FORGETTING * (averages[0] - averages[1])
        if rest == 0:
            fields[draw - 1] = u[:, 0]
            potentials[draw - 1] = potential(u, observed)
    return velocities.shape[0]
