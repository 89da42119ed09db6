import _thread
import contextlib
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import quietly
from references.problems import LABELS
from references.selection import slow_among

import graphuq as gq
from graphuq.inference import checkpoint as module

TEMPERED = gq.Tempered(gq.PCN(), replicas=3)
WELLS = gq.GinzburgLandau(epsilon=1.0, gamma=0.5)
CASES = {
    "harmonic": (gq.Probit(0.3), gq.Harmonic(), {"draws": 1200}),
    "harmonic, level-set": (gq.LevelSet(0.6), gq.Harmonic(), {"draws": 1200, "thin": 2}),
    "pcn": (gq.Probit(0.3), gq.PCN(), {"draws": 1500, "warmup": 700}),
    "slice": (gq.Probit(0.3), gq.EllipticalSlice(), {"draws": 900}),
    "hmc": (gq.Probit(0.3), gq.HilbertHMC(), {"draws": 900, "warmup": 600}),
    "many labels": (gq.Probit(0.3), gq.PreconditionedHMC(), {"draws": 900}),
    "hmc, all nodes": (WELLS, gq.HilbertHMC(), {"draws": 900, "warmup": 600}),
    "pcn, all nodes": (WELLS, gq.PCN(beta=0.4), {"draws": 1200, "warmup": 0}),
    "tempered": (gq.Probit(0.3), TEMPERED, {"draws": 600, "warmup": 500}),
    "harmonic, three classes": (gq.NoisyProbit(0.3, 0.2), gq.Harmonic(), {"draws": 1200}),
    "effective size": (gq.Probit(0.3), gq.HilbertHMC(), {"target_ess": 4000, "draws": 5000}),
}
NAMES = ("mean", "variance", "probability", "mcse", "latent_mean", "latent_variance",
         "latent_probability", "probability_mcse", "aleatoric")  # fmt: skip


def run(small, case, **more):
    likelihood, sampler, options = CASES[case]
    kind = gq.Prior.projected if "many" in case else gq.Prior.approximated
    prior = kind(small[0], 8)
    labels = LABELS[3 if "three" in case else 2]
    return quietly(
        prior, likelihood, labels, sampler, nodes=[2, 7], chains=3, progress=False,
        **{"seed": 4, **options, **more},
    )  # fmt: skip


def assert_identical(a, b):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), strict=True)
    for name in ("modes", "field", "read", "running_mean_change"):
        np.testing.assert_array_equal(*(getattr(x.draws, name) for x in (a, b)), strict=True)
    assert a.draws.stats.keys() == b.draws.stats.keys()
    for name, values in a.draws.stats.items():
        np.testing.assert_array_equal(values, b.draws.stats[name], strict=True)


def press_after(monkeypatch, kind, calls):
    """Press Ctrl-C at the given calls of a sampler's ``advance`` by the runner."""
    advance, count = kind.advance, itertools.count(1)

    def pressing(self, *arguments):
        if next(count) in calls:  # each number goes to one thread
            _thread.interrupt_main()
        return advance(self, *arguments)

    monkeypatch.setattr(kind, "advance", pressing)


@pytest.mark.parametrize("case", slow_among(CASES, ("hmc", "many labels", "tempered")))
def test_an_interrupted_run_continues_to_the_same_draws(small, case, tmp_path, monkeypatch):
    whole, file = run(small, case), tmp_path / "run.npz"
    # The warm-up of a harmonic sampler takes five calls for each chain, which grow
    press_after(monkeypatch, type(CASES[case][1]), {18 if "harmonic" in case else 11})
    first = run(small, case, checkpoint=file)
    assert not first.draws.complete
    assert file.exists()
    assert first.draws.modes.shape[1] < whole.draws.modes.shape[1]
    second = run(small, case, checkpoint=file)
    assert second.draws.complete
    assert not file.exists()
    assert_identical(second, whole)


def test_it_may_be_interrupted_often_and_with_other_threads(small, tmp_path, monkeypatch):
    whole, file = run(small, "pcn"), tmp_path / "run.npz"
    press_after(monkeypatch, gq.PCN, {11, 16, 21})
    for threads in (1, 3, 2):
        assert not run(small, "pcn", checkpoint=file, threads=threads).draws.complete
    assert_identical(run(small, "pcn", checkpoint=file), whole)


def test_interrupted_in_warm_up_nothing_is_lost(small, tmp_path, monkeypatch):
    whole, file = run(small, "pcn"), tmp_path / "run.npz"
    press_after(monkeypatch, gq.PCN, {2})
    with pytest.raises(KeyboardInterrupt, match="warm-up"):
        run(small, "pcn", checkpoint=file)
    assert file.exists()
    assert_identical(run(small, "pcn", checkpoint=file), whole)


def test_another_start_would_give_other_draws(small):
    """Negative control for the tests above."""
    again = run(small, "pcn", warmup=699)
    assert not np.array_equal(again.draws.modes, run(small, "pcn").draws.modes)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_hyperparameters_continue_too(small, tmp_path, monkeypatch, n_classes):
    from graphuq.samplers.joint import Joint

    prior, labels = gq.Prior.projected(small[0], 8), small[1]
    if n_classes == 3:
        prior, labels = prior + gq.Level(), gq.Labels([0, 7, 13, 25], [0, 0, 1, 2])

    def joint(**more):
        return gq.sample_jointly(
            prior, gq.Probit(0.3), labels, alpha=(1, 4), gamma=(0.05, 1.0), draws=300, chains=2,
            seed=1, progress=False, **more,
        )  # fmt: skip

    whole, file = joint(), tmp_path / "run.npz"
    press_after(monkeypatch, Joint, {13})  # ten are warm-up
    with pytest.warns(gq.ConvergenceWarning, match="interrupted"):
        joint(checkpoint=file)
    second = joint(checkpoint=file)
    assert_identical(second, whole)
    for name, values in whole.draws.hyperparameters.items():
        np.testing.assert_array_equal(second.draws.hyperparameters[name], values)


KILLED = """
import sys
import numpy as np
import graphuq as gq
from graphuq.inference import checkpoint

checkpoint.INTERVAL_SECONDS = 0.0
X, y = gq.datasets.two_moons(200, seed=0)
prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
post = gq.sample(
    prior, gq.Probit(0.1), gq.reveal(y, counts=5, seed=0), gq.PCN(), draws=4000,
    thin=int(sys.argv[2]), seed=3, chains=2, progress=False,
    checkpoint=None if sys.argv[1] == "none" else sys.argv[1],
)
np.savez(sys.argv[3], mean=post.mean, modes=post.draws.modes)
"""


@pytest.mark.slow
def test_a_killed_run_continues(tmp_path):
    file, script = tmp_path / "run.npz", tmp_path / "killed.py"
    script.write_text(KILLED)

    def command(checkpoint, result):
        return [sys.executable, str(script), str(checkpoint), "40", str(tmp_path / result)]

    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(command(file, "killed.npz"), env=environment)
    deadline = time.monotonic() + 600  # on a busy machine
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert file.exists()
    assert not (tmp_path / "killed.npz").exists()
    subprocess.run(command(file, "resumed.npz"), env=environment, check=True)
    subprocess.run(command("none", "whole.npz"), env=environment, check=True)
    with np.load(tmp_path / "resumed.npz") as a, np.load(tmp_path / "whole.npz") as b:
        for name in ("mean", "modes"):
            np.testing.assert_array_equal(a[name], b[name])


@pytest.fixture
def stopped(small, tmp_path, monkeypatch):
    """A run's checkpoint."""
    file = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        press_after(patch, gq.PCN, {11})
        run(small, "pcn", checkpoint=file)
    return file


@pytest.mark.parametrize(
    "changed",
    [{"draws": 1501}, {"seed": 5}, {"chains": 2}, {"thin": 3}, {"nodes": [2, 8]}, {"warmup": 600}],
    ids=str,
)
def test_a_checkpoint_of_other_settings_is_refused(small, stopped, changed):
    before = stopped.read_bytes()
    likelihood, sampler, options = CASES["pcn"]
    arguments = {"nodes": [2, 7], "seed": 4, "chains": 3, **options, **changed}
    with pytest.raises(ValueError, match=r"checkpoint of another run: its .*; name another file"):
        gq.sample(
            gq.Prior.approximated(small[0], 8), likelihood, small[1], sampler, progress=False,
            checkpoint=stopped, **arguments,
        )  # fmt: skip
    assert stopped.read_bytes() == before


def test_a_checkpoint_of_another_model_version_or_data_is_refused(small, stopped, monkeypatch):
    spectrum, labels, _ = small
    likelihood, sampler, options = CASES["pcn"]

    def again(prior, likelihood, labels, sampler):
        gq.sample(
            prior, likelihood, labels, sampler, nodes=[2, 7], seed=4, chains=3, progress=False,
            checkpoint=stopped, **options,
        )  # fmt: skip

    prior = gq.Prior.approximated(spectrum, 8)
    values = labels.values.copy()
    values[0] = labels.classes[labels.classes != values[0]][0]
    others = [
        (gq.Prior.approximated(spectrum, 7), likelihood, labels, sampler),
        (gq.Prior.projected(spectrum, 8), likelihood, labels, sampler),
        (prior, gq.Probit(0.31), labels, sampler),
        (prior, gq.LevelSet(0.3), labels, sampler),
        (prior, likelihood, gq.Labels(labels.nodes, values), sampler),
        (prior, likelihood, labels, gq.PCN(beta=0.2)),
    ]
    for other in others:
        with pytest.raises(ValueError, match="of another run"):
            again(*other)
    versions = f"its version is {gq.__version__!r}, here it is '99'"
    monkeypatch.setattr("graphuq.utils.version.__version__", "99")
    with pytest.raises(ValueError, match=re.escape(versions)):
        again(prior, likelihood, labels, sampler)


def test_damaged_and_foreign_files_are_refused(small, stopped):
    whole = stopped.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no archive"):
        stopped.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"is not a checkpoint \(.* is damaged, is not an npz file"
        ):
            run(small, "pcn", checkpoint=stopped)
    with stopped.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="is not a checkpoint"):
        run(small, "pcn", checkpoint=stopped)
    for arrays in (
        {"X": np.zeros(3)},
        {"header": np.array("[]")},
        {"header": np.array("3")},
        {"header": np.array("{}")},
    ):
        np.savez(stopped, **arrays)
        with pytest.raises(ValueError, match="is not a checkpoint: name another file"):
            run(small, "pcn", checkpoint=stopped)
    np.savez(stopped, header=np.array([{"pickled": print}], dtype=object))
    with pytest.raises(ValueError, match="pickled objects, which are never read"):
        run(small, "pcn", checkpoint=stopped)


def test_a_file_that_lacks_something_is_refused(small, stopped):
    with np.load(stopped) as archive:
        arrays = dict(archive)
    arrays = {name: array for name, array in arrays.items() if not name.endswith("/modes")}
    np.savez(stopped, **arrays)
    with pytest.raises(
        ValueError, match=r"is damaged, or of an earlier version .*remove it to start again"
    ):
        run(small, "pcn", checkpoint=stopped)


def test_a_likelihood_that_was_edited_is_another(small, tmp_path, monkeypatch):
    from dataclasses import dataclass

    from numba import njit

    @njit
    def for_labels(u, seen):
        return -(u[:, 0] * seen.y).sum()

    @njit
    def against_labels(u, seen):
        return (u[:, 0] * seen.y).sum()

    @dataclass(frozen=True)
    class Own:
        reads = "labelled"
        potential = staticmethod(for_labels)

    prior, file = gq.Prior.approximated(small[0], 8), tmp_path / "run.npz"
    options = {"draws": 1500, "seed": 0, "chains": 2, "progress": False, "checkpoint": file}
    with monkeypatch.context() as patch:
        press_after(patch, gq.PCN, {9})
        assert not quietly(prior, Own(), small[1], gq.PCN(), **options).draws.complete
    Own.potential = staticmethod(against_labels)
    with pytest.raises(ValueError, match="of another run: its potential"):
        gq.sample(prior, Own(), small[1], gq.PCN(), **options)


def test_the_file_stays_until_the_posterior_is_there(small, tmp_path, monkeypatch):
    from graphuq.inference import assembly

    file, statistics = tmp_path / "run.npz", assembly.node_statistics
    monkeypatch.setattr(module, "INTERVAL_SECONDS", 0.0)

    def failing(*arguments, **options):
        raise MemoryError("no room")

    monkeypatch.setattr(assembly, "node_statistics", failing)
    with pytest.raises(MemoryError, match="no room"):
        run(small, "pcn", checkpoint=file)
    assert file.exists()
    monkeypatch.setattr(assembly, "node_statistics", statistics)
    assert_identical(run(small, "pcn", checkpoint=file), run(small, "pcn"))
    assert list(tmp_path.iterdir()) == []


def test_one_run_at_a_time_has_the_file(small, stopped):
    fingerprint = {"any": 1}
    other = stopped.with_name("other.npz")
    held = module.Checkpoint(other, fingerprint, 0.0)
    with pytest.raises(ValueError, match="another run is writing"):
        module.Checkpoint(other, fingerprint, 0.0)
    held.close()
    module.Checkpoint(other, fingerprint, 0.0).close()
    assert list(stopped.parent.iterdir()) == [stopped]


def test_no_run_gets_a_lock_that_is_about_to_be_removed(tmp_path, monkeypatch):
    path, unlink, others = tmp_path / "run.npz", Path.unlink, []

    def unlink_late(self, missing_ok=False):
        with contextlib.suppress(ValueError):
            others.append(module.Checkpoint(path, {"any": 1}, 0.0))
        unlink(self, missing_ok)

    held = module.Checkpoint(path, {"any": 1}, 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink_late)
        held.close()
    third = module.Checkpoint(path, {"any": 1}, 0.0)  # refused if another had the lock
    assert not others
    third.close()


def test_a_run_that_opened_a_lock_before_its_removal_takes_the_next(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, flock = tmp_path / "run.npz", fcntl.flock
    held = [module.Checkpoint(path, {"any": 1}, 0.0)]

    def flock_late(file, how):
        if held:
            held.pop().close()  # the other run ends between opening and locking
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    second = module.Checkpoint(path, {"any": 1}, 0.0)
    with pytest.raises(ValueError, match="another run is writing"):
        module.Checkpoint(path, {"any": 1}, 0.0)
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_the_time_of_all_parts_is_counted(small, stopped):
    with np.load(stopped) as archive:
        before = module.header(stopped, dict(archive))["seconds"]
    assert before > 0
    assert run(small, "pcn", checkpoint=stopped).settings["sampling_time"] > before


def test_what_cannot_be_written_is_foreseen(small, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="does not exist: make it first"):
        run(small, "pcn", checkpoint=tmp_path / "nowhere" / "run.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        run(small, "pcn", checkpoint=tmp_path)
    with pytest.raises(ValueError, match="give a seed"):
        run(small, "pcn", checkpoint=tmp_path / "run.npz", seed=None)
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(OSError, match=r"may need .* GiB in .*, where .* GiB are free: make room"):
        run(small, "pcn", checkpoint=tmp_path / "run.npz")


def test_the_disk_has_room_for_the_old_file_and_the_new_one(tmp_path, monkeypatch):
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    module.Checkpoint(tmp_path / "run.npz", {"any": 1}, 500.0).close()
    with pytest.raises(OSError, match="make room"):
        module.Checkpoint(tmp_path / "run.npz", {"any": 1}, 501.0)


def test_a_failed_write_keeps_the_last_checkpoint_and_the_run_continues(
    small, stopped, monkeypatch
):
    whole, before = run(small, "pcn"), stopped.read_bytes()

    def full(file, **arrays):
        file.write(b"half of it")
        assert stopped.read_bytes() == before
        raise OSError("No space left on device")

    monkeypatch.setattr(module.np, "savez", full)
    monkeypatch.setattr(module, "INTERVAL_SECONDS", 0.0)
    prior, (likelihood, sampler, options) = gq.Prior.approximated(small[0], 8), CASES["pcn"]
    with pytest.warns(RuntimeWarning, match=r"could not be written \(No space left"):
        post = gq.sample(
            prior, likelihood, small[1], sampler, nodes=[2, 7], chains=3, seed=4, progress=False,
            checkpoint=stopped, **options,
        )  # fmt: skip
    assert_identical(post, whole)
    assert list(Path(stopped.parent).iterdir()) == []
