"""Drawing until an effective sample size is reached."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly
from references.exact import errors_in_mcse, exact_mean

import graphuq as gq
from graphuq.inference import runner as run
from graphuq.posterior.arviz_compat import rhat_and_ess
from graphuq.posterior.node_statistics import BATCHES


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.approximated(small[0], 8)


@pytest.mark.parametrize("sampler", [gq.Harmonic(), gq.PCN(), gq.HilbertHMC()], ids=repr)
def test_it_is_reached_and_no_more_than_twice_overshot(small, prior, sampler):
    post = gq.sample(
        prior, gq.Probit(0.5), small[1], sampler, target_ess=2500, seed=1, progress=False
    )
    assert post.diagnostics().ess >= 2500
    draws = post.settings["draws"]
    assert post.draws.modes.shape[:2] == (4, draws)
    half = [
        t[:, : draws // 2]
        for t in (post.draws.stats["lp"], post.draws.stats["potential"], post.draws.modes)
    ]
    _, sizes = rhat_and_ess(np.dstack(half))
    assert sizes.min() < 2500
    nodes = np.array([3, 16, 29])
    exact = exact_mean(prior, gq.Probit(0.5), small[1], nodes)
    assert errors_in_mcse(post, exact, nodes).max() < 5


def test_the_standard_error_is_that_of_a_run_of_that_length(small, prior):
    long = gq.sample(prior, gq.Probit(0.5), small[1], target_ess=12_000, seed=2, progress=False)
    plain = gq.sample(
        prior, gq.Probit(0.5), small[1], draws=long.settings["draws"], seed=3, progress=False
    )
    # each is a standard deviation of about 4 x BATCHES batches
    np.testing.assert_allclose(
        long.mcse.mean(), plain.mcse.mean(), rtol=5 / np.sqrt(2 * 4 * BATCHES)
    )
    hidden = np.setdiff1d(np.arange(40), small[1].nodes)
    gap = (long.mean - plain.mean)[hidden] / np.hypot(long.mcse, plain.mcse)[hidden]
    assert abs(gap).max() < 5


def test_the_cap_holds_and_is_reported(small, prior):
    with pytest.warns(gq.ConvergenceWarning, match=r"target_ess = 1e\+06 was not reached: 700 dr"):
        post = gq.sample(
            prior, gq.Probit(0.5), small[1], target_ess=1e6, draws=700, seed=0, progress=False
        )
    assert post.draws.modes.shape[1] == post.settings["draws"] == 700


def test_one_seed_reproduces_it_whatever_the_threads(small, prior):
    a, b = (
        gq.sample(
            prior, gq.Probit(0.5), small[1], target_ess=2500, seed=5, threads=t, progress=False
        )
        for t in (1, 3)
    )
    assert np.array_equal(a.draws.modes, b.draws.modes)
    assert np.array_equal(a.mean, b.mean)


def test_interrupted_in_a_later_round_it_keeps_all_draws(small, prior, monkeypatch):
    advance_all, rounds = run._advance_all, []

    def interrupted(pool, chains, follow):
        rounds.append(0)
        if len(rounds) == 2:
            chains[0]._parts = [(chains[0]._size, False)]  # one chunk
            advance_all(pool, chains[:1], follow)
            raise KeyboardInterrupt
        advance_all(pool, chains, follow)

    monkeypatch.setattr(run, "_advance_all", interrupted)
    post = quietly(
        prior, gq.Probit(0.5), small[1], target_ess=1e5, draws=2000, seed=0, progress=False
    )
    assert not post.draws.complete
    assert post.draws.modes.shape == (4, 500, 8)
    assert np.isfinite(post.mcse).all()


@pytest.mark.parametrize(
    ("options", "error"),
    [({"target_ess": 0}, ValueError), ({"target_ess": "many"}, TypeError)],
)
def test_invalid_targets_are_refused(small, prior, options, error):
    with pytest.raises(error, match="target_ess"):
        gq.sample(prior, gq.Probit(0.5), small[1], **options)


def test_a_stopped_chain_ends_it(small, prior):
    from dataclasses import dataclass

    from numba import njit

    @njit
    def falls_over(u, seen):
        return np.nan if u[0, 0] > 4.5 else 0.0

    @dataclass(frozen=True)
    class Fragile:
        reads = "labelled"
        potential = staticmethod(falls_over)

    with pytest.warns(gq.ConvergenceWarning, match="stopped"):
        post = gq.sample(
            prior, Fragile(), small[1], gq.PCN(), target_ess=1e5, seed=0, progress=False
        )
    assert not post.draws.complete
