"""Diagnostics of chains."""

from __future__ import annotations

import numpy as np


def test_diagnostics_of_many_quantities_find_the_worst():
    """One of 3,000 quantities mixes slowly, and another differs in one chain."""
    from graphuq.posterior.arviz_compat import rhat_and_ess
    from graphuq.posterior.assessment.diagnostics import select_worst

    rng = np.random.default_rng(0)
    traces = rng.standard_normal((4, 400, 3000))
    for t in range(1, 400):
        traces[:, t, 1234] = 0.95 * traces[:, t - 1, 1234] + 0.3 * traces[:, t, 1234]
    traces[2, :, 777] += 3
    shown = select_worst(traces)
    assert shown.shape[2] <= 600
    r_hat, ess = rhat_and_ess(shown)
    few = np.r_[777, 1234, 0:300]
    expected = rhat_and_ess(traces[:, :, few])
    assert r_hat.max() == expected[0].max()
    assert ess.min() == expected[1].min()
    np.testing.assert_array_equal(select_worst(traces[:, :, :500]), traces[:, :, :500])


def test_each_measure_chooses_half_of_the_quantities():
    """The first 300 differ between the chains, the next 300 mix slowly, and 200 are white noise."""
    from graphuq.posterior.assessment.diagnostics import select_worst

    traces = np.random.default_rng(0).standard_normal((2, 64, 800))
    traces[1, :, :300] += 2
    # Whole periods in each half: the halves have the same mean
    traces[:, :, 300:600] += 9 * np.sin(2 * np.pi * np.arange(64) / 32)[:, None]
    np.testing.assert_array_equal(select_worst(traces), traces[:, :, :600])
