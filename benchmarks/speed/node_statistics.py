"""Node statistics of 4,000 draws at N = 13,782, rank 300, compared with a bare matrix product.

python -m benchmarks.speed.node_statistics [--quick]

The product is in double precision, N x 300 by 300 x 4,000, into an allocated array. The cost of erf
depends on how certain the nodes are, so there are several priors and noises. Where classes overlap,
predictive probabilities and entropies are added.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

import graphuq as gq
from benchmarks.common import report
from graphuq.posterior.node_statistics import Summaries, node_statistics
from graphuq.priors.given import Given

N, RANK, LABELS, DRAWS, CHAINS = 13_782, 300, 551, 4000, 4
CHUNKS = 4  # number of chunks of a chain


def seconds(work, repeats: int) -> float:
    """Return the median wall time."""
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
            for noise, overlap in ((0.0, 0.0), (0.1, 0.0), (0.3, 0.0), (1.0, 0.0), (0.1, 0.3)):
                conditional = Given(prior.field, nodes, np.empty(0, dtype=np.int64), noise)
                fields = conditional.law.draw(DRAWS, rng)

                def statistics(conditional=conditional, fields=fields, overlap=overlap):
                    none = np.empty((DRAWS // CHAINS, 0))
                    chains = [
                        Summaries(
                            np.vstack(
                                [
                                    conditional.summarize(part[:, None])
                                    for part in np.split(chain, CHUNKS)
                                ]
                            ),
                            none,
                            overlap,
                        )
                        for chain in np.split(fields, CHAINS)
                    ]
                    node_statistics(conditional, chains, [DRAWS // CHAINS], "sign", threads=1)

                bare = seconds(lambda: np.matmul(A, B, out=product), repeats)
                spent = seconds(statistics, repeats)
                rows.append({
                    "prior": prior.kind, "noise": noise, "overlap": overlap, "product s": bare,
                    "statistics s": spent, "ratio": spent / bare,
                })  # fmt: skip
    worst = max(row["ratio"] for row in rows)
    claims = {"statistics over the bare product, at most 3": (worst, worst <= 3)}
    report.write("node_statistics", options.out, rows, claims)


if __name__ == "__main__":
    main()
