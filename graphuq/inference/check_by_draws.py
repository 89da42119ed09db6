"""Whether class probabilities of an approximation are poor, by a short run of the exact sampler."""

from __future__ import annotations

import math

import numpy as np

from graphuq.inference.evidence.poor_sites import describe_poor
from graphuq.inference.problem import Problem
from graphuq.likelihoods.label_rule import Argmax, both_classes, probability_positive
from graphuq.posterior.node_kernels import class_probability
from graphuq.priors.given import Given
from graphuq.samplers import Harmonic
from graphuq.samplers.protocol import Target
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array, Nodes

# A draw takes about J^2 K operations, of which SIGN_SPEED are done at a time for two classes. The
# run has as many draws as OPERATIONS allow, and so many in any case, unless these take seconds.
OPERATIONS, MAX_OPERATIONS, SIGN_SPEED, MIN_DRAWS, MAX_DRAWS = 4e7, 4e8, 8, 105, 4200

# Batches of draws, for an error; the first is warm-up.
BATCHES = 21

# A probability that is off by MAX_ERROR is poor, if it is certain that it is off by CERTAIN_ERROR:
# within SIGMAS standard errors. At labeled nodes and this many others.
MAX_ERROR, CERTAIN_ERROR, SIGMAS, MAX_NODES = 0.03, 0.02, 3.0, 100


def describe_poor_probabilities(problem: Problem, by_class: Array) -> str:
    """Return why probabilities are poor, "" if they are not, or if to know it takes long.

    Parameters
    ----------
    problem : Problem
    by_class : ndarray, shape (N, K)
        Predictive probabilities of an approximation.
    """
    bound, nodes = problem.bound, problem.labels.nodes
    several = isinstance(bound.rule, Argmax)
    operations = len(nodes) ** 2 * by_class.shape[1] / (1 if several else SIGN_SPEED)
    draws = int(np.clip(OPERATIONS / operations, MIN_DRAWS, MAX_DRAWS))
    if draws * operations > MAX_OPERATIONS:
        return ""
    some = np.linspace(0, len(by_class) - 1, min(len(by_class), MAX_NODES)).astype(np.intp)
    some = np.union1d(some, nodes)
    with one_blas_thread():
        batches = _sample(problem, some, draws // BATCHES)
    error = abs(batches.mean(axis=0) - by_class[some])
    least = error - SIGMAS * batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
    poor = np.where(least > CERTAIN_ERROR, error, 0.0).max(axis=1)
    worst = int(poor.argmax())
    if poor[worst] <= MAX_ERROR:
        return ""
    return describe_poor(f"a probability is off by {poor[worst]:.2f} at node {some[worst]}")


def _sample(problem: Problem, some: Nodes, draws: int) -> Array:
    """Return the mean probabilities of some nodes in each batch of draws, (batches, nodes, K)."""
    bound, nodes, rng = problem.bound, problem.labels.nodes, np.random.default_rng(0)
    prior, sampler = problem.prior, Harmonic()
    given = Given(prior.field, nodes, noise=sampler.noise(bound))
    rows = given.rows(given.basis[some], given.which[some])
    deviation, target = np.hypot(rows.deviation, bound.overlap), Target(given.law, bound)
    state, batches = sampler.start(target, rng), []
    for _ in range(BATCHES):
        state, chunk = sampler.advance(target, state, rng, draws, 1, False)
        fields = np.swapaxes(given.summarize(chunk.fields), 0, 1)
        mean = np.stack([rows.mean(field).T for field in fields])
        if len(mean) == 1:
            p = both_classes(probability_positive(mean[0], deviation).mean(axis=0))
        else:
            p = class_probability(mean, deviation, rng.standard_normal((draws, len(mean))))
        batches.append(p)
    return np.array(batches[1:])
