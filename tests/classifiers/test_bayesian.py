"""The estimator: equal to the functions it calls, valid for scikit-learn, and fair to new items."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import graphuq as gq
from graphuq import BayesianGraphClassifier, LabelledKFold
from graphuq.graphs.neighbors import Neighbors

PLAIN = {"likelihood": gq.Probit(0.1), "alpha": 2.0, "draws": 200}

EXPECTED_FAILURES = {
    "check_classifiers_classes": "it has -1 for a class, which here marks what is not labeled"
}


@estimator_checks.parametrize_with_checks(
    [BayesianGraphClassifier(**PLAIN, graph_weight=1.0, level=0.5, method="approximate")],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


# All checks pass for an approximation above; draws could differ in these.
@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_classifiers_train,
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_methods_sample_order_invariance,
        estimator_checks.check_methods_subset_invariance,
    ],
)
def test_scikit_learn_accepts_it_with_draws(check):
    model = BayesianGraphClassifier(**PLAIN, graph_weight=1.0, level=0.5)
    check(type(model).__name__, model)


@pytest.mark.parametrize("affinity", ["self-tuning", "cosine"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_features_give_what_dense_ones_give(affinity, kind):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (70, 30)) * (1.0 + np.repeat([[0, 1], [1, 0]], 35, axis=0).repeat(15, 1))
    X[:, 0] += 1  # a row of zeros has no direction
    y = np.where(np.arange(70) % 7 == 0, np.repeat([0, 1], 35), -1)
    model = BayesianGraphClassifier(
        gq.Probit(0.1), affinity=affinity, n_neighbors=8, alpha=2.0, method="approximate"
    )
    dense = model.fit(X[:60], y[:60]).predict_proba(X[60:])
    again = model.fit(kind(X[:60]), y[:60]).predict_proba(kind(X[60:]))
    np.testing.assert_array_equal(dense, again)


def test_sparse_features_that_do_not_fit_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e6)
    X = sparse.random_array((100, 5000), density=0.01, rng=np.random.default_rng(0))
    y = np.where(np.arange(100) < 4, np.arange(100) % 2, -1)
    with pytest.raises(MemoryError, match=r"dense features of shape \(100, 5000\).*TruncatedSVD"):
        BayesianGraphClassifier(**PLAIN).fit(X, y)


def test_weights_of_samples_are_refused_with_the_reason():
    from sklearn.utils.validation import has_fit_parameter

    model, X, y = BayesianGraphClassifier(**PLAIN), np.eye(4), [0, 1, -1, -1]
    reason = r"sample_weight is not supported: give -1 .*NoisyProbit.*confidence="
    with pytest.raises(TypeError, match=reason):
        model.fit(X, y, sample_weight=np.ones(4))
    with pytest.raises(TypeError, match="fit takes X and y, got also groups: leave"):
        model.fit(X, y, groups=y)
    assert not has_fit_parameter(model, "sample_weight")  # meta-estimators ask so


def test_the_written_list_of_failures_is_the_measured_one():
    assert all(check in BayesianGraphClassifier.__doc__ for check in EXPECTED_FAILURES)


@pytest.fixture(scope="module")
def moons():
    """Two moons in the plane, a few of them labeled."""
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, np.pi, 260), np.arange(260) % 2
    X = np.column_stack([np.cos(angle) + y, (1 - 2 * y) * np.sin(angle) + 0.5 * y])
    X += 0.1 * rng.standard_normal(X.shape)
    return X, y, np.where(np.arange(260) < 16, y, -1)


@pytest.fixture(scope="module")
def fitted(moons):
    X, _, known = moons
    return BayesianGraphClassifier(n_neighbors=8, draws=300).fit(X, known)


def test_it_is_what_the_functions_make(moons, fitted):
    X, y, known = moons
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    labels = gq.Labels.of(known, 260)
    modes = gq.Prior.projected(graph, 259, alpha="auto", tau="auto")
    prior = modes + gq.FeaturePrior(X) + gq.LinearPrior(X) + gq.Level()
    post = gq.sample(prior, gq.Probit(), labels, draws=300, seed=0, progress=False)
    np.testing.assert_array_equal(fitted.posterior_.mean, post.mean)
    np.testing.assert_array_equal(fitted.label_variance_, post.variance)
    np.testing.assert_array_equal(fitted.ranking_, post.ranking())
    np.testing.assert_array_equal(fitted.transduction_, post.prediction)
    assert (fitted.graph_.adjacency != graph.adjacency).nnz == 0
    assert fitted.posterior_.accuracy(y) > 0.95
    assert fitted.posterior_.suggest(k=2).size == 2


def test_the_seed_determines_the_fit_and_clones_and_pickles_agree(moons, fitted):
    X, _, known = moons
    new = X + 0.05
    again = clone(fitted).fit(X, known).predict_proba(new)
    np.testing.assert_array_equal(again, fitted.predict_proba(new))
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again, loaded.predict_proba(new))
    other = clone(fitted).set_params(seed=1).fit(X, known)
    assert abs(other.posterior_.mean - fitted.posterior_.mean).max() > 0


def named(known, names, missing):
    return [missing if k == -1 else names[k] for k in known.tolist()]


@pytest.mark.parametrize("missing", [-1, None, np.nan])
@pytest.mark.parametrize("names", [["cat", "dog"], [4, 9], [True, False]])
def test_classes_have_any_names_and_gaps_any_mark(moons, names, missing):
    X, y, known = moons
    model = BayesianGraphClassifier(**PLAIN, n_neighbors=8, method="approximate")
    model.fit(X, named(known, names, missing))
    assert model.classes_.tolist() == sorted(names)
    assert np.mean(model.predict(X + 0.01) == np.array(names)[y]) > 0.9


def test_data_frames_keep_their_names(moons):
    X, _, known = moons
    frame = pd.DataFrame(X, columns=["east", "north"])
    y = pd.Series(named(known, ["a", "b"], None))
    model = BayesianGraphClassifier(**PLAIN, n_neighbors=8, method="approximate").fit(frame, y)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert model.posterior_.names is None
    named_rows = frame.set_index(frame.index + 7)
    model.fit(named_rows, y.to_numpy())
    assert model.posterior_.names.tolist() == [str(i) for i in named_rows.index]
    assert set(model.predict(frame[:5] + 0.1)) <= {"a", "b"}


def test_with_every_item_labeled_it_predicts_new_ones(moons):
    X, y, _ = moons
    model = BayesianGraphClassifier(**PLAIN, n_neighbors=8, method="approximate")
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95


def test_an_item_that_was_fitted_is_that_node(moons, fitted):
    X, _, known = moons
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, 1], fitted.posterior_.probability)
    np.testing.assert_array_equal(fitted.predict(X), fitted.transduction_)
    twice = BayesianGraphClassifier(**PLAIN, n_neighbors=8, method="approximate")
    twice.fit(np.vstack([X, X[:1]]), np.append(known, -1))
    both = twice.posterior_.probability[[0, -1]].mean()
    np.testing.assert_allclose(twice.predict_proba(X[:1])[0, 1], both, rtol=1e-12)


def test_an_item_near_a_node_is_nearly_as_probable(moons, fitted):
    X, _, known = moons
    node = known == -1
    near = fitted.predict_proba(X + 1e-6)[:, 1]
    # they differ where the labels of neighbors disagree
    gap = abs(near - fitted.posterior_.probability)[node]
    assert np.quantile(gap, 0.9) < 0.05


def test_doubt_grows_away_from_the_data(moons, fitted):
    X, _, _ = moons
    surest = X[fitted.label_variance_.argmin()]
    away = surest - X.mean(axis=0)
    steps = np.array([0.1, 0.2, 3.0, 10.0, 30.0, 100.0, 1e4, 1e90])[:, None]
    p = fitted.predict_proba(surest + steps * away / np.linalg.norm(away))
    variance = 4 * p.prod(axis=1)
    assert (variance[:2] < 0.1).all()  # among the data, which are 3 wide
    assert (np.diff(variance[1:]) > -1e-12).all()
    np.testing.assert_allclose(variance[-2:], 1.0)


def test_new_items_are_joined_as_the_graphs_own(moons):
    X, _, _ = moons
    one = Neighbors(X[:-1], 8, "self-tuning")
    weights, same = one.weigh_new(X[-1:])
    graph = gq.knn_graph(X, n_neighbors=8)
    row = graph.adjacency[[-1]][:, np.arange(259)]
    assert same.nnz == 0
    np.testing.assert_array_equal(weights.nonzero()[1], row.nonzero()[1])
    # the scale changes only for items whose last neighbor is the new one
    kept = np.isclose(one.scale, Neighbors(X, 8, "self-tuning").scale[:-1], rtol=1e-9)
    assert kept.mean() > 0.9
    np.testing.assert_allclose(weights.toarray()[:, kept], row.toarray()[:, kept], rtol=1e-9)
    only_named = NearestOnly(X[:-1], 8, "self-tuning").weigh_new(X[-1:])[0]
    assert only_named.nnz < row.nnz


class NearestOnly(Neighbors):
    def _find_reverse_neighbors(self, X):
        return sparse.csr_array((X.shape[0], self.X.shape[0]))


def test_a_precomputed_graph_gives_the_results_of_its_features(moons):
    X, _, known = moons
    fitted = BayesianGraphClassifier(**PLAIN, graph_weight=1, n_neighbors=8, method="approximate")
    fitted.fit(X, known)
    for form in (fitted.graph_, fitted.graph_.adjacency, fitted.graph_.adjacency.toarray()):
        model = clone(fitted).set_params(affinity="precomputed").fit(form, known)
        np.testing.assert_allclose(model.posterior_.mean, fitted.posterior_.mean, atol=1e-9)
    new = X[:20] + 0.03
    weights, _ = fitted._neighbors.weigh_new(new)
    for form in (weights, weights.toarray()):
        np.testing.assert_allclose(model.predict_proba(form), fitted.predict_proba(new), atol=1e-9)
    with pytest.raises(ValueError, match="weights of new items must be non-negative, got -1"):
        model.predict(-np.ones((1, 260)))
    with pytest.raises(ValueError, match="disconnected"):
        model.fit(np.kron(np.eye(2), np.ones((3, 3))), [0, -1, -1, 1, -1, -1])


def test_cosine_weights_heed_directions_alone(moons):
    X, _, known = moons
    angles = np.column_stack([np.cos(X[:, 0]), np.sin(X[:, 0])])
    model = BayesianGraphClassifier(**PLAIN, affinity="cosine", level=0.0, method="approximate")
    model.fit(angles, known)
    new = angles[:30] + 0.01
    np.testing.assert_allclose(model.predict_proba(7 * new), model.predict_proba(new), atol=1e-9)
    model.fit(abs(angles), known)
    np.testing.assert_array_equal(model.predict_proba([[-1.0, -1.0]]), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="row 1 of X is zero and has no direction"):
        model.predict([[1.0, 1.0], [0.0, 0.0]])


@pytest.mark.slow
def test_a_likelihood_of_the_field_itself_is_supported(moons):
    X, y, known = moons
    model = BayesianGraphClassifier(
        gq.GinzburgLandau(epsilon=1.0, gamma=0.5), n_neighbors=8, alpha=2.0, rank=30, draws=200
    ).fit(X, known)
    assert np.mean(model.predict(X + 0.01) == y) > 0.9
    with pytest.raises(TypeError, match="chosen for the sign models"):
        model.set_params(alpha="auto").fit(X, known)


@pytest.mark.slow
def test_a_grid_search_keeps_unlabeled_items_in_training(moons):
    X, _, known = moons

    class Watched(BayesianGraphClassifier):
        def fit(self, X, y):
            seen.append(np.sum(np.equal(y, -1)))
            return super().fit(X, y)

    seen = []
    model = Watched(method="approximate", n_neighbors=8)
    search = GridSearchCV(model, {"rank": [1, 30]}, cv=LabelledKFold(4), error_score="raise")
    search.fit(X, known)
    assert seen == [244] * 9
    assert search.best_score_ > 0.9
    # scikit-learn's own folds hold out unlabeled items, too, which are not scored
    naive = GridSearchCV(model, {"rank": [1, 30]}, cv=KFold(4, shuffle=True, random_state=0))
    assert naive.fit(X, known).best_score_ > 0.9
    pipe = make_pipeline(StandardScaler(), BayesianGraphClassifier(**PLAIN, method="approximate"))
    search = GridSearchCV(
        pipe, {"bayesiangraphclassifier__rank": [5, 30]}, cv=LabelledKFold(4), scoring="roc_auc"
    )
    assert search.fit(X, known).best_score_ > 0.9


def test_folds_deal_out_each_class_evenly_and_each_label_once(moons):
    y = named(moons[2], ["a", "b"], None)
    folds = list(LabelledKFold(3, seed=1).split(None, y))
    assert LabelledKFold(3).get_n_splits() == len(folds) == 3
    np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in folds])), np.arange(16))
    for train, test in folds:
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(260))
        counts = [sum(y[i] == c for i in test) for c in ("a", "b")]
        assert set(counts) <= {2, 3}
    with pytest.raises(ValueError, match="class 'a' has 8 labels, too few for n_splits=9"):
        next(LabelledKFold(9).split(None, y))
    with pytest.raises(ValueError, match="n_splits must be at least 2, got 1"):
        LabelledKFold(1)


GOOD = np.arange(12.0).reshape(6, 2) ** 2, [0, -1, -1, 1, -1, 1]


@pytest.mark.parametrize(
    ("change", "X", "y", "error", "message"),
    [
        ({"affinity": "knn"}, *GOOD, ValueError, "affinity must be one of 'self-tuning', 'cosine'"),
        ({"method": "fast"}, *GOOD, ValueError, "method must be one of 'sample', 'approximate'"),
        ({"rank": 0}, *GOOD, ValueError, "rank must be at least 1, got 0"),
        ({"n_neighbors": 2.5}, *GOOD, TypeError, "n_neighbors must be an integer, got 2.5"),
        ({"alpha": -1.0}, *GOOD, ValueError, "alpha must lie between"),
        ({"draws": 0}, *GOOD, ValueError, "draws must be at least 1"),
        ({"likelihood": gq.Probit}, *GOOD, TypeError, "pass an instance, such as Probit"),
        ({}, GOOD[0], [-1, -1, 1, 1, -1, -1], ValueError, "two classes besides -1"),
        ({}, GOOD[0], [0, 1], ValueError, "class of each of 6 nodes"),
        ({}, GOOD[0], None, ValueError, "requires y to be passed.*-1 where it is not known"),
        ({}, GOOD[0], np.array([0.2, 0.4, np.nan, 0.3, -1, -1]), ValueError, "Unknown label type"),
        ({}, GOOD[0] * np.nan, GOOD[1], ValueError, "X contains NaN"),
        ({}, GOOD[0] * 1e120, GOOD[1], ValueError, "squares overflow: rescale it"),
        ({"affinity": "precomputed"}, *GOOD, ValueError, "adjacency must be square"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_reason(change, X, y, error, message):
    with pytest.raises(error, match=message):
        BayesianGraphClassifier(**{**PLAIN, **change}).fit(X, y)


def test_new_items_must_be_like_the_fitted_ones(fitted):
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        fitted.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="squares overflow"):
        fitted.predict([[1e120, 0.0]])


@pytest.mark.slow
def test_new_digits_are_as_well_classified_as_if_they_had_been_in_the_graph():
    # a small version, with fixed parameters, of benchmarks/trust/estimator.py
    try:
        images, y = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=2000)
    except FileNotFoundError as error:
        pytest.skip(f"needs mnist.npz: {error}")
    X = gq.pca(images, 50)
    model = BayesianGraphClassifier(gq.Probit(0.1), alpha=3.0, rank=100, method="approximate")
    gaps = []
    for draw in range(3):
        new = np.random.default_rng(draw).permutation(4000) < 1000
        labels = gq.reveal(y[~new], counts=80, seed=draw)
        known, of_all = np.full(3000, -1), np.full(4000, -1)
        known[labels.nodes] = labels.values
        of_all[~new] = known
        as_new = model.fit(X[~new], known).score(X[new], y[new])
        gaps.append(np.mean(model.fit(X, of_all).transduction_[new] == y[new]) - as_new)
    assert np.mean(gaps) < 0.01


@pytest.fixture(scope="module")
def fitted_clumps(clumps):
    X, y = clumps
    known = np.where(np.arange(60) < 15, y, None)
    model = gq.BayesianGraphClassifier(
        gq.Probit(0.1), alpha=2.0, n_neighbors=6, draws=300, chains=2, seed=None
    )
    return model.fit(X, known), known


def test_the_estimator_supports_many_classes(clumps, fitted_clumps):
    X, y = clumps
    model, _ = fitted_clumps
    assert model.classes_.tolist() == ["ant", "bee", "cow"]
    assert model.posterior_.accuracy(y) > 0.8
    p = model.predict_proba(X + 0.05)
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X + 0.05), model.classes_[p.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict_proba(X), model.posterior_.probability)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    alone = model.predict_proba(X[:1] + 1e6)
    np.testing.assert_allclose(alone, np.full((1, 3), 1 / 3), atol=0.05)
    assert model.score(X + 0.05, y) > 0.8
    assert model.posterior_.suggest(2).size == 2


def test_new_items_are_answered_alike_each_time_and_one_by_one(clumps, fitted_clumps):
    X, _ = clumps
    model, _ = fitted_clumps
    p = model.predict_proba(X + 0.05)
    np.testing.assert_array_equal(model.predict_proba(X + 0.05), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X + 0.05), p)
    alone = np.vstack([model.predict_proba(x[None]) for x in X[:5] + 0.05])
    np.testing.assert_allclose(alone, p[:5], atol=1e-12)


def test_an_estimator_may_know_of_a_class_that_no_label_shows(clumps, unseen):
    X, y = clumps
    model = gq.BayesianGraphClassifier(
        gq.NoisyProbit(0.1, 0.05), alpha=2.0, n_neighbors=6, draws=400, chains=2
    ).fit(X, unseen)
    assert model.predict_proba(X + 0.05).shape == (60, 4)
    assert np.mean(model.predict(X + 0.05) == y) > 0.8


def test_parameters_are_chosen_for_many_classes_too(clumps, fitted_clumps):
    X, y = clumps
    model = gq.BayesianGraphClassifier(draws=200, chains=2, n_neighbors=6).fit(X, fitted_clumps[1])
    assert 0.01 <= model.likelihood_.gamma <= 1
    assert model.score(X + 0.05, y) > 0.9


def test_the_approximation_supports_many_classes(clumps, fitted_clumps):
    X, y = clumps
    model, known = fitted_clumps
    quick = gq.BayesianGraphClassifier(method="approximate", n_neighbors=6).fit(X, known)
    assert quick.score(X + 0.05, y) > 0.9
    np.testing.assert_allclose(quick.predict_proba(X + 0.05).sum(axis=1), 1)
    assert model.__sklearn_tags__().classifier_tags.multi_class
    assert quick.__sklearn_tags__().classifier_tags.multi_class


def test_items_without_a_class_are_not_scored(moons):
    X, _, y = moons
    known = y != -1
    model = BayesianGraphClassifier(**PLAIN, method="approximate")
    scores = cross_val_score(model, X, y, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.mean() > 0.9  # -1 counted as a class gives less than 0.1
    model.fit(X, y)
    assert model.score(X, y) == (model.predict(X)[known] == y[known]).mean()
    with pytest.raises(ValueError, match=r"y shows no class.*LabelledKFold"):
        model.score(X[:5], np.full(5, -1))


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        ([0, 1, 0, 1], None, "each of the 5 rows of X, got shape"),
        (list("abcab"), None, "Mix of label input types|mix"),
        ([0, 1, 0, 1, 0], [1.0] * 9, "sample_weight must have one weight"),
        ([0, 1, 0, 1, 0], [1, 1, 1, 1, -1], "finite and non-negative"),
        ([0, 1, 0, 1, 0], [1, 1, np.nan, 1, 1], "finite and non-negative"),
        ([0, 1, 0, 1, 0], [0] * 5, "not 0 for all"),
    ],
)
def test_scores_of_other_lengths_or_types_are_refused(moons, y, weights, message):
    X, _, known = moons
    model = BayesianGraphClassifier(**PLAIN, method="approximate").fit(X, known)
    with pytest.raises((ValueError, TypeError), match=message):
        model.score(X[:5], y, weights)
    column = np.reshape([0, 1, 0, 1, 0], (5, 1))
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.score(X[:5], column) == model.score(X[:5], column.ravel())


def test_a_fit_that_fails_leaves_the_one_before(moons, monkeypatch):
    X, _, known = moons
    model = BayesianGraphClassifier(**PLAIN, method="approximate").fit(X, known)
    before, order = model.predict_proba(X[:4]), np.random.default_rng(0).permutation(len(X))
    monkeypatch.setattr("graphuq.classifiers.bayesian.approximate", None)
    with pytest.raises(TypeError):
        model.fit(X[order], known[order])
    np.testing.assert_array_equal(model.predict_proba(X[:4]), before)


@pytest.mark.parametrize(
    ("name", "value"), [("draws", 0), ("draws", "x"), ("chains", 0), ("seed", "a")]
)
def test_how_to_run_is_checked_before_any_work(moons, monkeypatch, name, value):
    X, _, known = moons
    monkeypatch.setattr("graphuq.classifiers.bayesian.Neighbors", None)
    with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
        BayesianGraphClassifier(**{name: value}).fit(X, known)


def test_features_and_level_are_part_of_the_prior_by_default():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] > 1.2).astype(int)  # one in nine
    known = np.where(np.arange(160) % 4 == 0, y, -1)
    options = {"method": "approximate", "n_neighbors": 8, "rank": 50}
    model = gq.BayesianGraphClassifier(**options).fit(X[:120], known[:120])
    assert {"weight", "level", "length_scale"} <= model.prior_.parameters.keys()
    assert model.score(X[120:], y[120:]) > (y[120:] == 0).mean()
    # the graph alone, asked for by hand
    alone = gq.BayesianGraphClassifier(graph_weight=1.0, level=0.0, **options)
    alone.fit(X[:120], known[:120])
    chosen = {name: alone.prior_.parameters[name] for name in ("alpha", "tau")}
    prior = gq.Prior.projected(alone.graph_, 50, **chosen)
    same = gq.approximate(prior, alone.likelihood_, alone.posterior_.labels)
    np.testing.assert_allclose(alone.posterior_.by_class, same.by_class, atol=1e-5)
    assert abs(alone.posterior_.by_class - model.posterior_.by_class).max() > 0.05
    # a graph that is given has no features
    given = gq.BayesianGraphClassifier(affinity="precomputed", method="approximate", rank=50)
    given.fit(alone.graph_.adjacency, known[:120])
    assert "length_scale" not in given.prior_.parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph_weight": 1.5}, "graph_weight must lie between 0 and 1, got 1.5"),
        ({"level": -1}, "level must lie between 0 and 100, got -1"),
    ],
)
def test_weights_and_levels_out_of_range_are_refused(options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        gq.BayesianGraphClassifier(**options).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("affinity", ["cosine", "precomputed"])
def test_a_share_of_features_is_refused_where_only_the_graph_is_used(affinity):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(np.arange(20) < 10, np.arange(20) % 2, -1)
    given = gq.knn_graph(X, 5, connect=True).adjacency if affinity == "precomputed" else X
    options = {**PLAIN, "affinity": affinity, "level": 0.5, "method": "approximate"}
    for weight in (0, 0.5, 0.0):
        message = f"graph_weight must be 1 or 'auto' with affinity='{affinity}'.* got {weight}: "
        with pytest.raises(ValueError, match=message):
            BayesianGraphClassifier(**options, graph_weight=weight).fit(given, y)
    found = [
        BayesianGraphClassifier(**options, graph_weight=weight).fit(given, y).posterior_.by_class
        for weight in (1, 1.0, "auto")
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_items_far_away_have_the_share_of_classes_and_nothing_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] > 0.9).astype(int)
    model = BayesianGraphClassifier(
        gq.Probit(0.1), alpha=3.0, graph_weight=1.0, level=1.0, method="approximate", n_neighbors=8
    )
    model.fit(X, np.where(np.arange(150) % 4 == 0, y, -1))
    away = model.predict_proba([[r, 0.0] for r in (50.0, 2000.0, 1e4)])[:, 1]
    assert (abs(away - away[-1]) < 0.01).all()  # continuous as the weights vanish
    assert ((away > 0.02) & (away < 0.5)).all()


def test_constant_features_are_named():
    X, y = np.ones((30, 2)), [0, 1, *[-1] * 28]
    options = {"likelihood": gq.Probit(0.1), "alpha": 2.0, "method": "approximate"}
    model = BayesianGraphClassifier(**options, n_neighbors=29)
    alone = clone(model).set_params(graph_weight=1).fit(X, y).posterior_.by_class
    with pytest.warns(RuntimeWarning, match="all features are constant .* graph alone") as caught:
        found = model.fit(X, y).posterior_.by_class
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, alone)
    for weight in (0, 0.3):
        with pytest.raises(ValueError, match=f"graph_weight={weight} leaves .* graph_weight=1"):
            model.set_params(graph_weight=weight).fit(X, y)
