"""Posteriors of two and of more classes: shapes and measures of uncertainty."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import quietly
from references.problems import THREE

import graphuq as gq


def test_a_hundred_classes(clump_graph):
    labels = gq.Labels(np.arange(50), [f"class {k}" for k in range(50)], np.char.add(
        "class ", np.arange(100).astype(str)
    ))  # fmt: skip
    prior = gq.Prior.approximated(clump_graph, 12)
    post = quietly(prior, gq.LevelSet(0.5), labels, draws=20, chains=2, seed=0, progress=False)
    assert post.probability.shape == (60, 100)
    np.testing.assert_allclose(post.probability.sum(axis=1), 1)
    assert post.suggest(2, candidates=5).size == 2
    assert re.match(r"Posterior\(60 nodes", repr(post))


def test_measures_of_uncertainty(small):
    prior = gq.Prior.projected(small[0], 8)
    post = quietly(prior, gq.Probit(0.3), THREE, draws=200, seed=1, progress=False)
    p = post.probability
    np.testing.assert_allclose(post.variance, 1.5 * (1 - (post.latent_by_class**2).sum(axis=1)))
    np.testing.assert_allclose(post.entropy, -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1))
    top = np.sort(p, axis=1)
    np.testing.assert_allclose(post.margin, top[:, 2] - top[:, 1])
    for by, size in (("entropy", -post.entropy), ("margin", post.margin)):
        assert (np.diff(size[post.ranking(by=by)]) >= 0).all()
    assert (np.diff(post.variance[post.ranking(by="variance")]) <= 0).all()
    with pytest.raises(ValueError, match="by must be one of"):
        post.ranking(by="size")
