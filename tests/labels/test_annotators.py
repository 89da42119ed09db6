"""Several annotators: rates of mistakes within their intervals, and labels by Bayes' rule."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import graphuq as gq


def simulate(rng, n_items, rates, n_classes, share=0.6):
    """Return the true classes, and votes of annotators who saw a share of the items."""
    truth = rng.integers(n_classes, size=n_items)
    votes = np.full((n_items, len(rates)), None, dtype=object)
    for a, rate in enumerate(rates):
        wrong = rng.random(n_items) < rate
        step = rng.integers(1, n_classes, size=n_items)
        given = np.where(wrong, (truth + step) % n_classes, truth)
        seen = rng.random(n_items) < share
        votes[seen, a] = given[seen]
    return truth, pd.DataFrame(votes, columns=[f"annotator {a}" for a in range(len(rates))])


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_lie_within_their_intervals(n_classes):
    rng = np.random.default_rng(n_classes)
    inside, naive = [], []
    for _ in range(20):
        rates = rng.beta(1, 3, size=5).clip(0.01, 0.45)
        _, votes = simulate(rng, 150, rates, n_classes)
        found = gq.annotator_rates(votes, draws=400, seed=0)
        inside.extend((found["low"] <= rates) & (rates <= found["high"]))
        # against the majority: its own mistakes and the annotator's own vote are in the way
        majority = votes.mode(axis=1)[0]
        for a, name in enumerate(votes):
            own = votes[name].dropna()
            wrong = (own != majority[own.index]).mean()
            error = 1.645 * np.sqrt(max(wrong * (1 - wrong), 1e-9) / own.size)
            naive.append(abs(wrong - rates[a]) <= error)
    error = np.sqrt(0.9 * 0.1 / len(inside))
    assert np.mean(inside) > 0.9 - 3 * error
    assert np.mean(inside) < 0.9 + 3 * error + 1e-9
    assert np.mean(naive) < 0.9 - 5 * error


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rate_of_one_annotator_has_its_density(n_classes):
    rng = np.random.default_rng(n_classes)
    p = rng.dirichlet(np.full(n_classes, 0.4), size=30)
    votes = np.array([rng.choice(n_classes, p=q) for q in 0.8 * p + 0.2 / n_classes])
    e = np.linspace(0, 1 - 1 / n_classes, 20_001)[1:-1]
    right = p[np.arange(30), votes][:, None]
    density = (1 - e) ** 2 * ((1 - e) * right + e / (n_classes - 1) * (1 - right)).prod(axis=0)
    mean = np.average(e, weights=density)
    error = np.sqrt(np.average((e - mean) ** 2, weights=density) / 4000)
    found = gq.annotator_rates(votes[:, None], probabilities=p, draws=4000, seed=0)
    assert abs(found["rate"][0] - mean) < 4 * error
    share = np.cumsum(density) / density.sum()
    ends = np.interp([0.05, 0.95], share, e)
    np.testing.assert_allclose(found.loc[0, ["low", "high"]].astype(float), ends, atol=8 * error)


@pytest.mark.slow
def test_rates_of_annotators_who_share_no_item():
    """Other labels say what the annotators cannot."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(20):
        rates = np.array([0.05, 0.3])
        n = 300
        p = rng.beta(0.3, 0.3, size=n)
        truth = (rng.random(n) < p).astype(int)
        votes = np.full((n, 2), None, dtype=object)
        for a in range(2):
            mine = np.arange(n) % 2 == a
            given = np.where(rng.random(n) < rates[a], 1 - truth, truth)
            votes[mine, a] = given[mine]
        others = np.column_stack([1 - p, p])
        found = gq.annotator_rates(votes, probabilities=others, draws=1000, seed=0)
        inside.extend((found["low"] <= rates) & (rates <= found["high"]))
    # without them the votes say next to nothing: the intervals are nearly those of the prior
    alone = gq.annotator_rates(votes, draws=2000, seed=0)
    assert (alone["high"] - alone["low"]).min() > 0.3
    assert 0.75 <= np.mean(inside) <= 1.0


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_rates_follow_from_predictions_of_the_true_classes():
    """With mistakes in the predictions of labels, rates are too small."""
    X, y = gq.datasets.two_moons(600, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, 8, connect=True), 60)
    inside: dict[bool, list[bool]] = {True: [], False: []}
    rates = np.array([0.1, 0.3])
    for seed in range(6):
        rng = np.random.default_rng(seed)
        nodes = np.sort(rng.choice(600, 300, replace=False))
        who = rng.integers(0, 2, 300)
        given = np.where(rng.random(300) < rates[who], 1 - y[nodes], y[nodes])
        labels = gq.Labels(nodes, given)
        post = gq.approximate(spectrum, gq.NoisyProbit(), labels)
        votes = np.full((300, 2), None, dtype=object)
        votes[np.arange(300), who] = given
        for mistakes, held in inside.items():
            p = post.pred_probs(mistakes=mistakes)
            found = gq.annotator_rates(votes, probabilities=p, draws=500)
            held.extend((found["low"] <= rates) & (rates <= found["high"]))
    least = 0.9 - 3 * math.sqrt(0.9 * 0.1 / 12)
    assert np.mean(inside[False]) > least
    assert np.mean(inside[True]) < least


@pytest.mark.parametrize("n_classes", [2, 3])
def test_annotators_add_up_by_bayes_rule(n_classes):
    rates = np.array([0.1, 0.25, 0.3])
    names = np.array(["ant", "bee", "cow"])[:n_classes]
    votes = list(itertools.product([*range(n_classes), None], repeat=3))
    frame = [[None if v is None else names[v] for v in row] for row in votes]
    labels = gq.Labels.from_annotators(frame, rates)
    kept = dict(zip(labels.nodes.tolist(), range(len(labels)), strict=True))
    for item, row in enumerate(votes):
        p = np.ones(n_classes)
        for vote, rate in zip(row, rates, strict=True):
            if vote is not None:
                p *= np.where(np.arange(n_classes) == vote, 1 - rate, rate / (n_classes - 1))
        p /= p.sum()
        best = np.sort(p)[::-1]
        if best[0] - best[1] < 1e-9:
            assert item not in kept
            continue
        at = kept[item]
        assert labels.values[at] == names[p.argmax()]
        trust = 1.0 if labels.confidence is None else labels.confidence[at]
        assert trust == pytest.approx(p.max())
        agree = len({v for v in row if v is not None}) == 1
        if agree:  # the rest is spread evenly: nothing is lost
            np.testing.assert_allclose(np.delete(p, p.argmax()), (1 - trust) / (n_classes - 1))


def test_rates_by_name_and_in_order_agree():
    _, votes = simulate(np.random.default_rng(1), 30, [0.1, 0.2], 2, share=0.9)
    one = gq.Labels.from_annotators(votes, [0.1, 0.2])
    two = gq.Labels.from_annotators(votes, {"annotator 1": 0.2, "annotator 0": 0.1})
    three = gq.Labels.from_annotators(votes.astype(object), pd.Series([0.1, 0.2], votes.columns))
    table = pd.DataFrame({"low": [0.0, 0.0], "rate": [0.2, 0.1]}, votes.columns[::-1])
    four = gq.Labels.from_annotators(votes, table)
    for other in (two, three, four):
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.confidence, other.confidence)


def test_inferred_rates_find_the_better_annotator():
    truth, votes = simulate(np.random.default_rng(2), 200, [0.05, 0.1, 0.4], 2, share=1.0)
    labels = gq.Labels.from_annotators(votes)
    assert (labels.values == truth[labels.nodes]).mean() > 0.93
    again = gq.Labels.from_annotators(votes)
    np.testing.assert_array_equal(labels.confidence, again.confidence)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ([["a", None], ["b", None]], {}, "annotator 1 labeled nothing"),
        ([["a"], ["a"]], {}, "two classes"),
        ([["a"], ["b"]], {"rates": [0.5]}, r"rates must be a number in \(0, 0.5\).*is chance"),
        ([["a"], ["b"]], {"rates": [0]}, "got 0 for annotator 0: nobody is never wrong"),
        ([["a"], ["b"]], {"rates": [np.nan]}, "got nan for annotator 0: leave rates out"),
        ([["a"], ["b"]], {"rates": [-0.1]}, "got -0.1 for annotator 0$"),
        ([["a", "b"], ["b", "a"]], {"rates": 0.1}, r"the one number 0.1: .*give \[0.1\] \* 2"),
        ([["a"], ["b"]], {"rates": [0.1, 0.1]}, "each of 1 annotators"),
        ([["a"], ["b"]], {"rates": {"x": 0.1}}, "lack 0"),
        ([["a"], ["b"]], {"rates": {0: 0.1, "x": 0.1}}, r"name 'x', who is none of the .* \[0\]"),
        ([["a"], ["b"]], {"rates": pd.Series([0.1, 0.2], [0, 0])}, "each annotator once"),
        ([["a"], ["b"]], {"rates": pd.DataFrame({"error": [0.1]})}, "must have a column 'rate'"),
        ([[0, -1], [1, 1]], {}, "annotator 1 gave item 0 the label -1: .*NaN"),
        ([["a", -1], ["b", "a"]], {}, "annotator 1 gave item 0 the label -1: .*NaN"),
        ([[0, -1.0], [1, 1]], {"classes": [0, 1]}, "annotator 1 gave item 0 the label -1: .*NaN"),
        ([["a", "b"], ["b", "a"]], {"rates": [0.1, 0.1]}, "contradict each other at every item"),
        (["a", "b"], {}, "a table of items and annotators"),
    ],
)
def test_bad_tables_are_refused(frame, options, message):
    with pytest.raises(ValueError, match=message):
        gq.Labels.from_annotators(frame, **options)


def test_minus_one_is_a_class_if_it_is_listed():
    frame = np.array([[1, 1], [-1, -1], [1, np.nan]])
    labels = gq.Labels.from_annotators(frame, [0.1, 0.2], classes=[-1, 1])
    assert labels.values.tolist() == [1, -1, 1]


def test_the_table_of_rates_is_the_default():
    _, votes = simulate(np.random.default_rng(3), 40, [0.1, 0.2, 0.3], 2, share=0.8)
    one = gq.Labels.from_annotators(votes)
    two = gq.Labels.from_annotators(votes, gq.annotator_rates(votes))
    np.testing.assert_array_equal(one.confidence, two.confidence)


@pytest.mark.parametrize(
    ("row", "message"),
    [([0.5, 0.6], "item 1 sums to 1.1: divide"), ([np.nan, 1.0], r"shape \(2, 2\) with NaN")],
)
def test_probabilities_must_sum_to_one(row, message):
    with pytest.raises(ValueError, match=message):
        gq.annotator_rates([["a"], ["b"]], probabilities=[[0.5, 0.5], row])


def test_probabilities_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"probabilities must be of shape \(2, 2\)"):
        gq.annotator_rates([["a"], ["b"]], probabilities=np.ones((3, 2)))
