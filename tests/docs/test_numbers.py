"""Numbers of README, documentation and paper are those of the files that commands wrote.

``docs/figures/numbers.json`` comes from ``python docs/figures/make.py``, and
``docs/numbers/side_by_side.csv`` from ``python -m benchmarks.trust.side_by_side --draws 2``. The
slow tests run what takes seconds again.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.program import main

ROOT = Path(gq.__file__).parents[1]
FIGURES = ROOT / "docs/figures"
NUMBERS = json.loads((FIGURES / "numbers.json").read_text())
HOW_TO = "docs/how-to/"
FAILS = HOW_TO + "when-it-fails.md"

# page, what it says, the figure, and the names of its numbers in the order of the groups
QUOTES = [
    (
        "README.md",
        r"calls unsure (\d+)% are classified correctly, and among all others ([\d.]+)%",
        "overview",
        ["accuracy of the unsure", "accuracy of the others"],
    ),
    *(
        (page, r"calibration error is ([\d.]+): with \[so few", "overview", ["calibration error"])
        for page in ("README.md", "docs/index.md")
    ),
    (
        "docs/paper.md",
        r"fifty labels, (\d+)% of the images that it calls unsure are classified correctly, and "
        r"([\d.]+)% of all others",
        "overview",
        ["accuracy of the unsure", "accuracy of the others"],
    ),
    (
        HOW_TO + "uncertainty.md",
        r"the entropy is ([\d.]+) nats on average, and ([\d.]+) of these are aleatoric",
        "uncertainty",
        ["total, border", "aleatoric, border"],
    ),
    (
        HOW_TO + "uncertainty.md",
        r"group the entropy is ([\d.]+) nats, that of a coin toss, and ([\d.]+) of these are epist",
        "uncertainty",
        ["total, apart", "epistemic, apart"],
    ),
    (
        FAILS,
        r"within a class, ([\d.]+)% of the predictions are right. If one of ten is, (\d+)% are, "
        r"and the log score of ([\d.]+)",
        "heterophily",
        ["accuracy at 0.9", "accuracy at 0.1", "log score at 0.1"],
    ),
    *(
        (page, r"log score (?:of|is) ([\d.]+) against 0.69", "heterophily", ["log score at 0.1"])
        for page in ("README.md", "docs/paper.md")
    ),
    (
        FAILS,
        r"edges within a class ([\d.]+)% of the predictions are right again",
        "heterophily",
        ["accuracy, two steps at 0.1"],
    ),
    (
        FAILS,
        r"At equal shares (\d+)% of the predictions are right. If a tenth of the items are threes, "
        r"(\d+)% are",
        "shares",
        ["accuracy at 0.5", "accuracy at 0.1"],
    ),
    (
        FAILS,
        r"In the picture (\d+)% are then right",
        "shares",
        ["accuracy, shares given at 0.1"],
    ),
    (
        FAILS,
        r"the accuracy is ([\d.]+) on average, but anything between ([\d.]+) and ([\d.]+): .* its "
        r"mean confidence is ([\d.]+). With forty labels of each class the accuracy is ([\d.]+),",
        "few_labels",
        [
            "accuracy with 1",
            "lowest accuracy with 1",
            "highest accuracy with 1",
            "confidence with 1",
            "accuracy with 40",
        ],
    ),
]

# peers as pages call them, and as the benchmark does
PEERS = {
    "graph Matern Gaussian process": "graph Matern",
    "Laplace learning": "Laplace",
    "Gaussian process on the features": "Gaussian process",
    "label spreading": "label spreading",
    "graph convolutional network": "GCN",
    "graph convolutional network with temperature": "GCN, temperature",
    "the same with temperature": "GCN, temperature",
    "logistic regression": "logistic regression",
}


def text_of(page):
    """The text of a page in one line."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def as_quoted(value, quoted, text, end):
    """The value with the decimals of the quote, in percent where a percent sign follows."""
    decimals = len(quoted.partition(".")[2])
    return f"{100 * value if text[end] == '%' else value:.{decimals}f}"


@pytest.mark.parametrize(("page", "says", "figure", "names"), QUOTES)
def test_pages_quote_the_numbers_of_their_figures(page, says, figure, names):
    text = text_of(page)
    found = re.search(says, text)
    assert found, f"{page} no longer says {says}"
    for k, name in enumerate(names, start=1):
        value = NUMBERS[figure][name]
        assert found[k] == as_quoted(value, found[k], text, found.end(k)), name


def test_wrong_quotes_are_found():
    assert as_quoted(0.9959, "99.6", "99.6%", 4) == "99.6"
    assert as_quoted(0.9959, "99", "99%", 2) == "100"
    assert as_quoted(0.7369, "0.74", "0.74.", 4) == "0.74"


def test_every_figure_has_its_script_and_its_numbers():
    scripts = {path.stem for path in FIGURES.glob("*.py")} - {"make"}
    assert scripts == NUMBERS.keys() == {path.stem for path in FIGURES.glob("*.png")}
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")]
    texts = " ".join(path.read_text(encoding="utf-8") for path in pages)
    assert [name for name in scripts if f"figures/{name}.png" not in texts] == []
    assert [name for name in scripts if f"docs/figures/make.py {name}" not in texts] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_figures_make_these_numbers_again(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FIGURES), *sys.path])
    _, numbers = importlib.import_module(name).draw()
    assert numbers == pytest.approx(NUMBERS[name], abs=0.02, rel=0.02)


def compared():
    """Each peer's cells, the share in which graphuq is better, and both mean log scores."""
    scores = pd.read_csv(ROOT / "docs/numbers/side_by_side.csv").pivot(
        index=["data", "labels"], columns="method", values="log score"
    )
    found = {}
    for peer, method in PEERS.items():
        both = scores[["graphuq", method]].dropna()
        ours, theirs = both["graphuq"], both[method]
        found[peer] = len(both), (ours < theirs).mean(), ours.mean(), theirs.mean()
    return found


@pytest.mark.parametrize("page", ["README.md", HOW_TO + "compare.md", "docs/paper.md"])
def test_tables_of_peers_are_those_of_the_benchmark(page):
    found, seen = compared(), 0
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        peer, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if peer in PEERS and cells:
            count, share, ours, theirs = found[peer]
            numbers = re.findall(r"[\d.]+", " ".join(cells).replace("short of 80%", ""))
            expected = [str(count), f"{100 * share:.0f}", f"{ours:.3f}", f"{theirs:.3f}"]
            assert sorted(numbers) == sorted(expected), line
            seen += 1
    assert seen >= 5


def test_losses_are_those_of_the_benchmark():
    scores = pd.read_csv(ROOT / "docs/numbers/side_by_side.csv").pivot(
        index=["data", "labels"], columns="method", values="log score"
    )
    text = text_of(HOW_TO + "compare.md")
    words = {10: "ten", 22: "22"}
    for method in ("logistic regression", "GCN, temperature"):
        loss = scores["graphuq"] - scores[method]
        worse = loss[loss > 0]
        said = f"better in {words[len(worse)]} cells, by {worse.median():.2f} in the median"
        assert said in text
    citeseer = scores.loc["citeseer"].iloc[0]
    assert f"({citeseer['GCN, temperature']:.2f} for {citeseer['graphuq']:.2f})" in text


def test_the_paper_quotes_the_comparison_of_samplers():
    claims = json.loads((ROOT / "docs/numbers/beside_peers.json").read_text())["claims"]
    text = text_of("docs/paper.md")
    for start, decimals, says in (
        ("harmonic ESS per draw", 2, "a draw is worth {} and {} independent draws"),
        ("smallest ESS per second, over the best peer's", 0, "second is {} and {} times that of"),
        ("speed to the first 1,000", 1, "effective draws come {} and {} times as soon"),
    ):
        found = [value for claim, (value, _) in claims.items() if f": {start}" in claim]
        assert says.format(*(f"{value:.{decimals}f}" for value in found)) in text


def test_the_paper_counts_the_claims_of_the_page():
    (count,) = re.findall(r"\*\*(\d+ of \d+ claims) that", text_of("docs/reproduction/index.md"))
    assert f"{count} that the paper makes hold" in text_of("docs/paper.md")


@pytest.mark.parametrize("page", ["index", "other-papers"])
def test_reproductions_name_no_version_before_its_release(page):
    released = re.findall(r"^## \[(\d.*)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    made = re.findall(r"by graphuq (\d+\.\d+\.\d+)[,;]", text_of(f"docs/reproduction/{page}.md"))
    assert set(made) <= set(released)


def test_the_paper_cites_what_its_bibliography_has():
    cited = set(re.findall(r"@(\w+\d{4})", text_of("docs/paper.md")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/paper.bib").read_text(), re.M))


@pytest.mark.slow
def test_the_page_on_tables_prints_what_the_command_prints(tmp_path, monkeypatch, capsys):
    page = (ROOT / HOW_TO / "tables.md").read_text(encoding="utf-8")
    block = page.partition("It prints, with each number explained")[2].partition("It then lists")[0]
    shown = [line.strip() for line in block.splitlines() if line.startswith("    ")]
    monkeypatch.chdir(tmp_path)
    main(["example", "votes"])
    main(["sample", "votes.csv", "--label", "party"])
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert len(shown) > 5
    assert [line for line in shown if line != "..." and line not in printed] == []


def test_the_page_on_results_explains_every_column():
    """The names of columns are those of `graphuq/cli/item_tables.py` and of suspect labels."""
    text = (ROOT / HOW_TO / "reading-results.md").read_text(encoding="utf-8")
    X, y = gq.datasets.uci("iris")
    labels = gq.reveal(y, counts=4, seed=0)
    post = gq.approximate(gq.knn_graph(X, connect=True), gq.Probit(0.3), labels)
    source = (ROOT / "graphuq/cli/item_tables.py").read_text(encoding="utf-8")
    columns = set(re.findall(r'"(\w+)": ', source)) | {*post.uncertainty()}
    columns |= set(post.suspect_labels().columns) - {"node"}
    assert {"id", "rank", "mcse", "runner_up", "suspect"} <= columns
    assert [name for name in columns if f"`{name}`" not in text] == []
