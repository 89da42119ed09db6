"""The command line, JSON file, table and picture of every benchmark."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import graphuq as gq

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from matplotlib.figure import Figure

# results of all benchmarks, unless --out names another folder
RESULTS = Path(__file__).parents[1] / "results"
# chains whose R-hat is below this agree
AGREE = 1.05

_settings = {"quick": False}
_begun = time.perf_counter()


def options(description: str, **extra: tuple) -> argparse.Namespace:
    """Parse ``--quick``, ``--out`` and the options in ``extra``: name -> (type, default).

    An option of type bool is a flag.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short run, not to be quoted")
    parser.add_argument("--out", type=Path, default=RESULTS)
    for name, (kind, default) in extra.items():
        how = {"action": "store_true"} if kind is bool else {"type": kind, "default": default}
        parser.add_argument(f"--{name}", **how)
    chosen = parser.parse_args()
    _settings["quick"] = chosen.quick
    sys.excepthook = _explain
    return chosen


def _explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say which file a study lacks, without the calls that led there."""
    if issubclass(kind, FileNotFoundError):
        print(f"not run: {error}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def quick() -> bool:
    """Return whether ``--quick`` was given."""
    return _settings["quick"]


def write(
    name: str,
    out: Path,
    rows: list[dict],
    claims: dict | None = None,
    shown: list[dict] | None = None,
    lacks: Sequence[str] = (),
) -> None:
    """Print ``rows`` as a Markdown table, and write them to ``out/NAME.json`` and ``.md``.

    ``shown`` replaces ``rows`` in the table, where it is a summary of them.
    ``claims`` maps a sentence to (figure, whether it holds), or to (figure, whether it holds, what
    the paper says) if a paper makes the claim. ``lacks`` names parts that could not run, for want
    of data or a package. Exit with 1 if a claim fails.
    """
    lines = ["Quick settings: not to be quoted.", ""] if _settings["quick"] else []
    lines += table(rows if shown is None else shown)
    for claim, (figure, holds, *paper) in (claims or {}).items():
        says = f"; the paper: {cell(paper[0])}" if paper else ""
        lines += ["", f"{claim}: **{cell(figure)}** ({'holds' if holds else 'FAILS'}{says})"]
    print("\n".join(lines))
    out.mkdir(parents=True, exist_ok=True)
    machine = {
        "graphuq": gq.__version__,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
    }
    seconds = round(time.perf_counter() - _begun, 1)
    record = {
        "machine": machine,
        **_settings,
        "seconds": seconds,
        "lacks": list(lacks),
        "rows": rows,
        "claims": claims or {},
    }
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / f"{name}.md").write_text("\n".join(lines) + "\n")
    if not all(holds for _, holds, *_ in (claims or {}).values()):
        raise SystemExit(1)


def health(posts: Iterable[gq.Posterior]) -> dict[str, float]:
    """Return the largest R-hat and the smallest ESS of all ``posts``, as columns of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)  # the columns show it
        found = [post.diagnostics() for post in posts]
    return {
        "R-hat": float(max(one.r_hat for one in found)),
        "ESS": float(min(one.ess for one in found)),
    }


def of_chains(figure: object, holds: bool, rows: Iterable[dict]) -> tuple[object, bool]:
    """Return the figure and verdict of a claim, which fails if chains of its ``rows`` disagree."""
    apart = [row["R-hat"] for row in rows if not row["R-hat"] < AGREE]  # also catches NaN
    return (f"{cell(figure)}, but R-hat is {max(apart):.4g}", False) if apart else (figure, holds)


def picture(name: str, out: Path, figure: Figure) -> None:
    """Write ``figure`` to ``out/NAME.png``."""
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / f"{name}.png", dpi=110)


def table(rows: list[dict]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = ["| " + " | ".join(cell(c) for c in rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return lines + ["| " + " | ".join(cell(row[c]) for c in rows[0]) + " |" for row in rows]


def cell(value: object) -> str:
    """Return the text of a table cell, with bars escaped."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
