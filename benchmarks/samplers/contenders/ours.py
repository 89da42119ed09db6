"""graphuq: its kernels at the labeled nodes, and all of `gq.sample`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf

from benchmarks.samplers.contenders.job import GAMMA, Draws, Job, room


def run(job: Job, make: Callable, noisy: bool) -> Draws:
    """Run the kernels at the labeled nodes, then draw the traced nodes given these."""
    from graphuq.likelihoods.bound import bind
    from graphuq.priors.given import Given
    from graphuq.samplers.protocol import Target
    from graphuq.utils.white_noise import white_noise

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
                fields[chain, block] = chunk.fields[:, 0]
                with clock.lap("latent"):
                    white = white_noise(rng, size, factor.shape[1])
                    latent[chain, block] = chunk.fields[:, 0] @ gain.T + white @ factor.T
    done = time.time()
    conditional = Given(prior.field, labels.nodes, nodes, noise)
    rng = np.random.default_rng(job.seed + 1)
    xi = np.stack([conditional.trace(x[: _few(job), None], rng)[0][:, 0] for x in fields])
    deviation = np.sqrt((factor**2).sum(1))

    def signs(chain: int, piece: slice, every: bool) -> Any:
        x = fields[chain, piece]
        if not every:
            return erf((x @ gain.T) * (math.sqrt(0.5) / deviation)).mean(0)
        from graphuq.posterior.node_statistics import Summaries, node_statistics

        chain = Summaries(conditional.summarize(x[:, None]), np.empty((len(x), 0)))
        return node_statistics(conditional, [chain], [len(x)], "sign", 1).nodes["mean"]

    signs(0, slice(0, 1), True)
    return Draws(xi, latent, signs, done)


def _graphuq(job: Job) -> tuple[Any, Any, Any]:
    import graphuq as gq

    p = job.posterior
    spectrum = gq.Spectrum(p["values"], p["vectors"], p["null"])
    return gq.Prior.projected(spectrum, job.rank), gq.Labels(p["labeled"], p["y"]), gq


def _conditional(prior: Any, nodes: Any, labeled: Any, law: Any) -> tuple[Any, Any]:
    """Return the gain, E[u | x] = gain x, and a factor of Cov[u | x] without zero columns."""
    cross = prior.covariance(nodes, labeled)
    gain = law.solve(cross)
    values, vectors = np.linalg.eigh(prior.covariance(nodes, nodes) - gain @ cross.T)
    real = values > 1e-12
    return gain, vectors[:, real] * np.sqrt(values[real])


def _few(job: Job) -> int:
    """Return the number of draws of xi per chain for the score of the log posterior."""
    return min(job.kept, 5000)


def harmonic(job: Job) -> Draws:
    return run(job, lambda gq: gq.Harmonic(), True)


def hilbert_hmc(job: Job) -> Draws:
    return run(job, lambda gq: gq.HilbertHMC(), False)


def elliptical_slice(job: Job) -> Draws:
    return run(job, lambda gq: gq.EllipticalSlice(), False)


def pcn(job: Job) -> Draws:
    return run(job, lambda gq: gq.PCN(), False)


def whole_sample(job: Job) -> Draws:
    """Run all of gq.sample, including the statistics of all N nodes."""
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
    ours = post.draws
    return Draws(ours.modes, ours.field, lambda chain, piece, every: mean[every], done, True)
