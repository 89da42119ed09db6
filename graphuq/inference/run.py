"""A run of chains: what is sampled, by which sampler and how long, and the room that it needs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphuq.inference.chain_record import ChainRecord
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.likelihoods.bound import describe, describe_sign_model
from graphuq.priors.given import Conditional
from graphuq.samplers.protocol import Sampler, Target
from graphuq.utils.memory import require_memory

# Numbers that a posterior has for each node and field: two probabilities and seven other
# statistics for two classes, fewer for K > 2.
N_STATISTICS = 9


@dataclass(frozen=True, eq=False)
class Run:
    """What `graphuq.sample` and `graphuq.sample_jointly` have planned.

    Attributes
    ----------
    problem : Problem
    sampler : Sampler
    plan : Plan
    conditional : Conditional
        The law of the field at all nodes, given what the sampler draws.
    target : Target
    settings : dict
        What identifies the run, as plain values; see `settings_of`.
    hyperparameters : tuple of str
        Those statistics of the sampler that are hyperparameters.
    """

    problem: Problem
    sampler: Sampler
    plan: Plan
    conditional: Conditional
    target: Target
    settings: dict[str, Any]
    hyperparameters: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> float:
        """Bytes of all draws."""
        return bytes_of_draws(self.problem, self.plan, self.conditional)

    def records(self) -> list[ChainRecord]:
        """Return an empty record for each chain."""
        return [
            ChainRecord(
                self.conditional, self.problem.bound, self.plan, np.random.default_rng(seed)
            )
            for _, seed in self.plan.chain_seeds()
        ]

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify the run in a checkpoint."""
        settings = {**self.settings, "draws": self.plan.draws}
        return {"run": settings, **self.problem.fingerprint()}


def bytes_of_draws(problem: Problem, plan: Plan, conditional: Conditional) -> float:
    """Return the bytes of all draws."""
    return 8.0 * plan.chains * plan.draws * problem.bound.n_fields * conditional.numbers_per_draw


def require_room(
    problem: Problem, plan: Plan, conditional: Conditional, extra: float = 0.0
) -> None:
    """Refuse work that memory has no room for.

    Parameters
    ----------
    problem, plan, conditional
        See `Run`.
    extra : float
        Bytes that the sampler needs besides.

    Raises
    ------
    MemoryError
    """
    C = problem.bound.n_fields
    require_memory(
        bytes_of_draws(problem, plan, conditional) + extra,
        f"storing {plan.chains} x {plan.draws} draws of {C * conditional.numbers_per_draw} numbers",
        "ask for fewer draws, and thin more",
    )
    n_nodes = conditional.which.size
    fewer = "keep the labels of fewer classes, labels.of_classes(...), or " if C > 1 else ""
    require_memory(
        N_STATISTICS * 8.0 * n_nodes * C,
        f"{N_STATISTICS} x {C} statistics of {n_nodes} nodes",
        f"{fewer}take fewer nodes",
    )


def settings_of(
    problem: Problem, sampler: dict[str, Any], plan: Plan, noise: float
) -> dict[str, Any]:
    """Return the settings of a run as plain Python values, which files can hold."""
    return {
        **settings_of_problem(problem),
        "sampler": sampler,
        "noise": noise,
        "target_ess": plan.target_ess,
        "chains": plan.chains,
        "warmup": plan.warmup,
        "thin": plan.thin,
        "seed_entropy": np.asarray(plan.seeds.entropy).tolist(),
        "seed_spawn_key": np.asarray(plan.seeds.spawn_key, dtype=int).tolist(),
        "tuning_steps": plan.warmup * plan.thin,
    }


def settings_of_problem(problem: Problem) -> dict[str, Any]:
    """Return the settings that say what was sampled."""
    return {
        "prior": problem.prior.fingerprint(),
        "likelihood": describe(problem.likelihood),
        "sign_model": describe_sign_model(problem.bound),
        "overlap": problem.bound.overlap,
    }


def settings_of_sampler(sampler: Sampler) -> dict[str, Any]:
    """Return a sampler's name and settings as plain Python values."""
    values: dict[str, Any] = {"name": type(sampler).__name__}
    for field in dataclasses.fields(sampler):
        value = getattr(sampler, field.name)
        if dataclasses.is_dataclass(value):
            value = settings_of_sampler(value)  # type: ignore[arg-type]
        values[field.name] = value.item() if isinstance(value, np.generic) else value
    return values
