"""From the records of all chains to a posterior."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any

import numpy as np

from graphuq.inference.chain_record import ChainRecord
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.runner import Outcome
from graphuq.inference.storage import Storage
from graphuq.likelihoods.bound import describe, describe_sign_model, parameters_of
from graphuq.posterior.draws import Draws
from graphuq.posterior.node_moments import batch_length
from graphuq.posterior.node_statistics import (
    MAX_WAIT_SECONDS,
    Statistics,
    Summaries,
    combine_chains,
    node_statistics,
    seconds_needed,
    square_changes,
)
from graphuq.posterior.posterior import Posterior
from graphuq.samplers.protocol import Sampler
from graphuq.utils.forecast import warn_of_long_work
from graphuq.utils.typing import Array

# Draws of each chain that the statistics of nodes use at least.
MIN_DRAWS = 20


def join_draws(records: list[ChainRecord], sampled: tuple[str, ...] = (), **others: Any) -> Draws:
    """Stack the draws of all chains, up to the length of the shortest.

    The statistics named ``sampled`` are hyperparameters; ``others`` are fields of `Draws`.
    """
    draws = min(record.draws for record in records)
    stats = {
        name: np.stack(
            [np.concatenate([s[name] for s in record.stats])[:draws] for record in records]
        )
        for name in records[0].stats[0]
    }

    def join(chains: list[Array]) -> Array:
        """Return draws (chains, draws, n), for K > 2 classes (chains, draws, n, K)."""
        stacked = np.stack([chain[:draws] for chain in chains])
        return stacked[:, :, 0] if stacked.shape[2] == 1 else np.moveaxis(stacked, 2, 3)

    return Draws(
        modes=join([record.modes for record in records]),
        field=join([record.field for record in records]),
        read=join([record.read for record in records]),
        hyperparameters={name: stats.pop(name) for name in sampled},
        stats=stats,
        **others,
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


def assemble(
    records: list[ChainRecord],
    outcome: Outcome,
    problem: Problem,
    settings: dict[str, Any],
    storage: Storage,
    sampled: tuple[str, ...] = (),
) -> Posterior:
    """Return the posterior from the records of all chains.

    Raises
    ------
    ValueError, KeyboardInterrupt
        All chains ended before their first draw.
    """
    kept = [record for record in records if record.draws]
    if not kept:
        if outcome.stopped:
            name = type(problem.likelihood).__name__
            raise ValueError(f"{name}: {' '.join(outcome.stopped)}")
        raise KeyboardInterrupt("interrupted during warm-up: there are no draws to return")
    overlaps = [_overlap(record, problem, sampled) for record in kept]
    in_haste = not outcome.complete and not outcome.stopped
    statistics, few = _statistics(kept, overlaps, storage, in_haste)
    return Posterior(
        prior=problem.prior,
        labels=problem.labels,
        **statistics.nodes,
        source=join_draws(
            kept,
            sampled,
            traced=problem.traced,
            running_mean_change=statistics.running_mean_change,
            complete=outcome.complete and few is None,
        ),
        settings={
            **settings,
            "draws": min(record.draws for record in kept),
            "sampling_time": outcome.seconds,
            "stopped": outcome.stopped,
            "running_mean_every": settings["thin"]
            * (kept[0].batch_length if few is None else batch_length(few)),
            **({} if few is None else {"statistics_draws": few}),
        },
    )


def _overlap(record: ChainRecord, problem: Problem, sampled: tuple[str, ...]) -> Array | float:
    """Return the overlap of the classes: that of each draw if its parameters are sampled."""
    names = [name for name in sampled if name in parameters_of(problem.likelihood)]
    if not names:
        return problem.bound.overlap
    likelihood, n_classes = problem.likelihood, problem.bound.rule.n_classes
    columns = [np.concatenate([stats[name] for stats in record.stats]) for name in names]
    each = (
        dataclasses.replace(likelihood, **dict(zip(names, row, strict=True)))  # type: ignore[type-var]
        for row in np.column_stack(columns).tolist()
    )
    return np.array([one.overlap(n_classes) for one in each])


def _statistics(
    records: list[ChainRecord], overlaps: list[Array | float], storage: Storage, in_haste: bool
) -> tuple[Statistics, int | None]:
    """Return the statistics of all nodes, and the draws that they use if these are not all.

    After Ctrl-C, and if it is pressed here, the last draws have to do if all of them take long.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C is pressed again.
    """
    bound, plan = storage.bound, storage.plan
    # Sums over draws, if they were accumulated during the run
    moments = [record.moments for record in records if record.moments is not None]
    if moments:
        nodes = combine_chains(moments, bound.label)
        return Statistics(nodes, np.sqrt(square_changes(moments))), None
    # else computed now from the summaries of all draws
    summaries = [r.summaries._replace(overlap=o) for r, o in zip(records, overlaps, strict=True)]
    draws = sum(record.draws for record in records)
    seconds = seconds_needed(storage.conditional, draws, bound.n_fields, plan.threads)
    if not in_haste:
        warn_of_long_work(
            seconds, "computing the statistics of all nodes", "ask for fewer draws", stacklevel=4
        )
    if not in_haste or seconds <= MAX_WAIT_SECONDS:
        with suppress(KeyboardInterrupt):
            return _node_statistics(summaries, records[0].rounds, storage), None
    # or from the last of them, in half the time: other threads may still be busy
    few = max(MIN_DRAWS, int(MAX_WAIT_SECONDS / 2 / seconds * draws / len(records)))
    few = min(few, *(record.draws for record in records))
    return _node_statistics([_last(chain, few) for chain in summaries], [few], storage), few


def _last(chain: Summaries, draws: int) -> Summaries:
    """Return the summaries of the last draws of a chain."""
    overlap = chain.overlap[-draws:] if isinstance(chain.overlap, np.ndarray) else chain.overlap
    return Summaries(chain.values[-draws:], chain.noise[-draws:], overlap)


def _node_statistics(chains: list[Summaries], rounds: list[int], storage: Storage) -> Statistics:
    """Return the statistics of all nodes, in memory or in files."""
    statistics = node_statistics(
        storage.conditional,
        chains,
        rounds,
        storage.bound.label,
        storage.bound.n_fields,
        threads=storage.plan.threads,
        progress=storage.plan.progress,
        new_array=storage.new_array,
    )
    return statistics._replace(nodes=storage.name_files(statistics.nodes))
