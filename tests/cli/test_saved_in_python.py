"""The commands about results that were saved from Python, which have no folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import graphuq as gq
from graphuq.cli.program import main

X = np.random.default_rng(0).normal(size=(30, 2))
GRAPH = gq.knn_graph(X, 5, connect=True)
PRIOR = gq.Prior.projected(GRAPH, 10, alpha=2.0)
LABELS = gq.Labels([2, 7, 11, 20, 28], [0, 1, 1, 0, 1])
FEATURES = gq.FeaturePrior(X, 0.8)

OF_GRAPH, OF_FEATURES = "projected\nrank = 10\nalpha = 2\ntau = 0", "features\nlength_scale = 0.8"


@pytest.mark.parametrize(
    ("prior", "rows"),
    [
        (PRIOR, f"prior = {OF_GRAPH}"),
        (FEATURES, f"prior = {OF_FEATURES}"),
        (FEATURES + gq.Level(0.5), f"prior = {OF_FEATURES}\nlevel = 0.5"),
        (
            gq.SumPrior.of([FEATURES, PRIOR], [1, 3]),
            f"prior = {OF_FEATURES}\nprior_2 = {OF_GRAPH}\nweights = 0.25, 0.75\nlevel = 0",
        ),
        (
            gq.SumPrior.of([PRIOR, FEATURES], [0, 1]),
            f"prior_2 = {OF_FEATURES}\nweights = 0, 1\nlevel = 0",
        ),
        (gq.SolvedPrior.of(GRAPH, LABELS.nodes), "prior = solved\nalpha = 1\ntau = 0"),
    ],
    ids=["graph", "features", "features and level", "sum", "graph of weight 0", "solved"],
)
@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_info_describes_every_part_of_a_prior(prior, rows, tmp_path, capsys):
    post = gq.sample(prior, gq.Probit(0.3), LABELS, draws=20, seed=0, progress=False)
    post.save(tmp_path / "post.nc")

    assert main(["report", str(tmp_path / "post.nc"), "--text"]) == 0

    told = "\n".join(re.findall(r"^  (\w+ = .*)$", capsys.readouterr().out, re.MULTILINE))
    assert f"\n{rows}\nlikelihood = Probit\n" in told


def test_names_of_nodes_are_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"member {i}" for i in range(30)]
    post = gq.approximate(PRIOR, gq.Probit(0.3), LABELS).with_names(names)
    post.save("named.nc")
    truth = np.where(X[:, 0] > 0, 1, 0)
    truth[LABELS.nodes] = LABELS.values
    table = [f"{name},{value}\n" for name, value in zip(names, truth, strict=True)]
    Path("truth.csv").write_text("".join(["id,label\n", *table[::-1]]), encoding="utf-8")

    assert main(["report", "named.nc", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["most_uncertain"] == [names[node] for node in post.ranking()[:10]]

    assert main(["report", "named.nc", "--truth", "truth.csv", "--out", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert names[post.ranking()[0]] in page
    assert f">{post.accuracy(truth):.1%}</td>" in page


def test_items_without_names_are_counted(tmp_path, capsys):
    post = gq.approximate(PRIOR, gq.Probit(0.3), LABELS)
    post.save(tmp_path / "post.nc")
    assert main(["report", str(tmp_path / "post.nc"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["most_uncertain"] == [str(node) for node in post.ranking()[:10]]
