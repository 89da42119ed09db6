"""The comparison with other packages: what it scores, what it hides, and what it claims."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys

import numpy as np
import pytest

import graphuq as gq
from benchmarks.trust import side_by_side
from benchmarks.trust.peers import METHODS, OURS, PARTS, ours, with_sklearn
from benchmarks.trust.peers.data_sets import SETS, at_random, some_of_each, table
from benchmarks.trust.peers.scores import equal_bins, likeliest, score
from benchmarks.trust.peers.task import Answer, SkippedError, Task
from benchmarks.trust.peers.tuning import folds


@pytest.fixture(scope="module")
def task():
    problem = table("iris")
    return Task(problem, some_of_each(problem, 5, seed=0), 0)


def test_bins_on_the_unit_interval():
    # confidences 0.72 and 0.78 share a bin of ten, and are apart in fifteen: 0.72 < 11/15 < 0.78
    p = np.array([[0.72, 0.28], [0.78, 0.22]])
    truth = np.array([0, 1])
    assert equal_bins(p, truth, 10) == pytest.approx(abs(1 - 0.72 - 0.78) / 2)
    assert equal_bins(p, truth, 15) == pytest.approx(((1 - 0.72) + 0.78) / 2)
    assert equal_bins(np.array([[1.0, 0.0]]), np.array([0]), 10) == 0


def test_the_likeliest_classes_add_up_to_the_coverage():
    p = np.array([[0.05, 0.6, 0.35], [0.95, 0.03, 0.02], [0.4, 0.1, 0.5]])
    assert likeliest(p, 0.9).tolist() == [
        [False, True, True],
        [True, False, False],
        [True, False, True],
    ]


def test_scores_count_the_nodes_asked_for(task):
    K = task.problem.n_classes
    right = np.eye(K)[task.problem.y]
    right[0] = np.roll(right[0], 1)
    nodes = np.arange(1, 11)
    perfect = score(Answer(right), task, nodes)
    assert perfect["accuracy"] == perfect["coverage"] == perfect["set size"] == 1
    assert perfect["log score"] == 0
    assert score(Answer(right), task, np.arange(10))["accuracy"] == 0.9
    assert score(Answer(prediction=task.problem.y), task, nodes) == {"accuracy": 1.0}


@pytest.mark.slow
def test_the_default_is_that_of_the_estimator(task):
    known = np.full(len(task.problem.y), -1)
    known[task.labels.nodes] = task.labels.values
    model = gq.BayesianGraphClassifier(method="approximate").fit(task.problem.X, known)
    np.testing.assert_allclose(
        ours.default(task).probabilities, model.posterior_.by_class, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:max_iter")  # label spreading may stop early
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(ours.default, marks=pytest.mark.slow),
        with_sklearn.label_spreading,
        with_sklearn.logistic_regression,
    ],
    ids=lambda method: method.__name__,
)
def test_methods_do_not_see_the_truth_of_unlabeled_nodes(method, task):
    hidden = np.delete(np.arange(len(task.problem.y)), task.labels.nodes)
    y = task.problem.y.copy()
    y[hidden] = np.random.default_rng(0).permutation(y[hidden])
    blind = dataclasses.replace(task, problem=dataclasses.replace(task.problem, y=y))
    np.testing.assert_array_equal(method(task).probabilities, method(blind).probabilities)


def test_folds_part_the_labels(task):
    parts = list(folds(task))
    left = np.concatenate([fold.nodes for _, fold in parts])
    assert sorted(left) == task.labels.nodes.tolist()
    for kept, fold in parts:
        assert not np.intersect1d(kept.nodes, fold.nodes).size
        assert np.unique(kept.values).size == task.problem.n_classes


def test_labels_at_random_show_shares_and_every_class():
    try:
        problem = table("ecoli")  # two classes have two items each
    except FileNotFoundError as error:
        pytest.skip(f"needs ecoli.npz: {error}")
    drawn = np.mean([np.bincount(at_random(problem, seed).values) for seed in range(200)], axis=0)
    share = np.bincount(problem.y) / len(problem.y)
    assert (drawn >= 1).all()
    large = share > 0.2
    np.testing.assert_allclose(drawn[large], 0.04 * len(problem.y) * share[large], rtol=0.1)


def test_labels_of_each_class_leave_something_to_predict():
    problem = table("iris")
    assert np.bincount(some_of_each(problem, 20, seed=0).values).tolist() == [20, 20, 20]
    assert some_of_each(problem, 80, seed=0) is None


def cell(default, graph, features):
    rows = zip((OURS, *PARTS), (default, graph, features), strict=True)
    return {method: [{"log score": x} for x in scores] for method, scores in rows}


def test_a_default_is_worse_only_beyond_two_standard_errors():
    part, poor = [0.30, 0.34, 0.32], [0.6, 0.6, 0.6]
    assert side_by_side.is_worse(cell([0.40, 0.45, 0.42], part, poor))
    assert side_by_side.is_worse(cell([0.40, 0.45, 0.42], poor, part))
    assert not side_by_side.is_worse(cell(part, part, poor))
    assert not side_by_side.is_worse(cell([0.30, 0.44, 0.32], part, poor))
    assert side_by_side.is_worse(cell([0.3], [0.2], [0.2])) is None


def test_too_few_labels_to_calibrate_with_are_skipped(task):
    # 0.9 coverage takes nine held-out labels, and 15 have eight in their half
    with pytest.raises(SkippedError, match="too few labels"):
        ours.conformal(task)


def run(monkeypatch, out, *options):
    arguments = ["side_by_side", "--quick", "--jobs", "1", "--out", str(out), *options]
    monkeypatch.setattr(sys, "argv", arguments)
    with contextlib.suppress(SystemExit):  # a claim may fail on so small a set
        side_by_side.main()
    return json.loads((out / "side_by_side.json").read_text())["rows"]


@pytest.mark.slow
def test_a_small_run_reports_absent_failed_and_skipped_methods(tmp_path, monkeypatch):
    def absent(task):
        raise ImportError("No module named 'elsewhere'")

    def broken(task):
        raise RuntimeError("it does not converge")

    some = {name: METHODS[name] for name in (OURS, *PARTS, "logistic regression")}
    monkeypatch.setattr(side_by_side, "METHODS", {**some, "A": absent, "B": broken})
    monkeypatch.setattr(side_by_side, "QUICK", ("iris",))
    run(monkeypatch, tmp_path)

    record = json.loads((tmp_path / "side_by_side.json").read_text())
    assert {row["labels"] for row in record["rows"]} == set(side_by_side.QUICK_LABELS)
    assert len(record["rows"]) == 2 * 2 * 6
    page = (tmp_path / "side_by_side.md").read_text()
    assert "absent: A: **No module named 'elsewhere'**" in page
    assert "failed: B: **RuntimeError: it does not converge**" in page
    assert "| absent | failed |" in page
    assert any("than that of logistic regression" in claim for claim in record["claims"])


def test_a_run_that_was_stopped_resumes(tmp_path, monkeypatch):
    made = []

    def stopped(name, draw, quick):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append((name, draw))
        return [{"data": name, "labels": "5 a class", "given": 3, "draw": draw, "method": OURS,
                 "log score": draw}]  # fmt: skip

    monkeypatch.setattr(side_by_side, "one_draw", stopped)
    monkeypatch.setattr(side_by_side, "METHODS", {OURS: METHODS[OURS]})
    monkeypatch.setattr(side_by_side, "QUICK", ("iris", "wine"))
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, tmp_path)
    made.pop(0)
    rows = run(monkeypatch, tmp_path, "--resume")
    assert made == [("iris", 1), ("wine", 0), ("wine", 1)]
    assert [(row["data"], row["draw"]) for row in rows] == [("iris", 0), *made]
    made.clear()
    with pytest.raises(KeyboardInterrupt):  # without --resume all is made anew
        run(monkeypatch, tmp_path)


@pytest.mark.slow
def test_a_set_whose_package_is_absent_is_reported(tmp_path, monkeypatch):
    def absent():
        raise ImportError("No module named 'cells'")

    monkeypatch.setitem(SETS, "cells", absent)
    monkeypatch.setattr(side_by_side, "METHODS", {name: METHODS[name] for name in (OURS, *PARTS)})
    monkeypatch.setattr(side_by_side, "QUICK", ("cells", "iris"))
    rows = run(monkeypatch, tmp_path)
    assert {row["data"] for row in rows if "method" in row} == {"iris"}
    assert (
        "absent: cells: **No module named 'cells'**" in (tmp_path / "side_by_side.md").read_text()
    )
