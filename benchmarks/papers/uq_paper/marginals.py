"""Figure 7: marginal posteriors at low- and high-confidence nodes of the votes, under three models.

The paper shows six nodes of each kind, the same under all models: those whose posterior means,
averaged over the models, are closest to 0, and those with the highest means. It says that
Ginzburg-Landau's marginals have several modes (peaks) at the former nodes and one at the latter,
and that probit's always have one. Here a peak is one of a kernel density estimate, with a
prominence of at least 5% of the highest. The numbers are means over draws of labels.

All marginals of the paper's three models have one peak. At the printed epsilon = 10, the barrier
between the two wells of Ginzburg-Landau's potential W is only 1 / (4 epsilon) = 1/40 high. With a
normal prior of variance 1, the density of a node's value v, exp(-W(v) - v^2 / 2), has one peak.
Even at the nodes of high confidence the field takes both signs. Two further runs look for what the
paper saw. The first repeats its run, one chain of 1e5 pCN steps, here without warm-up. Its ESS is
small, but its Monte Carlo error creates no further peaks. The second run has deep wells, epsilon =
0.3, under the same full prior, and tempered chains, since others do not cross between wells. There
nodes of low confidence have two peaks, as in the paper. Of those of high confidence some have two
as well: with five labels their posterior means are only about 0.15. Its nodes are chosen by its own
posterior means, since its field is another one.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.marginals [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets

MODELS = {
    "GL, epsilon 10": gq.GinzburgLandau(epsilon=10.0, gamma=0.6),
    "probit": gq.Probit(0.5),
    "BLS": gq.LevelSet(0.5),
}
AS_RUN, DEEP = "GL, epsilon 10, the paper's run", "GL, epsilon 0.3, tempered"
PAPER = {
    "GL, epsilon 10": ("several", "one"), AS_RUN: ("several", "one"), "probit": ("one", "one"),
    "BLS": ("in the figure", "in the figure"), DEEP: ("-", "-"),
}  # fmt: skip


def sample_all(spectrum, labels, seed, draws) -> dict[str, gq.Posterior]:
    """Sample every model with all unlabeled nodes traced."""
    full = gq.Prior.full(spectrum)
    hidden = np.setdiff1d(np.arange(full.n_nodes), labels.nodes)
    common = {"nodes": hidden, "seed": seed, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        posts = {
            name: gq.sample(full, model, labels, draws=draws, **common)
            for name, model in MODELS.items()
        }
        posts[AS_RUN] = gq.sample(
            full, MODELS["GL, epsilon 10"], labels, gq.PCN(beta=0.1), draws=draws // 2, thin=100,
            warmup=0, chains=1, **common,
        )  # fmt: skip
        deep = gq.GinzburgLandau(epsilon=0.3, gamma=0.6)
        posts[DEEP] = gq.sample(
            full, deep, labels, gq.Tempered(), draws=draws // 4, warmup=200, thin=2, **common
        )
    return posts


def peaks(values: np.ndarray) -> int:
    """Return the number of peaks of a density estimate."""
    heights = gaussian_kde(values)(np.linspace(*np.quantile(values, [0.001, 0.999]), 200))
    return len(find_peaks(heights, prominence=0.05 * heights.max())[0])


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    graph, y = data_sets.votes()
    spectrum = gq.Spectrum.of(graph)
    found: dict[tuple[str, str], list] = {}
    shown: dict[tuple[str, str], list] = {}
    healths: dict[str, list] = {}
    repeats = 1 if options.quick else 5
    for seed in data_sets.seeds(repeats):
        labels = gq.reveal(y, counts={0: 3, 1: 2}, seed=seed)
        posts = sample_all(spectrum, labels, seed, 100 if options.quick else 2000)
        hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
        s = {name: 2 * post.latent_probability[hidden] - 1 for name, post in posts.items()}
        averaged = np.mean([s[name] for name in MODELS], axis=0)
        for name, post in posts.items():
            own = s[name] if name == DEEP else averaged
            chosen = {"low": np.argsort(abs(own))[:6], "high": np.argsort(-own)[:6]}
            healths.setdefault(name, []).append(post)
            for kind, nodes in chosen.items():
                drawn = [post.draws.field[:, :, at].ravel() for at in nodes]
                shown.setdefault((name, kind), [
                    (values, post.latent_probability[hidden[at]])
                    for values, at in zip(drawn, nodes, strict=True)
                ])  # fmt: skip
                positive = (post.draws.field[:, :, nodes] > 0).mean(axis=(0, 1))
                found.setdefault((name, kind), []).append((
                    sum(peaks(values) > 1 for values in drawn),
                    float(np.minimum(positive, 1 - positive).mean()),
                ))  # fmt: skip
    rows = []
    for (name, kind), values in found.items():
        several, lesser = np.array(values).T
        rows.append({
            "model": name, "nodes": f"6 of {kind} confidence",
            "of 6 with several peaks": float(several.mean()), "std": float(several.std()),
            "mass on the lesser side of 0": float(lesser.mean()), "draws of labels": repeats,
            "peaks in the paper": PAPER[name][kind == "high"],
            **report.health(healths[name]),
        })  # fmt: skip
    draw(shown, options.out)

    claims = {}
    for name, *paper in (
        ("GL, epsilon 10", "multi-modal, and essentially uni-modal at high confidence"), (DEEP,),
    ):  # fmt: skip
        pair = [row for row in rows if row["model"] == name]
        low, high = (row["of 6 with several peaks"] for row in pair)
        claims[f"of 6 nodes, those with several peaks, {name}: at least 4 of low confidence, and "
               "none of high"] = (
            *report.of_chains(f"{low:g} and {high:g}", low >= 4 and high == 0, pair), *paper
        )  # fmt: skip
    # the density of probit is log-concave, so that this tests the count of peaks
    pair = [row for row in rows if row["model"] == "probit"]
    most = max(row["of 6 with several peaks"] for row in pair)
    claims["of 6 nodes, those with several peaks, probit, low or high confidence: none"] = (
        report.of_chains(most, most == 0, pair)
    )
    row = next(r for r in rows if (r["model"], r["nodes"]) == ("GL, epsilon 10",
                                                              "6 of high confidence"))  # fmt: skip
    other = row["mass on the lesser side of 0"]
    claims["mass on the lesser side of 0, GL, epsilon 10, high confidence: at most 0.1"] = (
        *report.of_chains(other, other <= 0.1, [row]), "most samples have a fixed sign"
    )  # fmt: skip
    worst = max(row["R-hat"] for row in rows if row["model"] in MODELS)
    claims["largest R-hat of the paper's three models: below 1.05"] = (worst, worst < 1.05)
    report.write("marginals", options.out, rows, claims)


def draw(shown, out) -> None:
    """Draw a histogram for each of six nodes, under each model."""
    figure = Figure(figsize=(17, 6.4), layout="constrained")
    names = list(PAPER)
    for part, (kind, name) in zip(
        figure.subfigures(2, len(names)).ravel(),
        ((kind, name) for kind in ("low", "high") for name in names),
        strict=True,
    ):
        part.suptitle(f"{name}\n{kind} confidence", fontsize=9)
        found = shown[name, kind]
        ends = np.quantile(np.concatenate([values for values, _ in found]), [0.001, 0.999])
        for panel, (values, p) in zip(part.subplots(2, 3, sharex=True).ravel(), found, strict=True):
            panel.hist(values, bins=np.linspace(*ends, 41), density=True, color="0.45")
            panel.axvline(0, color="#d55e00", lw=0.8)
            panel.set_title(f"s = {2 * p - 1:+.2f}", fontsize=8, pad=2)
            panel.set_yticks([])
            panel.tick_params(labelsize=7)
    figure.suptitle(
        "Figure 7: marginal posteriors of the field at six nodes, voting records. A line is at 0, "
        "and s is the mean of the sign.", fontsize=11,
    )  # fmt: skip
    report.picture("marginals", out, figure)


if __name__ == "__main__":
    main()
