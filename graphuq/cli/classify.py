"""``graphuq classify``: a deterministic classifier on one's own file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.options import add_command, add_file, add_json, read_items
from graphuq.cli.output import as_json
from graphuq.whole import require_place, written_whole

METHODS = {
    "laplace": "LaplaceLearning",
    "pagerank": "PageRankSSL",
    "robust": "RobustGC",
    "kernel": "LaplacianKernel",
    "fiedler": "FiedlerClustering",
}


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "classify",
        "classify a file's items at once, of any number of classes",
        "Classify the items of FILE by a deterministic method, and write a table of predictions.",
        "examples:\n  graphuq classify flowers.csv --label species\n"
        "  graphuq classify edges.csv --labels known.csv --method robust --out classes.csv",
    )
    add_file(parser)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="laplace",
        help="Laplace learning (default), PageRank, robust graph classification, a Laplacian "
        "kernel, or the sign of the Fiedler vector",
    )
    parser.add_argument(
        "--out", type=Path, metavar="TABLE", help="(default: the file's name and -classes.csv)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Classify, write and print."""
    import pandas as pd

    target = options.out or Path(f"{options.file.stem}-classes.csv")
    require_place(target)
    if target.exists() and any(
        given is not None and given.exists() and target.samefile(given)
        for given in (options.file, options.labels)
    ):
        raise ValueError(f"{target} is the file that is read: choose another --out")
    items = read_items(options)
    labels = items.labels()
    classifier = getattr(gq, METHODS[options.method])()
    classifier.fit(items.joined(options.neighbors), labels)
    prediction = classifier.predict()
    nodes = pd.DataFrame({"id": items.ids, "label": items.known, "prediction": prediction})
    if hasattr(classifier, "predict_proba"):
        nodes["confidence"] = classifier.predict_proba().max(axis=1)
    if items.truth is not None:
        nodes["truth"] = items.truth
    with written_whole(target) as temporary:
        nodes.to_csv(temporary, index=False)
    names, counts = np.unique(prediction, return_counts=True)
    result = {
        "method": options.method,
        "items": items.ids.size,
        "labels": len(labels),
        "left_out": items.left_out,
        "notes": items.notes,
        "predicted": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "accuracy": None if items.truth is None else labels.accuracy(prediction, items.truth),
        "table": target,
    }
    if options.json:
        print(as_json(result))
        return 0
    print(f"{options.file}: {items.ids.size} items; {labels!r}")
    for note in items.notes:
        print(f"  {note}")
    shown = ", ".join(f"{count} x {name}" for name, count in result["predicted"].items())
    print(f"\n{classifier!r} predicts {shown}.")
    if items.truth is not None:
        print(f"Accuracy on unlabelled items: {result['accuracy']:.3f}.")
    print(
        f"Written to {target}: id, label, prediction"
        + (", confidence (the prediction's share of the scores, no probability that was checked)."
           if "confidence" in nodes else ".")
    )  # fmt: skip
    return 0
