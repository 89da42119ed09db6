"""Graphs of several components on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.program import main

QUICK = ["--draws", "200", "--seed", "0"]

# a path, a smaller one, a triangle without labels; and triangles alone, whose modes vary from each
# item to its neighbors, so that the prior has none of them
PATHS = "a0,a1\na1,a2\na2,a3\nb0,b1\nb1,b2\nc0,c1\nc1,c2\nc2,c0\n"
TRIANGLES = "".join(f"{x}0,{x}1\n{x}1,{x}2\n{x}2,{x}0\n" for x in "abc")


@pytest.fixture(params=[PATHS, TRIANGLES], ids=["paths", "triangles"])
def ids(request, tmp_path, monkeypatch):
    """The ids of a list of edges; labels of two components of three."""
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text(f"source,target\n{request.param}")
    Path("labels.csv").write_text("id,label\na0,red\na2,red\nb0,blue\nb1,blue\n")
    return sorted(set(request.param.replace("\n", ",").strip(",").split(",")))


def test_a_graph_of_several_components(ids, capsys):
    assert main(["sample", "edges.csv", "--labels", "labels.csv", "--out", "result", *QUICK]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    shown = " ".join(printed.out.split())
    assert "3 items in components of the graph without a label, such as c0, have the base" in shown
    assert "Items of one component of the graph tend to have the same class." in shown
    # half of 7 of 10 nodes, the others being in the component without labels
    assert ("weights = 0.35, 0.65 (the default)" in shown) == ("a3" in ids)
    run = json.loads(Path("result/run.json").read_text())
    assert run["at_base_rate"] == ["c0", "c1", "c2"]
    assert run["items"] == len(ids)
    assert run["left_out"] == []
    nodes = pd.read_csv("result/nodes.csv", index_col="id")
    assert (
        nodes["prediction"][["a0", "a1", "a2", "b0", "b1"]].tolist() == ["red"] * 3 + ["blue"] * 2
    )
    unseen = nodes.loc[run["at_base_rate"]]
    # two labels of each class, so that the base rate is about a half, and the same for all; the
    # labeled components differ in size, which moves it a little
    assert abs(unseen["confidence"] - 0.5).max() < 0.1
    assert unseen["confidence"].max() - unseen["confidence"].min() < 5 * unseen["mcse"].max()
    # without a level it is a half
    level = ["--level", "0", "--out", "equal"]
    assert main(["sample", "edges.csv", "--labels", "labels.csv", *level, *QUICK]) == 0
    unseen = pd.read_csv("equal/nodes.csv", index_col="id").loc[run["at_base_rate"]]
    assert abs(unseen["confidence"] - 0.5).max() < 5 * unseen["mcse"].max() + 1e-6


def test_rounds_on_a_graph_of_several_components(ids, capsys):
    assert main(["sample", "edges.csv", "--labels", "labels.csv", "--out", "result", *QUICK]) == 0
    capsys.readouterr()
    assert main(["suggest", "result", "--k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"][0] == "c"  # it tells most
    Path("more.csv").write_text("id,label\nc1,blue\na1,red\nb2,blue\n")
    # one more label with the parameters as they are, and again with others
    for parameters in ("keep", "choose"):
        update = ["update", "result", "--labels", "more.csv", "--parameters", parameters]
        assert main([*update, "--out", parameters, "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        assert run["at_base_rate"] == []
    post = gq.load("choose/posterior.nc")
    assert (post.prediction[[name[0] == "c" for name in post.names]] == "blue").all()


def test_the_largest_component_alone(ids, capsys):
    keep = ["sample", "edges.csv", "--labels", "labels.csv", "--largest-component", "--json"]
    Path("labels.csv").write_text("id,label\na0,red\na1,blue\nb0,blue\n")
    assert main([*keep, *QUICK]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["items"] == sum(name[0] == "a" for name in ids)
    assert run["at_base_rate"] == []
    assert "b0" in run["left_out"]
