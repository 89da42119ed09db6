"""K > 2 classes: exact answers, two classes as a special case, and negative controls."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import priors, quietly
from references.exact import class_probabilities, exact_mean
from references.mutation import plant
from references.problems import THREE, UNSEEN
from references.selection import each_once, first_of, shown

import graphuq as gq
from graphuq.inference.chain_record import ChainRecord
from graphuq.inference.plan import Plan
from graphuq.likelihoods.bound import bind
from graphuq.likelihoods.label_rule import Argmax
from graphuq.posterior.node_statistics import combine_chains
from graphuq.priors.given import Given
from graphuq.samplers import argmax_walls
from graphuq.samplers.protocol import Target

NODES = np.array([3, 11, 21, 34])


def sampled(prior, model, labels=UNSEEN, **options):
    options = {"draws": 2000, "seed": 1, "progress": False, **options}
    return quietly(prior, model, labels, gq.Harmonic(), **options)


def errors(post, exact):
    return abs(post.latent_probability[NODES] - exact) / post.mcse[NODES]


@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_probit_is_exact(small, kind):
    prior = priors(small[0], 8)[kind]
    exact = class_probabilities(prior, THREE, NODES, 0.3, np.inf)
    np.testing.assert_allclose(exact.sum(axis=1), 1, atol=1e-3)
    post = sampled(prior, gq.Probit(0.3), THREE)
    assert post.mcse.max() < 0.02
    assert errors(post, exact).max() < 5


@pytest.mark.parametrize(
    ("kind", "model"),
    each_once(["projected", "approximated"], [gq.LevelSet(1.2), gq.NoisyProbit(0.3, 0.2)]),
    ids=shown,
)
def test_labels_that_may_be_wrong_are_exact(small, kind, model):
    prior = priors(small[0], 8)[kind]
    noise, cost = bind(model, UNSEEN, 40).sign_model
    exact = class_probabilities(prior, UNSEEN, NODES, noise, cost)
    post = sampled(prior, model)
    assert errors(post, exact).max() < 5
    # a label's probability is Bayes' of what the node's largest field is
    odds = np.exp(cost)
    assert odds > 1
    assert (post.latent_probability[UNSEEN.nodes, UNSEEN.indices] > 1 / 3).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "right", "wrong", "model"),
    first_of(
        [
            ("_flow", "-speed", "speed", gq.Probit(0.3)),
            ("_flow", "math.sqrt(speed * speed - ...)", "abs(speed)", gq.LevelSet(1.0)),
            ("_flow", "w[k, j] -= ...", "pass", gq.Probit(0.3)),
            ("_flow", "math.sqrt(2.0 * ...)", "math.sqrt(...)", gq.LevelSet(1.0)),
            ("_flow", "... > -math.inf", "False", gq.LevelSet(1.0)),
            ("_turn", "... * cos - ... * sin", "...", gq.Probit(0.3)),
        ]
    ),
    ids=[
        "no reflection",
        "no slowing down",
        "half a kick",
        "wrong normal",
        "walls below the largest",
        "no turning",
    ],
)
def test_negative_controls_fail(small, monkeypatch, function, right, wrong, model):
    prior = gq.Prior.projected(small[0], 8)
    noise, cost = bind(model, UNSEEN, 40).sign_model
    exact = class_probabilities(prior, UNSEEN, NODES, noise, cost)
    callers = ["_flow"] if function == "_turn" else []
    plant(monkeypatch, argmax_walls, function, right, wrong, callers=callers)
    assert errors(sampled(prior, model, draws=20_000), exact).max() > 5


@pytest.mark.parametrize(
    ("kind", "model"),
    each_once(["full", "projected", "approximated"], [gq.Probit(0.3), gq.LevelSet(1.2)], count=1),
    ids=shown,
)
def test_two_fields_are_the_binary_posterior(small, kind, model):
    """u_1 - u_0 has covariance 2 C, and its noise has variance 2 gamma^2."""
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    bound = bind(model, labels, 40)
    bound = bound._replace(
        rule=Argmax(2), observed=bound.observed._replace(y=labels.indices.astype(float))
    )
    sampler = gq.Harmonic()
    conditional = Given(prior.field, labels.nodes, np.empty(0, dtype=int), sampler.noise(bound))
    plan = Plan.check(draws=4000, chains=1, warmup=0, thin=1, seed=0, threads=None, progress=False)
    moments, target = [], Target(conditional.law, bound)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        record = ChainRecord(conditional, bound, plan, rng)
        state = sampler.start(target, rng)
        state, _ = sampler.advance(target, state, rng, 100, 1, True)
        _, chunk = sampler.advance(target, state, rng, 4000, 1, False)
        record.record(chunk)
        own = record.moments or _moments(conditional, record)
        moments.append(own)
    found = combine_chains(moments, "sign")
    exact = (1 + exact_mean(prior, model, labels, NODES)) / 2
    assert (abs(found["by_class"][NODES, 1] - exact) / found["mcse"][NODES, 1]).max() < 5
    np.testing.assert_allclose(found["by_class"].sum(axis=1), 1)
    p = found["by_class"][:, 1]
    np.testing.assert_allclose(found["variance"], 4 * p * (1 - p))


def _moments(conditional, record):
    from graphuq.posterior.node_statistics import NodeMoments

    rows = conditional.rows(conditional.basis, conditional.which)
    moments = NodeMoments(rows, "sign", record.draws, 2)
    moments.add(*record.summaries)
    return moments


def test_other_names_for_the_classes_permute_the_answer(small):
    prior = gq.Prior.approximated(small[0], 8)
    names = {"a": "z", "b": "x", "c": "y"}
    other = gq.Labels(THREE.nodes, [names[v] for v in THREE.values.tolist()])
    post, again = sampled(prior, gq.Probit(0.1), THREE), sampled(prior, gq.Probit(0.1), other)
    order = np.searchsorted(other.classes, [names[c] for c in THREE.classes.tolist()])
    spread = np.hypot(post.mcse, again.mcse[:, order])
    assert (abs(post.latent_probability - again.latent_probability[:, order]) / spread).max() < 5
    assert abs(post.probability - again.probability).max() > 0.2
    # and rows of the same name stay where they were
    assert (post.prediction[THREE.nodes] == THREE.values).all()


def test_walls_of_probit_are_never_left(small):
    labels = gq.reveal(np.repeat(["x", "y", "z", "w"], 10), counts=5, seed=0)
    post = sampled(gq.Prior.approximated(small[0], 8), gq.Probit(0.05), labels, draws=500)
    largest = post.draws.read.argmax(axis=3)
    assert (largest == labels.indices).all()
    assert post.diagnostics().ess > 1000


@pytest.mark.parametrize("agreeing", [True, False])
def test_twins_share_their_walls(agreeing):
    """Nodes that the graph cannot tell apart have the same fields up to rounding."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((12, 2)), 2, axis=0)
    weights = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(weights, 0)
    prior = gq.Prior.projected(gq.Graph(weights), 4)
    values = [0, 0, 1, 1, 2, 2] if agreeing else [0, 1, 1, 1, 2, 0]
    labels, model = gq.Labels([0, 1, 4, 5, 8, 9], values), gq.LevelSet(1.3)
    post = sampled(prior, model, labels)
    other = quietly(prior, model, labels, gq.EllipticalSlice(), draws=4000, seed=0, progress=False)
    spread = np.hypot(post.mcse, other.mcse)
    assert (abs(post.latent_probability - other.latent_probability) / spread).max() < 5


def test_classes_without_labels_and_many_classes(small):
    labels = gq.Labels([0, 7, 25], ["c01", "c01", "c02"], classes=[f"c{i:02}" for i in range(100)])
    post = sampled(gq.Prior.projected(small[0], 8), gq.Probit(0.3), labels, draws=50, chains=2)
    assert post.probability.shape == (40, 100)
    np.testing.assert_allclose(post.probability.sum(axis=1), 1)
    assert set(post.prediction[labels.nodes]) == {"c01", "c02"}
    assert post.probability[:, 5:].max() < 0.5


def test_kicks_carry_the_fields_of_classes_along():
    rng, y = np.random.default_rng(0), np.array([0.0, 2.0, 1.0, 0.0])
    root = rng.standard_normal((4, 6))
    walls = argmax_walls.ArgmaxWalls.of_covariance(root @ root.T, y, 3)
    x, w = (rng.standard_normal((3, 6)) @ root.T for _ in range(2))
    x, before = walls.make_right(x), w.copy()
    states, hits, kicks = walls.fly(x, w[None].copy(), np.array([1.0]))
    assert hits[0] > 2
    np.testing.assert_array_equal(states[0], x)
    np.testing.assert_allclose(x, before + kicks @ walls.covariance, atol=1e-12)
