"""What the report says about a prior: its parts, their shares and their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.report.prior_rows import prior_rows

X = np.random.default_rng(0).normal(size=(30, 2))
ONE = gq.Prior.projected(gq.knn_graph(X, 5, connect=True), 10, alpha=2.0)
TWO = gq.Prior.approximated(gq.knn_graph(X[:, :1], 5, connect=True), 8, alpha=3.0)
FEATURES = gq.FeaturePrior(X, 0.8)
LABELS = gq.Labels([2, 7, 11, 20, 28], [0, 1, 1, 0, 1])


def rows_of(*terms, weights):
    return prior_rows(gq.SumPrior.of(terms, weights).fingerprint())


def test_two_graphs_are_not_taken_for_a_graph_and_features():
    rows = {name: (value, meaning) for name, value, meaning in rows_of(ONE, TWO, weights=[3, 1])}
    assert rows["weights"] == (
        "0.75, 0.25",
        "The share of each part in the prior: graph 1, graph 2.",
    )
    assert [rows[name][0] for name in ("prior", "rank", "alpha")] == ["projected", "10", "2"]
    assert [rows[name][0] for name in ("prior_2", "rank_2", "alpha_2")] == [
        "approximated",
        "8",
        "3",
    ]
    assert "features" not in str(rows)


def test_a_part_of_weight_0_shows_no_parameters():
    names = [name for name, _, _ in rows_of(ONE, FEATURES, gq.Level(0.5), weights=[1, 0])]
    assert names == ["prior", "rank", "alpha", "tau", "weights", "level"]
    names = [name for name, _, _ in rows_of(ONE, TWO, FEATURES, weights=[0, 1, 0])]
    # the names are those of prior.parameters, so the second graph stays the second
    assert names == ["prior_2", "rank_2", "alpha_2", "tau_2", "weights", "level"]


def test_idle_parameters_are_those_of_parts_of_weight_0():
    each = [ONE, TWO, FEATURES]
    assert gq.SumPrior.of(each, [1, 0, 1]).idle == ("alpha_2", "tau_2", "rank_2")
    assert gq.SumPrior.of(each, [1, 1, 0]).idle == ("length_scale",)
    assert gq.SumPrior.of(each, [1, 1, 1]).idle == ONE.idle == sum(each[1:], ONE).idle == ()
    # they change nothing
    prior = gq.SumPrior.of([ONE, FEATURES, gq.Level(0.5)], [1, 0])
    post, other = (
        gq.approximate(prior.with_parameters(length_scale=scale), gq.Probit(0.2), LABELS)
        for scale in (0.1, 10.0)
    )
    np.testing.assert_allclose(post.probability, other.probability, atol=1e-12)


@pytest.mark.parametrize(
    ("prior", "shown"),
    [
        (FEATURES, "features Items with similar features"),
        (gq.SolvedPrior.of(gq.knn_graph(X, 5, connect=True), LABELS.nodes), "solved Similar items"),
    ],
    ids=["features", "solved"],
)
@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_every_kind_of_prior_has_a_report(prior, shown, tmp_path):
    post = gq.sample(prior, gq.Probit(0.3), LABELS, draws=20, seed=0, progress=False)
    gq.write_report(post, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for tag in ("<td", "</td>", "</th>", 'data-column="value">', 'data-column="what it means">'):
        page = page.replace(tag, "")
    assert shown in " ".join(page.split())
