"""Numbers of README, documentation and paper are those of the files that commands wrote.

``docs/figures/numbers.json`` comes from ``python docs/figures/make.py``, and ``docs/numbers`` from
the benchmarks that its README names. The slow tests run what takes seconds again.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from benchmarks.trust import approximation, calibration
from graphuq.cli.program import main
from graphuq.posterior.assessment import diagnostics, trust

ROOT = Path(gq.__file__).parents[1]
FIGURES = ROOT / "docs/figures"
MADE = json.loads((FIGURES / "numbers.json").read_text())
HOW_TO = "docs/how-to/"
FAILS = HOW_TO + "when-it-fails.md"
REPORTS = {path.stem: json.loads(path.read_text()) for path in ROOT.glob("docs/numbers/*.json")}
SIDE_BY_SIDE = pd.read_csv(ROOT / "docs/numbers/side_by_side.csv").pivot(
    index=["data", "labels"], columns="method"
)
LOG_SCORES, ACCURACIES = SIDE_BY_SIDE["log score"], SIDE_BY_SIDE["accuracy"]

# peers as pages call them, and as the benchmark does
PEERS = {
    "graph Matern Gaussian process": "graph Matern",
    "Laplace learning": "Laplace",
    "Gaussian process on the features": "Gaussian process",
    "label spreading": "label spreading",
    "graph convolutional network": "GCN",
    "graph convolutional network with temperature": "GCN, temperature",
    "random forest": "random forest",
    "calibrated random forest": "random forest, calibrated",
    "calibrated support vectors": "support vectors, calibrated",
    "logistic regression": "logistic regression",
}
# methods of a page on cells, and of its benchmark
ANNOTATED = {
    "`gq.annotate`": "gq.annotate, sample",
    "weighted neighbors of scArches": "scArches' weighted neighbors",
    "logistic regression": "scikit-learn, logistic regression",
    "Gaussian process": "scikit-learn, gaussian process",
    "label spreading": "scikit-learn, label spreading",
}
IN_README = (
    "graph Matern Gaussian process",
    "label spreading",
    "calibrated random forest",
    "graph convolutional network with temperature",
    "logistic regression",
)
# problems of the harmonic sampler as the page calls them, and as the benchmark does
TURNED = {
    "two moons, 100 labels": "two moons",
    "two moons, 10 labels": "two moons, 10 labels",
    "two moons, level-set": "two moons, level-set",
    "two moons, noisy probit": "two moons, noisy probit",
    "three classes, 30 labels": "three classes",
    "MNIST (4, 9), 160 labels": "MNIST (4, 9)",
}
# data of labeling sessions as the page calls them, and as the files of the benchmark do
ASKED = {
    "MNIST 4 and 9, 2,000 items": "mnist_4_9",
    "voting records, 369 items": "votes",
    "`ionosphere`, 298 items": "ionosphere",
    "`pima`, 652 items": "pima",
    "`reuters_r8`, 2,000 texts, eight classes": "reuters",
    "ten digits of MNIST, 2,000 items": "mnist_ten",
}
# data of sessions that stop
STOPPED = {
    "MNIST 4 and 9": "mnist 4,9",
    "`reuters_r8`": "reuters",
    "voting records": "votes",
    "`ionosphere`": "ionosphere",
    "`pima`": "pima",
}
NEEDED = ["answers to the goal", "standard error", "runs that reach it"]


def beside(peer):
    """The share of cases in which graphuq is better than a peer, their number, and both scores."""
    both = LOG_SCORES[["graphuq", PEERS[peer]]].dropna()
    ours, theirs = both["graphuq"], both[PEERS[peer]]
    return (ours < theirs).mean(), len(both), ours.mean(), theirs.mean()


def wins(peer, scores=ACCURACIES):
    """The number of cases in which the score of graphuq is higher than a peer's, and of all."""
    both = scores[["graphuq", PEERS[peer]]].dropna()
    return (both["graphuq"] > both[PEERS[peer]]).sum(), len(both)


def losses(peer):
    """The number of cases in which a peer is better, and by how much in the median."""
    loss = LOG_SCORES["graphuq"] - LOG_SCORES[PEERS[peer]]
    return (loss > 0).sum(), loss[loss > 0].median()


def parts(more):
    """The number of cases in which one part is better by more than this, and of all cases."""
    scores = LOG_SCORES[["graphuq", "graph + level", "features + level"]].dropna()
    best = scores[["graph + level", "features + level"]].min(axis=1)
    return (scores["graphuq"] > best + more).sum(), len(scores)


def rows(name, **where):
    """The rows of a benchmark that have these values in these columns."""
    table = pd.DataFrame(REPORTS[name]["rows"])
    return table[(table[list(where)] == pd.Series(where)).all(axis=1)]


def claims(name, part):
    """The values of the claims of a benchmark that contain this."""
    return [value for claim, (value, _) in REPORTS[name]["claims"].items() if part in claim]


def turned(problem):
    """Walls hit at 0.6 pi and at a quarter turn, and squared errors with their standard errors."""
    far, quarter = (
        rows("angle", **{"problem": problem, "angle / pi": angle}).iloc[0] for angle in (0.6, 0.5)
    )
    errors = [f"{name}{of}" for name in ("E[u]", "E[u^2]", "predictive") for of in ("", " +-")]
    return far["walls hit"], quarter["walls hit"], *far[[*errors, "predictive x time"]]


def quotes():
    """Yield a page, what it says, with {} for each number, and the numbers."""
    unsure = [MADE["overview"][f"accuracy of the {which}"] for which in ("unsure", "others")]
    says = "right for {} of the images that it calls unsure, and for {} of all others"
    yield "README.md", says, unsure
    says = "{} of the images that it calls unsure are classified correctly, and {} of all others"
    yield "docs/paper.md", says, unsure
    for page in ("README.md", "docs/index.md"):
        yield page, "calibration error is {}. With [few", [MADE["overview"]["calibration error"]]

    apart = MADE["uncertainty"]
    says = "the entropy is {} nats on average, of which {} is aleatoric"
    yield HOW_TO + "uncertainty.md", says, [apart["total, border"], apart["aleatoric, border"]]
    says = "group the entropy is {} nats, near that of a coin toss, of which {} is epistemic"
    yield HOW_TO + "uncertainty.md", says, [apart["total, apart"], apart["epistemic, apart"]]

    differ = MADE["heterophily"]
    yield FAILS, "within a class, {} of the predictions are right.", [differ["accuracy at 0.9"]]
    yield FAILS, "With one of ten, {} are right.", [differ["accuracy at 0.1"]]
    says = "By smooth modes alone {} would be, and the log score of {} would be worse"
    yield FAILS, says, [differ["accuracy, smooth at 0.1"], differ["log score, smooth at 0.1"]]
    yield FAILS, "In the picture the log score is then {}, worse", [differ["log score at 0.5"]]
    says = "classes the log score is {}, against {} by the smooth modes"
    yield "docs/paper.md", says, [differ["log score at 0.1"], differ["log score, smooth at 0.1"]]

    for share in (0.0, 0.1, 0.3, 0.5, 0.7):
        cells = [
            rows("heterophily", nodes=400, classes=K, **{"share within classes": share}).iloc[0]
            for K in (2, 4, 8)
        ]
        values = [c[f"{m}, by evidence"] for c in cells for m in ("accuracy", "log score")]
        yield FAILS, f"| {share:.0%} | {{}}, {{}} | {{}}, {{}} | {{}}, {{}} |", values

    shares = MADE["shares"]
    says = "At equal shares {} of the predictions are right."
    yield FAILS, says, [shares["accuracy at 0.5"]]
    says = "If a tenth of the items are threes, {} are right"
    yield FAILS, says, [shares["accuracy at 0.1"]]
    yield FAILS, "In the picture {} are then right", [shares["accuracy, shares given at 0.1"]]

    few = MADE["few_labels"]
    says = "the accuracy is {} on average, but anything between {} and {}"
    names = ("accuracy with 1", "lowest accuracy with 1", "highest accuracy with 1")
    yield FAILS, says, [few[name] for name in names]
    yield FAILS, "its mean confidence is {}.", [few["confidence with 1"]]
    says = "five labels of each class the mean confidence is {}, and the accuracy {}."
    yield FAILS, says, [few["confidence with 5"], few["accuracy with 5"]]
    yield FAILS, "forty labels of each class the accuracy is {},", [few["accuracy with 40"]]
    remaining = rows("few_labels", classes="simulated, tuned").set_index("data")["ECE"]
    says = "error of {} on the graph of ten digits, and of {} on that of the seven topics of Cora"
    yield FAILS, says, remaining[["mnist", "cora"]]

    network = "graph convolutional network"
    for name in ("Cora", "Citeseer", "Pubmed"):
        cell = (name.lower(), "published")
        both = (
            table.loc[cell, ["GCN, temperature", "graphuq"]] for table in (ACCURACIES, LOG_SCORES)
        )
        yield FAILS, f"| {name} |" + " {} |" * 4, np.concatenate(list(both))
    for page in ("README.md", HOW_TO + "compare.md", "docs/paper.md"):
        yield page, "n {} data sets", [LOG_SCORES.index.get_level_values("data").nunique()]
    texts = -LOG_SCORES.loc[["cct", "reuters_r8"]]
    won, of = wins("logistic regression", texts)
    yield FAILS, "has the better log score in {} of {} cases", [of - won, of]
    many = ACCURACIES.xs("80 a class", level="labels")
    says = "graphuq is more accurate than the network in {} of {} cases."
    yield FAILS, says, wins(network, many)
    says = "more accurate than the graph convolutional network in {} of {} cases, and more accurate"
    counts = [*wins(network), *wins("logistic regression")]
    yield HOW_TO + "compare.md", says + " than logistic regression in {} of {}.", counts

    for page, peers in (
        ("README.md", IN_README),
        (HOW_TO + "compare.md", PEERS),
        ("docs/paper.md", PEERS),
    ):
        for peer in peers:
            yield page, f"| {peer} | {{}} of {{}} cases | {{}} | {{}} |", beside(peer)
    compare = HOW_TO + "compare.md"
    says = "Logistic regression is better in {} cases, by {} in the median"
    yield compare, says, losses("logistic regression")
    says = "Random forests are better in {} cases, by {} in the median"
    yield compare, says, losses("random forest")
    says = "networks with temperature are better in {} cases, by {} in the median"
    yield compare, says, losses("graph convolutional network with temperature")
    counts = [
        len(LOG_SCORES),
        *(beside(peer)[1] for peer in ("random forest", "calibrated random forest")),
    ]
    says = "There are {} cases. A row has the cases in which that peer ran: in {} there are"
    yield compare, says + " features, and in {} every class has the two labels", counts
    yield compare, "by more than 0.02 in {} of {} cases", parts(0.02)
    says = "the graph alone has a log score of {}, and both together of {}."
    alone = LOG_SCORES.loc["brown-selected", "random 4%"]
    yield compare, says, alone[["graph + level", "graphuq"]]

    for data in ("two moons", "votes", "digits 1 and 8"):
        for count in (3, 10):
            scores = rows("heavy_tails", data=data, **{"labels of each class": count})["log score"]
            yield HOW_TO + "samplers.md", f"| {data}, {count} | {{}} | {{}} | {{}} |", scores

    for data in ("two moons", "votes"):
        scores = rows("unknown_epsilon", data=data)["log score"]
        yield HOW_TO + "samplers.md", f"| {data} " + "| {} " * 7 + "|", scores
    errors = rows("unknown_epsilon", data="votes", method="epsilon 0.3")["error of log evidence"]
    says = "the log evidence of `epsilon=0.3` has an error of up to {}, so"
    yield HOW_TO + "samplers.md", says, errors

    for says, claim in (
        (
            "worth {} independent draws on two moons (100 labels), and {}",
            "harmonic ESS per draw",
        ),
        ("at the worst node is {} and {} times that of", "per second, over the best peer's"),
        ("effective draws {} and {} times as fast", "speed to the first 1,000"),
    ):
        yield "docs/paper.md", says, claims("beside_peers", claim)
    reproduced = numbers_of(text_of("docs/reproduction/index.md"), "**{} of {} claims that")
    says = "{} of {} claims that the paper makes hold"
    yield "docs/paper.md", says, [int(number) for number, _ in reproduced]

    for pair in ("4 and 9", "3 and 8", "1 and 7"):
        curves = rows("active_scikit", digits=pair).set_index("strategy")["mean of the curve"]
        says = f"| {pair} | {{}} | {{}} | {{}} |"
        yield HOW_TO + "new-labels.md", says, curves[["random", "margin", "bald"]]

    wrong = HOW_TO + "wrong-labels.md"
    runs = rows("suspects_beside_cleanlab")
    for name, means in runs.groupby("data")[["suspect_labels", "cleanlab"]].mean().iterrows():
        yield wrong, f"| {name} | {{}} | {{}} |", means
    yield wrong, "as good in {} of {} runs", [(runs["gain"] >= 0).sum(), runs["gain"].count()]
    planted, flagged, found = runs[["wrong", "flagged", "flagged, wrong"]].sum()
    says = "flags {} of 1,430 flipped labels, and {} right ones"
    assert planted == 1430
    yield wrong, says, [found, flagged - found]
    yield wrong, "Without flips it flags {}", [runs["flagged"][runs["wrong"] == 0].sum()]

    for name, method in ANNOTATED.items():
        scores = rows("annotate_cells", method=method)[["accuracy", "log score"]]
        yield HOW_TO + "cells.md", f"| {name} |" + " {} |" * scores.size, scores.stack()
    ahead = rows("annotate_cells", method=ANNOTATED["weighted neighbors of scArches"])
    says = "weighted neighbors: {} with 5 labels of each type, {} with 10 labels, and {} with 20"
    yield HOW_TO + "cells.md", says, ahead["gq.annotate is better in"]

    session, asked = "docs/theory/labeling.md", []
    for name, problem in ASKED.items():
        runs = rows(f"label_session_{problem}").set_index("order")
        asked.append(runs.loc["session"])
        needed = runs.loc[["session", "random", "entropy"], NEEDED].stack()
        says = f"| {name} | {{}} | {{}} |" + " {} ± {} ({}) |" * 3 + " {} |"
        first = asked[-1][["of", "goal"]]
        yield session, says, [*first, *needed, asked[-1]["intervals that hold the accuracy"]]
    counts, covers = ([run[name] for run in asked] for name in ("forecasts", "that cover"))
    share = np.dot(counts, covers) / sum(counts)
    yield session, "{} of {} forecasts contained", [share, sum(counts)]

    runs = rows("when_to_stop")
    counts = ["sessions", "stop", "have reached it", "answers", "sample", "oracle"]
    trusting = ["expect it", "and have reached it"]
    for name, data in STOPPED.items():
        for _, run in runs[runs["data"] == data].iterrows():
            says = f"| {name}, {run['goal']:.1%} |" + " {} |" * 8
            yield session, says, run[counts + trusting]
    told = runs[["sessions", "stop", "have reached it", *trusting]].sum()
    (cost,) = claims("when_to_stop", "relative to an oracle")
    label = HOW_TO + "label.md"
    says = "In {} simulated sessions on five data sets, {} ended this way, {} of them"
    yield label, says, told.iloc[:3]
    yield label, "alone decided, only {} of the {} had", [told.iloc[4], told.iloc[3]]
    yield label, "sessions took {} times as many", [cost]
    says = "{} of the {} sessions that stop have reached the goal, and"
    yield session, says, [told.iloc[2], told.iloc[1]]
    yield session, "But a session takes {} times", [cost]
    left = runs["sessions"] - runs["stop"]
    says = "{} sessions do not stop before the largest number of questions, {} of them on"
    yield session, says, [left.sum(), left[runs["data"] == "ionosphere"].sum()]

    samplers = "docs/theory/samplers.md"
    for name, problem in TURNED.items():
        says = f"| {name} | {{}} ({{}}) | {{}} ± {{}} | {{}} ± {{}} | {{}} ± {{}} | {{}} |"
        yield samplers, says, turned(problem)
    (best,) = claims("angle", "squared error of probabilities")
    yield samplers, "the mean gain on probabilities is {}", [1 - best]

    (worst,) = claims("eigenpairs", "its largest error of a posterior mean")
    yield HOW_TO + "large-graphs.md", "largest error of a posterior mean is then {}", [worst]
    results = HOW_TO + "reading-results.md"
    yield results, "above {}: amber; above {}: red", [trust.STRICT_R_HAT, diagnostics.R_HAT]
    yield results, "below {}: amber; below {}: red", [trust.STRICT_ESS, diagnostics.ESS]
    yield results, "were accepted | at most {} |", [diagnostics.ACCEPTANCE]
    model = HOW_TO + "which-model.md"
    yield model, "calibration error of at most {} on pairs of digits", [calibration.HIGHEST]
    yield model, "mean difference of at most {}.", [approximation.HIGHEST]


def text_of(page):
    """The text of a page in one line."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


NUMBER = r"(\d+(?:,\d{3})*(?:\.\d+)?)(%?)"


def numbers_of(text, says):
    """Return the numbers in place of each {}, with whether they are percentages, or None."""
    pattern = re.escape(says).replace(r"\{\}", NUMBER)
    found = re.search(pattern, text)
    return found and list(zip(found.groups()[::2], found.groups()[1::2], strict=True))


def as_quoted(value, number, percent):
    """The value with the decimals of the quote."""
    decimals = len(number.partition(".")[2])
    comma = "," if "," in number else ""
    return f"{100 * value if percent else value:{comma}.{decimals}f}"


@pytest.mark.parametrize(("page", "says", "values"), list(quotes()))
def test_pages_quote_the_numbers_that_commands_wrote(page, says, values):
    found = numbers_of(text_of(page), says)
    assert found, f"{page} no longer says {says}"
    expected = zip(values, found, strict=True)
    assert [number for number, _ in found] == [as_quoted(v, *f) for v, f in expected]


def test_the_ratio_of_evidences_in_the_tutorial_is_that_of_its_example():
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"gq\.evidence\(papers.*\n([\d.]+)\n", text)
    says = f"log evidences is {printed}, a ratio of evidences of about "
    ratio = re.search(re.escape(says) + r"(\d+)", text_of("docs/tutorial.md"))
    assert np.exp(float(printed)) == pytest.approx(float(ratio[1]), rel=0.05)


def test_wrong_quotes_are_found():
    assert numbers_of("it is 0.5, or 12%.", "is {}, or {}.") == [("0.5", ""), ("12", "%")]
    assert numbers_of("it is 0.5.", "is {}") == [("0.5", "")]
    assert as_quoted(0.9959, "99.6", "%") == "99.6"
    assert as_quoted(0.9959, "99", "%") == "100"
    assert as_quoted(0.7369, "0.74", "") == "0.74"


def test_every_figure_has_its_script_and_its_numbers():
    scripts = {path.stem for path in FIGURES.glob("*.py")} - {"make"}
    assert scripts == MADE.keys() == {path.stem for path in FIGURES.glob("*.png")}
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")]
    texts = " ".join(path.read_text(encoding="utf-8") for path in pages)
    assert [name for name in scripts if f"figures/{name}.png" not in texts] == []
    assert [name for name in scripts if f"docs/figures/make.py {name}" not in texts] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MADE))
def test_figures_make_these_numbers_again(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FIGURES), *sys.path])
    _, numbers = importlib.import_module(name).draw()
    assert numbers == pytest.approx(MADE[name], abs=0.02, rel=0.02)


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
    block = page.partition("lines of it:")[2].partition("It then lists")[0]
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
