"""The data sets and the labels that all methods are given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import graphuq as gq
from benchmarks.trust.peers.public_sets import PUBLIC
from benchmarks.trust.peers.task import Problem, Task
from graphuq.datasets.networks import matrix

ITEMS, IMAGES = 1500, 10_000  # drawn at random from larger sets
NEIGHBORS, WORD_NEIGHBORS = 20, 10
COMPONENTS = 50
SHARE = 0.04
# With more labels than this share of the items, little is left to predict.
MOST = 0.45


def table(name: str) -> Problem:
    """Return a table with columns of deviation 1."""
    return _of_table(name, *(gq.datasets.vote() if name == "vote" else gq.datasets.uci(name)))


def public(name: str) -> Problem:
    X, y = PUBLIC[name]()
    return _of_table(name, *_some(X, y, ITEMS))


def usps() -> Problem:
    X, y = gq.datasets.usps()
    return _of_features("usps", *_some(X / 255, y, ITEMS))


def mnist() -> Problem:
    X, y = gq.datasets.mnist()
    return _of_features("mnist", *_some(X / 255, y, IMAGES))


def jasper_ridge() -> Problem:
    X, y, *_ = gq.datasets.jasper_ridge()
    return _of_features("jasper_ridge", *_some(X, y, ITEMS))


def reuters() -> Problem:
    arrays = gq.datasets.load_file("reuters_r8")
    return _of_features(
        "reuters_r8", *_some(_directions(matrix(arrays, "feat")), arrays["y"], ITEMS)
    )


def cells() -> Problem:
    """Return blood cells: the principal components of their genes, and ten kinds of cells."""
    import scanpy  # brings the file with it

    found = scanpy.datasets.pbmc68k_reduced()
    X = np.asarray(found.obsm["X_pca"][:, :COMPONENTS], dtype=np.float64)
    return _of_features("pbmc68k_reduced", X, found.obs["bulk_labels"].to_numpy(str))


def polblogs() -> Problem:
    graph, y = gq.datasets.polblogs()
    return Problem("polblogs", graph, None, y, graph)


def cct() -> Problem:
    graph, words, y, _ = gq.datasets.cct()
    return Problem("cct", graph, gq.pca(_directions(words), COMPONENTS), y, graph, True)


def network(name: str) -> tuple[Problem, dict[str, np.ndarray]]:
    """Return papers that cite each other, and the published split.

    Links leave the network in parts. The graph also joins each paper to the ten whose words are
    nearest.
    """
    network = gq.datasets.planetoid(name)
    X = _directions(network.X)
    words = gq.knn_graph(X, n_neighbors=WORD_NEIGHBORS, connect=True)
    graph = gq.union(network.graph, words)
    return Problem(name, graph, X, network.y, network.graph, True), network.splits


def _of_table(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    spread = X.std(axis=0)
    return _of_features(name, (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0], y)


def _of_features(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    X = gq.pca(X, COMPONENTS) if X.shape[1] > COMPONENTS else X
    graph = gq.knn_graph(X, n_neighbors=NEIGHBORS, connect=True)
    return Problem(name, graph, X, np.unique(y, return_inverse=True)[1], graph)


def _some(X: np.ndarray, y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    kept = np.random.default_rng(0).permutation(len(y))[:count]
    return X[kept], y[kept]


def _directions(words: object) -> np.ndarray:
    """Return rows of length 1, so that distances depend on the shares of words."""
    X = words.toarray().astype(np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


SETS: dict[str, Callable[[], Problem]] = {
    **{name: lambda name=name: table(name)
       for name in ("vote", "iris", "wine", "glass", "ecoli", "ionosphere", "pima")},
    "cct": cct,
    "polblogs": polblogs,
    "usps": usps,
    "jasper_ridge": jasper_ridge,
    "reuters_r8": reuters,
    "pbmc68k_reduced": cells,
}  # fmt: skip
PUBLIC_SETS = {name: lambda name=name: public(name) for name in PUBLIC}
NETWORKS = ("cora", "citeseer", "pubmed")
COUNTS, FEW = (5, 20, 80), (1, 5)


def tasks(name: str, draw: int) -> dict[str, tuple[Task, np.ndarray]]:
    """Return the tasks on a set in one draw of labels, with the nodes to score, by their labels.

    Published splits are drawn once.
    """
    if name in NETWORKS:
        problem, splits = network(name)
        train = splits["train"]
        labels = gq.Labels(train, problem.y[train], np.arange(problem.n_classes))
        return {"published": (Task(problem, labels, draw), splits["test"])} if draw == 0 else {}
    problem = mnist() if name == "mnist" else {**SETS, **PUBLIC_SETS}[name]()
    counts = FEW if name == "mnist" else COUNTS
    found = {f"{count} a class": some_of_each(problem, count, draw) for count in counts}
    if name != "mnist":
        found[f"random {SHARE:.0%}"] = at_random(problem, draw)
    made = {key: Task(problem, labels, draw) for key, labels in found.items() if labels is not None}
    return {key: (task, hidden(task)) for key, task in made.items()}


def some_of_each(problem: Problem, count: int, seed: int) -> gq.Labels | None:
    """Return ``count`` labels of each class, of a small class half; None if too few are left."""
    sizes = np.bincount(problem.y)
    counts = np.maximum(1, np.minimum(count, sizes // 2))
    if counts.sum() > MOST * sizes.sum() or counts.max() < count:
        return None
    return gq.reveal(problem.y, counts=dict(enumerate(counts.tolist())), seed=seed)


def at_random(problem: Problem, seed: int) -> gq.Labels:
    """Return labels of a share of the items, whatever their class; each class has one or more.

    Classes then have their shares among the labels.
    """
    y, rng = problem.y, np.random.default_rng(seed)
    order = rng.permutation(len(y))
    drawn = order[: round(SHARE * len(y))]
    missing = [order[y[order] == k][:1] for k in np.setdiff1d(np.arange(y.max() + 1), y[drawn])]
    nodes = np.sort(np.concatenate([drawn, *missing]))
    return gq.Labels(nodes, y[nodes])


def hidden(task: Task) -> np.ndarray:
    """Return the nodes to score: all that are not labeled."""
    return np.setdiff1d(np.arange(len(task.problem.y)), task.labels.nodes)
