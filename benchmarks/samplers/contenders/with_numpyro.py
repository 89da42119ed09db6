"""numpyro: NUTS."""

from __future__ import annotations

from typing import Any

from benchmarks.samplers.contenders.jax_posterior import on_jax
from benchmarks.samplers.contenders.job import Draws, Job, room, start_points


def nuts(job: Job) -> Draws:
    from numpyro.infer import hmc

    jax, _, logdensity, compiled = on_jax(job)
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
    starts = jax.numpy.asarray(start_points(job))
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
