"""The commands about results that were saved from Python, which have no folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphuq as gq
from graphuq.cli.program import main

pytestmark = pytest.mark.usefixtures("without_pictures")

X = np.random.default_rng(0).normal(size=(30, 2))
GRAPH = gq.knn_graph(X, 5, connect=True)
PRIOR = gq.Prior.projected(GRAPH, 10, alpha=2.0)
LABELS = gq.Labels([2, 7, 11, 20, 28], [0, 1, 1, 0, 1])
FEATURES = gq.FeaturePrior(X, 0.8)

GRAPH_LINE, FEATURES_LINE = "projected, rank 10, alpha 2, tau 0", "features, length_scale 0.8"


@pytest.mark.parametrize(
    ("prior", "lines"),
    [
        (PRIOR, [f"prior: {GRAPH_LINE}"]),
        (FEATURES, [f"prior: {FEATURES_LINE}"]),
        (FEATURES + gq.Level(0.5), [f"prior: {FEATURES_LINE}", "level: 0.5"]),
        (
            gq.SumPrior.of([FEATURES, PRIOR], [1, 3]),
            [
                f"prior: {FEATURES_LINE}",
                f"prior_2: {GRAPH_LINE}",
                "weights: 0.25, 0.75",
                "level: 0",
            ],
        ),
        (
            gq.SumPrior.of([PRIOR, FEATURES], [0, 1]),
            [f"prior_2: {FEATURES_LINE}", "weights: 0, 1", "level: 0"],
        ),
        (gq.SolvedPrior.of(GRAPH, LABELS.nodes), ["prior: solved, alpha 1, tau 0"]),
    ],
    ids=["graph", "features", "features and level", "sum", "graph of weight 0", "solved"],
)
@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_info_describes_every_part_of_a_prior(prior, lines, tmp_path, capsys):
    post = gq.sample(prior, gq.Probit(0.3), LABELS, draws=20, seed=0, progress=False)
    post.save(tmp_path / "post.nc")

    assert main(["report", str(tmp_path / "post.nc"), "--text"]) == 0

    told = capsys.readouterr().out.splitlines()
    assert told[1 : told.index("likelihood: Probit, gamma 0.3")] == lines


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
