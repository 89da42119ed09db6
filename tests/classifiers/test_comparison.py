from __future__ import annotations

import re

import numpy as np
import pytest

import graphuq as gq
from graphuq.classifiers import comparison


@pytest.fixture(scope="module")
def problem():
    X, y = gq.datasets.two_moons(120, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    return graph, gq.reveal(y, counts=4, seed=0), y


def test_the_table_holds_what_each_method_gives_by_itself(problem):
    graph, labels, y = problem
    prior = gq.Prior.projected(graph, 20)
    model = gq.Probit(0.3)
    table = gq.compare(
        graph, labels, y, [gq.LaplaceLearning(), gq.FiedlerClustering(), (prior, model)], seed=4
    )
    tail = "Probit(gamma=0.3) under Prior.projected(120 nodes, rank 20)"
    assert table.index.tolist() == [
        "LaplaceLearning()", "FiedlerClustering()", f"posterior of {tail}",
        f"approximation of {tail}", f"MAP of {tail}"
    ]  # fmt: skip
    assert table.columns.tolist() == ["accuracy", "brier", "calibration_error", "seconds"]
    laplace = gq.LaplaceLearning().fit(graph, labels)
    fiedler = gq.FiedlerClustering().fit(graph, labels)
    post = gq.sample(prior, model, labels, seed=4, progress=False)
    quick = gq.approximate(prior, model, labels)
    mode = gq.map_estimate(prior, model, labels)
    assert table["accuracy"].tolist() == [
        method.accuracy(y) for method in (laplace, fiedler, post, quick, mode)
    ]
    hidden = np.setdiff1d(np.arange(120), labels.nodes)
    for name, p in (
        ("LaplaceLearning()", laplace.predict_proba()),
        (f"posterior of {tail}", np.column_stack([1 - post.probability, post.probability])),
        (f"approximation of {tail}", np.column_stack([1 - quick.probability, quick.probability])),
        (f"MAP of {tail}", np.column_stack([1 - mode.probability, mode.probability])),
    ):
        row = table.loc[name]
        assert row["brier"] == gq.brier_score(p[hidden], y[hidden], [0, 1])
        assert row["calibration_error"] == gq.expected_calibration_error(
            p[hidden], y[hidden], [0, 1]
        )
    assert table.loc["FiedlerClustering()", ["brier", "calibration_error"]].isna().all()
    assert (table["seconds"] > 0).all()


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_models_without_a_map_or_without_probabilities_have_the_rest(problem):
    graph, labels, y = problem
    prior = gq.Prior.projected(graph, 10)
    table = gq.compare(
        graph, labels, y, [(prior, gq.LevelSet(0.5)), (prior, gq.GinzburgLandau(10.0, 0.6))]
    )
    kinds = [name.split()[0] for name in table.index]
    assert kinds == ["posterior", "approximation", "posterior", "MAP"]
    assert table["brier"].isna().tolist() == [False, False, False, True]


def test_what_a_pair_leaves_open_is_chosen_by_the_labels(problem):
    graph, labels, y = problem
    table = gq.compare(graph, labels, y, {"chosen": (graph, gq.Probit())})
    quick = gq.approximate(graph, gq.Probit(), labels)
    assert table.loc["approximation of chosen", "accuracy"] == quick.accuracy(y)


def test_one_seed_gives_one_table(problem):
    graph, labels, y = problem
    first, second = (gq.compare(graph, labels, y, seed=1).drop(columns="seconds") for _ in range(2))
    assert first.equals(second)
    assert len(first) == 7


def test_many_classes_and_labels_in_the_way_of_scikit_learn():
    X = np.random.default_rng(0).standard_normal((90, 2)) + 5 * np.repeat(np.eye(3), 30, 0)[:, :2]
    y = np.repeat(["a", "b", "c"], 30)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    labels = gq.reveal(y, counts=3, seed=0)
    given = np.full(90, None)
    given[labels.nodes] = labels.values
    table = gq.compare(graph.adjacency, given, y)
    assert table.index[:3].tolist() == ["LaplaceLearning()", "PageRankSSL()", "RobustGC()"]
    assert re.match(r"posterior of Probit.* under Prior\.projected", table.index[3])
    assert table.index[4].startswith("approximation of Probit")
    assert table.index[5].startswith("MAP of Probit")
    assert len(table) == 6
    assert (table["accuracy"].iloc[[0, 3, 4, 5]] > 0.9).all()


def test_fitting_leaves_the_users_classifiers_alone(problem):
    graph, labels, y = problem
    mine = gq.LaplaceLearning()
    gq.compare(graph, labels, y, [mine])
    assert not hasattr(mine, "classes_")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"truth": [0, 1]}, ValueError, r"truth must have shape \(120,\)"),
        ({"truth": np.full(120, 7)}, ValueError, r"none of the classes"),
        ({"methods": ["laplace"]}, TypeError, r"a method is a classifier .* got 'laplace'"),
        ({"methods": [gq.LaplaceLearning]}, TypeError, r"a method is a classifier"),
        (
            {"methods": [gq.LaplaceLearning()] * 2},
            ValueError,
            r"duplicate method Laplace",
        ),
        ({"methods": []}, ValueError, r"no methods"),
        ({"methods": gq.LaplaceLearning()}, TypeError, r"methods must be a list"),
        ({"labels": np.zeros(120)}, ValueError, r"at least two classes"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_input_is_refused_before_any_work(problem, monkeypatch, change, error, message):
    graph, labels, y = problem
    monkeypatch.setattr(
        "graphuq.classifiers.comparison._classify", lambda *_: pytest.fail("worked")
    )
    with pytest.raises(error, match=message):
        gq.compare(**{"graph": graph, "labels": labels, "truth": y, **change})


def test_a_prior_on_another_graph_is_refused(problem):
    graph, labels, y = problem
    prior = gq.Prior.projected(gq.Graph(np.ones((9, 9))), 2)
    with pytest.raises(ValueError, match=r"prior on 9 nodes does not fit the graph's 120"):
        gq.compare(graph, labels, y, [(prior, gq.Probit(0.1))])


def test_methods_may_be_named_and_may_classify_features(problem):
    graph, labels, y = problem
    X = np.random.default_rng(0).standard_normal((graph.n_nodes, 3)) + y[:, None]
    table = gq.compare(
        graph,
        labels,
        y,
        {
            "one": gq.LaplaceLearning(),
            "two": gq.LaplaceLearning(),
            "with features": gq.GDPCA(delta=1e-4),
            "components": gq.KAssociatedOptimalGraph(),
        },
        X=X,
    )
    assert table.index.tolist() == ["one", "two", "with features", "components"]
    assert table["accuracy"]["one"] == table["accuracy"]["two"]
    model = gq.KAssociatedOptimalGraph().fit(X[labels.nodes], labels.values)
    assert table["accuracy"]["components"] == labels.accuracy(model.predict(X), y)
    with pytest.raises(ValueError, match="classifies features: pass those of the nodes, X="):
        gq.compare(graph, labels, y, [gq.KAssociatedOptimalGraph()])
    with pytest.raises(ValueError, match="name methods that look alike"):
        gq.compare(graph, labels, y, [gq.LaplaceLearning(), gq.LaplaceLearning()])


def test_comparisons_have_the_posterior_of_many_classes(clump_graph, clump_labels, clumps):
    _, y = clumps
    prior, model = gq.Prior.projected(clump_graph, 12), gq.Probit(0.2)
    table = gq.compare(clump_graph, clump_labels, y, {"mine": (prior, model)}, seed=3)
    assert table.index.tolist() == [
        f"{kind} of mine" for kind in ("posterior", "approximation", "MAP")
    ]
    post = gq.sample(prior, model, clump_labels, seed=3, progress=False)
    hidden = np.setdiff1d(np.arange(60), clump_labels.nodes)
    row = table.loc["posterior of mine"]
    assert row["accuracy"] == post.accuracy(y)
    seen = (post.probability[hidden], y[hidden], clump_labels.classes)
    assert row["brier"] == gq.brier_score(*seen)
    assert row["calibration_error"] == gq.expected_calibration_error(*seen)


def test_the_default_methods_support_the_labels(clump_graph, unseen, clumps):
    methods = comparison._default_methods(clump_graph, unseen)
    assert [type(m).__name__ for m in methods] == ["LaplaceLearning", "PageRankSSL", "tuple"]
    table = gq.compare(clump_graph, unseen, clumps[1])
    assert len(table) == 5
    assert (table["accuracy"] > 0.9).all()
