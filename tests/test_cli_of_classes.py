"""The command line with more than two classes."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli import main

QUICK = ["--draws", "200"]
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def post(folder):
    return gq.load(folder / "result/posterior.nc")


@pytest.fixture(scope="module")
def run(folder):
    return json.loads((folder / "result/run.json").read_text(encoding="utf-8"))


def test_nodes_have_the_probability_of_each_class(folder, post):
    nodes = pd.read_csv(folder / "result/nodes.csv")
    for k, name in enumerate(NAMES):
        np.testing.assert_allclose(nodes[f"probability_{name}"], post.probability[:, k])
    assert nodes["prediction"].tolist() == post.prediction.tolist()
    two = np.sort(post.probability, axis=1)[:, ::-1]
    np.testing.assert_allclose(nodes["confidence"], two[:, 0])
    np.testing.assert_allclose(nodes["margin"], two[:, 0] - two[:, 1])
    for row in nodes.itertuples():
        assert getattr(row, f"probability_{row.runner_up}") == pytest.approx(two[row.Index, 1])
        best = int(np.flatnonzero(row.prediction == NAMES)[0])
        assert row.mcse == pytest.approx(post.mcse[row.Index, best])
    for name in ("entropy", "variance"):
        np.testing.assert_allclose(nodes[name], getattr(post, name))
    np.testing.assert_array_equal(nodes.sort_values("rank").index, post.ranking())
    suspects = pd.read_csv(folder / "result/suspects.csv")
    assert sorted(suspects["id"]) == post.labels.nodes.tolist()


def test_a_run_tells_of_all_classes(run, post, folder):
    species = pd.read_csv(folder / "iris.csv")["species"].to_numpy()
    assert run["classes"] == NAMES.tolist()
    assert run["labels"] == dict.fromkeys(NAMES, 3)
    assert set(run["chosen"]) == {"alpha", "tau", "gamma"}
    assert sum(run["predicted"].values()) == 150
    assert run["unsure"] == int((post.probability.max(axis=1) < (1 + 0.5**0.5) / 2).sum())
    assert run["accuracy"] == pytest.approx(post.accuracy(species))
    assert run["accuracy"] > 0.75
    assert run["leave_one_out_right"] is None
    hidden = [i for i in post.ranking() if i not in post.labels.nodes]
    assert [int(row["id"]) for row in run["most_uncertain"]] == hidden[:10]
    assert not {int(name) for name in run["label_next"]} & set(post.labels.nodes.tolist())
    assert len(run["label_next"]) == 5


def test_info_and_report_read_it(folder, post, capsys):
    assert main(["info", "result"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "3 x setosa, 3 x versicolor, 3 x virginica" in told
    assert "1 all classes alike" in told
    assert main(["info", "result", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == dict.fromkeys(NAMES, 3)
    assert main(["report", "result", "--truth", "all.csv", "--out", "page.html"]) == 0
    species = pd.read_csv("iris.csv")["species"].to_numpy()
    page = Path("page.html").read_text(encoding="utf-8")
    assert f"<td>{post.accuracy(species):.1%}</td>" in page
    assert "setosa, versicolor or virginica?" in page


def test_compare_has_the_posterior_of_many_classes(capsys):
    assert main(["compare", "iris.csv", "--truth", "species", "--json"]) == 0
    rows = {row["method"]: row for row in json.loads(capsys.readouterr().out)}
    assert "posterior of probit, auto" in rows
    assert rows["posterior of probit, auto"]["accuracy"] > 0.75
    assert 0 < rows["posterior of probit, the paper's settings"]["brier"] < 0.5


def test_a_class_that_may_be_none_is_asked_about(tmp_path, monkeypatch, capsys):
    known = pd.read_csv("blind.csv")
    monkeypatch.chdir(tmp_path)
    for name in ("-1", "Unknown"):
        known.fillna({"label": name}).to_csv("marked.csv", index=False)
        assert main(["sample", "marked.csv"]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert f"{name!r} is one of 4 classes" in error
        assert f"say --unlabelled {name}" in error
        assert os.listdir() == ["marked.csv"]
    model = ["--likelihood", "level-set", "--gamma", "0.5", "--alpha", "2", "--rank", "30", *QUICK]
    assert main(["sample", "marked.csv", "--unlabelled", "Unknown", *model]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 x setosa, 3 x versicolor, 3 x virginica." in printed
    assert "confidence or else probability entropy mcse" in printed
    assert "each class's probability" in printed
    wrong = 2 * np.exp(-8) / (1 + 2 * np.exp(-8))  # two others, each with the odds exp(-2 / 0.25)
    assert f"may be wrong, with probability {wrong:.1%}" in printed


def test_demo_of_all_ten_digits(tmp_path, capsys):
    rest = ["--per-class", "40", "--fraction", "0.1", "--gamma", "0.1", "--alpha", "2"]
    rest += ["--draws", "100", "--chains", "2", "--out", str(tmp_path)]
    assert main(["demo", "--classes", "all", *rest]) == 0
    printed = capsys.readouterr().out
    assert "All ten digits: 400 images" in printed
    assert "40 labels" in printed
    files = ["confusion.png", "digits.png", "level-set.nc", "probit.nc"]
    assert sorted(os.listdir(tmp_path)) == files
    post = gq.load(tmp_path / "probit.nc")
    rows = re.findall(
        r"^ *(\d+) +(\d) +(\d) +([\d.]+) +(\d) +([\d.]+) +[\d.]+ +[\d.]+$", printed, re.M
    )
    assert len(rows) == 20
    for node, _, first, p, second, q in rows:
        best = np.argsort(-post.probability[int(node)], kind="stable")
        assert [int(first), int(second)] == best[:2].tolist()
        np.testing.assert_allclose(
            [float(p), float(q)], post.probability[int(node), best[:2]], atol=5.1e-4
        )
    assert float(re.search(r"probit +([\d.]+)", printed)[1]) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--classes", "all", "--per-class", "200"], "per_class must be"),
        (["demo", "--classes", "all", "--rank", "100000"], "rank must be"),
    ],
)
def test_mistakes_of_the_demo_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_pair_is_not_all_ten(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--classes", "all", "--pair", "3,8"])
    assert stop.value.code == 2
    assert "not allowed with" in capsys.readouterr().err
