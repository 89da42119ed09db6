"""Large graphs, from features to ranked nodes: all of MNIST, the paper's video, rows on disk.

Each part runs in its own process, whose peak memory is shown. The video is synthetic and has the
paper's size (section 5.1.4): 7 x 128 x 320 pixels of 129 bands, cosine weights, 50 modes, 8,000
labels; gamma = 1 and beta = 0.1 are those of Table 2. It is compared with the paper's Algorithm 2
in plain NumPy. The steps of NumPy are timed, and the same steps of `gq.PCN` show what they are
worth, since NumPy is too slow for all of them. Rows on disk are a mixture of six Gaussians in 20
dimensions, read from a memory map, with 100 landmarks; the first rows are read once before the
clock starts.

GRAPHUQ_DATA=... python -m benchmarks.speed.scale [--quick] [--part mnist|video|full|rows]
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.processes import measure_apart, peak_gib

SIZES = (100_000, 1_000_000, 10_000_000)
RANK = 50


class Clock:
    """The seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._then = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Record the seconds since the last lap under a name."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._then
        self._then = now


def mnist(quick: bool) -> dict:
    """Measure even against odd digits, 1% labels, 200 modes."""
    clock = Clock()
    X, digits = gq.datasets.mnist()
    if quick:
        X, digits = X[:8000], digits[:8000]
    y = digits % 2
    clock.lap("read")
    X = gq.pca(X, 50)
    clock.lap("principal components")
    graph = gq.knn_graph(X, 20, connect=True)
    clock.lap("neighbors")
    spectrum = gq.Spectrum.of(graph, 200)
    clock.lap("eigenpairs")
    labels = gq.reveal(y, 0.01, seed=0)
    tuned = gq.tune(spectrum, labels)
    clock.lap("tuning")
    post = gq.sample(tuned.prior, tuned.likelihood, labels, draws=250, seed=0, progress=False)
    post.ranking()
    clock.lap("draws, statistics, ranking")
    return {"seconds": clock.seconds, "accuracy": post.accuracy(y), "nodes": len(y)}


def video(quick: bool) -> dict:
    """Measure the paper's size, with its algorithm and with ours."""
    clock = Clock()
    made = gq.datasets.gas_plume(**({"height": 32, "width": 80} if quick else {}), seed=0)
    X, y = made.X, made.y
    clock.lap("make")
    spectrum = gq.nystrom(X, RANK, weights="cosine", seed=0)
    clock.lap("eigenpairs")
    labels = gq.reveal(y, 8000 / 286_720, seed=0)
    prior = gq.Prior.projected(spectrum, RANK)
    model = gq.Probit(gamma=1.0)
    gq.sample(prior, model, labels, draws=1, warmup=1, chains=1, seed=9, progress=False)
    clock.lap("compile")
    post = gq.sample(prior, model, labels, draws=100, seed=0, progress=False)
    clock.lap("draws and statistics")
    memory = peak_gib()
    ours = post.diagnostics()
    steps = 20_000 if quick else 200_000
    slow = gq.sample(
        prior, model, labels, gq.PCN(beta=0.1), draws=steps // 100, thin=100, warmup=steps // 400,
        seed=0, progress=False,
    )  # fmt: skip
    theirs = slow.diagnostics()
    # the draws of one chain, the effective sample size of four chains, without warm-up
    worth = theirs.ess / (4 * steps)
    a_step = algorithm_3(prior, labels, 1.0, 0.1)
    spent = clock.seconds["draws and statistics"]
    return {
        "seconds": {k: v for k, v in clock.seconds.items() if k != "compile"},
        "nodes": len(y), "accuracy": post.accuracy(y), "GiB of that": memory,
        "ESS": ours.ess, "R-hat": ours.r_hat, "pCN R-hat": theirs.r_hat,
        "seconds per effective draw": spent / ours.ess,
        "NumPy ms per step": 1e3 * a_step, "pCN steps per effective draw": 1 / worth,
        "NumPy seconds per effective draw": a_step / worth,
        "times as fast": (a_step / worth) / (spent / ours.ess),
    }  # fmt: skip


def algorithm_3(prior: gq.Prior, labels: gq.Labels, gamma: float, beta: float) -> float:
    """Return the seconds per step of pCN on the modes, with the running mean at all nodes."""
    from scipy.special import log_ndtr

    rng = np.random.default_rng(0)
    Q, sigma, codes = np.ascontiguousarray(prior.vectors), prior.sigma, labels.codes

    def potential(u):
        return -log_ndtr(codes * u[labels.nodes] / gamma).sum()

    z = rng.standard_normal(sigma.size)
    u = Q @ (sigma * z)
    now, total = potential(u), np.zeros(len(u))
    steps = 100
    begun = time.perf_counter()
    for _ in range(steps):
        w = np.sqrt(1 - beta**2) * z + beta * rng.standard_normal(sigma.size)
        proposed = Q @ (sigma * w)
        then = potential(proposed)
        if np.log(rng.random()) < now - then:
            z, u, now = w, proposed, then
        total += np.sign(u)
    return (time.perf_counter() - begun) / steps


def full(quick: bool) -> dict:
    """Measure the full prior by solves, and compare it with all eigenvectors where possible."""
    clock = Clock()
    X, y = gq.datasets.two_moons(4000 if quick else 20_000, d=20, sigma=0.15, seed=0)
    graph = gq.knn_graph(X, 15, connect=True)
    labels = gq.reveal(y, 0.02, seed=0)
    clock.lap("graph")
    prior = gq.SolvedPrior.of(graph, labels.nodes)
    clock.lap("solves")
    post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False)
    clock.lap("draws and statistics")
    memory = peak_gib()
    some = X[::5]
    graph = gq.knn_graph(some, 15, connect=True)
    few = gq.reveal(y[::5], 0.02, seed=0)
    both = [
        gq.sample(each, gq.Probit(0.1), few, draws=4000, seed=k, progress=False)
        for k, each in enumerate((gq.SolvedPrior.of(graph, few.nodes), gq.Prior.full(graph)))
    ]
    gap = both[0].mean - both[1].mean
    error = np.hypot(both[0].mcse, both[1].mcse)
    seen = error > 0
    return {
        "seconds": clock.seconds, "GiB of that": memory, "nodes": len(X), "labels": len(labels),
        "accuracy": post.accuracy(y), "error of variances": prior.variance_error,
        "error of the scale": prior.scale_error, "nodes where both can run": len(some),
        "largest gap of means there": float(abs(gap).max()),
        "largest gap over its standard error": float((abs(gap[seen]) / error[seen]).max()),
        "root mean square of that": float(np.sqrt(np.mean((gap[seen] / error[seen]) ** 2))),
    }  # fmt: skip


def rows(quick: bool) -> dict:
    """Measure from rows on disk to the statistics of every node."""
    sizes = [n // 100 for n in SIZES] if quick else SIZES
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder) / "X.npy"
        write_rows(path, sizes[-1])
        X = np.load(path, mmap_mode="r")
        from_features(X[: sizes[0]])
        times = {}
        for n in sizes:
            clock = Clock()
            from_features(X[:n])
            clock.lap("all")
            times[n] = clock.seconds["all"]
    slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    return {"seconds": {f"{n:,} rows": t for n, t in times.items()}, "exponent": float(slope)}


def from_features(X) -> None:
    spectrum = gq.nystrom(X, RANK, tau=2.0, n_landmarks=100, dtype="float32", seed=0)
    nodes = np.sort(np.random.default_rng(1).choice(len(X), 200, replace=False))
    values = (np.asarray(X[nodes])[:, 0] > 0).astype(int)
    prior = gq.Prior.projected(spectrum, RANK)
    labels = gq.Labels(nodes, values)
    gq.sample(prior, gq.Probit(0.1), labels, draws=100, seed=0, progress=False)


def write_rows(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((6, 20))
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 20))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part[:] = centers[rng.integers(6, size=len(part))]
        part += 0.7 * rng.standard_normal(part.shape)
    X.flush()


WORK = {"mnist": mnist, "video": video, "full": full, "rows": rows}


def main() -> None:
    options = report.options(__doc__.splitlines()[0], part=(str, ""))
    if options.part:
        result = WORK[options.part](options.quick)
        print(json.dumps({"GiB": peak_gib(), **result}))
        return
    found = {}
    for part in WORK:
        quick = ["--quick"] if options.quick else []
        found[part] = measure_apart("benchmarks.speed.scale", "--part", part, *quick)
    table = []
    for part, result in found.items():
        whole = sum(result["seconds"].values())
        for stage, seconds in result["seconds"].items():
            share = "" if part == "rows" else f"{seconds / whole:.0%}"
            table.append({"part": part, "stage": stage, "seconds": seconds, "share": share})
        for name, value in result.items():
            if name != "seconds":
                table.append({"part": part, "stage": name, "seconds": value, "share": ""})
    digits, cube, whole, disk = (found[part] for part in WORK)
    ratio, exponent = cube["times as fast"], disk["exponent"]
    gap = whole["largest gap over its standard error"]
    claims = {
        "MNIST, 70,000 nodes: GiB, at most 1.2": (digits["GiB"], digits["GiB"] <= 1.2),
        "video, features to posterior: GiB, below 4":
            (cube["GiB of that"], cube["GiB of that"] < 4),
        "video: times as fast as Algorithm 2 in NumPy for the same error, at least 300":
            (ratio, ratio >= 300),
        "full prior, 20,000 nodes, 400 labels: GiB, below 3":
            (whole["GiB of that"], whole["GiB of that"] < 3),
        "full prior against all eigenvectors: largest gap in standard errors, at most 5":
            (gap, gap <= 5),
        "rows on disk: GiB, below 4": (disk["GiB"], disk["GiB"] < 4),
        "rows on disk: exponent of time in N, within 0.1 of 1":
            (exponent, abs(exponent - 1) <= 0.1),
    }  # fmt: skip
    report.write("scale", options.out, table, claims)


if __name__ == "__main__":
    main()
