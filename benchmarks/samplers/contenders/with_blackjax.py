"""blackjax: NUTS, HMC of random length and elliptical slice."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.samplers.contenders.jax_posterior import on_jax, run_chains
from benchmarks.samplers.contenders.job import Draws, Job

PATH = 1.2 * math.pi  # longest path of dynamic_hmc, the best of several tried


def nuts(job: Job) -> Draws:
    import blackjax

    jax, _, logdensity, compiled = on_jax(job)
    job.clock.ready()
    kernel = blackjax.nuts.build_kernel()

    def warm(key: Any, start: Any) -> Any:
        adaptation = blackjax.window_adaptation(blackjax.nuts, logdensity)
        (state, parameters), _ = adaptation.run(key, start, num_steps=job.warmup)
        return state, (parameters["step_size"], parameters["inverse_mass_matrix"])

    def step(parameters: Any, state: Any, key: Any) -> Any:
        return kernel(key, state, logdensity, *parameters)[0]

    return run_chains(job, jax, compiled, warm, step)


def dynamic_hmc(job: Job, lean: bool = False) -> Draws:
    """Run HMC with uniformly random lengths up to `PATH`, adapted by windows."""
    import blackjax

    jax, _, logdensity, compiled = on_jax(job, lean)
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

    return run_chains(job, jax, compiled, warm, step)


def lean_dynamic_hmc(job: Job) -> Draws:
    """Run the same with a likelihood faster than JAX's own, as a user might write it."""
    return dynamic_hmc(job, lean=True)


def elliptical_slice(job: Job) -> Draws:
    import blackjax

    jax, loglik, _, compiled = on_jax(job)
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

    return run_chains(job, jax, compiled, warm, step)
