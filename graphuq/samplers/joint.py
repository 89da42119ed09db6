"""The harmonic sampler with sampled hyperparameters: a collapsed Gibbs sampler.

Under fixed hyperparameters x = M a, with M = [Q_J diag(sigma), noise I] and a = (z, eta) ~ N(0, I).
A step is

1. hyperparameters given z, eta integrated out: slices (`graphuq.samplers.hyperparameter_slices`);
2. eta given z and the labels: truncated normals;
3. a, by one harmonic flow of x that carries a along.

z is the non-centered parametrization (Papaspiliopoulos, Roberts and Skold 2007): a new sigma moves
the field, and only the labels hold it. The order makes the collapsed step 1 valid (van Dyk and Park
2008): eta is drawn afresh before anything is conditioned on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.probit import log_cdf
from graphuq.priors.prior import Prior
from graphuq.priors.whittle_matern import MEAN_ALPHA
from graphuq.samplers.harmonic import HIT_SECONDS, Harmonic, advice_on_walls
from graphuq.samplers.hyperparameter_slices import (
    NAMES,
    Problem,
    add_noise,
    log_likelihood,
    slice_hyperparameters,
)
from graphuq.samplers.protocol import Chunk, Sampler, Target
from graphuq.samplers.sign_walls import SignWalls, quarter_turn
from graphuq.samplers.walls import walls_of
from graphuq.utils.typing import Array
from graphuq.utils.white_noise import white_noise

# This many of the names belong to the prior.
OF_THE_PRIOR = 2


class JointState(NamedTuple):
    """The state of a chain."""

    field: Array
    """z, the whitened modes, which determine the field for all hyperparameters."""
    point: Array
    """alpha, log tau, log gamma, log flip_rate."""


@dataclass(frozen=True, eq=False)
class Joint(Sampler):
    """The transition of one chain.

    Parameters
    ----------
    prior : Prior
        Without a tail; any alpha and tau.
    box : ndarray, shape (4, 2)
        Ranges of (alpha, log tau, log gamma, log flip_rate); equal ends where one is fixed.
    level_set : bool
        Whether gamma is that of the level-set likelihood, which has no flip rate.
    sweeps : int
        Rounds of slices in a step.
    thin : int
        Steps from one kept draw to the next, by default.
    """

    prior: Prior
    box: Array
    level_set: bool
    sweeps: int = 2
    thin: int = 5
    steady: ClassVar[bool] = False

    def warmup(self, draws: int) -> int:
        """Return 100."""
        del draws
        return 100

    def draw_seconds(
        self, target: Target, thin: int, stats: dict[str, Array] | None = None
    ) -> float:
        """Return about how long a kept draw takes: covariances, and the walls that it hits."""
        m, p = target.law.size, self.prior.rank
        hits = 0.0 if stats is None else float(stats["n_walls"].mean())
        return thin * (1e-4 + 5e-9 * m * p + 1e-10 * m**2 * p) + HIT_SECONDS * hits * m

    def advice(self, target: Target, thin: int, stats: dict[str, Array]) -> str:
        """Return what to do if labels contradict each other, so that draws hit many walls."""
        return advice_on_walls(float(stats["n_walls"].mean()) / thin, target.law.size)

    def start(self, target: Target, rng: np.random.Generator) -> JointState:
        """Return hyperparameters from the box, and a field that fits the labels, or nearly."""
        low, high = self.box.T
        point = low.copy()
        free = low < high
        point[free] = rng.uniform(low[free], high[free])
        problem = self._problem(target)._replace(sweeps=0)
        sigma, f = np.empty(problem.values.size), np.empty(problem.y.size)
        z = np.zeros(sigma.size)
        noise, cost = slice_hyperparameters(rng, z, problem, point, log_cdf, sigma, f)
        prior = self.prior.with_parameters(alpha=float(point[0]), tau=float(np.exp(point[1])))
        fixed = Target(
            prior.at(target.likelihood.nodes).with_noise(noise),
            target.likelihood._replace(sign_model=(noise, cost)),
        )
        _, chunk = Harmonic().advance(fixed, Harmonic().start(fixed, rng), rng, 1, 1, False)
        z, _ = _flow(rng, problem, chunk.fields[0, 0], sigma, noise, cost)
        return JointState(z, point)

    def advance(
        self,
        target: Target,
        state: JointState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[JointState, Chunk]:
        """Make ``draws * thin`` steps and keep every ``thin``-th state."""
        del tune  # there is nothing to tune
        problem = self._problem(target)
        Q, y = problem.Q, problem.y
        z, point = state.field, state.point.copy()
        sigma, f, x = np.empty(z.size), np.empty(y.size), np.empty(y.size)
        modes, points = np.empty((draws, z.size)), np.empty((draws, point.size))
        potential, hits = np.empty(draws), np.zeros(draws)
        for draw in range(draws):
            for _ in range(thin):
                # 1. hyperparameters given z
                noise, cost = slice_hyperparameters(rng, z, problem, point, log_cdf, sigma, f)
                # 2. eta given z and the labels
                add_noise(rng, f, y, noise, cost, x)
                # 3. z and eta, by a harmonic flow
                z, n_walls = _flow(rng, problem, x, sigma, noise, cost)
                hits[draw] += n_walls
            modes[draw], points[draw] = z, point
            potential[draw] = -log_likelihood(Q @ (sigma * z), y, noise, cost, log_cdf)
        points[:, 1:] = np.exp(points[:, 1:])
        free = np.flatnonzero(self.box[:, 0] < self.box[:, 1])
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_walls": hits,
            **{NAMES[i]: points[:, i] for i in free},
        }
        fields = np.column_stack([modes, points[:, free[free < OF_THE_PRIOR]]])
        return JointState(z, point), Chunk(fields[:, None], stats)

    def _problem(self, target: Target) -> Problem:
        assert target.likelihood.nodes is not None
        return Problem(
            np.ascontiguousarray(self.prior.modes_at(target.likelihood.nodes)),
            np.append([0.0] * self.prior.null_mode, self.prior.spectrum.values),
            float(self.prior.n_nodes),
            target.likelihood.observed.y,
            self.box,
            float(MEAN_ALPHA),
            self.level_set,
            self.sweeps,
        )


def _flow(
    rng: np.random.Generator, problem: Problem, x: Array, sigma: Array, noise: float, cost: float
) -> tuple[Array, int]:
    """Return new modes by one flow from ``x``, and the number of walls hit."""
    F = problem.Q * sigma
    G = F @ F.T
    G[np.diag_indices_from(G)] += noise**2
    walls = SignWalls.of_labels(walls_of(G), problem.y)
    z = white_noise(rng, 1, sigma.size)[0]
    w = F @ z + noise * white_noise(rng, 1, x.size)[0]
    kicks, hits = quarter_turn(x[walls.first], w[walls.first], walls, cost)
    return z + F[walls.first].T @ kicks, hits
