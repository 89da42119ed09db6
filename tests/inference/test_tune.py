"""Parameters chosen by the evidence."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from conftest import quietly
from references.selection import first_of

import graphuq as gq
from graphuq.likelihoods.probit import Probit


@pytest.fixture(scope="module")
def simulated():
    """Digits' graph, and labels from a prior with alpha = 2 and probit noise 0.3."""
    X, _ = gq.datasets.digit_pair(4, 9)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=10), rank=60)
    rng = np.random.default_rng(0)
    field = gq.Prior.projected(spectrum, 60, alpha=2.0).draw(1, seed=4)[0]
    nodes = rng.permutation(361)[:150]
    noisy = field[nodes] + 0.3 * rng.standard_normal(150)
    return spectrum, gq.Labels(nodes, np.where(noisy > 0, "b", "a"))


@pytest.mark.slow
def test_no_point_of_a_fine_grid_has_more_evidence(simulated):
    spectrum, labels = simulated
    prior = gq.Prior.projected(spectrum, 60, alpha="auto")
    found = gq.tune(prior, labels, gq.Probit)

    def log_density(alpha, gamma):
        return np.log(alpha) - alpha / 4 + np.log(gamma) - np.log1p((gamma / 0.2) ** 2)

    grid = [
        gq.evidence(gq.Prior.projected(spectrum, 60, alpha=alpha), gq.Probit(gamma), labels)
        + log_density(alpha, gamma)
        for alpha in np.linspace(0.5, 10, 20)
        for gamma in np.geomspace(0.01, 1, 12)
    ]
    best = found.log_evidence + log_density(**found.chosen)
    assert best > max(grid) - 0.02
    assert found.log_evidence == gq.evidence(found.prior, found.likelihood, labels)
    assert found.table["log_posterior"].max() == pytest.approx(best, abs=1e-12)
    assert found.chosen == {"alpha": found.prior.alpha, "gamma": found.likelihood.gamma}
    assert found.at_edge == ()
    again = gq.tune(prior, labels, gq.Probit)
    assert again.chosen == found.chosen


def test_one_label_of_each_class_does_not_choose_the_roughest_prior():
    X, y = gq.datasets.digit_pair(4, 9)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=10), rank=100)
    labels = gq.reveal(y, counts=1, seed=0)
    found = gq.tune(spectrum, labels)
    assert found.chosen["alpha"] > 2
    assert found.at_edge == ()
    post = gq.approximate(found.prior, found.likelihood, labels)
    assert post.calibration(y).log_score < 0.5 * np.log(2)
    rough = gq.approximate(found.prior.with_parameters(alpha=1.0), found.likelihood, labels)
    assert rough.calibration(y).log_score > 0.8 * np.log(2)


@pytest.mark.slow
def test_every_parameter_can_be_open_and_ends_are_reported(simulated):
    spectrum, labels = simulated
    prior = gq.Prior.approximated(spectrum, "auto", alpha="auto", tau="auto")
    ranges = {"alpha": (0.5, 0.6), "tau": (0.01, 0.5), "rank": (20, 60), "flip_rate": (1e-3, 0.1)}
    found = gq.tune(prior, labels, gq.NoisyProbit(gamma=0.2), **ranges)
    assert found.likelihood.gamma == 0.2
    assert found.prior.kind == "approximated"
    assert set(found.chosen) == set(ranges)
    for name, (low, high) in ranges.items():
        assert low <= found.chosen[name] <= high
        assert found.table[name].between(low, high).all()
    assert isinstance(found.chosen["rank"], int)
    assert found.prior.rank == found.chosen["rank"]
    assert "alpha" in found.at_edge
    assert "at the end of its range" in repr(found)


def test_a_number_is_kept_to(simulated):
    spectrum, labels = simulated
    found = gq.tune(spectrum, labels, gq.Probit(), alpha=3.0)
    assert found.prior.parameters["alpha"] == 3.0
    assert list(found.chosen) == ["tau", "level", "gamma"]


@pytest.mark.parametrize("likelihood", first_of([gq.Probit(), gq.LevelSet(), gq.NoisyProbit(0.2)]))
def test_auto_means_tuned_everywhere(simulated, likelihood):
    spectrum, labels = simulated
    found = gq.tune(spectrum, labels, likelihood)
    post = quietly(spectrum, likelihood, labels, draws=50, chains=2, seed=0, progress=False)
    told = quietly(
        found.prior, found.likelihood, labels, draws=50, chains=2, seed=0, progress=False
    )
    np.testing.assert_array_equal(post.probability, told.probability)
    assert post.settings["prior"]["alpha"] == found.chosen["alpha"]
    assert post.settings["prior"]["level"] == found.chosen["level"]
    assert post.settings["likelihood"]["gamma"] == found.likelihood.gamma
    often_flipped = isinstance(likelihood, gq.NoisyProbit)  # the Gaussian is poor, and that is said
    poor = pytest.warns(RuntimeWarning, match="expectation propagation is poor here")
    with poor if often_flipped else nullcontext():
        quick = gq.approximate(spectrum, likelihood, labels)
    assert quick.sites.log_evidence == pytest.approx(found.log_evidence, abs=1e-6)


def test_a_graph_stands_for_its_prior_and_map_estimates_know_auto(simulated):
    X, y = gq.datasets.two_moons(100, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    labels = gq.reveal(y, counts=10, seed=0)
    quick = gq.approximate(graph, gq.Probit(), labels)
    assert quick.settings["prior"]["rank"] == 99
    prior = gq.Prior.projected(graph, 30, alpha="auto")
    estimate = gq.map_estimate(prior, gq.Probit(), labels)
    assert estimate.prediction.shape == (100,)


def test_a_plugin_with_a_sign_model_can_be_tuned(simulated):
    spectrum, labels = simulated

    @dataclass(frozen=True)
    class Mine:
        gamma: float | str = "auto"
        reads: ClassVar[str] = "labelled"
        potential: ClassVar[Any] = staticmethod(Probit.potential)

        def sign_model(self, n_classes=2):
            return float(self.gamma), float("inf")

    with pytest.raises(
        ValueError, match=r"gamma has no range of its own: give gamma=\(low, high\)"
    ):
        gq.tune(spectrum, labels, Mine())
    mine = gq.tune(spectrum, labels, Mine, gamma=(0.01, 1.0))
    assert mine.chosen == gq.tune(spectrum, labels, gq.Probit).chosen


@pytest.mark.slow
def test_settings_without_convergence_are_left_out(simulated):
    spectrum, labels = simulated
    rng = np.random.default_rng(0)
    mixed = gq.Labels(labels.nodes, rng.permutation(labels.values))
    prior = gq.Prior.projected(spectrum, 60)
    found = gq.tune(prior, mixed, gq.LevelSet, gamma=(0.1, 2.0))
    assert found.table["log_evidence"].isna().any()
    assert np.isfinite(found.log_evidence)
    with pytest.raises(RuntimeError, match="could not be computed anywhere in the ranges"):
        gq.tune(prior, mixed, gq.LevelSet, gamma=(0.1, 0.12))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": (3.0, 1.0)}, ValueError, "range of alpha must have low below high"),
        ({"gamma": (0.0, 1.0)}, ValueError, "must begin above 0"),
        ({"gamma": (0.1, 0.2, 0.3)}, TypeError, "must be a number or a range"),
        ({"gamma": ("a", 1.0)}, TypeError, "gamma must be a number"),
        ({"rank": (10, 61)}, ValueError, "rank must be between 1 and 60, got 61"),
        ({"rank": 61}, ValueError, "rank must be between 1 and 60, got 61"),
        (
            {"epsilon": (0.1, 1.0)},
            TypeError,
            "there is no parameter epsilon: the parameters are alpha",
        ),
        ({"alpha": (0.001, 1.0)}, ValueError, "alpha must lie between"),
        ({"level": (-1.0, 1.0)}, ValueError, "level must lie between"),
        (
            {"alpha": 2.0, "tau": 0, "gamma": 0.1, "level": 0},
            ValueError,
            "all parameters are fixed",
        ),
    ],
)
def test_ranges_are_checked_before_any_work(simulated, arguments, error, message):
    spectrum, labels = simulated
    with pytest.raises(error, match=message):
        gq.tune(spectrum, labels, gq.Probit, **arguments)


def test_what_cannot_be_tuned_is_refused(simulated):
    spectrum, labels = simulated
    with pytest.raises(TypeError, match="chosen for the sign models"):
        gq.tune(spectrum, labels, gq.GinzburgLandau(1.0, 0.1))
    with pytest.raises(TypeError, match='without the default "auto"'):
        gq.tune(spectrum, labels, gq.GinzburgLandau)
    with pytest.raises(TypeError, match=r"labels must be gq\.Labels"):
        gq.tune(spectrum, "labels", gq.Probit)
    with pytest.raises(ValueError, match="flip_rate must lie in"):
        gq.tune(spectrum, labels, gq.NoisyProbit, flip_rate=(0.1, 0.7))
    with pytest.raises(TypeError, match="gamma must be a number, got 'automatic'"):
        gq.Probit("automatic")


def test_a_rank_takes_no_range_under_the_full_prior(small):
    spectrum, labels, _ = small
    with pytest.raises(TypeError, match="there is no parameter rank"):
        gq.tune(gq.Prior.full(spectrum, alpha="auto"), labels, gq.Probit, rank=(3, 10))


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, labels: gq.tune(graph, labels, alpha=(8, 1)),
        lambda graph, labels: gq.tune(graph, labels, "probit"),
        lambda graph, labels: gq.tune(graph, [0, 1]),
        lambda graph, labels: gq.sample(graph, gq.Probit(), labels, draws=-1),
        lambda graph, labels: gq.sample(graph, gq.Probit(), labels, nodes=[1000]),
        lambda graph, labels: gq.sample(graph, gq.Probit(), labels, seed="seed"),
        lambda graph, labels: gq.approximate(graph, gq.GinzburgLandau(1.0, 0.5), labels),
        lambda graph, labels: gq.approximate(graph, gq.Probit(), labels, start=5),
    ],
)
def test_nothing_is_computed_before_arguments_are_checked(call, monkeypatch):
    X, y = gq.datasets.two_moons(60, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    monkeypatch.setattr(gq.Spectrum, "of", lambda *arguments: pytest.fail("eigenpairs"))
    with pytest.raises((TypeError, ValueError)) as caught:
        call(graph, gq.reveal(y, counts=5, seed=0))
    assert "\n" not in str(caught.value)


def test_equal_ends_of_a_rank_are_a_rank(simulated):
    spectrum, labels = simulated
    found = gq.tune(spectrum, labels, gq.Probit(0.1), rank=(20, 20))
    assert found.prior.graph_part.rank == 20
    assert list(found.chosen) == ["alpha", "tau", "level"]


@pytest.mark.parametrize("other", [None, "graph", 3, np.ones(3)])
def test_what_is_no_prior_is_told_what_is(small, other):
    expected = f"must be a Prior, a Spectrum or a Graph, .* got {type(other).__name__}"
    with pytest.raises(TypeError, match=expected):
        gq.tune(other, small[1])
    with pytest.raises(TypeError, match=expected):
        gq.sample_jointly(other, gq.Probit("auto"), small[1])
