"""nutpie: NUTS on a density that numba compiled."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.samplers.contenders.job import Draws, Job, start_points


def nuts(job: Job) -> Draws:
    """Run nutpie's NUTS on a log density and gradient compiled by numba."""
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
            else:  # only near the start
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

    starts = iter(start_points(job))
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
    # the time of every draw is known, so warm-up and sampling can be separated
    chains = [stamps for stamps in ends if len(stamps) == job.warmup + job.draws]
    sampling = sum(stamps[-1] - stamps[job.warmup - 1] for stamps in chains)
    job.clock.seconds |= {"warm-up": spent - sampling, "sampling": sampling}
    return Draws(trace.posterior["xi"].values)
