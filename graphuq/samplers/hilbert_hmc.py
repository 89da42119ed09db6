"""Hilbert-space Hamiltonian Monte Carlo (Beskos, Pinski, Sanz-Serna, Stuart 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType
from numpy.typing import NDArray

from graphuq import validation
from graphuq.gaussian import Gaussian
from graphuq.jit import kernel
from graphuq.likelihoods.contract import FIELD, GRADIENT, OBSERVED, POTENTIAL, Bound
from graphuq.samplers.family import Array, Chunk, NonFinitePotentialError, Target, prior_blocks

# An energy error beyond this is a divergence: the integrator has left the level set.
DIVERGENCE = 1000.0
# A trajectory ends after so many steps, however small they are.
MOST_STEPS = 1000
# The k-th adaptation of the log step size goes by GAIN k^-DECAY, and weighs k^-FORGETTING in its
# average. Dual averaging swings further, and its average accepts more than was asked for.
_GAIN, _DECAY, _FORGETTING = 2.0, 0.6, 0.75
_FIRST_STEP = 0.1

# So many leading directions get a variance of their own, from draws whose number doubles; these
# count as so many more at the prior's variance.
LEADING, WINDOW, SHRINKAGE = 32, 64, 5
# A direction keeps the prior's variance unless the posterior's is below this share of it.
NARROW = 0.5
# Up to so many nodes, C is kept as one matrix where that is less to read than its factors.
DENSE = 1500


class Reference(NamedTuple):
    """The Gaussian N(0, K) whose part of the motion is exact: the prior, narrowed where Phi is.

    exp(-Phi(u)) N(u; 0, C) is exp(-Phi_K(u)) N(u; 0, K) with

        Phi_K(u) = Phi(u) - <u, (K^-1 - C^-1) u> / 2,

    and K differs from C in some of its basis's directions b only, where K^-1 - C^-1 is ``pull``.
    Any K leaves the posterior as it is; one as narrow as the posterior allows long steps.
    """

    law: Gaussian
    directions: Array
    """b, shape (d, m): those in which K is narrower than C."""
    pull: Array
    matrix: Array
    """K, shape (m, m), or empty."""

    @classmethod
    def narrowed(cls, prior: Gaussian, leading: NDArray[np.intp], shares: Array) -> Reference:
        """Return the reference with these shares of the prior's variance in ``leading``."""
        variances = prior.variances.copy()
        variances[leading] *= shares
        law = Gaussian(np.ascontiguousarray(prior.rows(...)), variances, prior.tail)
        narrow = shares < 1
        dense = law.size <= min(DENSE, 2 * variances.size)
        return cls(
            law,
            np.ascontiguousarray(law.basis[:, leading[narrow]].T),
            (1 / shares[narrow] - 1) / prior.variances[leading[narrow]],
            law.covariance() if dense else np.empty((0, 0)),
        )


class HMCState(NamedTuple):
    """Where a chain stands."""

    field: Array
    averages: Array
    """log step size, its average, adaptations made."""
    reference: Reference
    window: int
    seen: Array
    """Coordinates of warm-up's draws in the leading directions, since the last adaptation, shape
    (draws, k, d)."""


@dataclass(frozen=True)
class HilbertHMC:
    """Leapfrog steps that turn the Gaussian part exactly, and kick with the gradient of Phi.

    With position u and velocity v ~ N(0, C): v -= (h/2) C grad Phi(u); turn (u, v) by the angle
    h; v -= (h/2) C grad Phi(u). Without Phi it is exact for every h, whatever the number of
    nodes. Warm-up narrows the Gaussian that turns to the variances that the posterior has in the
    prior's leading directions (`Reference`). A trajectory turns by ``path`` times a number uniform
    on (1/2, 3/2), so that no mode comes back to where it was. Serves likelihoods with a gradient.

    Parameters
    ----------
    step_size : float in (0, pi/2], optional
        h, an angle. By default it is adapted during warm-up.
    target_acceptance : float in (0, 1)
        What adaptation aims at.
    path : float
        Mean angle of a trajectory. Under the prior a quarter turn, 1.57, forgets the start; where
        the likelihood says something all turns faster.
    thin : int
        Trajectories from one kept draw to the next, unless `sample` is told otherwise.

    Raises
    ------
    ValueError
        A parameter outside its range; a likelihood without a gradient.

    Examples
    --------
    >>> HilbertHMC(step_size=0.1)
    HilbertHMC(step_size=0.1, target_acceptance=0.9, path=1.25, thin=1)
    """

    step_size: float | None = None
    target_acceptance: float = 0.9
    path: float = 1.25
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
        law = target.law
        field = target.draw(rng)
        step = math.log(_FIRST_STEP if self.step_size is None else self.step_size)
        leading = _leading(law)
        reference = Reference.narrowed(law, leading, np.ones(leading.size))
        seen = np.empty((0, target.likelihood.columns, leading.size))
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
        fields = np.empty((draws, target.size))
        stats = {
            name: np.zeros(draws)
            for name in ("potential", "acceptance_rate", "step_size", "n_steps", "diverging")
        }
        for start in range(0, draws, WINDOW):
            part = slice(start, start + WINDOW)
            if tune and len(state.seen) >= state.window:
                state = _adapted(law, state)
            piece = Chunk(fields[part], {name: values[part] for name, values in stats.items()})
            state, good = self._walk(target, state, rng, thin, tune, piece)
            piece.stats["step_size"][:] = math.exp(state.averages[1])
            if good < piece.fields.shape[0] * thin:
                raise NonFinitePotentialError.after(
                    start * thin + good, thin, target, state.field, Chunk(fields, stats)
                )
            if tune:
                shape = len(piece.fields), target.likelihood.columns, law.size
                found = piece.fields.reshape(shape) @ law.basis[:, _leading(law)]
                seen = np.concatenate([state.seen, found])
                state = state._replace(seen=seen)
        return state, Chunk(fields, stats)

    def _walk(
        self,
        target: Target,
        state: HMCState,
        rng: np.random.Generator,
        thin: int,
        tune: bool,
        piece: Chunk,
    ) -> tuple[HMCState, int]:
        """Fill ``piece``; return the state, and after how many good trajectories."""
        reference, stats = state.reference, piece.stats
        law = reference.law
        field, averages = state.field.copy(), state.averages.copy()
        total = piece.fields.shape[0] * thin
        for first, velocities in prior_blocks(law, total, rng, target.likelihood.columns):
            good = _trajectories(
                field,
                velocities,
                reference.matrix,
                law.basis,
                law.variances - law.tail**2,
                law.tail**2,
                reference.directions,
                reference.pull,
                averages,
                self.target_acceptance if tune else 0.0,
                self.path,
                target.power,
                target.likelihood.potential,
                target.likelihood.gradient,
                target.likelihood.observed,
                rng,
                first,
                thin,
                piece.fields,
                stats["potential"],
                stats["acceptance_rate"],
                stats["n_steps"],
                stats["diverging"],
            )
            if good < velocities.shape[0]:
                total = first + good
                break
        return state._replace(field=field, averages=averages), total


def _leading(prior: Gaussian) -> NDArray[np.intp]:
    """Positions of the basis's directions with the largest variances, none of them zero."""
    order = np.argsort(-prior.variances)[:LEADING]
    return order[prior.inverse_variances[order] > 0]


def _adapted(prior: Gaussian, state: HMCState) -> HMCState:
    """Narrow the reference to what warm-up's last draws show, and look for the step size anew."""
    leading, count = _leading(prior), len(state.seen)
    shares = state.seen.var(axis=0).mean(axis=0) / prior.variances[leading]  # alike for all classes
    shares = np.maximum((count * shares + SHRINKAGE) / (count + SHRINKAGE), 1e-6)
    shares[shares > NARROW] = 1.0
    reference = Reference.narrowed(prior, leading, shares)
    averages = np.array([state.averages[0], state.averages[0], 0.0])
    return HMCState(state.field, averages, reference, 2 * state.window, state.seen[:0])


@numba.njit
def _tempered(phi, power):  # type: ignore[no-untyped-def]
    """Return b Phi; a forbidden place stays so at b = 0, where nothing else counts."""
    return phi if phi == math.inf else power * phi


@numba.njit(error_model="numpy")
def _times(g, matrix, basis, excess, tail_variance):  # type: ignore[no-untyped-def]
    """K g, for each column of g."""
    if matrix.size > 0:
        return np.dot(matrix, g)
    inside = np.dot(basis.T, g)
    for d in range(excess.size):
        inside[d] *= excess[d]
    return np.dot(basis, inside) + tail_variance * g


@numba.njit
def _along(directions, u):  # type: ignore[no-untyped-def]
    """Coordinates in the directions, for each column of u; BLAS takes no matrix without rows."""
    return np.dot(directions, u) if directions.size > 0 else np.empty((0, u.shape[1]))


@numba.njit
def _narrowing(pull, along):  # type: ignore[no-untyped-def]
    """<u, (K^-1 - C^-1) u> / 2."""
    total = 0.0
    for d in range(pull.size):
        for c in range(along.shape[1]):
            total += pull[d] * along[d, c] ** 2
    return 0.5 * total


@numba.njit
def _less_narrowing(g, power, directions, pull, along):  # type: ignore[no-untyped-def]
    """Turn Phi's gradient, in place, into Phi_K's."""
    for d in range(pull.size):
        along[d] *= pull[d]
    g *= power
    if pull.size > 0:
        g -= np.dot(directions.T, along)


@kernel(
    types.int64(
        FIELD,
        types.float64[:, ::1],
        types.float64[:, ::1],
        types.float64[:, ::1],
        types.float64[::1],
        types.float64,
        types.float64[:, ::1],
        types.float64[::1],
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
    matrix,
    basis,
    excess,
    tail_variance,
    directions,
    pull,
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
    """Move ``u``, in place, along a trajectory for each velocity v ~ N(0, K), which is used up.

    Potential and gradient g are those of Phi_K. K g is one product with the matrix, or two with
    the basis U, U (kappa - rho^2) U' g + rho^2 g, and is kept from the end of a trajectory for the
    start of the next. A kick changes the energy by - (h/2) <v, g> + (h^2/8) <g, K g>; a turn does
    not change its Gaussian part.
    Return how many were good: where Phi is NaN or -infinity at a finite field it stops, with that
    field in ``u``.
    """
    m, k = u.shape
    w, g = np.empty_like(u), np.empty_like(u)
    along = _along(directions, u)
    phi = _tempered(potential(u, observed), power) - _narrowing(pull, along)
    gradient(u, observed, g)
    _less_narrowing(g, power, directions, pull, along)
    Kg = _times(g, matrix, basis, excess, tail_variance)
    g_start, Kg_start = g.copy(), Kg.copy()
    for i in range(velocities.shape[0]):
        draw, rest = divmod(first + i + 1, thin)
        at = draw - (rest == 0)
        v = velocities[i]
        h = min(math.exp(averages[0] if target_acceptance > 0.0 else averages[1]), 0.5 * math.pi)
        count = min(MOST_STEPS, max(1, math.ceil(path * (0.5 + rng.random()) / h)))
        cos, sin = math.cos(h), math.sin(h)
        w[:] = u
        g[:] = g_start
        Kg[:] = Kg_start
        change, last = 0.0, 0.0
        for _ in range(count):
            for j in range(m):
                for c in range(k):
                    at_v = c * m + j
                    change += g[j, c] * (0.125 * h * h * Kg[j, c] - 0.5 * h * v[at_v])
                    kicked = v[at_v] - 0.5 * h * Kg[j, c]
                    v[at_v] = kicked * cos - w[j, c] * sin
                    w[j, c] = w[j, c] * cos + kicked * sin
            gradient(w, observed, g)
            along = _along(directions, w)
            last = _narrowing(pull, along)
            _less_narrowing(g, power, directions, pull, along)
            Kg[:] = _times(g, matrix, basis, excess, tail_variance)
            for j in range(m):
                for c in range(k):
                    at_v = c * m + j
                    change += g[j, c] * (0.125 * h * h * Kg[j, c] - 0.5 * h * v[at_v])
                    v[at_v] -= 0.5 * h * Kg[j, c]
            steps[at] += 1
            if not change < 1e300:  # overflow: nothing is left to follow
                break
        phi_w = _tempered(potential(w, observed), power) - last
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
            g_start[:] = g
            Kg_start[:] = Kg
        acceptance[at] += alpha / thin
        if target_acceptance > 0.0:
            averages[2] += 1.0
            tuned = averages[2]
            averages[0] += _GAIN * tuned**-_DECAY * (alpha - target_acceptance)
            averages[0] = min(averages[0], math.log(0.5 * math.pi))
            averages[1] += tuned**-_FORGETTING * (averages[0] - averages[1])
        if rest == 0:
            for c in range(u.shape[1]):
                fields[draw - 1, c * m : (c + 1) * m] = u[:, c]
            potentials[draw - 1] = potential(u, observed)
    return velocities.shape[0]
