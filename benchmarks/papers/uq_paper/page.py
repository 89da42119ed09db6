"""Write docs/reproduction/index.md and its pictures from the results of the studies.

If any study ran at quick settings, the page goes to benchmarks/results/reproduction instead.

python -m benchmarks.papers.uq_paper.page STUDY [STUDY ...]

The numbers come from the JSON files. The prose comes from the docstrings of the studies: a summary,
notes, and the command as the last paragraph.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from pathlib import Path

from PIL import Image

from benchmarks.common import report
from benchmarks.papers.causes import LEGEND, record_verdicts, verdict

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs"

# limit of a picture on the page
MAX_BYTES = 150_000

# the beginning of a summary, as in "Figures 5, 6a and 6c, two moons: ..."
PART = re.compile(r"(Figure|Table|Section)s? [\d.]+[a-d]?((, | and )[\d.]+[a-d]?)*")

INTRODUCTION = (
    """\
# Reproduction

Every figure and table with results of Bertozzi, Luo, Stuart and Zygalakis (2018), "the paper",
has a command, which compares our results with the paper's. `make reproduce` runs all of them and
writes this page; `make reproduce QUICK=--quick` does so at small settings. The commands run in a
checkout, and read [data sets](../how-to/data.md) from the folder that `GRAPHUQ_DATA` names. The
files of MNIST and the votes can be downloaded; that of Jasper Ridge, which Figure 8 needs,
cannot.

Each claim states its bound. The column "the paper" has the number that the paper prints, or what
its text says. Where it is empty, the claim is ours. Three sets of bounds were chosen after a
prototype had shown results: those of section 5.3, of Figures 9 and 10, and of the accuracy in
Table 1. All others were chosen before. Some measures were replaced once: that of alike images in
Figure 4, and those of trends in Figures 5 and 6, which allowed neither a tie nor a fall by chance.
Labels and data were then drawn anew. [All items of the papers](items.md) lists what else the paper
has, and where it is. If the chains behind a
number disagree, with an R-hat of 1.05 or more, the claim about it fails and says so, unless it is
about R-hat or ESS. A failed claim stays.

LevelSet and BLS (Bayesian level set, as in the paper) are the level-set model, and GL is
Ginzburg-Landau. Projection is a prior of the smoothest modes alone. Approximation keeps the other
modes too, all with one eigenvalue. The ESS of a chain is the smallest over the coefficients of its
modes.

"""
    + LEGEND
    + "\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="+", help="in the order of the page")
    studies = parser.parse_args().studies
    records = {}
    for name in studies:
        path = report.RESULTS / f"{name}.json"
        records[name] = json.loads(path.read_text()) if path.exists() else None
    found = [record for record in records.values() if record is not None]
    quick = not found or any(record["quick"] for record in found)
    place = (report.RESULTS if quick else DOCS) / "reproduction"
    place.mkdir(parents=True, exist_ok=True)
    sections = [section(name, record, place) for name, record in records.items()]
    page = "\n".join(
        [INTRODUCTION, made(records), "", *report.table(claims(records)), "", *sections]
    )
    (place / "index.md").write_text(page.rstrip() + "\n")
    if not quick:
        record_verdicts(records)
    unfinished = [name for name, record in records.items() if record is None]
    if unfinished:
        raise SystemExit(f"no results for: {' '.join(unfinished)}")


def made(records: dict[str, dict | None]) -> str:
    """Return how many claims hold, at which settings, with which version and in what time."""
    found = [record for record in records.values() if record is not None]
    told = [claim for record in found for claim in record["claims"].values()]
    printed = [claim for claim in told if len(claim) > 2]  # with what the paper says
    quick = sum(record["quick"] for record in found)
    settings = {0: "full settings", len(found): "**quick settings: not to be quoted**"}.get(
        quick, f"**quick settings in {quick} of {len(found)} studies: not to be quoted**"
    )
    machines = {report.made_by(record["machine"]) for record in found}
    minutes = sum(record["seconds"] for record in found) / 60
    return (
        f"**{sum(claim[1] for claim in printed)} of {len(printed)} claims that the paper makes "
        f"hold; {sum(claim[1] for claim in told)} of {len(told)} in all.** Made at {settings} by "
        f"{'; '.join(sorted(machines))}, in {minutes:.0f} minutes in all."
    )


def claims(records: dict[str, dict | None]) -> list[dict[str, object]]:
    """Return one row per claim."""
    rows: list[dict[str, object]] = []
    for name, record in records.items():
        found = {"did not finish": ("", None)} if record is None else record["claims"]
        part = PART.match(docstring(name))
        for claim, (figure, holds, *paper) in found.items():
            rows.append({
                "part": part[0] if part else "",
                "claim": claim,
                "the paper": paper[0] if paper else "",
                "ours": {True: "yes", False: "no"}[figure] if isinstance(figure, bool) else figure,
                "verdict": verdict(name, claim, holds),
                "command": f"[`{name}`](#{name.replace('_', '-')})",
            })  # fmt: skip
    return rows


def section(name: str, record: dict | None, place: Path) -> str:
    """Return the section of a study: its docstring, its picture and its rows."""
    summary, *notes, command = docstring(name).split("\n\n")
    lines = [f"({name.replace('_', '-')})=", f"## {summary.rstrip('.')}", "", f"`{command}`", ""]
    if record is not None:
        settings = "quick" if record["quick"] else "full"
        lines += [f"It took {record['seconds'] / 60:.1f} minutes at {settings} settings.", ""]
        if (report.RESULTS / f"{name}.png").exists():
            lines += [f"![{summary}]({name}.png)", ""]
            shrink(name, place)
    lines += [f"{note}\n" for note in notes]
    if record is not None:
        rows = report.table(record["rows"])
        lines += ["<details><summary>All measurements</summary>", "", *rows, "", "</details>"]
    return "\n".join([*lines, ""])


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""


def shrink(name: str, folder: Path) -> None:
    """Copy a study's picture to the page's folder, in 256 colors."""
    copy = folder / f"{name}.png"
    Image.open(report.RESULTS / f"{name}.png").convert("RGB").quantize(256).save(
        copy, optimize=True
    )
    if copy.stat().st_size > MAX_BYTES:
        raise ValueError(f"{copy} has {copy.stat().st_size} bytes, above {MAX_BYTES}: draw less")


if __name__ == "__main__":
    main()
