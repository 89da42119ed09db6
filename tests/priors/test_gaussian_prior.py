"""Sums of priors: covariances add, and everything else follows from the covariance."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.priors.gaussian_prior import base_name
from graphuq.priors.on_features import ALL_ITEMS

N = 40
X = np.random.default_rng(3).normal(size=(N, 2))
GRAPH = gq.knn_graph(X, 5, connect=True)
OTHER = gq.knn_graph(np.random.default_rng(4).normal(size=(N, 2)), 4, connect=True)
ALL = np.arange(N)
LABELED = np.array([2, 7, 11, 30])

GRAPHS = {
    "full": gq.Prior.full(GRAPH),
    "projected": gq.Prior.projected(GRAPH, 12, alpha=2.0, tau=0.3),
    "approximated": gq.Prior.approximated(GRAPH, 12),
}
FEATURES = gq.FeaturePrior(X, length_scale=0.8)
LEVEL = 0.7


def kernel(length_scale=0.8):
    """Squared exponential covariances, from all differences."""
    square = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-0.5 * square / length_scale**2)


def products():
    """Products of centered rows, of mean 1 with themselves."""
    centered = X - X.mean(axis=0)
    C = centered @ centered.T
    return C / np.diag(C).mean()


def sums(kind):
    """Sums, each with its dense covariance."""
    graph = GRAPHS[kind]
    C, K, one = graph.covariance(ALL, ALL), kernel(), np.ones((N, N))
    other = gq.Prior.projected(OTHER, 10)
    D = other.covariance(ALL, ALL)
    return {
        "level": (graph + gq.Level(LEVEL), C + LEVEL**2 * one),
        "features": (gq.SumPrior.of([graph, FEATURES], [3, 1]), 0.75 * C + 0.25 * K),
        "linear": (
            gq.SumPrior.of([graph, gq.LinearPrior(X)], [3, 1]),
            0.75 * C + 0.25 * products(),
        ),
        "all": (
            gq.SumPrior.of(
                [graph, FEATURES, other, gq.LinearPrior(X), gq.Level(LEVEL)], [0.4, 0.3, 0.2, 0.1]
            ),
            0.4 * C + 0.3 * K + 0.2 * D + 0.1 * products() + LEVEL**2 * one,
        ),
    }


each_graph = pytest.mark.parametrize("kind", GRAPHS)
each_sum = pytest.mark.parametrize("name", ["level", "features", "linear", "all"])


@each_graph
@each_sum
def test_covariances_add(kind, name):
    prior, C = sums(kind)[name]
    # the inducing items have a jitter of 1e-10
    np.testing.assert_allclose(prior.covariance(ALL, ALL), C, atol=1e-9)
    np.testing.assert_allclose(prior.variance(), np.diag(C), atol=1e-8)
    np.testing.assert_allclose(prior.law.covariance(), C, atol=1e-8)
    np.testing.assert_allclose(
        prior.at(LABELED).covariance(), C[np.ix_(LABELED, LABELED)], atol=1e-10
    )
    F = prior.root(LABELED)
    assert F.shape[1] <= LABELED.size
    np.testing.assert_allclose(F @ F.T, C[np.ix_(LABELED, LABELED)], atol=1e-10)


@each_graph
@each_sum
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_conditional_law_is_that_of_the_dense_covariance(kind, name, noise):
    prior, C = sums(kind)[name]
    traced = np.array([3, 7, 20])
    given = prior.conditional(LABELED, traced, noise)
    x = np.random.default_rng(0).normal(size=(3, 1, LABELED.size))
    rows = given.rows(given.basis, given.which)
    gain = C[:, LABELED] @ np.linalg.inv(
        C[np.ix_(LABELED, LABELED)] + noise**2 * np.eye(LABELED.size)
    )
    left = C - gain @ C[LABELED]
    np.testing.assert_allclose(rows.mean(given.summarize(x)[:, 0]).T, x[:, 0] @ gain.T, atol=1e-6)
    np.testing.assert_allclose(rows.deviation**2, np.diag(left), atol=1e-7)
    # joint draws of traced nodes and modes
    draws = 20_000
    z, u = given.trace(np.repeat(x[:1], draws, axis=0), np.random.default_rng(1))
    assert u.shape == (draws, 1, traced.size)
    wanted, covariance = x[0, 0] @ gain[traced].T, left[np.ix_(traced, traced)]
    errors = np.sqrt(np.maximum(np.diag(covariance), 0) / draws) + 1e-6
    assert (abs(u[:, 0].mean(axis=0) - wanted) < 5 * errors).all()
    np.testing.assert_allclose(np.cov(u[:, 0].T), covariance, atol=0.05)
    if prior.modes_determine_field:
        np.testing.assert_allclose(z[:, 0] @ prior.mode_loadings(traced).T, u[:, 0], atol=1e-6)


@each_graph
@each_sum
def test_draws_have_the_covariance(kind, name):
    prior, C = sums(kind)[name]
    fields = prior.draw(20_000, seed=0)
    np.testing.assert_allclose(np.cov(fields.T), C, atol=7 * C.max() / np.sqrt(20_000))


def test_a_sum_without_its_level_differs():
    """The comparison sees a level that is left out."""
    prior, C = sums("full")["level"]
    assert abs(prior.with_parameters(level=0.0).covariance(ALL, ALL) - C).max() > 0.4


def test_features_beyond_the_limit_are_exact_where_labels_are():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(ALL_ITEMS + 200, 3))
    prior = gq.FeaturePrior(many, length_scale=1.0)
    labeled = np.sort(rng.choice(len(many), 30, replace=False))
    there = prior.with_labeled(labeled)
    given = there.conditional(labeled, labeled[:0], 0.2)
    square = ((many[:, None] - many[None, labeled]) ** 2).sum(axis=2)
    C = np.exp(-0.5 * square)
    gain = C @ np.linalg.inv(C[labeled] + 0.04 * np.eye(30))
    rows = given.rows(given.basis, given.which)
    x = rng.normal(size=(2, 1, 30))
    np.testing.assert_allclose(rows.mean(given.summarize(x)[:, 0]).T, x[:, 0] @ gain.T, atol=1e-4)
    left = 1 - np.einsum("ij,ij->i", gain, C)
    np.testing.assert_allclose(rows.deviation**2, left, atol=1e-6)
    # without them among the inducing items it is not
    rough = prior.field
    shared = rough.rows(labeled)[:, :-1] @ rough.basis[:, :-1].T
    assert abs(shared - C.T).max() > 1e-3


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(ALL_ITEMS + 100, 2))
    order = rng.permutation(len(many))
    first = gq.FeaturePrior(many, length_scale=1.0)
    second = gq.FeaturePrior(many[order], length_scale=1.0)
    assert first.ranges["length_scale"] == pytest.approx(second.ranges["length_scale"])
    some = np.arange(0, 900, 90)
    law = first.field.basis[order[some]] @ first.field.basis[order[some]].T
    again = second.field.basis[some] @ second.field.basis[some].T
    np.testing.assert_allclose(law, again, atol=1e-7)


def test_parameters_have_names():
    graph = gq.Prior.projected(GRAPH, 8, alpha="auto")
    other = gq.Prior.projected(OTHER, 8, tau="auto")
    prior = graph + gq.FeaturePrior(X) + other + gq.Level()
    assert prior.open == ("alpha", "length_scale", "tau_2", "weight", "weight_2", "level")
    assert {base_name(name) for name in prior.open} == {
        "alpha",
        "length_scale",
        "tau",
        "weight",
        "level",
    }
    chosen = prior.with_parameters(
        alpha=2.0, length_scale=0.5, tau_2=0.1, weight=0.5, weight_2=0.4, level=0.0
    )
    assert chosen.open == ()
    np.testing.assert_allclose(chosen.weights, [0.5, 0.2, 0.3])
    assert chosen.parameters["alpha"] == 2.0
    assert chosen.parameters["tau_2"] == 0.1
    with pytest.raises(ValueError, match=r"got 'auto' for weight and weight_2 and level"):
        _ = prior.weights


def test_sums_are_told_apart():
    prior = gq.SumPrior.of([GRAPHS["projected"], FEATURES, gq.Level(0.5)], [1, 1])
    assert prior.matches(prior.fingerprint())
    for other in (
        prior.with_parameters(level=0.4),
        prior.with_parameters(weight=0.4),
        prior.with_parameters(length_scale=0.9),
        prior.with_parameters(alpha=3.0),
        gq.SumPrior.of([GRAPHS["projected"], gq.FeaturePrior(X[::-1].copy() + 1, 0.8)], [1, 1]),
    ):
        assert not prior.matches(other.fingerprint())


def test_features_of_other_rows_are_told_apart():
    whole = np.arange(20.0).reshape(10, 2)  # sums over rows are exact, so in any order the same
    prior = gq.FeaturePrior(whole, 1.0)
    assert prior.matches(gq.FeaturePrior(np.asfortranarray(whole), 1.0).fingerprint())
    assert not prior.matches(gq.FeaturePrior(whole[::-1], 1.0).fingerprint())


def test_features_that_change_later_leave_the_prior_as_it_was():
    given = X.copy()
    prior = gq.FeaturePrior(given, 0.8)
    given[:] = 0.0
    np.testing.assert_array_equal(prior.covariance(ALL, ALL), FEATURES.covariance(ALL, ALL))


def test_weights_of_any_size_are_scaled():
    for size in (1e308, 1.0, 1e-320):
        prior = gq.SumPrior.of([GRAPHS["full"], FEATURES], [size, size])
        np.testing.assert_allclose(prior.weights, 0.5)


def test_levels_and_sums_add_in_any_order():
    prior = gq.Level(0.5) + GRAPHS["projected"]
    assert prior.level == 0.5
    assert (prior + FEATURES).open == ("weight",)
    assert len((GRAPHS["full"] + FEATURES + GRAPHS["projected"]).parts) == 3


def pair(*fractions, level=0.0):
    return gq.SumPrior((GRAPHS["full"], FEATURES), fractions, level)


def test_a_level_adds_to_a_sum_with_given_weights():
    for added in (pair(0.25) + gq.Level(0.5), gq.Level(0.5) + pair(0.25)):
        assert added.matches(pair(0.25, level=0.5).fingerprint())
    some = gq.SumPrior([GRAPHS["full"], FEATURES, GRAPHS["full"]], ["auto", 0.25]) + gq.Level()
    assert (some.fractions, some.level) == (("auto", 0.25), "auto")


def test_a_sum_may_be_made_of_fractions():
    made, added = (
        pair(np.float32(0.25), level=1),
        gq.SumPrior.of([GRAPHS["full"], FEATURES], [1, 3]),
    )
    assert made.weights.tolist() == added.weights.tolist() == [0.25, 0.75]
    assert gq.SumPrior([GRAPHS["full"]], []).open == ()


def test_parameters_may_be_opened_again():
    prior = pair(0.25, level=1)
    assert prior.open == ()
    names = ("alpha", "length_scale", "weight", "level")
    again = prior.with_parameters(**dict.fromkeys(names, "auto"))
    assert again.open == names
    chosen = again.with_parameters(alpha=1.0, length_scale=FEATURES.length_scale, weight=0.25)
    assert chosen.with_parameters(level=1.0).matches(prior.fingerprint())
    assert gq.Prior.projected(GRAPH, 9).with_parameters(rank="auto").open == ("rank",)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: gq.Level(-1),
            ValueError,
            r"scale of gq\.Level must lie between 0 and 100, got -1: .* or \"auto\"",
        ),
        (lambda: gq.Level("much"), TypeError, r"scale of gq\.Level must be a number, got 'much': "),
        (lambda: pair(0.5, level=None), TypeError, 'level must be a number, got None: .*"auto"'),
        (lambda: GRAPHS["full"] + gq.Level(1) + gq.Level(1), ValueError, "one level"),
        (lambda: gq.SumPrior.of([gq.Level(1)]), ValueError, "needs a prior besides"),
        (lambda: gq.SumPrior.of([GRAPHS["full"], 3]), TypeError, "got int"),
        (lambda: GRAPHS["full"] + 3, TypeError, "unsupported operand"),
        (lambda: gq.Level(1) + 3, TypeError, "unsupported operand"),
        (lambda: gq.Level(1) + gq.Level(1), ValueError, "one level"),
        (lambda: FEATURES + GRAPH, TypeError, r"add gq\.Prior\.projected\(graph, rank\)"),
        (lambda: GRAPH + FEATURES, TypeError, "a Graph is not a prior"),
        (lambda: gq.SumPrior.of([FEATURES, GRAPH]), TypeError, "a Graph is not a prior"),
        (lambda: FEATURES + GRAPHS["full"].spectrum, TypeError, "a Spectrum is not a prior"),
        (
            lambda: GRAPHS["full"] + gq.FeaturePrior(X[:-1]),
            ValueError,
            "got Prior 40, FeaturePrior 39",
        ),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], [1]),
            ValueError,
            "2 numbers, one for each part, and none for a level",
        ),
        *(
            (lambda w=w: gq.SumPrior.of([GRAPHS["full"], FEATURES], w), TypeError, "not True or")
            for w in ([True, False], [True, 2], np.array([True, True]))
        ),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], [1, -1]),
            ValueError,
            "not negative, and not all zero",
        ),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], [0, 0]),
            ValueError,
            "not negative, and not all zero",
        ),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], [1, np.nan]),
            ValueError,
            "must be finite",
        ),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], [1, 1]) + FEATURES,
            ValueError,
            "only a level can be added to a sum with given weights",
        ),
        (lambda: pair(0.5) + pair(0.5), ValueError, "only a level can be added"),
        (lambda: gq.SumPrior.of([pair(0.5)], [1, 1]), ValueError, "only a level can be added"),
        (lambda: pair(0.5, level=1) + gq.Level(1), ValueError, "a sum has one level"),
        (
            lambda: gq.SumPrior.of([GRAPHS["full"], FEATURES], "even"),
            TypeError,
            "weights must be 2 numbers, got 'even'",
        ),
        (lambda: gq.SumPrior.of(GRAPHS["full"], FEATURES), TypeError, "as a list"),
        (lambda: gq.SumPrior.of([gq.Level(1)]), ValueError, "needs a prior besides the level"),
        (lambda: gq.SumPrior((), ()), ValueError, "needs a prior besides the level"),
        (lambda: pair(2.0), ValueError, r"weight must lie between 0 and 1, got 2: .*SumPrior\.of"),
        (lambda: pair(-1), ValueError, "weight must lie between 0 and 1, got -1"),
        (lambda: pair(np.nan), ValueError, "weight must be finite"),
        (lambda: pair(None), TypeError, "weight must be a number, got None"),
        (lambda: pair(), ValueError, "one fewer than the 2 parts, got 0"),
        (lambda: pair(0.5, 0.5), ValueError, "one fewer than the 2 parts, got 2"),
        (lambda: pair(0.5, level=-1), ValueError, "level must lie between 0 and 100, got -1"),
        (
            lambda: gq.SumPrior((GRAPHS["full"], gq.FeaturePrior(X[1:])), (0.5,)),
            ValueError,
            "same nodes, got Prior 40, FeaturePrior 39: make them from the same items",
        ),
        (
            lambda: gq.SumPrior((GRAPHS["full"], pair(0.5)), (0.5,)),
            TypeError,
            "got SumPrior: add other terms with",
        ),
        (
            lambda: gq.SumPrior((GRAPHS["full"], gq.Level(1)), (0.5,)),
            TypeError,
            "got Level: add other terms with",
        ),
        (lambda: pair(0.5).with_parameters(weight=2), ValueError, "weight must lie between"),
        *(
            (lambda name=name: pair(0.5).with_parameters(**{name: None}), TypeError, f"{name} must")
            for name in ("alpha", "length_scale", "weight", "level")
        ),
        (
            lambda: (GRAPHS["full"] + FEATURES).with_parameters(weights=0.5),
            TypeError,
            "no parameter 'weights'; it has .*length_scale, weight, level",
        ),
        (lambda: gq.FeaturePrior(X, length_scale=0), ValueError, "length_scale must be positive"),
        (
            lambda: gq.FeaturePrior(X, 1.0, labeled=[0, 999]),
            ValueError,
            "labeled must hold nodes of the graph.*got 999",
        ),
        (lambda: gq.FeaturePrior(X, 1.0, [0.5]), TypeError, "labeled must be a sequence of int"),
        (lambda: gq.FeaturePrior(np.ones((5, 2))), ValueError, "same for all items"),
        (lambda: gq.FeaturePrior([[1.0], [np.nan]]), ValueError, "NaN or infinite"),
        (lambda: gq.FeaturePrior(X).root(LABELED), ValueError, "got 'auto' for length_scale"),
    ],
)
def test_bad_input_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_the_distribution_of_no_nodes_is_refused(small):
    prior = gq.Prior.projected(small[0], 5)
    with pytest.raises(ValueError, match="nodes must name at least one node"):
        prior.at([])
    with pytest.raises(ValueError, match="from 0 to 39"):
        prior.at([40])
