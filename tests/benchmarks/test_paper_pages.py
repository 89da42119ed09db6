"""The pages on the papers: each failed claim has a cause, and counts are those of the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import graphuq as gq
from benchmarks.papers import page as pages
from benchmarks.papers.causes import CAUSES, verdict

FOLDER = Path(gq.__file__).parents[1] / "docs/reproduction"
PAGES = {
    f"{page}.md": {name for names in studies.values() for name in names} & CAUSES.keys()
    for page, studies in pages.PAGES.items()
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


def test_a_page_needs_results_of_all_studies_and_quick_ones_leave_docs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(pages.report, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["page", "index"])
    record = {
        "machine": {"graphuq": "0.1.0", "python": "3.11", "cores": 2},
        "quick": True,
        "seconds": 90.0,
        "rows": [{"a": 1.0}],
        "claims": {"a is one": [1.0, True, "one"], "b": [False, False]},
        "lacks": ["a river"],
    }
    names = [name for tables in pages.PAGES["index"].values() for name in tables]
    for name in names[1:]:
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    with pytest.raises(SystemExit, match=f"there are no results of {names[0]}"):
        pages.main()
    assert not (tmp_path / "reproduction").exists()

    (tmp_path / f"{names[0]}.json").write_text(json.dumps(record))
    before = (FOLDER / "index.md").read_text()
    pages.main()
    text = (tmp_path / "reproduction/index.md").read_text()
    n = len(names)
    assert f"**{n} of {n} claims that the paper makes hold; {n} of {2 * n} in all.**" in text
    assert "quick settings, not to be quoted" in text
    assert "| a is one | one | 1 | holds |" in text
    assert "Without a river" in text
    assert (FOLDER / "index.md").read_text() == before
