"""More than two classes: exact answers, two classes as a special case, and wrong versions."""

from __future__ import annotations

import inspect

import numba
import numpy as np
import pytest
from conftest import mutated, priors, quietly, with_mutation
from exact import class_probabilities, exact_mean

import graphuq as gq
from graphuq.each_class import EachClass
from graphuq.extension import FromLabelled
from graphuq.likelihoods.contract import bind
from graphuq.node_statistics import summarise
from graphuq.record import ChainRecord
from graphuq.samplers import argmax_walls
from graphuq.samplers.family import Target

NODES = np.array([3, 11, 21, 34])
THREE = gq.Labels([0, 13, 38], ["a", "c", "b"])
TWO = gq.Labels([7, 25], ["a", "b"], classes=["a", "b", "c"])


def sampled(prior, model, labels=TWO, **options):
    options = {"draws": 4000, "seed": 1, "progress": False, **options}
    return quietly(prior, model, labels, gq.Harmonic(), **options)


def errors(post, exact):
    return abs(post.probability[NODES] - exact) / post.mcse[NODES]


@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
def test_probit_is_exact(small, kind):
    prior = priors(small[0], 8)[kind]
    exact = class_probabilities(prior, THREE, NODES, 0.3, np.inf)
    np.testing.assert_allclose(exact.sum(axis=1), 1, atol=1e-3)
    post = sampled(prior, gq.Probit(0.3), THREE)
    assert post.mcse.max() < 0.02
    assert errors(post, exact).max() < 5


@pytest.mark.parametrize("kind", ["projected", "approximated"])
@pytest.mark.parametrize("model", [gq.LevelSet(1.2), gq.NoisyProbit(0.3, 0.2)], ids=repr)
def test_labels_that_may_be_wrong_are_exact(small, kind, model):
    prior = priors(small[0], 8)[kind]
    noise, cost = bind(model, TWO, 40).sign_model
    exact = class_probabilities(prior, TWO, NODES, noise, cost)
    post = sampled(prior, model)
    assert errors(post, exact).max() < 5
    # a label's probability is Bayes' of what the node's largest field is
    odds = np.exp(cost)
    assert odds > 1
    assert (post.probability[TWO.nodes, TWO.indices] > 1 / 3).all()


def test_a_flip_rate_is_the_probability_that_a_label_is_wrong():
    """P(wrong) = (K - 1) e^-V / (1 + (K - 1) e^-V)."""
    labels = gq.Labels(range(5), range(5))
    _, cost = bind(gq.NoisyProbit(0.3, 0.2), labels, 5).sign_model
    assert 4 / (4 + np.exp(cost)) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("right", "wrong", "model"),
    [
        ("after = -speed", "after = speed", gq.Probit(0.3)),
        ("math.sqrt(speed * speed - 2.0 * step)", "abs(speed)", gq.LevelSet(1.0)),
        ("w[k, j] -= kick * G[hit, j]", "pass", gq.Probit(0.3)),
        ("math.sqrt(2.0 * G[hit, hit])", "math.sqrt(G[hit, hit])", gq.LevelSet(1.0)),
        ("if above[j] > -math.inf:", "if False:", gq.LevelSet(1.0)),
        ("w[j] * cos - before * sin", "w[j]", gq.Probit(0.3)),
    ],
    ids=[
        "no reflection",
        "no slowing down",
        "half a kick",
        "wrong normal",
        "walls below the largest",
        "no turning",
    ],
)
def test_negative_controls_fail(small, monkeypatch, right, wrong, model):
    prior = gq.Prior.projected(small[0], 8)
    noise, cost = bind(model, TWO, 40).sign_model
    exact = class_probabilities(prior, TWO, NODES, noise, cost)
    if right in inspect.getsource(argmax_walls._turn.py_func):
        turn = numba.njit(mutated(argmax_walls._turn.py_func, right, wrong))
        monkeypatch.setattr(argmax_walls, "_turn", turn)
        right = wrong = ""
    monkeypatch.setattr(argmax_walls, "_flow", with_mutation(argmax_walls._flow, right, wrong))
    assert errors(sampled(prior, model, draws=20_000), exact).max() > 5


@pytest.mark.parametrize("kind", ["full", "projected", "approximated"])
@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.LevelSet(1.2)], ids=repr)
def test_two_fields_are_the_binary_posterior(small, kind, model):
    """u_1 - u_0 has covariance 2 C, and its noise has variance 2 gamma^2."""
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    bound = bind(model, labels, 40)
    bound = bound._replace(
        columns=2, observed=bound.observed._replace(y=labels.indices.astype(float))
    )
    sampler = gq.Harmonic()
    one = FromLabelled(prior, labels.nodes, np.empty(0, dtype=int), sampler.noise(bound))
    extension, moments = EachClass(one, 2), []
    target = Target(one.law, bound)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        record = ChainRecord(extension, "sign", 4000, 4000, 2 * prior.sigma.size, 0, rng, 2)
        state = sampler.start(target, rng)
        state, _ = sampler.advance(target, state, rng, 100, 1, True)
        _, chunk = sampler.advance(target, state, rng, 4000, 1, False)
        record.record(chunk)
        own = record.moments or _moments(extension, record)
        moments.append(own)
    found = summarise(moments, "sign")
    exact = (1 + exact_mean(prior, model, labels, NODES)) / 2
    assert (abs(found["probability"][NODES, 1] - exact) / found["mcse"][NODES, 1]).max() < 5
    np.testing.assert_allclose(found["probability"].sum(axis=1), 1)
    p = found["probability"][:, 1]
    np.testing.assert_allclose(found["variance"], 4 * p * (1 - p))


def _moments(extension, record):
    from graphuq.moments import NodeMoments

    rows = extension.rows(extension.basis, extension.which)
    moments = NodeMoments(rows, "sign", record.draws, 2)
    moments.add(record.kept)
    return moments


def test_other_names_for_the_classes_permute_the_answer(small):
    prior = gq.Prior.approximated(small[0], 8)
    names = {"a": "z", "b": "x", "c": "y"}
    other = gq.Labels(THREE.nodes, [names[v] for v in THREE.values.tolist()])
    post, again = sampled(prior, gq.Probit(0.1), THREE), sampled(prior, gq.Probit(0.1), other)
    order = np.searchsorted(other.classes, [names[c] for c in THREE.classes.tolist()])
    spread = np.hypot(post.mcse, again.mcse[:, order])
    assert (abs(post.probability - again.probability[:, order]) / spread).max() < 5
    assert abs(post.probability - again.probability).max() > 0.2
    # and rows of the same name stay where they were
    assert (post.prediction[THREE.nodes] == THREE.values).all()


def test_streamed_statistics_are_those_of_the_draws(small):
    prior = gq.Prior.projected(small[0], 8)
    post = sampled(prior, gq.NoisyProbit(0.2, 0.1), THREE, nodes=[3, 13])
    assert post.modes.shape == (4, 4000, 8, 3)
    assert post.field.shape == (4, 4000, 2, 3)
    field = post.field.reshape(-1, 2, 3)
    at = [3, 13]
    ess = post.diagnostics().ess
    assert ess > 2000
    counted = (field.argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(counted, post.probability[at], atol=5 * 0.5 / np.sqrt(ess))
    np.testing.assert_allclose(field.mean(axis=0), post.latent_mean[at], atol=5 / np.sqrt(ess))
    np.testing.assert_allclose(
        field.var(axis=0), post.latent_variance[at], rtol=5 * np.sqrt(2 / ess)
    )
    every = np.concatenate(list(post.latent_draws()))
    assert every.shape == (16_000, 40, 3)
    np.testing.assert_allclose(every[:, at], field, atol=1e-9)


def test_walls_of_probit_are_never_left(small):
    labels = gq.reveal(np.repeat(["x", "y", "z", "w"], 10), counts=5, seed=0)
    post = sampled(gq.Prior.approximated(small[0], 8), gq.Probit(0.05), labels, draws=500)
    largest = post.read.argmax(axis=3)
    assert (largest == labels.indices).all()
    assert post.diagnostics().ess > 1000


@pytest.mark.parametrize("agreeing", [True, False])
def test_twins_share_their_walls(agreeing):
    """Nodes that the graph cannot tell apart have the same fields but for rounding."""
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
    assert (abs(post.probability - other.probability) / spread).max() < 5


def test_classes_without_labels_and_many_classes(small):
    labels = gq.Labels([0, 7, 25], ["c01", "c01", "c02"], classes=[f"c{i:02}" for i in range(100)])
    post = sampled(gq.Prior.projected(small[0], 8), gq.Probit(0.3), labels, draws=50, chains=2)
    assert post.probability.shape == (40, 100)
    np.testing.assert_allclose(post.probability.sum(axis=1), 1)
    assert set(post.prediction[labels.nodes]) == {"c01", "c02"}
    assert post.probability[:, 5:].max() < 0.5


def test_measures_of_uncertainty(small):
    post = sampled(gq.Prior.projected(small[0], 8), gq.Probit(0.3), THREE, draws=200)
    p = post.probability
    np.testing.assert_allclose(post.variance, 1.5 * (1 - (p**2).sum(axis=1)))
    np.testing.assert_allclose(post.entropy, -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1))
    top = np.sort(p, axis=1)
    np.testing.assert_allclose(post.margin, top[:, 2] - top[:, 1])
    for by, size in (("entropy", -post.entropy), ("margin", post.margin)):
        assert (np.diff(size[post.ranking(by=by)]) >= 0).all()
    assert (np.diff(post.variance[post.ranking(by="variance")]) <= 0).all()
    with pytest.raises(ValueError, match="by must be one of"):
        post.ranking(by="size")


@pytest.mark.parametrize(
    ("kind", "sampler", "model"),
    [
        ("projected", gq.PCN(thin=100), gq.NoisyProbit(0.4, 0.2)),
        ("approximated", gq.EllipticalSlice(), gq.Probit(0.4)),
        ("projected", gq.HilbertHMC(), gq.Probit(0.4)),
        ("approximated", gq.HilbertHMC(), gq.NoisyProbit(0.4, 0.2)),
    ],
    ids=["pCN", "slice", "HMC", "HMC, approximated"],
)
def test_the_samplers_agree(small, kind, sampler, model):
    """Where there are more labels than modes, too."""
    labels = gq.reveal(np.repeat(["x", "y", "z"], [13, 13, 14]), counts=2, seed=0)
    prior = priors(small[0], 4)[kind]
    post = sampled(prior, model, labels)
    other = quietly(prior, model, labels, sampler, draws=1000, seed=2, progress=False)
    assert other.diagnostics().r_hat < 1.02
    spread = np.hypot(post.mcse, other.mcse)
    assert (abs(post.probability - other.probability) / (spread + 1e-6)).max() < 5
    ess = min(post.diagnostics().ess, other.diagnostics().ess)
    deviation = np.sqrt(post.latent_variance)
    gap = abs(post.latent_mean - other.latent_mean) / deviation
    assert gap.max() < 6 * np.sqrt(2 / ess)


def test_fields_that_are_labels_themselves_agree(small):
    labels = gq.Labels([0, 13, 38], ["a", "c", "b"])
    prior, model = gq.Prior.projected(small[0], 4), gq.GinzburgLandau(epsilon=5.0, gamma=0.3)
    post = quietly(prior, model, labels, draws=4000, seed=0, progress=False)
    assert post.settings["sampler"]["name"] == "HilbertHMC"
    other = quietly(prior, model, labels, gq.PCN(thin=150), draws=2000, seed=1, progress=False)
    assert post.diagnostics().r_hat < 1.02 > other.diagnostics().r_hat
    spread = np.hypot(post.mcse, other.mcse)
    assert (abs(post.mean - other.mean) / spread).max() < 5
    np.testing.assert_allclose(post.variance, post.latent_variance.sum(axis=1))
    tempered = quietly(
        prior, model, labels, gq.Tempered(replicas=3), draws=1000, seed=1, progress=False
    )
    spread = np.hypot(post.mcse, tempered.mcse)
    assert (abs(post.mean - tempered.mean) / spread).max() < 5


def test_the_prior_is_sampled_where_nothing_is_observed(small):
    """Through a flat likelihood, K fields have the prior's moments and all classes alike."""
    prior = gq.Prior.approximated(small[0], 8)
    for sampler in (gq.Harmonic(), gq.PCN(1.0, thin=1), gq.HilbertHMC()):
        model = gq.Probit(1e4)
        post = quietly(prior, model, THREE, sampler, draws=8000, seed=0, progress=False)
        np.testing.assert_allclose(post.probability, 1 / 3, atol=0.02)
        np.testing.assert_allclose(
            post.latent_variance, np.repeat(prior.variance()[:, None], 3, 1), rtol=0.1
        )


def test_a_seed_gives_the_same_draws_whatever_the_threads(small, tmp_path):
    prior = gq.Prior.approximated(small[0], 8)
    runs = [
        sampled(prior, gq.Probit(0.3), THREE, draws=300, threads=threads, node_files=folder)
        for threads, folder in ((1, None), (2, None), (2, tmp_path))
    ]
    for other in runs[1:]:
        for name in ("probability", "mcse", "latent_mean", "modes", "read"):
            np.testing.assert_array_equal(getattr(runs[0], name), getattr(other, name))
    assert np.load(tmp_path / "probability.npy").shape == (40, 3)


def test_a_run_goes_on_from_a_checkpoint(small, tmp_path, monkeypatch):
    from graphuq.samplers import run as module

    prior, path = gq.Prior.approximated(small[0], 8), tmp_path / "run"
    whole = sampled(prior, gq.NoisyProbit(0.3, 0.2), THREE, draws=1000, nodes=[3])
    advance_all, calls = module._advance_all, []

    def cut(pool, chains, bar, keep):
        for chain in chains:
            del chain.plan[len(chain.plan) // 2 :]
        advance_all(pool, chains, bar, keep)
        calls.append(1)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_advance_all", cut)
        sampled(prior, gq.NoisyProbit(0.3, 0.2), THREE, draws=1000, nodes=[3], checkpoint=path)
    assert calls
    again = sampled(prior, gq.NoisyProbit(0.3, 0.2), THREE, draws=1000, nodes=[3], checkpoint=path)
    for name in ("probability", "mcse", "modes", "field"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(again, name))


def test_a_likelihood_of_two_classes_is_refused(small):
    import dataclasses

    @dataclasses.dataclass(frozen=True)
    class Two:
        reads = "labelled"
        potential = gq.LevelSet.potential

    with pytest.raises(ValueError, match="serves two classes, and the labels have 3"):
        gq.sample(gq.Prior.projected(small[0], 8), Two(), THREE)


def test_more_classes_than_memory_holds_are_refused(small, monkeypatch):
    from graphuq import validation

    monkeypatch.setattr(validation, "_available_memory", lambda: 2.0**28)
    labels = gq.Labels([0, 7], [0, 1], classes=range(5000))
    with pytest.raises(MemoryError, match="traces of 4 x 1000 draws"):
        gq.sample(gq.Prior.projected(small[0], 8), gq.LevelSet(1.0), labels)


def test_diagnostics_of_many_quantities_find_the_worst():
    """Among 3,000 of which one mixes slowly, and one chain of another is elsewhere."""
    from graphuq.diagnostics import worst
    from graphuq.export import rhat_and_ess

    rng = np.random.default_rng(0)
    traces = rng.standard_normal((4, 400, 3000))
    for t in range(1, 400):
        traces[:, t, 1234] = 0.95 * traces[:, t - 1, 1234] + 0.3 * traces[:, t, 1234]
    traces[2, :, 777] += 3
    shown = worst(traces)
    assert shown.shape[2] <= 600
    r_hat, ess = rhat_and_ess(shown)
    few = np.r_[777, 1234, 0:300]
    expected = rhat_and_ess(traces[:, :, few])
    assert r_hat.max() == expected[0].max()
    assert ess.min() == expected[1].min()
    np.testing.assert_array_equal(worst(traces[:, :, :500]), traces[:, :, :500])
