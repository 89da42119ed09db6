"""One probit posterior sampled side by side by graphuq's samplers and by other packages'.

[GRAPHUQ_DATA=...] python benchmarks/samplers.py [--quick] [--problem first] [--only NAME ...]

Every contender has a process, a core and a thread to itself, works in double precision, and is
scored by the same code. The posterior is u = V diag(s) xi, xi ~ N(0, I_r), with log-likelihood
sum log Psi(A xi; 1), A = diag(y) V_J diag(s) / gamma: the spectrally projected prior and probit.
Other packages come with `pip install graphuq[peers]`; tinyDA asks for an older numpy than they do,
so add it with `pip install --no-deps tinyDA ray`. Those that do not start are reported absent.

What is counted, and how:

- start: from the launch of the process until packages and posterior are loaded;
- compile: with empty caches; warm-up and sampling: all chains, one after the other;
- latent draws of ours, which samples at labelled nodes alone, are part of sampling; the other
  packages sample xi, and their products V xi are free;
- first 1,000: median wall time of three fresh processes that find numba's cache filled, run one
  chain for as many draws as 1,000 effective ones take by the efficiency just measured, and stop;
  JAX has its cache on disk off, as it comes, and on. What would last more than a minute is the sum
  of the parts instead;
- squared error x s: of the estimates of 2 P(u > 0) - 1 from pieces of a run, against a long
  harmonic run, times the seconds that such a piece took, warm-up left out. Signs of other packages
  at the traced nodes are free; those at all nodes cost the product V xi;
- "lean" is blackjax with a likelihood four times faster than JAX's own log_ndtr.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, log_ndtr

GAMMA = 0.1
CHAINS, PIECES, KEPT = 4, 5, 20_000
NODES = 50
FIRST, ERROR = "first 1,000 s", f"squared error x s, {NODES} nodes"
PATH = 1.2 * math.pi  # longest path of blackjax's dynamic_hmc, the best of several tried
PATIENCE = 60.0  # seconds that a measured time to the first 1,000 may take
LIMIT = 1200.0  # seconds after which a contender is given up
ONE_THREAD = {
    **dict.fromkeys(
        ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
         "RAYON_NUM_THREADS"], "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "PYTHONWARNINGS": "ignore",
}  # fmt: skip


class Job(NamedTuple):
    """One contender's task, read from the posterior's file and the command line."""

    posterior: dict[str, Any]
    chains: int
    draws: int
    """Steps of each chain."""
    warmup: int
    thin: int
    seed: int
    clock: Clock

    @property
    def rank(self) -> int:
        """Number of modes r."""
        return self.posterior["s"].size

    @property
    def kept(self) -> int:
        """Draws kept of each chain."""
        return self.draws // self.thin


class Clock:
    """Seconds by purpose."""

    def __init__(self, launched: float) -> None:
        self.launched = launched
        self.seconds: dict[str, float] = {}

    @contextmanager
    def lap(self, purpose: str) -> Iterator[None]:
        """Count the seconds of a block."""
        begun = time.perf_counter()
        yield
        spent = time.perf_counter() - begun
        self.seconds[purpose] = self.seconds.get(purpose, 0.0) + spent

    def ready(self) -> None:
        """Everything is imported."""
        self.seconds["start"] = time.time() - self.launched


class Draws(NamedTuple):
    """What a contender returns."""

    xi: Any
    """Shape (chains, kept, r)."""
    nodes: Any = None
    """The field at the traced nodes (chains, kept, 50), if not V xi."""
    signs: Callable | None = None
    """signs(chain, piece, nodes) -> E[sign u], if not the average sign of V xi."""
    done: float | None = None
    """time.time() when draws at the traced nodes were there."""
    whole: bool = False
    """Whether signs come from whole runs, not from pieces."""


def room(shape: tuple[int, ...]) -> Any:
    """An array whose pages the system has handed out already: that is not the sampler's time."""
    return np.full(shape, np.nan)


# Ours ------------------------------------------------------------------------------------------


def ours(job: Job, make: Callable, noisy: bool) -> Draws:
    """Run the kernels at the labelled nodes, then draw the traced nodes given these."""
    from graphuq.extension import FromLabelled
    from graphuq.likelihoods.contract import bind
    from graphuq.noise import white_noise
    from graphuq.samplers.family import Target

    clock, (prior, labels, gq) = job.clock, _graphuq(job)
    clock.ready()
    nodes = job.posterior["nodes"]
    with clock.lap("compile"):
        bound = bind(gq.Probit(GAMMA), labels, prior.n_nodes)
        noise = GAMMA if noisy else 0.0
        target = Target(prior.at(labels.nodes).with_noise(noise), bound)
        sampler = make(gq)
        rng = np.random.default_rng(0)
        sampler.advance(target, sampler.start(target, rng), rng, 1, 1, True)
    with clock.lap("warm-up"):
        gain, factor = _conditional(prior, nodes, labels.nodes, target.law)
    fields = room((job.chains, job.kept, len(labels)))
    latent = room((job.chains, job.kept, nodes.size))
    for chain, rng in enumerate(np.random.default_rng(job.seed).spawn(job.chains)):
        with clock.lap("warm-up"):
            state = sampler.start(target, rng)
            state, _ = sampler.advance(target, state, rng, job.warmup // job.thin, job.thin, True)
        with clock.lap("sampling"):
            for first in range(0, job.kept, 1024):
                block = slice(first, min(first + 1024, job.kept))
                size = block.stop - first
                state, chunk = sampler.advance(target, state, rng, size, job.thin, False)
                fields[chain, block] = chunk.fields
                with clock.lap("latent"):
                    white = white_noise(rng, size, factor.shape[1])
                    latent[chain, block] = chunk.fields @ gain.T + white @ factor.T
    done = time.time()
    extension = FromLabelled(prior, labels.nodes, nodes, noise)
    rng = np.random.default_rng(job.seed + 1)
    xi = np.stack([extension.trace(x[: _few(job)], rng)[0] for x in fields])
    deviation = np.sqrt((factor**2).sum(1))

    def signs(chain: int, piece: slice, every: bool) -> Any:
        x = fields[chain, piece]
        if not every:
            return erf((x @ gain.T) * (math.sqrt(0.5) / deviation)).mean(0)
        from graphuq.moments import NodeMoments

        moments = NodeMoments(extension, "sign", len(x))
        for block in range(0, len(x), 1024):
            moments.add(x[block : block + 1024])
        return moments.totals().sign / len(x)

    signs(0, slice(0, 1), True)
    return Draws(xi, latent, signs, done)


def _graphuq(job: Job) -> tuple[Any, Any, Any]:
    import graphuq as gq

    p = job.posterior
    spectrum = gq.Spectrum(p["values"], p["vectors"], p["null"])
    return gq.Prior.projected(spectrum, job.rank), gq.Labels(p["labelled"], p["y"]), gq


def _conditional(prior: Any, nodes: Any, labelled: Any, law: Any) -> tuple[Any, Any]:
    """E[u | x] = gain x at ``nodes``, and a factor of Cov[u | x] without its zero columns."""
    cross = prior.covariance(nodes, labelled)
    gain = law.solve(cross)
    values, vectors = np.linalg.eigh(prior.covariance(nodes, nodes) - gain @ cross.T)
    real = values > 1e-12
    return gain, vectors[:, real] * np.sqrt(values[real])


def _few(job: Job) -> int:
    """Draws of xi a chain that are drawn for the score of the log posterior."""
    return min(job.kept, 5000)


def harmonic(job: Job) -> Draws:
    return ours(job, lambda gq: gq.Harmonic(), True)


def hilbert_hmc(job: Job) -> Draws:
    return ours(job, lambda gq: gq.HilbertHMC(), False)


def elliptical_slice(job: Job) -> Draws:
    return ours(job, lambda gq: gq.EllipticalSlice(), False)


def pcn(job: Job) -> Draws:
    return ours(job, lambda gq: gq.PCN(), False)


def public(job: Job) -> Draws:
    """The whole of gq.sample, with the statistics of all N nodes."""
    prior, labels, gq = _graphuq(job)
    job.clock.ready()
    nodes = job.posterior["nodes"]
    how = {"chains": job.chains, "nodes": nodes, "threads": 1, "progress": False}
    with job.clock.lap("compile"):
        gq.sample(prior, gq.Probit(GAMMA), labels, draws=1, warmup=0, **how)
    with job.clock.lap("sampling"):
        post = gq.sample(
            prior, gq.Probit(GAMMA), labels, gq.Harmonic(), draws=job.draws, warmup=job.warmup,
            seed=job.seed, **how,
        )  # fmt: skip
    mean = {True: post.mean, False: post.mean[nodes]}
    done = time.time()
    return Draws(post.modes, post.field, lambda chain, piece, every: mean[every], done, True)


# Peers -----------------------------------------------------------------------------------------


def _lean_log_cdf(jax: Any) -> Callable:
    """Log Psi(x; 1) with its slope by hand, whose gradient takes a quarter of log_ndtr's time."""
    jnp, erfc, low = jax.numpy, jax.scipy.special.erfc, -30.0

    def cdf(x: Any) -> Any:
        return 0.5 * erfc(-math.sqrt(0.5) * jnp.maximum(x, low))

    def value(x: Any) -> Any:
        tail = -0.5 * x * x - jnp.log(jnp.maximum(-x, 1.0)) - 0.5 * math.log(2 * math.pi)
        return jnp.where(x > low, jnp.log(cdf(x)), tail)

    def slope(x: Any, flow: Any) -> tuple[Any]:
        density = jnp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return (flow * jnp.where(x > low, density / cdf(x), -x),)

    log_cdf = jax.custom_vjp(value)
    log_cdf.defvjp(lambda x: (value(x), x), slope)
    return log_cdf


def _jax(job: Job, lean: bool = False) -> tuple[Any, Any, Any, Callable]:
    """jax, the log-likelihood, the log density, and an ahead-of-time compiler on the clock."""
    import jax
    import jax.numpy as jnp

    A = jnp.asarray(job.posterior["A"])
    log_cdf = _lean_log_cdf(jax) if lean else jax.scipy.special.log_ndtr

    def loglik(xi: Any) -> Any:
        return log_cdf(A @ xi).sum()

    def logdensity(xi: Any) -> Any:
        return loglik(xi) - 0.5 * xi @ xi

    def compiled(function: Callable, *arguments: Any) -> Callable:
        with job.clock.lap("compile"):
            program = jax.jit(function).lower(*arguments).compile()
        return lambda *values: jax.block_until_ready(program(*values))

    return jax, loglik, logdensity, compiled


def _start(job: Job) -> Any:
    """Overdispersed starts, one for each chain."""
    return 0.5 * np.random.default_rng(job.seed).standard_normal((job.chains, job.rank))


def _jax_chains(job: Job, jax: Any, compiled: Callable, warm: Callable, step: Callable) -> Draws:
    """Sample with step(parameters, state, key) from warm(key, start) = (state, parameters)."""

    def walk(state: Any, parameters: Any, key: Any) -> Any:
        def few(state: Any, key: Any) -> Any:
            def once(state: Any, key: Any) -> Any:
                return step(parameters, state, key), None

            state, _ = jax.lax.scan(once, state, jax.random.split(key, job.thin))
            return state, state[0]

        return jax.lax.scan(few, state, jax.random.split(key, job.kept))[1]

    keys = jax.random.split(jax.random.key(job.seed), (job.chains, 2))
    starts = jax.numpy.asarray(_start(job))
    warming = compiled(warm, keys[0, 0], starts[0])
    walking = None
    xi = room((job.chains, job.kept, job.rank))
    for chain in range(job.chains):
        with job.clock.lap("warm-up"):
            state, parameters = warming(keys[chain, 0], starts[chain])
        if walking is None:
            walking = compiled(walk, state, parameters, keys[0, 1])
        with job.clock.lap("sampling"):
            xi[chain] = walking(state, parameters, keys[chain, 1])
    return Draws(xi)


def blackjax_nuts(job: Job) -> Draws:
    import blackjax

    jax, _, logdensity, compiled = _jax(job)
    job.clock.ready()
    kernel = blackjax.nuts.build_kernel()

    def warm(key: Any, start: Any) -> Any:
        adaptation = blackjax.window_adaptation(blackjax.nuts, logdensity)
        (state, parameters), _ = adaptation.run(key, start, num_steps=job.warmup)
        return state, (parameters["step_size"], parameters["inverse_mass_matrix"])

    def step(parameters: Any, state: Any, key: Any) -> Any:
        return kernel(key, state, logdensity, *parameters)[0]

    return _jax_chains(job, jax, compiled, warm, step)


def blackjax_dynamic_hmc(job: Job, lean: bool = False) -> Draws:
    """HMC of uniformly random length; step size and metric by windows, longest path `PATH`."""
    import blackjax

    jax, _, logdensity, compiled = _jax(job, lean)
    job.clock.ready()
    kernel = blackjax.dynamic_hmc.build_kernel(
        integration_steps_fn=lambda key, longest: jax.random.randint(key, (), 1, longest + 1)
    )

    def warm(key: Any, start: Any) -> Any:
        adaptation = blackjax.window_adaptation(
            blackjax.hmc, logdensity, num_integration_steps=5, target_acceptance_rate=0.8
        )
        (state, parameters), _ = adaptation.run(key, start, num_steps=job.warmup)
        h = parameters["step_size"]
        longest = jax.numpy.maximum(1, jax.numpy.round(PATH / h)).astype(int)
        state = blackjax.dynamic_hmc.init(state.position, logdensity, key)
        return state, (h, parameters["inverse_mass_matrix"], (longest,))

    def step(parameters: Any, state: Any, key: Any) -> Any:
        h, metric, longest = parameters
        return kernel(key, state, logdensity, h, metric, longest)[0]

    return _jax_chains(job, jax, compiled, warm, step)


def blackjax_lean_hmc(job: Job) -> Draws:
    """The same, with a faster likelihood than JAX ships: for users who optimise theirs."""
    return blackjax_dynamic_hmc(job, lean=True)


def blackjax_elliptical_slice(job: Job) -> Draws:
    import blackjax

    jax, loglik, _, compiled = _jax(job)
    job.clock.ready()
    zero, one = jax.numpy.zeros(job.rank), jax.numpy.ones(job.rank)
    sampler = blackjax.elliptical_slice(loglik, mean=zero, cov=one)

    def warm(key: Any, start: Any) -> Any:
        def once(state: Any, key: Any) -> Any:
            return sampler.step(key, state)[0], None

        keys = jax.random.split(key, job.warmup)
        return jax.lax.scan(once, sampler.init(start), keys)[0], ()

    def step(parameters: Any, state: Any, key: Any) -> Any:
        del parameters
        return sampler.step(key, state)[0]

    return _jax_chains(job, jax, compiled, warm, step)


def numpyro_nuts(job: Job) -> Draws:
    from numpyro.infer import hmc

    jax, _, logdensity, compiled = _jax(job)
    job.clock.ready()
    initial, kernel = hmc.hmc(lambda xi: -logdensity(xi), algo="NUTS")

    def warm(key: Any, start: Any) -> Any:
        state = initial(start, num_warmup=job.warmup, rng_key=key)
        return jax.lax.fori_loop(0, job.warmup, lambda _, state: kernel(state), state), ()

    def walk(state: Any, key: Any) -> Any:
        del key

        def once(state: Any, _: Any) -> Any:
            state = kernel(state)
            return state, state.z

        return jax.lax.scan(once, state, None, job.draws)[1]

    keys = jax.random.split(jax.random.key(job.seed), job.chains)
    starts = jax.numpy.asarray(_start(job))
    # the kernel learns the number of warm-up steps from `initial`, so this traces it first
    warming, walking = compiled(warm, keys[0], starts[0]), None
    xi = room((job.chains, job.draws, job.rank))
    for chain in range(job.chains):
        with job.clock.lap("warm-up"):
            state, _ = warming(keys[chain], starts[chain])
        walking = walking or compiled(walk, state, keys[0])
        with job.clock.lap("sampling"):
            xi[chain] = walking(state, keys[chain])
    return Draws(xi)


def nutpie_nuts(job: Job) -> Draws:
    """NUTS of nutpie, on a log density and gradient that numba compiled."""
    import nutpie
    from numba import njit
    from nutpie.compiled_pyfunc import from_pyfunc

    job.clock.ready()

    def density(xi, A):  # type: ignore[no-untyped-def]
        slope = np.dot(A, xi)
        total = 0.0
        for j in range(slope.size):
            x = slope[j]
            if x > -20.0:
                cdf = 0.5 * math.erfc(-math.sqrt(0.5) * x)
                total += math.log(cdf)
                slope[j] = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) / cdf
            else:  # only on the way from a start
                total -= 0.5 * x * x + math.log(-x)
                slope[j] = -x
        return total - 0.5 * np.dot(xi, xi), np.dot(slope, A) - xi

    with job.clock.lap("compile"):
        signature = "Tuple((f8, f8[::1]))(f8[::1], f8[:, ::1])"
        density = njit(signature, cache=True, error_model="numpy")(density)
    A = job.posterior["A"]
    ends: list[list[float]] = []

    def expand(*_: Any) -> Callable:
        stamps: list[float] = []
        ends.append(stamps)

        def values(xi: Any) -> dict[str, Any]:
            stamps.append(time.perf_counter())
            return {"xi": np.asarray(xi)}

        return values

    starts = iter(_start(job))
    model = from_pyfunc(
        job.rank, lambda: lambda xi: density(xi, A), expand, [np.dtype("float64")],
        [(job.rank,)], ["xi"], make_initial_point_fn=lambda _: next(starts),
    )  # fmt: skip
    begun = time.perf_counter()
    trace = nutpie.sample(
        model, draws=job.draws, tune=job.warmup, chains=job.chains, cores=1, seed=job.seed,
        save_warmup=False, progress_bar=False,
    )  # fmt: skip
    spent = time.perf_counter() - begun
    # the time of every draw is known, so warm-up and sampling are told apart
    chains = [stamps for stamps in ends if len(stamps) == job.warmup + job.draws]
    sampling = sum(stamps[-1] - stamps[job.warmup - 1] for stamps in chains)
    job.clock.seconds |= {"warm-up": spent - sampling, "sampling": sampling}
    return Draws(trace.posterior["xi"].values)


def cuqipy_pcn(job: Job) -> Draws:
    """CUQIpy's pCN, by its step(), which is faster than sample() and does the same."""
    import cuqi

    job.clock.ready()
    np.random.seed(job.seed)  # noqa: NPY002  it knows no other
    prior = cuqi.distribution.Gaussian(np.zeros(job.rank), 1.0)
    A = job.posterior["A"]
    likelihood = cuqi.likelihood.UserDefinedLikelihood(
        dim=job.rank, logpdf_func=lambda xi: log_ndtr(A @ xi).sum()
    )
    xi = room((job.chains, job.kept, job.rank))
    for chain, start in enumerate(_start(job)):
        sampler = cuqi.sampler.PCN(
            cuqi.distribution.Posterior(likelihood, prior), scale=0.1, initial_point=start
        )
        with job.clock.lap("warm-up"):
            sampler.warmup(1000, tune_freq=0.05)  # its cost grows with the square of the steps
            for _ in range(job.warmup - 1000):
                sampler.step()
        with job.clock.lap("sampling"):
            for draw in range(job.kept):
                for _ in range(job.thin):
                    sampler.step()
                xi[chain, draw] = sampler.current_point
    return Draws(xi)


def tinyda_pcn(job: Job) -> Draws:
    import scipy.stats
    import tinyDA

    job.clock.ready()
    np.random.seed(job.seed)  # noqa: NPY002  it knows no other

    class Likelihood:
        def loglike(self, Axi: Any) -> float:
            return log_ndtr(Axi).sum()

    prior = scipy.stats.multivariate_normal(np.zeros(job.rank), np.eye(job.rank))
    A = job.posterior["A"]
    posterior = tinyDA.Posterior(prior, Likelihood(), lambda xi: A @ xi)

    def walk(start: Any, steps: int, proposal: Any) -> Any:
        return tinyDA.sample(
            posterior, proposal, steps, n_chains=1, initial_parameters=[start],
            force_sequential=True, force_progress_bar=False,
        )["chain_0"]  # fmt: skip

    xi = room((job.chains, job.kept, job.rank))
    for chain, start in enumerate(_start(job)):
        tuned = tinyDA.CrankNicolson(scaling=0.1, adaptive=True)
        with job.clock.lap("warm-up"):
            warm = walk(start, job.warmup, tuned)[-1].parameters
        with job.clock.lap("sampling"):
            links = walk(warm, job.draws, tinyDA.CrankNicolson(scaling=tuned.scaling))[1:]
        xi[chain] = [link.parameters for link in links[:: job.thin]][: job.kept]
    return Draws(xi)


# name: (function, runs on, warm-up, steps of a chain, steps from one kept draw to the next)
CONTENDERS: dict[str, tuple[Callable, str, int, int, int]] = {
    "Harmonic": (harmonic, "graphuq", 100, 20_000, 1),
    "gq.sample": (public, "graphuq", 100, 5_000, 1),
    "HilbertHMC": (hilbert_hmc, "graphuq", 500, 5_000, 1),
    "EllipticalSlice": (elliptical_slice, "graphuq", 5_000, 100_000, 10),
    "PCN": (pcn, "graphuq", 20_000, 400_000, 20),
    "blackjax dynamic_hmc": (blackjax_dynamic_hmc, "blackjax on JAX", 500, 5_000, 1),
    "blackjax dynamic_hmc, lean": (blackjax_lean_hmc, "blackjax on JAX", 500, 5_000, 1),
    "blackjax NUTS": (blackjax_nuts, "blackjax on JAX", 500, 3_000, 1),
    "nutpie NUTS": (nutpie_nuts, "nutpie", 500, 3_000, 1),
    "numpyro NUTS": (numpyro_nuts, "numpyro on JAX", 500, 3_000, 1),
    "blackjax elliptical_slice": (blackjax_elliptical_slice, "blackjax on JAX", 5_000, 50_000, 10),
    "CUQIpy pCN": (cuqipy_pcn, "cuqipy", 5_000, 30_000, 10),
    "tinyDA pCN": (tinyda_pcn, "tinyDA", 1_000, 3_000, 1),
}
OURS = [name for name, (_, needs, *_) in CONTENDERS.items() if needs == "graphuq"]


# One contender's process -----------------------------------------------------------------------


def compete(options: argparse.Namespace) -> None:
    """Run one contender and leave its draws and times in ``--result``."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with np.load(options.posterior) as arrays:
        posterior = dict(arrays)
    clock = Clock(options.launched)
    run, _, warmup, _, thin = CONTENDERS[options.contender]
    job = Job(posterior, options.chains, options.draws, warmup, thin, options.seed, clock)
    out = run(job)
    clock.seconds["elapsed"] = (out.done or time.time()) - options.launched
    arrays = {}
    if not options.fresh:
        arrays = summary(job, out)
    np.savez(options.result, times=json.dumps(clock.seconds), **arrays)


def summary(job: Job, out: Draws) -> dict[str, Any]:
    """Return the traces to score, and sign averages of pieces with what each took."""
    p, clock = job.posterior, job.clock.seconds
    loadings = p["vectors"] * p["s"]
    traced = loadings[p["nodes"]]
    nodes = out.xi @ traced.T if out.nodes is None else out.nodes
    loglik = np.stack([log_ndtr(xi @ job.posterior["A"].T).sum(1) for xi in out.xi])

    def signs(chain: int, piece: slice, every: bool) -> Any:
        which, total, xi = (loadings if every else traced), 0.0, out.xi[chain, piece]
        for first in range(0, len(xi), 1024):
            total += np.sign(which @ xi[first : first + 1024].T).sum(1)
        return total / len(xi)

    found: dict[bool, list] = {False: [], True: []}
    seconds: dict[bool, list[float]] = {False: [], True: []}
    walk = clock["sampling"] - (0 if out.whole else clock.get("latent", 0.0))
    length = job.kept // PIECES
    for chain in range(1 if out.whole else job.chains):
        for piece in range(1 if out.whole else PIECES):
            part = slice(piece * length, (piece + 1) * length)
            for every in found:
                begun = time.perf_counter()
                found[every].append((out.signs or signs)(chain, part, every))
                spent = time.perf_counter() - begun
                free = out.signs is None and not every
                share = 1 if out.whole else job.chains * PIECES
                seconds[every].append(walk / share + (0 if free else spent))
    return {
        "nodes": nodes,
        "loglik": loglik,
        "logpost": loglik - 0.5 * (out.xi**2).sum(2),
        "signs": np.array(found[False]),
        "every": np.array(found[True]),
        "signs_seconds": np.mean(seconds[False]),
        "every_seconds": np.mean(seconds[True]),
    }


# The process that compares ---------------------------------------------------------------------


def launch(name: str, file: Path, folder: Path, draws: int, *, chains: int = CHAINS,
           seed: int = 0, fresh: bool = False, jax_cache: bool = True) -> dict:  # fmt: skip
    """Run a contender in a process of its own, on one core; raise RuntimeError if it fails."""
    result = folder / "result.npz"
    result.unlink(missing_ok=True)
    caches = {"NUMBA_CACHE_DIR": str(folder / name / "numba")}
    if jax_cache:
        caches["JAX_COMPILATION_CACHE_DIR"] = str(folder / name / "jax")
    command = [
        sys.executable, __file__, "--contender", name, "--posterior", file, "--result", result,
        "--draws", draws, "--chains", chains, "--seed", seed, "--launched", repr(time.time()),
        *(["--fresh"] if fresh else []),
    ]  # fmt: skip
    try:
        ran = subprocess.run(
            list(map(str, command)), env={**os.environ, **ONE_THREAD, **caches},
            capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done in {LIMIT:.0f} s") from None
    if ran.returncode or not result.exists():
        last = ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"]
        raise RuntimeError(last[-1][:200])
    with np.load(result) as arrays:
        out = dict(arrays)
    return {**out, **json.loads(str(out.pop("times")))}


def first_problem(gq: Any) -> tuple[Any, Any, Any]:
    X, y = gq.datasets.two_moons(2000, 20, sigma=0.1, seed=0)
    graph = gq.knn_graph(X, n_neighbors=20, connect=True)
    return gq.Prior.projected(graph, 100), gq.reveal(y, counts=50, seed=0), "two moons"


def second_problem(gq: Any) -> tuple[Any, Any, Any]:
    X, y = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=2000, seed=0)
    graph = gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True)
    return gq.Prior.projected(graph, 300), gq.reveal(y, counts=80, seed=0), "MNIST (4, 9)"


PROBLEMS = {"first": first_problem, "second": second_problem}


def write_posterior(prior: Any, labels: Any, file: Path) -> None:
    J, y = labels.nodes, labels.codes.astype(float)
    hidden = np.setdiff1d(np.arange(prior.n_nodes), J)
    spectrum = prior.spectrum
    loadings = spectrum.vectors * prior.sigma
    np.savez(
        file,
        A=y[:, None] * loadings[J] / GAMMA,
        s=prior.sigma,
        values=spectrum.values,
        vectors=spectrum.vectors,
        null=spectrum.null,
        labelled=J,
        y=y,
        nodes=np.sort(np.random.default_rng(1).choice(hidden, NODES, replace=False)),
    )


def ess(traces: Any, method: str = "bulk") -> Any:
    """Effective sample sizes by arviz of traces (chains, draws, quantities)."""
    import arviz
    import xarray as xr

    data = xr.Dataset({"x": (("chain", "draw", "quantity"), traces)})
    return arviz.ess(data, method=method)["x"].values


def gaps(out: dict[str, Any], reference: dict[str, Any]) -> float:
    """Largest gap, in standard errors, of means of u, sign u and the log-likelihood.

    Signs count where both sorts are expected ten times, for a standard error to mean something.
    """
    largest = 0.0
    for key, change in (("nodes", np.asarray), ("nodes", np.sign), ("loglik", np.atleast_3d)):
        ours, theirs = change(reference[key]), change(out[key])
        sizes, wanted = [], np.ones(ours.shape[2], dtype=bool)
        for traces in (ours, theirs):
            size = ess(traces, "mean")
            if change is np.sign:
                wanted &= size * (1 - np.abs(ours.mean((0, 1)))) / 2 >= 10
            sizes.append(size)
        # both have the variance of the long run, which is known better
        error = np.sqrt(ours.var((0, 1)) * (1 / sizes[0] + 1 / sizes[1]))
        gap = np.abs(ours.mean((0, 1)) - theirs.mean((0, 1)))
        largest = max(largest, float((gap[wanted] / error[wanted]).max(initial=0.0)))
    return largest


def score(name: str, out: dict[str, Any], reference: dict[str, Any], steps: int) -> dict[str, Any]:
    """One row of the table, but for the time to the first 1,000."""
    least = float(ess(out["nodes"]).min())
    seconds = [out.get(part, 0.0) for part in ("start", "compile", "warm-up")]
    return {
        "sampler": name,
        "draws": steps,
        **dict(zip(("start s", "compile s", "warm-up s"), seconds, strict=True)),
        "sampling s": out["sampling"],
        "ms per draw": 1e3 * out["sampling"] / steps,
        "min ESS": least,
        "ESS per draw": least / steps,
        "ESS/s": least / out["sampling"],
        "ESS/s, all in": least / (sum(seconds) + out["sampling"]),
        "ESS of log posterior per draw": float(ess(out["logpost"][:, :, None])[0])
        / out["logpost"].size * out["nodes"].shape[0] * out["nodes"].shape[1] / steps,
        **{
            f"squared error x s, {label}": float(
                ((out[key] - reference[key].mean(0)) ** 2).mean() * out[f"{key}_seconds"]
            )
            for key, label in (("signs", f"{NODES} nodes"), ("every", "all nodes"))
        },
        "largest gap, SE": gaps(out, reference),
    }  # fmt: skip


def first_thousand(row: dict[str, Any], file: Path, folder: Path) -> dict[str, Any]:
    """Seconds to 1,000 effective draws in a fresh process, without and with JAX's cache on disk."""
    name = row["sampler"]
    thin = CONTENDERS[name][4]
    draws = thin * math.ceil(1000 / row["ESS per draw"] / thin)
    estimate = row["start s"] + row["warm-up s"] / CHAINS + 1e-3 * draws * row["ms per draw"]
    out: dict[str, Any] = {}
    for cached, label in ((False, FIRST), (True, f"{FIRST}, JAX cached")):
        if estimate > PATIENCE:
            out[label] = float(estimate)
        elif cached and "JAX" not in CONTENDERS[name][1]:
            out[label] = out[FIRST]
        else:
            times = [
                launch(name, file, folder, draws, chains=1, seed=seed, fresh=True,
                       jax_cache=cached)["elapsed"]
                for seed in (1, 2, 3)
            ]  # fmt: skip
            out[label] = float(np.median(times))
    out["by"] = "sum" if estimate > PATIENCE else "clock"
    return out


def claims_of(rows: list[dict[str, Any]], title: str) -> dict[str, tuple[float, bool]]:
    """Our best over the others', and whether that is as much as it should be."""
    mine = [row for row in rows if row["sampler"] in OURS]
    peers = [row for row in rows if row["sampler"] not in OURS]
    nuts = [row for row in peers if "NUTS" in row["sampler"]]
    cuqipy = [row for row in peers if "CUQIpy" in row["sampler"]]
    claims = {}
    for what, key, others, whose, least in (
        ("smallest ESS per second", "ESS/s", peers, "the best peer's", 8),
        ("smallest ESS per second", "ESS/s", nuts, "the best NUTS's", 15),
        ("smallest ESS per second", "ESS/s", cuqipy, "CUQIpy pCN's", 500),
        ("speed to the first 1,000", FIRST, peers, "the best peer's", 10),
        ("accuracy of signs in equal time", ERROR, peers, "the best peer's", 20),
    ):
        if mine and others:
            if key == "ESS/s":
                ratio = max(row[key] for row in mine) / max(row[key] for row in others)
            else:  # seconds and squared errors: the smaller the better
                ratio = min(row[key] for row in others) / min(row[key] for row in mine)
            claims[f"{title}: {what}, over {whose} (at least {least})"] = (ratio, ratio >= least)
    for row in mine:
        if row["sampler"] == "Harmonic":
            per_draw = row["ESS per draw"]
            claims[f"{title}: harmonic ESS per draw (at least 0.9)"] = (per_draw, per_draw >= 0.9)
    sound = [row["largest gap, SE"] for row in rows if row["min ESS"] >= 100]
    if sound:
        worst = max(sound)
        claims[f"{title}: largest gap in standard errors (below 5)"] = (worst, worst < 5)
    return claims


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws, for a look")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--problem", choices=PROBLEMS, nargs="+", default=list(PROBLEMS))
    parser.add_argument("--only", choices=CONTENDERS, nargs="+", default=list(CONTENDERS))
    child = parser.add_argument_group("of the processes that it starts")
    for name, kind in (("contender", str), ("posterior", Path), ("result", Path), ("draws", int),
                       ("chains", int), ("seed", int), ("launched", float)):  # fmt: skip
        child.add_argument(f"--{name}", type=kind)
    child.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    if options.contender:
        compete(options)
        return

    import report

    import graphuq as gq

    rows, claims = [], {}
    for which in options.problem:
        try:
            prior, labels, title = PROBLEMS[which](gq)
        except FileNotFoundError as error:
            claims[f"{which} problem skipped"] = (str(error), True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            file = folder / "posterior.npz"
            write_posterior(prior, labels, file)
            cut = 10 if options.quick else 1
            reference = launch("Harmonic", file, folder, 50_000 // cut, seed=99)
            (folder / "Harmonic").rename(folder / "used")  # the first to run is cold too
            scored = []
            for name in options.only:
                draws = CONTENDERS[name][3] // cut
                try:
                    out = launch(name, file, folder, draws)
                    row = score(name, out, reference, draws * CHAINS)
                    row |= first_thousand(row, file, folder)
                except RuntimeError as error:
                    claims[f"{title}: {name} absent"] = (str(error), True)
                    print(name, "absent:", error, file=sys.stderr)
                    continue
                print(title, name, json.dumps(row), file=sys.stderr, flush=True)
                scored.append(row)
            claims |= claims_of(scored, title)
            rows += [{"problem": title, **row} for row in scored]
    if not rows:
        sys.exit(f"nothing was measured: {claims}")
    report.write("samplers", options.out, rows, claims)


if __name__ == "__main__":
    main()
