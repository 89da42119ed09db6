"""The harmonic sampler, with hyperparameters sampled along: a collapsed Gibbs sampler.

Under fixed hyperparameters x = M a, with M = [Q_J diag(sigma), noise I] and a = (z, eta) ~ N(0, I).
A step is

1. hyperparameters given z, eta integrated out: slices (`graphuq.samplers.hyperparameters`);
2. eta given z and the labels: truncated normals;
3. a, by one harmonic flow of x that carries a along.

z is the non-centred parametrisation (Papaspiliopoulos, Roberts and Skold 2007): a new sigma takes
the field along, and the labels alone hold it. The order makes the collapsed step 1 valid (van Dyk
and Park 2008): eta is drawn afresh before anything is conditioned on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.contract import Bound
from graphuq.likelihoods.probit import log_cdf
from graphuq.noise import white_noise
from graphuq.prior import Prior
from graphuq.samplers.family import Array, Chunk, Target
from graphuq.samplers.harmonic import Harmonic, quarter_turn, walls_of
from graphuq.samplers.hyperparameters import (
    NAMES,
    add_noise,
    log_likelihood,
    slice_hyperparameters,
)
from graphuq.whittle_matern import MEAN_ALPHA

# How many of the names are the prior's.
OF_THE_PRIOR = 2


class _Labelled(NamedTuple):
    """The problem at the labelled nodes."""

    Q: Array
    values: Array
    n_nodes: float
    y: Array


class JointState(NamedTuple):
    """Where a chain stands."""

    z: Array
    point: Array
    """alpha, log tau, log gamma, log flip_rate."""


@dataclass(frozen=True, eq=False)
class Joint:
    """One chain's transition, as the runner wants it.

    Parameters
    ----------
    prior : Prior
        Without a tail; any alpha and tau.
    box : ndarray, shape (4, 2)
        Ranges of (alpha, log tau, log gamma, log flip_rate); what is fixed has none.
    level_set : bool
        Whether gamma is a level-set likelihood's, of which there is no flip rate.
    sweeps : int
        Rounds of slices in a step.
    """

    prior: Prior
    box: Array
    level_set: bool
    sweeps: int = 2

    thin: ClassVar[int] = 20

    def warmup(self, draws: int) -> int:
        """Return 100."""
        del draws
        return 100

    def noise(self, likelihood: Bound) -> float:
        """Return 0: the noise is drawn afresh in every step."""
        del likelihood
        return 0.0

    def start(self, target: Target, rng: np.random.Generator) -> JointState:
        """Return hyperparameters from the box, and a field that fits the labels, or nearly."""
        low, high = self.box.T
        point = low.copy()
        free = low < high
        point[free] = rng.uniform(low[free], high[free])
        at = self._at(target)
        sigma, f = np.empty(at.values.size), np.empty(at.y.size)
        noise, cost = self._slices(rng, at, np.zeros(sigma.size), point, 0, sigma, f)
        prior = self.prior.settled(alpha=float(point[0]), tau=float(np.exp(point[1])))
        fixed = Target(
            prior.at(target.likelihood.nodes).with_noise(noise),
            target.likelihood._replace(sign_model=(noise, cost)),
        )
        _, chunk = Harmonic().advance(fixed, Harmonic().start(fixed, rng), rng, 1, 1, False)
        z, _ = _flow(rng, at, chunk.fields[0], sigma, noise, cost)
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
        at = self._at(target)
        z, point = state.z, state.point.copy()
        sigma, f, x = np.empty(z.size), np.empty(at.y.size), np.empty(at.y.size)
        modes, points = np.empty((draws, z.size)), np.empty((draws, point.size))
        potential, hits = np.empty(draws), np.zeros(draws)
        for draw in range(draws):
            for _ in range(thin):
                noise, cost = self._slices(rng, at, z, point, self.sweeps, sigma, f)
                add_noise(rng, f, at.y, noise, cost, x)
                z, n_walls = _flow(rng, at, x, sigma, noise, cost)
                hits[draw] += n_walls
            modes[draw], points[draw] = z, point
            potential[draw] = -log_likelihood(at.Q @ (sigma * z), at.y, noise, cost, log_cdf)
        points[:, 1:] = np.exp(points[:, 1:])
        free = np.flatnonzero(self.box[:, 0] < self.box[:, 1])
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_walls": hits,
            **{NAMES[i]: points[:, i] for i in free},
        }
        fields = np.column_stack([modes, points[:, free[free < OF_THE_PRIOR]]])
        return JointState(z, point), Chunk(fields, stats)

    def _at(self, target: Target) -> _Labelled:
        assert target.likelihood.nodes is not None
        return _Labelled(
            np.ascontiguousarray(self.prior.modes_at(target.likelihood.nodes)),
            np.append([0.0] * self.prior.null_mode, self.prior.spectrum.values),
            float(self.prior.n_nodes),
            target.likelihood.observed.y,
        )

    def _slices(
        self,
        rng: np.random.Generator,
        at: _Labelled,
        z: Array,
        point: Array,
        sweeps: int,
        sigma: Array,
        f: Array,
    ) -> tuple[float, float]:
        """Move ``point``; write its sigma and f, and return its noise and cost."""
        Q, values, n, y = at
        return slice_hyperparameters(
            rng,
            z,
            Q,
            values,
            n,
            y,
            self.level_set,
            sweeps,
            point,
            self.box,
            MEAN_ALPHA,
            log_cdf,
            sigma,
            f,
        )


def _flow(
    rng: np.random.Generator, at: _Labelled, x: Array, sigma: Array, noise: float, cost: float
) -> tuple[Array, int]:
    """Return new modes by one flow from ``x``, and the number of walls hit."""
    F = at.Q * sigma
    G = F @ F.T
    G[np.diag_indices_from(G)] += noise**2
    walls = walls_of(G)
    z = white_noise(rng, 1, sigma.size)[0]
    w = F @ z + noise * white_noise(rng, 1, x.size)[0]
    kicks, hits = quarter_turn(x[walls.first], w[walls.first], walls, walls.votes(at.y), cost)
    return z + F[walls.first].T @ kicks, hits
