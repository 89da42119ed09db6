"""The estimator: as the functions it calls, as scikit-learn wants it, and fair to new items."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import mutated
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphuq as gq
from graphuq import BayesianGraphClassifier, LabelledKFold, out_of_sample
from graphuq.graphs.neighbours import Neighbours
from graphuq.out_of_sample import new_probability

PLAIN = {"likelihood": gq.Probit(0.1), "alpha": 2.0, "draws": 200}

EXPECTED_FAILURES = {
    "check_classifiers_classes": "it has -1 for a class, which here marks what is not labelled"
}


@parametrize_with_checks(
    [
        BayesianGraphClassifier(**PLAIN),
        BayesianGraphClassifier(**PLAIN, method="approximate"),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_the_written_list_of_failures_is_the_measured_one():
    assert all(check in BayesianGraphClassifier.__doc__ for check in EXPECTED_FAILURES)


@pytest.fixture(scope="module")
def moons():
    """Two moons in the plane, a few of them labelled."""
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
    prior = gq.Prior.projected(graph, 259, alpha="auto")
    post = gq.sample(prior, gq.Probit(), labels, draws=300, seed=0, progress=False)
    np.testing.assert_array_equal(fitted.posterior_.mean, post.mean)
    np.testing.assert_array_equal(fitted.label_variance_, post.variance)
    np.testing.assert_array_equal(fitted.ranking_, post.ranking())
    np.testing.assert_array_equal(fitted.transduction_, post.prediction)
    assert (fitted.graph_.adjacency != graph.adjacency).nnz == 0
    assert fitted.posterior_.accuracy(y) > 0.95
    assert fitted.posterior_.suggest(k=2).size == 2


def test_the_seed_tells_all_and_clones_and_pickles_agree(moons, fitted):
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
    assert set(model.predict(frame[:5] + 0.1)) <= {"a", "b"}


def test_with_every_item_labelled_it_serves_new_ones(moons):
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
    # they differ where a neighbourhood is not of one mind
    gap = abs(near - fitted.posterior_.probability)[node]
    assert np.quantile(gap, 0.9) < 0.05


def test_doubt_grows_away_from_the_data(moons, fitted):
    X, _, _ = moons
    surest = X[fitted.label_variance_.argmin()]
    away = surest - X.mean(axis=0)
    steps = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e4, 1e90])[:, None]
    p = fitted.predict_proba(surest + steps * away / np.linalg.norm(away))
    variance = 4 * p.prod(axis=1)
    assert variance[0] < 0.1
    assert (np.diff(variance) > -1e-12).all()
    np.testing.assert_allclose(variance[-2:], 1.0)


@pytest.fixture(scope="module")
def hung(small):
    """Weights of three new nodes hung on the small graph."""
    weights = np.zeros((3, 40))
    weights[0, [3, 4, 9]] = 1.0, 0.5, 2.0
    weights[1, [18, 22, 30]] = 0.3, 0.3, 0.1
    weights[2, 38] = 0.01
    return weights


def by_brute_force(post, prior, graph, weights, seed=0):
    """The formulas of the module, in dense matrices and draws of the new nodes themselves."""
    L = graph.laplacian().toarray()
    C = prior.covariance(np.arange(40), np.arange(40))
    departure = np.diag(L @ C @ L)
    u = np.concatenate(list(post.latent_draws(prior, seed=seed)))
    d = weights.sum(axis=1)
    mean = u / np.sqrt(graph.degrees) @ (weights / d[:, None]).T
    rng = np.random.default_rng(seed)
    draws = mean + np.sqrt(weights @ departure / d) / np.sqrt(d) * rng.standard_normal(mean.shape)
    return (draws > 0).mean(axis=0)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2)) + 2.5 * np.repeat([0, 1], 20)[:, None]
    graph = gq.knn_graph(X, n_neighbors=6, connect=True)
    return graph, gq.Labels([0, 7, 13, 25, 38], [0, 0, 1, 1, 1])


@pytest.mark.parametrize(("rank", "alpha"), [(39, 1.0), (15, 2.0)])
def test_new_probabilities_are_those_of_drawn_new_nodes(problem, hung, rank, alpha):
    graph, labels = problem
    prior = gq.Prior.projected(graph, rank, alpha=alpha)
    post = gq.sample(prior, gq.Probit(0.1), labels, draws=10_000, seed=0, progress=False)
    found = new_probability(post, prior, graph.degrees, hung)
    expected = by_brute_force(post, prior, graph, hung)
    mcse = np.sqrt(expected * (1 - expected) / 40_000)
    assert (abs(found - expected) < 4 * mcse).all()
    sparsely = new_probability(post, prior, graph.degrees, sparse.csr_array(hung))
    np.testing.assert_array_equal(sparsely, found)
    # of a Gaussian approximation there is no Monte Carlo error, and draws of it agree
    quick = gq.approximate(prior, gq.Probit(0.1), labels)
    found = new_probability(quick, prior, graph.degrees, hung)

    class Drawn:
        latent_draws = staticmethod(
            lambda prior, seed: quick.latent_draws(prior, draws=40_000, seed=seed)
        )

    assert (abs(found - by_brute_force(Drawn, prior, graph, hung)) < 4 * mcse).all()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("/ np.sqrt(degrees)[:, None]", ""),
        ("* prior.sigma) ** 2", ") ** 2"),
        ("1 / np.where(tied, d, 1.0)", "1 + 0 * d"),
    ],
)
def test_a_mistake_in_the_formula_would_show(problem, hung, right, wrong):
    graph, labels = problem
    prior = gq.Prior.projected(graph, 39)
    post = gq.sample(prior, gq.Probit(0.1), labels, draws=10_000, seed=0, progress=False)
    broken = mutated(out_of_sample.new_probability, right, wrong)
    expected = by_brute_force(post, prior, graph, hung)
    mcse = np.sqrt(expected * (1 - expected) / 40_000)
    found = broken(post, prior, graph.degrees, hung)
    assert (abs(found - expected) > 6 * mcse).any()


def test_under_the_papers_prior_a_new_node_is_any_node_given_the_others(problem, hung):
    # theorem 2.3 of Rue and Held, from the precision matrix of the enlarged graph
    graph, _ = problem
    prior = gq.Prior.full(graph)
    L = graph.laplacian().toarray()
    departure = np.diag(L @ prior.covariance(np.arange(40), np.arange(40)) @ L)
    np.testing.assert_allclose(departure, prior.scale, rtol=1e-9)
    A = np.zeros((41, 41))
    A[:40, :40], A[40, :40], A[:40, 40] = graph.adjacency.toarray(), hung[0], hung[0]
    precision = (np.diag(A.sum(axis=0)) - A) / prior.scale  # of f
    np.testing.assert_allclose(1 / precision[40, 40], prior.scale / hung[0].sum())
    np.testing.assert_allclose(-precision[40, :40] / precision[40, 40], hung[0] / hung[0].sum())


def test_new_items_are_joined_as_the_graphs_own(moons):
    X, _, _ = moons
    one = Neighbours(X[:-1], 8, "self-tuning")
    weights, same = one.of_new(X[-1:])
    graph = gq.knn_graph(X, n_neighbors=8)
    row = graph.adjacency[[-1]][:, np.arange(259)]
    assert same.nnz == 0
    np.testing.assert_array_equal(weights.nonzero()[1], row.nonzero()[1])
    # an item whose last neighbour the new one is, has its scale changed; others have not
    kept = np.isclose(one.scale, Neighbours(X, 8, "self-tuning").scale[:-1], rtol=1e-9)
    assert kept.mean() > 0.9
    np.testing.assert_allclose(weights.toarray()[:, kept], row.toarray()[:, kept], rtol=1e-9)
    only_named = NearestOnly(X[:-1], 8, "self-tuning").of_new(X[-1:])[0]
    assert only_named.nnz < row.nnz


class NearestOnly(Neighbours):
    def _naming(self, X):
        return sparse.csr_array((X.shape[0], self.X.shape[0]))


def test_a_precomputed_graph_serves_as_its_features_do(moons):
    X, _, known = moons
    fitted = BayesianGraphClassifier(**PLAIN, n_neighbors=8, method="approximate").fit(X, known)
    for form in (fitted.graph_, fitted.graph_.adjacency, fitted.graph_.adjacency.toarray()):
        model = clone(fitted).set_params(affinity="precomputed").fit(form, known)
        np.testing.assert_allclose(model.posterior_.mean, fitted.posterior_.mean, atol=1e-9)
    new = X[:20] + 0.03
    weights, _ = fitted._neighbours.of_new(new)
    for form in (weights, weights.toarray()):
        np.testing.assert_allclose(model.predict_proba(form), fitted.predict_proba(new), atol=1e-9)
    with pytest.raises(ValueError, match="weights of new items must be non-negative, got -1"):
        model.predict(-np.ones((1, 260)))
    with pytest.raises(ValueError, match="disconnected"):
        model.fit(np.kron(np.eye(2), np.ones((3, 3))), [0, -1, -1, 1, -1, -1])


def test_cosine_weights_heed_directions_alone(moons):
    X, _, known = moons
    angles = np.column_stack([np.cos(X[:, 0]), np.sin(X[:, 0])])
    model = BayesianGraphClassifier(**PLAIN, affinity="cosine", method="approximate")
    model.fit(angles, known)
    new = angles[:30] + 0.01
    np.testing.assert_allclose(model.predict_proba(7 * new), model.predict_proba(new), atol=1e-9)
    model.fit(abs(angles), known)
    np.testing.assert_array_equal(model.predict_proba([[-1.0, -1.0]]), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="row 1 of X is zero and has no direction"):
        model.predict([[1.0, 1.0], [0.0, 0.0]])


def test_a_likelihood_of_the_field_itself_serves_too(moons):
    X, y, known = moons
    model = BayesianGraphClassifier(
        gq.GinzburgLandau(epsilon=1.0, gamma=0.5), n_neighbors=8, alpha=2.0, rank=30, draws=200
    ).fit(X, known)
    assert np.mean(model.predict(X + 0.01) == y) > 0.9
    with pytest.raises(TypeError, match="chosen for the sign models"):
        model.set_params(alpha="auto").fit(X, known)


def test_a_grid_search_keeps_what_is_unlabelled_in_training(moons):
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
    # scikit-learn's own folds hold out what is unlabelled, and count it as wrong
    naive = GridSearchCV(model, {"rank": [1, 30]}, cv=KFold(4, shuffle=True, random_state=0))
    assert naive.fit(X, known).best_score_ < 0.2
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
        ({"method": "approximate"}, GOOD[0], [0, 1, 2, -1, -1, -1], ValueError,
         "Only binary .* y shows 3 classes"),
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


def test_new_digits_are_as_well_classified_as_if_they_had_been_in_the_graph():
    # benchmarks/estimator.py measures it as it comes; here all is fixed, and small
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
