"""The harmonic sampler against exact answers, and wrong versions of it that must fail."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import priors, quietly
from references.exact import errors_in_mcse, exact_mean
from references.mutation import plant
from references.selection import each_once, first_of, shown

import graphuq as gq
from graphuq.samplers import sign_walls, walls

USUAL = [gq.Probit(0.1), gq.LevelSet(0.7), gq.NoisyProbit(0.1, 0.1)]
EXTREME = [
    *(gq.Probit(gamma) for gamma in (0.01, 1.0)),
    *(gq.LevelSet(gamma) for gamma in (0.01, 1.5)),
    *(gq.NoisyProbit(gamma, 0.1) for gamma in (0.01, 1.0)),
]
NODES = np.array([0, 3, 11, 16, 21, 29, 34])


@pytest.mark.parametrize(
    ("kind", "model"),
    each_once(["full", "projected", "approximated"], [*USUAL, *EXTREME], count=len(USUAL)),
    ids=shown,
)
def test_node_means_are_exact(small, kind, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    exact = exact_mean(prior, model, labels, NODES)
    post = gq.sample(prior, model, labels, gq.Harmonic(), draws=4000, seed=1, progress=False)
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, exact, NODES).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "right", "wrong", "model"),
    first_of(
        [
            ("_flow", "math.sqrt(speed * speed - ...)", "abs(speed)", gq.LevelSet(1.2)),
            ("_flow", "speed * speed + 2.0 * cost", "speed * speed + cost", gq.LevelSet(1.2)),
            ("_flow", "-speed", "speed", gq.Probit(0.3)),
            ("_turn", "... + kick * row[i]", "...", gq.Probit(0.3)),
            ("_turn", "... * cos - ... * sin", "...", gq.Probit(0.3)),
            (
                "_flow",
                "_turn(x, w, ratio, G[j], cos, sin, kick, j)",
                "_turn(x[:j], w[:j], ratio, G[j], cos, sin, kick, j)",
                gq.Probit(0.3),
            ),
        ]
    ),
    ids=[
        "no slowing down",
        "little lift",
        "no reflection",
        "kick without covariance",
        "no turning",
        "later nodes forgotten",
    ],
)
def test_negative_controls_fail(small, monkeypatch, function, right, wrong, model):
    spectrum, labels, _ = small
    callers = ["_flow"] if function == "_turn" else []
    plant(monkeypatch, sign_walls, function, right, wrong, callers=callers)
    prior = gq.Prior.approximated(spectrum, 8)
    exact = exact_mean(prior, model, labels, NODES)
    post = quietly(prior, model, labels, gq.Harmonic(), draws=20_000, seed=1, progress=False)
    assert errors_in_mcse(post, exact, NODES).max() > 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "gamma"), each_once(["full", "projected", "approximated"], [0.05, 0.5])
)
def test_it_agrees_with_pcn_where_there_are_more_labels_than_modes(small, kind, gamma):
    spectrum, _, y = small
    labels = gq.reveal(y, counts=8, seed=1)
    prior = priors(spectrum, 5)[kind]
    model = gq.NoisyProbit(gamma, 0.05)
    run = {"seed": 3, "nodes": [2, 30], "progress": False}
    a = gq.sample(prior, model, labels, gq.Harmonic(), draws=4000, **run)
    b = gq.sample(prior, model, labels, gq.PCN(), draws=4000, thin=200, **run)
    np.testing.assert_array_less(abs(a.mean - b.mean), 5 * np.hypot(a.mcse, b.mcse) + 1e-3)
    ess = min(a.diagnostics().ess, b.diagnostics().ess)
    spread = np.sqrt(a.latent_variance)
    np.testing.assert_array_less(
        abs(a.latent_mean - b.latent_mean), 6 * spread * np.sqrt(2 / ess) + 1e-3
    )
    np.testing.assert_allclose(a.latent_variance, b.latent_variance, rtol=10 / np.sqrt(ess))
    # the traces have the same moments as the streamed statistics
    field = a.draws.field.reshape(-1, 2)
    np.testing.assert_allclose(field.mean(0), a.latent_mean[[2, 30]], atol=6 / np.sqrt(ess))
    np.testing.assert_allclose(field.var(0), a.latent_variance[[2, 30]], rtol=10 / np.sqrt(ess))


@pytest.mark.slow
@pytest.mark.parametrize("thin", [1, 2])
@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.LevelSet(0.7)], ids=repr)
def test_standard_errors_are_honest(model, thin):
    """The spread of means over seeds is what the runs say.

    It comes from few directions: that of 50 seeds is uncertain by 7%, that of 200 by 3%.
    """
    X, y = gq.datasets.two_moons(300, d=2, sigma=0.1, seed=0)
    graph = gq.knn_graph(X, n_neighbors=10, connect=True)
    prior, labels = gq.Prior.projected(graph, 40, alpha=1.0), gq.reveal(y, counts=15, seed=0)
    posts = [
        gq.sample(prior, model, labels, draws=500, thin=thin, seed=seed, progress=False)
        for seed in range(200)
    ]
    for value, error in (("mean", "mcse"), ("probability", "probability_mcse")):
        spread = np.var([getattr(post, value) for post in posts], axis=0, ddof=1)
        said = np.mean(np.square([getattr(post, error) for post in posts]), axis=0)
        assert 0.9 < np.sqrt(spread.sum() / said.sum()) < 1.1


def test_the_next_wall_is_the_one_with_the_smallest_ratio():
    rng = np.random.default_rng(0)
    row, w = rng.standard_normal((2, 37))
    for x in (rng.standard_normal(37), np.abs(w) * rng.uniform(1, 2, 37)):
        for but in (5, 37):
            new_x, new_w, ratio = x.copy(), w.copy(), np.empty(37)
            lowest = sign_walls._turn(new_x, new_w, ratio, row, 0.8, 0.6, 0.3, but)
            np.testing.assert_allclose(new_x, 0.8 * x + 0.6 * w, rtol=1e-14, atol=1e-14)
            np.testing.assert_allclose(new_w, 0.8 * w - 0.6 * x + 0.3 * row, rtol=1e-13, atol=1e-14)
            every = np.delete(new_w / new_x, [but] if but < 37 else [])
            np.testing.assert_array_equal(np.delete(ratio, [but] if but < 37 else []), every)
            if every.min() < 0:
                assert lowest == every.min()
                assert ratio[sign_walls._find(ratio, lowest)] == lowest
            else:
                assert lowest >= 0
    # no wall ahead: all fields grow
    x = np.arange(1.0, 38.0)
    assert sign_walls._turn(x, x.copy(), np.empty(37), row, 1.0, 0.0, 0.0, 37) >= 0


def test_draws_are_nearly_independent(small):
    spectrum, labels, _ = small
    for model in (gq.Probit(0.001), gq.Probit(0.1), gq.Probit(10.0), gq.LevelSet(0.1)):
        prior = gq.Prior.approximated(spectrum, 8)
        post = gq.sample(prior, model, labels, gq.Harmonic(), seed=0, progress=False)
        assert post.diagnostics().ess > 0.7 * 4000


def test_rigid_walls_are_never_left(small):
    spectrum, labels, _ = small
    target_prior = gq.Prior.approximated(spectrum, 8)
    from graphuq.likelihoods.bound import bind
    from graphuq.samplers.protocol import Target

    bound = bind(gq.Probit(0.1), labels, 40)
    target = Target(target_prior.at(labels.nodes).with_noise(0.1), bound)
    sampler, rng = gq.Harmonic(), np.random.default_rng(0)
    state = sampler.start(target, rng)
    _, chunk = sampler.advance(target, state, rng, 2000, 1, False)
    assert (chunk.fields * labels.codes > 0).all()


def test_conflicting_labels_on_twins_are_sampled():
    """Two nodes that the graph cannot tell apart, with different labels: the field is near 0."""
    twins = np.ones((6, 6)) - np.eye(6)
    twins[:3, 3:] = twins[3:, :3] = 0.01
    prior = gq.Prior.projected(gq.Graph(twins), 1)
    labels = gq.Labels([0, 1, 3], [1, 0, 1])
    post = gq.sample(prior, gq.Probit(0.01), labels, gq.Harmonic(), seed=0, progress=False)
    assert post.latent_variance.max() < 0.01
    assert np.isfinite(post.mean).all()


def test_other_likelihoods_are_refused_with_a_remedy(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    with pytest.raises(ValueError, match=r"supports the sign models.*HilbertHMC"):
        gq.sample(prior, gq.GinzburgLandau(1.0, 1.0), labels, gq.Harmonic())


@pytest.mark.parametrize("flip_rate", [0, 0.5, -0.1, float("nan")])
def test_flip_rates_outside_their_range_are_refused(flip_rate):
    with pytest.raises(ValueError, match="flip_rate"):
        gq.NoisyProbit(0.1, flip_rate)


def rank_one(*nodes_and_values):
    """Two triangles under the projection to one mode: all fields are multiples of each other."""
    twins = np.ones((6, 6)) - np.eye(6)
    twins[:3, 3:] = twins[3:, :3] = 0.01
    return gq.Prior.projected(gq.Graph(twins), 1), gq.Labels(*nodes_and_values)


@pytest.mark.parametrize(
    ("nodes", "values", "gamma", "net"),
    [
        ([0, 3], [1, 0], 1.0, 2),  # both labels speak for the same sign of the mode
        ([0, 1], [1, 0], 1.0, 0),  # twins that contradict each other
        ([0, 1, 2], [1, 1, 0], 1.5, 1),
        ([0, 1, 2, 3], [1, 1, 0, 1], 0.7, 0),
    ],
)
def test_walls_of_collinear_fields_are_one_wall(nodes, values, gamma, net):
    prior, labels = rank_one(nodes, values)
    post = quietly(prior, gq.LevelSet(gamma), labels, draws=4000, seed=0, progress=False)
    # the sign of the mode is right with odds exp(2 net / gamma^2)
    exact = np.full(6, np.tanh(net / gamma**2)) * [1, 1, 1, -1, -1, -1]
    np.testing.assert_array_less(abs(post.mean - exact), 5 * post.mcse + 1e-3)


def test_a_label_where_the_prior_has_no_field_says_nothing():
    path = np.diag(np.ones(8), 1)
    prior = gq.Prior.projected(gq.Graph(path + path.T), 1)  # node 4 is a zero of its mode
    labels = gq.Labels([0, 4], [0, 1])
    post = gq.sample(prior, gq.LevelSet(1.0), labels, draws=4000, seed=0, progress=False)
    assert abs(post.mean[0] + np.tanh(1)) < 5 * post.mcse[0]


@pytest.mark.parametrize("twin", [0, 1], ids=["agreeing", "contradicting"])
@pytest.mark.parametrize("gamma", [0.7, 1.5])
def test_duplicated_items_agree_with_elliptical_slice(gamma, twin):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2)) + 2.5 * np.repeat([[0.0], [1.0]], 20, axis=0)
    graph = gq.knn_graph(np.vstack([X, X[:5]]), n_neighbors=6, connect=True)
    prior = gq.Prior.projected(graph, 8)
    labels = gq.Labels([0, 40, 7, 13, 25, 38], [0, twin, 0, 1, 1, 1])
    a = gq.sample(prior, gq.LevelSet(gamma), labels, draws=4000, seed=0, progress=False)
    b = quietly(
        prior, gq.LevelSet(gamma), labels, gq.EllipticalSlice(), draws=2000, seed=1, progress=False
    )
    np.testing.assert_array_less(abs(a.mean - b.mean), 5 * np.hypot(a.mcse, b.mcse) + 1e-3)


def test_walls_once_each_is_what_makes_them_right(monkeypatch):
    """Negative control: one wall per labeled node."""
    monkeypatch.setattr(walls, "COLLINEAR", -1.0)
    walls.walls_at.cache_clear()
    prior, labels = rank_one([0, 3], [1, 0])
    post = quietly(prior, gq.LevelSet(1.0), labels, draws=4000, seed=0, progress=False)
    walls.walls_at.cache_clear()
    assert abs(post.mean[0] - np.tanh(2)) > 5 * post.mcse[0]
