"""Ctrl-C returns within seconds, whatever is computed, and long work says so before it starts."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq
from graphuq.inference import runner
from graphuq.likelihoods.label_rule import Sign
from graphuq.posterior import node_statistics as statistics
from graphuq.samplers import harmonic
from graphuq.utils.interruption import interruptible, named_interruption

# Seconds within which Ctrl-C returns
PROMPT = 3.0


def press():
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def contradicting():
    """A prior, and labels of which 30% are wrong."""
    X, y = gq.datasets.two_moons(400, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 30)
    labels = gq.reveal(y, counts=75, seed=0)
    wrong = np.random.default_rng(1).random(150) < 0.3
    labels = gq.Labels(labels.nodes, np.where(wrong, 1 - labels.values, labels.values))
    return gq.Prior.projected(spectrum, 30), labels


def press_elsewhere():
    """Press Ctrl-C for another thread: a wait of the main thread then goes on."""
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


@pytest.mark.parametrize("how", [press, press_elsewhere])
def test_ctrl_c_does_not_wait_for_compiled_code(how):
    threading.Timer(0.2, how).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="interrupted while sleeping"):
        interruptible("sleeping", time.sleep, 5.0)
    assert time.monotonic() - begun < PROMPT


def test_an_approximation_that_is_done_survives_ctrl_c(contradicting, monkeypatch):
    def judge(*_):
        press()
        time.sleep(1.0)

    monkeypatch.setattr("graphuq.inference.approximate.describe_poor_probabilities", judge)
    with pytest.warns(RuntimeWarning, match="interrupted before it was known"):
        post = gq.approximate(contradicting[0], gq.Probit(0.5), contradicting[1])
    assert np.isfinite(post.by_class).all()


def test_errors_and_results_pass_through():
    assert interruptible("adding", sum, [1, 2]) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible("dividing", divmod, 1, 0)


BLAS_THREADS = """
import threading, time
from threadpoolctl import threadpool_limits
from graphuq.utils import interruption, threads

def blas_threads():
    return {library["num_threads"] for library in threads._controller().info()}

with threadpool_limits(3, user_api="blas"):
    assert interruption.interruptible("counting", blas_threads) == {1}
    assert blas_threads() == {3}
    # a process that ends
    interruption._let_threads_end()
    assert blas_threads() == {3}
    thread = threading.Thread(target=time.sleep, args=(0.2,))
    thread.start()
    interruption._LEFT_BEHIND.append(thread)
    interruption._let_threads_end()
    assert blas_threads() == {1}
    assert not thread.is_alive()
"""


def test_interruptible_work_and_threads_left_behind_do_without_the_threads_of_blas():
    # in a process of its own: threads that other tests left behind may change the limit
    subprocess.run([sys.executable, "-c", BLAS_THREADS], check=True)


END = """
import ctypes, sys, threading, time
from graphuq.utils import interruption

libc = ctypes.CDLL(None)
libc.on_exit(libc.abort, None)  # in place of a library that cannot clean up while a thread computes
interruption.EXIT_SECONDS = 0.1
if sys.argv[1] == "left behind":
    thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    thread.start()
    interruption._LEFT_BEHIND.append(thread)
sys.stdout.write("flushed")
sys.exit(7)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no on_exit")
@pytest.mark.parametrize(("kind", "code"), [("left behind", 7), ("no thread", -signal.SIGABRT)])
def test_a_process_with_a_thread_left_behind_ends_before_its_libraries_clean_up(kind, code):
    ended = subprocess.run([sys.executable, "-c", END, kind], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (code, "flushed")


@dataclass(frozen=True)
class Slow(gq.PCN):
    """Takes long from some chunk on, and presses Ctrl-C then."""

    turns, pressed = itertools.count(), []

    def advance(self, *arguments):
        turn = next(self.turns)  # one thread alone gets each number
        if turn == 6:
            self.pressed.append(time.monotonic())
            press()
        if turn >= 6:
            time.sleep(20.0)
        return super().advance(*arguments)


def test_ctrl_c_leaves_a_long_chunk_behind_and_returns_the_others(small):
    post = quietly(
        gq.Prior.projected(small[0], 8), gq.Probit(0.3), small[1], Slow(), draws=10_000,
        warmup=0, chains=2, seed=0, progress=False,
    )  # fmt: skip
    assert time.monotonic() - Slow.pressed[0] < PROMPT
    assert not post.draws.complete
    assert post.draws.modes.shape[1] >= runner.MAX_CHUNK_DRAWS


def test_ctrl_c_ends_an_annealing(small):
    model = gq.Prior.projected(small[0], 8), gq.Probit(0.3), small[1]
    gq.annealed_evidence(*model, draws=200, seed=0)  # compiles
    threading.Timer(0.3, press).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="interrupted while annealing"):
        gq.annealed_evidence(*model, draws=300_000, seed=0)
    assert time.monotonic() - begun < PROMPT


def test_ctrl_c_in_the_statistics_takes_the_last_draws(small, monkeypatch):
    model = (gq.Prior.projected(small[0], 8), gq.Probit(0.3), small[1])
    run = {"draws": 300, "seed": 0, "progress": False, "chains": 2}
    whole, map_rows, presses = quietly(*model, **run), statistics.map_rows, [None]

    def interrupting(*arguments, **options):
        if presses:
            presses.pop()
            signal.raise_signal(signal.SIGINT)
        yield from map_rows(*arguments, **options)

    monkeypatch.setattr(statistics, "map_rows", interrupting)
    with pytest.warns(gq.ConvergenceWarning, match=r"use the last 100 draws .* run again"):
        post = gq.sample(*model, **run)
    assert not post.draws.complete
    np.testing.assert_array_equal(post.draws.modes, whole.draws.modes)
    assert abs(post.mean - whole.mean).max() < 6 * post.mcse.max()
    assert (post.mcse > whole.mcse).mean() > 0.9


def test_a_checkpoint_stays_if_the_statistics_were_interrupted(small, tmp_path, monkeypatch):
    model = (gq.Prior.projected(small[0], 8), gq.Probit(0.3), small[1])
    run = {"draws": 300, "seed": 0, "progress": False, "checkpoint": tmp_path / "run.npz"}
    monkeypatch.setattr("graphuq.inference.checkpoint.INTERVAL_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(statistics, "progress_bar", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):  # here at each attempt
            gq.sample(*model, **run)
    assert (tmp_path / "run.npz").exists()
    assert quietly(*model, **run).draws.complete
    assert not (tmp_path / "run.npz").exists()


def test_contradicting_labels_bound_the_work_of_chunks_and_of_starts(contradicting, monkeypatch):
    prior, labels = contradicting
    work, starts = [], []
    advance, raise_walls = gq.Harmonic.advance, harmonic._raise_walls

    def counting(self, *arguments):
        state, chunk = advance(self, *arguments)
        work.append(float(chunk.stats["n_walls"].sum()) * len(labels) * harmonic.HIT_SECONDS[Sign])
        return state, chunk

    def timing(*arguments):
        fly, hits = type(arguments[1]).fly, []

        def flying(*options):
            flight = fly(*options)
            hits.append(flight.hits[0])
            return flight

        with monkeypatch.context() as patch:
            patch.setattr(type(arguments[1]), "fly", flying)
            raise_walls(*arguments)
        starts.append(hits[-2:])

    monkeypatch.setattr(gq.Harmonic, "advance", counting)
    monkeypatch.setattr(harmonic, "_raise_walls", timing)
    monkeypatch.setattr(harmonic, "MAX_START_WORK", 1e6)
    quietly(prior, gq.LevelSet(0.3), labels, draws=100, chains=2, threads=1, seed=0,
            progress=False)  # fmt: skip
    # A chunk takes about CHUNK_SECONDS; draws differ in their work
    assert max(work) < 3 * runner.CHUNK_SECONDS
    # All flows before the last one of a start are within the bound
    assert all(hits[0] * len(labels) <= 1e6 for hits in starts)


def test_contradicting_labels_bring_advice(contradicting, monkeypatch):
    prior, labels = contradicting
    monkeypatch.setattr("graphuq.utils.progress.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("graphuq.utils.progress.ADVICE_SECONDS", 0.0)
    monkeypatch.setattr(harmonic, "MAX_START_WORK", 1e6)
    run = {"draws": 40, "chains": 2, "seed": 0, "progress": False}
    with pytest.warns(
        RuntimeWarning, match=r"labels contradict each other.* walls\. Take gq\.NoisyProbit"
    ):
        quietly(prior, gq.LevelSet(0.3), labels, **run)
    quietly(prior, gq.NoisyProbit(0.3, 0.3), labels, **run)  # no walls pile up, no warning


def test_runs_of_many_minutes_say_so_before_they_start(small):
    model = (gq.Prior.projected(small[0], 8), gq.Probit(0.3), small[1])
    run = {"seed": 0, "progress": False}
    with pytest.raises(RuntimeWarning, match=r"sampling 4 chains of .* takes .* hours: .*fewer"):
        gq.sample(*model, thin=10**7, **run)
    with pytest.raises(RuntimeWarning, match=r"100,000 chains of 105 draws.* minutes"):
        gq.sample(*model, chains=100_000, draws=5, threads=1, **run)
    with pytest.raises(RuntimeWarning, match="sampling 4 chains of"):
        gq.sample_jointly(
            model[0], gq.Probit("auto"), small[1], thin=10**6, alpha=(1, 4), gamma=(0.1, 1.0), **run
        )


def test_absurd_graphs_say_so_before_they_start(monkeypatch):
    monkeypatch.setattr("graphuq.utils.progress.MAX_SILENT_SECONDS", 1e-9)
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(RuntimeWarning, match=r"neighbors of 30 items .* takes about .*approximate"):
        gq.knn_graph(X, n_neighbors=3, connect=True)
    path = gq.Graph(np.eye(30, k=1) + np.eye(30, k=-1))
    with pytest.raises(RuntimeWarning, match="eigendecomposition of 30 nodes takes about"):
        gq.Spectrum.of(path)


STAGES = """
import sys, time
import numpy as np
import graphuq as gq

X, y = gq.datasets.two_moons(6000, seed=0)
graph = gq.knn_graph(X, n_neighbors=8, connect=True)
spectrum = gq.Spectrum.of(graph, 60)
labels = gq.reveal(y, counts=100, seed=0)
wrong = np.random.default_rng(1).random(200) < 0.3
bad = gq.Labels(labels.nodes, np.where(wrong, 1 - labels.values, labels.values))
prior = gq.Prior.approximated(spectrum, 60)
run = {"seed": 0, "progress": False}
noise = np.random.default_rng(0).standard_normal((20_000, 50))
post = gq.sample(prior, gq.Probit(0.3), labels, draws=100, **run)
stages = {
    "knn": lambda: gq.knn_graph(noise, n_neighbors=8, connect=True),
    "spectrum": lambda: gq.Spectrum.of(graph, 200),
    "dense spectrum": lambda: gq.Spectrum.of(gq.knn_graph(X[:2500], n_neighbors=8, connect=True)),
    "tune": lambda: gq.tune(gq.Prior.projected(spectrum, 60, alpha="auto"), labels),
    "warm-up": lambda: gq.sample(prior, gq.LevelSet(0.3), bad, warmup=10**6, draws=1, **run),
    "sampling": lambda: gq.sample(prior, gq.LevelSet(0.3), bad, draws=30_000, warmup=1, **run),
    "statistics": lambda: gq.sample(prior, gq.Probit(0.3), labels, draws=9000, warmup=1, **run),
    "report": lambda: gq.write_report(post, sys.argv[2], truth=y, prior=prior, graph=graph),
}
print("begin", flush=True)
try:
    while True:
        found = stages[sys.argv[1]]()
        if isinstance(found, gq.Posterior) and not found.draws.complete:
            print("draws", time.time(), flush=True)
            break
except KeyboardInterrupt as error:
    print("interrupted", time.time(), error, flush=True)
"""


@contextmanager
def ended_at_last(process, seconds=30):
    """Require that a process ends, and kill it otherwise."""
    try:
        yield
        assert process.wait(seconds) == 0
    finally:
        process.kill()


@contextmanager
def killed_if_silent(process, seconds=60):
    """Kill a process from which nothing comes, so that the test fails instead of waiting."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_python_drops_is_raised_at_the_end():
    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def count():
        with named_interruption("counting"):
            Finalized()
            done.append(1)
            with named_interruption("writing"):
                done.append(2)
            done.append(3)

    before = signal.getsignal(signal.SIGINT)
    done = []
    with pytest.raises(KeyboardInterrupt, match="interrupted while writing"):
        count()
    assert done == [1, 2]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["knn", "spectrum", "dense spectrum", "tune", "warm-up",
                                   "sampling", "statistics", "report"])  # fmt: skip
def test_ctrl_c_returns_from_each_stage(stage, tmp_path):
    script = tmp_path / "stages.py"
    script.write_text(STAGES)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script), stage, str(tmp_path / "report.html")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process, ended_at_last(process):
        assert process.stdout.readline() == "begin\n"
        time.sleep(np.random.default_rng().uniform(1.0, 6.0))
        pressed = time.time()
        process.send_signal(signal.SIGINT)
        with killed_if_silent(process):
            what, when, *message = process.stdout.readline().split()
        assert float(when) - pressed < PROMPT
        # Between two calls Ctrl-C is a plain KeyboardInterrupt, without a message
        assert what == "draws" or message[:1] in ([], ["interrupted"])
