"""What a method is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import graphuq as gq

# Modes of a spectrum, or all if there are fewer: the default of the estimator.
RANK = 300


class SkippedError(Exception):
    """A method does not apply to a task, for the reason given."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes with a graph, with features or without, and their classes 0 to K - 1.

    ``links`` is the network as published, where ``graph`` has edges that join its parts. It
    ``is_given`` beside features where it was not made of these. The class is -1 where it is
    unknown.
    """

    name: str
    graph: gq.Graph
    X: np.ndarray | None
    y: np.ndarray
    links: gq.Graph
    is_given: bool = False

    @property
    def n_classes(self) -> int:
        """Return K."""
        return int(self.y.max()) + 1

    @cached_property
    def spectrum(self) -> gq.Spectrum:
        """Return the eigenpairs, computed once for all methods."""
        return gq.Spectrum.of(self.graph, min(RANK, self.graph.n_nodes - 1))

    @property
    def features(self) -> np.ndarray:
        """Return ``X``, or raise if there is none."""
        if self.X is None:
            raise SkippedError("no features")
        return self.X


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with the labels that all methods are given, and a seed."""

    problem: Problem
    labels: gq.Labels
    seed: int

    def given(self, labels: gq.Labels) -> Task:
        """Return the same task with other labels, such as a part of these."""
        return Task(self.problem, labels, self.seed)


@dataclass(frozen=True, eq=False)
class Answer:
    """Probabilities of all nodes, or only predictions, or only sets."""

    probabilities: np.ndarray | None = None
    prediction: np.ndarray | None = None
    sets: np.ndarray | None = None
