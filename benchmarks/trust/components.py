"""Cora and Citeseer whole, with all their components, on the split of Planetoid.

GRAPHUQ_DATA=... python -m benchmarks.trust.components [--quick]

Most of the 78 and 438 components have no label. "Graph" is the graph in place of a prior, which has
a level of each component. "Graph and words" adds a prior on 50 principal components of the words,
and has no levels of components: words reach every node. Posteriors are those of gq.approximate, and
the labels choose all parameters; the 500 nodes for validation are not used.

Published accuracies on the same 1000 test nodes are those of Kipf and Welling, Semi-supervised
classification with graph convolutional networks, ICLR 2017, Table 2. Label propagation uses the
graph alone, as "Graph" does; Planetoid and the convolutional network (GCN) use words, and stop or
choose their settings by the nodes for validation.

Takes about a minute.
"""

from __future__ import annotations

import warnings

import numpy as np

import graphuq as gq
from benchmarks.common import report

PUBLISHED = {  # label propagation, Planetoid, GCN
    "cora": (68.0, 75.7, 81.5),
    "citeseer": (45.3, 64.7, 70.3),
}
WORDS = 50  # principal components
RANK = 300


def features(X: np.ndarray) -> np.ndarray:
    """Return principal components of the roots of word frequencies."""
    frequencies = X / np.maximum(X.sum(axis=1, keepdims=True), 1)
    return gq.pca(np.sqrt(frequencies), WORDS)


def priors(network: gq.datasets.FeaturedNetwork) -> dict[str, object]:
    spectrum = gq.Spectrum.of(network.graph, RANK)
    modes = gq.Prior.projected(spectrum, RANK, alpha="auto", tau="auto")
    words = gq.FeaturePrior(features(network.X.toarray()))
    return {"graph": spectrum, "graph and words": gq.SumPrior.of([modes, words, gq.Level()])}


def score(post: gq.Posterior, network: gq.datasets.FeaturedNetwork) -> dict:
    test, component = network.splits["test"], network.graph.component
    y, p = network.y[test], post.by_class[test]
    place = np.searchsorted(post.labels.classes, y)
    right = post.prediction[test] == y
    bare = ~np.isin(component, component[post.labels.nodes])
    # where nodes have modes their variance differs, and the base rate of a class with it
    variance = post.prior.variance()
    levels_alone = bare & (variance <= variance[bare].min() * (1 + 1e-9))
    rates = post.by_class[levels_alone]
    deviation = abs(rates - rates.mean(axis=0)).max()
    return {
        "test nodes": test.size, "accuracy": 100 * right.mean(),
        "log score": -np.log(p[np.arange(test.size), place]).mean(),
        "ECE": gq.expected_calibration_error(p, y, post.labels.classes),
        "test nodes in components without labels": int(bare[test].sum()),
        "accuracy there": 100 * right[bare[test]].mean(),
        "confidence there": 100 * p[bare[test]].max(axis=1).mean(),
        "nodes there with a level alone": int(levels_alone.sum()),
        "their largest deviation from one base rate": deviation,
    }  # fmt: skip


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    rows, claims = [], {}
    for name in ("cora",) if options.quick else PUBLISHED:
        network = gq.datasets.planetoid(name)
        train = network.splits["train"]
        labels = gq.Labels(train, network.y[train])
        propagation, planetoid, convolution = PUBLISHED[name]
        found = {}
        for which, prior in priors(network).items():
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=r".* components ha(s|ve) no label")
                post = gq.approximate(prior, gq.Probit(), labels)
            found[which] = score(post, network)
            rows.append({
                "data": name, "components": network.graph.n_components, "prior": which,
                **found[which], "label propagation, published": propagation,
                "Planetoid, published": planetoid, "GCN, published": convolution,
            })  # fmt: skip
        alone = found["graph"]
        claims[f"{name}: accuracy of the graph alone, at least label propagation's"] = (
            alone["accuracy"], bool(alone["accuracy"] >= propagation), propagation)  # fmt: skip
        deviation = alone["their largest deviation from one base rate"]
        claims[f"{name}: levels alone give components without labels one base rate, to 1e-6"] = (
            deviation, bool(deviation < 1e-6))  # fmt: skip
    report.write("components", options.out, rows, claims)


if __name__ == "__main__":
    main()
