"""The code that a report gives runs, and gives the same posterior."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from references.problems import LABELS, THREE, UNSEEN
from references.selection import slow_among

import graphuq as gq
from graphuq.report.reproduction import code_of

PROBLEMS = {
    "harmonic": lambda p, l: gq.sample(p, gq.Probit(0.2), l, draws=40, seed=3, progress=False),
    "nodes": lambda p, l: gq.sample(
        p, gq.LevelSet(1.0), l, draws=40, nodes=[4], seed=np.random.default_rng(1), progress=False
    ),
    "pcn": lambda p, l: gq.sample(
        p, gq.Probit(0.2), l, gq.PCN(beta=0.4), draws=20, warmup=3, thin=2, seed=1, progress=False
    ),
    "tempered": lambda p, l: gq.sample(
        p, gq.GinzburgLandau(1.0, 0.5), l, gq.Tempered(gq.PCN(), replicas=3), draws=20, seed=2,
        progress=False,
    ),
    "target": lambda p, l: gq.sample(p, gq.Probit(0.2), l, target_ess=300, seed=0, progress=False),
    "jointly": lambda p, l: gq.sample_jointly(
        p, gq.Probit(0.2), l, draws=20, alpha=(1, 6), seed=0, progress=False
    ),
    "heavy tails": lambda p, l: gq.sample_jointly(
        p, gq.Probit(0.2), l, df=1.5, draws=20, seed=0, progress=False
    ),
    "jointly with a level": lambda p, _: gq.sample_jointly(
        p + gq.Level(), gq.Probit(0.2), THREE, draws=20, gamma="auto", seed=0, progress=False
    ),
    "three classes": lambda p, _: gq.sample(
        p, gq.Probit(0.2), THREE, draws=40, seed=3, progress=False
    ),
    "a class without labels": lambda p, _: gq.sample(
        p, gq.Probit(0.2), UNSEEN, draws=40, seed=3, progress=False
    ),
    "approximate": lambda p, l: gq.approximate(p, gq.Probit(0.2), l),
}  # fmt: skip
LONG = ("tempered", "jointly with a level")


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
@pytest.mark.parametrize("name", slow_among(PROBLEMS, LONG))
def test_the_code_does_it_again(small, name):
    post = PROBLEMS[name](gq.Prior.projected(small[0], 8, alpha=2.0), LABELS[2])
    code = code_of(post)
    assert ("classes=" in code) == (name == "a class without labels")
    line = "graph = ...  # yours, of 40 nodes\n"
    assert line in code
    again = {"graph": small[0]}
    exec(code.replace(line, "").replace("seed=", "progress=False, seed="), again)
    np.testing.assert_array_equal(again["post"].probability, post.probability)
    np.testing.assert_array_equal(again["post"].latent_variance, post.latent_variance)
    if name in ("harmonic", "pcn"):  # another seed does something else
        other = code.replace("seed=", "progress=False, seed=1")
        exec(other.replace(line, ""), again)
        assert (again["post"].probability != post.probability).any()


def test_the_code_knows_an_approximated_prior_and_the_users_own_likelihood(small):
    spectrum = small[0]
    prior = gq.Prior.approximated(spectrum, 6, lambda_bar=1.5)
    post = gq.approximate(prior, gq.Probit(0.2), LABELS[2])
    assert "lambda_bar=1.5" in code_of(post, prior.lambda_bar)
    assert "and lambda_bar, if it was given" in code_of(post)
    good = gq.sample(prior, gq.Probit(0.2), LABELS[2], draws=40, seed=0, progress=False)
    own = good.settings | {"likelihood": {"name": "Logistic", "scale": 0.1}}
    code = code_of(dataclasses.replace(good, settings=own))
    assert "likelihood = Logistic(scale=0.1)  # your own" in code


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_the_code_names_the_data_of_every_part(small):
    X = np.random.default_rng(0).normal(size=(40, 2))
    other = gq.Spectrum.of(gq.knn_graph(X, 6, connect=True))
    one, two = gq.Prior.projected(small[0], 8), gq.Prior.projected(other, 9)
    features = gq.FeaturePrior(X, 1.0), gq.LinearPrior(X)  # of the same X
    prior = gq.SumPrior.of([one, *features, two, gq.Level(0.5)], [1, 2, 1, 3])
    solved = gq.SolvedPrior.of(gq.knn_graph(X, 6, connect=True), LABELS[2].nodes)
    post, last = (
        gq.sample(p, gq.Probit(0.2), LABELS[2], draws=20, seed=3, progress=False)
        for p in (prior, solved)
    )
    code = code_of(post)
    again = {"graph": small[0], "X": X, "graph_2": other}
    for name in again:
        assert f"{name} = ...  # yours, of 40 nodes\n" in code
        code = code.replace(f"{name} = ...  # yours, of 40 nodes\n", "")
    exec(code.replace("seed=", "progress=False, seed="), again)
    np.testing.assert_allclose(again["post"].probability, post.probability, atol=1e-9)
    assert "prior = gq.SolvedPrior.of(graph, labels.nodes)  # and rank, probes" in code_of(last)


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_the_code_propagates_features_along_links_that_are_not_the_graph(small):
    X = np.random.default_rng(0).normal(size=(40, 2))
    links = gq.knn_graph(X, 3)
    features = gq.PropagatedFeatures(X, links, hops=2)
    one = gq.Prior.projected(small[0], 8)
    prior = gq.SumPrior.of([one, gq.LinearPrior(X), gq.LinearPrior(features)], [1, 1, 1])
    post = gq.sample(prior, gq.Probit(0.2), LABELS[2], draws=20, seed=3, progress=False)
    code, again = code_of(post), {"graph": small[0], "X": X, "links": links}
    for name in again:
        assert code.count(f"{name} = ...  # yours, of 40 nodes\n") == 1
        code = code.replace(f"{name} = ...  # yours, of 40 nodes\n", "")
    assert "= ..." not in code
    exec(code.replace("seed=", "progress=False, seed="), again)
    np.testing.assert_allclose(again["post"].probability, post.probability, atol=1e-9)


def test_the_code_asks_for_a_graph_and_not_for_its_components():
    apart = gq.Graph.from_edge_index([[0, 1, 3, 4], [1, 2, 4, 5]])
    post = gq.approximate(apart, gq.Probit(0.2), gq.Labels([0, 3], ["a", "b"]))
    code = code_of(post)
    assert code.count(" = ...  # yours") == code.count("graph = ...  # yours") == 1
    assert "gq.ComponentLevel(graph" in code
