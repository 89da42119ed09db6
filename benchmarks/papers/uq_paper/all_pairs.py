"""Table 1 for all 45 pairs of digits: mean posterior variance, with intervals over draws of labels.

The graph, the share of labels and gamma are those of Table 1, the prior is spectral projection to
50 modes, and the posterior is sampled exactly under probit. The prior and gamma are the same for
all pairs, so that their variances can be compared. The interval of a pair is a 90% interval for its
mean over draws of labels, by Student's t. The images of each digit are the same for all its pairs.

The picture shows the mean variance of each pair, and the share of wrong predictions. The paper's
four pairs have frames. For every two of the 45 pairs, Welch's test asks whether their mean
variances differ.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.all_pairs [--quick]
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy import stats

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets, sweeps
from benchmarks.papers.uq_paper.digit_pairs import PAIRS

RANK, SHARE, MODEL = 50, 0.04, gq.Probit(0.1)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    draws, kept = (2, 100) if options.quick else (10, None)
    rows, found = [], {}
    for pair in combinations(range(10), 2):
        graph, y, _ = data_sets.digits(*pair)
        prior = gq.Prior.projected(graph, RANK)
        posts = [
            gq.sample(
                prior, MODEL, gq.reveal(y, SHARE, seed=seed), draws=kept, seed=seed, progress=False
            )
            for seed in data_sets.seeds(draws)
        ]
        variances = np.array([post.mean_variance for post in posts])
        low, high = stats.t.interval(0.9, draws - 1, variances.mean(), stats.sem(variances))
        found[pair] = variances
        rows.append({
            "pair": "{},{}".format(*pair), "mean variance": float(variances.mean()),
            "from": float(low), "to": float(high),
            "std over labels": float(variances.std(ddof=1)),
            "wrong": float(np.mean([1 - post.accuracy(y) for post in posts])),
            "draws of labels": draws, **report.health(posts),
        })  # fmt: skip
    rows.sort(key=lambda row: -row["mean variance"])
    draw(rows, options.out)
    report.write("all_pairs", options.out, rows, claims(rows, found))


def claims(rows, found) -> dict[str, tuple]:
    place = {row["pair"]: k + 1 for k, row in enumerate(rows)}
    four = {"{},{}".format(*sorted(pair)): pair for pair in PAIRS}
    steps = [sweeps.in_errors(found[tuple(sorted(a))] - found[tuple(sorted(b))])
             for a, b in pairwise(PAIRS)]  # fmt: skip
    agree = float(stats.spearmanr([row["mean variance"] for row in rows],
                                  [row["wrong"] for row in rows]).statistic)  # fmt: skip
    apart = [
        stats.ttest_ind(found[a], found[b], equal_var=False).pvalue < 0.05
        for a, b in combinations(found, 2)
    ]
    worst = max(row["R-hat"] for row in rows)
    places = ", ".join(f"{pair}: {place[pair]}" for pair in four)
    return {
        f"mean variance falls along the paper's four pairs, each step in standard errors: above "
        f"{sweeps.CLEAR:g}": (
            f"{', '.join(f'{step:.1f}' for step in steps)}; places among all 45: {places}",
            min(steps) > sweeps.CLEAR,
            "0.1485, 0.1005, 0.0429, 0.0084",
        ),
        "rank correlation of mean variance with the share of wrong predictions, 45 pairs: above "
        "0.9": (agree, agree > 0.9),
        "share of comparisons of two pairs in which mean variances differ, p < 0.05: above "
        "0.5": (float(np.mean(apart)), float(np.mean(apart)) > 0.5),
        "largest R-hat: below 1.05": (worst, worst < 1.05),
    }  # fmt: skip


def draw(rows, out) -> None:
    """Draw the variances and the errors of all pairs as triangles."""
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    titles = {"mean variance": "mean posterior variance", "wrong": "share of wrong predictions"}
    for panel, (what, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        table = np.full((10, 10), np.nan)
        for row in rows:
            a, b = map(int, row["pair"].split(","))
            table[b, a] = row[what]
        shown = panel.imshow(table[1:, :9], cmap="viridis_r", vmin=0)
        dark = np.nanmax(table) / 2
        for (b, a), value in np.ndenumerate(table):
            if not np.isnan(value):
                panel.text(a, b - 1, f"{value:.3f}".lstrip("0"), ha="center", va="center",
                           fontsize=8, color="white" if value > dark else "black")  # fmt: skip
        for pair in PAIRS:
            a, b = sorted(pair)
            panel.add_patch(Rectangle((a - 0.5, b - 1.5), 1, 1, fill=False, edgecolor="red", lw=2))
        panel.set_xticks(range(9), range(9))
        panel.set_yticks(range(9), range(1, 10))
        panel.set(title=title, xlabel="one digit", ylabel="the other")
        panel.spines[:].set_visible(False)
        figure.colorbar(shown, ax=panel, shrink=0.8)
    figure.suptitle("All pairs of digits; red: the four of Table 1", fontsize=11)
    report.picture("all_pairs", out, figure)


if __name__ == "__main__":
    main()
