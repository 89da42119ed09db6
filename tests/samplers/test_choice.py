"""The default sampler of labels that may be mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.likelihoods.bound import bind
from graphuq.samplers import choice


@pytest.fixture(scope="module")
def three():
    """Three clumps that overlap, the labels of 60 of 240 points, and six of them flipped."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 80)
    X = 2.2 * np.eye(3)[y] + rng.normal(size=(240, 3))
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 60, alpha=3.0, tau=0.3)
    nodes = rng.permutation(240)[:60]
    values = y[nodes].copy()
    values[:6] = (values[:6] + 1) % 3
    return prior, gq.Labels(nodes, values)


@pytest.mark.filterwarnings("ignore:The chains disagree")  # one flow for a draw
def test_several_flows_make_a_draw_where_three_classes_may_be_mistaken(three, monkeypatch):
    prior, labels = three
    noisy = gq.NoisyProbit(0.1, 0.02)

    def run(sampler):
        return gq.sample(prior, noisy, labels, sampler, seed=0, progress=False)

    found, alone = run("auto"), run(gq.Harmonic())
    assert found.settings["sampler"]["thin"] == choice.MAX_THIN
    assert found.diagnostics().ess > 400 > alone.diagnostics().ess
    monkeypatch.setattr(choice, "FIELDS_PER_DRAW", 180 * 4)  # as for more labels
    assert choice.choose_sampler("auto", bind(noisy, labels, 240)).thin == 4


def test_one_flow_is_enough_without_mistakes_or_for_two_classes(three):
    _, labels = three
    two = gq.Labels(labels.nodes, labels.values == 0)
    for likelihood, of in ((gq.Probit(0.1), labels), (gq.NoisyProbit(0.1, 0.02), two)):
        assert choice.choose_sampler("auto", bind(likelihood, of, 240)) == gq.Harmonic()
