"""One runner for all samplers: chains in threads, warm-up, progress, interruption.

A long run says how long it takes, before it starts and on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple

import numpy as np

from graphuq.inference.chain_record import ChainRecord
from graphuq.inference.checkpoint import Checkpoint, Snapshot
from graphuq.inference.plan import Plan
from graphuq.samplers.protocol import NonFinitePotentialError, Sampler, Target
from graphuq.utils.interruption import Workers
from graphuq.utils.progress import Pace, announce_long_work, progress_bar
from graphuq.utils.threads import cpu_count, one_blas_thread
from graphuq.utils.typing import Array

# Seconds that the start of a chain takes at least.
START_SECONDS = 0.01

FEWER = "ask for fewer draws or chains, a shorter warm-up or less thinning"
REMEDY = f"Ctrl-C after the warm-up returns the draws so far; {FEWER} to need less time"

# A chunk is the work between two looks at progress and Ctrl-C. Its size depends on the problem
# and the draws alone, never on the clock, so that a seed gives the same draws on every machine.
# Where draws differ in their work, it starts with one draw and grows by at most a factor of GROWTH.
CHUNK_SECONDS = 0.1

MAX_CHUNK_DRAWS = 256

GROWTH = 4

# Seconds that Ctrl-C waits for the chunks under way.
GRACE_SECONDS = 0.5


def announce_run(sampler: Sampler, target: Target, plan: Plan) -> None:
    """Warn of a run that takes more than ten minutes before it starts, and refuse one of weeks."""
    draws = plan.warmup + plan.draws
    each = START_SECONDS + draws * sampler.draw_seconds(target, plan.thin)
    workers = min(plan.chains, plan.threads or cpu_count())
    what = f"sampling {plan.chains:,} chains of {draws:,} draws, warm-up included,"
    announce_long_work(plan.chains * each / workers, what, FEWER)


class Outcome(NamedTuple):
    """How a run ended."""

    complete: bool
    stopped: list[str]
    """Why chains stopped before their end."""
    seconds: float
    """Wall time of sampling, with the warm-up and all earlier runs of a checkpoint."""


class _Chain:
    """One chain, and the draws that are left.

    Parameters
    ----------
    sampler : Sampler
    target : Target
    record : ChainRecord
    seed : SeedSequence
        Seed of the sampler's transitions.
    plan : Plan
    takes_snapshots : bool
        Whether there is a checkpoint to write.
    """

    def __init__(
        self,
        sampler: Sampler,
        target: Target,
        record: ChainRecord,
        seed: np.random.SeedSequence,
        plan: Plan,
        takes_snapshots: bool,
    ) -> None:
        self._sampler, self._target, self._record = sampler, target, record
        self._rng = np.random.default_rng(seed)
        self._thin = plan.thin
        # draws of each part of the run, and whether the sampler adapts in it
        self._parts = [(plan.warmup, True)] if plan.warmup else []
        self._done, self._size = 0, self._chunk_size(None) if sampler.steady else 1
        self._takes_snapshots, self._state = takes_snapshots, None
        self._blank = Snapshot(0, self._size, None, (None, None), record.snapshot())
        self._lock, self._is_left = Lock(), False
        self.snapshot = self._blank
        self.stopped = ""

    @property
    def n_left(self) -> int:
        """Number of draws that are left."""
        return sum(n for n, _ in self._parts)

    def extend(self, draws: int) -> None:
        """Schedule this number of further draws."""
        self._parts.append((draws, False))

    def expect(self, draws: int) -> None:
        """Schedule another round and prepare the record for it."""
        self.extend(draws)
        self._record.expect(draws)

    def take_snapshot(self) -> None:
        """Take a snapshot, if there is a checkpoint to write."""
        if self._takes_snapshots and self._done:
            rng = self._rng.bit_generator.state, self._record.rng.bit_generator.state
            record = self._record.snapshot()
            self.snapshot = Snapshot(self._done, self._size, self._state, rng, record)

    def blank(self) -> Snapshot:
        """Return the snapshot of a chain that has not begun: the same from run to run."""
        if self._blank.state is None:
            state = self._sampler.start(self._target, np.random.default_rng(0))
            self._blank = self._blank._replace(state=state)
        return self._blank

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot, with the draws that it has left."""
        self._done, self._size, self._state = snapshot.done, snapshot.size, snapshot.state
        self._rng.bit_generator.state, self._record.rng.bit_generator.state = snapshot.rng
        self._record.restore(snapshot.record())
        left = self._done
        while left:
            n, tune = self._parts.pop(0)
            if n > left:
                self._parts.insert(0, (n - left, tune))
            left -= min(n, left)
        self.snapshot = snapshot

    def leave(self) -> None:
        """Record nothing more, also of the chunk under way."""
        with self._lock:
            self._is_left = True

    def advance(self) -> Advance:
        """Make the next chunk."""
        if self._state is None:
            self._state = self._sampler.start(self._target, self._rng)
        (part, tune), self._parts = self._parts[0], self._parts[1:]
        draws = min(part, self._size)
        rest = [(part - draws, tune)] if part > draws else []
        try:
            state, chunk = self._sampler.advance(
                self._target, self._state, self._rng, draws, self._thin, tune
            )
        except NonFinitePotentialError as error:
            state, chunk, stopped = self._state, error.chunk, str(error)
        else:
            stopped = ""
        with self._lock:
            if not self._is_left:
                self._state, self.stopped = state, stopped
                self._parts = [] if stopped else rest + self._parts
                if not tune and chunk.fields.size:
                    self._record.record(chunk)
                self._done += draws
                self._size = self._chunk_size(chunk.stats)
                self.take_snapshot()
        return Advance(self, draws, chunk.stats, self._done == draws)

    def _chunk_size(self, stats: dict[str, Array] | None) -> int:
        """Return the number of draws of the next chunk, by the statistics of the last one."""
        if stats is not None and (self._sampler.steady or not len(stats["acceptance_rate"])):
            return self._size
        most = MAX_CHUNK_DRAWS if stats is None else min(MAX_CHUNK_DRAWS, GROWTH * self._size)
        seconds = self._sampler.draw_seconds(self._target, self._thin, stats)
        return int(np.clip(CHUNK_SECONDS / seconds, 1, most))


class Advance(NamedTuple):
    """A chunk that is done."""

    chain: _Chain
    draws: int
    stats: dict[str, Array]
    first: bool
    """Whether it was the first chunk of the chain, with its start."""


def run_chains(
    sampler: Sampler,
    target: Target,
    records: Sequence[ChainRecord],
    plan: Plan,
    more: Callable[[], int] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Run one chain per record, in threads; Ctrl-C stops all chains after their current chunk.

    Parameters
    ----------
    sampler : Sampler
    target : Target
    records : sequence of ChainRecord
    plan : Plan
    more : callable, optional
        Called at the end of each round. Returns the number of further draws per chain, 0 to stop.
    checkpoint : Checkpoint, optional
        Saves the run from time to time. If it holds a run, that run is continued.

    Returns
    -------
    Outcome

    Warns
    -----
    RuntimeWarning
        The run takes ten minutes more, or is slow because labels contradict each other.
    """
    # Start new chains, or restore those of the checkpoint
    chains = [
        _Chain(sampler, target, record, seed, plan, checkpoint is not None)
        for record, (seed, _) in zip(records, plan.chain_seeds(), strict=True)
    ]
    rounds = (checkpoint and checkpoint.rounds) or [plan.first_round]
    for chain in chains:
        chain.extend(rounds[0])
        for draws in rounds[1:]:
            chain.expect(draws)
    if checkpoint is not None:
        checkpoint.resume(chains)
    workers = min(len(chains), plan.threads or cpu_count())
    left = sum(chain.n_left for chain in chains)
    pace = Pace(left, "sampling", REMEDY)
    started = time.perf_counter()
    complete = True
    bar = progress_bar((plan.warmup + sum(rounds)) * len(chains), plan.progress, "draw")
    bar.update(bar.total - left)  # restored draws count as done

    def follow(done: Advance) -> None:
        bar.update(done.draws)
        acceptance = float(np.append(done.stats["acceptance_rate"], 0.0)[0])
        bar.set_postfix(acceptance=f"{acceptance:.2f}", refresh=False)
        if done.first:  # it has the start of the chain, which may take as long as many draws
            pace.skip(done.draws)
        else:
            pace.step(done.draws, advice=sampler.advice(target, plan.thin, done.stats))
        if checkpoint is not None:
            checkpoint.write_in_time(chains, rounds)

    # BLAS threads would compete with those of the chains and change the order of summation
    with bar, one_blas_thread(), Workers(workers) as pool:
        try:
            # The first round, then further rounds until no more draws are needed
            _advance_all(pool, chains, follow)
            while more and not any(chain.stopped for chain in chains) and (draws := more()):
                bar.total += draws * len(chains)
                pace.add(draws * len(chains))
                rounds.append(draws)
                for chain in chains:
                    chain.expect(draws)
                    chain.take_snapshot()
                _advance_all(pool, chains, follow)
        except KeyboardInterrupt:
            complete = False
            if checkpoint is not None:
                checkpoint.write(chains, rounds)
    stopped = [f"Chain {i} stopped: {c.stopped}." for i, c in enumerate(chains) if c.stopped]
    seconds = time.perf_counter() - started + (checkpoint.seconds if checkpoint else 0.0)
    return Outcome(complete and not stopped, stopped, seconds)


def _advance_all(
    pool: Workers, chains: Sequence[_Chain], follow: Callable[[Advance], None]
) -> None:
    """Let each chain make all its scheduled draws; call ``follow`` as chunks end."""
    pending: set[Future[Advance]] = set()
    ended: SimpleQueue[Future[Advance]] = SimpleQueue()

    def submit(chain: _Chain) -> None:
        future = pool.submit(chain.advance)
        pending.add(future)
        # a wait for the first of all futures would look at every chain after each chunk
        future.add_done_callback(ended.put)

    try:
        for chain in chains:
            if chain.n_left:
                submit(chain)
        while pending:
            future = ended.get()
            pending.remove(future)
            found = future.result()
            if found.chain.n_left:
                submit(found.chain)
            follow(found)
    except KeyboardInterrupt:
        _finish(pending, chains)
        raise


def _finish(pending: set[Future[Advance]], chains: Sequence[_Chain]) -> None:
    """Start no more chunks, and wait a moment for those under way; a longer one is left behind."""
    deadline = time.monotonic() + GRACE_SECONDS
    running = {future for future in pending if not future.cancel()}
    while True:
        try:
            wait(running, timeout=max(0.0, deadline - time.monotonic()))
            for chain in chains:
                chain.leave()
        except KeyboardInterrupt:  # however often it is pressed
            continue
        return
