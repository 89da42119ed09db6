"""Labels that are right together only in rare fields: no answer is wrong without a word.

Six labels of which two contradict the smooth mode of the graph. Fields with two wrong labels are
common, and those with all labels right have a probability of 3.6e-6 under the prior; but a wrong
label costs so much that nearly all of the posterior is there.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphuq as gq

WEIGHTS = np.zeros((6, 6))
for i, j, weight in ((0, 1, 1), (0, 2, 1), (1, 2, 1), (2, 3, 0.3), (3, 4, 1), (3, 5, 2), (4, 5, 1)):
    WEIGHTS[i, j] = WEIGHTS[j, i] = weight
PRIOR = gq.Prior.full(gq.Graph(WEIGHTS), alpha=6)
LABELS = gq.Labels(range(6), [1, 1, 0, 1, 0, 0])


def draw(n, scale):
    """Draw how many labels are wrong in n fields, and the weights of the draws.

    Modes are drawn with the deviations ``scale`` in place of 1, the smooth mode last.
    """
    values, vectors = np.linalg.eigh(PRIOR.law.covariance(np.arange(6), np.arange(6)))
    factor = (vectors * np.sqrt(np.maximum(values, 0)))[:, 1:]  # the constant mode has none
    z = scale * np.random.default_rng(0).standard_normal((n, 5))
    weights = np.exp(-0.5 * (z**2) @ (1 - scale**-2.0)) * scale.prod()
    return ((z @ factor.T) * LABELS.codes < 0).sum(axis=1), weights


@pytest.fixture(scope="module")
def log_right():
    """Log of the prior probability that all labels are right, by importance sampling.

    The proposal makes the smooth mode small, which contradicts two labels.
    """
    wrong, weights = draw(10**6, np.array([1.0, 1.0, 1.0, 1.0, 1e-3]))
    right = weights[wrong == 0]
    assert right.sum() ** 2 / (right @ right) > 1000
    return np.log(right.sum() / len(weights))


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_chains_find_the_rare_fields_or_disagree(seed, log_right):
    post = gq.sample(PRIOR, gq.LevelSet(0.5), LABELS, seed=seed, progress=False)
    wrong, _ = draw(10**6, np.ones(5))
    elsewhere = np.exp(-8.0 * wrong[wrong > 0]).sum() / len(wrong)
    exact = np.exp(log_right) / (np.exp(log_right) + elsewhere)
    assert exact > 0.9
    assert abs(post.probability[3] - exact) < 0.1 or post.trust().light == "red"


@pytest.mark.parametrize("gamma", [0.5, pytest.param(0.4, marks=pytest.mark.slow)])
def test_the_evidence_has_an_error_that_covers_it(gamma, log_right):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = gq.annealed_evidence(PRIOR, gq.LevelSet(gamma), LABELS, seed=0)
    close = abs(found.log_evidence - log_right) < 4 * found.mcse
    assert close
    assert found.mcse < 1 or any("disagree" in str(one.message) for one in caught)
