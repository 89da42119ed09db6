"""Figure 8: spectral projection and approximation on a hyperspectral video of a gas plume.

The paper's video is not public. Ours is synthetic, has the same size and a known truth. A second
scene is a real picture, Jasper Ridge, in which the target is a river. Each is tried on the paper's
cosine graph, and on a graph of 20 nearest neighbors, which is not the paper's; the video then has
32 x 80 pixels. Only claims on the video with the cosine graph are the paper's. Labels are drawn
from the answer of spectral clustering, as in the paper: 2.8% of pixels. The paper says that probit
gives results similar to those of BLS.

For both scenes and both graphs, more pixels are uncertain with approximation than with projection.
With approximation, they lie near the border of the target only for the river on its graph of
neighbors. The study measures why. On the cosine graphs of both scenes all eigenvalues from the
fourth on are nearly 1. The 40 modes that are kept then give the field of a pixel next to no
variance, and the tail (all other modes) gives it nearly all, as the table shows. Labels say little
about other pixels, and |s| stays small there. A chain that mixes cannot produce the
paper's picture from such a prior. On the graphs of neighbors it matters whether the modes that show
the target have much variance. In the river scene the first mode does: it is nearly the river. In
the video the first two modes have nearly all variance, and show mostly sky and ground. The plume is
mostly in later modes, each with far less variance than the tail.

A linear program finds whether some field of the 40 modes satisfies all labels; the table says so.
On the cosine graph none does for the plume, while some do for the river. A label that a field
contradicts adds 2 / gamma^2 = 200 to the negative log likelihood. Chains of BLS do not cross such
steps, and stay apart. In all other cases chains agree, except those of pCN; the table has the R-hat
of the worst draw of labels. The 2e4 steps of pCN have a small ESS everywhere. On the large video
the others are two chains, of 100 draws with projection and of 250 with approximation.

On the plume's cosine graph, approximation assigns far more pixels to the target than belong to it;
the table has both shares. The prior omits the constant mode, so the field sums to about 0. Most
labels are background, so the field at labeled pixels sums to a negative number. All other pixels
balance this, and more than half of them get a positive value, the sign of the target.

GRAPHUQ_DATA=... python -m benchmarks.papers.uq_paper.plume [--quick]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linprog
from scipy.stats import spearmanr

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets

RANK, SHARE, UNSURE = 40, 8000 / 286_720, 0.4
# "at the edges": at most this many pixels from the other class
NEAR = 3
# the scene and the graph of the paper
PAPERS = "plume, cosine"
# the models that the claims are about
BOTH = ("BLS", "probit")
# The parameters of Figure 8: gamma from its caption, epsilon from appendix B
WELLS = gq.GinzburgLandau(epsilon=1.0, gamma=0.1)
# Draws of Harmonic are nearly independent. No field of 40 modes satisfies the 8,000 labels of the
# large video, so the start and every draw take long, and there are fewer draws.
LARGE = 100_000
SHORT = {"draws": 250}
SHORTER = {"projection": {"draws": 100}, "approximation": {"draws": 250}}
RUNS = {
    "BLS": (gq.LevelSet(0.1), gq.Harmonic(), SHORT),
    # 2e4 steps, as in the paper; R-hat needs two chains
    "BLS, pCN": (
        gq.LevelSet(0.1), gq.PCN(beta=0.08), {"draws": 200, "thin": 100, "warmup": 0, "chains": 2}
    ),
    "probit": (gq.Probit(0.1), gq.Harmonic(), SHORT),
}  # fmt: skip


def neighbors(X: np.ndarray) -> gq.Spectrum:
    """Return the spectrum of the paper's graph for digits, in 10 principal components."""
    graph = gq.knn_graph(gq.pca(X.astype(float), 10), n_neighbors=20, connect=True)
    return gq.Spectrum.of(graph, RANK)


def can_be_satisfied(prior, labels) -> bool:
    """Return whether a field of the modes of ``prior`` has the sign of every label."""
    rows = labels.codes[:, None] * prior.vectors[labels.nodes]
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    # the largest t with y_j v_j' z / |v_j| >= t for all j and |z_k| <= 1
    found = linprog(
        np.append(np.zeros(rows.shape[1]), -1.0),
        np.column_stack([-scaled, np.ones(len(rows))]), np.zeros(len(rows)),
        bounds=[*[(-1, 1)] * rows.shape[1], (0, None)], method="highs",
    )  # fmt: skip
    return bool(found.x[-1] > 1e-9)


def study(scene, given, spectrum, seeds) -> tuple[list[dict], dict]:
    """Sample one scene on one graph, and return rows of the table and the posteriors' pictures."""
    edges = scene.at_edges(NEAR)
    priors = {
        "projection": gq.Prior.projected(spectrum, RANK),
        "approximation": gq.Prior.approximated(spectrum, RANK, lambda_bar=1.0),
    }
    seeds = 1 if scene.y.size > LARGE else seeds
    labels = [gq.reveal(given, SHARE, seed=seed) for seed in range(seeds)]
    rows, panels = [], {"truth": 2 * scene.y - 1, "spectral clustering": 2 * given - 1}
    satisfied = [can_be_satisfied(priors["projection"], known) for known in labels]
    for kind, prior in priors.items():
        means = {}
        for run, (model, how, options) in RUNS.items():
            if options is SHORT and scene.y.size > LARGE:
                options = {**SHORTER[kind], "warmup": 20, "chains": 2}
            posts = [
                gq.sample(prior, model, known, how, seed=seed, progress=False, **options)
                for seed, known in enumerate(labels)
            ]
            means[run] = np.array([post.mean for post in posts])
            unsure = abs(means[run]) < UNSURE
            near = float(unsure[:, edges].sum() / max(unsure.sum(), 1))
            rows.append({
                "prior": kind, "variance beyond rank":
                    float((prior.n_nodes - 1 - RANK) * prior.tail**2 / prior.n_nodes),
                **{f"variance of mode {k + 1}": float(prior.sigma[k] ** 2 / prior.n_nodes)
                   for k in range(3)},
                "run": run, "share |s| < 0.4": float(unsure.mean()),
                "draws of labels": seeds,
                "std over labels": float(unsure.mean(axis=1).std()),
                "uncertain pixels: share near border": near,
                "all pixels: share near border": float(edges.mean()),
                "ratio": near / float(edges.mean()),
                "share of the target": float(scene.y.mean()),
                "predicted": float(np.mean([(post.mean > 0).mean() for post in posts])),
                "accuracy": float(np.mean([post.accuracy(scene.y) for post in posts])),
                "rank correlation with concentration": "-",
                "draws of labels that a field satisfies":
                    sum(satisfied) if kind == "projection" else "all",
                "mean |s of probit - s of BLS|":
                    float(abs(means[run] - means["BLS"]).mean()) if run == "probit" else "-",
                "acceptance": float(
                    np.mean([post.draws.stats["acceptance_rate"].mean() for post in posts])
                ),
                **report.health(posts),
                "seconds": float(np.mean([post.settings["sampling_time"] for post in posts])),
            })  # fmt: skip
            if scene.amount is not None:
                inside = scene.y == 1
                rows[-1]["rank correlation with concentration"] = float(np.mean([
                    spearmanr(scene.amount[inside], post.mean[inside]).statistic for post in posts
                ]))  # fmt: skip
            if run == "BLS":
                panels[kind] = posts[0].mean
    wells = gq.map_estimate(priors["projection"], WELLS, labels[0])
    panels["Ginzburg-Landau"] = 2.0 * wells.prediction - 1
    return rows, panels


def verdicts(name, rows, panels) -> dict[str, tuple]:
    """Return the claims on one case: they must hold for both models, and chains must agree."""
    chosen = {
        kind: [next(r for r in rows if (r["prior"], r["run"]) == (kind, run)) for run in BOTH]
        for kind in ("projection", "approximation")
    }
    shares = [
        [row["share |s| < 0.4"] for row in pair] for pair in zip(*chosen.values(), strict=True)
    ]
    shown = "; ".join(
        f"{run} {f'{few:.4g}' if few else 'none'} with projection, {many:.4g} with approximation"
        for run, (few, many) in zip(BOTH, shares, strict=True)
    )
    more = all(few < many for few, many in shares)
    text = f"{name}: share of uncertain pixels is larger with approximation than with projection"
    claims: dict[str, tuple] = {
        text: (
            *report.of_chains(shown, more, [*chosen["projection"], *chosen["approximation"]]),
            "more with approximation",
        )
    }
    for kind, pair in chosen.items():
        often = min(row["ratio"] for row in pair)
        text = (
            f"{name}, {kind}: share of uncertain pixels near the border, divided by the share of "
            "all pixels near it: at least 2"
        )
        claims[text] = (*report.of_chains(often, often >= 2, pair), "mainly at the edges")
    for kind, pair in chosen.items():
        if (low := pair[0]["rank correlation with concentration"]) != "-":
            low = min(low, pair[1]["rank correlation with concentration"])
            text = (
                f"{name}, {kind}: rank correlation of s with the concentration of gas in the "
                "plume: above 0.5"
            )
            claims[text] = (
                *report.of_chains(low, low > 0.5, pair), "distinguishes concentrations"
            )  # fmt: skip
    for kind, pair in chosen.items():
        apart = pair[1]["mean |s of probit - s of BLS|"]
        claims[
            f"{name}, {kind}: mean difference of s under probit from s under BLS: at most 0.1"
        ] = (*report.of_chains(apart, apart <= 0.1, pair), "similar")
    same = float(np.mean((panels["projection"] >= 0) == (panels["Ginzburg-Landau"] > 0)))
    claims[f"{name}: share of pixels where Ginzburg-Landau and BLS agree: at least 0.95"] = (
        *report.of_chains(same, same >= 0.95, chosen["projection"][:1]),  # with BLS alone
        "consistent",
    )
    if name != PAPERS:
        return {claim: values[:2] for claim, values in claims.items()}
    return claims


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    warnings.simplefilter("ignore", gq.ConvergenceWarning)  # the table shows it
    seeds = 1 if options.quick else 3
    smaller = data_sets.plume(4)
    video = smaller if options.quick else data_sets.plume()
    scenes, lacks = {PAPERS: video, "plume, neighbors": smaller}, []
    try:  # the river comes first
        river = data_sets.jasper_ridge()
        scenes = {"river, cosine": river, "river, neighbors": river} | scenes
    except FileNotFoundError as error:  # it cannot be downloaded
        print(f"without the river: {error}", file=sys.stderr)
        lacks.append("the river of Figure 8")
    rows, claims, pictures = [], {}, {}
    for title, scene in scenes.items():
        spectrum = gq.nystrom(scene.X, RANK, weights="cosine", seed=0)
        given = data_sets.segmented(spectrum, scene.y)
        if title.endswith("neighbors"):
            spectrum = neighbors(scene.X)
        found, panels = study(scene, given, spectrum, seeds)
        rows += [{"scene, graph": title, "N": scene.y.size, **row} for row in found]
        claims |= verdicts(title, found, panels)
        pictures[title] = panels, scene.shape
    for run in RUNS:
        worst = max(row["R-hat"] for row in rows if row["run"] == run)
        claims[f"largest R-hat, {run}: below 1.05"] = (worst, worst < 1.05)
    draw(pictures, options.out)
    report.write("plume", options.out, rows, claims, lacks=lacks)


def draw(pictures, out) -> None:
    figure = Figure(figsize=(15, 6.4), layout="constrained")
    rows = ("truth", "spectral clustering", "projection", "approximation", "Ginzburg-Landau")
    columns = [(name, shape[0] - 1) for name, (_, shape) in pictures.items()]
    # the last three frames of the paper's video and graph
    columns[-2:-1] = [(PAPERS, frame) for frame in (4, 5, 6)]
    widths = [pictures[name][1][2] / pictures[name][1][1] for name, _ in columns]
    grid = figure.subplots(len(rows), len(columns), width_ratios=widths)
    for axes, (name, frame) in zip(grid.T, columns, strict=True):
        panels, shape = pictures[name]
        for ax, what in zip(axes, rows, strict=True):
            s = np.asarray(panels[what], dtype=float).reshape(shape)[frame]
            picture = np.repeat((s[..., None] + 1) / 2, 3, axis=2)
            picture[abs(s) < UNSURE] = 0.9, 0.1, 0.1
            ax.imshow(picture, interpolation="nearest")
            ax.set(xticks=[], yticks=[])
        axes[0].set_title(name + (f", frame {frame + 1}" if shape[0] > 1 else ""), fontsize=9)
    for ax, what in zip(grid[:, 0], rows, strict=True):
        ax.set_ylabel(what.replace(" ", "\n").replace("-", "-\n"), fontsize=9)
    figure.suptitle(
        "Figure 8: posterior means s under BLS, from -1 (black: background) to +1 (white: "
        "plume, or water);\nred: uncertain, |s| < 0.4", fontsize=11,
    )  # fmt: skip
    report.picture("plume", out, figure)


if __name__ == "__main__":
    main()
