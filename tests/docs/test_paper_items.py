"""The table of all items of the papers names what exists, and judges or explains every item."""

import csv
import json
import sys
from pathlib import Path

import pytest
from references.places import missing_references

from benchmarks.papers import page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/_ext"))

from paper_items import ITEMS, PAPERS, VERDICTS, items_of, verdicts_of  # noqa: E402


@pytest.mark.parametrize("paper", PAPERS)
def test_items_name_what_exists_and_are_judged_or_explained(paper):
    known = json.loads(VERDICTS.read_text())
    items = items_of(paper)
    with (ITEMS / f"{paper}.csv").open(encoding="utf-8", newline="") as file:
        assert {len(row) for row in csv.reader(file)} == {5}
    assert len({item.name for item in items}) == len(items)
    places = [place for item in items for place in (*item.where, *item.tests)]
    assert missing_references(" ".join(f"`{place}`" for place in places)) == []
    files = {place.partition("::")[0] for place in places}
    assert [file for file in files if not (ROOT / file).is_file()] == []
    claims = [claim for item in items for claim in item.claims]
    assert [claim for claim in claims if not verdicts_of([claim], known)] == []
    for item in items:
        assert item.says
        assert item.tests or item.claims or item.reason, item.name
        assert item.where or item.reason, item.name


def test_every_claim_is_part_of_an_item():
    known = json.loads(VERDICTS.read_text())
    claims = [claim for paper in PAPERS for item in items_of(paper) for claim in item.claims]
    stray = {
        f"{study}: {text}"
        for study, found in known.items()
        for text in found
        if not any(study == one and text.startswith(start) for one, start in claims)
    }
    assert stray == set()


def test_a_claim_is_known_by_its_study_and_its_beginning():
    known = {"map": {"share of": True, "other": False}, "plume": {"share": False}}
    assert verdicts_of([("map", "share")], known) == [True]


def test_each_claim_on_other_papers_has_an_item_or_is_ours():
    known = json.loads(VERDICTS.read_text())
    studies = [name for names in page.PAGES["other-papers"].values() for name in names]
    claims = [(study, claim) for study in studies for claim in known[study]]
    cited = page.cited_items()
    assert all(page.item_of(study, claim, cited) for study, claim in claims)
    assert [part for part in page.OURS if not any(part in claim for _, claim in claims)] == []
    assert page.item_of("gdpca_figures", "Table 3, cora: more", [("gdpca_figures: Table 3", "x"),
                        ("gdpca_figures: Table", "Table 3, all")]) == "Table 3, all"  # fmt: skip
    with pytest.raises(SystemExit, match=r"no item of .* cites this claim: map: nothing"):
        page.item_of("map", "nothing", cited)
