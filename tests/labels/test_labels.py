import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphuq as gq
from graphuq import Labels, reveal


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_order_of_labels_does_not_matter(data):
    nodes = data.draw(st.lists(st.integers(0, 50), min_size=2, max_size=10, unique=True))
    rest = st.lists(
        st.sampled_from(["no", "yes"]), min_size=len(nodes) - 2, max_size=len(nodes) - 2
    )
    values = ["no", "yes", *data.draw(rest)]
    labels = Labels(nodes, values)
    assert (np.diff(labels.nodes) > 0).all()
    assert dict(zip(labels.nodes, labels.values, strict=True)) == dict(
        zip(nodes, values, strict=True)
    )
    assert (labels.codes == np.where(labels.values == "yes", 1.0, -1.0)).all()


@pytest.mark.parametrize(
    ("low", "high"), [(4, 9), (-1, 1), (0.5, 1.5), ("cat", "dog"), (False, True)]
)
@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda v: np.array(v, dtype=object)])
def test_the_larger_of_any_two_classes_is_coded_plus_one(low, high, form):
    labels = Labels([3, 0, 8], form([high, low, high]))
    assert labels.classes.tolist() == [low, high]
    assert labels.codes.tolist() == [-1, 1, 1]
    assert labels.nodes.tolist() == [0, 3, 8]
    assert len(labels) == 3


def test_a_label_given_twice_counts_once():
    labels = Labels([5, 2, 5], ["b", "a", "b"])
    assert labels.nodes.tolist() == [2, 5]
    assert labels.codes.tolist() == [-1, 1]


MISSING = {
    "None": ["a", "b", None],
    "NaN": [1.0, 2.0, np.nan],
    "NaN among strings": ["a", "b", np.nan],
    "NaN and one string": ["a", "a", np.nan],
    "pandas strings": pd.Series(["a", "b", None]),
    "pandas nullable strings": pd.Series(["a", "b", None], dtype="string"),
    "pandas categories": pd.Series(["a", "b", None], dtype="category"),
    "pandas nullable integers": pd.Series([1, 2, None], dtype="Int64"),
    "a pandas array": pd.array([1, 2, None], dtype="Int64"),
    "a pandas array of booleans": pd.array([False, True, None], dtype="boolean"),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING.keys())
def test_missing_labels_are_refused_by_node(values):
    with pytest.raises(ValueError, match=r"label of node 9 is missing.*leave unlabeled nodes out"):
        Labels([0, 4, 9], values)


@pytest.mark.parametrize(
    "values",
    [["a", 1], [1, "a"], [True, "a"], np.array(["a", 1], dtype=object)],
    ids=["str int", "int str", "bool str", "object"],
)
def test_label_values_of_mixed_types_are_refused(values):
    with pytest.raises(TypeError, match="one type"):
        Labels([0, 1], values)


@pytest.mark.parametrize(
    ("nodes", "values", "error", "message"),
    [
        ([1, 2, 1], [0, 1, 1], ValueError, r"node 1 is labeled twice, as 0 and as 1"),
        ([1, 2], [7, 7], ValueError, r"two classes, got only 7; label a node of another class"),
        ([0, -2], [0, 1], ValueError, r"negative, got -2"),
        ([0.0, 1.0], [0, 1], TypeError, r"integers.*float64"),
        ([False, True], [0, 1], TypeError, r"integers.*bool"),
        (["u", "v"], [0, 1], TypeError, r"integers"),
        ([0, 1, 2], [0, 1], ValueError, r"equal length, got shapes \(3,\) and \(2,\)"),
        ([[0, 1]], [[0, 1]], ValueError, r"two lists"),
        ([], [], ValueError, r"no labels"),
    ],
)
def test_bad_labels_are_refused_with_a_reason(nodes, values, error, message):
    with pytest.raises(error, match=message):
        Labels(nodes, values)


def test_labels_beyond_the_graph_are_refused():
    labels = Labels([0, 7], [0, 1])
    labels.require_within(8)
    with pytest.raises(ValueError, match=r"from 0 to 6, got 7"):
        labels.require_within(7)


Y = np.repeat(["ham", "spam"], [60, 20])


def counts(labels):
    return [int((labels.codes == code).sum()) for code in (-1, 1)]


@pytest.mark.parametrize(
    ("fraction", "expected"), [(0.1, [6, 2]), (0.26, [16, 5]), (0.001, [1, 1]), (1, [60, 20])]
)
def test_revealed_counts_are_the_rounded_fraction_of_each_class(fraction, expected):
    assert counts(reveal(Y, fraction, seed=0)) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(3, [3, 3]), ({"spam": 2, "ham": 5}, [5, 2]), ({"ham": 1, "spam": 20}, [1, 20])],
)
def test_counts_are_respected(asked, expected):
    assert counts(reveal(Y, counts=asked, seed=0)) == expected


def test_counts_may_pick_two_classes_of_many():
    labels = reveal(np.arange(100) % 10, counts={4: 3, 9: 2}, seed=1)
    assert labels.classes.tolist() == [4, 9]
    assert counts(labels) == [3, 2]


@given(seed=st.integers(0, 2**32), fraction=st.floats(0.01, 1))
@settings(max_examples=20, deadline=None)
def test_revealed_labels_are_true_and_distinct(seed, fraction):
    y = np.random.default_rng(5).permutation(Y)
    labels = reveal(y, fraction, seed=seed)
    assert (y[labels.nodes] == labels.values).all()
    assert len(labels) == np.unique(labels.nodes).size == sum(counts(labels))


def test_every_member_of_a_class_may_be_revealed():
    seen = {reveal(Y, counts=1, seed=seed).nodes[1] for seed in range(200)}
    assert seen == set(range(60, 80))


@pytest.mark.parametrize(
    "seed", [7, np.random.SeedSequence(7), np.random.SeedSequence(7).spawn(1)[0]]
)
def test_an_equal_seed_reveals_equal_labels(seed):
    first, second = reveal(Y, 0.3, seed=seed), reveal(Y, 0.3, seed=seed)
    np.testing.assert_array_equal(first.nodes, second.nodes)
    assert (reveal(Y, 0.3, seed=8).nodes != first.nodes).any()


def test_sibling_seeds_reveal_different_labels():
    first, second = (reveal(Y, 0.3, seed=seed) for seed in np.random.SeedSequence(7).spawn(2))
    assert (first.nodes != second.nodes).any()


def test_a_generator_advances():
    rng = np.random.default_rng(7)
    first, second = reveal(Y, 0.3, seed=rng), reveal(Y, 0.3, seed=rng)
    assert (first.nodes != second.nodes).any()
    again = reveal(Y, 0.3, seed=np.random.default_rng(7))
    np.testing.assert_array_equal(first.nodes, again.nodes)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, r"either fraction or counts"),
        ({"fraction": 0.1, "counts": 2}, ValueError, r"either fraction or counts"),
        ({"fraction": 0.0}, ValueError, r"fraction must lie in \(0, 1\], got 0"),
        ({"fraction": 1.5}, ValueError, r"fraction must lie in"),
        ({"fraction": np.nan}, ValueError, r"fraction must be finite"),
        ({"counts": 21}, ValueError, r"count of class 'spam' must be between 0 and 20, got 21"),
        ({"counts": {"egg": 1}}, ValueError, r"y has no class 'egg'; it has"),
        ({"counts": {"ham": 2}}, ValueError, r"two classes, got only"),
        ({"counts": 0}, ValueError, r"counts must be at least 1"),
        ({"counts": 2.5}, TypeError, r"counts must be an integer"),
        ({"counts": 2, "seed": -1}, TypeError, r"seed must be a non-negative int"),
        ({"counts": 2, "seed": "lucky"}, TypeError, r"seed must be a non-negative int"),
    ],
)
def test_bad_requests_are_refused_with_a_reason(arguments, error, message):
    with pytest.raises(error, match=message):
        reveal(Y, **arguments)


def test_many_classes_have_indices_and_indicators_but_no_codes():
    labels = Labels([4, 0, 2, 3], ["c", "a", "b", "c"])
    assert labels.indices.tolist() == [0, 1, 2, 2]
    Y = labels.indicators(6)
    assert Y.shape == (6, 3)
    assert Y.sum(axis=1).tolist() == [1, 0, 1, 1, 1, 0]
    assert (labels.classes[Y[labels.nodes].argmax(axis=1)] == labels.values).all()
    with pytest.raises(ValueError, match=r"two classes are needed here, got 3: \['a', 'b', 'c'\]"):
        _ = labels.codes


@pytest.mark.parametrize(
    "y",
    [
        [-1, 3, -1, 5],
        np.array([-1.0, 3.0, -1.0, 5.0]),
        [None, 3, None, 5],
        [np.nan, 3.0, -1, 5.0],
        pd.Series([-1, 3, -1, 5]),
        pd.Series([pd.NA, 3, pd.NA, 5], dtype="Int64"),
    ],
    ids=["-1", "float", "None", "NaN", "series", "NA"],
)
def test_labels_in_the_way_of_scikit_learn(y):
    labels = Labels.of(y, 4)
    assert labels.nodes.tolist() == [1, 3]
    assert labels.values.tolist() == [3, 5]


def test_words_with_gaps_are_labels():
    labels = Labels.of(["ham", None, "spam", -1], 4)
    assert labels.nodes.tolist() == [0, 2]
    assert labels.classes.tolist() == ["ham", "spam"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, 3, 5], r"each of 4 nodes, -1 for an unlabeled node, got shape \(3,\)"),
        ([1, -1, -1, 1], r"two classes besides -1, which marks unlabeled nodes, got \['1'\]"),
        ([-1] * 4, r"two classes besides -1.*got \[\]"),
        (Labels([0, 9], [0, 1]), r"got 9"),
    ],
)
def test_labels_of_nodes_that_are_not_there_or_of_one_class_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Labels.of(y, 4)


def test_truth_must_be_a_list():
    with pytest.raises(ValueError, match=r"one-dimensional, got shape \(40, 2\)"):
        reveal(Y.reshape(40, 2), 0.1)


@pytest.mark.parametrize("scalar", [np.int64, np.float64, np.bool_, np.str_])
def test_lists_of_numpy_scalars_are_values(scalar):
    labels = Labels([0, 1], [scalar(0), scalar(1)])
    assert labels.classes.size == 2
    Labels([0, 1], np.array([scalar(0), scalar(1)], dtype=object))


def test_numpy_and_python_integers_go_together():
    assert Labels([0, 1], [np.int64(0), 1]).classes.tolist() == [0, 1]


@given(n=st.integers(4, 40), share=st.floats(0.1, 0.9), seed=st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_a_split_is_a_partition(n, share, seed):
    labels = gq.Labels(3 * np.arange(n), [0, 1] * (n // 2) + [0] * (n % 2))
    try:
        given, held_out = labels.split(share, seed=seed)
    except ValueError as error:
        assert "does not show two classes" in str(error)  # noqa: PT017
        return
    assert len(held_out) == round(share * n)
    nodes = np.concatenate([given.nodes, held_out.nodes])
    assert np.sort(nodes).tolist() == labels.nodes.tolist()
    values = np.concatenate([given.values, held_out.values])
    assert values[np.argsort(nodes)].tolist() == labels.values.tolist()
    again = labels.split(share, seed=seed)[1]
    assert again.nodes.tolist() == held_out.nodes.tolist()


def test_every_label_is_held_out_as_often():
    labels = gq.Labels(np.arange(24), ["a", "b"] * 12)
    times = np.zeros(24)
    for seed in range(1000):
        times[labels.split(0.5, seed=seed)[1].nodes] += 1
    assert abs(times / 1000 - 0.5).max() < 4 * np.sqrt(0.25 / 1000)
    assert times.sum() == 12_000


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5])
def test_shares_outside_are_refused(share):
    with pytest.raises(ValueError, match=r"held_out must lie in \(0, 1\)"):
        gq.Labels([0, 1], [0, 1]).split(share)


def test_parts_of_one_class_are_refused():
    with pytest.raises(ValueError, match="one part of 3 labels does not show two classes"):
        gq.Labels([0, 1, 2], [0, 1, 1]).split(0.5, seed=0)


def test_classes_may_be_listed_that_no_label_shows():
    labels = gq.Labels([3, 1], ["b", "a"], classes=["c", "b", "a"])
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.indices.tolist() == [0, 1]
    assert labels.indicators(4).sum(axis=0).tolist() == [1, 1, 0]
    one = gq.Labels([3, 1], ["b", "b"], classes=["a", "b"])
    assert one.codes.tolist() == [1, 1]
    given, kept = gq.Labels(range(10), ["a", "b"] * 5, classes=list("abc")).split(seed=0)
    assert given.classes.tolist() == kept.classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"], "at least two distinct"),
        (["a", "a"], "at least two distinct"),
        (["a", "c"], "'b', which is not one of the classes"),
        ([["a", "b"]], "at least two distinct"),
    ],
)
def test_lists_of_classes_that_do_not_fit_are_refused(classes, message):
    with pytest.raises(ValueError, match=message):
        gq.Labels([3, 1], ["b", "a"], classes=classes)


def test_labels_of_some_classes():
    labels = gq.Labels(range(6), ["a", "b", "c"] * 2)
    assert labels.of_classes("a", "c").nodes.tolist() == [0, 2, 3, 5]
    with pytest.raises(ValueError, match="there are no labels of"):
        labels.of_classes("x", "y")
    with pytest.raises(ValueError, match="at least two distinct"):
        labels.of_classes("a")
    for wrong in (("a", "x"), (["a", "b"],)):
        with pytest.raises(ValueError, match="there are no labels of"):
            labels.of_classes(*wrong)


@pytest.mark.parametrize("mark", ["-1", "nan", "", "None"])
def test_text_that_numpy_made_from_a_missing_label_is_not_a_class(mark):
    y = np.array(["a", "b", "c", mark, "a"])
    with pytest.raises(ValueError, match="among its classes: for an unlabeled node"):
        Labels.of(y, 5)
    assert len(Labels.of(["a", "b", "c", -1, None], 5)) == 3
    assert mark in Labels([0, 1], ["a", mark]).classes


def test_an_array_may_show_one_of_the_classes_that_there_are():
    labels = Labels.of([-1, 2, 2, -1], 4, classes=[1, 2, 3])
    assert labels.classes.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="at least two classes besides"):
        Labels.of([-1, 2, 2, -1], 4)


def test_classes_may_be_a_set_and_not_missing():
    labels = Labels([0, 1], ["a", "b"], classes={"a", "b", "c"})
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert Labels([0], ["a"], classes={"a": 1, "b": 2}.keys()).classes.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="one of the classes is missing"):
        Labels([0, 1], [1.0, 2.0], classes=[1.0, 2.0, np.nan])
    with pytest.raises(TypeError, match="classes must be of one type"):
        Labels([0, 1], ["a", "b"], classes=["a", "b", 1])


def test_a_truth_in_another_order_is_refused_and_names_are_not():
    labels = gq.Labels([0, 1], [0, 1])
    truth = pd.Series([0, 1, 1, 1, 0])
    prediction = [0, 1, 1, 1, 1]
    assert labels.accuracy(prediction, truth) == 2 / 3
    assert labels.accuracy(prediction, truth.set_axis(list("abcde"))) == 2 / 3
    with pytest.raises(ValueError, match="index has the nodes in another order"):
        labels.accuracy(prediction, truth[::-1])


def test_numbers_that_measure_are_no_classes():
    with pytest.raises(ValueError, match=r"continuous numbers such as 0\.25, each"):
        gq.Labels(range(12), np.arange(1, 13) / 4)
    assert gq.Labels(range(24), np.repeat(np.arange(1, 13) / 4, 2)).classes.size == 12
    assert gq.Labels([0, 1], [0.0, 1.0]).classes.tolist() == [0.0, 1.0]
    assert gq.Labels([0, 1], [0.5, 1.0], classes=[0.5, 1.0]).classes.size == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({0: "a", 3: "b"},), r"need the graph .*gq\.Labels\(\{name: class, \.\.\.\}, graph\)"),
        (([0, 1, -1, 0],), r"gq\.Labels\.of\(y, n_nodes\)"),
        ((["x", "y"], ["a", "b"]), r"by name, label them with gq\.Labels\(\{name: class"),
    ],
)
def test_other_ways_to_give_labels_are_named(arguments, words):
    with pytest.raises(TypeError, match=words):
        gq.Labels(*arguments)
