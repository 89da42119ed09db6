"""Write docs/reproduction/other-papers.md and its pictures from the results of the benchmarks.

python -m benchmarks.papers.page [FOLDER]

FOLDER has the JSON files of the benchmarks, by default benchmarks/results.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

from PIL import Image

from benchmarks.common import report
from benchmarks.papers.causes import LEGEND, record_verdicts, verdict

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / "docs/reproduction"

# the results of each benchmark, with the titles of their tables
PAPERS = {
    "robust_gc": {"robust_gc": "Table 1 and Figures 4 and 5"},
    "ando_zhang": {"ando_zhang": "What the text says", "ando_zhang_accuracy": "All accuracies"},
    "kaog": {
        "kaog_components": "Table 2: components",
        "kaog_accuracy": "Table 3: accuracy under noise",
    },
    "gdpca": {"gdpca": "Tables 2 and 5, memory and time"},
    "gdpca_figures": {"gdpca_figures": "Figures 2 and 4, and kernels of Table 5"},
}
WIDEST = 1400  # pixels of a picture

INTRODUCTION = f"""\
# Other papers

graphuq has the classifiers of four more papers. Each has a benchmark, which compares the tables of
the paper with ours. A claim that fails stays. Bounds were stated in advance, but for those of Table
1 of RobustGC, the leads of its methods and the reading of wine: these replaced others after results
had been seen, and labels and splits were then drawn anew.
{LEGEND}

`make other-papers` runs the benchmarks in a checkout and writes this page. They read
[data sets](../how-to/data.md) from the folder that `GRAPHUQ_DATA` names.
[Reproduction](index.md) is about the paper whose models graphuq implements, and
[all items of the papers](items.md) lists what else the papers have, and where it is.
"""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else report.RESULTS
    records = {
        name: json.loads((folder / f"{name}.json").read_text())
        for names in PAPERS.values()
        for name in names
    }
    quick = [name for name, record in records.items() if record["quick"]]
    if quick:
        raise SystemExit(f"quick results are not to be quoted: {' '.join(quick)}")
    told = [claim for record in records.values() for claim in record["claims"].values()]
    machine = report.made_by(records["gdpca"]["machine"])
    lines = [
        INTRODUCTION,
        f"**{sum(claim[1] for claim in told)} of {len(told)} claims hold.** Made by {machine}.",
        "",
    ]
    for paper, tables in PAPERS.items():
        lines += section(paper, tables, records, folder)
    (PLACE / "other-papers.md").write_text("\n".join(lines).rstrip() + "\n")
    record_verdicts(records)


def section(paper: str, tables: dict[str, str], records: dict, folder: Path) -> list[str]:
    """Return the notes of a benchmark, its claims with their verdicts, its picture and its rows."""
    docstring = ast.get_docstring(ast.parse((HERE / f"{paper}.py").read_text()))
    summary, *notes = docstring.split("\n\n")
    command = next(note for note in notes if note.startswith("GRAPHUQ_DATA"))
    title, _, rest = summary.partition(":")
    lines = [f"## {title}", "", rest.strip()[0].upper() + rest.strip()[1:], "", f"`{command}`", ""]
    lines += [f"{note}\n" for note in notes if note != command]
    rows = [
        {"claim": claim, "ours": figure, "verdict": verdict(name, claim, holds)}
        for name in tables
        for claim, (figure, holds) in records[name]["claims"].items()
    ]
    lines += [*report.table(rows), ""]
    if (folder / f"{paper}.png").is_file():
        shrink(folder / f"{paper}.png")
        lines += [f"![{summary}]({paper}.png)", ""]
    for name, heading in tables.items():
        table = report.table(records[name]["rows"])
        lines += [f"<details><summary>{heading}</summary>", "", *table, "", "</details>", ""]
    return lines


def shrink(path: Path) -> None:
    """Copy a picture to the folder of the page, smaller and in 256 colors."""
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((WIDEST, WIDEST))
    picture.quantize(256).save(PLACE / path.name, optimize=True)


if __name__ == "__main__":
    main()
