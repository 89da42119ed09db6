"""Shares of the classes in groups, on the command line: ``--groups``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.files import ReadOptions, read
from graphuq.cli.program import main
from graphuq.cli.saved_problem import load_problem

FIXED = ["--alpha", "1", "--graph-weight", "0.5", "--level", "0.5", "--gamma", "0.3"]
SHORT = ["--draws", "60", "--chains", "2"]


@pytest.fixture
def wards(tmp_path, monkeypatch):
    """A table of items in three wards, of which one has a single class; and its folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0.3, "yes", "no")
    ward = np.where(y == "yes", "north", np.where(X[:, 1] > 0, "north", "south"))
    ward[:4] = "east"
    table = pd.DataFrame({"id": [f"i{k}" for k in range(90)], "u": X[:, 0], "v": X[:, 1]})
    table["ward"], table["label"] = ward, pd.Series(y[::6], range(0, 90, 6))
    table.to_csv("wards.csv", index=False)
    return table


def sample(*more, out="out"):
    return main(["sample", "wards.csv", *SHORT, *FIXED, "--out", out, *more])


def run_of(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def test_shares_of_groups_are_those_of_python_in_table_summary_and_report(wards, capsys):
    assert sample("--groups", "ward") == 0
    printed, found, run = capsys.readouterr().out, pd.read_csv("out/groups.csv"), run_of("out")
    post = gq.load("out/posterior.nc")
    problem = load_problem(Path("out"), post)
    of_python = post.class_shares(wards["ward"], prior=problem.prior)
    pd.testing.assert_frame_equal(found, of_python.table())
    assert run["groups"] == wards["ward"].tolist()
    assert pd.DataFrame(run["group_shares"]).equals(of_python.table())
    assert problem.features.shape == (90, 2)  # the ward is no feature
    assert "The shares in each group. Intervals of small groups are wide." in printed
    south = found[(found["group"] == "south") & (found["class"] == "no")].iloc[0]
    assert f"{south['low']:.1%} to {south['high']:.1%}" in printed
    assert south["share"] > 0.8
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "The shares in each group" in page
    assert f"{south['low']:.1%} to {south['high']:.1%}" in page


def test_an_update_keeps_groups_and_a_new_result_without_them_removes_their_table(wards):
    assert sample("--groups", "ward") == 0
    before = pd.read_csv("out/groups.csv")
    Path("more.csv").write_text("id,label\ni1,yes\ni2,no\n", encoding="utf-8")
    assert main(["update", "out", "--labels", "more.csv"]) == 0
    after = pd.read_csv("out/groups.csv")
    assert after[["group", "class", "items"]].equals(before[["group", "class", "items"]])
    assert not after["share"].equals(before["share"])
    assert sample("--ignore", "ward") == 0
    assert not Path("out/groups.csv").exists()
    assert run_of("out")["group_shares"] is None


def test_long_lists_are_cut_in_the_summary_and_in_the_report(wards, capsys):
    wards.assign(ward=wards["id"]).to_csv("wards.csv", index=False)
    assert sample("--groups", "ward") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "The first 100 of 180 shares in groups." in printed
    assert " and 80 more rows" in printed
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "The first 100 of 180 shares in groups" in page
    assert len(pd.read_csv("out/groups.csv")) == 180


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--groups", "wrd"], "no column 'wrd' (--groups): did you mean 'ward'?"),
        (
            ["--groups", "gap"],
            "column 'gap': the group of item 'i0' is missing (and of 1 more): fill it in",
        ),
        (
            ["--groups", "ward", "--class-shares", "yes=0.4,no=0.6"],
            "not estimated where --class-shares gives those of all items",
        ),
    ],
)
def test_groups_that_cannot_be_used_are_refused_before_sampling(wards, capsys, more, words):
    wards["gap"] = np.where(np.arange(90) < 2, None, "a")
    wards.to_csv("wards.csv", index=False)
    ignored = [] if "gap" in more else ["--ignore", "gap"]
    others = ["--ignore", "ward"] if "gap" in more else []
    assert sample(*more, *ignored, *others) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not Path("out").exists()


def test_a_list_of_edges_has_no_groups(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n", encoding="utf-8")
    with pytest.raises(ValueError, match="--groups cannot be used with a list of edges"):
        read(tmp_path / "edges.csv", ReadOptions(groups="ward"))


def test_arrays_and_numbers_are_groups(tmp_path):
    X = np.random.default_rng(1).normal(size=(6, 2))
    y = np.array([0, 1, -1, -1, -1, -1])
    np.savez(tmp_path / "items.npz", X=X, y=y, batch=[1, 1, 2, 2, 3, 3])
    items = read(tmp_path / "items.npz", ReadOptions(groups="batch"))
    assert items.groups.tolist() == ["1", "1", "2", "2", "3", "3"]
    assert items.features.shape == (6, 2)


def test_dropped_items_are_in_no_group(tmp_path):
    text = "id,u,ward,label\na,1,n,x\nb,,n,\nc,2,s,y\nd,3,s,\n"
    (tmp_path / "items.csv").write_text(text, encoding="utf-8")
    items = read(tmp_path / "items.csv", ReadOptions(groups="ward", missing="drop"))
    assert items.groups.tolist() == ["n", "s", "s"]


def test_a_report_in_python_refuses_groups_that_it_cannot_show(wards, tmp_path):
    X = wards[["u", "v"]].to_numpy()
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=5, connect=True), rank=10)
    labels = gq.Labels([0, 6, 12, 18], ["a", "b", "a", "b"])
    post = gq.approximate(prior, gq.Probit(0.3), labels)
    with pytest.raises(ValueError, match="groups must hold the group of each of 90 nodes"):
        gq.write_report(post, tmp_path / "report.html", groups=["a"])
    without_prior = gq.from_arviz(post.to_arviz())
    with pytest.raises(ValueError, match="prior"):
        gq.write_report(without_prior, tmp_path / "report.html", groups=wards["ward"])
    assert not (tmp_path / "report.html").exists()
