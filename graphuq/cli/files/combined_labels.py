"""Labels by several annotators, of which each item gets one label with a confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graphuq.cli.files.class_column import ClassColumn, read_class_column
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.problems import Problems
from graphuq.labels.labels import Labels
from graphuq.utils.words import count


def combine_labels(
    source: str,
    values: Any,
    nodes: Sequence[int],
    annotators: Sequence[Any],
    n: int,
    options: ReadOptions,
    problems: Problems,
) -> ClassColumn:
    """Return the label of each item by its annotators, and its confidence.

    Parameters
    ----------
    source : str
        Where the labels come from, for messages.
    values, nodes, annotators : array_like, of the same length
        Labels, the items that they were given to, and who gave them.
    n : int
        Number of all items.
    options : ReadOptions
    problems : Problems
        Collects values that may be classes or marks of unknown labels.
    """
    classes, notes = read_class_column(values, source, options, problems)
    given = pd.DataFrame({"node": nodes, "who": annotators, "class": classes}).dropna()
    names, trust = np.full(n, None, dtype=object), np.ones(n)
    if given.empty or problems.found:
        return ClassColumn(names, notes)
    said = given.pivot(index="node", columns="who", values="class").astype(object)
    try:
        labels = Labels.from_annotators(said.where(said.notna(), None))
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    at = said.index.to_numpy()[labels.nodes]
    names[at] = labels.values
    if labels.confidence is not None:
        trust[at] = labels.confidence
    notes += (
        f"{source}: {count(len(given), 'label')} of {count(said.shape[1], 'annotator')} make "
        f"{count(len(at), 'label')}, with confidences from how far the annotators agree",
    )
    if left := len(said) - len(at):
        notes += (f"{source}: {count(left, 'item')} without a label, whose classes are a tie",)
    return ClassColumn(names, notes, trust)
