"""Section 5.3, voting records: the distance of projection and approximation from the full prior.

The distance is the mean over nodes of |s - s*|, with s the posterior mean under a prior of 150
modes, s* the posterior mean under the full prior, and gamma = 0.1 for both. By its formula the
weights have self-loops, but the paper does not say that its graph keeps them, nor which model it
used.

The paper adds that approximation leaves more uncertainty than projection, here as on the video of
Figure 8. The study compares the mean variances of eq. (10), too.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.truncation [--quick]
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets, sweeps

PAPER = {"projected": 0.1577, "approximated": 0.0261}


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    rows, claims, shown = [], {}, {}
    for loops in (True, False):
        graph, y = data_sets.votes(self_loops=loops)
        spectrum = gq.Spectrum.of(graph)
        priors = {
            "full": gq.Prior.full(spectrum),
            "projected": gq.Prior.projected(spectrum, 150),
            "approximated": gq.Prior.approximated(spectrum, 150),
        }
        for model in (gq.Probit(0.1), gq.LevelSet(0.1)):
            gaps: dict[str, list[float]] = {"projected": [], "approximated": []}
            variances: dict[str, list[float]] = {kind: [] for kind in priors}
            healths = []
            for seed in data_sets.seeds(2 if options.quick else 30):
                labels = gq.reveal(y, counts={0: 3, 1: 2}, seed=seed)
                posts = {
                    kind: gq.sample(prior, model, labels, seed=seed, progress=False)
                    for kind, prior in priors.items()
                }
                healths.append(report.health(posts.values()))
                shown.setdefault(loops, {kind: post.mean for kind, post in posts.items()})
                for kind, values in variances.items():
                    values.append(posts[kind].mean_variance)
                for kind, values in gaps.items():
                    values.append(float(abs(posts[kind].mean - posts["full"].mean).mean()))
            for kind, values in gaps.items():
                rows.append({
                    "model": type(model).__name__, "self-loops": loops, "prior": kind,
                    "mean |difference|": float(np.mean(values)),
                    "spread over labels": float(np.std(values, ddof=1)),
                    "paper": PAPER[kind], "mean variance": float(np.mean(variances[kind])),
                    "mean variance, full": float(np.mean(variances["full"])),
                    "draws of labels": len(values),
                    "R-hat": max(health["R-hat"] for health in healths),
                    "ESS": min(health["ESS"] for health in healths),
                })  # fmt: skip
            more = np.subtract(variances["approximated"], variances["projected"])
            gain = sweeps.in_errors(more)
            claim = (
                "mean variance under approximation minus that under projection, in standard "
                f"errors, {type(model).__name__}, {'with' if loops else 'without'} self-loops: "
                f"above {sweeps.CLEAR:g}"
            )
            claims[claim] = (
                *report.of_chains(gain, gain > sweeps.CLEAR, rows[-2:]), "greater uncertainty"
            )  # fmt: skip
            ratio = float(np.mean(gaps["projected"]) / np.mean(gaps["approximated"]))
            name = f"{type(model).__name__}, {'with' if loops else 'without'} self-loops"
            if loops:
                for row in rows[-2:]:
                    apart = abs(row["mean |difference|"] - row["paper"]) / row["spread over labels"]
                    claim = (
                        f"{row['prior']}, {row['model']}, with self-loops: error of the posterior "
                        "mean minus the printed one, divided by its spread over draws of labels: "
                        "at most 2"
                    )
                    claims[claim] = (*report.of_chains(apart, apart <= 2, [row]), row["paper"])
            claim = (
                "error of the posterior mean under projection, divided by that under "
                f"approximation, {name}: at least 5"
            )
            claims[claim] = (
                *report.of_chains(ratio, ratio >= 5, rows[-2:]),
                PAPER["projected"] / PAPER["approximated"],
            )  # fmt: skip
    draw(shown, rows, options.out)
    report.write("truncation", options.out, rows, claims)


def draw(shown, rows, out) -> None:
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    for panel, (loops, means) in zip(
        figure.subplots(1, 2, sharey=True), shown.items(), strict=True
    ):
        for kind, color, marker in (
            ("projected", "#e69f00", "^"), ("approximated", "#0072b2", "o")
        ):  # fmt: skip
            ours = next(
                row["mean |difference|"] for row in rows
                if (row["model"], row["self-loops"], row["prior"]) == ("Probit", loops, kind)
            )  # fmt: skip
            panel.scatter(
                means["full"], means[kind], s=12, c=color, marker=marker, linewidths=0, alpha=0.7,
                label=f"{kind}: mean |difference| {ours:.3f}, paper {PAPER[kind]:.3f}",
            )  # fmt: skip
        panel.axline((0, 0), slope=1, color="black", lw=0.8)
        panel.set_title(("with" if loops else "without") + " self-loops", fontsize=10)
        panel.set(xlabel="s under the full prior", xlim=(-1, 1), ylim=(-1, 1.35))
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8, loc="upper left")
    figure.axes[0].set_ylabel("s under 150 modes")
    figure.suptitle("Section 5.3: every member of the House, posterior mean s under probit",
                    fontsize=11)  # fmt: skip
    report.picture("truncation", out, figure)


if __name__ == "__main__":
    main()
