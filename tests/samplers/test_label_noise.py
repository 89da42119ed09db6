"""The noise before the label rule, given fields and labels."""

import numpy as np
import pytest
from scipy import stats

from graphuq.likelihoods.probit import log_cdf, log_cdf_slope
from graphuq.likelihoods.sign_kernels import log_probability
from graphuq.samplers.joint import add_class_noise, add_noise


@pytest.mark.parametrize("f", [-2.0, -0.4, 0.1, 1.5])
@pytest.mark.parametrize("cost", [-1.0, 0.7, np.inf])
def test_noise_given_the_label_is_a_truncated_normal_or_two(f, cost):
    noise, size = 0.5, 40_000
    x, rng = np.empty(size), np.random.default_rng(2)
    add_noise(rng, np.full(size, f), np.ones(size), noise, np.full(size, cost), x)
    right, wrong = (stats.truncnorm(*np.sort([-f / noise, end]), f, noise) for end in (99, -99))
    weight = 1 / (1 + np.exp(-cost) * stats.norm.cdf(-f / noise) / stats.norm.cdf(f / noise))
    cdf = lambda t: weight * right.cdf(t) + (1 - weight) * wrong.cdf(t)  # noqa: E731
    assert stats.kstest(x, cdf).pvalue > 1e-4 / 12


@pytest.mark.parametrize("cost", [-1.0, 0.7, np.inf])
def test_noise_given_one_of_three_labels_is_what_rejection_leaves(cost):
    noise, size, f = 0.5, 20_000, np.array([0.2, -0.3, 0.5])
    rng = np.random.default_rng(4)
    for label in range(3):
        fields, y = np.tile(f[:, None], size), np.full(size, float(label))
        x = np.empty((3, size))
        pointers = (log_cdf, log_cdf_slope, log_probability)
        add_class_noise(rng, fields, y, noise, np.full(size, cost), *pointers, x)
        tried = f[:, None] + noise * rng.standard_normal((3, 20 * size))
        right = tried.argmax(axis=0) == label
        share = np.where(right, 1.0, np.exp(-cost)) / max(1.0, np.exp(-cost))
        kept = tried[:, rng.random(right.size) < share]
        both = (np.vstack([each, each[0] - each[1]]) for each in (x, kept))
        for own, other in zip(*both, strict=True):
            assert stats.ks_2samp(own, other).pvalue > 1e-4 / 36
