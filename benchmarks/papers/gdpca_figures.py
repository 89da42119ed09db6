"""GDPCA, figures and kernels: Figures 2 to 4 and Table 5's kernels of Avrachenkov et al. 2021.

GRAPHUQ_DATA=... python -m benchmarks.papers.gdpca_figures [--quick]

Section 3.1 clusters nodes by PCA between them (PCA-BC): a node is in one of two clusters if its
entry of the first component is at least the median. The text draws features from two Gaussians
whose means differ by 0.4 in one of d features, with the covariance "diag(0.1)". Read as a variance
of 0.1 the clusters of one data set can hardly be told apart with 1,000 features; read as a
deviation of 0.1 they can. Figure 2 has the mean entry of each node over 100 data sets. The sign of
a component is arbitrary, and here the truth decides it for each data set. This alone tells nodes
apart to some degree: the rows "no difference" have clusters of the same mean.

Figure 4 compares graphs of nearest neighbors, by three distances and up to 14 neighbors. Ours are
means over draws of 20 labels per class, or 10 of digits, and the accuracy is that on all other
nodes. Table 5 puts two kernels in place of the covariance S: cosines, and exp(-|x - x'|^2 / d),
whose width the text does not state. The paper's Algorithm 1 is used, as in `gq.GDPCA`: ten power
iterations where its condition (6) holds, and else GMRES. Its ten iterations of GMRES are read as
SciPy's, which are restarts of 20 products; rows with ten products show the other reading. The rows
have alpha rho(M); where it is above 1 problem (4) is not convex, and a solution of eq. (5) is a
saddle point. The study also measures the text's claim that power iteration reaches the best
accuracy in fewer products than GMRES.

In Table 3 and Figure 3 graph convolutional networks (GCN) stand for the neural networks. Their
accuracies on the published splits are those that `benchmarks.trust.side_by_side` measured. Figure 3
here has the seconds of 50 trainings by each solver, and ten times those of five such networks of 64
hidden units and 200 epochs, all on one thread. Without torch and torch-geometric they are not
trained, and the page lacks the claim.
"""

from __future__ import annotations

import csv
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import sparse, stats
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.gdpca import (
    ALPHA,
    DELTA,
    PAPERS_REPEATS,
    PRINTED,
    accuracy,
    citation,
    digits,
    draw_labels,
    revealed,
    with_kernel,
)
from benchmarks.trust.peers import with_geometric
from benchmarks.trust.peers.task import Problem, Task
from graphuq.classifiers.diffusion import solve_by_gmres
from graphuq.classifiers.gdpca import (
    PAPER_ITERATIONS,
    PAPER_RESTART,
    PAPER_TOLERANCE,
    covariance,
    is_contraction,
    largest_singular_value,
    spectral_radius,
)

SIZES = ((100, 1000), (1000, 100))
# deviations of the features, and the difference of the means of the clusters
READINGS = {
    "variance 0.1": (np.sqrt(0.1), 0.4), "deviation 0.1": (0.1, 0.4),
    "no difference": (np.sqrt(0.1), 0.0),
}  # fmt: skip
METRICS = ("cosine", "euclidean", "dice")
NEIGHBORS, FEW_NEIGHBORS = range(1, 15), (3, 7, 11)
# Table 5: delta = 1 with cosines and with the Gaussian kernel
KERNELS = {"cora": (70.1, 68.3), "citeseer": (64.8, 44.5), "pubmed": (72.6, 71.1),
           "cct": (54.2, 56.2)}  # fmt: skip
# Table 3: GCN
NETWORK = {"cora": 81.5, "citeseer": 70.3, "pubmed": 79.0}
SIDE_BY_SIDE = Path(__file__).parents[2] / "docs/numbers/side_by_side.csv"
NOT_RUN = "not run: needs torch-geometric"
# products of GMRES: ten restarts
MOST_PRODUCTS = PAPER_ITERATIONS * PAPER_RESTART
# leads that the text states
LEADS = {"cora": 7, "citeseer": 8, "pubmed": 3, "cct": 0}


def two_clusters(
    n: int, d: int, deviation: float, gap: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw features from eq. (2) with the means of section 3.1."""
    y = np.repeat([0, 1], n // 2)
    X = deviation * np.random.default_rng(seed).standard_normal((n, d))
    X[:, 0] += np.where(y == 0, 0.1 + gap, 0.1)
    return X, y


def pca_bc(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first component of eq. (3), one entry for each node, and the clusters."""
    # features are the items and nodes the columns, which eq. (3) centers as PCA does
    first = PCA(1, random_state=0).fit(X.T).components_[0]
    return first, (first >= np.median(first)).astype(int)


def figure_2(sets: int) -> tuple[list[dict], dict, dict]:
    rows, claims, shown = [], {}, {}
    for n, d in SIZES:
        for reading, (deviation, gap) in READINGS.items():
            right, mean = [], np.zeros(n)
            for seed in range(sets):
                X, y = two_clusters(n, d, deviation, gap, seed)
                first, clusters = pca_bc(X)
                share = float((clusters == y).mean())
                right.append(100 * max(share, 1 - share))
                # the sign of a component is arbitrary
                sign = np.sign(first[y == 1].mean() - first[y == 0].mean())
                mean += sign * first / sets
            at = f"n = {n}, d = {d}, {reading}"
            by_mean = float(100 * ((mean >= np.median(mean)) == y).mean())
            rows.append(row("Figure 2", at, "PCA-BC in one data set", right, sets))
            rows.append(row("Figure 2", at, "mean over data sets", [by_mean], sets))
            if gap:
                shown[n, d, reading] = mean, y
                name = f"Figure 2, {at}: share of nodes that the mean entry over data sets puts on "
                claims[name + "the right side, in percent: at least 95"] = (by_mean, by_mean >= 95)
    return rows, claims, shown


def row(what: str, data: str, setting: object, values: list[float], repeats: int) -> dict:
    return {
        "what": what, "data": data, "setting": setting, "value": float(np.mean(values)),
        "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else "",
        "repeats": repeats, "paper": "",
        "solver": "", "alpha rho(M)": "",
    }  # fmt: skip


def figure_4(repeats: int, n_digits: int, neighbors) -> tuple[list[dict], dict, dict]:
    """Return GDPCA's accuracy by distance and number of neighbors, for trials and digits."""
    cct = gq.datasets.cct()
    _, images, y, _ = digits(n_digits)
    problems = {"cct": (cct.X, cct.y), "mnist": (images, y)}
    rows, claims, curves = [], {}, {}
    for name, (X, y) in problems.items():
        for metric in METRICS:
            features = X.toarray() > 0 if metric == "dice" else X.toarray()
            apart = pairwise_distances(features, metric=metric)
            for k in neighbors:
                found = kneighbors_graph(apart, k, metric="precomputed")
                graph = gq.Graph(((found + found.T) > 0).astype(float) + sparse.eye_array(y.size))
                got = [
                    revealed(name, (graph, X, y, ()), DELTA[name], "paper", seed)[0]
                    for seed in range(repeats)
                ]
                curves.setdefault((name, metric), {})[k] = float(np.mean(got))
                rows.append(row("Figure 4", name, f"{metric}, {k}", got, repeats))
        printed = "dice" if name == "cct" else "cosine"
        at_seven = curves[name, printed][7]
        best = max(max(curves[name, metric].values()) for metric in METRICS)
        claims[
            f"Figure 4, {name}: accuracy with 7 neighbors and the {printed} distance, less the "
            "best over all graphs, in points: at least -1"
        ] = (at_seven - best, at_seven - best >= -1)
    return rows, claims, curves


def by_matrix(
    M: LinearOperator, labels: gq.Labels, y, hidden, solver: str, steps: int, restart: int
) -> float:
    """Return the accuracy of eq. (5) for a matrix M, after some products."""
    Y, Z = labels.indicators(y.size), labels.indicators(y.size)
    if solver == "gmres":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gq.ConvergenceWarning)
            Z = solve_by_gmres(M, Y, ALPHA, PAPER_TOLERANCE, steps, restart)
    else:
        for _ in range(steps):
            Z = normalize(ALPHA * (M @ Z) + (1 - ALPHA) * Y, norm="l1")
    return float(100 * (labels.classes[Z.argmax(axis=1)][hidden] == y[hidden]).mean())


def kernel(X: sparse.csr_array, kind: str) -> LinearOperator:
    """Return W_COS or W_RBF as an operator."""
    n, d = X.shape
    if kind == "cosine":
        rows = normalize(X)

        def multiply(V):
            return rows @ (rows.T @ V) / (d - 1)
    else:
        W = rbf_kernel(X, gamma=1 / d).astype(np.float32) / (d - 1)

        def multiply(V):
            return W @ V.astype(np.float32)

    return LinearOperator((n, n), multiply, multiply, multiply, float, multiply)  # symmetric


def algorithm_1(
    graph: gq.Graph, K: LinearOperator, delta: float
) -> tuple[LinearOperator, str, float]:
    """Return M of eq. (5) for a kernel, the solver by the condition (6), and alpha rho(M)."""
    M = with_kernel(graph, K, delta)
    scale = aslinearoperator(sparse.diags_array(1 / graph.degrees))
    gamma = largest_singular_value(K @ scale) if delta else 0.0
    solver = "power" if is_contraction(gamma, delta, ALPHA) else "gmres"
    return M, solver, float(ALPHA * spectral_radius(M, graph.degrees**0.5))


def kernels(names: tuple[str, ...], repeats: int) -> tuple[list[dict], dict]:
    """Return Table 5's kernel columns, beside S at its better delta."""
    rows, claims = [], {}
    for name in names:
        graph, X, y, _ = citation(name)
        S = covariance(X, np.zeros(X.shape[0]))  # the medians of these features are 0
        terms = {
            "PRSSL": (S, 0.0), "S": (S, DELTA[name]),
            "W_COS": (kernel(X, "cosine"), 1.0), "W_RBF": (kernel(X, "gaussian"), 1.0),
        }  # fmt: skip
        got: dict[str, list[float]] = {kind: [] for kind in terms}
        other: dict[str, list[float]] = {}
        how = {kind: algorithm_1(graph, *term) for kind, term in terms.items()}
        for seed in range(repeats):
            labels, hidden = draw_labels(name, y, seed)
            for kind, (M, solver, _) in how.items():
                steps = MOST_PRODUCTS if solver == "gmres" else PAPER_ITERATIONS
                got[kind].append(by_matrix(M, labels, y, hidden, solver, steps, PAPER_RESTART))
                if solver == "gmres" and kind.startswith("W"):
                    few = by_matrix(M, labels, y, hidden, solver, PAPER_ITERATIONS, PAPER_RESTART)
                    other.setdefault(f"{kind}, ten products", []).append(few)
        for kind, values in (got | other).items():
            _, solver, radius = how[kind.partition(",")[0]]
            rows.append(row("Table 5", name, kind, values, repeats))
            rows[-1] |= {"solver": solver, "alpha rho(M)": radius}
            if kind in ("W_COS", "W_RBF"):
                rows[-1]["paper"] = KERNELS[name][kind == "W_RBF"]
        for kind, printed in zip(("W_COS", "W_RBF"), KERNELS[name], strict=True):
            error = np.std(got[kind], ddof=1) * np.sqrt(1 / repeats + 1 / PAPERS_REPEATS)
            apart = float(np.mean(got[kind]) - printed)
            claims[
                f"Table 5, {name}, {kind}: difference from the printed accuracy in points: within "
                "three standard errors"
            ] = (apart, bool(abs(apart) <= 3 * error))
        others = np.array([values for kind, values in got.items() if kind != "S"])
        best = others[others.mean(axis=1).argmax()]
        lead = float(np.mean(got["S"]) - best.mean())
        p = float(stats.ttest_rel(got["S"], best, alternative="greater").pvalue)
        least = LEADS[name]
        claims[
            f"Table 5, {name}: lead of S over PRSSL and both kernels in points: at least {least}, "
            "and p < 0.05"
        ] = (f"{lead:.2f}, p = {p:.1g}", lead >= least and p < 0.05)
    return rows, claims


def products(name: str, repeats: int) -> tuple[list[dict], dict, dict]:
    """Return the accuracy after each number of products, for both solvers."""
    graph, X, y, _ = citation(name)
    M = with_kernel(graph, covariance(X, np.zeros(X.shape[0])), DELTA["pubmed"])
    steps = list(range(1, 16))
    rows, curves = [], {}
    for solver in ("power", "gmres"):
        for count in steps:
            got = []
            for seed in range(repeats):
                labels, hidden = draw_labels(name, y, seed)
                got.append(by_matrix(M, labels, y, hidden, solver, count, count))
            curves.setdefault(solver, []).append(float(np.mean(got)))
            rows.append(row("products with M", name, f"{solver}, {count}", got, repeats))
    best = max(map(max, curves.values()))
    near = {solver: next((k for k, value in zip(steps, curve, strict=True) if value >= best - 0.5),
                         np.inf)
            for solver, curve in curves.items()}  # fmt: skip
    claims = {
        f"{name}: products until the accuracy is within half a point of the best of both solvers, "
        "power iteration: fewer than GMRES": (
            " and ".join("never" if k == np.inf else str(k) for k in near.values()),
            near["power"] < near["gmres"],
        )
    }
    return rows, claims, curves


def table_3(names: tuple[str, ...]) -> tuple[list[dict], dict]:
    """Return GDPCA by the paper's recipe beside a graph convolutional network, published splits."""
    rows, claims = [], {}
    network = {}
    with SIDE_BY_SIDE.open(newline="") as file:
        for line in csv.DictReader(file):
            if (line["labels"], line["method"]) == ("published", "GCN"):
                network[line["data"]] = 100 * float(line["accuracy"])
    for name in names:
        problem, printed = citation(name), NETWORK[name]
        y, (train, test) = problem[2:]
        ours, _ = accuracy(problem, gq.Labels(train, y[train]), test, DELTA[name], "paper")
        for method, value, says in (
            ("GDPCA", ours, PRINTED[name][0]),
            ("GCN", network[name], printed),
        ):
            rows.append({
                "what": "Table 3", "data": name, "setting": method, "value": value,
                "deviation": "", "repeats": 1, "paper": says, "solver": "", "alpha rho(M)": "",
            })  # fmt: skip
        apart, said = ours - network[name], PRINTED[name][0] - printed
        claims[
            f"Table 3, {name}: points by which GDPCA exceeds the graph convolutional network, less "
            f"the printed {said:+.1f}: at most 2 either way"
        ] = (apart - said, abs(apart - said) <= 2)
    return rows, claims


def figure_3(names: tuple[str, ...], trainings: int) -> tuple[list[dict], dict]:
    """Return the seconds of trainings by each solver of the paper's recipe, and of networks."""
    rows, claims = [], {}
    for name in names:
        graph, X, y, (train, _) = citation(name)
        labels, seconds, runs = gq.Labels(train, y[train]), {}, {}
        for setting, most in (
            ("power", 1000), ("gmres", MOST_PRODUCTS), ("gmres, ten products", PAPER_ITERATIONS)
        ):  # fmt: skip
            solver = setting.partition(",")[0]
            model = gq.GDPCA(
                1.0, ALPHA, DELTA[name], recipe="paper", solver=solver, max_iter=most
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(graph, labels, X)
                start = time.perf_counter()
                for _ in range(trainings):
                    model.fit(graph, labels, X)
            seconds[setting], runs[setting] = time.perf_counter() - start, trainings
        if find_spec("torch_geometric"):
            task = Task(Problem(name, graph, X.toarray(), y, graph), labels, seed=0)
            start = time.perf_counter()
            for _ in range(few := max(1, trainings // 10)):
                with_geometric.logits.__wrapped__(task)  # trained anew each time
            seconds["GCN"], runs["GCN"] = time.perf_counter() - start, few
        seconds = {setting: 50 / runs[setting] * found for setting, found in seconds.items()}
        rows += [
            {"what": "Figure 3, seconds of 50 trainings", "data": name, "setting": setting,
             "value": value, "deviation": "", "repeats": runs[setting], "paper": "",
             "solver": "", "alpha rho(M)": ""}
            for setting, value in seconds.items()
        ]  # fmt: skip
        if "GCN" not in seconds:
            rows.append(rows[-1] | {"setting": "GCN", "value": NOT_RUN})
        ratio = seconds["gmres"] / seconds["power"]
        claim = f"Figure 3, {name}: seconds of GMRES divided by those of power iteration: below 1"
        claims[claim] = (ratio, ratio < 1)
        if "GCN" in seconds:
            share = max(seconds["power"], seconds["gmres"]) / seconds["GCN"]
            claims[f"Figure 3, {name}: seconds of GDPCA, by the slower solver, divided by those of "
                   "a graph convolutional network: below 0.5"] = (share, share < 0.5)  # fmt: skip
    return rows, claims


def picture(shown: dict, curves: dict, by_step: dict, seconds: list[dict]) -> Figure:
    figure = Figure(figsize=(14, 6.4), layout="constrained")
    top, bottom = figure.subfigures(2, 1)
    for panel, ((n, d, reading), (first, y)) in zip(
        top.subplots(1, len(shown)), shown.items(), strict=True
    ):
        for k in (0, 1):
            panel.plot(np.flatnonzero(y == k), first[y == k], ".", ms=4, label=f"cluster {k + 1}")
        panel.axhline(np.median(first), color="black", lw=0.8, label="median")
        panel.set(title=f"Figure 2: n = {n}, d = {d},\n{reading}", xlabel="node")
    top.axes[0].set_ylabel("entry of the first component,\nmean over data sets")
    top.axes[0].legend(fontsize=8)
    *panels, last = bottom.subplots(1, 4)
    for panel, name in zip(panels, ("cct", "mnist"), strict=False):
        for metric in METRICS:
            curve = curves[name, metric]
            panel.plot(list(curve), list(curve.values()), "o-", ms=4, label=metric)
        panel.set(title=f"Figure 4: {name}", xlabel="neighbors", ylabel="accuracy, %")
        panel.axvline(7, color="0.7", lw=0.8, label="7, as in the paper")
    for solver, curve in by_step.items():
        panels[2].plot(range(1, len(curve) + 1), curve, "o-", ms=4, label=solver)
    panels[2].set(
        title="Section 3.2: solvers on pubmed", xlabel="products with M", ylabel="accuracy, %"
    )
    for panel in panels:
        panel.grid(alpha=0.3)
        panel.margins(y=0.35)  # room for the legend
        panel.legend(fontsize=8, loc="upper left", ncols=2)
    for shift, method in enumerate(dict.fromkeys(row["setting"] for row in seconds)):
        bars = [row for row in seconds if row["setting"] == method and row["value"] != NOT_RUN]
        x = np.arange(len(bars))
        last.bar(x + 0.2 * (shift - 1.5), [row["value"] for row in bars], 0.2, label=method)
        last.set_xticks(x, [row["data"] for row in bars])
    last.set(title="Figure 3: 50 trainings", ylabel="seconds", yscale="log")
    last.legend(fontsize=8)
    return figure


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    repeats, sets = (2, 10) if options.quick else (10, 100)
    names = ("cora",) if options.quick else ("cora", "citeseer", "pubmed")
    rows, claims, shown = figure_2(sets)
    wide = (500, FEW_NEIGHBORS) if options.quick else (3000, NEIGHBORS)
    more, judged, curves = figure_4(repeats, *wide)
    rows, claims = rows + more, claims | judged
    more, judged = kernels((*names, "cct"), repeats)
    rows, claims = rows + more, claims | judged
    seconds, timed = figure_3(names, 5 if options.quick else 50)
    for more, judged in (table_3(names), (seconds, timed)):
        rows, claims = rows + more, claims | judged
    more, judged, by_step = products(names[-1], min(repeats, 5))
    report.picture("gdpca_figures", options.out, picture(shown, curves, by_step, seconds))
    unknown = any(row["value"] == NOT_RUN for row in seconds)
    lacks = ["the networks in Figure 3 of GDPCA"] if unknown else []
    report.write("gdpca_figures", options.out, rows + more, claims | judged, lacks=lacks)


if __name__ == "__main__":
    main()
