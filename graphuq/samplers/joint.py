"""The harmonic sampler with sampled hyperparameters: a collapsed Gibbs sampler.

Under fixed hyperparameters x = M a, with M = [Q_J diag(sigma), noise I] and a = (z, eta) ~ N(0, I);
for K > 2 classes there are K such fields, which share M. A step is

1. hyperparameters given z, eta integrated out: slices (`graphuq.samplers.hyperparameter_slices`);
2. eta given z and the labels: truncated normals (`graphuq.samplers.label_noise`);
3. a, by one harmonic flow of x that carries a along.

z is the non-centered parametrization (Papaspiliopoulos, Roberts and Skold 2007): a new sigma moves
the field, and only the labels hold it. The order makes the collapsed step 1 valid (van Dyk and Park
2008): eta is drawn afresh before anything is conditioned on it. A level is one more column of Q,
the first: the constant direction, whose sigma is the level's deviation. The columns of other priors
come last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.probit import log_cdf, log_cdf_slope
from graphuq.likelihoods.sign_kernels import labels_log_probability, log_probability
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given_modes import append_parameters, columns_of, directions, graph_of
from graphuq.samplers.harmonic import HIT_SECONDS, WALLS, Harmonic, advice_on_walls
from graphuq.samplers.hyperparameter_slices import (
    N_LINEAR,
    NAMES,
    OF_THE_PRIOR,
    WEIGHT,
    Problem,
    log_likelihood,
    slice_hyperparameters,
)
from graphuq.samplers.label_noise import add_class_noise, add_noise
from graphuq.samplers.protocol import Chunk, Sampler, Target
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.white_noise import white_noise

# About how long the probability of a label of K > 2 classes takes, for each class.
LABEL_SECONDS = 2.5e-7

# Precision of the Gaussian site that gives a field of variance 1 the moments that its sign does.
SIGN_PRECISION = 1 / (math.pi / 2 - 1)

# Columns of which labels say less are not centered, and take no time.
MIN_SHARE = 0.01


class JointState(NamedTuple):
    """The state of a chain."""

    field: Array
    """z, which determines the fields for all hyperparameters, shape (C, p)."""
    point: Array
    """alpha, level, weight, log tau, log gamma, log flip_rate."""


@dataclass(frozen=True, eq=False)
class Joint(Sampler):
    """The transition of one chain.

    Parameters
    ----------
    prior : GaussianPrior
        Without a nugget, and with any parameters. If it is a sum, its first part is that of a
        graph.
    box : ndarray, shape (6, 2)
        Ranges of (alpha, level, weight, log tau, log gamma, log flip_rate); equal ends where one is
        fixed.
    density : ndarray, shape (6, 4)
        Their prior densities; see `Problem`.
    level_set : bool
        Whether gamma is that of the level-set likelihood, which has no flip rate.
    centering : ndarray, shape (p,)
        The share of each column; see `informed_shares`.
    sweeps : int
        Rounds of slices in a step.
    thin : int
        Steps from one kept draw to the next, by default.
    """

    prior: GaussianPrior
    box: Array
    density: Array
    level_set: bool
    centering: Array
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
        """Return about how long a kept draw takes: covariances, labels, and walls that it hits."""
        C, m = target.shape
        p = self.centering.size
        hits = 0.0 if stats is None else float(stats["n_walls"].mean())
        step = 1e-4 + 5e-9 * C * m * p + 1e-10 * m**2 * p
        if C > 1:
            proposals = 5 * self.sweeps * np.count_nonzero(self.box[:, 0] < self.box[:, 1])
            step += LABEL_SECONDS * C * m * proposals
        return thin * step + HIT_SECONDS[type(target.likelihood.rule)] * hits * C * m

    def advice(self, target: Target, thin: int, stats: dict[str, Array]) -> str:
        """Return what to do if labels contradict each other, so that draws hit many walls."""
        return advice_on_walls(float(stats["n_walls"].mean()) / thin, target.law.size)

    def start(self, target: Target, rng: np.random.Generator) -> JointState:
        """Return hyperparameters from the box, and fields that fit the labels, or nearly."""
        low, high = self.box.T
        point = low.copy()
        free = low < high
        point[free] = rng.uniform(low[free], high[free])
        problem = self._problem(target)._replace(sweeps=0)
        C = target.likelihood.n_fields
        z, sigma, f, costs = _buffers(problem, C)
        noise = slice_hyperparameters(
            rng, z, problem, point, labels_log_probability, sigma, f, costs
        )
        cost = costs[0] if target.likelihood.confidence is None else costs
        values = dict(zip(NAMES, _values(point).tolist(), strict=True))
        own = {name: values[name] for name in values.keys() & self.prior.parameters.keys()}
        prior = self.prior.with_parameters(**own)
        fixed = Target(
            prior.at(target.likelihood.nodes).with_noise(noise),
            target.likelihood._replace(sign_model=SignModel(noise, cost), confidence=None),
        )
        _, chunk = Harmonic().advance(fixed, Harmonic().start(fixed, rng), rng, 1, 1, False)
        z, _ = _flow(rng, target, problem, chunk.fields[0], sigma, noise, costs)
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
        z, point = state.field.copy(), state.point.copy()
        _, sigma, f, costs = _buffers(problem, len(z))
        modes, points = np.empty((draws, *z.shape)), np.empty((draws, point.size))
        potential, hits = np.empty(draws), np.zeros(draws)
        for draw in range(draws):
            for _ in range(thin):
                # 1. hyperparameters given z
                noise = slice_hyperparameters(
                    rng, z, problem, point, labels_log_probability, sigma, f, costs
                )
                # 2. eta given z and the labels
                x = _noisy(rng, f, problem.y, noise, costs)
                # 3. z and eta, by a harmonic flow
                z, n_walls = _flow(rng, target, problem, x, sigma, noise, costs)
                hits[draw] += n_walls
            modes[draw], points[draw] = z, _values(point)
            f_now = np.ascontiguousarray((problem.Q @ (sigma * z).T).T)
            potential[draw] = -log_likelihood(f_now, problem, noise, costs, labels_log_probability)
        free = np.flatnonzero(self.box[:, 0] < self.box[:, 1])
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_walls": hits,
            **{NAMES[i]: points[:, i] for i in free},
        }
        fields = append_parameters(modes, points[:, free[free < OF_THE_PRIOR]])
        return JointState(z, point), Chunk(fields, stats)

    def _problem(self, target: Target) -> Problem:
        nodes, prior, graph = target.likelihood.nodes, self.prior, graph_of(self.prior)
        assert nodes is not None
        trust = target.likelihood.confidence
        columns = columns_of(prior)[1:]
        # without the graph and the level of the sum the rest is left
        nothing = {name: 0.0 for name in ("weight", "level") if name in prior.parameters}
        own, rest = np.split(prior.with_parameters(**nothing).deviations(), [1])
        return Problem(
            np.ascontiguousarray(directions(prior, nodes)),
            np.append([0.0] * graph.null_mode, graph.spectrum.values),
            float(graph.n_nodes),
            np.append(own, rest[columns][graph.sigma.size :]),
            target.likelihood.observed.y,
            np.ones(len(nodes)) if trust is None else trust,
            self.box,
            self.density,
            self.level_set,
            float(target.likelihood.rule.n_classes - 1),
            self.sweeps,
            self.centering,
        )


def informed_shares(prior: GaussianPrior, nodes: Nodes, box: Array) -> Array:
    """Return about the share of each column's prior variance that labels at some nodes remove.

    Each label counts as much as the sign of a field of variance 1. With loadings F of the nodes,
    these are the diagonal entries of F' (F F' + I / tau)^-1 F. Columns whose deviations no sampled
    parameter changes are not centered.
    """
    kept = columns_of(prior)
    F = directions(prior, nodes) * prior.deviations()[kept]
    if F.shape[0] > F.shape[1]:
        inner = F.T @ F
        found = np.linalg.solve(inner + np.eye(len(inner)) / SIGN_PRECISION, inner).diagonal()
    else:
        outer = F @ F.T
        half = np.linalg.solve(outer + np.eye(len(outer)) / SIGN_PRECISION, F)
        found = (F * half).sum(axis=0)
    found = np.where(found > MIN_SHARE, found, 0.0)
    if box[WEIGHT, 0] == box[WEIGHT, 1]:
        found[int(kept[0]) + graph_of(prior).sigma.size :] = 0.0
    return np.asarray(found)


def _values(point: Array) -> Array:
    """Return the values of the parameters at a point."""
    values = point.copy()
    values[N_LINEAR:] = np.exp(values[N_LINEAR:])
    return values


def _buffers(problem: Problem, n_fields: int) -> tuple[Array, Array, Array, Array]:
    """Return arrays of the shapes of z, sigma, f and the costs."""
    J, p = problem.Q.shape
    return np.zeros((n_fields, p)), np.empty(p), np.empty((n_fields, J)), np.empty(J)


def _noisy(rng: np.random.Generator, f: Array, y: Array, noise: float, costs: Array) -> Array:
    """Return a draw of the noisy fields (C, J) given fields and labels."""
    x = np.empty(f.shape)
    if len(f) == 1:
        add_noise(rng, f[0], y, noise, costs, x[0])
    else:
        add_class_noise(rng, f, y, noise, costs, log_cdf, log_cdf_slope, log_probability, x)
    return x


def _flow(
    rng: np.random.Generator,
    target: Target,
    problem: Problem,
    x: Array,
    sigma: Array,
    noise: float,
    costs: Array,
) -> tuple[Array, int]:
    """Return new z by one flow from ``x`` (C, J), and the number of walls hit."""
    F = problem.Q * sigma
    G = F @ F.T
    G[np.diag_indices_from(G)] += noise**2
    own = target.likelihood.confidence is not None  # walls have heights of their own
    kind, cost = WALLS[type(target.likelihood.rule)], 1.0 if own else costs[0]
    walls = kind.of_covariance(G, problem.y, len(x), costs if own else None)
    z = white_noise(rng, len(x), sigma.size)
    w = z @ F.T + noise * white_noise(rng, *x.shape)
    start, velocity = (np.ascontiguousarray(fields[:, walls.first]) for fields in (x, w))
    flight = walls.fly(start, velocity[None], np.array([cost]))
    return z + flight.kicks @ F[walls.first], int(flight.hits[0])
