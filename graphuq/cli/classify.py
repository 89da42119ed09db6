"""``graphuq classify``: a deterministic classifier on a user's file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.csv_file import write_csv
from graphuq.cli.files.table import stem
from graphuq.cli.heartbeat import begin_stage
from graphuq.cli.options import add_command, add_file, add_json, read_items
from graphuq.cli.output_file import require_output
from graphuq.cli.print_columns import format_columns
from graphuq.cli.printing import describe_counts, print_paragraph, to_json
from graphuq.utils.atomic_files import write_atomically

# The header of the tables that this command writes.
OWN = r"id,label,prediction(,confidence)?(,truth)?\r?\n"

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
        "classify the items of a file with a deterministic method",
        "Classify the items of FILE with a deterministic method, and write a table of predictions.",
        "examples:\n  graphuq classify flowers.csv --label species\n"
        "  graphuq classify edges.csv --labels known.csv --method robust --out classes.csv",
    )
    add_file(parser)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="laplace",
        help="Laplace learning (default), PageRank, robust graph classification, a Laplacian "
        "kernel, or, for two classes, the sign of the Fiedler vector",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="TABLE",
        help="table of predictions (default: the name of FILE followed by -classes.csv)",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Classify the items, write a table and print a summary."""
    import pandas as pd

    target = options.out or Path(f"{stem(options.file)}-classes.csv")
    given = None if options.truth is None else Path(options.truth)  # a column, or a table
    require_output(target, ".csv", OWN, (options.file, options.labels, given))
    begin_stage(f"reading {options.file}")
    items = read_items(options)
    labels = items.labels()
    classifier = getattr(gq, METHODS[options.method])()
    begin_stage("building the graph and classifying")
    classifier.fit(items.to_graph(options.neighbors), labels)
    prediction = classifier.predict()

    nodes = pd.DataFrame({"id": items.ids, "label": items.known, "prediction": prediction})
    if hasattr(classifier, "predict_proba"):
        nodes["confidence"] = classifier.predict_proba().max(axis=1)
    if items.truth is not None:
        nodes["truth"] = items.truth
    with write_atomically(target) as temporary:
        write_csv(nodes, temporary)

    names, counts = np.unique(prediction, return_counts=True)
    predicted = dict(zip(names.tolist(), counts.tolist(), strict=True))
    accuracy = None if items.truth is None else labels.accuracy(prediction, items.truth)
    if options.json:
        result = {
            "method": options.method,
            "items": items.ids.size,
            "labels": len(labels),
            "left_out": items.left_out,
            "columns": [column._asdict() for column in items.columns],
            "notes": items.notes,
            "predicted": predicted,
            "accuracy": accuracy,
            "table": target,
        }
        print(to_json(result))
        return 0
    print(f"{options.file}: {items.ids.size} items; {labels!r}")
    for line in format_columns(items.columns) if items.columns else ():
        print(line)
    for note in items.notes:
        print(f"  {note}")
    print(f"\n{classifier!r} predicts {describe_counts(predicted)}.")
    if accuracy is not None:
        print(f"Accuracy on unlabeled items: {accuracy:.3f}.")
    confidence = (
        ", confidence (the score of the prediction as a fraction of all scores; not a calibrated "
        "probability)"
        if "confidence" in nodes
        else ""
    )
    truth = "" if items.truth is None else ", truth"
    print_paragraph(f"Written to {target}: id, label, prediction{confidence}{truth}.")
    return 0
