from __future__ import annotations

import numpy as np
import pytest
from conftest import quietly
from exact import errors_in_mcse, ginzburg_landau_moments

import graphuq as gq
from graphuq.samplers import tempered

GRAPH = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
PRIOR, LABELS = gq.Prior.full(GRAPH), gq.Labels([0, 3], ["a", "b"])


@pytest.mark.parametrize("base", [gq.HilbertHMC(), gq.PCN(thin=20)], ids=repr)
def test_it_is_exact_where_wells_are_deep(base):
    """epsilon = 0.1: plain chains seldom cross between the wells."""
    mean, _, probability = ginzburg_landau_moments(PRIOR, LABELS, 0.1, 2.0)
    model = gq.GinzburgLandau(0.1, 2.0)
    sampler = gq.Tempered(base, replicas=6)
    post = gq.sample(PRIOR, model, LABELS, sampler, draws=1200, seed=0, progress=False)
    assert post.diagnostics().r_hat < 1.02
    assert post.mcse.max() < 0.05
    assert errors_in_mcse(post, mean).max() < 5
    np.testing.assert_allclose(post.probability, probability, atol=0.06)


def test_exchanging_always_fails(monkeypatch):
    mean, _, _ = ginzburg_landau_moments(PRIOR, LABELS, 0.1, 2.0)
    monkeypatch.setattr(tempered, "_swap_probabilities", lambda powers, _: np.ones(len(powers) - 1))
    post = quietly(
        PRIOR, gq.GinzburgLandau(0.1, 2.0), LABELS, gq.Tempered(replicas=4), draws=1500, seed=0,
        progress=False,
    )  # fmt: skip
    assert errors_in_mcse(post, mean).max() > 5


def test_it_crosses_where_plain_chains_do_not():
    clumps = np.kron(np.eye(2), np.ones((15, 15))) + 1e-3
    prior = gq.Prior.projected(gq.Graph(clumps - np.diag(np.diag(clumps))), 3)
    labels, model = gq.Labels([0, 29], [0, 1]), gq.GinzburgLandau(0.5, 3.0)
    run = {"draws": 400, "seed": 1, "progress": False}
    plain = quietly(prior, model, labels, gq.HilbertHMC(), **run)
    with pytest.warns(gq.ConvergenceWarning, match="disagree"):
        assert plain.diagnostics().r_hat > 1.2
    post = quietly(prior, model, labels, gq.Tempered(replicas=8), **run)
    assert post.diagnostics().r_hat < 1.05
    assert 0.1 < post.stats["swap_rate"].mean() < 0.95


def test_the_ladder_evens_rejections():
    ladder = tempered._even_ladder(np.array([1.0, 0.5, 0.0]), np.array([0.3, 0.1]))
    np.testing.assert_allclose(ladder, [1.0, 1 - 0.5 * 2 / 3, 0.0])


def test_other_bases_are_refused():
    with pytest.raises(TypeError, match="base must be"):
        gq.Tempered(gq.Harmonic())
    with pytest.raises(ValueError, match="replicas"):
        gq.Tempered(replicas=1)
