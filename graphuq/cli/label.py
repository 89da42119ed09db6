"""``graphuq label``: a page in the browser that asks for labels, and learns from them."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import graphuq as gq
from graphuq.cli.files import Items
from graphuq.cli.files.options import ALL
from graphuq.cli.files.table import stem
from graphuq.cli.heartbeat import begin_stage
from graphuq.cli.options import (
    add_command,
    add_file,
    add_option,
    add_sampling,
    add_seed,
    read_items,
)
from graphuq.cli.printing import print_paragraph
from graphuq.cli.result_folder import NODES, REPORT, require_result_folder
from graphuq.cli.sample_steps import Data, choose_model, pixels_of, source_of
from graphuq.cli.shown_items import show_items
from graphuq.cli.write_result import sample_and_write
from graphuq.labeling.answers import require_unlocked
from graphuq.labeling.arguments import one_line, share
from graphuq.labeling.label import LabelingPage, require_packages
from graphuq.labeling.page.guidelines import Guidelines
from graphuq.labeling.session import LabelingSession
from graphuq.utils.atomic_files import require_destination
from graphuq.utils.words import count

DESCRIPTION = """\
Serve a page on this machine, and open it in the browser. It shows one item at a time, the most
informative one, and learns as you answer. Each answer is on the disk before the next
question. The same command goes on where it ended."""

EPILOG = """\
examples:
  graphuq label mail.csv --text body --classes ham spam
  graphuq label scans.npz --images --ignore y --classes 0 1 2 3 4 5 6 7 8 9
  graphuq label birds.csv --images photo --classes tit finch
  graphuq label photos --classes cat dog --question "Which animal is this?"
  graphuq sample mail.csv --text body --labels labels.csv
                 (what the button Finish does)

Only this machine can reach the page, and only with the token in the address that is printed. From
another machine, use a tunnel: ssh -L 8765:localhost:8765 HOST."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "label", "FILE", "label in the browser", DESCRIPTION, EPILOG)
    add_file(parser, without=("groups",))
    group = parser.add_argument_group("labeling")
    add = partial(add_option, group)
    add(
        "--classes",
        dest="named",
        nargs="+",
        default=[],
        metavar="CLASS",
        help="the classes (default: those of the labels; the page can add more)",
    )
    add(
        "--images",
        nargs="?",
        const=ALL,
        metavar="COLUMN",
        help="show pictures: X in the .npz file, or the files that a column of the table names",
    )
    add(
        "--out",
        type=Path,
        default=Path("labels.csv"),
        metavar="TABLE",
        help="table of the answers, for --labels of other commands (default: labels.csv)",
    )
    add(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="folder that Finish writes (default: the name of FILE followed by -graphuq)",
    )
    add("--who", metavar="NAME", help="who labels (default: the user of this machine)")
    add("--question", metavar="TEXT", default="", help="what the page asks of each item")
    add(
        "--guidelines",
        type=Path,
        metavar="FILE",
        help="guidelines for those who label, shown on the page: Markdown with pictures",
    )
    for name, meaning in (
        ("--goal", "accuracy at which the page says that the labels suffice"),
        ("--risk", "accepted probability that the goal is not reached"),
    ):
        add(name, type=float, metavar="P", help=f"{meaning} (default: as in the last session)")
    add("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    add("--port", type=int, metavar="N", help="port (default: 8765, or a free one)")
    add("--no-browser", action="store_true", help="do not open the browser")
    add_sampling(group)
    add_seed(group)
    parser.set_defaults(run=run, json=False)


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    require_packages()
    from graphuq.labeling.page.server import require_port

    require_port(options.host, options.port)
    folder = options.results or Path(f"{stem(options.file)}-graphuq")
    require_result_folder(folder, options.file)
    require_destination(options.out)
    require_unlocked(options.out)
    if options.who is not None:
        one_line("--who", options.who)
    for name in ("goal", "risk"):
        if (value := getattr(options, name)) is not None:
            share(f"--{name}", value)
    guidelines = None if options.guidelines is None else Guidelines(options.guidelines)
    question = one_line("--question", options.question) if options.question else ""
    if options.text and options.images is not None:
        raise ValueError("--text and --images both say what is shown: leave out one of them")
    items = _read(options)
    begin_stage("building the graph")
    graph = items.to_graph(options.neighbors)
    shown = show_items(options, items, graph)
    begin_stage("computing the modes of the graph")
    session = LabelingSession(
        graph,
        options.out,
        classes=options.classes,
        names=items.ids,
        features=items.features,
        linked=items.linked,
        labels=_known(items, options.classes),
        goal=options.goal,
        risk=options.risk,
        seed=options.seed,
    )
    begin_stage("", has_bar=True)  # the page says what is being done

    def finish() -> str:
        data = _data(options, items, session)
        model = choose_model(graph, session.prior, gq.Probit(), data.labels)
        source = source_of(options, items)
        sample_and_write(options, source, data, model, folder, time.perf_counter())
        begin_stage("", has_bar=True)
        return f"Written to {folder.absolute()}: open {REPORT} in a browser; {NODES} has each item."

    n_answers = session.progress().n_answers
    already = f", which has {count(n_answers, 'answer')} already" if n_answers else ""
    page = LabelingPage(
        session,
        shown,
        title=options.file.absolute().name,
        who=options.who,
        question=question,
        guidelines=guidelines,
        host=options.host,
        port=options.port,
        finish=finish,
        report=folder / REPORT,
    )
    print_paragraph(
        f"Labeling {count(len(items.ids), 'item')} of {options.file}. Open this address in a "
        "browser on this machine:"
    )
    print(f"\n  {page.address}\n", flush=True)
    print_paragraph(
        f"Answers are kept in {options.out}{already}. Ctrl-C ends the page, and the same command "
        "goes on."
    )
    sys.stdout.flush()
    if not options.no_browser and not page.open():
        print("There is no browser that can be opened here.", flush=True)
    try:
        page.wait()
    except KeyboardInterrupt:
        _say_goodbye(options, page)
    return 0


def _read(options: argparse.Namespace) -> Items:
    """Read the file; a column of pictures is no feature."""
    begin_stage(f"reading {options.file}")
    options.classes = [*options.named, *options.classes]
    if options.images not in (None, ALL):
        options.ignore = [*options.ignore, options.images]
    items = read_items(options, needs_labels=False)
    if all(label is not None for label in items.known):
        raise ValueError(
            f"{items.path}: all items have labels already, and there is nothing to ask: if these "
            "are true classes, exclude them, as with --ignore label"
        )
    return items


def _known(items: Items, classes: list[str]) -> gq.Labels | None:
    """Return the labels of the file, or None if there are none."""
    known = {str(label) for label in items.known if label is not None}
    if not known:
        return None
    if len(known | {*classes}) < 2:
        raise ValueError(
            f"{items.path}: all labels are {next(iter(known))!r}: name the other classes with "
            "--classes"
        )
    nodes = np.flatnonzero([label is not None for label in items.known])
    return gq.Labels(nodes, items.known[nodes].astype(str), sorted(known | {*classes}))


def _data(options: argparse.Namespace, items: Items, session: LabelingSession) -> Data:
    """Return the items with the labels of the session."""
    labels = session.labels()
    known = np.full(items.ids.size, None, dtype=object)
    known[labels.nodes] = labels.values
    notes = items.notes  # they count the labels of the file alone
    added = sum(items.known[node] is None for node in labels.nodes)
    if added:
        notes = (*notes, f"added {count(added, 'label')} from {options.out}")
    items = replace(items, known=known, notes=notes)
    drawn = session.drawn
    unlabeled = np.setdiff1d(np.arange(items.ids.size), [*labels.nodes.tolist(), *drawn])
    hidden = unlabeled.size + len(drawn)
    truth = items.truth.astype(str) if items.truth is not None and hidden else None
    images = pixels_of(items) if options.images == ALL or items.images is not None else None
    return Data(items, labels, unlabeled, truth, images, None, session.random_sample(), drawn)


def _say_goodbye(options: argparse.Namespace, page: LabelingPage) -> None:
    print()
    answers = page.session.progress().n_answers
    print_paragraph(f"{count(answers, 'answer')} in {options.out}. To go on:")
    print(f"\n  {shlex.join(['graphuq', *options.arguments])}\n")
    if page.finishing:
        print_paragraph("Sampling was interrupted: no results were written. To sample, go on.")
