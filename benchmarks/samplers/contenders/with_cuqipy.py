"""CUQIpy: pCN."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from benchmarks.samplers.contenders.job import Draws, Job, room, start_points


def pcn(job: Job) -> Draws:
    """Run CUQIpy's pCN by its step(), which is equivalent to sample() and faster."""
    import cuqi

    job.clock.ready()
    np.random.seed(job.seed)  # noqa: NPY002  the only generator it uses
    prior = cuqi.distribution.Gaussian(np.zeros(job.rank), 1.0)
    A = job.posterior["A"]
    likelihood = cuqi.likelihood.UserDefinedLikelihood(
        dim=job.rank, logpdf_func=lambda xi: log_ndtr(A @ xi).sum()
    )
    xi = room((job.chains, job.kept, job.rank))
    for chain, start in enumerate(start_points(job)):
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
