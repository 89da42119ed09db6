"""The K-class probit posterior: its file, its density on JAX, and graphuq's draws of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.samplers.contenders.job import GAMMA, Draws, Job, room


def write_posterior(prior: Any, labels: Any, file: Path) -> None:
    np.savez(
        file,
        s=prior.sigma,
        alpha=prior.alpha,
        values=prior.spectrum.values,
        vectors=prior.spectrum.vectors,
        null=prior.spectrum.null,
        labeled=labels.nodes,
        y=labels.values,
        own=np.eye(labels.classes.size)[labels.indices],
    )


def coordinates(posterior: dict[str, Any], at_labeled: bool) -> dict[str, Any]:
    """Return F with u_J = F xi, Q with the modes z = Q xi + noise, and the number of coordinates.

    At the labeled nodes u_J = rows z and rows = R' Q'; xi is z or Q' z.
    """
    rows = posterior["vectors"][posterior["labeled"]] * posterior["s"]
    Q, F = np.eye(rows.shape[1]), rows
    if at_labeled:
        Q, R = np.linalg.qr(rows.T)
        F = np.ascontiguousarray(R.T)
    labels, classes = posterior["own"].shape
    return {"F": F, "Q": Q, "dimension": F.shape[1] * classes + labels}


def log_likelihood(jax: Any, log_cdf: Callable, posterior: dict[str, Any]) -> Callable:
    """Return the log-likelihood of the coordinates: those of K fields, then each label's noise."""
    F, own = jax.numpy.asarray(posterior["F"]), jax.numpy.asarray(posterior["own"])
    size = F.shape[1] * own.shape[1]

    def loglik(xi: Any) -> Any:
        u = F @ xi[:size].reshape(F.shape[1], own.shape[1])
        # lead of the labeled class; over itself, enough for log Psi = 0
        lead = ((u * own).sum(1, keepdims=True) - u) / GAMMA + 1e3 * own
        return log_cdf(lead + xi[size:, None]).sum()

    return loglik


def modes_of(job: Job, xi: Any) -> Any:
    """Return draws of the whitened modes (chains, draws, r, K) from those of the coordinates."""
    Q, own = job.posterior["Q"], job.posterior["own"]
    r, K = Q.shape[0], own.shape[1]
    xi = xi[..., : Q.shape[1] * K].reshape(*xi.shape[:2], Q.shape[1], K)
    rng = np.random.default_rng([job.seed, 1])
    out = room((*xi.shape[:2], r, K))
    for chain, draws in enumerate(xi):
        for d, each in enumerate(draws):
            fresh = rng.standard_normal((r, K))
            out[chain, d] = fresh + Q @ (each - Q.T @ fresh)
    return out


def _graphuq(job: Job) -> tuple[Any, Any, Any]:
    import graphuq as gq

    p = job.posterior
    spectrum = gq.Spectrum(p["values"], p["vectors"], p["null"])
    prior = gq.Prior.projected(spectrum, p["s"].size, alpha=float(p["alpha"]))
    return prior, gq.Labels(p["labeled"], p["y"]), gq


def harmonic(job: Job) -> Draws:
    """Run the kernel at the labeled nodes, then draw the modes of every class given these."""
    from graphuq.likelihoods.bound import bind
    from graphuq.priors.given import Given
    from graphuq.samplers.protocol import Target

    clock, (prior, labels, gq) = job.clock, _graphuq(job)
    clock.ready()
    with clock.lap("compile"):
        bound = bind(gq.Probit(GAMMA), labels, prior.n_nodes)
        target = Target(prior.at(labels.nodes).with_noise(GAMMA), bound)
        sampler, rng = gq.Harmonic(), np.random.default_rng(0)
        sampler.advance(target, sampler.start(target, rng), rng, 1, 1, True)
    K = bound.n_fields
    with clock.lap("warm-up"):
        none = np.empty(0, dtype=np.int64)
        conditional = Given(prior.field, labels.nodes, none, GAMMA)
    modes = room((job.chains, job.kept, prior.rank, K))
    for chain, rng in enumerate(np.random.default_rng(job.seed).spawn(job.chains)):
        with clock.lap("warm-up"):
            state = sampler.start(target, rng)
            state, _ = sampler.advance(target, state, rng, job.warmup, 1, True)
        with clock.lap("sampling"):
            for first in range(0, job.kept, 500):
                size = min(500, job.kept - first)
                state, chunk = sampler.advance(target, state, rng, size, 1, False)
                each, _ = conditional.trace(chunk.fields, rng)
                modes[chain, first : first + size] = each.transpose(0, 2, 1)
    return Draws(modes)


def whole_sample(job: Job) -> Draws:
    """Run all of gq.sample, including the statistics of all N nodes."""
    prior, labels, gq = _graphuq(job)
    job.clock.ready()
    how = {"chains": job.chains, "threads": 1, "progress": False}
    with job.clock.lap("compile"):
        gq.sample(prior, gq.Probit(GAMMA), labels, draws=1, warmup=0, **how)
    with job.clock.lap("sampling"):
        post = gq.sample(prior, gq.Probit(GAMMA), labels, gq.Harmonic(), draws=job.draws,
                         warmup=job.warmup, seed=job.seed, **how)  # fmt: skip
    return Draws(post.draws.modes)
