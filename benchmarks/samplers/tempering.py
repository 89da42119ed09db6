"""Whether tempering crosses the deep wells of Ginzburg-Landau, epsilon = 1, on the voting records.

GRAPHUQ_DATA=... python -m benchmarks.samplers.tempering [--quick]
"""

from __future__ import annotations

import graphuq as gq
from benchmarks.common import report
from benchmarks.samplers.ginzburg_landau import efficiency, records, sampled

DEEP = gq.GinzburgLandau(epsilon=1.0, gamma=0.6)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    spectrum, labels = records()
    prior = gq.Prior.projected(spectrum, 50)
    rows = []
    for sampler in (gq.Tempered(gq.HilbertHMC()), gq.HilbertHMC()):
        for seed in range(1 if options.quick else 5):
            post = sampled(prior, DEEP, labels, sampler, nodes=range(0, 435, 9), seed=seed)
            r_hat, ess, _ = efficiency(post)
            swaps = post.draws.stats.get("swap_rate")
            rows.append({
                "sampler": type(sampler).__name__, "seed": seed, "R-hat": r_hat, "ESS": ess,
                "mean swap rate": float(swaps.mean()) if swaps is not None else "",
                "seconds": post.settings["sampling_time"],
            })  # fmt: skip
    worst = max(row["R-hat"] for row in rows if row["sampler"] == "Tempered")
    least = min(row["R-hat"] for row in rows if row["sampler"] != "Tempered")
    claims = {
        "epsilon = 1: largest R-hat with tempering, below 1.05": (worst, worst < 1.05),
        "epsilon = 1: smallest R-hat without, above 1.05": (least, least > 1.05),
    }
    report.write("tempering", options.out, rows, claims)


if __name__ == "__main__":
    main()
