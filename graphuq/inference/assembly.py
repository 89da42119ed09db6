"""From a run to its posterior, perhaps until an effective sample size is reached."""

from __future__ import annotations

import dataclasses
import os
from contextlib import suppress

import numpy as np

from graphuq.inference.chain_record import ChainRecord, join_draws
from graphuq.inference.checkpoint import open_checkpoint
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.run import Run
from graphuq.inference.runner import Outcome, run_chains
from graphuq.likelihoods.bound import parameters_of
from graphuq.posterior.assessment.diagnostics import effective_size, quick_messages
from graphuq.posterior.node_statistics import (
    Statistics,
    Summaries,
    batch_length,
    combine_chains,
    node_statistics,
    square_changes,
)
from graphuq.posterior.posterior import Posterior
from graphuq.utils.typing import Array
from graphuq.utils.words import count

# Draws of each chain that the statistics of nodes use if Ctrl-C ends those of all draws.
LAST_DRAWS = 100


def posterior_of(
    run: Run, checkpoint: str | os.PathLike[str] | None
) -> tuple[Posterior, tuple[str, ...]]:
    """Run the chains, and return the posterior with messages about it.

    Parameters
    ----------
    run : Run
    checkpoint : path or None
        See `graphuq.sample`.

    Raises
    ------
    ValueError, KeyboardInterrupt
        All chains ended before their first draw.
    """
    records = run.records()
    until = TargetEss(run.plan, records)
    with open_checkpoint(checkpoint, run.fingerprint(), run.n_bytes) as state:
        outcome = run_chains(run.sampler, run.target, records, run.plan, until.more, state)
        posterior = _assemble(run, records, outcome)
        if state and (posterior.draws.complete or outcome.stopped):
            state.remove()
    messages = quick_messages(posterior.draws, posterior.settings)
    return posterior, messages + (until.messages() if outcome.complete else ())


def _assemble(run: Run, records: list[ChainRecord], outcome: Outcome) -> Posterior:
    """Return the posterior from the records of all chains."""
    problem = run.problem
    kept = [record for record in records if record.draws]
    if not kept:
        if outcome.stopped:
            name = type(problem.likelihood).__name__
            raise ValueError(f"{name}: {' '.join(outcome.stopped)}")
        raise KeyboardInterrupt("interrupted during warm-up: there are no draws to return")
    statistics, few = _statistics(run, kept)
    return Posterior(
        prior=problem.prior,
        labels=problem.labels,
        names=problem.names,
        **statistics.nodes,
        source=join_draws(
            kept,
            run.hyperparameters,
            traced=problem.traced,
            running_mean_change=statistics.running_mean_change,
            complete=outcome.complete and few is None,
        ),
        settings={
            **run.settings,
            "draws": min(record.draws for record in kept),
            "sampling_time": outcome.seconds,
            "stopped": outcome.stopped,
            "running_mean_every": run.plan.thin
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


def _statistics(run: Run, records: list[ChainRecord]) -> tuple[Statistics, int | None]:
    """Return the statistics of all nodes, and the draws that they use if these are not all.

    If Ctrl-C is pressed here, the last draws have to do.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C is pressed again.
    """
    bound = run.problem.bound
    # Sums over draws, if they were accumulated during the run
    moments = [record.moments for record in records if record.moments is not None]
    if moments:
        nodes = combine_chains(moments, bound.label)
        return Statistics(nodes, np.sqrt(square_changes(moments))), None
    # else computed now from the summaries of all draws
    summaries = [
        record.summaries._replace(overlap=_overlap(record, run.problem, run.hyperparameters))
        for record in records
    ]
    with suppress(KeyboardInterrupt):
        return _node_statistics(run, summaries, records[0].rounds), None
    few = min(LAST_DRAWS, *(record.draws for record in records))
    return _node_statistics(run, [_last(chain, few) for chain in summaries], [few]), few


def _last(chain: Summaries, draws: int) -> Summaries:
    """Return the summaries of the last draws of a chain."""
    overlap = chain.overlap[-draws:] if isinstance(chain.overlap, np.ndarray) else chain.overlap
    return Summaries(chain.values[-draws:], chain.noise[-draws:], overlap)


def _node_statistics(run: Run, chains: list[Summaries], rounds: list[int]) -> Statistics:
    """Return the statistics of all nodes."""
    return node_statistics(
        run.conditional,
        chains,
        rounds,
        run.problem.bound.label,
        run.problem.bound.n_fields,
        threads=run.plan.threads,
        progress=run.plan.progress,
    )


class TargetEss:
    """Double the number of draws until the target is reached."""

    def __init__(self, plan: Plan, records: list[ChainRecord]) -> None:
        self._plan, self._records = plan, records
        self._ess = np.inf

    def more(self) -> int:
        """Return the number of further draws per chain, 0 to stop."""
        target = self._plan.target_ess
        if target is None:
            return 0
        self._ess = effective_size(join_draws(self._records))
        done = self._records[0].draws
        return 0 if self._ess >= target else min(done, self._plan.draws - done)

    def messages(self) -> tuple[str, ...]:
        """Return a message if all draws were made and the target was not reached."""
        plan = self._plan
        if plan.target_ess is None or self._ess >= plan.target_ess:
            return ()
        return (
            f"target_ess = {plan.target_ess:g} was not reached: {count(plan.draws, 'draw')} per "
            f"chain ({count(plan.chains, 'chain')}) are worth {self._ess:.0f}. Raise draws, or "
            "thin more.",
        )
