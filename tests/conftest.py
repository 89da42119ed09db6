from __future__ import annotations

import dataclasses
import inspect
import warnings
from unittest import mock

import numpy as np
import pytest

import graphuq as gq
from graphuq.datasets.sources import SOURCES
from graphuq.jit import Kernel
from graphuq.node_posterior import NodePosterior


@pytest.fixture(scope="session", autouse=True)
def nothing_is_fetched():
    """Tests of fetching bring their own server."""
    with mock.patch.dict(SOURCES, clear=True):
        yield


@pytest.fixture(scope="session")
def small():
    """A connected graph of 40 points in two clumps, its spectrum, and five labels."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 2)) + 2.5 * y[:, None]
    graph = gq.knn_graph(X, n_neighbors=6, connect=True)
    labels = gq.Labels([0, 7, 13, 25, 38], [0, 0, 1, 1, 1])
    return gq.Spectrum.of(graph), labels, y


@pytest.fixture(scope="session")
def clumps():
    """Three clumps of 20 points, far apart, and their classes."""
    rng = np.random.default_rng(3)
    y = np.repeat(["ant", "bee", "cow"], 20)
    X = rng.standard_normal((60, 2)) / 2 + 4 * np.repeat([[0, 0], [1, 0], [0, 1]], 20, axis=0)
    order = rng.permutation(60)
    return X[order], y[order]


@pytest.fixture(scope="session")
def vote():
    """The voting records as in the paper's 5.1.2: spectrum of the full graph, and parties."""
    try:
        X, y = gq.datasets.vote()
    except FileNotFoundError as error:
        pytest.skip(f"needs vote.npz: {error}")
    graph = gq.full_graph(X, weights="gaussian", tau=1.25, self_loops=True)
    return gq.Spectrum.of(graph), y


def priors(spectrum, rank):
    return {
        "full": gq.Prior.full(spectrum),
        "projected": gq.Prior.projected(spectrum, rank),
        "approximated": gq.Prior.approximated(spectrum, rank),
    }


@dataclasses.dataclass(frozen=True, eq=False)
class NodesAlone(NodePosterior):
    """Node statistics, come by in no way at all."""

    settings: dict = dataclasses.field(default_factory=dict)

    def latent_draws(self, prior=None, nodes=None, *, seed=None):
        raise NotImplementedError


def quietly(*arguments, **options):
    """gq.sample where convergence is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(*arguments, **options)


def with_mutation(kernel, right, wrong):
    """Return a compiled kernel like ``kernel``, but with a mistake in its source."""
    return Kernel(kernel._signature, mutated(kernel._function, right, wrong))


def mutated(function, right, wrong):
    """Return a function like ``function``, but with a mistake in its source."""
    source = inspect.getsource(function)
    source = source[source.index("def ") :]
    assert right in source
    namespace = {**function.__globals__}
    exec(source.replace(right, wrong) if right else source, namespace)
    return namespace[function.__name__]
