import shutil
import signal

import numpy as np
import pytest

import graphuq as gq
from graphuq import node_statistics as module
from graphuq import row_blocks
from graphuq.extension import FromLabelled
from graphuq.moments import NodeMoments
from graphuq.node_statistics import node_statistics, summarise

ROUNDS = [60, 110]
NONE = np.empty(0, dtype=np.int64)


@pytest.fixture(params=["projected", "approximated"])
def problem(request, small):
    """An extension, and what is kept of three chains of 170 draws."""
    spectrum, labels, _ = small
    prior = getattr(gq.Prior, request.param)(spectrum, 8)
    extension = FromLabelled(prior, labels.nodes, NONE, 0.3)
    rng = np.random.default_rng(0)
    return extension, [extension.keep(extension.law.draw(170, rng)) for _ in range(3)]


def assert_same(a, b):
    for name, values in a.nodes.items():
        np.testing.assert_array_equal(values, b.nodes[name])


def test_blocks_of_rows_make_the_statistics_of_all_rows_at_once(problem, monkeypatch):
    extension, kept = problem
    moments = []
    for draws in kept:
        chain = NodeMoments(extension.rows(extension.basis, extension.which), "sign", ROUNDS[0])
        chain.add(draws[: ROUNDS[0]])
        chain.expect(ROUNDS[1])
        chain.add(draws[ROUNDS[0] :])
        moments.append(chain)
    whole = summarise(moments, "sign")
    monkeypatch.setattr(row_blocks, "BLOCK", 7 * module.WIDTH)  # six blocks of seven nodes
    blocks = node_statistics(extension, kept, ROUNDS, "sign")
    for name, values in whole.items():
        np.testing.assert_allclose(blocks.nodes[name], values, rtol=1e-12, atol=1e-14)
    changes = np.sqrt([chain.changes for chain in moments])
    np.testing.assert_allclose(blocks.running_mean_change, changes)


def test_threads_change_nothing(problem, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK", 7 * module.WIDTH)
    runs = [node_statistics(*problem, ROUNDS, "sign", threads=threads) for threads in (1, 2, 5)]
    for other in runs[1:]:
        assert_same(runs[0], other)


def test_one_interruption_is_ignored_and_a_second_is_not(problem, monkeypatch):
    extension, kept = problem
    undisturbed = node_statistics(extension, kept, ROUNDS, "sign")
    mapped = module.mapped

    def pressed(times):
        def interrupting(*arguments, **options):
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            yield from mapped(*arguments, **options)

        return interrupting

    monkeypatch.setattr(module, "mapped", pressed(1))
    assert_same(node_statistics(extension, kept, ROUNDS, "sign"), undisturbed)
    monkeypatch.setattr(module, "mapped", pressed(2))
    with pytest.raises(KeyboardInterrupt):
        node_statistics(extension, kept, ROUNDS, "sign")
    with pytest.raises(KeyboardInterrupt):  # and the handler is back
        signal.raise_signal(signal.SIGINT)


def test_single_precision_modes_move_nothing_that_matters(small):
    spectrum, labels, _ = small
    single = gq.Spectrum(
        spectrum.values, spectrum.vectors.astype(np.float32), spectrum.null.astype(np.float32)
    )
    assert single.basis.dtype == np.float32
    fields = gq.Prior.projected(spectrum, 8).at(labels.nodes).draw(200, np.random.default_rng(0))
    results = []
    for pairs in (spectrum, single):
        extension = FromLabelled(gq.Prior.projected(pairs, 8), labels.nodes, NONE, 0.3)
        results.append(node_statistics(extension, [extension.keep(fields)], [200], "sign").nodes)
    assert results[1]["mean"].dtype == np.float64
    for name in ("mean", "latent_mean", "latent_variance"):
        np.testing.assert_allclose(results[1][name], results[0][name], atol=2e-5)
        assert not np.array_equal(results[1][name], results[0][name])


def test_statistics_may_be_kept_in_files(small, tmp_path, monkeypatch):
    prior = gq.Prior.approximated(small[0], 8)
    options = {"draws": 200, "seed": 0, "progress": False}
    here = gq.sample(prior, gq.Probit(0.3), small[1], **options)
    there = gq.sample(prior, gq.Probit(0.3), small[1], node_files=tmp_path, **options)
    assert isinstance(there.mean, np.memmap)
    for name in ("mean", "variance", "probability", "mcse", "latent_mean", "latent_variance"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), getattr(here, name))
    np.testing.assert_array_equal(there.ranking(), here.ranking())
    with pytest.raises(NotADirectoryError, match="make it first"):
        gq.sample(prior, gq.Probit(0.3), small[1], node_files=tmp_path / "none", **options)
    with pytest.raises(ValueError, match="reads all nodes"):
        gq.sample(prior, gq.GinzburgLandau(1.0, 1.0), small[1], node_files=tmp_path, **options)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100))
    with pytest.raises(OSError, match=r"40 nodes need .* GiB .*name another folder"):
        gq.sample(prior, gq.Probit(0.3), small[1], node_files=tmp_path, **options)


def test_statistics_of_too_many_kept_draws_are_refused_before_any_work(small, monkeypatch):
    from graphuq import validation

    monkeypatch.setattr(validation, "_available_memory", lambda: 1e6)
    prior = gq.Prior.approximated(small[0], 8)
    with pytest.raises(MemoryError, match=r"what they say of all nodes"):
        gq.sample(prior, gq.Probit(0.1), small[1], draws=5000, progress=False)
