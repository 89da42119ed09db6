"""The evidence by annealing: stepping stones from the prior to the posterior.

Xie, Lewis, Fan, Kuo and Chen 2011; with one draw from each chain at each stone it would be
annealed importance sampling, Neal 2001. With an energy E(u) whose strength s grows from 0,

    Z(s) = E_prior[exp(-s E)],    Z(s') / Z(s) = E_s[exp(-(s' - s) E)],

and the mean over draws at s of what stands on the right is a stone's share of the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from graphuq import diagnostics, validation
from graphuq.gaussian import Gaussian
from graphuq.labels import Labels
from graphuq.likelihoods.contract import Bound, Likelihood, bind_under, evaluate, parameters_of
from graphuq.prior import Prior
from graphuq.samplers import Harmonic
from graphuq.samplers.argmax_walls import wrong_labels
from graphuq.samplers.automatic import automatic
from graphuq.samplers.family import Chunk, NonFinitePotentialError, Sampler, Target
from graphuq.threads import cores, one_blas_thread

Array = NDArray[np.float64]

# The next stone lies where the effective size of the weights falls to this share of the draws,
# and at most so much farther on: where all draws have the same energy, places of a lower one, which
# none has been to yet, gain no more weight than a draw or two would show.
SHARE, FARTHEST = 0.5, 1.0
# Odds of exp(-HIGHEST) for a wrong sign are no odds: signs wrong at such walls cannot be right.
HIGHEST = 700.0
# A ladder that has not come to its end by then never does.
MOST_STONES = 5000
# An evidence whose standard error is a factor of e is none.
DISAGREE = 1.0


class AnnealedEvidence(NamedTuple):
    """What `annealed_evidence` found.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> labels = gq.Labels([0, 3], [0, 1])
    >>> found = gq.annealed_evidence(gq.Prior.full(graph), gq.LevelSet(1.0), labels, seed=0)
    >>> found.mcse < 0.1, float(found.stones[0]), float(found.stones[-1])
    (True, 0.0, 2.0)
    """

    log_evidence: float
    mcse: float
    """Its Monte Carlo standard error: how much independent chains differ."""
    stones: Array
    """The ladder from prior to posterior: heights of walls, from 0 to V, or powers, from 0 to 1."""


def annealed_evidence(
    prior: Prior,
    likelihood: Likelihood,
    labels: Labels,
    *,
    draws: int = 500,
    chains: int = 8,
    seed: validation.Seed = None,
    threads: int | None = None,
) -> AnnealedEvidence:
    """Estimate the log evidence: the log probability of the labels, the field integrated out.

    For sign models (`Probit`, `LevelSet`, `NoisyProbit`) walls are raised from 0 to V. A label that
    is not its node's has the odds exp(-V) of one that is, wherever the fields are; of K classes

        log P(y) = log E[exp(-V #wrong labels)] - J log(1 + (K - 1) exp(-V)).

    For `GinzburgLandau` the double wells belong to the prior, and labels have a density:

        log p(y) = log E[exp(-wells - misfit)] - log E[exp(-wells)] - J log(2 pi gamma^2) / 2,

    and alike for other likelihoods with a ``log_normaliser`` (`graphuq.likelihoods.contract`).
    For the rest it is log E[exp(-Phi)], expectations under the prior.

    All chains climb one ladder, laid by draws that are then discarded, and are otherwise
    independent: each makes its own estimate of the evidence. Their mean is returned, with the
    standard deviation of their logs over the square root of ``chains``; from eight it is itself
    known to about a quarter, where chains find all that matters. Where the posterior has modes that
    chains do not leave, raise ``chains``.

    The labels of a sign model take seconds; double wells at thousands of nodes take many minutes,
    and are worth a first look with fewer draws.

    Parameters
    ----------
    prior : Prior
    likelihood : likelihood
    labels : Labels
    draws : int
        Kept at each stone from each chain.
    chains : int
        At least 2, for an error.
    seed : int, SeedSequence or Generator, optional
        The same seed gives the same estimate, bit for bit, whatever the number of threads.
    threads : int, optional
        At most this many chains run at a time; by default one on each core.

    Returns
    -------
    AnnealedEvidence

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, before any work; a potential that is NaN or
        -infinity somewhere.
    RuntimeError
        A potential that is infinite at every draw; no end of the ladder in sight, with labels
        that cannot be or chains that do not move.

    Warns
    -----
    ConvergenceWarning
        The error is above 1.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior, labels = gq.Prior.full(graph), gq.Labels([0, 3], [0, 1])
    >>> found = gq.annealed_evidence(prior, gq.Probit(gamma=0.1), labels, seed=0)
    >>> rho = prior.covariance([0], [3])[0, 0] / np.sqrt(np.prod(prior.variance()[[0, 3]] + 0.01))
    >>> exact = np.log(np.arccos(rho) / (2 * np.pi))  # two signs that differ
    >>> abs(found.log_evidence - exact) < 4 * found.mcse < 0.2
    True
    """
    bound = bind_under(prior, likelihood, labels)
    validation.integer("draws", draws, 1)
    validation.integer("chains", chains, 2)
    if threads is not None:
        validation.integer("threads", threads, 1)
    rngs = [np.random.default_rng(s) for s in validation.seed_sequence(seed).spawn(chains)]
    sampler = automatic(bound)
    workers = min(chains, threads or cores())
    size = bound.columns * (prior.n_nodes if bound.nodes is None else bound.nodes.size)
    validation.memory(
        2 * 8.0 * workers * (draws + sampler.warmup(draws)) * size,
        f"{draws} draws of {size} fields in each of {workers} threads",
        "ask for fewer draws, or threads",
    )
    n_labels = len(labels)
    name = ", ".join(f"{key}={value:g}" for key, value in parameters_of(likelihood).items())
    name = f"{type(likelihood).__name__}({name})"
    # BLAS threads would fight with the chains', and change last digits
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        law = prior.law if bound.nodes is None else prior.at(bound.nodes)
        try:
            if bound.sign_model is not None:
                noise, cost = bound.sign_model
                walls = _Walls(law.with_noise(noise), bound, cost)
                found = _climb(walls, draws, rngs, pool)
                others = max(1, bound.columns - 1)
                left_out = n_labels * math.log1p(others * math.exp(-cost))
            else:
                found = _climb(_Powers(law, bound, sampler), draws, rngs, pool)
                left_out = 0.0
            if bound.sign_model is None and bound.log_normaliser is not None:
                field_alone = _Powers(law, bound.without_labels(), sampler)
                alone = _climb(field_alone, draws, rngs, pool)
                left_out = n_labels * bound.log_normaliser + alone.log_evidence
                found = found._replace(mcse=math.hypot(found.mcse, alone.mcse))
        except NonFinitePotentialError as error:
            raise ValueError(f"{name}: {error}") from error
        except _EndlessError as error:
            raise RuntimeError(f"{name}: {error}") from error
    if not found.mcse <= DISAGREE:
        message = (
            f"The chains' estimates of the log evidence disagree (standard error "
            f"{found.mcse:.2g}, should be below {DISAGREE:g}): raise draws or chains."
        )
        diagnostics.warn((message,), stacklevel=2)
    return found._replace(log_evidence=found.log_evidence - left_out)


class _EndlessError(ArithmeticError):
    """A ladder without end."""


class _Walk(NamedTuple):
    """One chain at one stone."""

    state: Any
    tuning: Array
    """Energies of the draws that are discarded, and lay the next stone."""
    kept: Array


class _Walls(NamedTuple):
    """Walls of growing height; the energy is the number of wrong labels."""

    law: Gaussian
    bound: Bound
    top: float

    def walk(self, state: Any, height: float, draws: int, rng: np.random.Generator) -> _Walk:
        assert self.bound.sign_model is not None
        noise, _ = self.bound.sign_model
        target = Target(self.law, self.bound._replace(sign_model=(noise, height)))
        sampler = Harmonic()
        if state is None:
            state = sampler.start(target, rng)
        burn = sampler.warmup(draws)
        state, first = sampler.advance(target, state, rng, burn, 1, True)
        state, kept = sampler.advance(target, state, rng, draws, 1, False)
        return _Walk(state, self._wrong(first), self._wrong(kept))

    def _wrong(self, chunk: Chunk) -> Array:
        y = self.bound.observed.y
        if self.bound.columns > 1:
            return wrong_labels(chunk.fields, y.astype(np.int64)).astype(float)
        signs = chunk.fields >= 0  # S(0) = 1, as in the potentials
        return (signs != (y > 0)).sum(axis=1).astype(float)


class _Powers(NamedTuple):
    """Growing powers of exp(-Phi), which is the energy."""

    law: Gaussian
    bound: Bound
    sampler: Sampler
    top: float = 1.0

    def walk(self, state: Any, power: float, draws: int, rng: np.random.Generator) -> _Walk:
        burn = self.sampler.warmup(draws)
        if power == 0:  # where Phi forbids a place, samplers do so at every power
            columns = self.bound.columns
            fields = self.law.draw((burn + draws) * columns, rng).reshape(burn + draws, columns, -1)
            phi = [self._potential(np.ascontiguousarray(field.T)) for field in fields]
            return _Walk(None, np.array(phi[:burn]), np.array(phi[burn:]))
        target, thin = Target(self.law, self.bound, power), self.sampler.thin
        tuned_anew = self.sampler.start(target, rng)
        state = tuned_anew if state is None else tuned_anew._replace(field=state.field)
        state, first = self.sampler.advance(target, state, rng, burn, thin, True)
        state, kept = self.sampler.advance(target, state, rng, draws, thin, False)
        return _Walk(state, first.stats["potential"], kept.stats["potential"])

    def _potential(self, field: Array) -> float:
        value = evaluate(self.bound, field)
        if not value > -math.inf:
            raise NonFinitePotentialError(value, field, Chunk(np.empty((0, field.size)), {}))
        return value


def _climb(
    path: _Walls | _Powers,
    draws: int,
    rngs: Sequence[np.random.Generator],
    pool: ThreadPoolExecutor,
) -> AnnealedEvidence:
    """Return log Z at the top of ``path``."""
    stones, logs = [0.0], np.zeros(len(rngs))
    states: list[Any] = [None] * len(rngs)
    while stones[-1] < path.top:
        walks = list(pool.map(path.walk, states, repeat(stones[-1]), repeat(draws), rngs))
        states = [walk.state for walk in walks]
        settled = np.concatenate([walk.tuning[walk.tuning.size // 2 :] for walk in walks])
        following = _next_stone(settled, stones[-1], path.top)
        weights = _log_weights(np.array([walk.kept for walk in walks]), following - stones[-1])
        logs += logsumexp(weights, axis=1) - math.log(draws)
        stones.append(following)
        if len(stones) > MOST_STONES or HIGHEST < following < path.top == math.inf:
            raise _EndlessError(
                f"the ladder to {path.top:g} has come to {following:g} in {len(stones)} stones, "
                "and no end is in sight: the labels are impossible, or the chains do not move"
            )
    spread = float(logs.std(ddof=1)) if np.isfinite(logs).all() else math.inf
    log_mean = float(logsumexp(logs)) - math.log(len(rngs))
    return AnnealedEvidence(log_mean, spread / math.sqrt(len(rngs)), np.array(stones))


def _log_weights(energies: Array, step: float) -> Array:
    """Return -step E, and 0 where E is 0, even if the step is infinite."""
    return np.multiply(-step, energies, where=energies != 0, out=np.zeros_like(energies))


def _next_stone(energies: Array, stone: float, top: float) -> float:
    """Return the strength at which the weights' effective size is `SHARE`, or ``top`` if above."""
    energies = energies[np.isfinite(energies)]
    if not energies.size:
        raise _EndlessError("the potential is infinite at every draw")

    def share(strength: float) -> float:
        weights = _log_weights(energies, strength - stone)
        if weights.max() == -math.inf:
            return 0.0
        w = np.exp(weights - weights.max())
        return float(w.sum() ** 2 / (w @ w) / w.size)

    if share(top) >= SHARE:
        return top
    low, high = stone, min(top, stone + FARTHEST)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) > SHARE else (low, middle)
    return high
