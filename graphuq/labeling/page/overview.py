"""What the views show of all items: a map, suspects, the confusion, a history, a curve, a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.labeling.page.desk import Desk
from graphuq.utils.csv_file import to_csv

# Points of the curve, and rows of the history, at most.
MAX_POINTS, MAX_ROWS = 300, 50


def positions(desk: Desk) -> bytes:
    """Return the place of each item on the map as pairs of single-precision numbers from 0 to 1."""
    places = desk.session.embedding()
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    return ((places - low) / np.where(span > 0, span, 1)).astype("<f4").tobytes()


def colors(desk: Desk) -> bytes:
    """Return the likeliest class and the epistemic part of each item.

    First N numbers of 16 bits, the index of the class or -1; then N bytes, the epistemic part in
    255ths of the largest; then N bytes, 1 where an item is labeled.
    """
    n, found = len(desk.names), desk.session.states()
    if found is None:
        return np.full(n, -1, dtype="<i2").tobytes() + bytes(2 * n)
    classes, epistemic, labeled = found
    share = np.clip(epistemic / (epistemic.max() or 1.0), 0, 1)
    return (
        classes.astype("<i2").tobytes()
        + np.round(255 * share).astype(np.uint8).tobytes()
        + labeled.astype(np.uint8).tobytes()
    )


def suspects(desk: Desk) -> dict[str, Any]:
    """Return the most doubtful labels, and those on which people do not agree."""
    return {
        "suspects": [
            {
                "node": found.node,
                "name": desk.names[found.node],
                "label": found.label,
                "likelier": found.likelier,
                "mistake": found.probability_mistake,
                "suspect": found.suspect,
            }
            for found in desk.session.suspects()
        ]
    }


def confusion(desk: Desk) -> dict[str, Any]:
    """Return how many items of each class are expected to be predicted as each."""
    found = desk.session.confusion()
    return {
        "classes": desk.session.classes,
        "expected": None if found is None else found.round(2).tolist(),
    }


def history(desk: Desk) -> dict[str, Any]:
    """Return the latest answers."""
    return {
        "answers": [
            {
                "node": row.node,
                "name": desk.names[row.node],
                "label": row.label or None,
                "confidence": row.confidence,
                "who": row.who,
                "when": row.when,
            }
            for row in desk.session.history(k=MAX_ROWS)
        ]
    }


def curve(desk: Desk) -> dict[str, Any]:
    """Return decided items and expected accuracy over answers, thinned to some hundred points."""
    points = desk.session.curve()
    step = -(-len(points) // MAX_POINTS) or 1
    return {"curve": [*points[:-1:step], *points[-1:]]}


def table(desk: Desk) -> bytes:
    """Return a CSV file with one row for each item: its label, and what is predicted."""
    return to_csv(desk.session.table()).encode()
