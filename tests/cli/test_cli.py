from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from references.selection import first_of

import graphuq as gq
from graphuq.cli.program import main
from graphuq.cli.run_summary import SCORES

QUICK = ["--draws", "200"]


@pytest.fixture
def records(tmp_path, monkeypatch):
    """The voting records as a table: five labels with names of their own, and the parties."""
    try:
        X, y = gq.datasets.vote()
    except FileNotFoundError as error:
        pytest.skip(f"needs vote.npz: {error}")
    parties = np.array(["Démocrate", "the others"])[y]
    labels = gq.reveal(parties, counts={"Démocrate": 3, "the others": 2}, seed=0)
    frame = pd.DataFrame(X.astype(int), columns=[f"vote{k}" for k in range(1, 17)])
    frame.insert(0, "member", [f"m{i:03d}" for i in range(435)])
    frame["known"] = pd.Series(labels.values, labels.nodes).reindex(frame.index)
    frame["party"] = parties
    monkeypatch.chdir(tmp_path)
    frame.to_csv("votes.csv", index=False)
    return frame


@pytest.fixture
def karate(tmp_path, monkeypatch):
    """The karate club as a list of edges, and two labels."""
    networkx = pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    network = networkx.karate_club_graph()
    networkx.write_edgelist(network, "karate.csv", delimiter=",", data=False)
    (tmp_path / "clubs.csv").write_text("id,label\n0,Mr. Hi\n33,Officer\n")
    return network


FILES = [
    "nodes.csv", "posterior.nc", "problem.npz", "report.html", "run.json", "suspects.csv",
    "uncertain.csv",
]  # fmt: skip
VOTES = ["votes.csv", "--id", "member", "--label", "known"]


def test_sample_writes_what_the_posterior_says(records, capsys):
    begun = time.process_time()
    assert main(["sample", *VOTES, "--truth", "party", "--out", "result"]) == 0
    assert time.process_time() - begun < 60
    printed = capsys.readouterr().out
    assert sorted(os.listdir()) == ["result", "votes.csv"]
    assert sorted(os.listdir("result")) == FILES
    nodes, written = (pd.read_csv("result/nodes.csv", dtype=dtype) for dtype in (None, str))
    post = gq.load("result/posterior.nc")
    assert nodes["id"].tolist() == records["member"].tolist()
    assert nodes["label"].equals(records["known"])
    assert nodes["prediction"].tolist() == post.prediction.tolist()
    for name in ("probability", "variance"):
        np.testing.assert_array_equal(written[name].astype(float), getattr(post, name))
    np.testing.assert_array_equal(written["mcse"].astype(float), post.probability_mcse)
    for name, part in post.uncertainty().items():
        np.testing.assert_array_equal(written[name].astype(float), part)
    np.testing.assert_array_equal(nodes.sort_values("rank").index, post.ranking())
    np.testing.assert_allclose(
        nodes["confidence"],
        np.where(post.prediction == "the others", post.probability, 1 - post.probability),
    )
    suspects = pd.read_csv("result/suspects.csv")
    assert sorted(suspects["id"]) == records["member"][records["known"].notna()].tolist()
    run = json.loads(Path("result/run.json").read_text(encoding="utf-8"))
    assert run["accuracy"] == pytest.approx(post.accuracy(records["party"].to_numpy()))
    assert run["accuracy"] > 0.85
    assert run["labels"] == {"Démocrate": 3, "the others": 2}
    chosen = {"alpha", "tau", "length_scale", "weight", "weight_2", "level", "gamma"}
    assert set(run["chosen"]) == chosen
    told = " ".join(printed.split())
    assert f"are predicted correctly from the labels: {run['accuracy']:.1%}" in told
    unlabeled = nodes[nodes["label"].isna()].sort_values("rank")
    listed = printed.partition("ARE SUSPECT?")[0]
    assert re.findall(r"^ +(m\d{3}) +(?:Dém|the)", listed, re.M) == unlabeled["id"][:20].tolist()
    assert set(run["label_next"]) <= set(unlabeled["id"])


@pytest.mark.slow
def test_sample_never_learns_from_the_truth(records):
    main(["sample", *VOTES, *QUICK, "--truth", "party", "--out", "scored"])
    main(["sample", *VOTES, *QUICK, "--ignore", "party", "--out", "blind"])
    scored, blind = pd.read_csv("scored/nodes.csv"), pd.read_csv("blind/nodes.csv")
    pd.testing.assert_frame_equal(scored.drop(columns="truth"), blind)


@pytest.mark.slow
def test_the_command_in_a_result_reproduces_it(records):
    main(["sample", *VOTES, *QUICK, "--ignore", "party", "--out", "first"])
    command = json.loads(Path("first/run.json").read_text(encoding="utf-8"))["command"]
    again = [*shlex.split(command)[1:-1], "second"]
    main(again)
    first, second = (Path(f"{name}/nodes.csv").read_bytes() for name in ("first", "second"))
    assert first == second
    main([*again[:-1], "third", "--seed", "1"])
    assert Path("third/nodes.csv").read_bytes() != first


@pytest.mark.slow
def test_invalid_rows_are_refused_dropped_or_filled(records, capsys):
    spoilt = np.random.default_rng(0).choice(435, size=9, replace=False)
    frame = records.astype({"vote3": object, "vote7": object})
    frame.loc[spoilt[:5], "vote3"] = None
    frame.loc[spoilt[5:], "vote7"] = "oops"
    frame.to_csv("votes.csv", index=False)
    rest = ["sample", *VOTES, *QUICK, "--truth", "party", "--out", "result"]
    assert main(rest) == 2
    row = int(spoilt[5:].min())
    error = capsys.readouterr().err
    assert re.search(r"^\? vote3 +numbers .* 5  --fill-missing .* --drop-missing \(9 rows\)$",
                     error, re.M)  # fmt: skip
    assert f"    line {row + 2}: 'oops' is not a finite number\n" in error
    assert os.listdir() == ["votes.csv"]
    assert main([*rest, "--drop-missing"]) == 0
    assert "dropped 9 of 435 rows (2.1%)" in " ".join(capsys.readouterr().out.split())
    nodes = pd.read_csv("result/nodes.csv")
    assert nodes["id"].tolist() == records["member"].drop(spoilt).tolist()
    assert main([*rest[:-1], "filled", "--fill-missing"]) == 0
    assert len(pd.read_csv("filled/nodes.csv")) == 435


@pytest.mark.slow
def test_published_answers_and_abstentions_are_numbers(records, capsys):
    votes = records.filter(like="vote").replace({1: "y", -1: "n", 0: "?"})
    records.assign(**votes).to_csv("votes.csv", index=False)
    rest = ["--truth", "party", "--fill-missing", "--json", "--out", "result"]
    assert main(["sample", *VOTES, *QUICK, *rest]) == 0
    run = json.loads(capsys.readouterr().out)
    assert any("392 missing or invalid values in 203 rows" in note for note in run["notes"])
    assert run["accuracy"] > 0.85


def test_sample_a_list_of_edges(karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", "--json"]
    model = ["--gamma", "0.1", "--alpha", "2", "--level", "0", "--rank", "10"]
    assert main([*arguments, *model]) == 0
    run = json.loads(capsys.readouterr().out)
    assert (run["items"], run["edges"], run["neighbors"]) == (34, 78, None)
    assert run["chosen"] == {}
    nodes = pd.read_csv("karate-graphuq/nodes.csv", dtype={"id": str})
    clubs = [karate.nodes[int(name)]["club"] for name in nodes["id"]]
    assert (nodes["prediction"] == clubs).sum() >= 31
    # the same as from Python
    post = gq.sample(
        gq.Prior.projected(gq.Graph(karate_binary(nodes["id"], karate)), 10, alpha=2.0),
        gq.Probit(0.1),
        gq.Labels(np.flatnonzero(nodes["label"].notna()), nodes["label"].dropna()),
        seed=0,
        progress=False,
    )
    np.testing.assert_allclose(nodes["probability"], post.probability, atol=1e-9)


def karate_binary(names, network):
    import networkx

    nodes = [int(name) for name in names]
    return networkx.to_scipy_sparse_array(network, nodelist=nodes, weight=None, dtype=float)


def test_a_graph_has_no_features_to_weigh(karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", "--graph-weight", "1"]
    assert main(arguments) == 2
    assert (
        "a graph without features, so that --graph-weight has no effect" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("noisy-probit", {"alpha", "tau", "level", "gamma", "flip_rate"}),
        ("level-set", {"alpha", "tau", "level", "gamma"}),
    ],
)
def test_likelihoods_choose_their_parameters(model, parameters, karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    assert main([*arguments, "--likelihood", model]) == 0
    printed = capsys.readouterr().out
    run = json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))
    assert set(run["parameters"]) == parameters
    assert run["sampling"] == "by class"
    for name, value in run["parameters"].items():
        origin = (
            "the default if no class has two labels"
            if name == "level"
            else "chosen from the labels"
        )
        assert f"{name} = {value:.4g} ({origin}" in printed


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (None, "This assumes that a fixed number of items was drawn at random from each class"),
        ("random", "This assumes that the labels are a random sample of all items."),
        ("any", "This relies on the model"),
    ],
)
def test_shares_of_the_classes_are_told_with_how_labels_were_chosen(how, words, karate, capsys):
    given = [] if how is None else ["--sampling", how]
    model = ["--alpha", "2", "--gamma", "0.1"]
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK, *model]
    assert main([*arguments, *given]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    run = json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))
    assert run["sampling"] == (how or "by class")
    assert [row["class"] for row in run["estimated_shares"]] == run["classes"]
    assert sum(row["share"] for row in run["estimated_shares"]) == pytest.approx(1)
    for row in run["estimated_shares"]:
        assert row["low"] <= row["share"] <= row["high"]
        ends = f"{row['low']:.1%} to {row['high']:.1%}"
        assert f"{row['class']} {row['share']:.1%} {ends}" in printed
    assert words in printed
    assert words in Path("karate-graphuq/report.html").read_text(encoding="utf-8")


def test_known_shares_are_not_estimated(karate, capsys):
    model = ["--alpha", "2", "--gamma", "0.1"]
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK, *model]
    clubs = sorted(set(pd.read_csv("clubs.csv")["label"].dropna()))
    known = f"{clubs[0]}=0.4,{clubs[1]}=0.6"
    assert main([*arguments, "--class-shares", known]) == 0
    assert "90% interval" not in capsys.readouterr().out
    run = json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))
    assert run["estimated_shares"] is None


def test_labels_that_lack_a_class_are_not_by_class(karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    assert main([*arguments, "--class", "neither", "--sampling", "by-class"]) == 2
    assert "none of 'neither': take sampling='any'" in capsys.readouterr().err


def test_the_list_of_uncertain_items_says_its_order_and_has_it(karate, capsys):
    model = ["--alpha", "2", "--gamma", "0.5"]
    assert main(["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK, *model]) == 0
    _, _, rest = capsys.readouterr().out.partition("label, the lowest confidence first:\n")
    rows = rest.partition("confidence: ")[0]
    shares = [float(share) for share in re.findall(r"(\d+\.\d)%", rows)]
    assert len(shares) == 20
    assert shares == sorted(shares)


@pytest.mark.slow
def test_a_wrong_label_is_suspected(records, capsys):
    sure = gq.reveal(records["party"].to_numpy(), counts=30, seed=1)
    records["known"] = pd.Series(sure.values, sure.nodes).reindex(records.index)
    nodes = pd.read_csv  # the surest item among the labeled is given the wrong label
    records.to_csv("votes.csv", index=False)
    main(["sample", *VOTES, *QUICK, "--ignore", "party", "--out", "right"])
    table = nodes("right/nodes.csv").dropna(subset="label").sort_values("rank")
    victim = table["id"].iloc[-1]
    records.loc[records["member"] == victim, "known"] = next(
        name for name in sure.classes if name != table["label"].iloc[-1]
    )
    records.to_csv("votes.csv", index=False)
    capsys.readouterr()
    main(["sample", *VOTES, *QUICK, "--ignore", "party", "--out", "wrong",
          "--likelihood", "noisy-probit"])  # fmt: skip
    assert nodes("wrong/suspects.csv")["id"][0] == victim
    printed = capsys.readouterr().out.partition("ARE SUSPECT?\n")[2]
    assert re.findall(r"^ +(m\d+) ", printed, re.M)[0] == victim


@pytest.mark.parametrize("wrong", [pytest.param(False, marks=pytest.mark.slow), True])
def test_all_outputs_agree_on_which_labels_are_suspect(wrong, karate, capsys):
    club = {True: "Officer", False: "Mr. Hi"}[wrong]
    known = {node: data["club"] for node, data in karate.nodes(data=True)} | {1: club}
    known = [f"{node},{name}\n" for node, name in known.items() if node not in (5, 11, 19, 25)]
    Path("clubs.csv").write_text("id,label\n" + "".join(known))
    model = ["--alpha", "2", "--gamma", "0.2", "--flip-rate", "0.3", "--likelihood", "noisy-probit"]
    assert main(["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK, *model]) == 0
    printed = capsys.readouterr().out.partition("ARE SUSPECT?\n")[2].partition("\n\n")[0]
    table = pd.read_csv("karate-graphuq/suspects.csv", dtype={"id": str})
    assert table["probability_mistake"].is_monotonic_decreasing
    assert table["probability_wrong"].max() > 0.1
    suspects = table["id"][table["suspect"]].tolist()
    assert suspects == (["1"] if wrong else [])
    assert re.findall(r"^ +(\d+) +\S.* yes", printed, re.M) == suspects
    assert f" {table['probability_mistake'][0]:.1%} " in printed
    page = _page("karate-graphuq/report.html")
    run = json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))
    assert (run["n_suspects"], [row["id"] for row in run["suspects"]]) == (len(suspects), suspects)
    if wrong:
        said = "1 of the 30 given labels is suspect."
    else:
        said = "None of the 30 given labels is suspect."
    assert said in printed
    assert said in page


def test_run_json_is_what_json_prints_and_has_scores_if_the_truth_is_known(karate, capsys):
    clubs = [network["club"] for _, network in karate.nodes(data=True)]
    truth = pd.DataFrame({"id": list(karate), "label": clubs, "truth": clubs})
    truth["label"] = truth["label"].where(truth["id"].isin([0, 33]))
    truth.to_csv("clubs.csv", index=False)
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK, "--json"]
    assert main(arguments) == 0
    assert main([*arguments, "--truth", "truth"]) == 0
    printed = capsys.readouterr().out
    blind, scored = (json.loads(text) for text in printed.replace("}\n{", "}\n\f{").split("\f"))
    assert [name for name in scored if name not in SCORES] == list(blind)
    assert {*scored} - {*blind} == {*SCORES}
    assert scored == json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))


def test_the_advice_to_raise_draws_names_the_option(karate, capsys):
    model = ["--alpha", "2", "--gamma", "0.5"]
    for draws, advised in (("3", True), ("1000", False)):
        known = ["--labels", "clubs.csv", "--draws", draws]
        assert main(["sample", "karate.csv", "--edges", *known, *model]) == 0
        assert main(["report", "karate-graphuq", "--text"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert printed.count("raise draws (--draws)") == (2 if advised else 0)


def test_nothing_is_to_label_next_if_every_item_is_labeled(karate, capsys):
    clubs = pd.DataFrame({"id": list(karate), "label": [karate.nodes[i]["club"] for i in karate]})
    clubs.to_csv("clubs.csv", index=False)
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    assert main(arguments) == 0
    assert "LABELED NEXT" not in capsys.readouterr().out


def test_compare_methods_on_a_file(records, capsys):
    rest = ["compare", "votes.csv", "--id", "member", "--truth", "party"]
    assert main([*rest, "--label", "known", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    accuracy = {row["method"]: row["accuracy"] for row in rows}
    assert accuracy["posterior of probit, auto"] > 0.85
    assert accuracy["robust GC"] > 0.8
    assert main([*rest, "--ignore", "known", "--fraction", "0.05"]) == 0
    printed = capsys.readouterr().out
    assert "labels revealed from 'party': Labels(21 nodes" in printed
    assert len(re.findall(r"^.*(?:0\.\d{3}) +(?:0\.\d{3}|-)", printed, re.MULTILINE)) == 11


def test_info_shows_the_settings_and_the_diagnostics(karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", "--seed", "3"]
    main([*arguments, *QUICK, "--out", "result"])
    capsys.readouterr()
    assert main(["report", "result", "--text"]) == 0
    printed = capsys.readouterr().out
    assert "graphuq sample karate.csv --edges" in printed
    assert "4 chains of 200" in printed
    assert "TRUSTED?\nGreen: the sampler can be trusted." in printed
    assert main(["report", "result", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["nodes"] == 34
    assert told["labels"] == {"Mr. Hi": 1, "Officer": 1}
    assert told["settings"]["seed_entropy"] == 3
    nodes = pd.read_csv("result/nodes.csv", dtype={"id": str}).sort_values("rank")
    assert told["most_uncertain"] == nodes["id"][:10].tolist()
    # a file of draws by itself, and one of no draws
    os.rename("result/posterior.nc", "draws.nc")
    assert main(["report", "draws.nc", "--text"]) == 0
    graph = gq.Graph(karate)
    gq.approximate(graph, gq.Probit(), gq.Labels([0, 33], ["a", "b"])).save("quick.nc")
    capsys.readouterr()
    assert main(["report", "quick.nc", "--text"]) == 0
    printed = capsys.readouterr().out
    assert "expectation propagation" in printed
    assert "CAN THE SAMPLER BE TRUSTED?\nAmber: " in printed


@pytest.mark.parametrize(
    ("draws", "light"),
    [
        pytest.param("5", "red", marks=pytest.mark.slow),
        ("70", "amber"),
        pytest.param("1000", "green", marks=pytest.mark.slow),
    ],
)
def test_library_command_line_and_report_trust_alike(draws, light, karate, capsys):
    """70 draws of each chain are enough for a first look, but not for published results."""
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", "--alpha", "2"]
    assert main([*arguments, "--draws", draws]) == 0
    printed = capsys.readouterr().out
    assert f"CAN THE SAMPLER BE TRUSTED?\n{light.capitalize()}: " in printed
    assert f'<div class="light {light}"' in _page("karate-graphuq/report.html")
    trust = gq.load("karate-graphuq/posterior.nc").trust()
    assert trust.light == light
    run = json.loads(Path("karate-graphuq/run.json").read_text(encoding="utf-8"))
    assert run["trust"] == json.loads(json.dumps(trust.to_dict()))
    assert main(["report", "karate-graphuq", "--text"]) == 0
    told = capsys.readouterr().out
    assert f"CAN THE SAMPLER BE TRUSTED?\n{light.capitalize()}: " in told
    for reason in trust.reasons:
        reason = reason.replace("raise draws", "raise draws (--draws)")
        assert reason in " ".join(printed.split())
        assert reason in " ".join(told.split())


@pytest.mark.slow
@pytest.mark.usefixtures("with_pictures")
def test_two_commands_from_the_voting_records_to_a_ranked_list_and_a_report(records, capsys):
    records.drop(columns="party").to_csv("votes.csv", index=False)
    classes = records[["member", "party"]].rename(columns={"member": "id", "party": "label"})
    classes.sample(frac=1, random_state=0).to_csv("parties.csv", index=False)
    assert main(["sample", *VOTES]) == 0
    assert "report.html " in capsys.readouterr().out
    assert main(["report", "votes-graphuq", "--truth", "parties.csv"]) == 0
    assert "votes-graphuq-report.html" in capsys.readouterr().out
    nodes = pd.read_csv("votes-graphuq/nodes.csv").sort_values("rank")
    hardest = nodes["id"][nodes["label"].isna()][:20].tolist()
    first, second = _page("votes-graphuq/report.html"), _page("votes-graphuq-report.html")
    for page in (first, second):
        assert re.findall(r'<th scope="row">(m\d{3})</th>', page)[:20] == hardest
        assert f"<code>graphuq sample {' '.join(VOTES)}</code>" in page
    post = gq.load("votes-graphuq/posterior.nc")
    accuracy = f">{post.accuracy(records['party'].to_numpy()):.1%}</td>"
    assert accuracy in second
    assert accuracy not in first
    assert "Once the true classes are known" in first
    os.rename("votes-graphuq/posterior.nc", "alone.nc")
    assert main(["report", "alone.nc"]) == 0
    for seen in ("The items in a plane", "Eigenvalues of the graph"):  # these need the graph
        assert seen in first
        assert seen in second
        assert seen not in _page("alone-report.html")


@pytest.mark.slow
def test_the_truth_of_a_report(karate, capsys):
    names = list(karate)
    table = pd.DataFrame({"id": names, "label": [karate.nodes[i]["club"] for i in names]})
    known = table.assign(truth=table["label"], label=table["label"].where(table["id"] % 33 == 0))
    known.to_csv("clubs.csv", index=False)
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    assert main([*arguments, "--truth", "truth"]) == 0
    # what sample was told is remembered, and gives way to what report is told
    swapped = table.assign(label=table["label"].map({"Mr. Hi": "Officer", "Officer": "Mr. Hi"}))
    swapped.to_csv("swapped.csv", index=False)
    assert main(["report", "karate-graphuq", "--out", "told.html"]) == 0
    assert main(["report", "karate-graphuq", "--truth", "swapped.csv", "--out", "new.html"]) == 0
    post = gq.load("karate-graphuq/posterior.nc")
    names = pd.read_csv("karate-graphuq/nodes.csv")["id"]
    right = post.accuracy(names.map(table.set_index("id")["label"]).to_numpy())
    assert right > 0.8
    for page, accuracy in (("karate-graphuq/report.html", right), ("told.html", right),
                           ("new.html", 1 - right)):  # fmt: skip
        assert f">{accuracy:.1%}</td>" in _page(page)
    # draws by themselves, of numbered items and classes
    numbered = gq.Labels([0, 33], [1, 2])
    gq.approximate(gq.Graph(karate), gq.Probit(), numbered).save("quick.nc")
    codes = table["label"].map({"Mr. Hi": 1, "Officer": 2})
    table.assign(label=codes).to_csv("codes.csv", index=False)
    assert main(["report", "quick.nc", "--truth", "codes.csv"]) == 0
    quick = gq.load("quick.nc")
    assert f">{quick.accuracy(codes.to_numpy()):.1%}</td>" in _page("quick-report.html")
    before = sorted(os.listdir())
    table[:-1].to_csv("short.csv", index=False)
    table.rename(columns={"id": "who", "label": "club"}).assign(age=3).to_csv("odd.csv")
    capsys.readouterr()
    for file, message in (
        ("short.csv", f"short.csv: the true class of item '{names.max()}' is missing"),
        ("odd.csv", "(--truth): give this name to one of its columns: '', 'who', 'club', 'age'"),
        ("unsure.csv", "is 'unknown', which is not one of the classes 'Mr. Hi', 'Officer': corr"),
        ("none.csv", "there is no file none.csv"),
        ("parties.csv", "the true class of item"),
    ):
        table.assign(label="x").to_csv("parties.csv", index=False)
        table.assign(label=["unknown", *table["label"][1:]]).to_csv("unsure.csv", index=False)
        assert main(["report", "karate-graphuq", "--truth", file]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert main(["report", "quick.nc", "--out", "quick.nc"]) == 2
    assert "let the name end in .html" in capsys.readouterr().err
    assert {*os.listdir()} - {*before} == {"short.csv", "odd.csv", "parties.csv", "unsure.csv"}
    assert gq.load("quick.nc").n_nodes == 34


@pytest.mark.slow
def test_truth_may_name_rows_that_were_dropped(records):
    frame = records.astype({"vote3": object})
    frame.loc[[2, 5], "vote3"] = None
    frame.drop(columns="party").to_csv("votes.csv", index=False)
    classes = records[["member", "party"]].rename(columns={"member": "id", "party": "label"})
    classes.to_csv("parties.csv", index=False)
    assert main(["sample", *VOTES, *QUICK, "--drop-missing"]) == 0
    assert main(["report", "votes-graphuq", "--truth", "parties.csv"]) == 0
    post = gq.load("votes-graphuq/posterior.nc")
    accuracy = post.accuracy(records["party"].drop([2, 5]).to_numpy())
    assert f">{accuracy:.1%}</td>" in _page("votes-graphuq-report.html")


@pytest.mark.slow
def test_images_are_seen_in_the_report(tmp_path, monkeypatch, capsys):
    X, y = gq.datasets.digit_pair(4, 9)
    labels = gq.reveal(y, 0.04, seed=0)
    known = np.full(y.size, -1)
    known[labels.nodes] = labels.values
    monkeypatch.chdir(tmp_path)
    np.savez("digits.npz", X=X, y=known)
    np.savez("odd.npz", X=X[:, 1:], y=known)
    assert main(["sample", "digits.npz", *QUICK, "--images"]) == 0
    assert main(["sample", "digits.npz", *QUICK, "--out", "plain"]) == 0
    pictures = '<img class="item"'
    assert _page("digits-graphuq/report.html").count(pictures) == 20 + len(labels)
    assert pictures not in _page("plain/report.html")
    capsys.readouterr()
    assert main(["sample", "odd.npz", "--images"]) == 2
    assert "odd.npz: --images takes" in capsys.readouterr().err
    assert not os.path.exists("odd-graphuq")


def _page(path):
    return Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--pair", "4,4"], "two different digits"),
        (["sample", "none.csv"], "there is no file none.csv"),
        (["sample", "items.csv", "--label", "party"], "no column 'party'"),
        (["sample", "items.csv", "--gamma", "-1"], "gamma must be positive"),
        (["sample", "items.csv", "--alpha", "0"], "alpha must lie between"),
        (["sample", "items.csv", "--level", "-1"], "level must lie between 0 and 100, got -1"),
        (["sample", "items.csv", "--graph-weight", "2"], "graph_weight must lie between 0 and 1"),
        (["sample", "items.csv", "--flip-rate", "0.1"], "--likelihood noisy-probit"),
        (["sample", "items.csv", "--likelihood", "noisy-probit", "--flip-rate", "1"], "flip_rate"),
        (["sample", "items.csv", "--neighbors", "9"], "n_neighbors must be between 1 and 3, got 9"),
        (["sample", "items.csv", "--rank", "9"], "rank"),
        (["sample", "items.csv", "--draws", "0"], "draws must be"),
        (["sample", "items.csv", "--seed", "-1"], "seed must be"),
        (["sample", "items.csv", "--truth", "other"], "names none of the classes"),
        (["sample", "items.csv", "--out", "full"], "files that graphuq did not write"),
        (["sample", "items.csv", "--out", "items.csv"], "items.csv is a file"),
        (["sample", "items.csv", "--out", "no/where"], "there is no folder"),
        (
            ["sample", "ragged.csv"],
            "ragged.csv, line 3: expected 3 values as in the first line, got 2",
        ),
        (["sample", "one.csv"], "all 2 labels are 'u'"),
        (["compare", "items.csv"], "--truth"),
        (["report", "full", "--text"], "no posterior.nc"),
        (["report", "items.csv", "--text"], "items.csv"),
        (["report", "none.nc", "--text"], "there is no file none.nc"),
        (["sample", "items.csv", "--images"], "--images takes an .npz file"),
        (["report", "none.nc"], "there is no file none.nc"),
        (["report", "full"], "no posterior.nc"),
        (["report", "items.csv"], "items.csv"),
        (["report", "none.nc", "--out", "full"], "full is a folder"),
        (["report", "none.nc", "--out", "no/where.html"], "make it first"),
    ],
)
def test_errors_are_one_line_with_exit_code_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GRAPHUQ_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    good = "a,b,label,other\n1,2,u,x\n2,1,,x\n3,5,v,y\n4,4,,y\n"
    (tmp_path / "items.csv").write_text(good)
    (tmp_path / "ragged.csv").write_text("a,b,label\n1,2,u\n1,2\n")
    (tmp_path / "one.csv").write_text("a,label\n1,u\n2,u\n3,\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    before = sorted(os.walk("."))
    own = ["--ignore", "other"] if arguments[:2] == ["sample", "items.csv"] else []
    own = [] if "--truth" in arguments else own
    assert main([*arguments, *own]) == 2
    first, *table = capsys.readouterr().err.splitlines()
    assert message in first
    assert not table or table[0].split() == ["column", "read", "as", "range", "distinct", "missing"]
    error = "\n".join([first, *table])
    assert "Traceback" not in error
    assert sorted(os.walk(".")) == before


def test_arguments_that_do_not_parse_exit_with_2(capsys):
    for arguments in (
        [],
        ["demo", "--pair", "four,nine"],
        ["fly"],
        ["sample"],
        ["sample", "items.csv", "--gamma", "much"],
        ["sample", "items.csv", "--drop-missing", "--fill-missing"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "expected two digits such as 4,9" in error
    assert "expected a number or auto, got 'much'" in error


@pytest.mark.parametrize(
    "command",
    [
        "sample",
        "suggest",
        "update",
        "predict",
        "compare",
        "report",
        "demo",
        "example",
    ],
)
def test_help_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert f"\n  graphuq {command} " in printed or f"\n  graphuq {command}\n" in printed


@pytest.mark.parametrize(
    ("error", "code"), first_of([(OSError("disk full"), 2), (KeyboardInterrupt(), 130)])
)
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("where", [(gq.Posterior, "save"), (gq, "write_report")])
def test_a_failure_half_way_leaves_no_files(where, error, code, there, karate, monkeypatch):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    if there:
        main(arguments)
    before = {name: Path(name).read_bytes() for name in _files()}

    def fail(post, path, **options):
        path.write_bytes(b"half")
        raise error

    monkeypatch.setattr(*where, fail)
    assert main([*arguments, "--seed", "1"]) == code
    assert {name: Path(name).read_bytes() for name in _files()} == before
    assert os.path.exists("karate-graphuq") == there


def test_a_result_is_replaced_and_other_files_in_it_are_kept(karate, capsys):
    arguments = ["sample", "karate.csv", "--edges", "--labels", "clubs.csv", *QUICK]
    main(arguments)
    assert "earlier result" not in capsys.readouterr().out
    Path("karate-graphuq/notes.txt").write_text("mine")
    before = Path("karate-graphuq/nodes.csv").read_bytes()
    assert main([*arguments, "--seed", "1"]) == 0
    assert "These replace the earlier result in karate-graphuq/.\n" in capsys.readouterr().out
    assert Path("karate-graphuq/nodes.csv").read_bytes() != before
    assert sorted(os.listdir("karate-graphuq")) == sorted([*FILES, "notes.txt"])


def _files():
    return [os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names]


@pytest.mark.slow
def test_a_fresh_process_is_quick(records):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    begun = os.times().children_user  # processor time, which does not depend on other processes
    run = [sys.executable, "-m", "graphuq", "sample", *VOTES, "--ignore", "party"]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    assert os.times().children_user - begun < 60
    assert done.returncode == 0
    progress = r"graphuq sample: \d+ s, .*\n"  # every ten seconds
    assert re.sub(progress, "", done.stderr) == ""


def test_the_package_runs_as_a_module():
    """Where the folder of scripts is not on the path, only this finds the command line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-m", "graphuq", "report", "no-such-result.nc"]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "there is no file no-such-result.nc" in done.stderr
