"""Draws of the latent field at any nodes, made after a run."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import priors
from references.problems import LABELS

import graphuq as gq

NODES = [2, 7, 30]  # node 7 is labeled


def all_draws(post, prior, **options):
    return np.concatenate(list(post.latent_draws(prior, **options)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
@pytest.mark.parametrize("model", [gq.Probit(0.5), gq.LevelSet(1.0)], ids=repr)
def test_they_have_the_moments_of_the_posterior(small, kind, model, n_classes):
    prior, labels = priors(small[0], 8)[kind], LABELS[n_classes]
    post = gq.sample(prior, model, labels, draws=4000, nodes=NODES, seed=0, progress=False)
    u = all_draws(post, prior, seed=1)
    of_class = () if n_classes == 2 else (3,)
    assert u.shape == (16_000, 40, *of_class)
    # the draws are all but independent, and their moments share most of their noise
    error = np.sqrt(post.latent_variance / 16_000)
    assert (abs(u.mean(0) - post.latent_mean) < 6 * error).all()
    np.testing.assert_allclose(u.var(0), post.latent_variance, rtol=6 * np.sqrt(2 / 16_000) * 1.5)
    index = u.argmax(axis=2) if of_class else u > 0
    shares = (index[..., None] == np.arange(n_classes)).mean(axis=0)
    bound = 6 * np.sqrt((shares * (1 - shares) + 1e-4) / 16_000)
    assert (abs(shares - post.latent_by_class) < bound).all()
    # jointly too: as the traces that were drawn in the run
    traced, drawn = (f.reshape(16_000, -1).T for f in (post.draws.field, u[:, NODES]))
    np.testing.assert_allclose(np.corrcoef(drawn), np.corrcoef(traced), atol=6 / np.sqrt(16_000))
    some = all_draws(post, prior, nodes=NODES, seed=1)
    assert some.shape == (16_000, 3, *of_class)
    if kind != "approximated":
        np.testing.assert_allclose(some, post.draws.field.reshape(some.shape), atol=1e-9)
        np.testing.assert_allclose(some, u[:, NODES], atol=1e-9)


def test_level_set_draws_agree_with_the_field_that_was_sampled(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, gq.LevelSet(1.0), labels, seed=0, progress=False)
    u = all_draws(post, prior, nodes=labels.nodes)
    np.testing.assert_allclose(u, post.draws.read.reshape(-1, 5), atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_they_survive_a_file(small, tmp_path, kind, n_classes):
    prior = priors(small[0], 8)[kind]
    post = gq.sample(prior, gq.Probit(0.5), LABELS[n_classes], seed=0, progress=False)
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    a, b = (all_draws(p, prior, nodes=NODES, seed=3) for p in (post, again))
    assert np.array_equal(a, b)


def test_ginzburg_landau_draws_come_from_the_modes(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8)
    model = gq.GinzburgLandau(10.0, 0.6)
    post = gq.sample(prior, model, labels, nodes=NODES, seed=0, progress=False)
    u = all_draws(post, prior, nodes=NODES)
    np.testing.assert_allclose(u, post.draws.field.reshape(-1, 3), atol=1e-9)
    approximated = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(approximated, model, labels, draws=100, seed=0, progress=False)
    with pytest.raises(ValueError, match=r"reads all nodes.*name nodes="):
        next(post.latent_draws(approximated))


def test_another_prior_is_refused(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, gq.Probit(0.5), labels, seed=0, progress=False)
    flipped = gq.Spectrum(spectrum.values, -spectrum.vectors, spectrum.null)
    with pytest.raises(ValueError, match="may differ in sign or order"):
        next(post.latent_draws(gq.Prior.approximated(flipped, 8)))
    for other in (gq.Prior.approximated(spectrum, 9), gq.Prior.projected(spectrum, 8)):
        with pytest.raises(ValueError, match="must be the one that was sampled with"):
            next(post.latent_draws(other))
    with pytest.raises(ValueError, match="got 40"):
        next(post.latent_draws(prior, nodes=[40]))


def test_more_nodes_than_fit_are_refused(small, monkeypatch):

    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, gq.Probit(0.5), labels, seed=0, progress=False)
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="name fewer nodes at a time"):
        next(post.latent_draws(prior))


def test_the_prior_is_kept_and_another_is_refused(small, tmp_path):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8)
    post = gq.sample(prior, gq.Probit(0.5), labels, draws=50, seed=0, progress=False)
    np.testing.assert_array_equal(next(post.latent_draws()), next(post.latent_draws(prior)))
    with pytest.raises(TypeError, match="prior must be the Prior of this posterior, got str"):
        post.latent_draws("prior")
    post.save(tmp_path / "a.nc")
    with pytest.raises(ValueError, match="does not hold its prior"):
        gq.load(tmp_path / "a.nc").latent_draws()


def test_priors_with_the_same_modes_are_distinguished(small):
    spectrum, _, _ = small
    for alpha in (1.0, 5.0):
        low, high = (
            gq.Prior.approximated(spectrum, 8, lambda_bar=bar, alpha=alpha) for bar in (1.5, 1.6)
        )
        assert low.matches(low.fingerprint())
        assert not low.matches(high.fingerprint())
