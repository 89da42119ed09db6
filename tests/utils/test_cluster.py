"""The same numbers from a cluster of worker processes, one of which is killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import graphuq as gq
from graphuq.utils import row_blocks

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # workers that die log many messages
]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def problem():
    X, y = gq.datasets.two_moons(6000, d=5, sigma=0.08, seed=0)
    return X, gq.reveal(y, counts=20, seed=0)


def workers_without(client, gone):
    """Return the two processes of workers once those that are gone have been replaced."""
    for _ in range(1200):
        pids = set(client.run(os.getpid, on_error="ignore").values()) - gone
        if len(pids) == 2:
            return pids
        time.sleep(0.1)
    raise TimeoutError("no new worker was started within two minutes")


def posterior(spectrum, labels):
    prior = gq.Prior.approximated(spectrum, 12)
    return gq.sample(prior, gq.Probit(0.2), labels, draws=300, seed=3, progress=False)


def test_eigenpairs_and_node_statistics_are_those_of_one_process(client, problem, monkeypatch):
    X, labels = problem
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 100_000)
    alone = gq.nystrom(X, 12, tau=0.3, seed=0)
    spread = gq.nystrom(da.from_array(X, chunks=(700, 5)), 12, tau=0.3, seed=0)
    assert row_blocks.is_dask(spread.basis)
    np.testing.assert_allclose(spread.values, alone.values, atol=1e-10)
    np.testing.assert_allclose(np.asarray(spread.basis), alone.basis, atol=1e-10)
    assert spread.residuals == pytest.approx(alone.residuals, abs=1e-10)
    here = gq.Spectrum(spread.values, np.asarray(spread.vectors), np.asarray(spread.null))
    one, many = posterior(here, labels), posterior(spread, labels)
    np.testing.assert_array_equal(many.draws.modes, one.draws.modes)
    for name in ("mean", "variance", "probability", "mcse", "latent_mean", "latent_variance"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), atol=1e-10)
    np.testing.assert_allclose(
        many.draws.running_mean_change, one.draws.running_mean_change, atol=1e-10
    )
    np.testing.assert_allclose(
        gq.Prior.approximated(spread, 12).variance(),
        gq.Prior.approximated(here, 12).variance(),
        atol=1e-10,
    )


def test_a_worker_that_is_killed_changes_nothing(client, problem, monkeypatch):
    X, labels = problem
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 100_000)
    alone = gq.nystrom(X, 12, tau=0.3, seed=0)
    first, second = client.run(os.getpid).values()
    # while features are processed
    timer = threading.Timer(0.3, os.kill, [first, signal.SIGKILL])
    timer.start()
    spread = gq.nystrom(da.from_array(X, chunks=(300, 5)), 12, tau=0.3, seed=0)
    timer.join()
    np.testing.assert_allclose(np.asarray(spread.basis), alone.basis, atol=1e-10)
    # with the vectors that it stored; a worker that is killed while it starts is not replaced
    (third,) = workers_without(client, {first}) - {second}
    os.kill(second, signal.SIGKILL)
    here = gq.Spectrum(spread.values, np.asarray(spread.vectors), np.asarray(spread.null))
    one = posterior(here, labels)
    workers_without(client, {first, second})
    # while nodes are processed
    timer = threading.Timer(0.5, os.kill, [third, signal.SIGKILL])
    timer.start()
    many = posterior(spread, labels)
    timer.join()
    np.testing.assert_allclose(many.mean, one.mean, atol=1e-10)
    np.testing.assert_allclose(many.mcse, one.mcse, atol=1e-10)
    workers_without(client, {first, second, third})


def trial(seed):
    X, y = gq.datasets.two_moons(300, d=5, seed=seed)
    graph = gq.knn_graph(X, 8, connect=True)
    return gq.sample(
        gq.Prior.projected(graph, 15), gq.Probit(0.2), gq.reveal(y, counts=4, seed=seed),
        draws=200, seed=seed, threads=1, progress=False,
    )  # fmt: skip


def test_trials_run_through_joblib_on_the_cluster(client):
    import joblib

    here = [trial(seed) for seed in range(4)]
    with joblib.parallel_config("dask"):
        there = joblib.Parallel()(joblib.delayed(trial)(seed) for seed in range(4))
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a.draws.modes, b.draws.modes)
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-12)
