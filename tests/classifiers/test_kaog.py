"""KAOG and MKAOG against a slow, exact implementation of Algorithms 1 and 2."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

from graphuq import KAssociatedOptimalGraph
from graphuq.classifiers.kaog import MERGES, Nearest, associated_graphs


def ranking(points, x, itself=None):
    """Return all points in order of distance from x; ties are broken by position."""
    others = [i for i in range(len(points)) if i != itself]
    return sorted(
        others, key=lambda i: sum((a - b) ** 2 for a, b in zip(points[i], x, strict=True))
    )


def reference(points, classes, merge, mistake=None):
    """Return the optimal graph as {vertices: (purity, K)}; points have whole coordinates."""
    n = len(points)
    order = [ranking(points, points[i], i) for i in range(n)]
    if mistake == "ties by later row":
        order = [[n - 1 - j for j in ranking(points[::-1], points[i], n - 1 - i)] for i in range(n)]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    components = nx.weakly_connected_components
    if mistake == "strong components":
        components = nx.strongly_connected_components
    optimal, rate = {}, None
    for K in range(1, n):
        graph.add_edges_from((i, order[i][K - 1]) for i in range(n)
                             if classes[i] == classes[order[i][K - 1]])  # fmt: skip
        before, rate = rate, Fraction(graph.number_of_edges(), K)
        stop = K > 1 and rate < before
        if stop and mistake == "last merges dropped":
            break
        for whole in map(frozenset, components(graph)):
            purity = Fraction(graph.subgraph(whole).number_of_edges(), len(whole) * K)
            parts = [part for part in optimal if part <= whole]
            phis = [optimal[part][0] for part in parts]
            weights = [len(part) if mistake == "weighted mean" else 1 for part in parts]
            if not parts:
                required = 0
            elif merge == "strict":
                required = max(phis)
            else:
                required = sum(p * w for p, w in zip(phis, weights, strict=True)) / sum(weights)
            if purity >= required:
                for part in parts:
                    del optimal[part]
                optimal[whole] = purity, K
        if stop:
            break
    return optimal


def reference_probability(points, classes, optimal, x):
    order = ranking(points, x)
    scores = dict.fromkeys(sorted(set(classes)), Fraction(0))
    for vertices, (purity, K) in optimal.items():
        claimed = len(vertices.intersection(order[:K]))
        scores[classes[min(vertices)]] += purity * Fraction(claimed, K)
    if not any(scores.values()):
        scores[classes[order[0]]] = Fraction(1)
    return [float(score / sum(scores.values())) for score in scores.values()]


def found(model):
    """The optimal graph of a fitted model, in the form of the reference."""
    return {
        frozenset(np.flatnonzero(model.components_ == a).tolist()): (
            Fraction(phi).limit_denominator(10**4),
            int(K),
        )
        for a, (phi, K) in enumerate(zip(model.purities_, model.n_neighbors_, strict=True))
    }


@st.composite
def grids(draw, max_items=14):
    """Items on a small grid, so that ties and duplicates abound, in two or three classes."""
    n = draw(st.integers(3, max_items))
    width = draw(st.integers(1, 2))
    side = st.integers(0, draw(st.sampled_from([2, 6, 40])))
    points = draw(st.lists(st.tuples(*[side] * width), min_size=n, max_size=n))
    classes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    assume(len(set(classes)) > 1)
    return points, classes


def clumps(n=60, n_classes=3, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.standard_normal((n, 2)) * spread + 3.0 * y[:, None], y


@pytest.mark.parametrize("merge", MERGES)
@given(grid=grids(), x=st.tuples(st.integers(0, 6), st.integers(0, 6)))
@settings(max_examples=50, deadline=None)
def test_both_phases_follow_the_papers_to_the_letter(merge, grid, x):
    points, classes = grid
    expected = reference(points, classes, merge)
    model = KAssociatedOptimalGraph(merge).fit(points, classes)
    assert found(model) == expected
    x = x[: len(points[0])]
    np.testing.assert_allclose(
        model.predict_proba([x])[0],
        reference_probability(points, classes, expected, x),
        atol=1e-12,
    )


@given(grid=grids())
@settings(max_examples=50, deadline=None)
def test_ties_are_ties_although_tenths_are_rounded(grid):
    points, classes = grid
    tenths = np.array(points) / 10 + 0.7
    assert found(KAssociatedOptimalGraph("mean").fit(tenths, classes)) == found(
        KAssociatedOptimalGraph("mean").fit(points, classes)
    )


# (mistake, points on a line, classes, merge): each mistake shows on its data
PITFALLS = [
    ("strong components", [1, 11, 16, 25], [1, 1, 1, 0], "strict"),
    ("last merges dropped", [8, 9, 13, 15, 15], [0, 1, 1, 0, 0], "strict"),
    ("ties by later row", [6, 16, 16, 16], [1, 1, 0, 0], "strict"),
    ("weighted mean", [7, 13, 25, 25], [1, 0, 1, 1], "mean"),
]


@pytest.mark.parametrize(("mistake", "line", "classes", "merge"), PITFALLS)
def test_none_of_the_known_mistakes_is_made(mistake, line, classes, merge):
    points = [(x,) for x in line]
    right, wrong = (reference(points, classes, merge, m) for m in (None, mistake))
    assert right.keys() != wrong.keys()
    assert found(KAssociatedOptimalGraph(merge).fit(points, classes)) == right


@given(grid=grids(30))
@settings(max_examples=50, deadline=None)
def test_the_last_graph_has_one_component_for_each_class(grid):
    points, classes = grid
    n, codes = len(points), np.array(classes)
    *_, last = associated_graphs(np.array(points, dtype=float), codes)
    assert n == last.K + 1
    for component, purity in enumerate(last.purities):
        (value,) = set(codes[last.component == component])
        assert purity == ((codes == value).sum() - 1) / (n - 1)
    assert last.purities.size == np.unique(codes).size


@given(grid=grids(30))
@settings(max_examples=50, deadline=None)
def test_components_are_of_one_class_and_purities_are_shares(grid):
    points, classes = grid
    for merge in MERGES:
        model = KAssociatedOptimalGraph(merge).fit(points, classes)
        assert (model.component_classes_[model.components_] == classes).all()
        assert ((model.purities_ >= 0) & (model.purities_ <= 1)).all()
        assert ((model.purities_ == 0) == (np.bincount(model.components_) == 1)).all()
        assert ((model.n_neighbors_ >= 1) & (model.n_neighbors_ < len(points))).all()


@given(grid=grids(40))
@settings(max_examples=50, deadline=None)
def test_mkaog_only_joins_components_of_kaog(grid):
    # so it never has more components, with or without isolated items
    strict, mean = (KAssociatedOptimalGraph(merge).fit(*grid).components_ for merge in MERGES)
    pairs = np.unique(np.stack([strict, mean]), axis=1)
    assert pairs.shape[1] == strict.max() + 1 >= mean.max() + 1
    assert (np.bincount(strict) > 1).sum() >= (np.bincount(mean) > 1).sum()


def test_mkaog_has_fewer_components_where_classes_overlap():
    X, y = clumps(300, spread=1.5)
    strict, mean = (KAssociatedOptimalGraph(merge).fit(X, y).purities_.size for merge in MERGES)
    assert mean < 0.7 * strict


@pytest.mark.parametrize("merge", MERGES)
def test_classes_far_apart_are_one_pure_component_each(merge):
    X, y = clumps(spread=0.01)
    model = KAssociatedOptimalGraph(merge).fit(X, y)
    np.testing.assert_array_equal(model.components_, y)
    np.testing.assert_array_equal(model.purities_, 1)
    np.testing.assert_array_equal(model.n_neighbors_, 19)
    np.testing.assert_array_equal(model.predict_proba(X), np.eye(3)[y])


@pytest.mark.parametrize("merge", MERGES)
def test_neither_order_nor_units_of_the_items_matter(merge):
    X, y = clumps(150, spread=1.5, seed=1)
    new = clumps(50, spread=1.5, seed=2)[0]
    order = np.random.default_rng(3).permutation(150)
    expected = KAssociatedOptimalGraph(merge).fit(X, y).predict_proba(new)
    moved = KAssociatedOptimalGraph(merge).fit(1e3 * X[order] - 7, y[order])
    np.testing.assert_allclose(moved.predict_proba(1e3 * new - 7), expected, atol=1e-12)


def test_an_isolated_item_claims_only_what_nothing_else_does():
    X = [[0.0], [1.0], [2.0], [3.0], [20.0], [30.0], [31.0]]
    y = ["a", "a", "a", "a", "b", "a", "a"]
    model = KAssociatedOptimalGraph().fit(X, y)
    assert model.purities_[model.components_[4]] == 0
    assert model.predict([[19.0]]) == ["b"]
    np.testing.assert_array_equal(model.predict_proba([[19.0], [30.4]]), [[0, 1], [1, 0]])


def test_identical_items_of_two_classes_share_their_place():
    model = KAssociatedOptimalGraph().fit([[1.0]] * 6 + [[5.0]], [0, 0, 0, 1, 1, 1, 1])
    probability = model.predict_proba([[1.0]])
    assert 0 < probability[0, 0] <= 1
    np.testing.assert_allclose(probability.sum(), 1)


@given(
    points=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60),
    K=st.integers(1, 6),
    seed=st.integers(0, 99),
)
@settings(max_examples=50, deadline=None)
def test_neighbors_are_those_of_a_full_sort(points, K, seed):
    K = min(K, len(points) - 1)
    nearest = Nearest(np.array(points, dtype=float))
    expected = [ranking(points, p, i)[:K] for i, p in enumerate(points)]
    np.testing.assert_array_equal(nearest.rows(K), expected)
    queries = np.random.default_rng(seed).integers(0, 4, (5, 2))
    expected = [ranking(points, q)[:K] for q in queries.tolist()]
    np.testing.assert_array_equal(nearest.rows(K, queries.astype(float)), expected)


def test_neighbors_are_those_of_a_full_sort_although_most_items_are_duplicates():
    rng = np.random.default_rng(4)
    X = rng.permutation(np.repeat([[0.0], [1.0], [5.0]], [150, 140, 4], axis=0))
    points = X.astype(int).tolist()
    expected = [ranking(points, p, i)[:5] for i, p in enumerate(points)]
    np.testing.assert_array_equal(Nearest(X).rows(5), expected)
    np.testing.assert_array_equal(
        Nearest(X).rows(6, X[:9]), [ranking(points, p)[:6] for p in points[:9]]
    )


def test_parts_of_equal_purity_may_join_to_a_whole_of_the_same():
    model = KAssociatedOptimalGraph("mean")
    for purity, n_parts in itertools.product(np.arange(1, 40) / 40, range(2, 8)):
        whole = np.zeros(n_parts, dtype=int)
        assert model._required(np.full(n_parts, purity), whole, 1) <= purity


def test_only_the_mean_merges_the_four_components_of_figures_1_and_2():
    purities, one_whole = np.array([1, 0.88, 0.88, 0.88]), np.zeros(4, dtype=int)
    required = {m: KAssociatedOptimalGraph(m)._required(purities, one_whole, 1) for m in MERGES}
    assert required["mean"] < 0.93 < required["strict"]


@given(grid=grids(), K=st.integers(1, 13), x=st.tuples(st.integers(0, 6), st.integers(0, 6)))
@settings(max_examples=50, deadline=None)
def test_with_a_given_number_of_neighbors_there_is_the_graph_of_algorithm_1(grid, K, x):
    points, classes = grid
    n, K = len(points), min(K, len(points) - 1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((i, j) for i in range(n) for j in ranking(points, points[i], i)[:K]
                         if classes[i] == classes[j])  # fmt: skip
    expected = {}
    for whole in map(frozenset, nx.weakly_connected_components(graph)):
        degree = Fraction(sum(graph.degree(i) for i in whole), len(whole))  # eq. (1)
        expected[whole] = degree / (2 * K), K  # eq. (2)
    model = KAssociatedOptimalGraph(n_neighbors=K).fit(points, classes)
    assert found(model) == expected
    x = x[: len(points[0])]
    np.testing.assert_allclose(
        model.predict_proba([x])[0],
        reference_probability(points, classes, expected, x),
        atol=1e-12,
    )


@pytest.mark.parametrize("options", [{"merge": "strict"}, {"merge": "mean"}, {"n_neighbors": 1}])
def test_scikit_learn_accepts_it(options):
    check_estimator(KAssociatedOptimalGraph(**options), on_skip=None)


GOOD = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (GOOD[0], [1, 1, 1, 1], ValueError, "two classes, got only 1; label a node of another"),
        (GOOD[0], [0, 1, 1], ValueError, r"inconsistent numbers of samples: \[4, 3\]"),
        (GOOD[0], [0.1, 0.2, 0.3, 0.4], ValueError, "Unknown label type: continuous"),
        (GOOD[0], [0, 1, np.nan, 1], ValueError, "y contains NaN"),
        (GOOD[0], ["a", "b", None, "b"], ValueError, "label of node 2 is missing"),
        (
            GOOD[0],
            np.array(["a", 1, 1, "a"], dtype=object),
            TypeError,
            "must be of one type, got int, str",
        ),
        (GOOD[0], None, ValueError, "requires y to be passed"),
        (GOOD[0] * np.nan, GOOD[1], ValueError, "X contains NaN"),
        (GOOD[0] * 1e120, GOOD[1], ValueError, "squares overflow: rescale it"),
        (GOOD[0][:1], GOOD[1][:1], ValueError, "minimum of 2 is required"),
        (GOOD[0][:, 0], GOOD[1], ValueError, "Expected 2D array, got 1D array"),
        (np.array([["a"]] * 4), GOOD[1], ValueError, "could not convert string"),
    ],
)
def test_bad_items_are_refused_with_a_reason(X, y, error, message):
    with pytest.raises(error, match=message):
        KAssociatedOptimalGraph().fit(X, y)


def test_an_unknown_merge_is_refused():
    with pytest.raises(ValueError, match="merge must be one of 'strict', 'mean', got 'median'"):
        KAssociatedOptimalGraph("median").fit(*GOOD)


@pytest.mark.parametrize("K", [0, 4, 2.5])
def test_a_number_of_neighbors_that_cannot_be_is_refused(K):
    with pytest.raises((TypeError, ValueError), match="n_neighbors must be"):
        KAssociatedOptimalGraph(n_neighbors=K).fit(*GOOD)


def test_new_items_must_be_like_the_training_items():
    model = KAssociatedOptimalGraph().fit(*GOOD)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="squares overflow"):
        model.predict_proba([[1e120, 0.0]])


def test_work_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e3)
    with pytest.raises(MemoryError, match=r"9 neighbors of 60 items.*use fewer items"):
        KAssociatedOptimalGraph().fit(*clumps())
