"""The table of all items of the papers names what exists, and judges or explains every item."""

import ast
import functools
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/_ext"))

from paper_items import PAPERS, VERDICTS, items_of, verdicts_of  # noqa: E402


@functools.cache
def names_in(path):
    """Return the names of a file's functions, classes and constants, and of classes' members."""
    names = set()

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
                visit(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            for target in targets:
                if isinstance(node, ast.Assign | ast.AnnAssign):
                    found = ast.walk(getattr(target, "target", target))
                    names.update(prefix + t.id for t in found if isinstance(t, ast.Name))

    visit(ast.parse((ROOT / path).read_text()).body, "")
    return names


def missing(places):
    """Return the places that do not exist."""
    return [
        place for place in places
        if not (ROOT / (path := place.partition("::")[0])).is_file()
        or ("::" in place and place.partition("::")[2] not in names_in(path))
    ]  # fmt: skip


@pytest.mark.parametrize("paper", PAPERS)
def test_items_name_what_exists_and_are_judged_or_explained(paper):
    known = json.loads(VERDICTS.read_text())
    items = items_of(paper)
    assert len({item.name for item in items}) == len(items)
    assert [place for item in items for place in missing([*item.where, *item.tests])] == []
    claims = [claim for item in items for claim in item.claims]
    assert [claim for claim in claims if not verdicts_of([claim], known)] == []
    for item in items:
        assert item.says
        assert item.tests or item.claims or item.reason, item.name
        assert item.where or item.reason, item.name


def test_a_place_that_is_gone_is_found():
    places = ["graphuq/likelihoods/probit.py::Probit", "graphuq/gone.py", "docs/conf.py::gone"]
    assert missing(places) == places[1:]
    assert verdicts_of([("map", "share")], {"map": {"share of": True, "other": False}}) == [True]
