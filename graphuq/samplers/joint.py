"""The harmonic sampler with sampled hyperparameters: a collapsed Gibbs sampler.

Under fixed hyperparameters x = M a, with M = [Q_J diag(sigma), noise I] and a = (z, eta) ~ N(0, I);
for K > 2 classes there are K such fields, which share M. A step is

1. hyperparameters given z, eta integrated out: slices (`graphuq.samplers.hyperparameter_slices`);
2. eta given z and the labels: truncated normals (`add_noise`);
3. a, by one harmonic flow of x that carries a along;
4. if the coefficients of modes are Student-t, their scales given the coefficients
   (`draw_scales`): given its scale a coefficient is Gaussian, so that 1 to 3 are as before.

z is the non-centered parametrization (Papaspiliopoulos, Roberts and Skold 2007): a new sigma moves
the field, and only the labels hold it. The order makes the collapsed step 1 valid (van Dyk and Park
2008): eta is drawn afresh before anything is conditioned on it. A level is one more column of Q,
the first: the constant direction, whose sigma is the level's deviation. The columns of other priors
come last.

A label is that of the noisy fields x = f + noise eta, or any of the others, which are e^-cost times
as likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.types import NumPyRandomGeneratorType

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
from graphuq.samplers.protocol import Chunk, Sampler, Target
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.white_noise import white_noise

# About how long the probability of a label of K > 2 classes takes, for each class.
LABEL_SECONDS = 2.5e-7

# Precision of the Gaussian site that gives a field of variance 1 the moments that its sign does.
SIGN_PRECISION = 1 / (math.pi / 2 - 1)

# The hyperparameter that is recorded of all scales of modes.
LARGEST = "largest_scale"

# Columns of which labels say less are not centered, and take no time.
MIN_SHARE = 0.01

_SQRT_HALF = math.sqrt(0.5)

_GENERATOR = NumPyRandomGeneratorType("NumPyRandomGeneratorType")

_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]

# Functions of other files enter as pointers: numba's cache does not see edits there.
_OF_A_NUMBER = types.FunctionType(types.float64(types.float64))

_LOG_PROBABILITY = types.FunctionType(types.float64(_VECTOR, _VECTOR))

# Newton's steps to about the mode; the draw is exact wherever they end.
_MAX_STEPS = 20


class JointState(NamedTuple):
    """The state of a chain."""

    field: Array
    """z, which determines the fields for all hyperparameters, shape (C, p)."""
    point: Array
    """alpha, level, weight, log tau, log gamma, log flip_rate."""
    scales: Array
    """Scale of each column, shape (p,): 1 unless the coefficients of modes are Student-t."""


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
    df : float
        Degrees of freedom of the coefficients of modes; infinite if they are Gaussian.
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
    df: float = math.inf
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
        return JointState(z, point, np.ones(sigma.size))

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
        unscaled = self._problem(target)
        z, point, scales = state.field.copy(), state.point.copy(), state.scales
        problem = unscaled._replace(Q=unscaled.Q * scales)
        _, sigma, f, costs = _buffers(problem, len(z))
        modes, points = np.empty((draws, *z.shape)), np.empty((draws, point.size))
        potential, hits, largest = np.empty(draws), np.zeros(draws), np.empty(draws)
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
                # 4. scales of the modes given their coefficients
                if self.df < math.inf:
                    coefficients = scales * z
                    scales = draw_scales(rng, coefficients, self.df, problem)
                    z = coefficients / scales
                    problem = unscaled._replace(Q=unscaled.Q * scales)
            modes[draw], points[draw] = scales * z, _values(point)
            largest[draw] = scales.max()
            f_now = np.ascontiguousarray((problem.Q @ (sigma * z).T).T)
            potential[draw] = -log_likelihood(f_now, problem, noise, costs, labels_log_probability)
        free = np.flatnonzero(self.box[:, 0] < self.box[:, 1])
        stats = {
            "potential": potential,
            "acceptance_rate": np.ones(draws),
            "n_walls": hits,
            **{NAMES[i]: points[:, i] for i in free},
        }
        if self.df < math.inf:
            stats[LARGEST] = largest
        fields = append_parameters(modes, points[:, free[free < OF_THE_PRIOR]])
        return JointState(z, point, scales), Chunk(fields, stats)

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


def draw_scales(
    rng: np.random.Generator, coefficients: Array, df: float, problem: Problem
) -> Array:
    """Return a draw of the scale of each column given the coefficients (C, p), 1 but for modes.

    A Student-t variable is a Gaussian one times s, with 1 / s^2 ~ Gamma(df / 2, rate df / 2); the C
    fields share s.
    """
    scales, C = np.ones(coefficients.shape[1]), coefficients.shape[0]
    first = scales.size - problem.values.size - (problem.others.size - 1)
    modes = slice(first, first + problem.values.size)
    rates = 0.5 * (df + (coefficients[:, modes] ** 2).sum(axis=0))
    scales[modes] = np.sqrt(rates / rng.standard_gamma(0.5 * (df + C), rates.size))
    return scales


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


@numba.njit
def _positive(rng, mean):  # type: ignore[no-untyped-def]
    """Draw from N(mean, 1) given that it is positive; Robert 1995."""
    if mean > -0.5:
        while True:
            t = mean + rng.standard_normal()
            if t > 0.0:
                return t
    rate = 0.5 * (-mean + math.sqrt(mean * mean + 4.0))
    while True:
        t = rng.standard_exponential() / rate
        if rng.random() < math.exp(-0.5 * (t - mean - rate) ** 2):
            return t


@kernel(types.void(_GENERATOR, _VECTOR, _VECTOR, types.float64, _VECTOR, _VECTOR))
def add_noise(rng, f, y, noise, costs, x):  # type: ignore[no-untyped-def]
    """Write a draw of x = f + noise eta given the labels -1 and +1, each with its cost."""
    for j in range(f.size):
        if noise == 0.0:
            x[j] = f[j]
            continue
        sign, mean = y[j], y[j] * f[j] / noise
        right = math.erfc(-mean * _SQRT_HALF)
        wrong = math.exp(-costs[j]) * math.erfc(mean * _SQRT_HALF)
        if wrong > 0.0 and rng.random() * (right + wrong) < wrong:
            sign, mean = -sign, -mean
        x[j] = sign * noise * _positive(rng, mean)


@numba.njit
def _largest(rng, gaps, log_cdf, log_cdf_slope):  # type: ignore[no-untyped-def]
    """Draw t from a density proportional to phi(t) prod_k Psi(gaps_k + t; 1).

    The log of the product is concave, and so below its tangent at any t_0. With the tangent in its
    place the density is N(slope, 1), of which the share that is accepted is largest where t_0 is
    the mode. There the second derivative lies between -K and -1, so that it is at least K^(-1/2).
    """
    at, slope = 0.0, 0.0
    for _ in range(_MAX_STEPS):
        slope, curvature = 0.0, 1.0
        for k in range(gaps.size):
            hazard = log_cdf_slope(gaps[k] + at)
            slope += hazard
            curvature += min(1.0, max(0.0, hazard * (hazard + gaps[k] + at)))
        step = (slope - at) / curvature
        if abs(step) * math.sqrt(curvature) < 0.01:
            break
        at += step
    slope, height = 0.0, 0.0
    for k in range(gaps.size):
        slope += log_cdf_slope(gaps[k] + at)
        height += log_cdf(gaps[k] + at)
    while True:
        t = slope + rng.standard_normal()
        log_share = -height - slope * (t - at)
        for k in range(gaps.size):
            log_share += log_cdf(gaps[k] + t)
        if -rng.standard_exponential() < log_share:
            return t


@kernel(
    types.void(
        _GENERATOR,
        _MATRIX,
        _VECTOR,
        types.float64,
        _VECTOR,
        _OF_A_NUMBER,
        _OF_A_NUMBER,
        _LOG_PROBABILITY,
        _MATRIX,
    )
)
def add_class_noise(rng, f, y, noise, costs, log_cdf, log_cdf_slope, log_probability, x):  # type: ignore[no-untyped-def]
    """Write a draw of x = f + noise eta, shape (K, J), given the labels 0 to K - 1, with costs."""
    gaps, unwanted = np.empty(f.shape[0] - 1), np.empty(0)
    for j in range(y.size):
        c = int(y[j])
        for k in range(f.shape[0]):
            x[k, j] = f[k, j]
        if noise == 0.0:
            continue
        for k in range(gaps.size):
            gaps[k] = (f[c, j] - f[k + (k >= c), j]) / noise
        odds = math.exp(-costs[j])
        # a label that is likelier wrong than right: draws that are right are kept more seldom
        if odds > 1.0:
            while True:
                for k in range(f.shape[0]):
                    x[k, j] = f[k, j] + noise * rng.standard_normal()
                if x[:, j].argmax() != c or rng.random() * odds < 1.0:
                    break
            continue
        # without the label, as by a flip
        if odds > 0.0:
            right = (1.0 - odds) * math.exp(log_probability(gaps, unwanted))
            if rng.random() * (right + odds) < odds:
                for k in range(f.shape[0]):
                    x[k, j] += noise * rng.standard_normal()
                continue
        # given the label: first its own field, then the others, which are below
        t = _largest(rng, gaps, log_cdf, log_cdf_slope)
        x[c, j] += noise * t
        for k in range(gaps.size):
            x[k + (k >= c), j] = x[c, j] - noise * _positive(rng, gaps[k] + t)
