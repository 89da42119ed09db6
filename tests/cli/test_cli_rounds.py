"""Rounds of labeling: suggest, update, and predictions for new items."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.files import read
from graphuq.cli.program import main
from graphuq.cli.saved_problem import load_problem

NAMES = np.array(["lower", "upper"])


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Two moons with three labels of each, and what graphuq sample makes of them."""
    folder = tmp_path_factory.mktemp("moons")
    X, y = gq.datasets.two_moons(90, seed=0)
    labels = gq.reveal(NAMES[y], counts=3, seed=0)
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    table.insert(0, "id", [f"m{i}" for i in range(90)])
    table["label"] = pd.Series(labels.values, labels.nodes).reindex(table.index)
    table.to_csv(folder / "moons.csv", index=False)
    table.assign(label=NAMES[y])[["id", "label"]].to_csv(folder / "all.csv", index=False)
    run = ["sample", "moons.csv", "--draws", "150", "--out", "result", "--seed", "3"]
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert main(run) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def moons(first, tmp_path, monkeypatch):
    """A copy of the folder, in which the test runs."""
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return pd.read_csv("all.csv").set_index("id")["label"]


@pytest.fixture(scope="module", autouse=True)
def short_reports():
    """Write a page with the commands alone: plots take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gq, "write_report", lambda subject, path: path.write_text(subject.command))
        yield


# What the labels choose by default.
CHOSEN = {"alpha", "tau", "gamma", "length_scale", "weight", "weight_2", "level"}


def run_of(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def prior_of(post):
    """Return the prior of a posterior, made anew from moons.csv."""
    items, settings = read("moons.csv"), post.settings["prior"]
    graph = gq.Prior.projected(items.to_graph(), 89, alpha=settings["alpha"], tau=settings["tau"])
    features = gq.FeaturePrior(items.features, settings["parts"][0]["length_scale"])
    terms = [graph, features, gq.LinearPrior(items.features), gq.Level(settings["level"])]
    return gq.SumPrior.of(terms, settings["weights"])


def test_the_posterior_has_the_names_of_the_items(moons):
    post = gq.load("result/posterior.nc")
    assert post.names.tolist() == [f"m{i}" for i in range(90)]


def answer(truth, rows=slice(None)):
    """Fill in labels of some rows of ask.csv, as an annotator does."""
    asked = pd.read_csv("ask.csv").astype({"label": object})
    asked.loc[asked.index[rows], "label"] = truth[asked["id"][rows]].to_numpy()
    asked.to_csv("ask.csv", index=False)
    return asked


def test_suggest_writes_a_table_to_fill_in(moons, capsys):
    assert main(["suggest", "result", "--k", "7", "--seed", "5", "--out", "ask.csv"]) == 0
    printed = capsys.readouterr().out
    asked = pd.read_csv("ask.csv")
    post = gq.load("result/posterior.nc")
    nodes = pd.read_csv("result/nodes.csv")
    prior = prior_of(post).with_labeled(post.labels.nodes)
    expected = post.suggest(7, prior=prior, seed=5)
    assert asked["id"].tolist() == nodes["id"][expected].tolist()
    assert asked["label"].isna().all()
    assert asked["prediction"].tolist() == post.prediction[expected].tolist()
    np.testing.assert_allclose(asked["confidence"], post.by_class[expected].max(axis=1))
    assert all(name in printed for name in asked["id"])
    assert "graphuq update result --labels ask.csv" in " ".join(printed.split())
    # a table that may be filled in is not replaced
    answer(moons, slice(2))
    filled = Path("ask.csv").read_bytes()
    assert main(["suggest", "result", "--out", "ask.csv"]) == 2
    assert "ask.csv exists: choose another --out" in capsys.readouterr().err
    assert Path("ask.csv").read_bytes() == filled


def test_update_samples_with_all_labels_on_the_graph_of_the_result(moons, monkeypatch, capsys):
    """Rows without an answer are ignored; graph, eigenpairs and parameters are not computed."""
    former = run_of("result")
    assert main(["suggest", "result", "--k", "5", "--out", "ask.csv"]) == 0
    asked = answer(moons, slice(4))
    with monkeypatch.context() as patch:
        patch.setattr("graphuq.graphs.spectrum.smallest_eigenpairs", None)
        patch.setattr(gq, "tune", None)
        assert main(["update", "result", "--labels", "ask.csv", "--out", "second"]) == 0
    assert "(chosen earlier, from 6 of the 10 labels" in capsys.readouterr().out
    run, post = run_of("second"), gq.load("second/posterior.nc")
    assert run["parameters"] == former["parameters"]
    assert (run["n_tuned"], len(post.labels), run["seed"]) == (6, 10, 3)
    assert "added 4 labels from ask.csv" in run["notes"]
    assert {"moons.csv", "ask.csv"} <= {Path(name).name for name in run["sha256"]}
    nodes = pd.read_csv("second/nodes.csv").set_index("id")
    assert nodes["label"].notna().sum() == 10
    assert nodes["label"][asked["id"][:4]].tolist() == asked["label"][:4].tolist()
    # as from Python
    likelihood = gq.Probit(run["parameters"]["gamma"])
    again = gq.sample(prior_of(post), likelihood, post.labels, draws=150, seed=3, progress=False)
    np.testing.assert_allclose(post.by_class, again.by_class, atol=1e-9)


def test_update_replaces_its_result_and_remembers_the_commands(moons, capsys):
    Path("more.csv").write_text("id,label\nm1,lower\nm2,upper\n")
    first, columns = (run_of("result")[name] for name in ("command", "columns"))
    second = "graphuq update result --labels more.csv --parameters keep --draws 20"
    assert main(second.split()[1:]) == 0
    assert run_of("result")["command"] == second
    assert run_of("result")["earlier"] == [first]
    assert run_of("result")["columns"] == columns
    assert [row["read_as"] for row in columns] == ["ids", "numbers", "numbers", "labels"]
    page = Path("result/report.html").read_text(encoding="utf-8")
    assert page == f"{first}\n{second}"
    capsys.readouterr()
    assert main(["report", "result", "--text"]) == 0
    assert f"\n  {first}\n  {second}\n" in capsys.readouterr().out
    # the whole loop goes on from here
    assert main(["suggest", "result", "--k", "2", "--json"]) == 0
    assert not {"m1", "m2"} & {row["id"] for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(
    ("parameters", "n_new", "n_tuned"),
    [
        ("auto", 5, 6),
        ("auto", 6, 12),
        pytest.param("choose", 5, 11, marks=pytest.mark.slow),
        ("keep", 6, 6),
    ],
)
def test_parameters_are_chosen_again_once_labels_have_doubled(moons, parameters, n_new, n_tuned):
    post = gq.load("result/posterior.nc")
    nodes = np.setdiff1d(np.arange(90), post.labels.nodes)[::7][:n_new]
    moons.iloc[nodes].to_csv("more.csv")
    assert main(["update", "result", "--labels", "more.csv", "--parameters", parameters,
                 "--draws", "20"]) == 0  # fmt: skip
    run = run_of("result")
    assert (run["n_tuned"], sum(run["labels"].values())) == (n_tuned, 6 + n_new)
    assert set(run["chosen"]) == CHOSEN


@pytest.mark.slow
@pytest.mark.filterwarnings("default:.*typing error:RuntimeWarning")
def test_labels_may_be_corrected_and_classes_added(moons, capsys):
    nodes = pd.read_csv("result/nodes.csv").dropna(subset="label")
    wrong, other = nodes["id"].iloc[0], nodes["id"].iloc[1]
    flipped = NAMES[nodes["label"].iloc[0] != NAMES][0]
    Path("more.csv").write_text(f"id,label\n{wrong},{flipped}\n{other},{nodes['label'].iloc[1]}\n")
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 0
    assert "replaced 1 label by those of more.csv" in capsys.readouterr().out
    Path("more.csv").write_text("id,seen,who\nm1,between,ann\n")
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 2
    assert "name one of its columns: 'id', 'seen', 'who'" in capsys.readouterr().err
    seen = ["--label", "seen"]
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20", *seen]) == 0
    told = capsys.readouterr()
    assert "new in more.csv: 'between'" in told.out
    assert "no earlier label is 'between': correct it if it is a typing error" in told.err
    run = run_of("result")
    assert run["classes"] == ["between", "lower", "upper"]
    assert run["n_tuned"] == 7  # three classes have other parameters than two
    Path("more.csv").write_text("id,label\nm2,Upper\n")
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 2
    error = capsys.readouterr().err
    assert "'Upper' in 1 row differs from 'upper' only in case or spaces: write" in error
    listed = [word for name in ("upper", "Upper") for word in ("--class", name)]
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20", *listed]) == 0
    assert "no earlier label" not in capsys.readouterr().err
    assert run_of("result")["classes"] == ["Upper", "between", "lower", "upper"]


def test_a_graph_is_updated_too(tmp_path, monkeypatch, capsys):
    networkx = pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    networkx.write_edgelist(networkx.karate_club_graph(), "karate.csv", delimiter=",", data=False)
    Path("clubs.csv").write_text("id,label\n0,Mr. Hi\n33,Officer\n")
    short = ["--draws", "20", "--alpha", "2", "--level", "0", "--gamma", "0.1"]
    assert main(["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *short]) == 0
    Path("clubs.csv").write_text("id,label\n1,Mr. Hi\n32,Officer\n")
    assert main(["update", "karate-graphuq", "--labels", "clubs.csv"]) == 0
    run = run_of("karate-graphuq")
    assert (run["edges"], run["neighbors"], set(run["chosen"])) == (78, None, set())
    assert run["labels"] == {"Mr. Hi": 2, "Officer": 2}
    assert main(["predict", "karate-graphuq", "clubs.csv"]) == 2
    assert "was made from a graph, and new items need features" in capsys.readouterr().err


def test_predictions_for_new_rows_are_those_of_the_estimator(moons, capsys):
    X, _ = gq.datasets.two_moons(140, seed=0)
    old = pd.read_csv("moons.csv")
    new = pd.DataFrame(X[90:, :2], columns=["a", "b"]).assign(id=[f"n{i}" for i in range(50)])
    new.loc[49, ["a", "b"]] = old.loc[7, ["a", "b"]].to_numpy()  # a fitted item
    new[["b", "id", "a"]].to_csv("new.csv", index=False)  # in another order
    before = {name: Path(name).read_bytes() for name in _files()}
    assert main(["predict", "result", "new.csv"]) == 0
    assert "50 new items:" in capsys.readouterr().out
    table = pd.read_csv("new-predictions.csv")
    items = read("moons.csv")
    center, scale = items.encoding.center, items.encoding.scale
    model = gq.BayesianGraphClassifier(n_neighbors=10, draws=150, seed=3)
    model.fit(items.features, items.known)
    p = model.predict_proba((new[["a", "b"]].to_numpy() - center) / scale)
    np.testing.assert_allclose(table[["probability_lower", "probability_upper"]], p, atol=1e-6)
    assert table["id"].tolist() == new["id"].tolist()
    assert table["prediction"].tolist() == NAMES[p.argmax(axis=1)].tolist()
    fitted = pd.read_csv("result/nodes.csv")["probability"][7]
    np.testing.assert_allclose(table["probability_upper"][49], fitted)
    # nothing else has changed, and predictions are made again
    assert {name: Path(name).read_bytes() for name in before} == before
    assert main(["predict", "result", "new.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 50


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("id,a\nn,1\n", "has no column 'b', from which features are made"),
        ("id,a,b\nn,1,\n", "values are missing or invalid in 1 of 1 row, first that of item 'n'"),
        ("id,a,b\nn,1,north\n", "expected numbers, as in the first file, got 'north'"),
        ("id,a,b\nn,1,2020-01-31\n", "expected numbers, as in the first file, got '2020-01-31'"),
        ("id,a,b\n", "no rows"),
        ("id,a,b\nn,1,2\nn,1,3\n", "line 3, column 'id': duplicate id 'n' (first in new.csv, li"),
        (
            "id,a,B\nn,1,2\n",
            "from which features are made: rename the column 'B'",
        ),
        ("id,a,b\nn,1,NaN\n", "values are missing or invalid in 1 of 1 row"),
        ("id,a,b\nn,1e200,2\n", "expected numbers up to 1e+100, got 1e+200: correct it\n"),
        ('id,a,b\nn,"1,234",2\n', "'1,234' may be 1.234 or 1234: write numbers with a decimal"),
    ],
)
def test_new_rows_that_do_not_fit_are_refused(moons, new, message, capsys):
    Path("new.csv").write_text(new)
    assert main(["predict", "result", "new.csv"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("new-predictions.csv").exists()
    if "missing" in message:
        assert main(["predict", "result", "new.csv", "--fill-missing"]) == 0
        assert "replaced missing values in 1 row by column means" in capsys.readouterr().out


def test_classes_of_the_result_stay_classes(tmp_path, monkeypatch):
    """NA may mark an unknown label, but not where it is a class; 1.0 is the class 1."""
    networkx = pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    networkx.write_edgelist(networkx.karate_club_graph(), "karate.csv", delimiter=",", data=False)
    short = ["--draws", "20", "--alpha", "2", "--level", "0", "--gamma", "0.1"]
    for first, second, options in (("NA", "EU", ["--class", "NA"]), ("1", "2", [])):
        Path("clubs.csv").write_text(f"id,label\n0,{first}\n33,{second}\n")
        result = ["karate.csv", "--edges", "--labels", "clubs.csv", *short, *options]
        assert main(["sample", *result, "--out", first]) == 0
        again = first if first == "NA" else "1.0"
        Path("clubs.csv").write_text(f"id,label\n1,{again}\n5,\n")
        assert main(["update", first, "--labels", "clubs.csv"]) == 0
        assert run_of(first)["labels"] == {first: 2, second: 1}


def test_images_and_ids_that_begin_like_formulas_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = gq.datasets.digit_pair(4, 9)
    X, y = X[:60], y[:60]
    labels = gq.reveal(y, counts=2, seed=0)
    known = np.full(60, -1)
    known[labels.nodes] = labels.values
    names = np.array([f"@{i}" for i in range(60)])
    np.savez("digits.npz", X=X.reshape(60, 8, 8), y=known, ids=names)
    short = ["--draws", "20", "--alpha", "2", "--level", "0", "--gamma", "0.1"]
    assert main(["sample", "digits.npz", "--images", *short]) == 0
    assert main(["suggest", "digits-graphuq", "--k", "3", "--out", "ask.csv"]) == 0
    asked = pd.read_csv("ask.csv").astype({"label": object})
    asked["label"] = [str(y[int(name[2:])]) for name in asked["id"]]  # '@7 is the item @7
    asked.to_csv("ask.csv", index=False)
    images = []
    monkeypatch.setattr(
        gq, "write_report",
        lambda subject, path: (images.append(subject.images), path.write_text("")),
    )  # fmt: skip
    assert main(["update", "digits-graphuq", "--labels", "ask.csv"]) == 0
    np.testing.assert_array_equal(images[0], X.reshape(60, 8, 8))
    assert sum(run_of("digits-graphuq")["labels"].values()) == 7


def damage(name, change):
    content = bytearray(Path(name).read_bytes())
    change(content)
    Path(name).write_bytes(content)


def flip(content):
    content[len(content) // 2] ^= 16


def cut(content):
    del content[-100:]


@pytest.mark.parametrize(
    ("spoil", "arguments", "message"),
    [
        (None, ["suggest", "result/posterior.nc"], "is not a folder"),
        (None, ["suggest", "result", "--k", "0"], "k must be between 1 and 84"),
        (None, ["update", "result", "--labels", "none.csv"], "there is no file none.csv"),
        (None, ["update", "result", "--labels", "old.csv"], "has no new label"),
        (None, ["update", "result", "--labels", "odd.csv"], "is not one of the 90 items"),
        (None, ["update", "nowhere", "--labels", "all.csv"], "nowhere is not a folder"),
        (lambda: os.remove("result/problem.npz"), ["suggest", "result"], "has no problem.npz"),
        (lambda: os.remove("result/run.json"), ["suggest", "result"], "run.json is missing"),
        (lambda: damage("result/problem.npz", flip), ["suggest", "result"], "is damaged"),
        (lambda: damage("result/problem.npz", cut), ["suggest", "result"], "is damaged"),
        (
            lambda: shutil.copy("other.npz", "result/problem.npz"),
            ["update", "result", "--labels", "all.csv"],
            "belongs to another posterior",
        ),
    ],
)
def test_what_cannot_be_continued_is_refused_in_one_line(spoil, arguments, message, moons, capsys):
    known = pd.read_csv("moons.csv").dropna(subset="label")[["id", "label"]]
    known.to_csv("old.csv", index=False)
    Path("odd.csv").write_text("id,label\nnobody,lower\n")
    arrays = dict(np.load("result/problem.npz"))
    arrays["basis"] = arrays["basis"] * np.where(np.arange(90) == 4, -1.0, 1.0)
    np.savez("other.npz", **arrays)
    if spoil is not None:
        spoil()
    before = {name: Path(name).read_bytes() for name in _files()}
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert {name: Path(name).read_bytes() for name in _files()} == before


@pytest.mark.parametrize("where", [(gq.Posterior, "save"), (gq, "write_report")])
def test_an_update_that_fails_leaves_the_result_as_it_was(where, moons, monkeypatch):
    before = {name: Path(name).read_bytes() for name in _files()}

    def fail(post, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(*where, fail)
    arguments = ["--parameters", "keep", "--draws", "20"]
    assert main(["update", "result", "--labels", "all.csv", *arguments]) == 2
    assert {name: Path(name).read_bytes() for name in _files()} == before


def _files():
    return [os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names]


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_problem_is_refused_or_reads_as_it_was(seed, moons):
    """Some bytes of an archive, such as the times of its parts, have no influence."""
    post, path = gq.load("result/posterior.nc"), Path("result/problem.npz")
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    first, refused = load_problem(Path("result"), post), []
    for _ in range(20):
        content = bytearray(whole)
        if rng.random() < 0.8:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        else:
            del content[rng.integers(len(content)) :]
        path.write_bytes(content)
        try:
            again = load_problem(Path("result"), post)
        except ValueError as error:
            refused.append(str(error))
            continue
        assert (again.graph.adjacency != first.graph.adjacency).nnz == 0
        np.testing.assert_array_equal(again.spectrum.basis, first.spectrum.basis)
        np.testing.assert_array_equal(again.features, first.features)
        ours, theirs = again.encoding.to_arrays(), first.encoding.to_arrays()
        for name in theirs:
            np.testing.assert_array_equal(ours[name], theirs[name])
    assert len(refused) > 10
    assert all("problem.npz" in message for message in refused)


@pytest.mark.parametrize(
    ("weight", "idle"), [(1.0, {"length_scale", "weight_2"}), (0.0, {"alpha", "tau"})]
)
def test_parameters_of_a_part_of_weight_0_are_not_shown(weight, idle, moons, monkeypatch, capsys):
    def tune(*arguments):
        found = gq.inference.tune.tune(*arguments)
        return dataclasses.replace(found, prior=found.prior.with_parameters(weight=weight))

    monkeypatch.setattr(gq, "tune", tune)
    assert main(["sample", "moons.csv", "--draws", "20", "--out", "again"]) == 0
    printed = capsys.readouterr().out
    shown = CHOSEN - idle
    assert set(run_of("again")["parameters"]) == shown
    shares = {"weight", "weight_2"}  # one row has all weights
    assert {name for name in (shown | idle) - shares if f"  {name} = " in printed} == shown - shares
    assert ("weights = 0, " in printed) == (weight == 0)


PAPER = ["--graph-weight", "1", "--level", "0", "--alpha", "1", "--gamma", "0.1"]


def test_a_given_alpha_keeps_features_and_level(moons):
    model = ["--alpha", "2", "--level", "0.5", "--draws", "20"]
    assert main(["sample", "moons.csv", *model, "--out", "given"]) == 0
    run = run_of("given")
    assert set(run["chosen"]) == CHOSEN - {"alpha", "tau", "level"}
    assert (run["parameters"]["alpha"], run["parameters"]["level"]) == (2.0, 0.5)
    # what was given stays when the labels choose the rest again
    more = ["--labels", "all.csv", "--draws", "20", "--parameters", "choose"]
    assert main(["update", "given", *more]) == 0
    again = run_of("given")
    assert set(again["chosen"]) == CHOSEN - {"alpha", "tau", "level"}
    assert (again["parameters"]["alpha"], again["parameters"]["level"]) == (2.0, 0.5)
    assert (run["n_tuned"], again["n_tuned"]) == (6, 90)


def test_the_prior_of_the_paper_is_the_graph_alone(moons):
    assert main(["sample", "moons.csv", *PAPER, "--draws", "150", "--out", "paper"]) == 0
    assert run_of("paper")["chosen"] == {}
    post, items = gq.load("paper/posterior.nc"), read("moons.csv")
    prior = gq.Prior.projected(items.to_graph(), 89)
    same = gq.sample(prior, gq.Probit(0.1), items.labels(), draws=150, seed=0, progress=False)
    np.testing.assert_allclose(post.probability, same.probability, atol=1e-6)
    # results have been saved so before there were levels; they go on as they are
    assert "weights" not in post.settings["prior"]
    moons.iloc[:3].to_csv("more.csv")
    assert main(["suggest", "paper", "--k", "2"]) == 0
    assert main(["update", "paper", "--labels", "more.csv", "--draws", "20"]) == 0
    Path("new.csv").write_text("id,a,b\nn,1,1\n")
    assert main(["predict", "paper", "new.csv"]) == 0
    assert isinstance(load_problem(Path("paper"), gq.load("paper/posterior.nc")).prior, gq.Prior)


def test_the_weight_of_the_graph_may_be_given(moons):
    model = ["--graph-weight", "0.25", "--gamma", "0.1", "--draws", "20"]
    assert main(["sample", "moons.csv", *model, "--out", "given"]) == 0
    assert set(run_of("given")["chosen"]) == CHOSEN - {"weight", "gamma"}
    weights = gq.load("given/posterior.nc").settings["prior"]["weights"]
    assert (weights[0], len(weights), sum(weights[1:])) == (0.25, 3, pytest.approx(0.75))
    more = ["--labels", "all.csv", "--draws", "20", "--parameters", "choose"]
    assert main(["update", "given", *more]) == 0
    weights = gq.load("given/posterior.nc").settings["prior"]["weights"]
    assert (weights[0], len(weights), sum(weights[1:])) == (0.25, 3, pytest.approx(0.75))


def test_confidences_of_labels_are_read_and_kept(moons, capsys):
    sure = gq.load("result/posterior.nc").labels
    assert sure.confidence is None
    more = pd.DataFrame({"id": ["m7", "m8"], "label": moons[["m7", "m8"]].tolist()})
    more.assign(confidence=["0.7", ""]).to_csv("more.csv", index=False)
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 0
    labels = gq.load("result/posterior.nc").labels
    trust = dict(zip(labels.nodes.tolist(), labels.confidence.tolist(), strict=True))
    assert (trust[7], trust[8], min(trust.values())) == (0.7, 1.0, 0.7)
    note = "more.csv: the column 'confidence' is "
    said = json.loads(Path("result/run.json").read_text())["notes"]
    assert f"{note}the probability that each label is right" in said
    # beside predictions, as graphuq suggest writes it, it is not that of the label
    shown = pd.DataFrame({"id": ["m9"], "label": [moons["m9"]], "prediction": [moons["m9"]]})
    shown.assign(confidence=0.6).to_csv("more.csv", index=False)
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 0
    labels = gq.load("result/posterior.nc").labels
    trust = dict(zip(labels.nodes.tolist(), labels.confidence.tolist(), strict=True))
    assert (trust[7], trust[9]) == (0.7, 1.0)
    said = json.loads(Path("result/run.json").read_text())["notes"]
    assert f"{note}that of the column 'prediction', and not used" in said
    # a label that becomes certain is a change
    more.assign(confidence=1.0)[:1].to_csv("more.csv", index=False)
    assert main(["update", "result", "--labels", "more.csv", "--draws", "20"]) == 0
    assert gq.load("result/posterior.nc").labels.confidence is None


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(moons, monkeypatch, capsys):
    def refuse(**_):
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr("graphuq.cli.result_folder.tempfile.mkdtemp", refuse)
    monkeypatch.setattr("graphuq.cli.sample.read_data", lambda _: pytest.fail("work was done"))
    assert main(["sample", "moons.csv", "--out", "new"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert re.search(r"cannot write to \S+ \(Permission denied\): choose another --out", error)


@pytest.mark.parametrize(("value", "shown"), [("1.5", "1.5"), ("0", "0.0"), ("likely", "'likely'")])
def test_bad_confidences_name_the_cell(moons, capsys, value, shown):
    more = pd.DataFrame({"id": ["m7", "m8"], "label": moons[["m7", "m8"]].tolist()})
    more.assign(confidence=["0.9", value]).to_csv("more.csv", index=False)
    assert main(["update", "result", "--labels", "more.csv"]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert f"more.csv, line 3, column 'confidence': {shown} is not a confidence" in printed


def test_confidences_of_a_second_table(moons):
    table = moons.iloc[::8].reset_index().assign(confidence=0.8)
    table.to_csv("some.csv", index=False)
    pd.read_csv("moons.csv").drop(columns="label").to_csv("plain.csv", index=False)
    assert main(["sample", "plain.csv", "--labels", "some.csv", "--draws", "20"]) == 0
    labels = gq.load("plain-graphuq/posterior.nc").labels
    np.testing.assert_allclose(labels.confidence, 0.8)


def test_methods_are_compared_on_the_problem_of_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = gq.datasets.two_moons(80, seed=0)
    names = np.array(["lower", "upper"])[y]
    table = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(id=[f"m{k}" for k in range(80)])
    known = np.where(np.arange(80) % 8 == 0, names, "")
    table.assign(label=known).to_csv("moons.csv", index=False)
    table.assign(label=names)[["id", "label"]].to_csv("truth.csv", index=False)
    assert main(["sample", "moons.csv", "--draws", "50", "--chains", "2"]) == 0
    capsys.readouterr()
    assert main(["compare", "moons-graphuq", "--truth", "truth.csv", "--json"]) == 0
    of_result = json.loads(capsys.readouterr().out)
    table.assign(label=known, truth=names).to_csv("both.csv", index=False)
    assert main(["compare", "both.csv", "--truth", "truth", "--json"]) == 0
    of_file = json.loads(capsys.readouterr().out)
    for one, other in zip(of_result, of_file, strict=True):
        assert one["method"] == other["method"]
        assert one["accuracy"] == other["accuracy"]
    for options, message in (
        ([], "has no true classes, against which methods are scored"),
        (["--truth", "truth.csv", "--fraction", "0.1"], "--fraction reveals others: leave it out"),
        (["--truth", "none.csv"], "none.csv"),
        (["--truth", "truth.csv", "--neighbors", "3"], "whose file was read before: only --truth"),
        (["--truth", "truth.csv", "--ignore", "a"], "whose file was read before: only --truth"),
    ):
        assert main(["compare", "moons-graphuq", *options]) == 2
        assert message in capsys.readouterr().err
