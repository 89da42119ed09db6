"""One runner for all samplers: chains in threads, warm-up, progress, interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphuq.progress import progress_bar
from graphuq.samplers.family import Chunk, NonFinitePotentialError, Sampler, Target
from graphuq.threads import cores, one_blas_thread

# A chunk is the work between two looks at progress and Ctrl-C. Its size depends on the problem
# alone, never on the clock, so that a seed gives the same draws on every machine.
CHUNK_SECONDS = 0.1
CHUNK_DRAWS = 256


class Recorder(Protocol):
    """What becomes of one chain's kept draws."""

    def record(self, chunk: Chunk) -> None:
        """Take in some draws; called in the chain's thread."""


class Outcome(NamedTuple):
    """How a run ended."""

    complete: bool
    stopped: list[str]
    """Why chains stopped before their end."""
    seconds: float
    """Wall time from the first step to the last, warm-up included."""


class _Chain:
    def __init__(
        self,
        sampler: Sampler,
        target: Target,
        recorder: Recorder,
        seed: np.random.SeedSequence,
        draws: int,
        warmup: int,
        thin: int,
        chunk_draws: int,
    ) -> None:
        self._sampler, self._target, self._recorder = sampler, target, recorder
        self._rng = np.random.default_rng(seed)
        self._thin = thin
        self._chunk_draws = chunk_draws
        self.plan = [(n, True) for n in _split(warmup, self._chunk_draws)]
        self.extend(draws)
        self._state: Any = None
        self.stopped = ""

    def extend(self, draws: int) -> None:
        """Plan so many more draws."""
        self.plan += [(n, False) for n in _split(draws, self._chunk_draws)]

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
) -> Outcome:
    """Run one chain for each recorder; on Ctrl-C stop after the chunks under way.

    When all chains have their draws, ``more()`` says how many more each shall make, 0 to end.
    ``step_seconds`` is what a step takes, about, where it is more than those of one likelihood.
    """
    chunk_draws = _chunk_draws(step_seconds or _step_seconds(target), thin)
    chains = [
        _Chain(sampler, target, recorder, seed, draws, warmup, thin, chunk_draws)
        for recorder, seed in zip(recorders, seeds, strict=True)
    ]
    workers = min(len(chains), threads or cores())
    started = time.perf_counter()
    complete = True
    bar = progress_bar((warmup + draws) * len(chains), progress, "draw")
    # BLAS threads would fight with the chains', and change the order of summation.
    with bar, one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            _advance_all(pool, chains, bar)
            while not any(chain.stopped for chain in chains) and (extra := more()):
                bar.total += extra * len(chains)
                for chain in chains:
                    chain.extend(extra)
                _advance_all(pool, chains, bar)
        except KeyboardInterrupt:
            complete = False
            _finish(pool)
    stopped = [f"Chain {i} stopped: {c.stopped}." for i, c in enumerate(chains) if c.stopped]
    return Outcome(complete and not stopped, stopped, time.perf_counter() - started)


def _advance_all(pool: ThreadPoolExecutor, chains: Sequence[_Chain], bar: Any) -> None:
    pending: set[Future[tuple[_Chain, int, float]]] = {
        pool.submit(chain.advance) for chain in chains
    }
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            chain, draws, acceptance = future.result()
            bar.update(draws)
            bar.set_postfix(acceptance=f"{acceptance:.2f}", refresh=False)
            if chain.plan:
                pending.add(pool.submit(chain.advance))


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
