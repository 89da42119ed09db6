"""Parallel tempering of Phi: replicas from the posterior to the prior exchange their fields.

Exchanges alternate between even and odd pairs, and a ladder makes their rejection rates equal, as
in Syed, Bouchard-Cote, Deligiannidis and Doucet 2022.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound
from graphuq.samplers.hilbert_hmc import HilbertHMC
from graphuq.samplers.pcn import PCN
from graphuq.samplers.protocol import Chunk, NonFinitePotentialError, Sampler, Target
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Warm-up adapts the ladder each time after this many exchanges.
LADDER_ROUND = 50

STATISTICS = ("potential", "acceptance_rate", "swap_rate", "diverging")


class TemperedState(NamedTuple):
    """The state of a chain."""

    replicas: tuple[Any, ...]
    """States of the base sampler; the first is that of the posterior."""
    powers: Array
    """Inverse temperatures, from 1 to 0."""
    rejections: Array
    """Sum of each pair's rejection rates since the ladder last moved."""
    rounds: int
    """Exchanges made so far."""

    @property
    def field(self) -> Array:
        """The position of the posterior's replica."""
        return np.asarray(self.replicas[0].field)


@dataclass(frozen=True)
class Tempered(Sampler):
    """Run replicas of exp(-b Phi(u)) N(u; 0, C), 1 = b_0 > ... > b_K = 0, and exchange fields.

    Replicas with small b cross between the wells of a multimodal posterior, such as
    Ginzburg-Landau's with small epsilon, and hand down what they find to b = 1. Neighbors exchange
    with probability min(1, exp((b_i - b_j) (Phi_i - Phi_j))). Warm-up moves the ladder until all
    neighbors exchange equally often.

    Parameters
    ----------
    base : HilbertHMC or PCN
        The sampler that moves each replica: `HilbertHMC` by default.
    replicas : int
        Number of replicas, at least 2. Take more if ``swap_rate`` in the statistics is small.
    thin : int
        Rounds of moves and exchanges from one kept draw to the next.

    Raises
    ------
    TypeError, ValueError
        Another base; fewer than two replicas.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.Tempered(gq.PCN(), replicas=6).replicas
    6
    """

    base: HilbertHMC | PCN = dataclasses.field(default_factory=HilbertHMC)
    replicas: int = 12
    thin: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.base, HilbertHMC | PCN) or self.base.samples_modes:
            raise TypeError(f"base must be gq.HilbertHMC() or gq.PCN(), got {self.base!r}")
        validation.integer("replicas", self.replicas, 2)
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return ``draws``, and at least 500: the ladder has to settle."""
        return max(500, draws)

    def noise(self, likelihood: Bound) -> float:
        """Return the noise of the base sampler."""
        return self.base.noise(likelihood)

    def start(self, target: Target, rng: np.random.Generator) -> TemperedState:
        """Return draws from the prior, and an even ladder."""
        states = tuple(self.base.start(target, rng) for _ in range(self.replicas))
        powers = np.linspace(1, 0, self.replicas)
        return TemperedState(states, powers, np.zeros(self.replicas - 1), 0)

    def advance(
        self,
        target: Target,
        state: TemperedState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[TemperedState, Chunk]:
        """Make ``draws * thin`` rounds of moves and exchanges; keep every ``thin``-th."""
        states, powers = list(state.replicas), state.powers.copy()
        rejections, rounds = state.rejections.copy(), state.rounds
        fields = np.empty((draws, *target.shape))
        stats = {name: np.zeros(draws) for name in STATISTICS}
        here, potentials = np.empty((self.replicas, *target.shape)), np.empty(self.replicas)
        for draw in range(draws):
            for _ in range(thin):
                # move each replica
                for k, power in enumerate(powers):
                    try:
                        states[k], moved = self.base.advance(
                            target._replace(power=float(power)),
                            states[k],
                            rng,
                            1,
                            self.base.thin,
                            tune,
                        )
                    except NonFinitePotentialError as error:
                        kept = {name: values[:draw] for name, values in stats.items()}
                        error.chunk = Chunk(fields[:draw], kept)
                        raise
                    if k == 0:
                        stats["acceptance_rate"][draw] += moved.stats["acceptance_rate"][0] / thin
                        if "diverging" in moved.stats:
                            stats["diverging"][draw] += moved.stats["diverging"][0]
                    here[k], potentials[k] = moved.fields[0], moved.stats["potential"][0]
                # exchange the fields of even or odd pairs
                swaps = _swap_probabilities(powers, potentials)
                rejections += 1 - swaps
                stats["swap_rate"][draw] += swaps.mean() / thin
                for k in range(rounds % 2, self.replicas - 1, 2):
                    if rng.random() < swaps[k]:
                        # a replica keeps its step size
                        one, other = states[k], states[k + 1]
                        states[k] = one._replace(field=other.field)
                        states[k + 1] = other._replace(field=one.field)
                        pair = [k, k + 1]
                        here[pair], potentials[pair] = here[pair[::-1]], potentials[pair[::-1]]
                rounds += 1
                # adapt the ladder
                if tune and rounds % LADDER_ROUND == 0:
                    powers = _even_ladder(powers, rejections / LADDER_ROUND)
                    rejections[:] = 0.0
            # keep
            fields[draw], stats["potential"][draw] = here[0], potentials[0]
        return TemperedState(tuple(states), powers, rejections, rounds), Chunk(fields, stats)


def _swap_probabilities(powers: Array, potentials: Array) -> Array:
    """Return min(1, exp((b_k - b_k+1) (Phi_k - Phi_k+1))) for each pair of neighbors."""
    finite = np.minimum(potentials, 1e300)  # replicas may start at a forbidden place
    return np.exp(np.minimum(0.0, np.diff(powers) * np.diff(finite)))


def _even_ladder(powers: Array, rejections: Array) -> Array:
    """Return powers between which rejection rates are equal, if these add up along the ladder."""
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejections, 1e-3))])
    even = np.linspace(0.0, barrier[-1], powers.size)
    ladder = np.interp(even, barrier, powers)
    ladder[[0, -1]] = 1.0, 0.0
    return ladder
