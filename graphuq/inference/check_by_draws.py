"""Whether class probabilities of an approximation are poor, by a short run of the exact sampler."""

from __future__ import annotations

import math

import numpy as np

from graphuq.inference.evidence.poor_sites import MAX_CORRECTION, describe_poor
from graphuq.inference.problem import Problem
from graphuq.likelihoods.label_rule import Argmax, both_classes, probability_positive
from graphuq.posterior.node_kernels import class_probability
from graphuq.priors.given import Given
from graphuq.samplers import Harmonic
from graphuq.samplers.protocol import Chunk, Target
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array, Nodes

# A run takes about SECONDS, unless that is less than MIN_DRAWS; while it leaves open whether a
# probability is poor, another takes MORE times as long. No run takes more than MAX_SECONDS.
SECONDS, MAX_SECONDS, MIN_DRAWS, MAX_DRAWS, MORE = 0.2, 3.0, 105, 4200, 4

# Batches of draws, for an error; the first is warm-up.
BATCHES = 21

# A probability that is off by MAX_ERROR is poor, if it is certain that it is off by CERTAIN_ERROR:
# within SIGMAS standard errors. At labeled nodes and this many others.
MAX_ERROR, CERTAIN_ERROR, SIGMAS, MAX_NODES = 0.03, 0.02, 3.0, 400


def describe_poor_probabilities(problem: Problem, by_class: Array, correction: float) -> str:
    """Return why probabilities are poor, or are not known to be good, or "".

    Two classes whose draws take long are judged by ``correction`` alone.

    Parameters
    ----------
    problem : Problem
    by_class : ndarray, shape (N, K)
        Predictive probabilities of an approximation.
    correction : float
        The leading term of the error of its log evidence.
    """
    some = np.linspace(0, len(by_class) - 1, min(len(by_class), MAX_NODES)).astype(np.intp)
    some = np.union1d(some, problem.labels.nodes)
    with one_blas_thread():
        run = _Run(problem, some)
        draws = int(np.clip(SECONDS / run.draw_seconds, MIN_DRAWS, MAX_DRAWS))
        while draws * run.draw_seconds <= MAX_SECONDS:
            batches = run.batches(draws // BATCHES)
            error = abs(batches.mean(axis=0) - by_class[some]).max(axis=1)
            deviation = batches.std(axis=0, ddof=1).max(axis=1) / math.sqrt(len(batches))
            least = error - SIGMAS * deviation
            worst = int(least.argmax())
            if error[worst] > MAX_ERROR and least[worst] > CERTAIN_ERROR:
                return describe_poor(
                    f"a probability differs by {error[worst]:.2f} at node {some[worst]} from that "
                    "of a short run of the exact sampler",
                    "gq.sample and see its diagnostics",
                )
            if error.max() <= MAX_ERROR:
                return ""
            draws *= MORE
    if isinstance(problem.bound.rule, Argmax) or not abs(correction) <= MAX_CORRECTION:
        return (
            "expectation propagation is not checked here, since draws that check it take long: "
            "compare with gq.sample, or allow more noise (gamma) or flips"
        )
    return ""


class _Run:
    """The exact sampler, which goes on where it stopped."""

    def __init__(self, problem: Problem, some: Nodes) -> None:
        bound, self._rng, self._sampler = problem.bound, np.random.default_rng(0), Harmonic()
        noise = self._sampler.noise(bound)
        self._given = Given(problem.prior.field, problem.labels.nodes, noise=noise)
        self._rows = self._given.rows(self._given.basis[some], self._given.which[some])
        self._deviation = np.hypot(self._rows.deviation, bound.overlap)
        self._target = Target(self._given.law, bound)
        self._state = self._sampler.start(self._target, self._rng)
        # by the walls that one draw hits
        stats = self._advance(1).stats
        self.draw_seconds = self._sampler.draw_seconds(self._target, 1, stats)

    def _advance(self, draws: int) -> Chunk:
        self._state, chunk = self._sampler.advance(
            self._target, self._state, self._rng, draws, 1, False
        )
        return chunk

    def batches(self, draws: int) -> Array:
        """Return the probabilities of the nodes in each batch of draws, (batches, nodes, K)."""
        found = []
        for _ in range(BATCHES):
            fields = np.swapaxes(self._given.summarize(self._advance(draws).fields), 0, 1)
            mean = np.stack([self._rows.mean(field).T for field in fields])
            if len(mean) == 1:
                positive = probability_positive(mean[0], self._deviation)
                found.append(both_classes(positive.mean(axis=0)))
            else:
                noise = self._rng.standard_normal((draws, len(mean)))
                found.append(class_probability(mean, self._deviation, noise))
        return np.array(found[1:])
