"""``graphuq predict``: the classes of new items, from a saved result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.classifiers.new_rows import classify_new_rows
from graphuq.cli.files.links import Ids, notes_on_links, weights_between
from graphuq.cli.files.problems import MAX_NAMED
from graphuq.cli.files.read import read_links
from graphuq.cli.files.read_new import NewItems, read_new
from graphuq.cli.options import add_command, add_json, add_read_option, read_options
from graphuq.cli.output_file import require_output
from graphuq.cli.printing import describe_counts, print_paragraph, to_json
from graphuq.cli.result import read_run
from graphuq.graphs.neighbors import Neighbors
from graphuq.posterior.assessment.class_shares import reweight
from graphuq.posterior.new_items import new_probability
from graphuq.posterior.predictions import SURE, most_probable
from graphuq.utils.atomic_files import write_atomically
from graphuq.utils.csv_file import write_csv
from graphuq.utils.words import choose_form, count, list_names

# The header of the tables that this command writes.
OWN = 'id,prediction,confidence,"?probability_'

# What is said of new items for which no file of links is given.
NO_LINKS = "new items have no links, of which the graph says nothing: --links FILE names some"

DESCRIPTION = """\
Predict the classes of new items, which are connected to the graph of a result by the same rule, or
by the links of a file if those of the result were given. The file has the columns of features that
the first file had. Items far from all others get about equal probabilities for all classes, or,
where the prior has a level above 0, those that the level implies. Nothing is sampled, and the
result stays as it is."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "predict",
        "RESULT NEW",
        "predict the classes of new items",
        DESCRIPTION,
        "examples:\n  graphuq predict flowers-graphuq new.csv\n"
        "  graphuq predict digits-graphuq more.npz --out classes.csv",
    )
    parser.add_argument(
        "result", type=Path, metavar="RESULT", help="folder that graphuq sample wrote"
    )
    parser.add_argument("new", type=Path, metavar="NEW", help="file of new items")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="TABLE",
        help="table of predictions (default: the name of NEW followed by -predictions.csv)",
    )
    parser.add_argument(
        "--fill-missing",
        action="store_true",
        help="replace missing values by the means of the first items, as "
        "is done where graphuq sample did",
    )
    parser.add_argument(
        "--links",
        type=Path,
        metavar="FILE",
        help="links between new items and those of the result, if that was made with --links",
    )
    for name in ("weight", "decimal", "ignore", "encoding"):
        add_read_option(parser, name)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the new items, write a table of predictions and print a summary."""
    target = options.out or Path(f"{options.new.name.partition('.')[0]}-predictions.csv")
    require_output(target, ".csv", OWN, (options.new,))
    result, problem = read_run(options.result)
    if problem.features is None or problem.encoding is None:
        raise ValueError(
            f"{options.result} was made from a graph, and new items need features: add them to "
            "the graph, and run graphuq sample again"
        )
    new = read_new(
        options.new, problem.encoding, options.fill_missing, options.encoding, options.decimal
    )
    n_neighbors, notes = result.run["neighbors"], list(new.notes)
    if n_neighbors is None:
        weights, more = _read_links(options, result.ids, new.ids)
        notes += more
        by_class = new_probability(
            result.posterior, problem.prior, problem.graph.degrees, weights, new.features
        )
    elif options.links is not None:
        raise ValueError(
            f"{options.result} has a graph of neighbors in features, to which new items are joined "
            "by theirs: leave out --links"
        )
    else:
        neighbors = Neighbors(problem.features, n_neighbors, "self-tuning")
        by_class = classify_new_rows(
            result.posterior, problem.prior, problem.graph, neighbors, new.features
        )
    if result.shares is not None:  # each class has the weight that it has for the first items
        by_class = reweight(by_class, result.predictions.class_weights)
    table = _tabulate(result.posterior.labels.classes, new, by_class)
    with write_atomically(target) as temporary:
        write_csv(table, temporary)
    names, counts = np.unique(table["prediction"], return_counts=True)
    predicted = dict(zip(names.tolist(), counts.tolist(), strict=True))
    unsure = int((table["confidence"] < SURE).sum())
    if options.json:
        print(
            to_json(
                {
                    "items": len(table),
                    "notes": notes,
                    "predicted": predicted,
                    "unsure": unsure,
                    "table": target,
                }
            )
        )
        return 0
    for note in notes:
        print_paragraph(note)
    print_paragraph(
        f"{count(len(table), 'new item')}: {describe_counts(predicted)}. {unsure} "
        f"{choose_form(unsure, 'is', 'are')} unsure (confidence below {SURE:.0%}): between "
        "classes, or far from all items of the result."
    )
    print_paragraph(f"Written to {target}: {', '.join(table.columns)}.")
    return 0


def _read_links(options: argparse.Namespace, ids: Ids, new: Ids) -> tuple[Any, list[str]]:
    """Return the weights of links from new items to those of the result, and notes on them."""
    if options.links is None:
        return sparse.csr_array((new.size, ids.size)), [NO_LINKS]
    if both := sorted({*new.tolist()} & {*ids.tolist()}):
        raise ValueError(
            f"{options.new} and the result both have {count(len(both), 'item')} called "
            f"{list_names(both, MAX_NAMED)}, so that --links does not say which is linked: give "
            "new items names of their own"
        )
    links = read_links(options.links, read_options(options))
    weights = weights_between(links, new, ids, options.links)
    if weights.nnz == 0:
        raise ValueError(
            f"{options.links} links no new item to an item of the result: its nodes are "
            f"{list_names(links.ids.tolist(), MAX_NAMED)}, and the new items are "
            f"{list_names(new.tolist(), MAX_NAMED)}: use the same names"
        )
    notes = notes_on_links(links, np.concatenate([ids, new]), options.links)
    if among := weights_between(links, new, new, options.links).nnz // 2:
        notes.append(f"left out {count(among, 'link')} between new items")
    alone = int((weights.sum(axis=1) == 0).sum())
    if alone:
        notes.append(f"{count(alone, 'new item')} without a link to an item of the result")
    return weights, notes


def _tabulate(classes: Any, new: NewItems, by_class: Any) -> Any:
    """Return one row per item: its prediction and the probability of each class."""
    import pandas as pd

    columns = {
        "id": new.ids,
        "prediction": classes[most_probable(by_class)],
        "confidence": by_class.max(axis=1),
    }
    columns |= {f"probability_{name}": by_class[:, k] for k, name in enumerate(classes)}
    return pd.DataFrame(columns)
