"""Node statistics of 4,000 draws at N = 13,782, rank 300, against a bare matrix product.

python benchmarks/node_statistics.py [--quick]

The product is double-precision, N x 300 by 300 x 4,000, into an array that is there already. What
erf costs depends on how sure the nodes are, hence several priors and noises.
"""

from __future__ import annotations

import time

import numpy as np
import report
from threadpoolctl import threadpool_limits

import graphuq as gq
from graphuq.extension import FromLabelled
from graphuq.node_statistics import node_statistics

N, RANK, LABELS, DRAWS, CHAINS = 13_782, 300, 551, 4000, 4
CHUNKS = 4  # in which a chain hands its draws over


def seconds(work, repeats: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    repeats = 2 if options.quick else 7
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((N, RANK + 1)))
    spectrum = gq.Spectrum(np.linspace(0.01, 0.5, RANK), Q[:, 1:], Q[:, 0])
    nodes = np.sort(rng.choice(N, LABELS, replace=False))
    A, B = rng.standard_normal((N, RANK)), rng.standard_normal((RANK, DRAWS))
    product = np.zeros((N, DRAWS))
    rows = []
    with threadpool_limits(1):
        for kind in (gq.Prior.projected, gq.Prior.approximated):
            prior = kind(spectrum, RANK)
            for noise in (0.0, 0.1, 0.3, 1.0):
                extension = FromLabelled(prior, nodes, np.empty(0, dtype=np.int64), noise)
                fields = extension.law.draw(DRAWS, rng)

                def statistics(extension=extension, fields=fields):
                    kept = [
                        np.vstack([extension.keep(part) for part in np.split(chain, CHUNKS)])
                        for chain in np.split(fields, CHAINS)
                    ]
                    node_statistics(extension, kept, [DRAWS // CHAINS], "sign", threads=1)

                bare = seconds(lambda: np.matmul(A, B, out=product), repeats)
                spent = seconds(statistics, repeats)
                rows.append({
                    "prior": prior.kind, "noise": noise, "product s": bare,
                    "statistics s": spent, "ratio": spent / bare,
                })  # fmt: skip
    worst = max(row["ratio"] for row in rows)
    claims = {"statistics over the bare product, at most 3": (worst, worst <= 3)}
    report.write("node_statistics", options.out, rows, claims)


if __name__ == "__main__":
    main()
