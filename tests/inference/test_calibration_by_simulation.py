"""Simulation-based calibration (Talts et al. 2018): the rank of the truth is uniform.

Field and labels are drawn from the model itself, and the posterior of those labels is sampled. A
data set that does not show both classes is left out: that depends on the labels alone, given which
the posterior is the same.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import quietly
from references.selection import first_of
from scipy.stats import chisquare

import graphuq as gq
from graphuq.likelihoods.bound import bind

LABELED = np.array([0, 5, 9, 13, 20, 26, 33, 38])
TRACED = [2, 13, 30]  # one of them is labeled
DRAWS, SIMULATIONS = 31, 400


def simulated_labels(model, u, rng):
    """Draw y given the field at the labeled nodes."""
    if isinstance(model, gq.Probit):
        return np.sign(u + model.gamma * rng.standard_normal(u.size))
    odds = np.exp(-2 / model.gamma**2)  # odds of a wrong label: Phi = |y - S(u)|^2 / (2 gamma^2)
    return np.where(rng.random(u.size) < odds / (1 + odds), -1, 1) * np.sign(u)


def rank_p_values(prior, model, assumed, sampler, **options):
    """Return p-values of uniform ranks, one per traced node."""
    rng = np.random.default_rng(7)
    ranks = []
    for seed in range(SIMULATIONS):
        (u,) = prior.draw(1, seed=rng)
        y = simulated_labels(model, u[LABELED], rng)
        if abs(y.sum()) == y.size:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gq.ConvergenceWarning)
            post = gq.sample(
                prior,
                assumed,
                gq.Labels(LABELED, y),
                sampler,
                draws=DRAWS,
                chains=1,
                nodes=TRACED,
                seed=seed,
                progress=False,
                **options,
            )
        ranks.append((post.draws.field[0] < u[TRACED]).sum(axis=0))
    assert len(ranks) > 0.8 * SIMULATIONS
    counts = [np.bincount(r // 2, minlength=(DRAWS + 1) // 2) for r in np.transpose(ranks)]
    return np.array([chisquare(count).pvalue for count in counts])


@pytest.mark.slow
@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.LevelSet(1.2)], ids=repr)
@pytest.mark.parametrize(
    ("sampler", "options"),
    first_of(
        [
            (gq.Harmonic(), {"thin": 2}),
            (gq.PCN(0.5), {"thin": 100, "warmup": 10}),
            (gq.EllipticalSlice(), {"thin": 25, "warmup": 10}),
        ]
    ),
    ids=["harmonic", "pCN", "slice"],
)
def test_ranks_are_uniform(small, model, sampler, options):
    prior = gq.Prior.approximated(small[0], 8)
    # the smallest of 18 p-values is below this once in 1,000 times
    assert rank_p_values(prior, model, model, sampler, **options).min() > 1e-3 / 18


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "wrong"),
    first_of([(gq.Probit(1.5), gq.Probit(0.1)), (gq.LevelSet(1.2), gq.LevelSet(0.3))]),
    ids=["probit", "level-set"],
)
def test_ranks_under_a_wrong_model_are_not_uniform(small, model, wrong):
    prior = gq.Prior.approximated(small[0], 8)
    assert rank_p_values(prior, model, wrong, gq.Harmonic(), thin=2).min() < 1e-6


def simulated_classes(model, u, rng):
    """Draw classes given K fields (K, J) at the labeled nodes."""
    noise, cost = bind(model, gq.Labels(range(len(u)), range(len(u))), len(u)).sign_model
    largest = (u + noise * rng.standard_normal(u.shape)).argmax(axis=0)
    right = rng.random(largest.size) < 1 / (1 + (len(u) - 1) * np.exp(-cost))
    return (largest + np.where(right, 0, rng.integers(1, len(u), largest.size))) % len(u)


def class_rank_p_values(prior, model, assumed):
    """P-values of uniform ranks, for each traced node and each of three classes."""
    rng = np.random.default_rng(7)
    ranks = []
    for seed in range(SIMULATIONS):
        u = prior.draw(3, seed=rng)
        values = simulated_classes(model, u[:, LABELED], rng)
        labels = gq.Labels(LABELED, values, classes=range(3))
        options = {"draws": DRAWS, "thin": 2, "chains": 1, "nodes": TRACED, "progress": False}
        post = quietly(prior, assumed, labels, gq.Harmonic(), seed=seed, **options)
        ranks.append((post.draws.field[0] < u.T[TRACED]).sum(axis=0).ravel())
    counts = [np.bincount(r // 2, minlength=(DRAWS + 1) // 2) for r in np.transpose(ranks)]
    return np.array([chisquare(count).pvalue for count in counts])


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", first_of([gq.Probit(0.3), gq.LevelSet(1.2), gq.NoisyProbit(0.3, 0.2)])
)
def test_ranks_of_three_classes_are_uniform(small, model):
    prior = gq.Prior.approximated(small[0], 8)
    # the smallest of 27 p-values is below this once in 1,000 times
    assert class_rank_p_values(prior, model, model).min() > 1e-3 / 27


@pytest.mark.slow
def test_ranks_of_three_classes_under_a_wrong_model_are_not_uniform(small):
    prior = gq.Prior.approximated(small[0], 8)
    assert class_rank_p_values(prior, gq.Probit(1.5), gq.Probit(0.1)).min() < 1e-6
