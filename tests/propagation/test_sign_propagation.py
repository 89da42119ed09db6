"""Sites of one field against plain visits in turn, and the search for a fixed point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

import graphuq as gq
from graphuq.likelihoods.bound import bind
from graphuq.propagation import settle as module
from graphuq.propagation.gaussian_sites import NotConvergedError
from graphuq.propagation.settle import Visit, settle
from graphuq.propagation.sign_propagation import propagate

LIKELIHOODS = [
    gq.Probit(0.02),
    gq.Probit(2.0),
    gq.LevelSet(0.8),
    gq.NoisyProbit(0.1, 0.1),
]


@pytest.fixture(scope="module")
def moons():
    X, y = gq.datasets.two_moons(200, seed=0)
    return y, gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=40)


def visited_in_turn(root, bound, visits=100):
    """Tau and nu of expectation propagation, one node after another, without any shortcut."""
    y, noise = bound.observed.y, float(bound.label_model.noise)
    flip = float(bound.label_model.flip_rate(2))
    C = root @ root.T
    tau, nu = np.zeros(y.size), np.zeros(y.size)
    for _ in range(visits):
        for j in range(y.size):
            S = np.linalg.solve(np.eye(y.size) + C * tau, C)
            v, m = S[j, j], S[j] @ nu
            cavity = 1 / (1 / v - tau[j])
            center = cavity * (m / v - nu[j])
            b = math.hypot(math.sqrt(cavity), noise)
            z = y[j] * center / b
            density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            s = (1 - 2 * flip) * density / (flip + (1 - 2 * flip) * ndtr(z))
            tilted = center + cavity * y[j] * s / b
            variance = cavity - cavity**2 * s * (z + s) / b**2
            tau[j] = 1 / variance - 1 / cavity
            nu[j] = tilted / variance - center / cavity
    return tau, nu


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("count", [4, 15])
def test_sites_are_those_of_visits_in_turn(moons, likelihood, count):
    y, spectrum = moons
    labels = gq.reveal(y, counts=count, seed=1)
    values = labels.values.copy()
    values[2] = 1 - values[2]
    bound = bind(likelihood, gq.Labels(labels.nodes, values), spectrum.n_nodes)
    root = gq.Prior.projected(spectrum, 40, alpha=2.0, tau=0.3).root(labels.nodes)
    found, (tau, nu) = propagate(root, bound), visited_in_turn(root, bound)
    np.testing.assert_allclose(found.precision, tau, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.shift, nu, rtol=1e-5, atol=1e-6)


def test_the_order_and_the_columns_of_the_root_change_nothing(moons):
    y, spectrum = moons
    labels = gq.reveal(y, counts=6, seed=1)
    root = gq.Prior.projected(spectrum, 40, alpha=2.0, tau=0.3).root(labels.nodes)
    order = np.random.default_rng(0).permutation(len(labels))
    bound = bind(gq.NoisyProbit(0.1, 0.05), labels, 200)
    other = bound._replace(observed=bound.observed._replace(y=bound.observed.y[order]))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((root.shape[1],) * 2))[0]
    found, again = propagate(root, bound), propagate(root[order] @ turn, other)
    np.testing.assert_allclose(again.mean, found.mean[order], atol=1e-8)
    assert again.log_evidence == pytest.approx(found.log_evidence, abs=1e-8)


@pytest.mark.parametrize("gamma", [1e-3, 0.1])
def test_hundreds_of_labels_of_one_mode_settle(moons, gamma):
    y, spectrum = moons
    labels = gq.Labels(np.arange(200), y)
    root = gq.Prior.projected(spectrum, 40, alpha=20.0).root(labels.nodes)
    tau = propagate(root, bind(gq.Probit(gamma), labels, 200)).precision
    assert (tau > 0).all()


def test_a_label_where_the_field_is_zero_has_no_site():
    bound = bind(gq.Probit(0.1), gq.Labels([0, 1, 2], [0, 1, 1]), 3)
    root = np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]])
    found = propagate(root, bound)
    assert found.precision[1] == found.shift[1] == 0
    assert (found.precision[[0, 2]] > 0).all()
    with pytest.raises(NotConvergedError):
        propagate(np.full((3, 2), np.nan), bound)


def linear(matrix, center):
    """Visits that ask for sites along a line: plain steps grow where the matrix is large."""

    def visit(sites, least):
        del least
        if abs(sites).max() > 1e3:
            raise NotConvergedError("there is no Gaussian")
        asked = (center + matrix @ (sites.ravel() - center)).reshape(sites.shape)
        ones = np.ones(sites.shape[1])
        return Visit(asked, np.zeros(sites.shape[1]), ones, True, None)

    return visit


def plain_step(history, units, step):
    sites, residual = history[-1]
    return sites + step * residual


def test_a_fixed_point_that_plain_steps_leave_is_found(monkeypatch):
    turn = np.array([[1.5, 1.2], [-1.2, 1.5]])
    matrix, center = np.kron(turn, np.eye(2)), np.arange(4.0)
    sites, _ = settle(linear(matrix, center), np.ones((2, 2)), 1e-9)
    np.testing.assert_allclose(sites.ravel(), center, atol=1e-7)
    monkeypatch.setattr(module, "_next", plain_step)
    with pytest.raises(NotConvergedError):
        settle(linear(matrix, center), np.ones((2, 2)), 1e-9)


def test_a_start_without_a_gaussian_is_left(monkeypatch):
    monkeypatch.setattr(module, "STEPS", (1.0,))
    center = np.arange(4.0)
    sites, _ = settle(linear(0.5 * np.eye(4), center), np.full((2, 2), 1e4), 1e-9)
    np.testing.assert_allclose(sites.ravel(), center, atol=1e-7)


def test_steps_are_halved_where_there_is_no_gaussian():
    inner = linear(0.9 * np.eye(4), np.full(4, 2.0))

    def visit(sites, least):
        if sites.max() > 3:  # far beyond the fixed point
            raise NotConvergedError("there is no Gaussian")
        seen = inner(sites, least)
        return seen._replace(asked=np.where(sites < 1, sites + 50, seen.asked))

    sites, _ = settle(visit, np.zeros((2, 2)), 1e-9)
    np.testing.assert_allclose(sites, 2, atol=1e-7)


def test_sites_that_move_by_rounding_have_settled():
    rng = np.random.default_rng(0)
    inner = linear(0.5 * np.eye(4), np.full(4, 2.0))

    def rounded(size):
        def visit(sites, least):
            seen = inner(sites, least)
            return seen._replace(asked=seen.asked + size * rng.standard_normal((2, 2)))

        return visit

    sites, _ = settle(rounded(1e-6), np.zeros((2, 2)), 1e-12)
    np.testing.assert_allclose(sites, 2, atol=1e-4)
    with pytest.raises(NotConvergedError):
        settle(rounded(1e-2), np.zeros((2, 2)), 1e-12)


def test_sites_that_never_settle_are_given_if_they_need_not_converge():
    rng = np.random.default_rng(0)

    def visit(sites, least):
        del sites
        asked = rng.normal(size=(2, 3))
        asked[0] = np.maximum(asked[0], least)
        return Visit(asked, rng.normal(size=3), np.ones(3), True, None)

    with pytest.raises(NotConvergedError, match="sites still move by"):
        settle(visit, np.zeros((2, 3)), 1e-6)
    sites, _ = settle(visit, np.zeros((2, 3)), 1e-6, must_converge=False)
    assert (sites[0] >= 0).all()
