"""One runner for all samplers: chains in threads, warm-up, progress, interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphuq.checkpoint import Checkpoint, Snapshot
from graphuq.progress import progress_bar
from graphuq.samplers.family import Chunk, NonFinitePotentialError, Sampler, Target
from graphuq.threads import cores, one_blas_thread

# A chunk is the work between two looks at progress and Ctrl-C. Its size depends on the problem
# alone, never on the clock, so that a seed gives the same draws on every machine.
CHUNK_SECONDS = 0.1
CHUNK_DRAWS = 256


class Recorder(Protocol):
    """What becomes of one chain's kept draws."""

    rng: np.random.Generator
    """Of what is drawn along with them."""

    def snapshot(self) -> Callable[[], dict[str, Any]]:
        """Return what gathers what was kept so far; see `graphuq.checkpoint.Snapshot`."""

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from there."""

    def expect(self, draws: int) -> None:
        """Make ready for another round of so many draws."""

    def record(self, chunk: Chunk) -> None:
        """Take in some draws; called in the chain's thread."""


class Outcome(NamedTuple):
    """How a run ended."""

    complete: bool
    stopped: list[str]
    """Why chains stopped before their end."""
    seconds: float
    """Wall time of sampling, warm-up and what went before a checkpoint included."""


class _Chain:
    def __init__(
        self,
        sampler: Sampler,
        target: Target,
        recorder: Recorder,
        seed: np.random.SeedSequence,
        warmup: int,
        thin: int,
        chunk_draws: int,
        keeps: bool,
    ) -> None:
        self._sampler, self._target, self._recorder = sampler, target, recorder
        self._rng = np.random.default_rng(seed)
        self._thin = thin
        self._chunk_draws = chunk_draws
        self.plan = [(n, True) for n in _split(warmup, self._chunk_draws)]
        self._done = 0
        self._keeps, self._state = keeps, None
        self._blank = Snapshot(0, None, (None, None), recorder.snapshot())
        self.snapshot = self._blank
        self.stopped = ""

    def extend(self, draws: int) -> None:
        """Plan so many more draws."""
        self.plan += [(n, False) for n in _split(draws, self._chunk_draws)]

    def keep(self) -> None:
        """Take a snapshot, if there is a checkpoint to write."""
        if self._keeps and self._done:
            rng = self._rng.bit_generator.state, self._recorder.rng.bit_generator.state
            self.snapshot = Snapshot(self._done, self._state, rng, self._recorder.snapshot())

    def blank(self) -> Snapshot:
        """Return the snapshot of a chain that has not begun: the same from run to run."""
        if self._blank.state is None:
            state = self._sampler.start(self._target, np.random.default_rng(0))
            self._blank = self._blank._replace(state=state)
        return self._blank

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there, with what is left of the plan."""
        self._done, self._state = snapshot.chunks, snapshot.state
        self._rng.bit_generator.state, self._recorder.rng.bit_generator.state = snapshot.rng
        self._recorder.restore(snapshot.record())
        self.plan = self.plan[self._done :]
        self.snapshot = snapshot

    def advance(self) -> tuple[_Chain, int, float]:
        """Do the next chunk of the plan; return its draws and their acceptance."""
        if self._state is None:
            self._state = self._sampler.start(self._target, self._rng)
        draws, tune = self.plan.pop(0)
        try:
            self._state, chunk = self._sampler.advance(
                self._target, self._state, self._rng, draws, self._thin, tune
            )
        except NonFinitePotentialError as error:
            self.stopped, self.plan, chunk = str(error), [], error.chunk
        if not tune and chunk.fields.size:
            self._recorder.record(chunk)
        self._done += 1
        self.keep()
        return self, draws, float(np.append(chunk.stats["acceptance_rate"], 0.0)[0])


def run(
    sampler: Sampler,
    target: Target,
    recorders: Sequence[Recorder],
    seeds: Sequence[np.random.SeedSequence],
    *,
    draws: int,
    warmup: int,
    thin: int,
    threads: int | None,
    progress: bool,
    more: Callable[[], int],
    step_seconds: float | None = None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Run one chain for each recorder; on Ctrl-C stop after the chunks under way.

    When all chains have their draws, ``more()`` says how many more each shall make, 0 to end.
    ``step_seconds`` is what a step takes, about, where it is more than those of one likelihood.
    A ``checkpoint`` that holds a run is gone on with.
    """
    chunk_draws = _chunk_draws(step_seconds or _step_seconds(target), thin)
    chains = [
        _Chain(sampler, target, recorder, seed, warmup, thin, chunk_draws, checkpoint is not None)
        for recorder, seed in zip(recorders, seeds, strict=True)
    ]
    rounds = (checkpoint and checkpoint.rounds) or [draws]
    for chain, recorder in zip(chains, recorders, strict=True):
        for number, asked in enumerate(rounds):
            chain.extend(asked)
            if number:
                recorder.expect(asked)
    if checkpoint is not None:
        checkpoint.resume(chains)
    workers = min(len(chains), threads or cores())
    started = time.perf_counter()
    complete = True
    left = sum(n for chain in chains for n, _ in chain.plan)
    bar = progress_bar((warmup + sum(rounds)) * len(chains), progress, "draw")
    bar.update((warmup + sum(rounds)) * len(chains) - left)

    def keep() -> None:
        if checkpoint is not None:
            checkpoint.write_in_time(chains, rounds)

    # BLAS threads would fight with the chains', and change the order of summation.
    with bar, one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            _advance_all(pool, chains, bar, keep)
            while not any(chain.stopped for chain in chains) and (extra := more()):
                bar.total += extra * len(chains)
                rounds.append(extra)
                for chain, recorder in zip(chains, recorders, strict=True):
                    chain.extend(extra)
                    recorder.expect(extra)
                    chain.keep()
                _advance_all(pool, chains, bar, keep)
        except KeyboardInterrupt:
            complete = False
            _finish(pool)
            if checkpoint is not None:
                checkpoint.write(chains, rounds)
    stopped = [f"Chain {i} stopped: {c.stopped}." for i, c in enumerate(chains) if c.stopped]
    seconds = time.perf_counter() - started + (checkpoint.seconds if checkpoint else 0.0)
    return Outcome(complete and not stopped, stopped, seconds)


def _advance_all(
    pool: ThreadPoolExecutor, chains: Sequence[_Chain], bar: Any, keep: Callable[[], None]
) -> None:
    pending: set[Future[tuple[_Chain, int, float]]] = {
        pool.submit(chain.advance) for chain in chains if chain.plan
    }
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            chain, draws, acceptance = future.result()
            bar.update(draws)
            bar.set_postfix(acceptance=f"{acceptance:.2f}", refresh=False)
            if chain.plan:
                pending.add(pool.submit(chain.advance))
        keep()


def _finish(pool: ThreadPoolExecutor) -> None:
    """Wait for the chunks under way, however often Ctrl-C is pressed, and start no more."""
    while True:
        try:
            pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            continue
        return


def _step_seconds(target: Target) -> float:
    m, p = target.law.basis.shape
    return 1e-6 + 4e-10 * m * p + 5e-8 * m


def _chunk_draws(step_seconds: float, thin: int) -> int:
    return int(np.clip(CHUNK_SECONDS / (step_seconds * thin), 1, CHUNK_DRAWS))


def _split(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]
