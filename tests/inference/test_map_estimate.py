from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from conftest import priors
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from references.mutation import mutated
from scipy.optimize import minimize

import graphuq as gq
from graphuq.inference import map_estimate as map_module
from graphuq.likelihoods.bound import bind, evaluate

KINDS = ["full", "projected", "approximated"]
MODELS = [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.GinzburgLandau(1.0, 1.0)]


@njit
def _logistic(u, seen):
    return np.log1p(np.exp(-seen.y * u[seen.rows, 0] / seen.parameters[0])).sum()


@njit
def _logistic_gradient(u, seen, out):
    out[:] = 0.0
    for j in range(seen.y.size):
        odds = np.exp(seen.y[j] * u[seen.rows[j], 0] / seen.parameters[0])
        out[seen.rows[j], 0] = -seen.y[j] / seen.parameters[0] / (1.0 + odds)


@dataclass(frozen=True)
class Logistic:
    scale: float
    reads = "labelled"
    potential = staticmethod(_logistic)
    gradient = staticmethod(_logistic_gradient)


@dataclass(frozen=True)
class ProbitWithoutGradient:
    gamma: float
    reads = "labelled"
    potential = staticmethod(gq.Probit.potential)

    def sign_model(self, n_classes=2):
        return 0.3, np.inf


@dataclass(frozen=True)
class NoGradient:
    scale: float
    reads = "labelled"
    potential = staticmethod(_logistic)


def support(prior):
    """A dense C^(1/2) whose columns span the support: u = F z."""
    values, vectors = np.linalg.eigh(prior.law.covariance())
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def objective(prior, model, labels):
    """J as a function of z, from the potential alone."""
    F = support(prior)
    bound = bind(model, labels, prior.n_nodes)
    nodes = slice(None) if bound.nodes is None else bound.nodes
    return F, lambda z: 0.5 * z @ z + evaluate(bound, np.ascontiguousarray((F @ z)[nodes, None]))


def slopes(function, z, step=1e-5):
    moves = step * np.eye(z.size)
    return np.array([(function(z + h) - function(z - h)) / (2 * step) for h in moves])


def hessian(function, z, step=1e-3):
    moves = step * np.eye(z.size)
    return np.array(
        [
            [
                function(z + a + b)
                - function(z + a - b)
                - function(z - a + b)
                + function(z - a - b)
                for b in moves
            ]
            for a in moves
        ]
    ) / (4 * step**2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.05, 0.3, 3.0])
def test_newton_and_gradient_flow_meet_at_probits_minimum(small, kind, gamma):
    spectrum, labels, _ = small
    prior = priors(spectrum, 6)[kind]
    newton = gq.map_estimate(prior, gq.Probit(gamma), labels)
    flow = gq.map_estimate(
        prior, gq.Probit(gamma), labels, "flow", start="random", seed=3, max_iter=100_000
    )
    assert (newton.method, flow.method) == ("newton", "flow")
    assert newton.converged
    assert flow.converged
    assert newton.iterations <= 30
    np.testing.assert_allclose(newton.field, flow.field, atol=1e-5)
    assert abs(newton.objective - flow.objective) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [*MODELS, Logistic(0.5)], ids=repr)
def test_the_gradient_vanishes_on_the_support(small, kind, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 6)[kind]
    estimate = gq.map_estimate(prior, model, labels)
    F, J = objective(prior, model, labels)
    z = np.linalg.pinv(F) @ estimate.field
    np.testing.assert_allclose(F @ z, estimate.field, atol=1e-9)  # within the support
    if kind != "approximated":  # where q_0 is in the tail
        assert abs(estimate.field @ prior.spectrum.null) < 1e-9
    assert np.isclose(J(z), estimate.objective, rtol=1e-9)
    assert abs(slopes(J, z)).max() < 1e-5
    off = estimate.field + 0.05 * F[:, -1]
    assert abs(slopes(J, np.linalg.pinv(F) @ off)).max() > 1e-3  # negative control


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [gq.Probit(0.2), gq.GinzburgLandau(2.0, 0.7)], ids=repr)
def test_scipys_minimizer_agrees(small, kind, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 6)[kind]
    estimate = gq.map_estimate(prior, model, labels)
    F, J = objective(prior, model, labels)
    start = np.zeros(F.shape[1])
    if isinstance(model, gq.GinzburgLandau):  # the minimum that our start leads to
        start = np.linalg.pinv(F) @ gq.map_estimate(prior, gq.Probit(0.1), labels).field
    theirs = minimize(J, start, method="BFGS", options={"gtol": 1e-5})
    assert abs(theirs.fun - estimate.objective) < 1e-6
    np.testing.assert_allclose(F @ theirs.x, estimate.field, atol=1e-3)


def test_probits_hessian_is_positive_definite_and_the_gradient_norm_bounds_the_gap(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 5)
    model = gq.Probit(0.4)
    F, J = objective(prior, model, labels)
    for z in (np.linalg.pinv(F) @ gq.map_estimate(prior, model, labels).field, np.ones(5)):
        assert np.linalg.eigvalsh(hessian(J, z)).min() > 1 - 1e-4  # it is 1 for |z|^2 / 2 alone
    best = gq.map_estimate(prior, model, labels).objective
    with pytest.warns(gq.ConvergenceWarning, match=r"gradient norm of .*method 'newton'"):
        rough = gq.map_estimate(prior, model, labels, "flow", max_iter=3)
    assert not rough.converged
    assert 0 < rough.objective - best <= rough.gradient_norm**2 / 2
    slope = slopes(J, np.linalg.pinv(F) @ rough.field)
    assert np.isclose(np.linalg.norm(slope), rough.gradient_norm, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(KINDS), model=st.sampled_from(MODELS))
@settings(max_examples=20, deadline=None)
def test_the_objective_falls_with_every_iteration(small, seed, kind, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 6)[kind]
    values = [
        gq.map_estimate(
            prior, model, labels, "flow", start="random", seed=seed, max_iter=count
        ).objective
        for count in (1, 2, 3, 5, 10, 50)
    ]
    assert (np.diff(values) <= 1e-9).all()


def test_probit_separates_moons_and_its_probability_is_that_of_an_observed_label():
    X, y = gq.datasets.two_moons(300, seed=1)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=10, connect=True), 30)
    labels = gq.reveal(y, counts=10, seed=0)
    estimate = gq.map_estimate(prior, gq.Probit(0.1), labels)
    assert estimate.accuracy(y) > 0.9
    assert ((estimate.probability >= 0.5) == (estimate.prediction == 1)).all()
    bound = bind(gq.Probit(0.1), labels, 300)
    phi = evaluate(bound, estimate.field[labels.nodes, None])
    at = estimate.probability[labels.nodes]
    seen = np.where(labels.codes > 0, at, 1 - at)
    assert np.isclose(-np.log(seen).sum(), phi)
    noisy = gq.map_estimate(prior, gq.NoisyProbit(0.1, 0.2), labels)
    assert 0.2 <= noisy.probability.min() < noisy.probability.max() <= 0.8
    assert gq.map_estimate(prior, gq.GinzburgLandau(1.0, 1.0), labels).probability is None


def test_newton_needs_few_iterations_where_the_flow_crawls(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 6)
    assert gq.map_estimate(prior, gq.Probit(0.01), labels).iterations <= 40
    with pytest.warns(gq.ConvergenceWarning):
        gq.map_estimate(prior, gq.Probit(0.01), labels, "flow", max_iter=40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 1e2, 1e4])
def test_newton_copes_with_any_noise(small, kind, gamma):
    spectrum, labels, _ = small
    estimate = gq.map_estimate(priors(spectrum, 6)[kind], gq.Probit(gamma), labels)
    assert estimate.converged
    # J(0) = J log 2 is an upper bound, which u = 0 attains as gamma grows
    assert 0 < estimate.objective <= 5 * np.log(2) + 1e-12


def test_more_labels_than_modes(small):
    spectrum, _, y = small
    labels = gq.reveal(y, 1.0)
    for prior in priors(spectrum, 3).values():
        newton = gq.map_estimate(prior, gq.Probit(0.3), labels)
        flow = gq.map_estimate(prior, gq.Probit(0.3), labels, "flow", max_iter=100_000)
        np.testing.assert_allclose(newton.field, flow.field, atol=1e-5)


def test_ginzburg_landau_finds_other_minima_from_other_starts(small):
    spectrum, labels, y = small
    prior = gq.Prior.full(spectrum)
    model = gq.GinzburgLandau(0.2, 1.0)
    probit = gq.map_estimate(prior, gq.Probit(0.1), labels)
    given = gq.map_estimate(prior, model, labels, start=probit.field)
    auto = gq.map_estimate(prior, model, labels)
    np.testing.assert_array_equal(auto.field, given.field)
    spectral = gq.map_estimate(prior, model, labels, start="spectral")
    assert spectral.accuracy(y) > 0.9
    randoms = [
        gq.map_estimate(prior, model, labels, start="random", seed=seed) for seed in range(5)
    ]
    assert len({round(estimate.objective, 6) for estimate in randoms}) > 1
    again = gq.map_estimate(prior, model, labels, start="random", seed=0)
    np.testing.assert_array_equal(again.field, randoms[0].field)
    assert all(estimate.objective >= auto.objective - 1e-6 for estimate in randoms)


def test_the_spectral_start_is_turned_to_agree_with_most_labels(small):
    spectrum, labels, y = small
    model = gq.GinzburgLandau(0.05, 3.0)  # deep wells: the start decides
    prior = gq.Prior.full(spectrum)
    swapped = gq.Labels(labels.nodes, 1 - labels.values)
    ours = gq.map_estimate(prior, model, labels, start="spectral")
    theirs = gq.map_estimate(prior, model, swapped, start="spectral")
    np.testing.assert_allclose(ours.field, -theirs.field, atol=1e-6)
    assert ours.accuracy(y) > 0.9


def test_likelihoods_without_a_map_are_refused(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 6)
    with pytest.raises(ValueError, match=r"LevelSet has no MAP estimate.*Use gq\.Probit"):
        gq.map_estimate(prior, gq.LevelSet(0.3), labels)
    for plugin in (NoGradient(0.3), ProbitWithoutGradient(0.3)):
        with pytest.raises(ValueError, match=r"Gradient has no gradient\(u, seen, out\)"):
            gq.map_estimate(prior, plugin, labels)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prior": "prior"}, TypeError, r"prior must be a Prior"),
        ({"labels": [0, 1]}, TypeError, r"labels must be gq\.Labels"),
        ({"labels": gq.Labels([0, 90], [0, 1])}, ValueError, r"got 90"),
        ({"labels": gq.Labels([0, 1, 2], [0, 1, 2])}, ValueError, r"supports two classes"),
        ({"method": "quasi-newton"}, ValueError, r"supports more than two classes.*have 2"),
        ({"likelihood": gq.Probit}, TypeError, r"pass an instance"),
        ({"method": "bfgs"}, ValueError, r"method must be one of 'auto', 'newton', 'flow'"),
        ({"method": "newton"}, ValueError, r"supports probit only, got GinzburgLandau"),
        (
            {"likelihood": gq.Probit(0.1), "start": "random"},
            ValueError,
            r"starts at 0, since there is one minimum",
        ),
        ({"start": "middle"}, ValueError, r"start must be one of"),
        ({"start": np.zeros(3)}, ValueError, r"finite field of 40 nodes, got shape \(3,\)"),
        ({"start": np.full(40, np.nan)}, ValueError, r"finite field"),
        ({"start": 1e200 * np.arange(40)}, ValueError, r"J is inf at the start"),
        ({"tol": 0}, ValueError, r"tol must be positive"),
        ({"max_iter": 0}, ValueError, r"max_iter must be between 1 and"),
        ({"seed": -1}, TypeError, r"seed must be a non-negative int"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_bad_input_is_refused_with_a_reason(small, change, error, message):
    spectrum, labels, _ = small
    good = {
        "prior": gq.Prior.projected(spectrum, 6),
        "likelihood": gq.GinzburgLandau(1.0, 1.0),
        "labels": labels,
    }
    with pytest.raises(error, match=message):
        gq.map_estimate(**{**good, **change})


def test_too_many_labels_for_newton_are_refused_before_any_work(small, monkeypatch):
    spectrum, labels, _ = small
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 10.0)
    with pytest.raises(MemoryError, match=r"5 labels needs about .* take method 'flow'"):
        gq.map_estimate(gq.Prior.projected(spectrum, 6), gq.Probit(0.3), labels)


def test_a_wrong_curvature_is_slower_than_newton(small):
    """A negative control for Newton's Hessian: without u / gamma^2 it takes more iterations."""
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 6)
    newton = mutated(map_module._newton, "slope - u / gamma**2", "slope")
    bound = bind(gq.Probit(0.05), labels, prior.n_nodes)
    wrong = newton(prior, bound, 1e-9, 200)
    right_end = map_module._newton(prior, bound, 1e-9, 200)
    assert right_end.gradient_norm <= 1e-9
    assert wrong.iterations > right_end.iterations


@pytest.fixture(scope="module")
def three(small):
    """Labels of three classes, one of which has none."""
    labels = gq.Labels([0, 7, 13, 25, 38], list("aabab"), classes=list("abc"))
    return gq.Prior.approximated(small[0], 12), labels


def objective_of_classes(bound, root, flat):
    """J over the whitened fields."""
    z = flat.reshape(root.shape[1], -1)
    return 0.5 * flat @ flat + evaluate(bound, np.ascontiguousarray(root @ z))


@pytest.mark.parametrize("model", [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1)], ids=repr)
def test_the_estimate_of_many_classes_is_the_minimum(three, model):
    prior, labels = three
    estimate = gq.map_estimate(prior, model, labels)
    assert estimate.converged
    assert estimate.method == "quasi-newton"
    assert estimate.field.shape == estimate.by_class.shape == (40, 3)
    bound, root = bind(model, labels, 40), prior.root(labels.nodes)
    fun = partial(objective_of_classes, bound, root)
    theirs = minimize(fun, np.full(root.shape[1] * 3, 0.01), method="BFGS")
    assert estimate.objective == pytest.approx(theirs.fun, abs=1e-6)
    found = root @ theirs.x.reshape(-1, 3)
    np.testing.assert_allclose(estimate.field[labels.nodes], found, atol=1e-3)
    # the field lies in the span of C_.J, so all nodes follow from the labeled ones
    C = prior.covariance(np.arange(40), labels.nodes)
    gain = C @ np.linalg.pinv(prior.covariance(labels.nodes, labels.nodes))
    np.testing.assert_allclose(estimate.field, gain @ estimate.field[labels.nodes], atol=1e-4)


def test_predictions_of_many_classes_follow_the_largest_field(three):
    prior, labels = three
    estimate = gq.map_estimate(prior, gq.NoisyProbit(0.3, 0.1), labels)
    np.testing.assert_allclose(estimate.by_class.sum(axis=1), 1)
    assert estimate.by_class.min() > 0.04  # a label is wrong with probability 0.1
    np.testing.assert_array_equal(estimate.prediction, labels.classes[estimate.field.argmax(1)])
    assert estimate.accuracy(estimate.prediction) == 1


def test_any_start_of_many_classes_ends_at_the_minimum(three):
    prior, labels = three
    first = gq.map_estimate(prior, gq.Probit(0.3), labels)
    for start in ("random", "probit", np.ones((40, 3))):
        again = gq.map_estimate(prior, gq.Probit(0.3), labels, start=start, seed=0)
        np.testing.assert_allclose(again.field, first.field, atol=1e-5)
    with pytest.raises(ValueError, match="'spectral' is for two classes: leave start out"):
        gq.map_estimate(prior, gq.Probit(0.3), labels, start="spectral")
    with pytest.raises(ValueError, match="40 nodes and 3 classes, got shape"):
        gq.map_estimate(prior, gq.Probit(0.3), labels, start=np.ones(40))
    with pytest.raises(ValueError, match=r"'newton' supports two classes.*have 3: leave method"):
        gq.map_estimate(prior, gq.Probit(0.3), labels, "newton")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_sure", [0, 3], ids=["all doubtful", "mixed"])
def test_labels_with_confidence_have_an_estimate(n_classes, n_sure):
    """Those of confidence p under probit are those of noisy probit with flips at a rate 1 - p."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=6, connect=True), rank=20)
    values = np.floor(n_classes * np.argsort(np.argsort(X[:12, 0])) / 12).astype(int)
    trust = np.full(12, 0.9)
    trust[:n_sure] = 1.0
    labels = gq.Labels(range(12), values, confidence=trust)
    found = gq.map_estimate(prior, gq.Probit(0.3), labels)
    assert found.converged
    zero = gq.map_estimate(prior, gq.Probit(0.3), labels, start="zero")
    assert found.objective <= zero.objective + 1e-6
    if n_sure == 0:
        flips = gq.NoisyProbit(0.3, 0.1)
        same = gq.map_estimate(prior, flips, gq.Labels(range(12), values))
        np.testing.assert_allclose(found.field, same.field, atol=1e-6)
    # a start at probit's estimate takes it from the labels alone
    again = gq.map_estimate(prior, gq.Probit(0.3), labels, start="probit")
    np.testing.assert_array_equal(found.field, again.field)
