"""Figure 8: spectral projection and approximation on a hyperspectral video of a gas plume.

The paper's video is not public. Ours is synthetic, of the same size and with known truth; beside it
stands a real picture, Jasper Ridge, whose river is to be found. Each is tried on the paper's cosine
graph, and on one of 20 nearest neighbours, which is not the paper's; the latter video is of 32 x 80
pixels. Labels are drawn from spectral clustering's answer, as in the paper: 2.8% of pixels.
BLS is the paper's model; it calls probit's results similar.

Approximation marks more pixels everywhere. At the edges they lie on the river's graph of neighbours
alone; why was measured. A cosine graph's eigenvalues are nearly 1 from the fourth on, so that the
40 modes give a pixel's field next to no variance, and the tail nearly all, as the table shows:
labels then say next to nothing of other pixels, and all of these are uncertain. A chain that mixes
cannot draw the paper's picture from such a prior. With neighbours the tail still outweighs all
modes but the first two, as was observed outside the study. The river is one mode by itself, the
first; the plume is spread over modes that have less variance than the tail, since the first two,
sky and ground, have nearly all.

Under projection to the cosine graph's 40 modes no field satisfies all labels of the plume, and some
do the river's: observed outside the study, by a linear program. Steps of 2 / gamma^2 = 200 are not
crossed, and BLS's chains stay apart; elsewhere they do for some draws of labels, as the R-hat of
the worst draw shows. Probit's, of the same labels, agree. On the plume's cosine graph pCN's 2e4
steps are seldom accepted and worth few draws. Approximation's accuracy on cosine graphs is that of
calling every pixel the target: fields balance about 0, and most of the labels are background.

GRAPHUQ_DATA=... python -m benchmarks.uq_paper.plume [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq
from benchmarks import report
from benchmarks.uq_paper import data_sets

RANK, SHARE, UNSURE = 40, 8000 / 286_720, 0.4
# "at the edges": so many pixels from one of the other class
NEAR = 3
# the models of ours that a claim is made for
BOTH = ("BLS", "probit")
# of Figure 8; gamma is the caption's, and epsilon that of appendix B
WELLS = gq.GinzburgLandau(epsilon=1.0, gamma=0.1)
# Draws of Harmonic are nearly independent. The start of a chain at 8,000 labels that no field of 40
# modes satisfies takes long, and so does a draw, so there are fewer on that video.
LARGE = 100_000
SHORT, SHORTER = {"draws": 250}, {"draws": 100, "warmup": 20, "chains": 2}
RUNS = {
    "BLS": (gq.LevelSet(0.1), gq.Harmonic(), SHORT),
    # 2e4 steps, as in the paper; two chains tell more than one
    "BLS, pCN": (
        gq.LevelSet(0.1), gq.PCN(beta=0.08), {"draws": 200, "thin": 100, "warmup": 0, "chains": 2}
    ),
    "probit": (gq.Probit(0.1), gq.Harmonic(), SHORT),
}  # fmt: skip


def neighbours(X: np.ndarray) -> gq.Spectrum:
    """Not the paper's: the graph that it takes for digits, in 10 principal components."""
    graph = gq.knn_graph(gq.pca(X.astype(float), 10), n_neighbors=20, connect=True)
    return gq.Spectrum.of(graph, RANK)


def study(scene, given, spectrum, seeds) -> tuple[list[dict], dict]:
    """Sample one scene on one graph: rows of the table, and what the picture shows."""
    edges = scene.at_edges(NEAR)
    priors = {
        "projection": gq.Prior.projected(spectrum, RANK),
        "approximation": gq.Prior.approximated(spectrum, RANK, lambda_bar=1.0),
    }
    seeds = 1 if scene.y.size > LARGE else seeds
    labels = [gq.reveal(given, SHARE, seed=seed) for seed in range(seeds)]
    rows, panels = [], {"truth": 2 * scene.y - 1, "spectral clustering": 2 * given - 1}
    for kind, prior in priors.items():
        for run, (model, how, options) in RUNS.items():
            if options is SHORT and scene.y.size > LARGE:
                options = SHORTER
            posts = [
                gq.sample(prior, model, known, how, seed=seed, progress=False, **options)
                for seed, known in enumerate(labels)
            ]
            unsure = np.array([abs(post.mean) < UNSURE for post in posts])
            near = float(unsure[:, edges].sum() / max(unsure.sum(), 1))
            rows.append({
                "prior": kind, "variance beyond rank":
                    float((prior.n_nodes - 1 - RANK) * prior.tail**2 / prior.n_nodes),
                "run": run, "share |s| < 0.4": float(unsure.mean()),
                "draws of labels": seeds,
                "std over labels": float(unsure.mean(axis=1).std()),
                "of these at edges": near, "of all at edges": float(edges.mean()),
                "times as often": near / float(edges.mean()),
                "accuracy": float(np.mean([post.accuracy(scene.y) for post in posts])),
                "acceptance": float(np.mean([p.stats["acceptance_rate"].mean() for p in posts])),
                **report.health(posts),
                "seconds": float(np.mean([post.settings["sampling_time"] for post in posts])),
            })  # fmt: skip
            if run == "BLS":
                panels[kind] = posts[0].mean
    wells = gq.map_estimate(priors["projection"], WELLS, labels[0])
    panels["Ginzburg-Landau"] = 2.0 * wells.prediction - 1
    return rows, panels


def verdicts(name, rows, panels) -> dict[str, tuple]:
    """Return the claims on one case: both models must do, and the chains of both must agree."""
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
    text = f"{name}: share of uncertain pixels, larger with approximation than with projection"
    claims: dict[str, tuple] = {
        text: (
            *report.of_chains(shown, more, [*chosen["projection"], *chosen["approximation"]]),
            "more with approximation",
        )
    }
    for kind, pair in chosen.items():
        often = min(row["times as often"] for row in pair)
        text = f"{name}, {kind}: uncertain pixels at edges over all pixels at edges, at least 2"
        claims[text] = (*report.of_chains(often, often >= 2, pair), "mainly at the edges")
    same = float(np.mean((panels["projection"] >= 0) == (panels["Ginzburg-Landau"] > 0)))
    claims[f"{name}: agreement of Ginzburg-Landau, at least 0.95"] = (
        *report.of_chains(same, same >= 0.95, chosen["projection"][:1]),  # with BLS alone
        "consistent",
    )
    return claims


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    warnings.simplefilter("ignore", gq.ConvergenceWarning)  # the table says so
    seeds = 1 if options.quick else 3
    smaller = data_sets.plume(4)
    video = smaller if options.quick else data_sets.plume()
    river = data_sets.jasper_ridge()
    rows, claims, pictures = [], {}, {}
    for title, scene in {
        "plume, cosine": video, "plume, neighbours": smaller,
        "river, cosine": river, "river, neighbours": river,
    }.items():  # fmt: skip
        spectrum = gq.nystrom(scene.X, RANK, weights="cosine", seed=0)
        given = data_sets.segmented(spectrum, scene.y)
        if title.endswith("neighbours"):
            spectrum = neighbours(scene.X)
        found, panels = study(scene, given, spectrum, seeds)
        rows += [{"scene, graph": title, "N": scene.y.size, **row} for row in found]
        claims |= verdicts(title, found, panels)
        pictures[title] = panels, scene.shape
    for run in RUNS:
        worst = max(row["R-hat"] for row in rows if row["run"] == run)
        claims[f"largest R-hat, {run}, below 1.05"] = (worst, worst < 1.05)
    draw(pictures, options.out)
    report.write("plume", options.out, rows, claims)


def draw(pictures, out) -> None:
    figure = Figure(figsize=(15, 6.4), layout="constrained")
    rows = ("truth", "spectral clustering", "projection", "approximation", "Ginzburg-Landau")
    first, *others = pictures  # of the former three frames, as the paper
    columns = [(first, 4), (first, 5), (first, 6), *((o, pictures[o][1][0] - 1) for o in others)]
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
        "Figure 8: posterior means s under BLS, from -1 (black: surely background) to +1 (white: "
        "surely plume, or water);\nred: uncertain, |s| < 0.4", fontsize=11,
    )  # fmt: skip
    report.picture("plume", out, figure)


if __name__ == "__main__":
    main()
