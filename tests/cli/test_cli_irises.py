"""The commands on the irises, with three classes."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.program import main

QUICK = ["--draws", "200"]
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def irises(tmp_path_factory):
    """Irises, three labels of each species, and what graphuq sample makes of them."""
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    species = pd.Series(NAMES[iris.target])
    labels = gq.reveal(species.to_numpy(), counts=3, seed=0)
    known = pd.Series(labels.values, labels.nodes).reindex(species.index)
    folder = tmp_path_factory.mktemp("irises")
    iris.data.assign(label=known, species=species).to_csv(folder / "iris.csv", index=False)
    iris.data.assign(label=known).to_csv(folder / "blind.csv", index=False)
    pd.DataFrame({"id": range(150), "label": species}).to_csv(folder / "all.csv", index=False)
    with contextlib.chdir(folder):
        assert main(["sample", "iris.csv", "--truth", "species", "--out", "result", *QUICK]) == 0
    return folder


@pytest.fixture
def among_irises(irises, monkeypatch):
    monkeypatch.chdir(irises)


@pytest.fixture(scope="module")
def iris_post(irises):
    return gq.load(irises / "result/posterior.nc")


@pytest.fixture(scope="module")
def iris_run(irises):
    return json.loads((irises / "result/run.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("among_irises")
def test_nodes_have_the_probability_of_each_class(irises, iris_post):
    nodes = pd.read_csv(irises / "result/nodes.csv")
    for k, name in enumerate(NAMES):
        np.testing.assert_allclose(nodes[f"probability_{name}"], iris_post.probability[:, k])
    assert nodes["prediction"].tolist() == iris_post.prediction.tolist()
    two = np.sort(iris_post.probability, axis=1)[:, ::-1]
    np.testing.assert_allclose(nodes["confidence"], two[:, 0])
    np.testing.assert_allclose(nodes["margin"], two[:, 0] - two[:, 1])
    for row in nodes.itertuples():
        assert getattr(row, f"probability_{row.runner_up}") == pytest.approx(two[row.Index, 1])
        best = int(np.flatnonzero(row.prediction == NAMES)[0])
        assert row.mcse == pytest.approx(iris_post.probability_mcse[row.Index, best])
    for name in ("entropy", "variance"):
        np.testing.assert_allclose(nodes[name], getattr(iris_post, name))
    for name, part in iris_post.uncertainty().items():
        np.testing.assert_allclose(nodes[name], part)
    np.testing.assert_array_equal(nodes.sort_values("rank").index, iris_post.ranking())
    suspects = pd.read_csv(irises / "result/suspects.csv")
    assert sorted(suspects["id"]) == iris_post.labels.nodes.tolist()


@pytest.mark.usefixtures("among_irises")
def test_run_json_has_all_classes(iris_run, iris_post, irises):
    species = pd.read_csv(irises / "iris.csv")["species"].to_numpy()
    assert iris_run["classes"] == NAMES.tolist()
    assert iris_run["labels"] == dict.fromkeys(NAMES, 3)
    chosen = {"alpha", "tau", "length_scale", "weight", "weight_2", "level", "gamma"}
    assert set(iris_run["chosen"]) == chosen
    assert sum(iris_run["predicted"].values()) == 150
    assert iris_run["unsure"] == int((iris_post.probability.max(axis=1) < 0.85).sum())
    assert iris_run["accuracy"] == pytest.approx(iris_post.accuracy(species))
    assert iris_run["accuracy"] > 0.75
    judged = iris_run["model_trust"]  # by the truth, which was given
    assert judged["judged"] == 141
    assert judged["right"] == pytest.approx(141 * iris_run["accuracy"])
    assert judged["light"] == "amber"
    assert "too sure" in judged["reasons"][-1]
    hidden = [i for i in iris_post.ranking() if i not in iris_post.labels.nodes]
    assert [int(row["id"]) for row in iris_run["most_uncertain"]] == hidden[:10]
    assert not {int(name) for name in iris_run["label_next"]} & set(iris_post.labels.nodes.tolist())
    assert len(iris_run["label_next"]) == 5


@pytest.mark.usefixtures("among_irises")
def test_info_and_report_read_it(irises, iris_post, capsys):
    assert main(["report", "result", "--text"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "3 x setosa, 3 x versicolor, 3 x virginica" in told
    assert f"{iris_post.mean_variance:.3f}: 0 is certain, 1 is all classes equally likely." in told
    assert main(["report", "result", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == dict.fromkeys(NAMES, 3)
    assert main(["report", "result", "--truth", "all.csv", "--out", "page.html"]) == 0
    species = pd.read_csv("iris.csv")["species"].to_numpy()
    page = Path("page.html").read_text(encoding="utf-8")
    assert f">{iris_post.accuracy(species):.1%}</td>" in page
    assert "setosa, versicolor or virginica?" in page


@pytest.mark.usefixtures("among_irises")
def test_compare_has_the_posterior_of_many_classes(capsys):
    assert main(["compare", "iris.csv", "--truth", "species", "--json"]) == 0
    rows = {row["method"]: row for row in json.loads(capsys.readouterr().out)}
    assert "posterior of probit, auto" in rows
    assert rows["posterior of probit, auto"]["accuracy"] > 0.75
    assert 0 < rows["posterior of probit, the paper's settings"]["brier"] < 0.5


@pytest.mark.usefixtures("among_irises")
def test_a_class_whose_name_may_mark_unknown_labels_is_refused(tmp_path, monkeypatch, capsys):
    known = pd.read_csv("blind.csv")
    monkeypatch.chdir(tmp_path)
    known.fillna({"label": "Unknown"}).to_csv("marked.csv", index=False)
    assert main(["sample", "marked.csv"]) == 2
    error = capsys.readouterr().err
    assert error.splitlines()[1].startswith("  column ")
    assert "'Unknown' occurs in 141 rows" in error
    assert "use --unlabeled Unknown" in error
    assert "or --class Unknown" in error
    assert os.listdir() == ["marked.csv"]
    model = ["--likelihood", "level-set", "--gamma", "0.5", "--alpha", "2", "--rank", "30", *QUICK]
    assert main(["sample", "marked.csv", "--unlabeled", "Unknown", *model]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 x setosa, 3 x versicolor, 3 x virginica." in printed
    assert "confidence runner-up its probability entropy mcse" in printed
    assert "uncertain items without a label, the largest entropy first:" in printed
    assert "probability of each class" in printed
    wrong = 2 * np.exp(-8) / (1 + 2 * np.exp(-8))  # two others, each with the odds exp(-2 / 0.25)
    assert f"any label is wrong with probability {wrong:.1%}" in printed
