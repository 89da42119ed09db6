"""The process of one contender: run it, and save its draws and times for the comparison."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from benchmarks.samplers.contenders import CONTENDERS
from benchmarks.samplers.contenders.job import Clock, Draws, Job

PIECES = 5


def compete(options: argparse.Namespace) -> None:
    """Run one contender and save its draws and times in ``--result``."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with np.load(options.posterior) as arrays:
        posterior = dict(arrays)
    clock = Clock(options.launched)
    run, _, warmup, _, thin = CONTENDERS[options.contender]
    job = Job(posterior, options.chains, options.draws, warmup, thin, options.seed, clock)
    out = run(job)
    clock.seconds["elapsed"] = (out.done or time.time()) - options.launched
    arrays = {}
    if not options.fresh:
        arrays = summary(job, out)
    np.savez(options.result, times=json.dumps(clock.seconds), **arrays)


def summary(job: Job, out: Draws) -> dict[str, Any]:
    """Return the traces to score, and the sign averages of pieces with their seconds."""
    p, clock = job.posterior, job.clock.seconds
    loadings = p["vectors"] * p["s"]
    traced = loadings[p["nodes"]]
    nodes = out.xi @ traced.T if out.nodes is None else out.nodes
    loglik = np.stack([log_ndtr(xi @ job.posterior["A"].T).sum(1) for xi in out.xi])

    def signs(chain: int, piece: slice, every: bool) -> Any:
        which, total, xi = (loadings if every else traced), 0.0, out.xi[chain, piece]
        for first in range(0, len(xi), 1024):
            total += np.sign(which @ xi[first : first + 1024].T).sum(1)
        return total / len(xi)

    found: dict[bool, list] = {False: [], True: []}
    seconds: dict[bool, list[float]] = {False: [], True: []}
    walk = clock["sampling"] - (0 if out.whole else clock.get("latent", 0.0))
    length = job.kept // PIECES
    for chain in range(1 if out.whole else job.chains):
        for piece in range(1 if out.whole else PIECES):
            part = slice(piece * length, (piece + 1) * length)
            for every in found:
                begun = time.perf_counter()
                found[every].append((out.signs or signs)(chain, part, every))
                spent = time.perf_counter() - begun
                free = out.signs is None and not every
                share = 1 if out.whole else job.chains * PIECES
                seconds[every].append(walk / share + (0 if free else spent))
    return {
        "nodes": nodes,
        "loglik": loglik,
        "logpost": loglik - 0.5 * (out.xi**2).sum(2),
        "signs": np.array(found[False]),
        "every": np.array(found[True]),
        "signs_seconds": np.mean(seconds[False]),
        "every_seconds": np.mean(seconds[True]),
    }
