from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from conftest import quietly
from numba import njit
from references.exact import errors_in_mcse, ginzburg_landau_moments
from references.selection import first_of

import graphuq as gq
from graphuq.samplers import tempered

GRAPH = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0.5], [1, 1, 0, 1], [0, 0.5, 1, 0]])
PRIOR, LABELS = gq.Prior.full(GRAPH), gq.Labels([0, 3], ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize("base", first_of([gq.PCN(thin=20), gq.HilbertHMC()]), ids=repr)
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


@pytest.mark.slow
def test_exchanging_always_fails(monkeypatch):
    mean, _, _ = ginzburg_landau_moments(PRIOR, LABELS, 0.1, 2.0)
    monkeypatch.setattr(tempered, "_swap_probabilities", lambda powers, _: np.ones(len(powers) - 1))
    post = quietly(
        PRIOR, gq.GinzburgLandau(0.1, 2.0), LABELS, gq.Tempered(replicas=4), draws=1500, seed=0,
        progress=False,
    )  # fmt: skip
    assert errors_in_mcse(post, mean).max() > 5


@pytest.mark.slow
def test_it_crosses_where_plain_chains_do_not():
    clumps = np.kron(np.eye(2), np.ones((15, 15))) + 1e-3
    prior = gq.Prior.projected(gq.Graph(clumps - np.diag(np.diag(clumps))), 3)
    labels, model = gq.Labels([0, 29], [0, 1]), gq.GinzburgLandau(0.5, 3.0)
    run = {"draws": 400, "seed": 3, "progress": False}
    # of twelve chains not all end on one side, whatever the digits of the processor
    plain = quietly(prior, model, labels, gq.HilbertHMC(), chains=12, **run)
    with pytest.warns(gq.ConvergenceWarning, match="disagree"):
        assert plain.diagnostics().r_hat > 1.2
    post = quietly(prior, model, labels, gq.Tempered(replicas=8), **run)
    assert post.diagnostics().r_hat < 1.05
    assert 0.1 < post.draws.stats["swap_rate"].mean() < 0.95


def test_the_ladder_evens_rejections():
    ladder = tempered._even_ladder(np.array([1.0, 0.5, 0.0]), np.array([0.3, 0.1]))
    np.testing.assert_allclose(ladder, [1.0, 1 - 0.5 * 2 / 3, 0.0])


def test_other_bases_are_refused():
    with pytest.raises(TypeError, match="base must be"):
        gq.Tempered(gq.Harmonic())
    with pytest.raises(ValueError, match="replicas"):
        gq.Tempered(replicas=1)


@njit
def _fenced(u, seen):
    return 0.0 if u[seen.rows[0], 0] * seen.y[0] > 0 else np.inf


@njit
def _level(u, seen, out):
    out[:] = 0.0


@dataclass(frozen=True)
class Fenced:
    """One label, never wrong."""

    reads = "labelled"
    potential = staticmethod(_fenced)
    gradient = staticmethod(_level)


@pytest.mark.parametrize(
    "base", first_of([gq.PCN(), gq.HilbertHMC(step_size=0.5)]), ids=["pCN", "HMC"]
)
@pytest.mark.slow
def test_forbidden_places_stay_forbidden_for_all_replicas(small, base):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = quietly(prior, Fenced(), labels, gq.Tempered(base, 4), seed=0, progress=False)
    assert post.draws.complete
    assert (post.draws.stats["potential"] == 0).all()
    # half of the prior: the mean of |u| there
    node = labels.nodes[0]
    expected = np.sqrt(2 / np.pi * prior.variance()[node]) * labels.codes[0]
    assert abs(post.latent_mean[node] - expected) < 0.1


def test_divergences_of_replicas_are_counted(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    model, base = gq.GinzburgLandau(1e-3, 0.1), gq.HilbertHMC(step_size=1.0)
    post = quietly(prior, model, labels, gq.Tempered(base, 3), draws=50, seed=0, progress=False)
    with pytest.warns(gq.ConvergenceWarning, match="diverged"):
        assert post.diagnostics().divergences > 0


def test_its_base_is_recorded_and_can_be_saved(small, tmp_path):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    sampler = gq.Tempered(gq.PCN(beta=np.float32(0.3)), replicas=np.int64(3))
    post = quietly(prior, gq.Probit(0.5), labels, sampler, draws=20, seed=0, progress=False)
    post.save(tmp_path / "a.nc")
    assert gq.load(tmp_path / "a.nc").settings["sampler"]["base"]["name"] == "PCN"
