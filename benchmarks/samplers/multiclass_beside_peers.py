"""One ten-class probit posterior, sampled by graphuq and by NUTS of other packages.

python -m benchmarks.samplers.multiclass_beside_peers [--quick] [--only NAME]

The problem has 1,797 digits, 8 labels per class, 200 modes under spectral projection and
gamma = 0.1; alpha is 1 and 3. Processes, threads and clocks are those of beside_peers.py. The score
is the smallest bulk effective sample size per second of sampling, over the 200 modes of each class
and its field at 50 unlabeled nodes. Start, compilation and warm-up have their own columns.
The other packages come with `pip install graphuq[peers]`.

NUTS needs a smooth density. The density of a label c integrates out the noise at its node,

    p(c | u) = E_t prod_{k != c} Psi((u_c - u_k) / gamma + t; 1),    t ~ N(0, 1),

and is exact with t as one more coordinate per label. Quadrature instead makes a draw about ten
times as expensive. The other coordinates are the 200 modes of each class, or 80 per class, since
the labels see no more: xi with u_J = F xi and F F' = C_JJ. The modes then follow from xi and fresh
noise, which is free here. Both variants are shown. The normal distribution function is the fast one
of contenders/jax_posterior.

The means of all 500 fields and of the 500 indicators of the largest field are compared with a long
harmonic run. The largest gap of 1,000 is about 3.5 standard errors if the sampler is correct.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.samplers.beside_peers import LIMIT, ONE_THREAD, ess
from benchmarks.samplers.contenders import with_blackjax, with_numpyro
from benchmarks.samplers.contenders.job import Clock, Job
from benchmarks.samplers.contenders.multiclass import (
    coordinates,
    harmonic,
    modes_of,
    whole_sample,
    write_posterior,
)

# name: (function, warm-up, steps of a chain)
CONTENDERS = {
    "Harmonic": (harmonic, 100, 2000),
    "gq.sample": (whole_sample, 100, 2000),
    "blackjax NUTS": (with_blackjax.nuts, 500, 1000),
    "blackjax NUTS, 80 per class": (with_blackjax.nuts, 500, 1000),
    "numpyro NUTS": (with_numpyro.nuts, 500, 1000),
    "numpyro NUTS, 80 per class": (with_numpyro.nuts, 500, 1000),
}
OURS = ("Harmonic", "gq.sample")
ALPHAS = (1.0, 3.0)
CHAINS, RANK, NODES, COUNT = 4, 200, 50, 8
LEAST, MOST_GAP = 10.0, 5.0


def compete(options: argparse.Namespace) -> None:
    """Run one contender and save its draws and times in ``--result``."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with np.load(options.posterior) as arrays:
        posterior = dict(arrays)
    clock = Clock(options.launched)
    run, warmup, _ = CONTENDERS[options.contender]
    posterior |= coordinates(posterior, "80 per class" in options.contender)
    job = Job(posterior, CHAINS, options.draws, warmup, 1, options.seed, clock)
    draws = run(job)
    modes = draws.xi if options.contender in OURS else modes_of(job, draws.xi)
    np.savez(options.result, modes=modes, times=json.dumps(clock.seconds))


def launch(name: str, file: Path, folder: Path, draws: int, seed: int = 0) -> dict[str, Any]:
    """Run a contender in its own process, on one core; raise RuntimeError if it fails."""
    result = folder / "result.npz"
    result.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "benchmarks.samplers.multiclass_beside_peers", "--contender", name,
        "--posterior", file, "--result", result,
        "--draws", draws, "--seed", seed, "--launched", repr(time.time()),
    ]  # fmt: skip
    environment = {**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": str(folder / name)}
    try:
        ran = subprocess.run(list(map(str, command)), env=environment, capture_output=True,
                             text=True, timeout=LIMIT)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not finished in {LIMIT:.0f} s") from None
    if ran.returncode or not result.exists():
        last = ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"]
        raise RuntimeError(last[-1][:200])
    with np.load(result) as arrays:
        return {"modes": arrays["modes"], **json.loads(str(arrays["times"]))}


def fields_of(modes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the fields at the nodes of ``rows``, shape (chains, draws, nodes, K)."""
    return np.einsum("nr,cdrk->cdnk", rows, modes, optimize=True)


def flat(traces: np.ndarray) -> np.ndarray:
    return traces.reshape(*traces.shape[:2], -1)


def gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest gap, in standard errors, of means of fields and of argmax indicators.

    Indicators count only if both values are expected at least ten times; otherwise the error means
    nothing.
    """
    largest = 0.0
    for change in (flat, lambda u: flat(u == u.max(axis=-1, keepdims=True)).astype(float)):
        a, b = change(ours), change(theirs)
        means = a.mean((0, 1))
        varied = (a.var((0, 1)) > 0) & (b.var((0, 1)) > 0)
        sizes = [ess(x[..., varied], "mean") for x in (a, b)]
        error = np.sqrt(a.var((0, 1))[varied] * (1 / sizes[0] + 1 / sizes[1]))
        wanted = np.ones(error.size, dtype=bool)
        if change is not flat:
            rare = np.minimum(means, 1 - means)[varied]
            wanted = rare * np.minimum(*sizes) >= 10
        gaps = np.abs(means - b.mean((0, 1)))[varied] / error
        largest = max(largest, float(gaps[wanted].max(initial=0.0)))
    return largest


def score(alpha: float, name: str, out: dict[str, Any], rows: np.ndarray, long: np.ndarray) -> dict:
    modes = out["modes"]
    fields = fields_of(modes, rows)
    of_fields, of_modes = (float(ess(flat(traces)).min()) for traces in (fields, modes))
    steps, least = modes.shape[0] * modes.shape[1], min(of_fields, of_modes)
    seconds = {part: out.get(part, 0.0) for part in ("start", "compile", "warm-up", "sampling")}
    return {
        "alpha": alpha, "sampler": name, "draws": steps,
        **{f"{part} s": spent for part, spent in seconds.items()},
        "ms per draw": 1e3 * seconds["sampling"] / steps,
        "min ESS, fields": of_fields, "min ESS, modes": of_modes, "ESS per draw": least / steps,
        "ESS/s": least / seconds["sampling"], "ESS/s, all in": least / sum(seconds.values()),
        "largest gap, SE": gap(long, fields),
    }  # fmt: skip


def claims_of(rows: list[dict[str, Any]], alpha: float) -> dict[str, tuple[float, bool]]:
    mine = [row for row in rows if row["sampler"] in OURS]
    nuts = [row for row in rows if row["sampler"] not in OURS]
    claims = {}
    if mine and nuts:
        ratio = max(row["ESS/s"] for row in mine) / max(row["ESS/s"] for row in nuts)
        claims[f"alpha = {alpha:g}: smallest ESS per second over the best NUTS's, at least "
               f"{LEAST:g}"] = (ratio, ratio >= LEAST)  # fmt: skip
    worst = max(row["largest gap, SE"] for row in rows)
    claims[f"alpha = {alpha:g}: largest gap in standard errors, below {MOST_GAP:g}"] = (
        worst, worst < MOST_GAP)  # fmt: skip
    return claims


def child_options() -> argparse.Namespace:
    """Return the options of the processes that this module starts."""
    parser = argparse.ArgumentParser()
    for name, kind in (("contender", str), ("posterior", Path), ("result", Path), ("draws", int),
                       ("seed", int), ("launched", float)):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind)
    return parser.parse_args()


def main() -> None:
    import graphuq as gq
    from benchmarks.common import report

    options = report.options(__doc__.splitlines()[0], only=(str, ""))
    X, y = gq.datasets.digits()
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=20, connect=True), RANK)
    labels = gq.reveal(y, counts=COUNT, seed=0)
    hidden = np.setdiff1d(np.arange(len(y)), labels.nodes)
    nodes = np.sort(np.random.default_rng(1).choice(hidden, NODES, replace=False))
    rows, claims = [], {}
    cut = 5 if options.quick else 1
    for alpha in ALPHAS:
        prior = gq.Prior.projected(spectrum, RANK, alpha=alpha)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            file = folder / "posterior.npz"
            write_posterior(prior, labels, file)
            at = prior.vectors[nodes] * prior.sigma
            long = fields_of(launch("Harmonic", file, folder, 10_000 // cut, 99)["modes"], at)
            (folder / "Harmonic").rename(
                folder / "used"
            )  # so that the first contender also starts cold
            scored = []
            for name in [options.only] if options.only else CONTENDERS:
                try:
                    out = launch(name, file, folder, CONTENDERS[name][2] // cut)
                except RuntimeError as error:
                    claims[f"{name} absent"] = (str(error), True)
                    continue
                scored.append(score(alpha, name, out, at, long))
                print(json.dumps(scored[-1]), file=sys.stderr, flush=True)
        if scored:
            claims |= claims_of(scored, alpha)
            rows += scored
    if not rows:
        sys.exit(f"nothing was measured: {claims}")
    report.write("multiclass_beside_peers", options.out, rows, claims)


if __name__ == "__main__":
    if "--contender" in sys.argv:  # its start is timed, so import nothing else
        compete(child_options())
    else:
        main()
