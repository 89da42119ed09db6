"""The pages on the papers: each failed claim has a cause, and counts are those of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import graphuq as gq
from benchmarks.papers.causes import CAUSES, verdict
from benchmarks.papers.page import PAPERS

FOLDER = Path(gq.__file__).parents[1] / "docs/reproduction"
UQ_PAPER = {name.stem for name in FOLDER.parents[1].glob("benchmarks/papers/uq_paper/*.py")}
PAGES = {
    "index.md": UQ_PAPER & CAUSES.keys(),
    "other-papers.md": {name for names in PAPERS.values() for name in names} & CAUSES.keys(),
}


def rows(page):
    """The cells of each row of the page whose last or next to last one is a verdict on a claim."""
    text = re.sub(r"<details>.*?</details>", "", (FOLDER / page).read_text(), flags=re.DOTALL)
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if any(re.match(r"holds|\*\*fails", cell) for cell in line)]


def verdict_of(row):
    return next(cell for cell in row if re.match(r"holds|\*\*fails", cell))


@pytest.mark.parametrize("page", PAGES)
def test_each_failure_has_a_cause(page):
    failed = [verdict_of(row) for row in rows(page) if verdict_of(row) != "holds"]
    assert failed
    assert [v for v in failed if not re.match(r"\*\*fails\*\*; (paper|data|ours): ", v)] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_counts_are_those_of_the_table(page):
    text = (FOLDER / page).read_text()
    held = sum(verdict_of(row) == "holds" for row in rows(page))
    assert f"{held} of {len(rows(page))} " in text


@pytest.mark.parametrize("page", PAGES)
def test_each_cause_is_that_of_a_claim_on_the_page(page):
    """A cause whose claim has changed its words, or holds by now, is no longer on the page."""
    text = (FOLDER / page).read_text()
    causes = {why for study in PAGES[page] for why in CAUSES[study].values()}
    assert [why for why in causes if f"**fails**; {why} |" not in text] == []


def test_a_failure_without_a_cause_says_so():
    assert verdict("spectra", "something new", False) == "**fails**; not known"
    assert verdict("spectra", "share within 0.1 of 1", True) == "holds"
    assert verdict("spectra", "share within 0.1 of 1", None) == "**not measured**"
