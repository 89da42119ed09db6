"""What ``graphuq sample`` reads, with a quick classifier in place of the sampler."""

from __future__ import annotations

from typing import Any

import graphuq as gq
from graphuq.cli.options import read_items
from graphuq.cli.program import execute, parse


def read_and_classify(options: Any) -> dict[str, Any]:
    """Return what a file holds, and what Laplace learning makes of it."""
    items = read_items(options)
    labels = items.labels()
    predicted = gq.LaplaceLearning().fit(items.to_graph(options.neighbors), labels).predict()
    return {
        "items": items.ids.size,
        "ids": items.ids.tolist(),
        "labels": len(labels),
        "classes": labels.classes.tolist(),
        "left_out": list(items.left_out),
        "columns": [column._asdict() for column in items.columns],
        "notes": list(items.notes),
        "predicted": set(predicted.tolist()),
        "accuracy": None if items.truth is None else labels.accuracy(predicted, items.truth),
    }


def take(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a command that reads a file and classifies its items."""
    found: dict[str, Any] = {}
    options = parse(["sample", *arguments])
    options.run = lambda given: found.update(read_and_classify(given)) or 0
    return execute(options), found
