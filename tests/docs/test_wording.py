"""The texts that users read: plain phrases, and numbers that agree with the examples."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import graphuq as gq

ROOT = Path(gq.__file__).parents[1]
PLACES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs").glob("[!_]*/*.md"),
    *(ROOT / "graphuq").rglob("*.py"),
    *(ROOT / "notebooks").glob("*.ipynb"),
]
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PLACES}

# Phrases that are grammatical but sound translated, with what to write instead.
TRANSLATED = {
    "to be trusted?": "can ... be trusted?",
    "cease to tell": "how fast influence fades with distance",
    "an end of what was tried": "at the edge of the search range",
    "expected to tell most": "most informative",
    "each what the others do not": "non-redundant",
    "who always said": "always predicting",
    "by about so much": "standard deviation over repeated runs",
    "all classes alike": "all classes equally likely",
    "a coin's toss": "a coin toss, or 50/50",
    "mend it": "fix it",
    "is there already": "duplicate ...",
    "that are no features": "columns to exclude",
    "gaps or rubbish": "missing or invalid values",
    "the plots that take the graph": "except plots that need the graph",
    "graph in pieces": "disconnected graph",
    "had one it": "if it were known",
    "is hung on": "is attached to",
    "how to do it again": "how to reproduce this",
    "taken for whom": "confusion matrix",
    "is gone on with": "continue",
    "whichever way it was come by": "however it was computed",
    "what is no prior": "what is not a prior",
    "come to rest": "converge",
    "are shown the worst": "the worst ... are shown",
    "shall be chosen": "expected ..., got ...",
}  # fmt: skip


@pytest.mark.parametrize("phrase", TRANSLATED)
def test_no_phrase_sounds_translated(phrase):
    words = re.compile(r"[\s#>\"]+".join(map(re.escape, phrase.split())), re.IGNORECASE)
    found = [name for name, text in TEXTS.items() if words.search(text)]
    assert not found, f"{phrase!r} in {found}: write {TRANSLATED[phrase]!r}"


def test_readme_is_short():
    assert TEXTS["README.md"].count("\n") <= 130


def test_sentences_about_many_classes_begin_with_for():
    found = [name for name, text in TEXTS.items() if re.search(r"\bOf K (>|classes)", text)]
    assert not found


def test_the_ratio_of_evidences_in_the_tutorial_is_that_of_its_example():
    tutorial = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    log, ratio = re.search(
        r"log evidences is ([\d.]+), a ratio of evidences of about (\d+)",
        " ".join(tutorial.split()),
    ).groups()
    (printed,) = re.findall(r"gq\.evidence\(papers.*\n([\d.]+)\n", tutorial)
    assert log == printed
    assert math.isclose(math.exp(float(log)), float(ratio), rel_tol=0.05)


@pytest.mark.parametrize("page", sorted((ROOT / "docs/how-to").glob("*.md")), ids=lambda p: p.stem)
def test_each_page_shows_an_error_and_its_remedy(page):
    text = page.read_text(encoding="utf-8")
    assert page.stem == "index" or re.search(
        r"^(ValueError|TypeError|FileNotFoundError)|    \w+Error: "
        r"|graphuq sample: how should",
        text,
        re.MULTILINE,
    )
