"""The samplers that `benchmarks.samplers.beside_peers` compares: a table and a file per package.

To add a sampler, write a function that takes a `Job` and returns `Draws`, and give it a row here.
Import every package except numpy and scipy inside that function: the package may be absent, and its
import is part of the time that is measured.
Imports run one way: job -> jax_posterior -> (ours, with_*) -> this table -> compete.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.samplers.contenders import (
    ours,
    with_blackjax,
    with_cuqipy,
    with_numpyro,
    with_nutpie,
    with_tinyda,
)

# name: (function, runs on, warm-up, steps of a chain, steps from one kept draw to the next)
CONTENDERS: dict[str, tuple[Callable, str, int, int, int]] = {
    "Harmonic": (ours.harmonic, "graphuq", 100, 20_000, 1),
    "gq.sample": (ours.whole_sample, "graphuq", 100, 5_000, 1),
    "HilbertHMC": (ours.hilbert_hmc, "graphuq", 500, 5_000, 1),
    "EllipticalSlice": (ours.elliptical_slice, "graphuq", 5_000, 100_000, 10),
    "PCN": (ours.pcn, "graphuq", 20_000, 400_000, 20),
    "blackjax dynamic_hmc": (with_blackjax.dynamic_hmc, "blackjax on JAX", 500, 5_000, 1),
    "blackjax dynamic_hmc, lean":
        (with_blackjax.lean_dynamic_hmc, "blackjax on JAX", 500, 5_000, 1),
    "blackjax NUTS": (with_blackjax.nuts, "blackjax on JAX", 500, 3_000, 1),
    "nutpie NUTS": (with_nutpie.nuts, "nutpie", 500, 3_000, 1),
    "numpyro NUTS": (with_numpyro.nuts, "numpyro on JAX", 500, 3_000, 1),
    "blackjax elliptical_slice":
        (with_blackjax.elliptical_slice, "blackjax on JAX", 5_000, 50_000, 10),
    "CUQIpy pCN": (with_cuqipy.pcn, "cuqipy", 5_000, 30_000, 10),
    "tinyDA pCN": (with_tinyda.pcn, "tinyDA", 1_000, 3_000, 1),
}  # fmt: skip
OURS = [name for name, (_, needs, *_) in CONTENDERS.items() if needs == "graphuq"]
