"""The input and output of every contender, and the clock that times it."""

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
        """Number of coordinates to sample: the modes r, unless the posterior says otherwise."""
        return int(self.posterior.get("dimension", self.posterior["s"].size))

    @property
    def kept(self) -> int:
        """Kept draws of each chain."""
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
        """Record that everything is imported."""
        self.seconds["start"] = time.time() - self.launched


class Draws(NamedTuple):
    """The output of a contender."""

    xi: Any
    """Shape (chains, kept, r)."""
    nodes: Any = None
    """The field at the traced nodes (chains, kept, 50), if not V xi."""
    signs: Callable | None = None
    """signs(chain, piece, nodes) -> E[sign u], if not the average sign of V xi."""
    done: float | None = None
    """time.time() when the draws at the traced nodes were complete."""
    whole: bool = False
    """Whether signs come from whole runs, not from pieces."""


def room(shape: tuple[int, ...]) -> Any:
    """Return an array whose pages are allocated already, so that samplers do not pay for this."""
    return np.full(shape, np.nan)


def start_points(job: Job) -> Any:
    """Return overdispersed starts, one per chain."""
    return 0.5 * np.random.default_rng(job.seed).standard_normal((job.chains, job.rank))
