"""One probit posterior, sampled by graphuq's samplers and by those of other packages.

[GRAPHUQ_DATA=...] python -m benchmarks.samplers.beside_peers
    [--quick] [--problem first] [--only NAME ...]

Every contender has its own process, core and thread, works in double precision, and is scored by
the same code. The posterior is u = V diag(s) xi, xi ~ N(0, I_r), with log-likelihood
sum log Psi(A xi; 1), A = diag(y) V_J diag(s) / gamma: the spectrally projected prior and probit.
Other packages come with `pip install graphuq[peers]`. tinyDA needs an older numpy than they do, so
install it with `pip install ray` and `pip install --no-deps tinyDA`. Packages that do not start are
reported absent. The contenders are in contenders/, one file per package; this file compares them.

The columns:

- start: from the launch of the process until packages and posterior are loaded;
- compile: with empty caches; warm-up and sampling: all chains, one after the other;
- sampling includes the latent draws of graphuq, which samples at labeled nodes only; the other
  packages sample xi, and their products V xi are free;
- first 1,000: median wall time of three fresh processes with numba's cache filled. Each runs one
  chain for as many draws as 1,000 effective ones take, by the efficiency just measured, and stops.
  JAX has its cache on disk off, the default, and on. If this would take more than a minute, the sum
  of the parts is shown instead;
- squared error x s: of the estimates of 2 P(u > 0) - 1 from pieces of a run, compared with a long
  harmonic run, times the seconds of such a piece without warm-up. For other packages, signs at the
  traced nodes are free, and signs at all nodes cost the product V xi;
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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.samplers.contenders import CONTENDERS, OURS
from benchmarks.samplers.contenders.compete import compete
from benchmarks.samplers.contenders.job import GAMMA

CHAINS, NODES = 4, 50
FIRST, ERROR = "first 1,000 s", f"squared error x s, {NODES} nodes"
PATIENCE = 60.0  # limit of a measured time to the first 1,000
LIMIT = 1200.0  # limit of a contender
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


def launch(name: str, file: Path, folder: Path, draws: int, *, chains: int = CHAINS,
           seed: int = 0, fresh: bool = False, jax_cache: bool = True) -> dict:  # fmt: skip
    """Run a contender in its own process, on one core; raise RuntimeError if it fails."""
    result = folder / "result.npz"
    result.unlink(missing_ok=True)
    caches = {"NUMBA_CACHE_DIR": str(folder / name / "numba")}
    if jax_cache:
        caches["JAX_COMPILATION_CACHE_DIR"] = str(folder / name / "jax")
    command = [
        sys.executable, "-m", "benchmarks.samplers.beside_peers", "--contender", name,
        "--posterior", file, "--result", result,
        "--draws", draws, "--chains", chains, "--seed", seed, "--launched", repr(time.time()),
        *(["--fresh"] if fresh else []),
    ]  # fmt: skip
    try:
        ran = subprocess.run(
            list(map(str, command)), env={**os.environ, **ONE_THREAD, **caches},
            capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not finished in {LIMIT:.0f} s") from None
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
        labeled=J,
        y=y,
        nodes=np.sort(np.random.default_rng(1).choice(hidden, NODES, replace=False)),
    )


def ess(traces: Any, method: str = "bulk") -> Any:
    """Return the effective sample sizes of traces (chains, draws, quantities)."""
    import arviz
    import xarray as xr

    data = xr.Dataset({"x": (("chain", "draw", "quantity"), traces)})
    return arviz.ess(data, method=method)["x"].values


def gaps(out: dict[str, Any], reference: dict[str, Any]) -> float:
    """Return the largest gap, in standard errors, of means of u, sign u and the log-likelihood.

    Signs count only if both are expected at least ten times; otherwise the error means nothing.
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
        # use the variance of the long run for both: it is more accurate
        error = np.sqrt(ours.var((0, 1)) * (1 / sizes[0] + 1 / sizes[1]))
        gap = np.abs(ours.mean((0, 1)) - theirs.mean((0, 1)))
        largest = max(largest, float((gap[wanted] / error[wanted]).max(initial=0.0)))
    return largest


def score(name: str, out: dict[str, Any], reference: dict[str, Any], steps: int) -> dict[str, Any]:
    """Return a row of the table, without the time to the first 1,000."""
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
    """Return the seconds to 1,000 effective draws, without and with JAX's cache on disk."""
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
    """Return the ratio of our best to the others' best, and whether it meets its bound."""
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
            else:  # seconds and squared errors: smaller is better
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
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    parser.add_argument("--problem", choices=PROBLEMS, nargs="+", default=list(PROBLEMS))
    parser.add_argument("--only", choices=CONTENDERS, nargs="+", default=list(CONTENDERS))
    child = parser.add_argument_group("for the processes that it starts")
    for name, kind in (("contender", str), ("posterior", Path), ("result", Path), ("draws", int),
                       ("chains", int), ("seed", int), ("launched", float)):  # fmt: skip
        child.add_argument(f"--{name}", type=kind)
    child.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    if options.contender:
        compete(options)
        return

    import graphuq as gq
    from benchmarks.common import report

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
            (folder / "Harmonic").rename(
                folder / "used"
            )  # so that the first contender also starts cold
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
    report.write("beside_peers", options.out, rows, claims)


if __name__ == "__main__":
    main()
