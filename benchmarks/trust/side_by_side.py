"""Accuracy, probabilities and prediction sets beside those of other packages.

GRAPHUQ_DATA=... python -m benchmarks.trust.side_by_side
    [--quick] [--draws 3] [--only SET] [--jobs 2] [--resume]

Every method gets the same graph, the same features and the same labels, and may choose its settings
by these labels alone. Labels are drawn anew for each draw: 5, 20 and 80 of each class, of small
classes half; and 4% of all items whatever their class, with one of each class at least. A number of
labels is left out where it is 45% of the items or no class has it. Cora, Citeseer and Pubmed have
their published splits. MNIST has 10,000 images, and USPS, Jasper Ridge and Reuters 1,500 items.
Columns of tables have deviation 1, and rows of word counts length 1; the features are at most 50
principal components of these, except in the published splits. Graphs have 20 neighbors. Citations
leave papers apart, so that the ten papers with the nearest words are linked, too, except for the
GCN and DAPS, which take citations alone. Networks are not trained on Titanic, where many rows are
equal and the graph has 460,000 edges.

graphuq is its default: the graph, the features and a level, with parameters chosen by the labels,
and the instant posterior of gq.approximate. For CCT and the citations, whose links are known beside
features, that is gq.default_prior on these links. "graph + level" and "features + level" are parts.
Peers come with `pip install graphuq[peers]`, which needs a C++ compiler; those that do not start
are reported absent. torchcp also needs torchsort, which builds only beside an installed torch.
Sets of peers/public_sets.py come with `pip install --no-deps aeon orange3 river`. The methods are
in peers/, one file per package; this file compares them.

"ECE" is gq.expected_calibration_error, with ten bins on [1/K, 1]; the others have equal bins on
[0, 1]. Coverage and size are those of 90% prediction sets: split conformal sets, with half of the
labels held out, for "graphuq, conformal" and DAPS, and else the likeliest classes whose
probabilities add up to 0.9. Figures are means over draws; the best of each row is bold, with the
parts and the set sizes left out. Takes about an hour on two cores. Each draw is kept in
OUT/side_by_side/ when it is done, and --resume takes it from there, also what was absent.
OUT/side_by_side.csv has the mean scores of each cell; docs/numbers has a copy, which pages quote.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.common import report
from benchmarks.trust.peers import FEATURES, GRAPH, METHODS, OURS, PARTS
from benchmarks.trust.peers.data_sets import NETWORKS, PUBLIC_SETS, SETS, tasks
from benchmarks.trust.peers.scores import BEST, score
from benchmarks.trust.peers.task import SkippedError
from graphuq.utils.atomic_files import write_atomically

QUICK = ("iris",)
QUICK_LABELS = ("5 a class", "random 4%")
MEASURE = "log score"
LEAST = 0.8  # share of cells to be better in
LINEAR, LEAST_ACCURATE = "logistic regression", 0.6  # the same, by accuracy
NONE = "-"

Cells = dict[tuple[str, str], dict[str, list[dict]]]


def kept(name: str, draw: int, quick: bool, folder: Path, resume: bool) -> list[dict]:
    """Return the records of one draw, which a file of ``folder`` keeps for a run that resumes."""
    file = folder / f"{name}-{draw}.json"
    if resume and file.exists():
        return json.loads(file.read_text())
    records = one_draw(name, draw, quick)
    with write_atomically(file) as temporary:
        Path(temporary).write_text(json.dumps(records, indent=1))
    return records


def one_draw(name: str, draw: int, quick: bool) -> list[dict]:
    """Return a record of each method on each task of a set in one draw of labels."""
    try:
        found_tasks = tasks(name, draw)
    except ImportError as error:  # of the package that brings the set
        return [{"data": name, "draw": draw, "why": "absent", "error": str(error).splitlines()[0]}]
    records = []
    for labeled, (task, nodes) in found_tasks.items():
        if quick and labeled not in QUICK_LABELS:
            continue
        for method, answer in METHODS.items():
            begun = time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # peers stop early and announce changes
                    found = score(answer(task), task, nodes)
            except SkippedError as reason:
                found = {"why": str(reason)}
            except ImportError as error:
                found = {"why": "absent", "error": str(error).splitlines()[0]}
            except Exception as error:
                if method in (OURS, *PARTS):
                    raise
                found = {"why": "failed", "error": f"{type(error).__name__}: {error}"[:200]}
            seconds = round(time.perf_counter() - begun, 2)
            records.append({
                "data": name, "labels": labeled, "given": len(task.labels), "draw": draw,
                "method": method, **found, "seconds": seconds,
            })  # fmt: skip
        print(f"{name}, {labeled}, draw {draw}: done", flush=True)
    return records


def by_cell(records: list[dict]) -> Cells:
    """Return the records of each method, by set and labels."""
    cells: Cells = defaultdict(lambda: defaultdict(list))
    for record in records:
        if "method" in record:
            cells[record["data"], record["labels"]][record["method"]].append(record)
    return cells


def mean(records: list[dict], measure: str) -> float | None:
    """Return the mean over draws, if every draw has the measure."""
    if not records or not all(measure in record for record in records):
        return None
    return float(np.mean([record[measure] for record in records]))


def table(cells: Cells) -> list[dict]:
    """Return a row for each cell and measure, with the best in bold."""
    rows = []
    for (name, labeled), found in cells.items():
        for measure, loss in BEST.items():
            means = {method: mean(found[method], measure) for method in METHODS}
            judged = [loss(value) for method, value in means.items()
                      if loss and value is not None and method not in PARTS]  # fmt: skip
            row = {
                "data": name,
                "labels": f"{labeled} ({found[OURS][0]['given']})",
                "score": measure,
            }
            for method, value in means.items():
                best = value is not None and method not in PARTS and judged
                bold = best and loss(value) <= min(judged)
                why = found[method][0].get("why", NONE) if value is None else f"{value:.3f}"
                row[method] = f"**{why}**" if bold else why
            rows.append(row)
    return rows


def scores_of_cells(cells: Cells) -> str:
    """Return a table of the mean scores of each method on each cell, as CSV."""
    lines = ["data,labels,method,accuracy,log score"]
    for (name, labeled), found in sorted(cells.items()):
        for method in METHODS:
            means = [mean(found[method], measure) for measure in ("accuracy", MEASURE)]
            if means[0] is not None:
                values = ["" if value is None else f"{value:.4f}" for value in means]
                lines.append(",".join([name, labeled, f'"{method}"', *values]))
    return "\n".join(lines) + "\n"


def is_worse(found: dict[str, list[dict]]) -> bool | None:
    """Return whether the default's log score is worse than that of the better part.

    That is, by more than two standard errors over draws. None if there is nothing to compare.
    """
    parts = [part for part in PARTS if mean(found[part], MEASURE) is not None]
    if not parts or len(found[OURS]) < 2:
        return None
    best = min(parts, key=lambda part: mean(found[part], MEASURE))
    excess = np.array([ours[MEASURE] - its[MEASURE]
                       for ours, its in zip(found[OURS], found[best], strict=True)])  # fmt: skip
    return bool(excess.mean() > 2 * excess.std(ddof=1) / np.sqrt(excess.size))


def claims(cells: Cells) -> dict[str, tuple]:
    made: dict[str, tuple] = {}
    peers = [method for method in METHODS if method not in (OURS, *PARTS)]
    for measure, least, peer in (
        *((MEASURE, LEAST, peer) for peer in peers),
        ("accuracy", LEAST_ACCURATE, LINEAR),
    ):
        loss = BEST[measure]
        pairs = [(mean(found[OURS], measure), mean(found[peer], measure))
                 for found in cells.values()]  # fmt: skip
        wins = [loss(ours) < loss(its) for ours, its in pairs if its is not None]
        if wins:
            share = float(np.mean(wins))
            made[f"share of {len(wins)} cells whose {measure} is better than that of {peer}, at "
                 f"least {least}"] = (share, share >= least)  # fmt: skip
    judged = {cell: is_worse(found) for cell, found in cells.items()}
    judged = {cell: worse for cell, worse in judged.items() if worse is not None}
    worse = [", ".join(cell) for cell, is_so in judged.items() if is_so]
    if judged:
        made[
            f"cells of {len(judged)} where the log score is worse than that of the better of "
            f"{GRAPH} and {FEATURES}, by more than two standard errors, none"
        ] = (f"{len(worse)}" + (f" ({'; '.join(worse)})" if worse else ""), not worse)
    return made


def troubles(records: list[dict]) -> dict[str, tuple]:
    """Return, as claims that hold, which methods or sets are absent or failed, and why."""
    why = {(r["why"], r.get("method", r["data"])): r["error"] for r in records if "error" in r}
    return {f"{kind}: {which}": (error, True) for (kind, which), error in why.items()}


def main() -> None:
    options = report.options(
        __doc__.splitlines()[0],
        draws=(int, 3), only=(str, ""), jobs=(int, 2), resume=(bool, False),
    )  # fmt: skip
    # those that take longest first
    names = QUICK if options.quick else ("mnist", *NETWORKS, *reversed(SETS), *PUBLIC_SETS)
    names = (options.only,) if options.only else names
    draws = 2 if options.quick else options.draws
    folder = options.out / ("side_by_side_quick" if options.quick else "side_by_side")
    folder.mkdir(parents=True, exist_ok=True)
    runs = Parallel(n_jobs=options.jobs)(
        delayed(kept)(name, draw, options.quick, folder, options.resume)
        for name in names
        for draw in range(draws)
    )
    records = [record for run in runs for record in run]
    cells = by_cell(records)
    (options.out / "side_by_side.csv").write_text(scores_of_cells(cells))
    report.write(
        "side_by_side",
        options.out,
        records,
        {**claims(cells), **troubles(records)},
        shown=table(cells),
    )


if __name__ == "__main__":
    main()
