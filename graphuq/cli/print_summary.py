"""What ``graphuq sample`` read and what it wrote, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphuq.cli.print_columns import format_columns
from graphuq.cli.printing import describe_counts, print_paragraph
from graphuq.cli.result_folder import (
    DRAWS,
    GROUPS,
    NODES,
    PROBLEM,
    REPORT,
    RUN,
    SUSPECTS,
    UNCERTAIN,
)
from graphuq.cli.run_summary import count_classes
from graphuq.cli.sample_steps import Data, Source
from graphuq.utils.words import count


def print_input(source: Source, data: Data, n_edges: int) -> None:
    """Print what was read, and how."""
    print("INPUT")
    labels = count_classes(data.labels.values, data.labels)
    print_paragraph(
        f"{source.file}: {count(data.items.ids.size, 'item')}, {sum(labels.values())} labeled: "
        f"{describe_counts(labels)}."
    )
    for line in format_columns(data.items.columns) if data.items.columns else ():
        print(line)
    for note in data.items.notes:
        print_paragraph(f"- {note}", "  ", hanging="    ")
    made = (
        "as given"
        if source.neighbors is None
        else f"which connect each item to its {count(source.neighbors, 'nearest neighbor')}"
    )
    print_paragraph(f"Graph: {count(n_edges, 'edge')}, {made}.")


def print_files(folder: Path, seconds: float, classes: Sequence[str], *, with_groups: bool) -> None:
    """Print which files were written, and what they hold."""
    print(f"\nWRITTEN to {folder}/ in {seconds:.0f} s")
    columns = (
        f"label, prediction, confidence, probability of {classes[1]!r}, variance, mcse, rank (0 is "
        "the most uncertain item), and the parts of its entropy: total, aleatoric, epistemic"
        if len(classes) == 2
        else "label, prediction, confidence, runner_up, entropy, margin between prediction and "
        "runner-up, probability of each class, variance, mcse, rank (0 is the most uncertain "
        "item), and the parts of the entropy: total, aleatoric, epistemic"
    )
    for name, contents in (
        (NODES, f"one row per item, in the order of the file: {columns}"),
        (UNCERTAIN, "the items without a label, the most uncertain first"),
        (SUSPECTS, "the given labels, most doubtful first, and whether each is suspect"),
        *([(GROUPS, "the shares of the classes in each group")] if with_groups else []),
        (REPORT, "all of this with plots, for a browser"),
        (DRAWS, "all draws, for gq.load, arviz and graphuq report"),
        (PROBLEM, "the graph and the features, for graphuq suggest, update and predict"),
        (RUN, "settings, versions and seed, to reproduce the run"),
    ):
        print_paragraph(f"{name:<13}  {contents}", "  ", hanging=" " * 17)
