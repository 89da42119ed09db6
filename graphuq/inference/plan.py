"""How long to sample: draws, chains, warm-up, and the random numbers of each chain."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from graphuq.samplers.protocol import Sampler
from graphuq.utils import validation

# Default number of draws of each chain, and the default maximum if a target ESS is given.
DEFAULT_DRAWS, DEFAULT_MAX_DRAWS = 1000, 16_000

# Maximum number of draws of a chain before its effective sample size is first computed.
MAX_FIRST_ROUND = 500

# Placeholder for the default of the sampler.
FROM_SAMPLER = -1


@dataclass(frozen=True, eq=False)
class Plan:
    """The numbers of draws and chains, and the random numbers, of a run.

    Attributes
    ----------
    draws : int
        Maximum number of draws per chain.
    first_round : int
        Draws before the effective sample size is first computed; all draws without a target.
    target_ess : float or None
    chains : int
    warmup, thin : int
        ``FROM_SAMPLER`` for the defaults of the sampler.
    threads : int or None
        At most this many chains run at a time; None stands for one on each core.
    progress : bool
    seeds : SeedSequence
    """

    draws: int
    first_round: int
    target_ess: float | None
    chains: int
    warmup: int
    thin: int
    threads: int | None
    progress: bool
    seeds: np.random.SeedSequence

    @classmethod
    def check(
        cls,
        *,
        draws: int | None,
        target_ess: float | None = None,
        chains: int,
        warmup: int | None,
        thin: int | None,
        seed: validation.Seed,
        threads: int | None,
        progress: bool,
    ) -> Plan:
        """Return the plan that the arguments of `graphuq.sample` ask for.

        Raises
        ------
        TypeError, ValueError
            Arguments of another type, or out of range.
        """
        if draws is None:
            draws = DEFAULT_DRAWS if target_ess is None else DEFAULT_MAX_DRAWS
        draws = first_round = validation.integer("draws", draws, 1)
        if target_ess is not None:
            target_ess = validation.positive("target_ess", target_ess)
            while first_round > MAX_FIRST_ROUND:  # halves, so that rounds that double end at draws
                first_round = -(-first_round // 2)
        return cls(
            draws=draws,
            first_round=first_round,
            target_ess=target_ess,
            chains=validation.integer("chains", chains, 1),
            warmup=FROM_SAMPLER if warmup is None else validation.integer("warmup", warmup, 0),
            thin=FROM_SAMPLER if thin is None else validation.integer("thin", thin, 1),
            threads=validation.n_threads(threads),
            progress=validation.boolean("progress", progress),
            seeds=validation.seed_sequence(seed),
        )

    def with_defaults_of(self, sampler: Sampler) -> Plan:
        """Return the plan with the sampler's warm-up and thinning where the user gave none."""
        warmup, thin = self.warmup, self.thin
        if warmup == FROM_SAMPLER:
            warmup = sampler.warmup(self.first_round)
        if thin == FROM_SAMPLER:
            thin = int(sampler.thin)
        return dataclasses.replace(self, warmup=warmup, thin=thin)

    def chain_seeds(self) -> list[tuple[np.random.SeedSequence, np.random.SeedSequence]]:
        """Return two seeds for each chain: of its transitions, and of its record."""
        fresh = validation.seed_sequence(self.seeds)  # spawning changes a sequence
        pairs = (chain.spawn(2) for chain in fresh.spawn(self.chains))
        return [(transitions, record) for transitions, record in pairs]
