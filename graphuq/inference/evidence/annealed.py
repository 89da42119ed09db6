"""The evidence by annealing: stepping stones from the prior to the posterior.

Xie, Lewis, Fan, Kuo and Chen 2011. With one draw of each chain at each stone it would be annealed
importance sampling, Neal 2001. With an energy E(u) whose strength s grows from 0,

    Z(s) = E_prior[exp(-s E)],    Z(s') / Z(s) = E_s[exp(-(s' - s) E)].

Each stone contributes one such ratio to the evidence: the mean of the right-hand side over draws at
strength s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from graphuq.inference.checks import bind_checked
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import Bound, evaluate, parameters_of
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.sign_model import SignModel
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.samplers import Harmonic
from graphuq.samplers.choice import choose_sampler
from graphuq.samplers.protocol import Chunk, NonFinitePotentialError, Sampler, Target
from graphuq.utils import validation
from graphuq.utils.interruption import Workers, named_interruption
from graphuq.utils.memory import require_memory
from graphuq.utils.progress import Pace
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn

# Walls that can be crossed rise by at most this at a stone, however equal the energies of the draws
# are: at moderate heights a chain finds fields that have fewer wrong labels and are rare. Above
# HIGH no chain leaves such fields or finds others.
LONGEST, HIGH = 2.0, 40.0

# The next stone lies where the effective size of the weights falls to ESS_SHARE of the draws, and
# at most MAX_STEP farther. Where all draws have the same energy, this keeps small the weight of
# fields with a lower energy that no draw has visited yet.
ESS_SHARE, MAX_STEP = 0.5, 1.0
# Labels that are wrong at walls of this height, with odds of exp(-MAX_HEIGHT), cannot be right.
MAX_HEIGHT = 700.0
# A ladder of more stones is taken to be endless.
MAX_STONES = 5000
# About the least number of stones, before the ladder is known.
FEW_STONES = 10
# Memory of the generator and the state of a chain.
CHAIN_BYTES = 4e3
# What takes long, and what takes less time.
WHAT, REMEDY = "annealing", "ask for fewer draws or chains"
# With a larger standard error the log evidence is known to no more than a factor of e.
MAX_MCSE = 1.0


class AnnealedEvidence(NamedTuple):
    """The result of `annealed_evidence`.

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
    """Its Monte Carlo standard error, from the differences of independent chains."""
    stones: Array
    """The ladder from prior to posterior: heights of walls, from 0 to V, or powers, from 0 to 1."""


def annealed_evidence(
    prior: GaussianPrior,
    likelihood: Likelihood,
    labels: Labels,
    *,
    draws: int = 500,
    chains: int = 8,
    seed: validation.Seed = None,
    threads: int | None = None,
) -> AnnealedEvidence:
    """Estimate the log evidence: the log probability of the labels, the field integrated out.

    For sign models (`Probit`, `LevelSet`, `NoisyProbit`) walls are raised from 0 to V. A wrong
    label has odds of exp(-V) against the right one, whatever the fields are; for K classes

        log P(y) = log E[exp(-V #wrong labels)] - J log(1 + (K - 1) exp(-V)).

    For `GinzburgLandau` the double wells belong to the prior, and labels have a density:

        log p(y) = log E[exp(-wells - misfit)] - log E[exp(-wells)] - J log(2 pi gamma^2) / 2,

    and in the same way for other likelihoods with a ``log_normalizer``
    (`graphuq.likelihoods.contract`). For the rest it is log E[exp(-Phi)]. Expectations are under
    the prior.

    All chains climb one ladder, whose stones are placed by draws that are then discarded. Otherwise
    chains are independent: each makes its own estimate of the evidence. The mean is returned, with
    the standard deviation of the logs over the square root of ``chains``. With eight chains this
    error is itself known to about 25%, if the chains find all modes. If chains do not leave the
    mode that they start in, raise ``chains``.

    Sign models take seconds. Double wells at thousands of nodes take many minutes: try fewer draws
    first.

    Parameters
    ----------
    prior : Prior, FeaturePrior or SumPrior
    likelihood : likelihood
    labels : Labels
    draws : int
        Draws of each chain at each stone.
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
        The potential is infinite at every draw, or the ladder does not end: the labels are
        impossible, or the chains do not move.

    Warns
    -----
    ConvergenceWarning
        The error is above 1.
    RuntimeWarning
        The ladder takes ten minutes more, by the pace of its stones after the first.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior, labels = gq.Prior.full(graph), gq.Labels([0, 3], [0, 1])
    >>> found = gq.annealed_evidence(prior, gq.Probit(gamma=0.1), labels, seed=0)
    >>> rho = prior.covariance([0], [3])[0, 0] / np.sqrt(np.prod(prior.variance()[[0, 3]] + 0.01))
    >>> exact = np.log(np.arccos(rho) / (2 * np.pi))  # two signs that differ
    >>> abs(found.log_evidence - exact) < 4 * found.mcse < 0.2
    True
    """
    bound = bind_checked(prior, likelihood, labels)
    validation.integer("draws", draws, 1)
    validation.integer("chains", chains, 2)
    validation.n_threads(threads)
    if bound.confidence is not None:  # walls of different heights have no common energy
        bound = bound._replace(sign_model=None)
    sampler = choose_sampler("auto", bound)
    workers = min(chains, threads or cpu_count())
    size = bound.n_fields * (prior.n_nodes if bound.nodes is None else bound.nodes.size)
    require_memory(
        2 * 8.0 * workers * (draws + sampler.warmup(draws)) * size + chains * CHAIN_BYTES,
        f"{draws} draws of {size} fields per thread ({workers}), and {chains} chains,",
        "ask for fewer draws, threads or chains",
    )
    rngs = [np.random.default_rng(s) for s in validation.seed_sequence(seed).spawn(chains)]
    parameters = ", ".join(f"{key}={value:g}" for key, value in parameters_of(likelihood).items())
    name = f"{type(likelihood).__name__}({parameters})"
    # BLAS threads would compete with the chains', and change last digits
    with one_blas_thread(), named_interruption("annealing"), Workers(workers) as pool:
        law = prior.law if bound.nodes is None else prior.at(bound.nodes)
        climb = partial(_climb, draws=draws, rngs=rngs, pool=pool)
        try:
            if bound.sign_model is not None:
                found = _raise_walls(climb, law, bound)
            else:
                found = _raise_power(climb, law, bound, sampler)
        except NonFinitePotentialError as error:
            raise ValueError(f"{name}: {error}") from error
        except _EndlessError as error:
            raise RuntimeError(f"{name}: {error}") from error
    if not found.mcse <= MAX_MCSE:
        message = (
            f"The chains' estimates of the log evidence disagree (standard error "
            f"{found.mcse:.2g}, should be below {MAX_MCSE:g}): raise draws or chains."
        )
        warn(message, ConvergenceWarning)
    return found


def _raise_walls(climb: _Climb, law: Gaussian, bound: Bound) -> AnnealedEvidence:
    """Return the evidence of a sign model, with walls raised from 0 to V."""
    assert bound.sign_model is not None
    noise, cost = bound.sign_model
    found = climb(_Walls(law.with_noise(noise), bound, cost))
    # exp(-V #wrong labels) is the probability of the labels over that of right ones
    of_right = bound.observed.y.size * math.log(bound.sign_model.right(bound.rule.n_classes))
    return found._replace(log_evidence=found.log_evidence + of_right)


def _raise_power(climb: _Climb, law: Gaussian, bound: Bound, sampler: Sampler) -> AnnealedEvidence:
    """Return the evidence of another likelihood, with the power of exp(-Phi) raised from 0 to 1."""
    found = climb(_Powers(law, bound, sampler))
    if bound.log_normalizer is None:
        return found
    # what Phi says of the field without labels belongs to the prior
    alone = climb(_Powers(law, bound.without_labels(), sampler))
    normalizer = bound.observed.y.size * bound.log_normalizer + alone.log_evidence
    return found._replace(
        log_evidence=found.log_evidence - normalizer, mcse=math.hypot(found.mcse, alone.mcse)
    )


class _EndlessError(ArithmeticError):
    """The ladder does not end."""


class _Walk(NamedTuple):
    """One chain at one stone."""

    state: Any
    tuning: Array
    """Energies of the draws that place the next stone, and are then discarded."""
    energies: Array
    """Energies of the draws that estimate the stone's ratio."""


class _Walls(NamedTuple):
    """Walls of growing height; the energy is the number of wrong labels."""

    law: Gaussian
    bound: Bound
    top: float

    def walk(self, state: Any, height: float, draws: int, rng: np.random.Generator) -> _Walk:
        assert self.bound.sign_model is not None
        noise, _ = self.bound.sign_model
        target = Target(self.law, self.bound._replace(sign_model=SignModel(noise, height)))
        sampler = Harmonic()
        if state is None:
            state = sampler.start(target, rng)
        burn = sampler.warmup(draws)
        state, first = sampler.advance(target, state, rng, burn, 1, True)
        state, kept = sampler.advance(target, state, rng, draws, 1, False)
        return _Walk(state, self._wrong(first), self._wrong(kept))

    def _wrong(self, chunk: Chunk) -> Array:
        return self.bound.rule.wrong(chunk.fields, self.bound.observed.y).astype(float)


class _Powers(NamedTuple):
    """Growing powers of exp(-Phi), which is the energy."""

    law: Gaussian
    bound: Bound
    sampler: Sampler
    top: float = 1.0

    def walk(self, state: Any, power: float, draws: int, rng: np.random.Generator) -> _Walk:
        burn = self.sampler.warmup(draws)
        if power == 0:  # from the prior directly: samplers avoid infinite Phi at every power
            shape = burn + draws, self.bound.n_fields, self.law.size
            fields = self.law.draw(shape[0] * shape[1], rng).reshape(shape)
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
            raise NonFinitePotentialError(value, field, Chunk(np.empty((0, *field.T.shape)), {}))
        return value


_Climb = Callable[[_Walls | _Powers], AnnealedEvidence]


def _climb(
    path: _Walls | _Powers,
    draws: int,
    rngs: Sequence[np.random.Generator],
    pool: Workers,
) -> AnnealedEvidence:
    """Return log Z at the top of ``path``, from the bottom stone by stone."""
    stones, logs = [0.0], np.zeros(len(rngs))
    states: list[Any] = [None] * len(rngs)
    pace = Pace(FEW_STONES, WHAT, REMEDY)
    while stones[-1] < path.top:
        # 1. all chains walk at the last stone
        walks = _walk_all(path, states, stones[-1], draws, rngs, pool)
        states = [walk.state for walk in walks]
        # 2. the next stone is placed by the second half of their discarded draws
        tuning = np.concatenate([walk.tuning[walk.tuning.size // 2 :] for walk in walks])
        following = _next_stone(tuning, stones[-1], path.top)
        if isinstance(path, _Walls) and path.top < math.inf and stones[-1] < HIGH:
            following = min(following, stones[-1] + LONGEST)
        # 3. the ratio Z(s') / Z(s) of each chain, from its other draws
        weights = _log_weights(np.array([walk.energies for walk in walks]), following - stones[-1])
        logs += logsumexp(weights, axis=1) - math.log(draws)
        stones.append(following)
        pace.step(left=_stones_left(stones, path.top))
        if len(stones) > MAX_STONES or MAX_HEIGHT < following < path.top == math.inf:
            raise _EndlessError(
                f"the ladder did not reach {path.top:g} after {len(stones)} stones, but "
                f"{following:g}: the labels are impossible, or the chains do not move"
            )
    # the mean of the chains' estimates, and its error
    spread = float(logs.std(ddof=1)) if np.isfinite(logs).all() else math.inf
    log_mean = float(logsumexp(logs)) - math.log(len(rngs))
    return AnnealedEvidence(log_mean, spread / math.sqrt(len(rngs)), np.array(stones))


def _walk_all(
    path: _Walls | _Powers,
    states: list[Any],
    stone: float,
    draws: int,
    rngs: Sequence[np.random.Generator],
    pool: Workers,
) -> list[_Walk]:
    """Return the walks of all chains at a stone."""
    futures = [
        pool.submit(path.walk, state, stone, draws, rng)
        for state, rng in zip(states, rngs, strict=True)
    ]
    try:
        return [future.result() for future in futures]
    finally:  # interrupted, or one of them failed
        for future in futures:
            future.cancel()


def _stones_left(stones: list[float], top: float) -> float:
    """Return about how many stones are left: steps grow by a factor, up to `MAX_STEP`."""
    *_, before, last = stones
    if last >= top:
        return 0.0
    if top == math.inf:  # hard walls end where all labels are right
        return max(1.0, FEW_STONES - len(stones))
    growing = math.log(top / last) / math.log(last / before) if before > 0 else 0.0
    return max(growing, (top - last) / MAX_STEP)


def _log_weights(energies: Array, step: float) -> Array:
    """Return -step E, and 0 where E is 0, even if the step is infinite."""
    return np.multiply(-step, energies, where=energies != 0, out=np.zeros_like(energies))


def _next_stone(energies: Array, stone: float, top: float) -> float:
    """Return the strength with an effective size of `ESS_SHARE`, or ``top`` if that is closer."""
    energies = energies[np.isfinite(energies)]
    if not energies.size:
        raise _EndlessError("the potential is infinite at every draw")

    def share(strength: float) -> float:
        weights = _log_weights(energies, strength - stone)
        if weights.max() == -math.inf:
            return 0.0
        w = np.exp(weights - weights.max())
        return float(w.sum() ** 2 / (w @ w) / w.size)

    if share(top) >= ESS_SHARE:
        return top
    low, high = stone, min(top, stone + MAX_STEP)
    for _ in range(60):  # bisection
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) > ESS_SHARE else (low, middle)
    return high
