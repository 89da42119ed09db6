"""Links beside features: reading them, and results that use both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.cli.files import ReadOptions, read
from graphuq.cli.program import main
from graphuq.labeling.session import LabelingSession

QUICK = ["--draws", "100", "--chains", "2"]
ITEMS = "id,x,label\na,1,u\nb,2,\nc,4,v\nd,5,\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write items and links of them, and return how these are read."""
    monkeypatch.chdir(tmp_path)

    def read_both(links, items=ITEMS, name="links.csv", **options):
        Path("items.csv").write_text(items)
        Path(name).write_text(links)
        return read("items.csv", ReadOptions(links=Path(name), **options))

    return read_both


def test_links_join_the_items_that_they_name(written):
    found = written("from,to,weight\nd,a,2\na,b,1\ne,a,1\n")
    expected = np.zeros((4, 4))
    expected[[0, 3, 0, 1], [3, 0, 1, 0]] = 2, 2, 1, 1
    np.testing.assert_array_equal(found.graph.adjacency.toarray(), expected)
    assert found.linked
    assert found.features.shape == (4, 1)
    assert found.notes[-1] == "links.csv: left out 1 node that is no item: 'e'"
    assert found.notes[-2].endswith("each joins 'from' to 'to', with weight 'weight'")


def test_links_of_rows_that_are_dropped_go(written):
    blank = ITEMS.replace("b,2,", "b,,")
    found = written("a b\nb d\nd a\n", blank, "links.edges", missing="drop")
    assert found.ids.tolist() == ["a", "c", "d"]
    assert found.graph.adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_options_of_a_list_of_edges_hold_for_the_links(written):
    found = written("from;to;bond\na;b;0,5\nc;d;1,5\n", weight="bond", decimal=",")
    assert found.graph.adjacency.toarray()[[0, 2], [1, 3]].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("links", "items", "message"),
    [
        ("from,to\na1,b1\n", ITEMS, "links.csv links no two of the 4 items, such as 'a', 'b'"),
        ("from,to\na,a\nb,e\n", ITEMS, "links no two of the 4 items"),
        ("1,2\n4,2\n3,1\n", ITEMS.replace("id,", "z,"), "no names, which are then 0 to 3"),
        ("from,to\na,b\n", "source,target\na,b\n", "--links cannot be used with a list of edges"),
        ("from,to,w\na,b,-1\n", ITEMS, "links.csv, line 2.*not a positive number"),
        ("", ITEMS, "links.csv is empty"),
    ],
)
def test_links_that_cannot_be_used(written, links, items, message):
    with pytest.raises(ValueError, match=message):
        written(links, items)


def test_ignored_columns_may_be_those_of_the_links(written):
    links = "from,to,year\na,b,2001\nc,d,2002\n"
    with pytest.raises(ValueError, match="--ignore year"):
        written(links)
    assert written(links, ignore=("year",)).graph.n_edges == 2
    with pytest.raises(ValueError, match="no column 'month'"):
        written(links, ignore=("month", "year"))


def test_nodes_of_links_without_names_are_refused_for_items_with_names(written, tmp_path):
    A = sparse.csr_array(np.ones((4, 4)))
    sparse.save_npz(tmp_path / "links.npz", A)
    written("from,to\na,b\n")
    with pytest.raises(ValueError, match="save it with ids"):
        read("items.csv", ReadOptions(links=tmp_path / "links.npz"))


def test_one_array_for_links_and_one_for_features(tmp_path):
    path = tmp_path / "both.npz"
    A = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    arrays = {"adjacency": A, "X": np.arange(6.0).reshape(3, 2), "labels": ["u", "", "v"]}
    np.savez(path, **arrays)
    both = read(path)
    np.testing.assert_array_equal(both.graph.adjacency, A)
    np.testing.assert_array_equal(both.features, arrays["X"])
    assert both.linked
    assert both.notes[0].startswith("both the graph and X are used")
    alone = read(path, ReadOptions(ignore=("X",)))
    assert (alone.features, alone.linked) == (None, False)
    np.savez(path, **{**arrays, "X": arrays["X"][:2]})
    with pytest.raises(ValueError, match="X must have a row for each of 3 nodes, got 2"):
        read(path)
    Path(tmp_path / "links.csv").write_text("from,to\n0,1\n")
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="has links of its own"):
        read(path, ReadOptions(links=tmp_path / "links.csv"))


@pytest.fixture(scope="module")
def network():
    """A planted partition with weak words, of which the last 40 items are new."""
    graph, y = gq.datasets.planted_partition([120, 120], 0.045, 0.015, seed=0)
    order = np.random.default_rng(1).permutation(240)
    A, y = sparse.csr_array(graph.adjacency)[order][:, order], y[order]
    rng = np.random.default_rng(2)
    X = (rng.random((240, 12)) < 0.2 + 0.2 * (y[:, None] == np.arange(12) % 2)) * 1.0
    return A, X, y


@pytest.fixture(scope="module")
def folder(network, tmp_path_factory):
    """The files of the network, and a result of the first 200 items."""
    folder = tmp_path_factory.mktemp("network")
    A, X, y = network
    names = [f"n{k}" for k in range(240)]
    frame = pd.DataFrame(X, columns=[f"w{k}" for k in range(12)]).assign(id=names)
    labels = gq.reveal(y[:200], counts=8, seed=0)
    known = np.full(200, "", dtype=object)
    known[labels.nodes] = np.array(["even", "odd"])[labels.values]
    frame[:200].assign(label=known).to_csv(folder / "items.csv", index=False)
    frame[200:].to_csv(folder / "new.csv", index=False)
    i, j = sparse.triu(A).coords
    edges = pd.DataFrame({"from": np.array(names)[i], "to": np.array(names)[j]})
    edges.to_csv(folder / "links.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sample = ["sample", "items.csv", "--links", "links.csv", "--no-scale", "--out", "result"]
        assert main([*sample, *QUICK]) == 0
    return folder, labels


@pytest.fixture
def result(folder, monkeypatch):
    """The posterior and the labels of that result, whose folder is the current one."""
    monkeypatch.chdir(folder[0])
    return gq.load("result/posterior.nc"), folder[1]


def test_the_result_is_that_of_the_default_prior_in_python(result, network, capsys):
    post, labels = result
    A, X, y = network
    prior = gq.default_prior(A[:200][:, :200], X[:200], labels)
    tuned = gq.tune(prior, labels)
    assert tuned.prior.matches(post.settings["prior"])
    run = json.loads(Path("result/run.json").read_text())
    assert run["neighbors"] is None
    assert Path("links.csv").name in run["sha256"]
    both = post.accuracy(np.array(["even", "odd"])[y[:200]])
    alone = gq.approximate(gq.Graph(A[:200][:, :200]), gq.Probit(), labels).accuracy(y[:200])
    assert both > alone
    capsys.readouterr()
    assert main(["report", "result", "--text"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "graph, features, linear, features of linked items" in shown


def test_new_items_by_their_links_and_without(result, network, capsys):
    post, _ = result
    _, _, y = network
    truth = np.array(["even", "odd"])[y[200:]]
    right = {}
    for links in ([], ["--links", "links.csv"]):
        capsys.readouterr()
        assert main(["predict", "result", "new.csv", "--out", "new-predicted.csv", *links]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert ("new items have no links" in printed) != bool(links)
        found = pd.read_csv("new-predicted.csv")
        assert found.filter(like="probability_").sum(axis=1).sub(1).abs().max() < 1e-9
        right[bool(links)] = (found["prediction"] == truth).mean()
    assert right[True] > right[False] > 0.5
    assert right[True] > 0.75
    # a file of links that names no new item
    assert main(["predict", "result", "new.csv", "--links", "items.csv", "--out", "p.csv"]) == 2
    Path("weights.csv").write_text("from,to,weight,bond\nn200,n0,9,1\nn200,n1,1,9\nn201,n200,1,1\n")
    shares = []
    for name in ("weight", "bond"):
        known = ["--links", "weights.csv", "--weight", name, "--out", "p.csv"]
        assert main(["predict", "result", "new.csv", *known]) == 0
        shares.append(pd.read_csv("p.csv")["probability_odd"][0])
        assert "1 link between new items" in " ".join(capsys.readouterr().out.split())
    assert abs(shares[0] - shares[1]) > 1e-3
    # the same by hand
    A, X, _ = network
    prior = gq.default_prior(A[:200][:, :200], X[:200], post.labels)
    prior = gq.tune(prior, post.labels).prior
    by_hand = post.by_class_of_new(A[:200][:, :200], A[200:][:, :200], X[200:], prior=prior)
    np.testing.assert_allclose(found["probability_odd"], by_hand[:, 1], atol=1e-6)


def test_an_update_opens_the_parameters_again(result, network, capsys):
    post, _ = result
    _, _, y = network
    more = np.setdiff1d(np.arange(200), post.labels.nodes)[:30]
    rows = "".join(f"n{k},{('even', 'odd')[y[k]]}\n" for k in more)
    Path("more.csv").write_text(f"id,label\n{rows}")
    assert main(["update", "result", "--labels", "more.csv", "--out", "again", *QUICK]) == 0
    again = gq.load("again/posterior.nc")
    before, after = (p.settings["prior"] for p in (post, again))
    assert before["weights"] != after["weights"]
    A, X, _ = network
    tuned = gq.tune(gq.default_prior(A[:200][:, :200], X[:200], again.labels), again.labels)
    assert tuned.prior.matches(after)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--neighbors", "5"], "its links are a graph, and --neighbors builds one"),
        (["--largest-component"], "leave out --largest-component"),
    ],
)
def test_options_that_contradict_links(result, arguments, message, capsys):
    command = ["sample", "items.csv", "--links", "links.csv", "--out", "other", *arguments]
    assert main(command) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_answers_on_the_page_are_learned_with_links(result, network, tmp_path):
    post, labels = result
    A, X, y = network
    graph = gq.Graph(A[:200][:, :200])
    answers = tmp_path / "answers.csv"
    with LabelingSession(graph, answers, classes=["0", "1"], features=X[:200], linked=True) as page:
        for node in labels.nodes:
            page.answer(node, str(y[node]), who="Ann")
        page.wait(60.0)
        kinds = [type(part).__name__ for part in page.prior.parts]
        found = page.finish()
    assert kinds == [type(part).__name__ for part in gq.default_prior(graph, X[:200]).parts]
    assert np.abs(found.by_class - post.by_class).max() < 0.1


def test_compare_scores_the_model_of_sample_beside_others(result, network, capsys):
    post, _ = result
    y = network[2][:200]
    classes = np.array(["even", "odd"])[y]
    Path("truth.csv").write_text(
        "id,label\n" + "".join(f"n{k},{c}\n" for k, c in enumerate(classes))
    )
    read_as = ["items.csv", "--links", "links.csv", "--no-scale", "--truth", "truth.csv"]
    for arguments in (read_as, ["result", "--truth", "truth.csv"]):
        assert main(["compare", *arguments, "--json"]) == 0
        rows = {row["method"]: row for row in json.loads(capsys.readouterr().out)}
        own = rows["posterior of probit, auto"]
        assert abs(own["accuracy"] - post.accuracy(classes)) < 0.04
        assert own["brier"] < rows["logistic regression"]["brier"]
    # an item without links, so that some methods need more
    lines = Path("links.csv").read_text().splitlines()
    Path("some.csv").write_text("\n".join(line for line in lines if "n3," not in f"{line},"))
    assert main(["compare", "items.csv", "--links", "some.csv", *read_as[3:]]) == 0
    assert "robust GC is left out: the graph is disconnected" in capsys.readouterr().out


def test_links_of_new_items_need_a_result_with_links_and_names(result, capsys):
    assert main(["predict", "result", "items.csv", "--links", "links.csv", "--out", "p.csv"]) == 2
    assert "give new items names of their own" in " ".join(capsys.readouterr().err.split())
    assert main(["sample", "items.csv", "--out", "knn", *QUICK]) == 0
    capsys.readouterr()
    assert main(["predict", "knn", "new.csv", "--links", "links.csv", "--out", "p.csv"]) == 2
    assert "leave out --links" in " ".join(capsys.readouterr().err.split())
