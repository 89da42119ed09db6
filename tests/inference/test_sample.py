from __future__ import annotations

import _thread
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import quietly
from numba import njit
from references.problems import LABELS
from references.selection import first_of

import graphuq as gq
from graphuq.posterior.assessment.diagnostics import split_rhat
from graphuq.posterior.node_statistics import BATCHES, NodeMoments
from graphuq.priors.given import Given

RUN = {"draws": 200, "thin": 5, "progress": False}


def same(a, b):
    of_draws = ("modes", "field", "read", "running_mean_change")
    return all(np.array_equal(getattr(a.draws, n), getattr(b.draws, n)) for n in of_draws) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("mean", "variance", "mcse", "probability", "latent_mean")
    )


@pytest.mark.parametrize("n_classes", first_of([2, 3]))
def test_one_seed_gives_the_same_draws_whatever_the_threads(small, n_classes):
    labels = LABELS[n_classes]
    prior = gq.Prior.approximated(small[0], 8)
    runs = [
        quietly(prior, gq.Probit(0.1), labels, seed=7, threads=t, nodes=[1], **RUN)
        for t in (1, 2, 4)
    ]
    for other in runs[1:]:
        assert same(runs[0], other)
    other = quietly(prior, gq.Probit(0.1), labels, seed=8, nodes=[1], **RUN)
    assert not np.array_equal(runs[0].draws.modes, other.draws.modes)


def test_chains_differ_and_more_chains_leave_the_first_alone(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    two = quietly(prior, gq.Probit(0.1), labels, seed=7, chains=2, **RUN)
    three = quietly(prior, gq.Probit(0.1), labels, seed=7, chains=3, **RUN)
    assert not np.array_equal(two.draws.modes[0], two.draws.modes[1])
    assert np.array_equal(two.draws.modes, three.draws.modes[:2])


def test_a_seed_sequence_gives_equal_runs_and_a_generator_advances(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    sequence = np.random.SeedSequence(3)
    runs = [quietly(prior, gq.Probit(0.1), labels, seed=sequence, **RUN) for _ in range(2)]
    assert same(*runs)
    generator = np.random.default_rng(3)
    runs = [quietly(prior, gq.Probit(0.1), labels, seed=generator, **RUN) for _ in range(2)]
    assert not same(*runs)


def test_streamed_moments_are_those_of_the_whole_array(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    conditional = Given(prior.field, labels.nodes, np.empty(0, dtype=np.int64))
    fields = prior.at(labels.nodes).draw(203, np.random.default_rng(0))
    rows = conditional.rows(conditional.basis, conditional.which)
    moments = NodeMoments(rows, "sign", draws=203)
    summaries = conditional.summarize(fields[:, None])
    for piece in np.split(summaries, [1, 40, 41, 150]):
        moments.add(piece, np.empty((len(piece), 0)))
    totals = moments.totals()
    from scipy.special import erf

    means = rows.mean(summaries[:, 0])
    sd = rows.deviation[:, None]
    sign = np.where(sd > 0, erf(means / np.where(sd > 0, sd, 1) / np.sqrt(2)), np.sign(means))
    # products are in single precision, and erf is a polynomial's power
    single = 4 * np.finfo(np.float32).eps
    np.testing.assert_allclose(totals.label, sign.sum(1), atol=203 * single)
    np.testing.assert_allclose(totals.latent, means.sum(1), atol=203 * single)
    np.testing.assert_allclose(totals.latent_square, (means**2 + sd**2).sum(1), rtol=single)
    assert totals.draws == 203
    length, number, label, label_square, *_ = totals.batches
    assert number == 203 // length >= BATCHES
    batches = sign[:, : number * length].reshape(40, -1, length).mean(2)
    np.testing.assert_allclose(label, batches.sum(1), atol=single * number)
    np.testing.assert_allclose(label_square, (batches**2).sum(1), atol=2 * single * number)
    ends = means.cumsum(1)[:, length - 1 :: length] / (length * np.arange(1, number + 1))
    np.testing.assert_allclose(
        np.sqrt(moments.changes), np.linalg.norm(np.diff(ends, axis=1), axis=0), rtol=1e-5
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_streamed_statistics_are_those_of_the_draws(small, n_classes):
    labels, at = LABELS[n_classes], [3, 13]
    prior, model = gq.Prior.projected(small[0], 8), gq.NoisyProbit(0.2, 0.1)
    post = gq.sample(prior, model, labels, nodes=at, draws=4000, seed=1, progress=False)
    of_class = () if n_classes == 2 else (3,)
    assert post.draws.modes.shape == (4, 4000, 8, *of_class)
    assert post.draws.field.shape == (4, 4000, 2, *of_class)
    field = post.draws.field.reshape(-1, 2, *of_class)
    ess = post.diagnostics().ess
    assert ess > 2000
    index = field.argmax(axis=2) if of_class else field > 0
    counted = (index[..., None] == np.arange(n_classes)).mean(axis=0)
    np.testing.assert_allclose(counted, post.latent_by_class[at], atol=5 * 0.5 / np.sqrt(ess))
    np.testing.assert_allclose(field.mean(axis=0), post.latent_mean[at], atol=5 / np.sqrt(ess))
    np.testing.assert_allclose(
        field.var(axis=0), post.latent_variance[at], rtol=5 * np.sqrt(2 / ess)
    )
    every = np.concatenate(list(post.latent_draws()))
    assert every.shape == (16_000, 40, *of_class)
    np.testing.assert_allclose(every[:, at], field, atol=1e-9)


def test_posterior_quantities_fit_together(small):
    spectrum, labels, y = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False)
    np.testing.assert_allclose(post.variance, 1 - post.mean**2)
    np.testing.assert_allclose(post.latent_probability, (1 + post.mean) / 2)
    assert post.mean_variance == pytest.approx(post.variance.mean())
    assert (np.diff(post.variance[post.ranking("variance")]) <= 0).all()
    assert (np.diff(post.entropy[post.ranking()]) <= 1e-12).all()
    assert sorted(post.ranking()) == list(range(40))
    assert set(post.prediction) <= {0, 1}
    hidden = np.setdiff1d(np.arange(40), labels.nodes)
    assert post.accuracy(y) == (post.prediction[hidden] == y[hidden]).mean()
    with pytest.raises(ValueError, match="shape"):
        post.accuracy(y[:-1])


def test_swapping_the_classes_mirrors_the_answer(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    swapped = gq.Labels(labels.nodes, np.where(labels.values == 0, "z", "a"))
    a = gq.sample(prior, gq.Probit(0.3), labels, seed=0, progress=False)
    b = gq.sample(prior, gq.Probit(0.3), swapped, seed=0, progress=False)
    error = 5 * np.hypot(a.mcse, b.mcse)
    np.testing.assert_array_less(abs(a.mean + b.mean), error)


@dataclass(frozen=True)
class Interrupting(gq.PCN):
    """Presses Ctrl-C in the main thread once, after some chunks."""

    after: int = 6
    calls = []  # noqa: RUF012

    def advance(self, *arguments):
        self.calls.append(None)
        if len(self.calls) == self.after:
            _thread.interrupt_main()
        return super().advance(*arguments)


@dataclass(frozen=True)
class Flat(gq.PCN):
    """Returns fields without a row for each field of a node."""

    def advance(self, *arguments):
        state, chunk = super().advance(*arguments)
        return state, chunk._replace(fields=chunk.fields[:, 0])


@dataclass(frozen=True)
class Silent(gq.PCN):
    """Returns no potential."""

    def advance(self, *arguments):
        state, chunk = super().advance(*arguments)
        stats = {name: values for name, values in chunk.stats.items() if name != "potential"}
        return state, chunk._replace(stats=stats)


def test_draws_without_a_potential_are_refused(small):
    prior = gq.Prior.projected(small[0], 8)
    with pytest.raises(TypeError, match=r"the statistic potential of each draw.*, got acc"):
        gq.sample(prior, gq.Probit(0.1), small[1], Silent(), draws=10, thin=1, progress=False)


def test_fields_of_another_shape_are_refused(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8)
    with pytest.raises(TypeError, match=r"shape \(draws, 1, m\), got .*fields\[:, None, :\]"):
        gq.sample(prior, gq.Probit(0.1), labels, Flat(), draws=10, thin=1, progress=False)


def test_ctrl_c_returns_what_there_is(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    Interrupting.calls.clear()
    with pytest.warns(gq.ConvergenceWarning, match="interrupted"):
        post = gq.sample(
            prior, gq.Probit(0.1), labels, Interrupting(), draws=100_000, warmup=100, chains=2,
            seed=0, progress=False,
        )  # fmt: skip
    assert not post.draws.complete
    chains, draws = post.draws.modes.shape[:2]
    assert 1 <= chains <= 2
    assert 1 <= draws < 100_000
    assert np.isfinite(post.mean).all()
    assert "incomplete" in repr(post)


def test_ctrl_c_in_warm_up_has_nothing_to_return(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    Interrupting.calls.clear()
    with pytest.raises(KeyboardInterrupt, match="no draws"):
        gq.sample(
            prior, gq.Probit(0.1), labels, Interrupting(after=1), warmup=100_000, seed=0,
            progress=False,
        )  # fmt: skip


def test_chains_that_disagree_are_reported(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    with pytest.warns(gq.ConvergenceWarning, match=r"R-hat .* raise draws"):
        post = gq.sample(
            prior, gq.Probit(0.1), labels, gq.PCN(beta=0.02), draws=50, warmup=0, thin=1, seed=0,
            progress=False,
        )  # fmt: skip
    with pytest.warns(gq.ConvergenceWarning, match="worth only"):
        health = post.diagnostics()
    assert health.r_hat > 1.05
    assert health.ess < 100


def test_a_frozen_chain_is_reported(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    with pytest.warns(gq.ConvergenceWarning, match="never moved"):
        gq.sample(
            prior, gq.LevelSet(0.01), labels, gq.PCN(beta=1.0), draws=4, warmup=500, thin=1,
            chains=8, seed=2, progress=False,
        )  # fmt: skip


def test_split_rhat_sees_what_it_should():
    rng = np.random.default_rng(0)
    good = rng.standard_normal((4, 500, 1))
    assert split_rhat(good)[0] < 1.01
    assert split_rhat(good + np.arange(4)[:, None, None])[0] > 1.5
    assert split_rhat(good + np.linspace(0, 3, 500)[:, None])[0] > 1.2
    stuck = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 500, 1))
    assert split_rhat(stuck)[0] == np.inf
    assert split_rhat(np.ones((4, 500, 1)))[0] == 1


def test_bad_arguments_are_refused_before_any_work(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    model = gq.Probit(0.1)
    for arguments, error, message in (
        ((labels, model, labels), TypeError, "prior must be"),
        ((prior, model, [0, 1]), TypeError, "labels must be"),
        ((prior, "probit", labels), TypeError, "a likelihood is"),
        ((prior, model, labels, "nuts"), ValueError, "sampler must be"),
        ((prior, model, labels, gq.PCN), TypeError, "sampler must be"),
        ((prior, model, gq.Labels([0, 40], [0, 1])), ValueError, "got 40"),
    ):
        with pytest.raises(error, match=message):
            gq.sample(*arguments)
    for option, value, error in (
        ("draws", 0, ValueError),
        ("draws", 10.5, TypeError),
        ("chains", 0, ValueError),
        ("warmup", -1, ValueError),
        ("thin", 0, ValueError),
        ("threads", 0, ValueError),
        ("nodes", [40], ValueError),
        ("nodes", [1, 1], ValueError),
        ("seed", "a", TypeError),
    ):
        with pytest.raises(error, match=option):
            gq.sample(prior, model, labels, progress=False, **{option: value})


@njit
def _nan_beyond(u, seen):
    return np.nan if u[0, 0] > seen.parameters[0] else 0.0


@njit
def _infinite_beyond(u, seen):
    return np.inf if u[0, 0] > seen.parameters[0] else 0.0


@njit
def _zero_slope(u, seen, out):
    out[:] = 0.0


@dataclass(frozen=True)
class NaNBeyond:
    edge: float
    reads = "labelled"
    potential = staticmethod(_nan_beyond)
    gradient = staticmethod(_zero_slope)


@dataclass(frozen=True)
class InfiniteBeyond(NaNBeyond):
    potential = staticmethod(_infinite_beyond)


SAMPLERS = [gq.PCN(), gq.EllipticalSlice(), gq.HilbertHMC()]


# to compile for a likelihood of one's own takes longest with a gradient
@pytest.mark.parametrize("sampler", first_of(SAMPLERS, 2), ids=repr)
def test_a_potential_that_is_nan_stops_its_chain_and_is_reported_with_the_state(small, sampler):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    with pytest.warns(gq.ConvergenceWarning, match=r"potential is nan at a field .* \["):
        post = gq.sample(
            prior, NaNBeyond(3.5), labels, sampler, draws=5000, warmup=10, thin=1, chains=2,
            seed=1, progress=False,
        )  # fmt: skip
    assert not post.draws.complete
    assert 0 < post.draws.modes.shape[1] < 5000
    assert np.isfinite(post.latent_mean).all()
    with pytest.raises(ValueError, match="NaNBeyond: Chain 0 stopped"):
        gq.sample(prior, NaNBeyond(-9.0), labels, sampler, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_an_infinite_potential_is_a_place_never_visited(small, sampler):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = quietly(
        prior, InfiniteBeyond(0.3), labels, sampler, draws=2000, nodes=[0], seed=1, progress=False
    )
    assert post.draws.complete
    assert post.draws.field.max() <= 0.3


def test_one_chain_is_judged_by_its_halves(small):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = gq.sample(prior, gq.Probit(0.1), labels, chains=1, seed=0, progress=False)
    assert post.diagnostics().r_hat < 1.05


def test_standard_errors_grow_when_chains_disagree(small):
    spectrum, labels, _ = small
    prior, model = gq.Prior.approximated(spectrum, 8), gq.GinzburgLandau(0.02, 5.0)
    posts = [
        quietly(prior, model, labels, gq.PCN(beta=0.05), draws=200, seed=s, progress=False)
        for s in range(8)
    ]
    spread = np.std([post.mean for post in posts], axis=0, ddof=1)
    told = np.sqrt(np.mean([post.mcse**2 for post in posts], axis=0))
    assert np.median(spread / told) < 2


@pytest.mark.slow
def test_the_number_of_blas_threads_changes_nothing():
    script = """
import hashlib, graphuq as gq
X, y = gq.datasets.two_moons(700, 10, seed=0)
spectrum = gq.Spectrum.of(gq.knn_graph(X, 10, connect=True), 60)
post = gq.sample(gq.Prior.approximated(spectrum, 60), gq.Probit(0.1), gq.reveal(y, 0.2, seed=0),
                 draws=50, seed=0, progress=False)
print(hashlib.sha256(post.mean.tobytes() + post.draws.modes.tobytes()).hexdigest())
"""
    run = {"capture_output": True, "text": True, "check": True}
    python = [sys.executable, "-W", "ignore", "-c", script]
    one = subprocess.run(python, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, **run)
    other = subprocess.run(python, env={**os.environ, "OPENBLAS_NUM_THREADS": "2"}, **run)
    assert one.stdout == other.stdout


PLUGIN = """
from dataclasses import dataclass
from math import exp, log1p
from numba import njit

@njit
def logistic(u, seen):
    phi = 0.0
    for j in range(seen.y.size):
        phi += log1p(exp(-seen.y[j] * u[seen.rows[j], 0] / seen.parameters[0]))
    return phi

@dataclass(frozen=True)
class Logistic:
    scale: float
    reads = "labelled"
    potential = staticmethod(logistic)
"""

SCRIPT = """
import numpy as np, graphuq as gq
from outside import Logistic
from graphuq.samplers.pcn import _walk
ring = np.roll(np.eye(12), 1, axis=1)
prior = gq.Prior.approximated(gq.Graph(ring + ring.T), 4)
for model in (gq.Probit(0.1), Logistic(0.2)):
    gq.sample(prior, model, gq.Labels([0, 6], [0, 1]), draws=100, seed=0, progress=False)
print(len(_walk.compiled.signatures), sum(_walk.compiled.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_fresh_processes_find_the_compiled_kernel_whatever_the_plugin(tmp_path):
    (tmp_path / "outside.py").write_text(textwrap.dedent(PLUGIN))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    seen = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    # one signature serves both models; only the second process loads it from the cache
    assert seen == [["1", "0"], ["1", "1"]]


def test_classes_without_labels_are_equally_probable_far_from_other_labels(clump_graph, clumps):
    _, y = clumps
    ants = gq.Labels(np.flatnonzero(y == "ant")[:5], ["ant"] * 5, classes=["ant", "bee", "cow"])
    post = gq.sample(
        gq.Prior.projected(clump_graph, 12), gq.Probit(0.2), ants, seed=0, progress=False
    )
    ant, bee, cow = post.probability.T
    errors = post.probability_mcse
    assert (abs(bee - cow) < 5 * np.hypot(errors[:, 1], errors[:, 2])).all()
    assert ant[y == "ant"].mean() > 0.8 > 2 * ant[y != "ant"].mean()


def test_invalid_labels_are_refused():
    with pytest.raises(ValueError, match="only 'ant'; label a node of another class too, or list"):
        gq.Labels([0, 1], ["ant", "ant"])
    with pytest.raises(ValueError, match="a label is 'ant', which is not one of the classes"):
        gq.Labels([0], ["ant"], classes=["bee", "cow", "dog"])


def test_more_classes_than_memory_holds_are_refused_before_any_work(clump_graph, monkeypatch):
    prior = gq.Prior.projected(clump_graph, 12)
    few, lots, most = (gq.Labels([0, 1], [0, 1], classes=range(K)) for K in (3, 100, 10_000))
    monkeypatch.setattr(
        "graphuq.inference.assembly.run_chains", lambda *_, **__: pytest.fail("worked")
    )
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e7)
    with pytest.raises(MemoryError, match="ask for fewer draws"):
        gq.sample(prior, gq.Probit(0.2), lots, progress=False)
    with pytest.raises(MemoryError, match="9 x 10000 statistics of 60 nodes"):
        gq.sample(prior, gq.Probit(0.2), most, draws=1, chains=1, progress=False)
    with pytest.raises(pytest.fail.Exception, match="worked"):
        gq.sample(prior, gq.Probit(0.2), few, progress=False)


def test_traces_of_more_classes_than_memory_holds_are_refused(small, monkeypatch):

    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 2.0**28)
    labels = gq.Labels([0, 7], [0, 1], classes=range(5000))
    with pytest.raises(MemoryError, match="storing 4 x 1000 draws"):
        gq.sample(gq.Prior.projected(small[0], 8), gq.LevelSet(1.0), labels)
