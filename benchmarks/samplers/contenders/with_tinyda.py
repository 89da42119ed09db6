"""tinyDA: pCN."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr

from benchmarks.samplers.contenders.job import Draws, Job, room, start_points


def pcn(job: Job) -> Draws:
    import scipy.stats
    import tinyDA

    job.clock.ready()
    np.random.seed(job.seed)  # noqa: NPY002  the only generator it uses

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
    for chain, start in enumerate(start_points(job)):
        tuned = tinyDA.CrankNicolson(scaling=0.1, adaptive=True)
        with job.clock.lap("warm-up"):
            warm = walk(start, job.warmup, tuned)[-1].parameters
        with job.clock.lap("sampling"):
            links = walk(warm, job.draws, tinyDA.CrankNicolson(scaling=tuned.scaling))[1:]
        xi[chain] = [link.parameters for link in links[:: job.thin]][: job.kept]
    return Draws(xi)
