"""Prior, likelihood and labels, checked and bound once."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference.checks import BindOnce
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.run import Run
from graphuq.likelihoods.bound import bind


@pytest.fixture
def problem(small):
    spectrum, labels, _ = small
    return Problem.check(gq.Prior.approximated(spectrum, 8), gq.Probit(0.3), labels, [5, 2])


def test_the_labels_choose_what_is_auto(small):
    spectrum, labels, _ = small
    found = Problem.check(gq.Prior.projected(spectrum, 8), gq.Probit(), labels)
    assert isinstance(found.likelihood.gamma, float)
    assert found.bound.observed.parameters.tolist() == [found.likelihood.gamma]


def test_its_fingerprint_changes_with_labels_nodes_and_potential(small, problem):
    labels = small[1]
    prior = problem.prior
    fewer = gq.Labels(labels.nodes[:-1], labels.values[:-1], classes=labels.classes)
    others = {
        "labels": Problem.check(prior, gq.Probit(0.3), fewer, [5, 2]),
        "nodes": Problem.check(prior, gq.Probit(0.3), labels, [5, 3]),
        "potential": Problem.check(prior, gq.Probit(0.4), labels, [5, 2]),
    }
    own = problem.fingerprint()
    assert own == Problem.check(prior, gq.Probit(0.3), labels, [5, 2]).fingerprint()
    for name, other in others.items():
        assert other.fingerprint()[name] != own[name]


def test_a_prior_that_is_known_at_some_nodes_has_no_map_estimate():
    X, y = gq.datasets.two_moons(60, seed=0)
    graph, labels = gq.knn_graph(X, 8, connect=True), gq.reveal(y, counts=3, seed=0)
    solved = gq.SolvedPrior.of(graph, labels.nodes, rank=5, probes=4)
    with pytest.raises(TypeError, match=r"needs the field at all nodes.*take Prior\.projected"):
        gq.map_estimate(solved, gq.Probit(0.3), labels)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bound_once_with_other_parameters_equals_bound_again(small, n_classes):
    prior = gq.Prior.projected(small[0], 8)
    labels = gq.Labels([1, 4, 9], [0, 1, n_classes - 1])
    bind_once = BindOnce(labels)
    for likelihood in (gq.NoisyProbit(0.3, 0.1), gq.NoisyProbit(0.5, 0.2)):
        once, anew = bind_once(prior, likelihood), bind(likelihood, labels, prior.n_nodes)
        for a, b in zip(once.observed, anew.observed, strict=True):
            np.testing.assert_array_equal(a, b)
        assert (once.sign_model, once.log_normalizer) == (anew.sign_model, anew.log_normalizer)


@pytest.mark.parametrize("kind", ["projected", "approximated"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_run_counts_the_numbers_that_records_hold(small, kind, n_classes):
    prior = getattr(gq.Prior, kind)(small[0], 8)
    labels = gq.Labels([1, 4, 9], [0, 1, n_classes - 1])
    problem = Problem.check(prior, gq.Probit(0.3), labels, [5, 2])
    plan = Plan.check(draws=20, chains=2, warmup=0, thin=1, seed=0, threads=None, progress=False)
    run = Run(problem, None, plan, problem.conditional(0.3), None, {})
    held = sum(
        array.nbytes
        for record in run.records()
        for array in (record.modes, record.field, record.read, record._summaries)
    )
    assert run.n_bytes == held
