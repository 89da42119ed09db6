from __future__ import annotations

import numpy as np
import pytest
from conftest import NodesAlone, quietly
from hypothesis import given, settings
from hypothesis import strategies as st
from references.mutation import mutated
from sklearn.base import BaseEstimator, ClassifierMixin

import graphuq as gq
from graphuq.posterior.assessment import prediction_sets as conformal
from graphuq.posterior.assessment.prediction_sets import prediction_sets

GIVEN = gq.Labels([0, 1], [0, 1])


def both(p):
    return np.column_stack([1 - np.asarray(p), p])


def test_sets_by_hand():
    p = [0.5, 0.5, 0.1, 0.8, 0.7, 0.6, 0.65, 0.05, 0.2, 0.95]
    labels = gq.Labels([0, 1], ["cat", "dog"])
    held_out = gq.Labels([2, 3, 4, 5], ["cat", "dog", "dog", "cat"])
    # scores 0.1, 0.2, 0.3, 0.6, of which 3 = (4 + 1) 0.6 are at most 0.3: probabilities from 0.7
    result = prediction_sets(both(p), labels, held_out, coverage=0.6)
    np.testing.assert_allclose(result.threshold, [0.3, 0.3])
    assert result.sets[6:].tolist() == [
        [False, False],
        [True, False],
        [True, False],
        [False, True],
    ]
    assert result.coverage(["?"] * 6 + ["dog", "cat", "dog", "dog"]) == 0.5
    with pytest.raises(ValueError, match="'bird', which is not one of the classes"):
        result.coverage(["?"] * 6 + ["cat", "cat", "cat", "bird"])
    assert result.known.nodes.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(result) == (
        "PredictionSets(0.6 coverage; sets by number of classes: 1 of 0, 3 of 1, 0 of 2)"
    )
    # and 4 = (4 + 1) 0.8 are at most 0.6
    result = prediction_sets(both(p), labels, held_out, coverage=0.8)
    assert result.sets[6:].tolist() == [[False, True], [True, False], [True, False], [False, True]]


def test_sets_of_each_class_by_hand():
    p = [0.5, 0.5, 0.1, 0.8, 0.7, 0.6, 0.65, 0.35, 0.2, 0.95]
    held_out = gq.Labels([2, 3, 4, 5], [0, 1, 1, 0])
    # scores of class 0: 0.1 and 0.6, of class 1: 0.2 and 0.3; 2 = (2 + 1) 2/3 of each
    result = prediction_sets(both(p), GIVEN, held_out, coverage=2 / 3, per_class=True)
    np.testing.assert_allclose(result.threshold, [0.6, 0.3])
    assert result.sets[6:].tolist() == [[False, False], [True, False], [True, False], [False, True]]


def coin_nodes(rng, n_nodes, rounded=None, sharpness=1.0):
    """Probabilities and true classes; the first two nodes are labeled."""
    q = rng.beta(0.6, 0.6, n_nodes)
    y = (rng.random(n_nodes) < q).astype(int)
    y[:2] = [0, 1]
    p = q**sharpness / (q**sharpness + (1 - q) ** sharpness)
    return (p if rounded is None else np.round(p * rounded) / rounded), y


def covered(make, coverage, n, rounded=None, sharpness=1.0, splits=400):
    """Mean coverage of splits at random, and its standard error."""
    rng = np.random.default_rng(21)
    shares = []
    for seed in range(splits):
        p, y = coin_nodes(rng, n + 102, rounded, sharpness)
        nodes = 2 + rng.permutation(n + 100)[:n]
        if y[nodes].min() == y[nodes].max():
            continue
        result = make(both(p), GIVEN, gq.Labels(nodes, y[nodes]), coverage, seed=seed)
        shares.append(result.coverage(y))
    assert len(shares) > 0.97 * splits
    return np.mean(shares), np.std(shares) / np.sqrt(len(shares))


# no ties; three values; 0 and 1 only, as where all draws agree
ROUNDED = [None, 2, 1]


@pytest.mark.parametrize("rounded", ROUNDED, ids=["no ties", "three values", "0 and 1"])
@pytest.mark.parametrize("sharpness", [1.0, 4.0], ids=["true", "overconfident"])
@pytest.mark.parametrize(
    ("coverage", "n"), [(0.85, 9), pytest.param(0.9, 40, marks=pytest.mark.slow)]
)
def test_coverage_is_the_nominal_one(coverage, n, sharpness, rounded):
    share, error = covered(prediction_sets, coverage, n, rounded, sharpness)
    rank = np.ceil((n + 1) * coverage - 1e-9)
    assert abs(share - rank / (n + 1)) < 4 * error
    assert rank / (n + 1) >= coverage


@pytest.mark.parametrize(
    ("right", "wrong", "coverage", "n", "rounded", "sign"),
    [
        ("peers.size + 1", "peers.size", 0.85, 9, None, -1),
        ("ties <= ...", "True", 0.6, 40, 1, 1),
        ("below | ...", "below", 0.6, 40, 1, -1),
    ],
    ids=["no node more", "all ties in", "no ties in"],
)
def test_wrong_sets_miss_the_coverage(right, wrong, coverage, n, rounded, sign):
    share, error = covered(mutated(conformal.prediction_sets, right, wrong), coverage, n, rounded)
    rank = np.ceil((n + 1) * coverage - 1e-9)
    assert sign * (share - rank / (n + 1)) > 4 * error


def test_labels_at_different_rates_need_their_own_thresholds():
    """Most held-out labels have class 0, whose probabilities are more accurate."""
    rng = np.random.default_rng(4)
    shares = {False: [], True: []}
    for seed in range(400):
        y = np.tile([0, 1], 200)
        p = np.where(y == 1, rng.beta(2, 2, 400), rng.beta(1, 5, 400))
        of_0, of_1 = (rng.permutation(np.flatnonzero(y == k)[1:]) for k in (0, 1))
        nodes = np.concatenate([of_0[:90], of_1[:19]])
        for per_class, found in shares.items():
            result = prediction_sets(
                both(p), GIVEN, gq.Labels(nodes, y[nodes]), 0.9, per_class, seed
            )
            rest = np.setdiff1d(np.arange(400), result.known.nodes)
            right = result.sets[rest, y[rest]]
            found.append([right[y[rest] == 0].mean(), right[y[rest] == 1].mean()])
    mean = {key: np.mean(value, axis=0) for key, value in shares.items()}
    error = np.std(shares[True], axis=0) / np.sqrt(400)
    # 82 of 91 ranks, 18 of 20
    assert (abs(mean[True] - [82 / 91, 0.9]) < 4 * error).all()
    assert mean[False].mean() < 0.87
    assert mean[False][1] < 0.8


@given(
    seed=st.integers(0, 2**31),
    rounded=st.sampled_from(ROUNDED),
    per_class=st.booleans(),
    low=st.floats(0.05, 0.7),
    high=st.floats(0.05, 0.7),
)
@settings(max_examples=40, deadline=None)
def test_more_coverage_gives_larger_sets(seed, rounded, per_class, low, high):
    rng = np.random.default_rng(seed)
    p, y = coin_nodes(rng, 60, rounded)
    y[2:12] = [0, 1] * 5
    held_out = gq.Labels(np.arange(2, 30), y[2:30])
    small, large = (
        prediction_sets(both(p), GIVEN, held_out, c, per_class, seed) for c in sorted((low, high))
    )
    assert (small.sets <= large.sets).all()
    if rounded is None:
        # without ties a set is a threshold
        np.testing.assert_array_equal(small.sets, 1 - both(p) <= small.threshold)


@pytest.fixture
def post():
    rng = np.random.default_rng(0)
    p, _ = coin_nodes(rng, 60, rounded=2)
    labels = gq.Labels([0, 1], ["cat", "dog"])
    mean = 2 * p - 1
    return NodesAlone(labels, mean, 1 - mean**2, p, np.zeros(60), mean, np.ones(60))


def held_out(n, first=2):
    return gq.Labels(np.arange(first, first + n), ["cat", "dog", "dog", "dog"] * (n // 4))


def test_a_posterior_makes_sets_and_one_seed_one_answer(post):
    first, second = (post.prediction_sets(held_out(20), seed=3) for _ in range(2))
    direct = prediction_sets(both(post.probability), post.labels, held_out(20), seed=3)
    np.testing.assert_array_equal(first.sets, second.sets)
    np.testing.assert_array_equal(first.sets, direct.sets)
    assert (post.prediction_sets(held_out(20), seed=4).sets != first.sets).any()
    y = np.full(60, "-1", dtype=object)
    y[:] = -1
    y[2:22] = held_out(20).values
    np.testing.assert_array_equal(post.prediction_sets(y, seed=3).sets, first.sets)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (held_out(20), {"coverage": 0.0}, r"coverage must lie in \(0, 1\), got 0.0"),
        (held_out(20), {"coverage": 1}, r"coverage must lie in \(0, 1\)"),
        (held_out(20, first=1), {}, r"node 1 is among the labels .* labels\.split\(\)"),
        (held_out(20, first=50), {}, r"nodes of the graph, from 0 to 59"),
        (gq.Labels([5, 6], [0, 1]), {}, r"of the classes \['cat', 'dog'\], got \[0, 1\]"),
        (held_out(8), {}, r"8 held-out labels are too few for coverage 0.9, which needs 9"),
        (held_out(20), {"coverage": 0.99}, r"20 held-out .* needs 99"),
        (held_out(20), {"per_class": True}, r"5 held-out labels of class 'cat' .* needs 9"),
        (np.zeros(7), {}, r"class of each of 60 nodes"),
    ],
)
def test_what_cannot_be_covered_is_refused(post, labels, options, message):
    with pytest.raises(ValueError, match=message):
        post.prediction_sets(labels, **options)


def test_as_many_labels_as_are_asked_for_suffice(post):
    nine = gq.Labels(np.arange(2, 11), ["cat", "dog", "dog"] * 3)
    assert post.prediction_sets(nine, 0.9).sets.shape == (60, 2)


def test_truths_that_do_not_fit_are_refused(post):
    result = post.prediction_sets(held_out(20))
    with pytest.raises(ValueError, match=r"truth must have shape \(60,\)"):
        result.coverage(["cat"] * 59)
    with pytest.raises(ValueError, match="names none of the classes"):
        result.coverage(np.zeros(60))


def simplex_nodes(rng, n, sharpness=1.0):
    """Probabilities and true classes; the first three nodes are labeled."""
    q = rng.dirichlet([0.4, 0.6, 0.8], n)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)[:, :2]).sum(axis=1)
    y[:3] = [0, 1, 2]
    p = q**sharpness
    return np.round(p / p.sum(axis=1, keepdims=True), 2), y


def covered_by_three(make, sharpness=1.0, splits=1000, n=12, coverage=0.85):
    """Mean coverage of splits at random, its standard error and how many lack a class."""
    rng = np.random.default_rng(8)
    shares, lacking = [], 0
    for seed in range(splits):
        p, y = simplex_nodes(rng, n + 103, sharpness)
        nodes = 3 + rng.permutation(n + 100)[:n]
        held_out = gq.Labels(nodes, y[nodes], classes=[0, 1, 2])
        lacking += np.unique(held_out.values).size < 3
        result = make(p, gq.Labels([0, 1, 2], [0, 1, 2]), held_out, coverage, seed=seed)
        shares.append(result.coverage(y))
    return np.mean(shares), np.std(shares) / np.sqrt(splits), lacking


@pytest.mark.parametrize("sharpness", [1.0, 3.0], ids=["true", "overconfident"])
def test_coverage_is_the_nominal_one_whatever_classes_were_held_out(sharpness):
    share, error, lacking = covered_by_three(prediction_sets, sharpness)
    assert abs(share - 12 / 13) < 4 * error  # 12 is 13 x 0.85, rounded up
    assert lacking > 10


def test_sets_with_one_rank_less_miss_the_coverage():
    wrong = mutated(conformal.prediction_sets, "peers.size + 1", "peers.size")
    share, error, _ = covered_by_three(wrong)
    assert 12 / 13 - share > 4 * error


def test_held_out_labels_need_not_show_all_classes(clump_graph, unseen, clumps):
    _, y = clumps
    prior = gq.Prior.approximated(clump_graph, 12)
    post = quietly(prior, gq.Probit(0.2), unseen, draws=200, chains=2, seed=0, progress=False)
    hidden = np.setdiff1d(np.arange(60), post.labels.nodes)
    some = hidden[y[hidden] != "cow"][:20]
    given = np.full(60, None)
    given[some] = y[some]
    by_array = post.prediction_sets(given, 0.8)
    assert by_array.sets.shape == (60, 4)
    assert by_array.classes.tolist() == by_array.known.classes.tolist()
    listed = gq.Labels(some, y[some], classes=post.labels.classes)
    for held_out in (gq.Labels(some, y[some]), listed):
        np.testing.assert_array_equal(post.prediction_sets(held_out, 0.8).sets, by_array.sets)
    assert 0 < by_array.coverage(y) <= 1
    with pytest.raises(ValueError, match="0 held-out labels of class 'ape' are too few"):
        post.prediction_sets(listed, 0.8, per_class=True)
    for other in (["dog", "bee"], [0, 1]):
        with pytest.raises(ValueError, match=r"of the classes \['ant', 'ape', 'bee', 'cow'\], got"):
            post.prediction_sets(gq.Labels(some[:2], other))


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier that returns the row of probabilities that X names."""

    def __init__(self, by_class, classes):
        self.by_class, self.classes = by_class, classes
        self.classes_ = np.asarray(classes)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return self.by_class[np.ravel(X).astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.filterwarnings("ignore")  # those of MAPIE
@pytest.mark.parametrize("coverage", [0.7, 0.9])
def test_sets_are_those_of_mapie(coverage):
    classification = pytest.importorskip("mapie.classification")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])
    labels, held_out = gq.reveal(y, counts=20, seed=0).split(0.5, seed=0)
    post = gq.approximate(gq.Prior.projected(gq.knn_graph(X, 8), 30), gq.Probit(0.3), labels)

    nodes = np.arange(300)[:, None]
    model = GivenProbabilities(post.by_class, labels.classes)
    peer = classification.SplitConformalClassifier(
        model, confidence_level=coverage, conformity_score="lac", prefit=True
    )
    peer.conformalize(nodes[held_out.nodes], held_out.values)
    theirs = peer.predict_set(nodes)[1][:, :, 0]

    ours = post.prediction_sets(held_out, coverage)
    free = np.setdiff1d(nodes, ours.known.nodes)
    assert np.array_equal(ours.sets[free], theirs[free])
    assert 0 < ours.sets[free].mean() < 1
