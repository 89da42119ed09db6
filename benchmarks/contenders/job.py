"""What every contender is given and gives back, and the clock that it is timed by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

GAMMA = 0.1


class Job(NamedTuple):
    """One contender's task, read from the posterior's file and the command line."""

    posterior: dict[str, Any]
    chains: int
    draws: int
    """Steps of each chain."""
    warmup: int
    thin: int
    seed: int
    clock: Clock

    @property
    def rank(self) -> int:
        """Number of coordinates to sample: the modes r, where the posterior does not say."""
        return int(self.posterior.get("dimension", self.posterior["s"].size))

    @property
    def kept(self) -> int:
        """Draws kept of each chain."""
        return self.draws // self.thin


class Clock:
    """Seconds by purpose."""

    def __init__(self, launched: float) -> None:
        self.launched = launched
        self.seconds: dict[str, float] = {}

    @contextmanager
    def lap(self, purpose: str) -> Iterator[None]:
        """Count the seconds of a block."""
        begun = time.perf_counter()
        yield
        spent = time.perf_counter() - begun
        self.seconds[purpose] = self.seconds.get(purpose, 0.0) + spent

    def ready(self) -> None:
        """Everything is imported."""
        self.seconds["start"] = time.time() - self.launched


class Draws(NamedTuple):
    """What a contender returns."""

    xi: Any
    """Shape (chains, kept, r)."""
    nodes: Any = None
    """The field at the traced nodes (chains, kept, 50), if not V xi."""
    signs: Callable | None = None
    """signs(chain, piece, nodes) -> E[sign u], if not the average sign of V xi."""
    done: float | None = None
    """time.time() when draws at the traced nodes were there."""
    whole: bool = False
    """Whether signs come from whole runs, not from pieces."""


def room(shape: tuple[int, ...]) -> Any:
    """An array whose pages the system has handed out already: that is not the sampler's time."""
    return np.full(shape, np.nan)


def start_points(job: Job) -> Any:
    """Overdispersed starts, one for each chain."""
    return 0.5 * np.random.default_rng(job.seed).standard_normal((job.chains, job.rank))
