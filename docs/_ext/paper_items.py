"""Write the table of all items of the papers: where each is, and its verdict."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ITEMS = ROOT / "benchmarks/papers/items"
PAGES = ROOT / "docs/reproduction"
VERDICTS = ROOT / "docs/numbers/claims.json"

PAPERS = {
    "uq_paper": "Bertozzi, Luo, Stuart and Zygalakis 2018, uncertainty on graphs",
    "robust_gc": "Alaíz, Fanuel and Suykens 2016, RobustGC",
    "ando_zhang": "Ando and Zhang 2007, Laplacian regularization",
    "kaog": "Mohammadi et al. 2014, KAOG and MKAOG",
    "gdpca": "Avrachenkov, Boisbunon and Kamalov 2021, GDPCA",
}

INTRODUCTION = """\
# All items of the papers

Every equation, algorithm, theorem, figure, table and data set of the five papers, every claim of
their texts, and every piece of future work that they name. The column "where" has the file and the
name in it. "Tested" means that a test of the package compares the item with an independent answer.
Claims are those of [the reproduction](index.md) and of [the other papers](other-papers.md), which
have figures, bounds and the causes of failures. An item that nothing covers has a reason.
"""


class Item(NamedTuple):
    """An item of a paper."""

    name: str
    says: str
    where: list[str]
    """file::name, or a page."""
    tests: list[str]
    """file::name."""
    claims: list[tuple[str, str]]
    """Each a study and the beginning of a claim."""
    reason: str
    """Why nothing covers or judges it."""


def items_of(paper: str) -> list[Item]:
    """Return the items of a paper, in its order."""
    with (ITEMS / f"{paper}.csv").open(encoding="utf-8", newline="") as file:
        return [_item(row) for row in csv.DictReader(file)]


def _item(row: dict[str, str]) -> Item:
    judged = [one for one in row["judged"].split(" ;; ") if one]
    return Item(
        row["item"],
        row["says"],
        [one for one in row["where"].split("; ") if one],
        [one for one in judged if one.startswith("tests/")],
        [tuple(one.split(": ", 1)) for one in judged if not one.startswith("tests/")],
        row["reason"],
    )


def verdicts_of(claims: list[tuple[str, str]], known: dict[str, dict[str, bool]]) -> list[bool]:
    """Return whether each claim that begins so holds."""
    return [
        holds
        for study, claim in known.items()
        for text, holds in claim.items()
        if any(study == one and text.startswith(start) for one, start in claims)
    ]


def write(page: Path) -> None:
    """Write the page if it has changed."""
    known = json.loads(VERDICTS.read_text(encoding="utf-8"))
    text = "\n".join([INTRODUCTION, *_totals(known), *(_section(paper, known) for paper in PAPERS)])
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _counts(items: list[Item]) -> tuple[int, int, int]:
    """Return how many items are tested or measured, only built, and not covered."""
    judged = sum(bool(item.tests or item.claims) for item in items)
    built = sum(bool(item.where) and not (item.tests or item.claims) for item in items)
    return judged, built, len(items) - judged - built


def _totals(known: dict[str, dict[str, bool]]) -> list[str]:
    """Return a table with a row for each paper."""
    rows = []
    for paper, name in PAPERS.items():
        items = items_of(paper)
        verdicts = verdicts_of([claim for item in items for claim in item.claims], known)
        rows.append([name, len(items), *_counts(items), sum(verdicts), verdicts.count(False)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    return [
        "The last two columns also count claims of ours beside those of a paper.", "",
        "| paper | items | tested or measured | built | not covered | claims that hold | fail |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows), "",
    ]  # fmt: skip


def _section(paper: str, known: dict[str, dict[str, bool]]) -> str:
    items = items_of(paper)
    judged, built, left = _counts(items)
    rows = [
        f"| {_text(item.name)} | {_text(item.says)} | {_verdict(item, known)} | "
        f"{', '.join(map(_place, item.where))} |"
        for item in items
    ]
    return "\n".join([
        f"## {PAPERS[paper]}", "",
        f"{len(items)} items: {judged} are tested or measured, {built} are built without a test of "
        f"their own, and {left} are not covered.", "",
        "| item | what it says | verdict | where |", "|---|---|---|---|", *rows, "",
    ])  # fmt: skip


def _text(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _place(place: str) -> str:
    page = place.removeprefix("docs/")
    return f"[{page}](../{page})" if place.startswith("docs/") else f"`{place}`"


def _verdict(item: Item, known: dict[str, dict[str, bool]]) -> str:
    found = ["tested"] if item.tests else []
    for study in dict.fromkeys(study for study, _ in item.claims):
        holds = verdicts_of([claim for claim in item.claims if claim[0] == study], known)
        found.append(f"[`{study}`]({_page(study)}): {sum(holds)} of {len(holds)} claims hold")
    if item.reason:
        covered = item.where or found
        found.append(_text(item.reason if covered else f"**not covered**: {item.reason}"))
    return "; ".join(found)


def _page(study: str) -> str:
    """Return the page and section that has the results of a study."""
    anchor = study.replace("_", "-")
    for page in ("index.md", "other-papers.md"):
        if f"({anchor})=" in (PAGES / page).read_text(encoding="utf-8"):
            return f"{page}#{anchor}"
    raise ValueError(f"no page has results of {study}")
