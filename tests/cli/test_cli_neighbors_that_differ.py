"""A list of edges that join unlike items, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.program import main

QUICK = ["--draws", "200", "--seed", "0"]


@pytest.fixture
def market(tmp_path, monkeypatch):
    """Who buys from whom, with some edges among sellers and among buyers; the truth."""
    monkeypatch.chdir(tmp_path)
    graph, y = gq.datasets.planted_partition([60, 60], 0.01, 0.2, seed=0)
    pairs = np.argwhere(np.triu(graph.adjacency) > 0)
    pd.DataFrame(pairs, columns=["a", "b"]).map("n{}".format).to_csv("edges.csv", index=False)
    truth = pd.Series(np.where(y, "buyer", "seller"), [f"n{i}" for i in range(120)], name="label")
    truth.index.name = "id"
    truth.sample(30, random_state=0).to_csv("labels.csv")
    return truth


def test_linked_items_that_differ(market, capsys):
    command = ["sample", "edges.csv", "--labels", "labels.csv", "--out", "result", *QUICK]
    assert main(command) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Items that a link joins tend to have different classes." in shown
    nodes = pd.read_csv("result/nodes.csv", index_col="id")
    assert (nodes["prediction"] == market[nodes.index]).mean() > 0.95
    assert json.loads(Path("result/run.json").read_text())["chosen"]
    report = Path("result/report.html").read_text()
    assert "Items that a link joins tend to have different classes." in report
    assert "gq.Spectrum.of(graph, rank=119, laplacian=" in report
    # more labels, on the same modes
    market.sample(60, random_state=1).to_csv("more.csv")
    assert main(["update", "result", "--labels", "more.csv", "--out", "again", *QUICK]) == 0
    again = pd.read_csv("again/nodes.csv", index_col="id")
    assert (again["prediction"] == market[again.index]).mean() > 0.95
    shown = " ".join(capsys.readouterr().out.split())
    assert "Items that a link joins tend to have different classes." in shown


def test_smooth_modes_of_a_given_alpha(market, capsys):
    command = ["sample", "edges.csv", "--labels", "labels.csv", "--out", "result", *QUICK]
    assert main([*command, "--alpha", "2"]) == 0
    assert "Only the smoothest patterns of the graph are used." in " ".join(
        capsys.readouterr().out.split()
    )
