from __future__ import annotations

import dataclasses
import os
import signal
import sys
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import graphuq as gq
from graphuq.datasets.sources import SOURCES
from graphuq.posterior.posterior import Posterior
from graphuq.report import pictures

# how long an example takes depends on what else the machine does
# Continuous integration draws the same examples in each run, so that only changes make it fail.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("patient")

# a process in the background of a shell ignores Ctrl-C, which tests press
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_fetched():
    """Tests of fetching bring their own server."""
    with mock.patch.dict(SOURCES, clear=True):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_heartbeat():
    """Print no line every ten seconds, however busy the machine is."""
    with mock.patch("graphuq.cli.heartbeat.INTERVAL", 3600.0):
        yield


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def without_pictures():
    """Leave out the pictures of reports, which take seconds; the value draws them."""
    draw_pictures = pictures.draw_pictures
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "draw_pictures", lambda subject: iter(()))
        yield draw_pictures


@pytest.fixture(scope="module", autouse=True)
def reports_of_the_command_line_have_none(request):
    """Leave out pictures in all its tests that do not ask for ``with_pictures``."""
    if request.path.parent.name == "cli":
        request.getfixturevalue("without_pictures")


@pytest.fixture
def with_pictures(without_pictures, monkeypatch):
    """Draw them in one test of a module that leaves them out."""
    monkeypatch.setattr(pictures, "draw_pictures", without_pictures)


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
def clump_graph(clumps):
    return gq.knn_graph(clumps[0], n_neighbors=6, connect=True)


@pytest.fixture(scope="session")
def clump_labels(clumps):
    """Three labels of each clump."""
    return gq.reveal(clumps[1], counts=3, seed=0)


@pytest.fixture(scope="session")
def unseen(clump_labels):
    """The same labels, and a class without labels."""
    return gq.Labels(clump_labels.nodes, clump_labels.values, classes=["cow", "ape", "bee", "ant"])


@pytest.fixture(scope="session")
def drawn():
    """A sampled posterior of three classes, with its prior."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], 15)
    X = rng.standard_normal((45, 2)) + 2.5 * np.eye(3)[y, :2]
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=6, connect=True), 8, alpha=2.0)
    labels = gq.Labels([0, 7, 16, 20, 33, 40], ["low", "low", "mid", "mid", "top", "top"])
    options = {"draws": 50, "nodes": [9, 12], "seed": 0, "progress": False}
    return quietly(prior, gq.Probit(0.2), labels, **options), prior


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


# pages whose examples are slow and are tested elsewhere
SLOW_PAGES = {"samplers.md", "large-graphs.md"}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in SLOW_PAGES:
            item.add_marker(pytest.mark.slow)


@dataclasses.dataclass(frozen=True, eq=False)
class NodesAlone(Posterior):
    """Node statistics without a run; for two classes ``by_class`` may be that of the second."""

    settings: dict = dataclasses.field(default_factory=dict)
    source: Any = None
    probability_mcse: Any = dataclasses.field(default=None, kw_only=True)
    aleatoric: Any = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if self.by_class.ndim == 1:
            both = np.column_stack([1 - self.by_class, self.by_class])
            object.__setattr__(self, "by_class", both)
        object.__setattr__(self, "probability_mcse", np.full_like(self.probability, np.nan))
        object.__setattr__(
            self, "aleatoric", np.full(self.n_nodes, np.nan if self.overlap else 0.0)
        )

    def __repr__(self):
        return f"{type(self).__name__}({self.n_nodes} nodes)"


@dataclasses.dataclass(frozen=True, eq=False)
class KnownDraws(NodesAlone):
    """A posterior whose fields have given draws, one in each row."""

    fields: Any = dataclasses.field(kw_only=True)

    @property
    def n_latent_draws(self):
        return len(self.fields)

    def latent_draws(self, prior=None, nodes=None, *, seed=None):
        for start in range(0, len(self.fields), 1000):
            yield self.fields[start : start + 1000][:, nodes]


def with_draws(post, **changes):
    """Return a sampled posterior with other traces."""
    return dataclasses.replace(post, source=dataclasses.replace(post.draws, **changes))


def quietly(*arguments, **options):
    """Run gq.sample without convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(*arguments, **options)
