"""Write the page docs/reproduction.md from what the studies left in benchmarks/results.

If any of them ran at quick settings, the page and its pictures go to benchmarks/results instead.

python -m benchmarks.uq_paper.page STUDY [STUDY ...]

The figures come from the JSON files, the prose from the studies' docstrings: a summary, notes, and
the command as the last paragraph.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from pathlib import Path

from PIL import Image

from benchmarks import report

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
DOCS = HERE.parents[1] / "docs"

# of a picture on the page
MOST_BYTES = 150_000

# what a summary begins with, as in "Figures 5, 6a and 6c, two moons: ..."
PART = re.compile(r"(Figure|Table|Section)s? [\d.]+[a-d]?((, | and )[\d.]+[a-d]?)*")

INTRODUCTION = """\
# Reproduction

Every figure and table of Bertozzi, Luo, Stuart and Zygalakis (2017) that holds results has a
command, which measures ours beside theirs. `make reproduce` runs them all and writes this page;
`make reproduce QUICK=--quick` does so at small settings. A claim's bound is in the claim. No bound
was loosened after a result was seen; those of section 5.3, of Table 1's accuracy and of the MAP
study came from a prototype's figures. Where chains disagree, with an R-hat of 1.05 or more, a claim
on what they drew fails and says so. A claim that fails stays, and the notes on its study say why,
as far as that was found out. Where the paper prints no figure, "the paper" is what its text says,
if it does.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="+", help="in the order of the page")
    studies = parser.parse_args().studies
    records = {}
    for name in studies:
        path = RESULTS / f"{name}.json"
        records[name] = json.loads(path.read_text()) if path.exists() else None
    found = [record for record in records.values() if record is not None]
    place = DOCS if found and not any(record["quick"] for record in found) else RESULTS
    place.mkdir(parents=True, exist_ok=True)
    sections = [section(name, record, place) for name, record in records.items()]
    page = "\n".join(
        [INTRODUCTION, made(records), "", *report.table(claims(records)), "", *sections]
    )
    (place / "reproduction.md").write_text(page.rstrip() + "\n")
    unfinished = [name for name, record in records.items() if record is None]
    if unfinished:
        raise SystemExit(f"no results of: {' '.join(unfinished)}")


def made(records: dict[str, dict | None]) -> str:
    """Say how many claims hold, at which settings, with which version and in what time."""
    found = [record for record in records.values() if record is not None]
    told = [claim for record in found for claim in record["claims"].values()]
    printed = [claim for claim in told if len(claim) > 2]  # with what the paper says
    quick = sum(record["quick"] for record in found)
    settings = {0: "full settings", len(found): "**quick settings: not to be quoted**"}.get(
        quick, f"**quick settings in {quick} of {len(found)} studies: not to be quoted**"
    )
    machines = {
        "graphuq {graphuq}, Python {python}, {cores} cores".format(**record["machine"])
        for record in found
    }
    minutes = sum(record["seconds"] for record in found) / 60
    return (
        f"**{sum(claim[1] for claim in printed)} of {len(printed)} claims with a word of the paper "
        f"hold; {sum(claim[1] for claim in told)} of {len(told)} in all.** Made at {settings} by "
        f"{'; '.join(sorted(machines))}, in {minutes:.0f} minutes in all."
    )


def claims(records: dict[str, dict | None]) -> list[dict[str, object]]:
    """Return a row for each claim."""
    rows: list[dict[str, object]] = []
    for name, record in records.items():
        found = {"did not finish": ("", None)} if record is None else record["claims"]
        part = PART.match(docstring(name))
        for claim, (figure, holds, *paper) in found.items():
            rows.append({
                "of": part[0] if part else "",
                "claim": claim,
                "the paper": paper[0] if paper else "",
                "ours": {True: "yes", False: "no"}[figure] if isinstance(figure, bool) else figure,
                "verdict": {True: "holds", False: "**fails**", None: "**not measured**"}[holds],
                "command": f"[`{name}`](#{name.replace('_', '-')})",
            })  # fmt: skip
    return rows


def section(name: str, record: dict | None, place: Path) -> str:
    """Return what a study says of itself, and its picture."""
    summary, *notes, command = docstring(name).split("\n\n")
    lines = [f"({name.replace('_', '-')})=", f"## {summary.rstrip('.')}", "", f"`{command}`", ""]
    if record is not None:
        settings = "quick" if record["quick"] else "full"
        lines += [f"It took {record['seconds'] / 60:.1f} minutes at {settings} settings.", ""]
        if (RESULTS / f"{name}.png").exists():
            lines += [f"![{summary}](reproduction/{name}.png)", ""]
            shrink(name, place / "reproduction")
    lines += [f"{note}\n" for note in notes]
    if record is not None:
        rows = report.table(record["rows"])
        lines += ["<details><summary>All that was measured</summary>", "", *rows, "", "</details>"]
    return "\n".join([*lines, ""])


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""


def shrink(name: str, folder: Path) -> None:
    """Copy a study's picture to the page's folder, in 256 colours."""
    folder.mkdir(exist_ok=True)
    copy = folder / f"{name}.png"
    Image.open(RESULTS / f"{name}.png").convert("RGB").quantize(256).save(copy, optimize=True)
    if copy.stat().st_size > MOST_BYTES:
        raise ValueError(f"{copy} has {copy.stat().st_size} bytes, above {MOST_BYTES}: draw less")


if __name__ == "__main__":
    main()
