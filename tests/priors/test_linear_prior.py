"""Fields that are linear in the features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import graphuq as gq
from graphuq.posterior.new_items import new_probability
from graphuq.priors.field import Field
from graphuq.priors.linear_prior import ALL_COLUMNS
from graphuq.priors.on_features import ALL_ITEMS

RNG = np.random.default_rng(0)
FEW, MANY = 50, ALL_ITEMS + 100
LABELED = np.array([3, 7, 20, 41])


def dense(X):
    """Return products of centered rows, of mean 1 with themselves."""
    centered = X - X.mean(axis=0)
    C = centered @ centered.T
    return C / np.diag(C).mean()


def features(n, d):
    return 5 + RNG.normal(size=(n, d)) * RNG.uniform(0.2, 3, d)


@pytest.mark.parametrize(("n", "d"), [(FEW, 3), (FEW, 200), (MANY, 20), (MANY, ALL_COLUMNS + 50)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_covariance_is_that_of_products(n, d, kind):
    X = features(n, d)
    C, prior = dense(X), gq.LinearPrior(kind(X)).with_labeled(LABELED)
    every = np.arange(n)
    np.testing.assert_allclose(prior.covariance(every, every), C, atol=1e-10)
    np.testing.assert_allclose(prior.variance(), np.diag(C), atol=1e-10)
    np.testing.assert_allclose(prior.field.covariance(every, LABELED), C[:, LABELED], atol=1e-10)
    some = prior.field_at(LABELED).covariance(np.arange(4), np.arange(4))
    np.testing.assert_allclose(some, C[np.ix_(LABELED, LABELED)], atol=1e-10)
    if d <= ALL_COLUMNS or n <= ALL_ITEMS:
        np.testing.assert_allclose(prior.field.covariance(every, every), C, atol=1e-10)
    else:  # through the labeled items, in as many columns
        assert prior.field.basis.shape[1] == LABELED.size + 1
        assert abs(prior.field.covariance(every, every) - C).max() > 0.1
        whole = gq.LinearPrior(kind(X))
        np.testing.assert_allclose(whole.field.covariance(every, every), C, atol=1e-10)


def test_it_is_the_field_of_its_covariance():
    """Approximation, evidence and draws are those of a prior that knows the matrix alone."""

    class Matrix(gq.LinearPrior):
        field = property(lambda self: Field.of_covariance(dense(self.X)))

        def field_at(self, nodes):
            return self.field.some(nodes)

    X = features(FEW, 3)
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    labels, model = gq.reveal(y, counts=5, seed=0), gq.Probit(0.3)
    mine, other = gq.LinearPrior(X), Matrix(X)
    assert gq.evidence(mine, model, labels) == pytest.approx(
        gq.evidence(other, model, labels), abs=1e-4
    )
    near = [gq.approximate(prior, model, labels).by_class for prior in (mine, other)]
    np.testing.assert_allclose(*near, atol=1e-5)
    post = gq.sample(mine, model, labels, seed=0, draws=2000, progress=False)
    assert (abs(post.by_class - near[1]).max(axis=1) < 5 * post.mcse + 0.01).all()


@settings(max_examples=20, deadline=None)
@given(
    shift=st.floats(-100, 100),
    factor=st.floats(0.01, 100),
    seed=st.integers(0, 100),
    constant=st.floats(-1e3, 1e3),
)
def test_shifts_rotations_scale_and_constant_columns_change_nothing(shift, factor, seed, constant):
    X = features(FEW, 3)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    changed = np.column_stack([shift + factor * (X @ rotation), np.full(FEW, constant)])
    every = np.arange(FEW)
    np.testing.assert_allclose(
        gq.LinearPrior(changed).covariance(every, every), dense(X), atol=1e-8
    )


def test_classes_that_a_line_divides_are_learned_from_few_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 10))
    y = (X @ rng.normal(size=10) > 0).astype(int)
    labels = gq.reveal(y, counts=40, seed=0)
    hidden = np.setdiff1d(np.arange(400), labels.nodes)
    scores = []
    for prior in (gq.LinearPrior(X), gq.FeaturePrior(X)):
        tuned = gq.tune(prior + gq.Level(), labels)
        found = gq.approximate(tuned.prior, tuned.likelihood, labels)
        scores.append(-np.log(found.by_class[hidden, y[hidden]]).mean())
    assert scores[0] < scores[1] - 0.03
    both = gq.tune(gq.FeaturePrior(X) + gq.LinearPrior(X) + gq.Level(), labels)
    assert both.prior.weights[1] > 0.7


@pytest.mark.parametrize(("n", "d"), [(FEW, 3), (MANY, ALL_COLUMNS + 50)])
def test_new_items_have_the_law_of_known_ones(n, d):
    X = features(n, d)
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    labels = gq.reveal(y, counts=5, seed=0)
    prior = gq.LinearPrior(X)
    post = gq.approximate(prior, gq.Probit(0.3), labels)
    no_edges = np.zeros((n, n))
    again = new_probability(post, post.prior, np.ones(n), no_edges, X)
    others = np.setdiff1d(np.arange(n), labels.nodes)  # a new item has no label of its own
    np.testing.assert_allclose(again[others], post.by_class[others], atol=1e-4)


def test_an_item_that_is_like_none_is_as_good_as_unknown():
    X = np.random.default_rng(2).normal(size=(FEW, 3))
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    prior, labels = gq.LinearPrior(X), gq.reveal(y, counts=10, seed=0)
    post = gq.approximate(prior, gq.Probit(0.1), labels)
    center = X.mean(axis=0)
    away = center + np.outer([1.0, 10.0, 1e3, 1e6], [3.0, 0.0, 0.0])
    p = new_probability(post, prior, np.ones(FEW), np.zeros((4, FEW)), away)[:, 1]
    assert (np.diff(p) < 0).all()
    assert p[0] > 0.95
    assert p[-1] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("constant", [1.0, 1e8, 1.7e15])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_constant_far_from_0_changes_nothing(constant, kind):
    X = np.random.default_rng(0).normal(size=(500, 3))
    wide = np.column_stack([X, np.full(500, constant + 0.1)])
    some = np.arange(20)
    prior = gq.LinearPrior(kind(wide))
    np.testing.assert_allclose(
        prior.covariance(some, some), dense(X)[np.ix_(some, some)], atol=1e-12
    )
    np.testing.assert_allclose(prior.variance(), np.diag(dense(X)), atol=1e-12)
    times = np.column_stack([X, 1.7e9 + (X[:, 0] > 0)])  # whose differences count
    found = gq.LinearPrior(kind(times)).variance()
    np.testing.assert_allclose(found, np.diag(dense(times)), atol=1e-5)


def test_the_form_of_a_sparse_matrix_does_not_identify_it():
    X = sparse.csr_array(RNG.normal(size=(FEW, 5)) * (RNG.random((FEW, 5)) < 0.5))
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    prior = gq.LinearPrior(X)
    assert prior.matches(gq.LinearPrior(wide).fingerprint())
    assert prior.matches(gq.LinearPrior(X.tocoo()).fingerprint())


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"the 3 features of the prior, got shape \(1, 2\)"):
        gq.LinearPrior(features(FEW, 3)).rows([[1.0, 2.0]])


def test_many_features_have_a_field_as_narrow_as_there_are_nodes():
    prior = gq.LinearPrior(features(FEW, 200))
    assert prior.field_at(LABELED).basis.shape == (4, 4)


def test_what_is_copied_and_what_identifies_it():
    X = features(FEW, 3)
    prior, listed = gq.LinearPrior(X), sparse.csr_array(X)
    thin = gq.LinearPrior(listed)
    before = prior.covariance([0], [1])
    X[:], listed.data[:] = 0, 0
    assert prior.covariance([0], [1]) == before
    assert thin.covariance([0], [1]) == pytest.approx(before)
    assert prior.matches(prior.with_labeled(LABELED).fingerprint())
    assert not prior.matches(gq.LinearPrior(features(FEW, 3)).fingerprint())


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones((5, 2)), "same for all items"),
        (sparse.csr_array(np.ones((5, 2))), "same for all items"),
        ([[1.0], [np.nan]], "NaN or infinite"),
        (np.eye(3) * 1e-200, "squares of distances underflow"),
    ],
)
def test_refusals(X, match):
    with pytest.raises(ValueError, match=match):
        gq.LinearPrior(X)


def test_more_features_than_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e6)
    X = sparse.eye_array(MANY, 20_000, format="csr")
    with pytest.raises(MemoryError, match=r"20000 columns for 900 items.*keep fewer"):
        _ = gq.LinearPrior(X).field
