"""Class shares on the command line: in every file and command of a result."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.class_shares import ClassShares, parse_shares
from graphuq.cli.program import main
from graphuq.posterior.assessment.class_shares import reweight

# Names that need care: one has a comma, the other an equals sign.
RARE, USUAL = "rare, bad", "x=1"
TOLD = f"{RARE}=0.15,{USUAL}=0.85"
STRENGTH = 60.0


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Items of unequal classes with four labels of each, and what graphuq sample makes of them."""
    folder = tmp_path_factory.mktemp("shares")
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.where(X[:, 0] > 1.0, RARE, USUAL)
    labels = gq.reveal(y, counts=4, seed=0)
    table = pd.DataFrame(X, columns=["u", "v"])
    table.insert(0, "id", [f"i{k}" for k in range(80)])
    table.drop(columns="id").head(5).to_csv(folder / "new.csv", index=False)
    table["label"] = pd.Series(labels.values, labels.nodes).reindex(table.index)
    table.to_csv(folder / "items.csv", index=False)
    before = os.getcwd()
    os.chdir(folder)
    try:
        told = ["--class-shares", TOLD, "--class-shares-strength", "60"]
        assert main([*command("result"), *told]) == 0
    finally:
        os.chdir(before)
    return folder


def command(out):
    fixed = ["--alpha", "1", "--graph-weight", "0.5", "--level", "0.5", "--gamma", "0.3"]
    return ["sample", "items.csv", "--draws", "60", "--chains", "2", "--out", out, *fixed]


@pytest.fixture
def result(first, tmp_path, monkeypatch):
    """A copy of the folder, in which the test runs, and the predictions that it must have."""
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    post = gq.load("result/posterior.nc")
    return post.with_class_shares({RARE: 0.15, USUAL: 0.85}, strength=STRENGTH)


def run_of(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def test_tables_and_summary_have_the_shares(result):
    nodes, run, post = (
        pd.read_csv("result/nodes.csv"),
        run_of("result"),
        gq.load("result/posterior.nc"),
    )
    np.testing.assert_allclose(nodes["probability"], result.by_class[:, 1], atol=1e-6)
    assert (nodes["prediction"] == result.prediction).all()
    np.testing.assert_allclose(nodes["confidence"], result.by_class.max(axis=1), atol=1e-6)
    assert (nodes["rank"].to_numpy()[result.ranking()] == np.arange(80)).all()
    assert run["class_shares"] == {RARE: 0.15, USUAL: 0.85}
    assert run["class_shares_strength"] == STRENGTH
    assert run["unsure"] == result.unsure.sum()
    assert run["predicted"][RARE] == (result.prediction == RARE).sum()
    # the posterior has none, and other predictions
    assert abs(post.probability - result.by_class[:, 1]).max() > 0.05
    assert run["predicted"][RARE] < (post.prediction == RARE).sum()
    np.testing.assert_allclose(nodes["variance"], post.variance, atol=1e-6)


def test_errors_are_those_of_the_reweighted_probabilities(result):
    """Against reweighted probabilities that differ by a small error."""
    nodes, post = pd.read_csv("result/nodes.csv"), gq.load("result/posterior.nc")
    p, small = post.probability, 1e-4
    changed = np.column_stack([1 - p - small * post.probability_mcse,
                               p + small * post.probability_mcse])  # fmt: skip
    change = reweight(changed, result.class_weights)[:, 1] - result.by_class[:, 1]
    np.testing.assert_allclose(nodes["mcse"], change / small, rtol=1e-2, atol=1e-6)
    assert not np.allclose(nodes["mcse"], post.probability_mcse, rtol=0.1, atol=1e-6)


def test_every_command_has_the_shares(result, capsys):
    assert main(["report", "result", "--text"]) == 0
    assert f"class shares = 0.15 of {RARE}, 0.85 of {USUAL}, worth 60" in capsys.readouterr().out
    assert main(["report", "result", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["class_shares"] == {RARE: 0.15, USUAL: 0.85}
    assert info["most_uncertain"][0] == f"i{result.ranking()[0]}"

    assert main(["suggest", "result", "--k", "3", "--json"]) == 0
    for row in json.loads(capsys.readouterr().out):
        node = int(row["id"][1:])
        assert row["confidence"] == pytest.approx(result.by_class[node].max())

    assert main(["predict", "result", "new.csv", "--out", "classes.csv"]) == 0
    new = pd.read_csv("classes.csv")  # items that equal the first ones
    np.testing.assert_allclose(new[f"probability_{RARE}"], result.by_class[:5, 0], atol=1e-4)

    assert main(["report", "result", "--out", "page.html"]) == 0
    for page in ("page.html", "result/report.html"):
        text = Path(page).read_text(encoding="utf-8")
        assert f"0.15 of {RARE}, 0.85 of {USUAL}, worth 60 items" in text
        assert "do not use the given shares of the classes" in text
        assert "known = post.with_class_shares(" in text
        hidden = np.setdiff1d(np.arange(80), result.labels.nodes)
        n_usual = (result.prediction[hidden] == USUAL).sum()
        assert f"{n_usual} are {USUAL}" in text


def test_an_update_keeps_the_shares_or_takes_others(result, capsys):
    pd.DataFrame({"id": ["i3"], "label": [USUAL]}).to_csv("more.csv", index=False)
    update = ["update", "result", "--labels", "more.csv", "--out"]
    assert main([*update, "kept"]) == 0
    assert run_of("kept")["class_shares_strength"] == STRENGTH
    assert "worth 60 items" in " ".join(capsys.readouterr().out.split())
    assert main([*update, "exact", "--class-shares", TOLD]) == 0
    nodes = pd.read_csv("exact/nodes.csv")
    assert nodes["probability"].mean() == pytest.approx(0.85, abs=1e-6)
    assert run_of("exact")["class_shares_strength"] is None  # JSON has no infinity
    assert main([*update, "none", "--class-shares-strength", "0"]) == 0
    nodes, post = pd.read_csv("none/nodes.csv"), gq.load("none/posterior.nc")
    np.testing.assert_allclose(nodes["probability"], post.probability, atol=1e-6)
    # a class that is new has no share
    pd.DataFrame({"id": ["i3"], "label": ["owl"]}).to_csv("more.csv", index=False)
    assert main([*update, "new"]) == 2
    assert "--class-shares leaves out 'owl': give the share" in capsys.readouterr().err


def test_results_without_shares_are_as_before(result):
    assert main(command("plain")) == 0
    nodes, post = pd.read_csv("plain/nodes.csv"), gq.load("plain/posterior.nc")
    assert run_of("plain")["class_shares"] is None
    np.testing.assert_allclose(nodes["probability"], post.probability, atol=1e-6)
    np.testing.assert_allclose(nodes["mcse"], post.probability_mcse, atol=1e-6)
    assert main(["report", "plain", "--out", "page.html"]) == 0
    assert "class shares" not in Path("page.html").read_text(encoding="utf-8")


def test_three_classes_have_shares_too(result):
    table = pd.read_csv("items.csv")
    table.loc[[5, 6], "label"] = "owl"
    table.to_csv("items.csv", index=False)
    each = [f"--class-shares={name}=0.{k}" for name, k in ((RARE, 2), (USUAL, 7), ("owl", 1))]
    assert main([*command("three"), *each]) == 0
    nodes = pd.read_csv("three/nodes.csv")
    columns = [f"probability_{name}" for name in ("owl", RARE, USUAL)]
    np.testing.assert_allclose(nodes[columns].mean(), [0.1, 0.2, 0.7], atol=1e-6)
    best = nodes[columns].to_numpy().argmax(axis=1)
    assert (nodes["prediction"] == np.array(["owl", RARE, USUAL])[best]).all()
    assert (np.diff(nodes.sort_values("rank")["entropy"]) <= 1e-6).all()
    assert main(["report", "three", "--out", "page.html"]) == 0


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("a=0.1,b=0.9", {"a": 0.1, "b": 0.9}),
        (" a = 0.1 , b = 9e-1 ", {"a": 0.1, "b": 0.9}),
        ("a, b=0.1,c=0.9", {"a, b": 0.1, "c": 0.9}),
        ("a=b=0.1,c==0.9", {"a=b": 0.1, "c=": 0.9}),
        ("1=0.1,2=0.9", {"1": 0.1, "2": 0.9}),
    ],
)
def test_names_may_have_commas_and_equals_signs(text, shares):
    assert parse_shares(text) == shares


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class-shares", "rare"], "expected NAME=SHARE,NAME=SHARE, got 'rare'"),
        (["--class-shares", "rare=many"], "the share of 'rare' must be a number, got 'many'"),
        (["--class-shares", "a=0.1,a=0.9"], "'a' has two shares: leave one out"),
        (["--class-shares", "a=0.1", "--class-shares", "a=0.9"], "'a' has two shares"),
        (["--class-shares", f"{RARE}=0.15"], f"leaves out {USUAL!r}: give the share of every"),
        (["--class-shares", TOLD + ",owl=0.1"], "'owl', which is not a class: the classes are"),
        (["--class-shares", f"{RARE}=15,{USUAL}=85"], "shares must sum to 1, got 100: divide each"),
        (["--class-shares", f"{RARE}=0,{USUAL}=1"], "shares must be positive, got 0"),
        (["--class-shares-strength", "50"], "without --class-shares has no effect: give the"),
        (["--class-shares-strength=-1"], "or inf, got '-1'"),
        (["--class-shares-strength", "nan"], "expected the number of items that the shares"),
        (["--class-shares-strength", "few"], "or inf, got 'few'"),
    ],
)
def test_shares_that_are_none_are_refused_before_any_work(result, options, message, capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphuq.cli.sample.build_model", None)
        try:
            code = main([*command("refused"), *options])
        except SystemExit as error:
            code = error.code
    assert code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("refused").exists()


@pytest.mark.filterwarnings("default:the shares cannot be met:RuntimeWarning")
def test_shares_that_cannot_be_met_do_not_lose_the_draws(result, monkeypatch, capsys):
    def refuse(self, result):
        raise ValueError("the shares cannot be met")

    monkeypatch.setattr(ClassShares, "of", refuse)
    assert main([*command("contradicted"), "--class-shares", TOLD]) == 0
    assert "cannot be met; the result is written without the shares" in capsys.readouterr().err
    assert run_of("contradicted").get("class_shares") is None
    assert gq.load("contradicted/posterior.nc").probability.size == 80
