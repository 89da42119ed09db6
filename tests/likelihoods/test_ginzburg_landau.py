"""Ginzburg-Landau wells of two and of more classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.potentials import phi, slope
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import graphuq as gq
from graphuq.likelihoods.bound import bind, evaluate
from graphuq.likelihoods.contract import Observed


def wells(u):
    """The potential of epsilon = 1 at nodes of u without labels, shape (m, K)."""
    return phi(gq.GinzburgLandau(1.0, 1.0), np.atleast_2d(u), [])


@pytest.mark.parametrize("n_classes", [3, 5, 12])
def test_wells_are_those_of_garcia_cardona_on_the_simplex(n_classes):
    rng = np.random.default_rng(0)
    vertices = np.eye(n_classes)
    for w in rng.dirichlet(np.full(n_classes, 0.5), size=20):
        theirs = np.prod([0.25 * np.abs(w - e).sum() ** 2 for e in vertices])
        assert np.isclose(wells(w - 1 / n_classes), 4 * theirs, atol=1e-15)
        # off the plane, the squared distance from it
        assert np.isclose(wells(w - 1 / n_classes + 0.1), 4 * (theirs + n_classes * 0.01))
    for b in np.linspace(-1, 1, 9):  # between two vertices: the well of two classes
        edge = (1 + b) / 2 * vertices[0] + (1 - b) / 2 * vertices[1]
        binary = gq.GinzburgLandau.potential(
            np.array([[b]]), Observed(np.empty(0), np.empty(0, int), np.array([1.0, 1.0]))
        )
        assert np.isclose(wells(edge - 1 / n_classes), binary, atol=1e-15)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_vertices_are_the_only_minima(n_classes):
    rng = np.random.default_rng(1)
    vertices = np.eye(n_classes) - 1 / n_classes
    likelihood = gq.GinzburgLandau(1.0, 1.0)
    reached = set()
    for scale in (0.01, 0.3, 3.0):
        for _ in range(15):
            end = minimize(
                lambda u: phi(likelihood, u[None], []),
                scale * rng.standard_normal(n_classes),
                jac=lambda u: slope(likelihood, u[None], [])[0],
                options={"gtol": 1e-8},
            )
            distance = np.abs(vertices - end.x).max(axis=1)
            assert distance.min() < 1e-3
            reached.add(int(distance.argmin()))
    assert len(reached) == n_classes


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.sampled_from([3, 4, 20]), face=st.booleans())
def test_the_gradient_is_continuous_and_that_of_the_potential(seed, n_classes, face):
    rng = np.random.default_rng(seed)
    likelihood = gq.GinzburgLandau(0.7, 0.4)
    u = 10 ** rng.uniform(-1, 0.7) * rng.standard_normal(n_classes)
    if face:  # where the pieces meet: w_k = 0, and w_k = 1
        w = np.zeros(n_classes)
        w[0], w[1] = 1 + rng.exponential() * rng.integers(0, 2), rng.standard_normal()
        w[2] = 1 - w.sum()
        u = rng.permutation(w) - 1 / n_classes + 0.1 * rng.standard_normal()
    direction = rng.standard_normal(n_classes)
    h = 1e-6
    ends = [u + s * h * direction for s in (-1, 1)]
    before, after = (slope(likelihood, e[None], [1])[0] for e in ends)
    assert np.abs(after - before).max() < 1e-3 * (1 + np.abs(u).max())
    rise = np.diff([phi(likelihood, e[None], [1]) for e in ends])[0] / (2 * h)
    along = direction @ slope(likelihood, u[None], [1])[0]
    assert abs(rise - along) < 1e-4 * (1 + abs(along))


def test_labels_are_gaussian_about_the_field():
    labels = gq.Labels([0, 2, 3], ["a", "c", "a"], classes=["a", "b", "c", "d"])
    bound = bind(gq.GinzburgLandau(2.0, 0.3), labels, 5)
    u = 0.3 * np.random.default_rng(0).standard_normal((5, 4))
    y = np.eye(4)[[0, 2, 0]] - 1 / 4
    density = sum(
        multivariate_normal.logpdf(y[j], u[i], 0.3**2 * np.eye(4)) for j, i in enumerate([0, 2, 3])
    )
    said = evaluate(bound.without_labels(), u) - evaluate(bound, u) - 3 * bound.log_normalizer
    assert np.isclose(said, density)
