"""The checked arguments of a run, and the random numbers of its chains."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference.plan import DEFAULT_DRAWS, DEFAULT_MAX_DRAWS, MAX_FIRST_ROUND, Plan

ARGUMENTS = {
    "draws": None, "chains": 4, "warmup": None, "thin": None, "seed": 0, "threads": None,
    "progress": False,
}  # fmt: skip


def plan(**changed):
    return Plan.check(**{**ARGUMENTS, **changed})


def test_draws_default_to_more_for_an_effective_sample_size():
    assert plan().draws == plan().first_round == DEFAULT_DRAWS
    assert plan(target_ess=100).draws == DEFAULT_MAX_DRAWS


@pytest.mark.parametrize(
    ("draws", "first_round", "doublings"),
    [(1, 1, 0), (500, 500, 0), (501, 251, 1), (2000, 500, 2), (16_000, 500, 5), (16_001, 251, 6)],
)
def test_rounds_that_double_reach_all_draws(draws, first_round, doublings):
    """Without a last round of a few draws, which a first round rounded down would leave."""
    found = plan(draws=draws, target_ess=100).first_round
    assert found == first_round <= MAX_FIRST_ROUND
    assert found * 2 ** (doublings - 1) < draws <= found * 2**doublings


def test_the_sampler_gives_warm_up_and_thinning_unless_the_user_does():
    sampler = gq.PCN(thin=7)
    by_sampler = plan().with_defaults_of(sampler)
    assert (by_sampler.warmup, by_sampler.thin) == (sampler.warmup(DEFAULT_DRAWS), 7)
    by_user = plan(warmup=0, thin=1).with_defaults_of(sampler)
    assert (by_user.warmup, by_user.thin) == (0, 1)


def test_seeds_are_the_same_in_each_call_and_differ_between_chains():
    checked = plan(seed=np.random.SeedSequence(3))
    states = [
        [tuple(seed.generate_state(2)) for pair in checked.chain_seeds() for seed in pair]
        for _ in range(2)
    ]
    assert states[0] == states[1]
    assert len(set(states[0])) == 8


@pytest.mark.parametrize("name", ["draws", "chains", "thin", "threads"])
def test_numbers_out_of_range_are_refused(name):
    with pytest.raises(ValueError, match=rf"{name} must be (at least|between) 1"):
        plan(**{name: 0})
