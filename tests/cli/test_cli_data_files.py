"""What a user's file means, through the command line: no wrong guess without a word."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from references.reading import take

from graphuq.cli import files
from graphuq.cli.files.contents import NUMBERED
from graphuq.cli.files.read_new import read_new
from graphuq.cli.options import read_items
from graphuq.cli.program import main


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")


def table(n=30, seed=0, **columns):
    """A table with two clusters, and a label in every sixth row."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    frame = pd.DataFrame({"x": truth * 4 + rng.random(n), "y": rng.random(n)})
    frame["label"] = pd.Series(np.where(truth, "b", "a")).where(np.arange(n) % 6 < 2)
    return frame.assign(**columns)


def classify(*arguments):
    """Return what a command reads, and predictions."""
    code, found = take(*arguments)
    assert code == 0
    return found


def refused(capsys, *arguments, code=2):
    """Return the message of a command that fails."""
    assert main([*arguments]) == code
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def remedy_of(error, file="items.csv"):
    """Return the options that a message adds to the command."""
    (found,) = re.findall(rf"without editing the file.*:\n  graphuq \w+ {file} (.*)\n", error)
    return found


def cycle(n):
    """A cycle with a chord, which has one edge more than nodes."""
    return [(k, (k + 1) % n) for k in range(n)] + [(0, n // 2)]


def write_edges(header, n=12, shift=0, more=""):
    rows = "".join(f"{a + shift},{b + shift}{more}\n" for a, b in cycle(n))
    write("edges.csv", f"{header}\n{rows}")


# Lists of edges


@pytest.mark.parametrize("header", ["u,v", "node,other", "a,b"])
def test_edges_are_recognized_by_ids_that_are_no_row_numbers(header, capsys):
    write_edges(header, shift=100)
    write("labels.csv", "id,label\n100,p\n106,q\n")
    ids = classify("edges.csv", "--labels", "labels.csv")["ids"]
    assert sorted(ids) == [str(k) for k in range(100, 112)]


@pytest.mark.parametrize("header", ["u,v,w", "src_id,dst_id,w", "first,second,weight"])
def test_edges_in_doubt_are_asked_about(header, capsys):
    write_edges(header, more=",2")
    write("labels.csv", "id,label\n0,p\n6,q\n")
    error = refused(capsys, "sample", "edges.csv", "--labels", "labels.csv")
    assert "may list edges or be features: use --edges if each row is an edge, or --table" in error
    assert sorted(os.listdir()) == ["edges.csv", "labels.csv"]
    assert classify("edges.csv", "--labels", "labels.csv", "--edges")["items"] == 12
    rows = ["--labels", "labels.csv", "--table"]
    assert classify("edges.csv", *rows)["ids"] == [str(k) for k in range(13)]


@pytest.mark.parametrize(
    "header", ["src,dst", "source,target,weight,time", "Source,Target,Type,Id"]
)
def test_edges_are_recognized_by_the_names_of_their_ends(header, capsys):
    n_more = header.count(",") - 1
    write_edges(header, more=",3" * n_more)
    write("labels.csv", "id,label\n0,p\n6,q\n")
    arguments = ["edges.csv", "--labels", "labels.csv"]
    arguments += ["--ignore", "Type", "--ignore", "Id"] if "Type" in header else []
    result = classify(*arguments)
    assert result["items"] == 12
    if "time" in header:
        assert "ignored the columns 'time'" in result["notes"]
        assert "edges: each joins 'source' to 'target', with weight 'weight'" in result["notes"]


def test_numbers_that_may_be_weights_are_asked_about(capsys):
    write_edges("from,to,value", more=",3")
    write("labels.csv", "id,label\n0,p\n6,q\n")
    arguments = ["sample", "edges.csv", "--labels", "labels.csv"]
    error = refused(capsys, *arguments)
    assert "use --weight value if they are, or --ignore value" in error
    assert main([*arguments, "--weight", "value"]) == 0
    assert main([*arguments, "--ignore", "value"]) == 0
    assert "no column 'cost' (--weight)" in refused(capsys, *arguments, "--weight", "cost")


def test_a_star_is_not_taken_for_a_table(capsys):
    write("edges.csv", "hub,leaf\n" + "".join(f"0,{k}\n" for k in range(1, 9)))
    write("labels.csv", "id,label\n1,p\n2,q\n")
    error = refused(capsys, "sample", "edges.csv", "--labels", "labels.csv")
    assert "'hub' and 'leaf', whose values hold the ids of the labels, may list edges" in error


@pytest.mark.parametrize("kind", ["ratings", "measured", "named"])
def test_features_are_not_taken_for_edges(kind, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(1, 6, (60, 3)), columns=["q1", "q2", "q3"])
    if kind == "measured":
        frame = pd.DataFrame(rng.random((60, 2)).round(3), columns=["u", "v"])
    if kind == "named":
        frame = pd.DataFrame({"id": range(60), "i": range(0, 120, 2), "j": rng.permutation(60) * 2})
    frame.to_csv("items.csv", index=False)
    write("labels.csv", "id,label\n10,p\n26,q\n41,q\n")
    assert classify("items.csv", "--labels", "labels.csv")["items"] == 60


def test_a_table_that_looks_like_edges_and_has_no_labels_names_both_remedies(capsys):
    write_edges("u,v")
    error = refused(capsys, "sample", "edges.csv")
    assert "no column 'label'" in error
    assert "if each row is an edge between 'u' and 'v', use --edges" in error


def test_the_first_line_of_a_list_is_an_edge_or_names_columns(capsys):
    write("labels.csv", "id,label\nann,p\ncid,q\n")
    for first in ("one,two\n", ""):
        write("edges.csv", first + "ann,bob\nbob,cid\ncid,dan\n")
        assert classify("edges.csv", "--labels", "labels.csv", "--edges")["items"] == 4


def test_lines_with_other_columns_than_the_first_are_refused(capsys):
    write("edges.csv", "source,target\na,b,2\nb\n")
    write("labels.csv", "id,label\na,p\nb,q\n")
    error = refused(capsys, "sample", "edges.csv", "--labels", "labels.csv")
    assert "line 2: expected source,target, got 3 columns" in error
    assert "line 3: expected source,target, got 1 column" in error


def test_repeated_edges_are_added_with_a_note(capsys):
    write("edges.csv", "source,target,weight\na,b,1\nb,c,1\na,b,2\nb,a,4\n")
    write("labels.csv", "id,label\na,p\nc,q\n")
    note = "added the weights of edges listed more than once (2 repeated)"
    assert note in classify("edges.csv", "--labels", "labels.csv")["notes"]

    def read(text):
        write("edges.csv", text)
        return files.read("edges.csv", files.ReadOptions(edges=True))

    items = read("source,target,weight\na,b,1\nb,c,1\na,b,2\nb,a,4\n")
    np.testing.assert_array_equal(items.graph.adjacency.toarray()[1], [7, 0, 1])
    # a list that has each edge in both directions has every edge once
    items = read("source,target,weight\na,b,3\nb,c,1\nb,a,3\nc,b,1\n")
    np.testing.assert_array_equal(items.graph.adjacency.toarray()[1], [3, 0, 1])
    assert "the list has every edge in both directions: each counts once" in items.notes
    assert not any("listed more than once" in note for note in items.notes)


def test_directions_of_a_graph_are_added(capsys):
    networkx = pytest.importorskip("networkx")
    network = networkx.DiGraph()
    network.add_weighted_edges_from([("a", "b", 1), ("b", "a", 5), ("b", "c", 2), ("c", "c", 3)])
    networkx.write_graphml(network, "directed.graphml")
    items = files.read("directed.graphml")
    expected = [[0, 6, 0], [6, 0, 2], [0, 2, 3]]
    np.testing.assert_array_equal(items.graph.adjacency.toarray(), expected)
    assert items.notes == ("added the weights of both directions of the edges",)
    networkx.write_graphml(networkx.path_graph(3).to_directed(), "both.graphml")
    items = files.read("both.graphml")
    np.testing.assert_array_equal(items.graph.adjacency.toarray()[1], [1, 0, 1])
    network = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    networkx.write_graphml(network, "many.graphml")
    items = files.read("many.graphml")
    np.testing.assert_array_equal(items.graph.adjacency.toarray()[1], [2, 0, 1])
    assert items.notes == ("added the weights of edges listed more than once",)


def test_parquet_may_list_edges(capsys):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(cycle(12), columns=["source", "target"])
    frame.to_parquet("edges.parquet")
    write("labels.csv", "id,label\n0,p\n6,q\n")
    assert classify("edges.parquet", "--labels", "labels.csv")["items"] == 12


# What is a class, and what is missing


@pytest.mark.parametrize("name", ["NA", "null", "None", "n/a"])
def test_a_class_whose_name_looks_missing_is_kept_if_blanks_are_missing(name, capsys):
    frame = table()
    frame["label"] = frame["label"].replace("b", name)
    frame.to_csv("items.csv", index=False)
    result = classify("items.csv")
    assert set(result["predicted"]) == {"a", name}
    assert any(f"kept {name!r} as a class in 5 rows" in note for note in result["notes"])
    error = refused(capsys, "sample", "items.csv", "--unlabeled", name)
    assert "all 5 labels are 'a'" in error


def test_a_class_whose_name_looks_missing_is_asked_about_if_nothing_is_blank(capsys):
    frame = table()
    frame["label"] = frame["label"].fillna("NA")
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "'NA' occurs in 20 rows: use --unlabeled NA" in error
    assert "or --class NA if it is a class" in error
    assert set(classify("items.csv", "--unlabeled", "NA")["predicted"]) == {"a", "b"}
    assert classify("items.csv", "--class", "NA")["labels"] == 30


def test_a_file_of_labels_decides_by_its_own_rows(capsys):
    table().drop(columns="label").to_csv("items.csv", index=False)
    write("labels.csv", "id,label\n0,EU\n1,NA\n2,EU\n3,NA\n")  # other items have no row
    error = refused(capsys, "sample", "items.csv", "--labels", "labels.csv")
    assert "labels.csv: 'NA' occurs in 2 rows: use --unlabeled NA" in error
    arguments = ["items.csv", "--labels", "labels.csv", "--class", "NA"]
    assert set(classify(*arguments)["predicted"]) == {"EU", "NA"}


@pytest.mark.parametrize(
    ("own", "given"),
    [(["1", "2", "3"], ["1.0", "2.0", "3.0"]), (["1.0", "v2", "007"], ["1.0", "v2", "007"]),
     (["1.0", "v2", "007"], ["1.0", "007"]), (["1.10", "1.1", "1.0"], ["1.10", "1.1", "1.0"])],
)  # fmt: skip
def test_ids_are_kept_as_written_and_found_again(own, given, capsys):
    write("items.csv", "id,x\n" + "".join(f"{name},{k}\n" for k, name in enumerate(own)))
    rows = "".join(f"{name},{'uv'[k % 2]}\n" for k, name in enumerate(given))
    write("labels.csv", f"id,label\n{rows}")
    found = classify("items.csv", "--labels", "labels.csv")
    assert found["labels"] == len(given)
    assert found["ids"] == own


def test_true_classes_that_no_label_shows_are_refused_or_listed(capsys):
    truth = np.where(np.arange(30) % 2, "b", "a")
    table().assign(truth=np.where(np.arange(30) < 9, "c", truth)).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--truth", "truth")
    assert "truth: 9 items of the true class 'c', which no label shows" in error
    assert "list the class with --class c" in error
    accuracy = classify("items.csv", "--truth", "truth", "--class", "c")["accuracy"]
    assert 0.7 < accuracy < 0.8  # 5 of the 20 items without a label are of this class


def test_minus_one_is_no_label_in_every_kind_of_file(capsys):
    pytest.importorskip("pyarrow")
    frame = table()
    codes = frame["label"].map({"a": 0, "b": 1})
    frame["label"] = codes.fillna(-1).astype(int)
    frame.to_csv("items.csv", index=False)
    frame.to_parquet("items.parquet")
    X = frame[["x", "y"]].to_numpy(copy=True)
    np.savez("items.npz", X=X, y=frame["label"])
    for file in ("items.csv", "items.parquet", "items.npz"):
        result = classify(file)
        assert set(result["predicted"]) == {"0", "1"}
        assert result["labels"] == 10
        assert any("20 items without a label: 20 with '-1' (if '-1' is a class, use --class -1)"
                   in note for note in result["notes"])  # fmt: skip
        assert classify(file, "--class", "-1")["labels"] == 30


def test_the_largest_byte_may_be_minus_one(capsys):
    frame = table()
    y = frame["label"].map({"a": 0, "b": 1}).fillna(-1).astype(int).to_numpy().astype(np.uint8)
    np.savez("items.npz", X=frame[["x", "y"]], y=y)
    assert "'255' occurs in 20 rows: use --unlabeled 255" in refused(capsys, "sample", "items.npz")
    assert classify("items.npz", "--unlabeled", "255")["labels"] == 10


def test_an_ignored_label_is_not_learned_from(capsys):
    frame = table()
    frame.assign(truth=np.where(np.arange(30) % 2, "b", "a")).to_csv("items.csv", index=False)
    arguments = ["sample", "items.csv", "--truth", "truth", "--ignore", "label"]
    assert "no item has a label" in refused(capsys, *arguments)
    error = refused(capsys, *arguments[:4], "--label", "label", "--ignore", "label")
    assert "--label and --ignore both name the column 'label'" in error


def test_zero_is_the_same_class_with_and_without_a_point(capsys):
    frame = table()
    frame["label"] = frame["label"].map({"a": 0.0, "b": 1.0})
    frame["truth"] = np.arange(30) % 2
    frame.to_csv("items.csv", index=False)  # blanks turn the labels into 0.0 and 1.0
    found = classify("items.csv", "--truth", "truth")
    assert found["accuracy"] == 1.0
    assert found["classes"] == ["0", "1"]


def test_true_classes_come_from_a_column_or_from_a_table(capsys):
    frame = table()
    truth = np.where(np.arange(30) % 2, "b", "a")
    frame.assign(kind=truth).to_csv("items.csv", index=False)
    pd.DataFrame({"id": range(30), "label": truth}).to_csv("truth.csv", index=False)
    for given in ("kind", "truth.csv"):
        arguments = ["--ignore", "kind"] if given == "truth.csv" else []
        assert classify("items.csv", "--truth", given, *arguments)["accuracy"] == 1.0
    assert "there is no file none.csv" in refused(
        capsys, "sample", "items.csv", "--ignore", "kind", "--truth", "none.csv"
    )


def test_items_without_ids_are_said_to_be_numbered(capsys):
    frame = table()
    frame.to_csv("items.csv", index=False)
    frame.to_csv("indexed.csv")
    note = NUMBERED
    np.savez("items.npz", X=frame[["x", "y"]], y=np.arange(30) % 2)
    assert note in classify("items.csv")["notes"]
    assert note in classify("items.npz")["notes"]
    result = classify("indexed.csv")
    assert result["columns"][0]["read_as"] == "ids"
    assert note not in result["notes"]


def test_commas_in_quoted_names_do_not_separate_columns(capsys):
    write("items.csv", '"a, b, c, d";"e, f";label\n1;2;u\n3;1;v\n')
    assert classify("items.csv")["items"] == 2


# Archives


def test_an_archive_heeds_the_options(capsys):
    frame = table()
    X = frame[["x", "y"]].to_numpy(copy=True)
    known = frame["label"].fillna("").to_numpy(str)
    truth = np.where(np.arange(30) % 2, "b", "a")
    names = np.array([f"m{k}" for k in range(30)])
    wrong = np.where(known == "a", "b", np.where(known == "b", "a", ""))
    np.savez("items.npz", X=X, y=wrong, mine=known, key=names, truth=truth)
    arguments = ["--label", "mine", "--id", "key", "--truth", "truth"]
    found = classify("items.npz", *arguments)
    assert found["accuracy"] == 1.0
    assert found["ids"] == names.astype(str).tolist()
    assert "no item has a label" in refused(capsys, "sample", "items.npz", "--ignore", "y")
    for option, name in (("--label", "his"), ("--id", "nobody"), ("--ignore", "none")):
        assert f"no column {name!r} ({option})" in refused(
            capsys, "sample", "items.npz", option, name
        )
    X = np.where((np.arange(30) == 3)[:, None], np.nan, X)
    np.savez("gaps.npz", X=X, y=known)
    assert "--drop-missing, or replace such values" in refused(capsys, "sample", "gaps.npz")
    assert classify("gaps.npz", "--fill-missing")["items"] == 30
    assert classify("gaps.npz", "--drop-missing")["left_out"] == ["3"]
    error = refused(capsys, "sample", "items.npz", "--categorical")
    assert "--categorical cannot be used with an .npz file" in error


def test_images_may_have_rows_and_columns(capsys):
    from graphuq.cli import files
    from graphuq.cli.sample_steps import pixels_of

    rng = np.random.default_rng(0)
    for shape in ((6, 4, 4), (6, 2, 5)):
        np.savez("digits.npz", X=rng.random(shape), y=[0, 1, -1, -1, -1, -1])
        assert classify("digits.npz")["items"] == 6
        items = files.read("digits.npz")
        assert items.image_shape == shape[1:]
        assert pixels_of(items).shape == (6, shape[1] * shape[2])


def test_a_fraction_is_never_ignored(capsys):
    table().assign(truth=np.where(np.arange(30) % 2, "b", "a")).to_csv("items.csv", index=False)
    arguments = ["compare", "items.csv", "--truth", "truth", "--fraction", "nan"]
    assert "leave out --fraction" in refused(capsys, *arguments)
    assert "fraction" in refused(capsys, *arguments, "--ignore", "label")


# No traceback


@pytest.mark.parametrize("spoil", ["an array", "half", "no zip", "a flipped bit"])
def test_damaged_archives_are_told_in_one_line(spoil, capsys):
    X = np.random.default_rng(0).random((30, 4))
    np.savez("items.npz", X=X, y=np.arange(30) % 2)
    raw = Path("items.npz").read_bytes()
    if spoil == "an array":
        with open("items.npz", "wb") as file:
            np.save(file, X)
    else:
        damaged = {
            "half": raw[: len(raw) // 2],
            "no zip": b"not a zip file",
            "a flipped bit": raw[:300] + bytes([raw[300] ^ 1]) + raw[301:],
        }[spoil]
        Path("items.npz").write_bytes(damaged)
    error = refused(capsys, "sample", "items.npz")
    assert "items.npz is damaged, or not a plain npz file" in error
    assert "allow_pickle" not in error
    assert error.count("\n") == 1


def test_columns_that_may_be_missing_in_parquet(capsys):
    pytest.importorskip("pyarrow")
    frame = table()
    flags = pd.array([True, False, None] * 10, dtype="boolean")
    whole = pd.array([1, 2, None] * 10, dtype="Int64")
    frame.assign(flag=flags, whole=whole).to_parquet("items.parquet")
    error = refused(capsys, "sample", "items.parquet")
    assert re.search(r"^\? flag +yes and no, as 1 and -1 .* 10  --fill-missing", error, re.M)
    assert classify("items.parquet", "--fill-missing")["items"] == 30


def test_an_unforeseen_error_says_what_to_report(capsys, monkeypatch):
    table().to_csv("items.csv", index=False)

    def fail(*_):
        raise KeyError("what")

    monkeypatch.setattr("graphuq.cli.sample.read_data", fail)
    error = refused(capsys, "sample", "items.csv", code=3)
    assert "this is an error in graphuq, or a damaged file: KeyError ('what')" in error
    assert "in graphuq/cli/sample.py, line" in error
    assert "please report this line" in error
    assert error.count("\n") == 1


def test_ctrl_c_outside_of_a_stage_says_that_it_interrupted(capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphuq.cli.sample.require_result_folder", interrupt)
    assert main(["sample", "items.csv"]) == 130
    assert capsys.readouterr().err == "graphuq sample: interrupted\n"


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line(capsys, monkeypatch):
    import warnings

    table().to_csv("items.csv", index=False)
    monkeypatch.setattr(
        "references.reading.read_items",
        lambda options: warnings.warn("so\n so", stacklevel=2) or read_items(options),
    )
    classify("items.csv")
    assert capsys.readouterr().err == "graphuq sample: warning: so so\n"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("value", ["1e18", "9.96921e36", "-1e99"])
@pytest.mark.parametrize("options", [(), ("--fill-missing",), ("--drop-missing",)])
def test_a_fill_value_is_named_as_it_stands_in_the_file(value, options, capsys):
    frame = table(y=[str(k % 7) for k in range(30)], z="u")
    frame.loc[9, "y"] = value
    if options:
        frame.loc[[2, 20], "y"] = "NA"
    frame.to_csv("items.csv", index=False)
    classify("items.csv", "--categorical", "z", *options)
    assert re.fullmatch(
        rf"graphuq sample: warning: items\.csv, line 11, column 'y': '{value}' dwarfs "
        rf"{27 if options else 29} other values of the column, within 3 of 3: .*\n",
        capsys.readouterr().err,
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("options", [(), ("--scale",), ("--drop-missing",), ("--fill-missing",)])
def test_a_fill_value_in_an_archive_is_named_once(options, capsys):
    frame = table()
    X = frame[["x", "y"]].to_numpy(copy=True)
    X[9, 1] = 1e36
    if "missing" in "".join(options):
        X[2, 1] = np.nan
    np.savez("items.npz", X=X, y=frame["label"].fillna("").to_numpy(str))
    classify("items.npz", *options)
    error = capsys.readouterr().err
    assert error.count("warning") == 1
    assert "items.npz: row 9, column 1 of X is 1e+36, which dwarfs" in error


def test_values_of_one_kind_do_not_dwarf(capsys):
    rare = [1.0 * (k == 9) for k in range(30)]
    table(y=rare, z=["y" if k else "n" for k in range(30)]).to_csv("items.csv", index=False)
    classify("items.csv")
    assert capsys.readouterr().err == ""


# Progress


def test_what_is_done_is_said_in_lines(capsys, monkeypatch):
    from graphuq.cli.heartbeat import begin_stage, heartbeat
    from graphuq.utils.progress import progress_bar

    monkeypatch.setattr("graphuq.cli.heartbeat.INTERVAL", 0.01)
    with heartbeat("sample"):
        begin_stage("sampling")
        with progress_bar(8, shown=True, unit="draw") as bar:
            bar.update(3)
            bar.set_postfix(acceptance="1.00", refresh=False)
            time.sleep(0.1)
        begin_stage("shown by a bar", has_bar=True)
        time.sleep(0.05)
    lines = capsys.readouterr().err.splitlines()
    assert any(re.fullmatch(r"graphuq sample: \d s, sampling, 3 of 8 draws", x) for x in lines)
    assert not any("shown by a bar" in line for line in lines)
    with progress_bar(8, shown=False, unit="draw") as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_command_without_a_terminal_shows_its_progress(capsys, monkeypatch):
    monkeypatch.setattr("graphuq.cli.heartbeat.INTERVAL", 0.002)
    monkeypatch.setattr("graphuq.write_report", lambda _, path: Path(path).write_text("short"))
    table().to_csv("items.csv", index=False)
    arguments = ["--rank", "5", "--gamma", "0.1", "--alpha", "2", "--draws", "400", "--json"]
    assert main(["sample", "items.csv", *arguments]) == 0
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert all(line.startswith("graphuq sample: ") for line in lines)
    assert re.search(r"^graphuq sample: \d+ s, sampling, \d+ of \d+ draws$", printed.err, re.M)
    assert any(line.endswith("s, writing the results") for line in lines)
    assert json.loads(printed.out)["items"] == 30  # standard output has the results alone


# Files for spreadsheets


def test_cells_are_no_formulas_and_have_no_control_characters(capsys):
    names = [f"=cmd|{k}" for k in range(30)]
    table().assign(id=names).to_csv("items.csv", index=False)
    assert main(["sample", "items.csv", "--draws", "20", "--out", "result"]) == 0
    capsys.readouterr()
    written = pd.read_csv("result/nodes.csv")
    assert all(name.startswith("'=") for name in written["id"])
    # graphuq knows its own ids again
    known = table()["label"].fillna("a")
    written[["id"]].assign(label=known).to_csv("labels.csv", index=False)
    arguments = ["items.csv", "--ignore", "label", "--labels", "labels.csv"]
    assert classify(*arguments)["labels"] == 30


def test_written_cells_are_safe():
    from graphuq.utils.csv_file import write_csv

    cells = ["=1+1", "+x", "-x", "@x", " =x", "a\x1bb", "-1", "+2.5", "plain"]
    write_csv(pd.DataFrame({"id": cells, "p": -np.arange(9.0)}), "safe.csv")
    written = pd.read_csv("safe.csv", keep_default_na=False)
    assert written["id"].tolist() == [
        "'=1+1", "'+x", "'-x", "'@x", "' =x", "a\\x1bb", "-1", "+2.5", "plain"]  # fmt: skip
    assert written["p"].tolist() == [-float(k) for k in range(9)]


# Kinds of tables


def test_tables_are_compressed_lines_of_json_or_parquet(capsys):
    frame = table()
    frame.to_csv("items.csv", index=False)
    frame.to_csv("items.csv.gz", index=False)
    frame.to_json("items.jsonl", orient="records", lines=True)
    frame.to_json("items.json", orient="records")
    expected = classify("items.csv")["predicted"]
    for file in ("items.csv.gz", "items.jsonl", "items.json"):
        assert classify(file)["predicted"] == expected
    Path("bad.csv.gz").write_bytes(gzip.compress(b"x,label\n1,u\n2,v\n")[:-9])
    assert "bad.csv.gz is not a gzip file, or is damaged" in refused(capsys, "sample", "bad.csv.gz")
    write("bad.jsonl", '{"x": 1, "label": "u"}\n{"x": 2,\n')
    assert "bad.jsonl, line 2: not JSON" in refused(capsys, "sample", "bad.jsonl")
    write("bad.jsonl", '{"x": 1, "label": "u"}\n[1, 2]\n')
    assert "bad.jsonl, line 2: expected an object" in refused(capsys, "sample", "bad.jsonl")


def test_excel_files_need_openpyxl(capsys, monkeypatch):
    frame = table()
    Path("items.xlsx").write_bytes(b"PK")
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "openpyxl", None)
        assert "pip install 'graphuq[excel]'" in refused(capsys, "sample", "items.xlsx")
    pytest.importorskip("openpyxl")
    frame.to_excel("items.xlsx", index=False)
    assert classify("items.xlsx")["items"] == 30


# Messy tables


MESSY = """\
id;joined;height;team;city;votes;label
a;2020-01-31;1,82;red;Rome;12;u
b;2019-05-02;1,75;blue;Oslo;7;
c;;1,60;red;Rome;9;v
d;2021-11-11;;red;Oslo;3;
e;2020-07-01;1,91;blue;Rome;11;u
f;2018-02-20;1,7;blue;;2;v
"""


def test_a_messy_table_is_through_in_two_runs(capsys):
    write("messy.csv", MESSY)
    error = refused(capsys, "sample", "messy.csv")
    assert error.splitlines()[:9] == [
        "graphuq sample: how should the columns marked ? be used?",
        "  column  read as                  range                     distinct  missing  to use it",
        "  id      ids                                                       6        0",
        "? joined  dates, as days           2018-02-20 to 2021-11-11         5        1  "
        "--fill-missing (column mean), or --drop-missing (2 rows)",
        "? height  numbers, decimal commas  1.6 to 1.91                      5        1  "
        "--fill-missing (column mean), or --drop-missing (2 rows)",
        "? team    text: red, blue                                           2        0  "
        "--categorical team, or --ignore team",
        "? city    text: Rome, Oslo                                          2        1  "
        "--categorical city, or --ignore city",
        "  votes   numbers                  2 to 12                          6        0",
        "  label   labels                                                    2        2",
    ]
    remedy = remedy_of(error, "messy.csv")
    assert remedy == "--categorical team --categorical city --fill-missing"
    result = classify("messy.csv", *remedy.split())
    assert result["items"] == 6
    assert [column["read_as"] for column in result["columns"]] == [
        "ids", "dates, as days", "numbers, decimal commas", "categories: blue, red",
        "categories: Oslo, Rome", "numbers", "labels",
    ]  # fmt: skip
    assert [column["missing"] for column in result["columns"]] == [0, 1, 1, 0, 1, 0, 2]


def test_a_text_column_that_is_mostly_empty_is_probably_the_labels(capsys):
    frame = table().rename(columns={"label": "kind"})
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "--label kind, --categorical kind, or --ignore kind" in error
    remedy = remedy_of(error)
    assert remedy == "--label kind"
    assert classify("items.csv", *remedy.split())["items"] == 30
    # "unknown" in place of blanks
    frame.fillna("unknown").to_csv("items.csv", index=False)
    assert remedy_of(refused(capsys, "sample", "items.csv")) == "--label kind"
    # not where the labels are known, or where no text repeats
    frame.assign(label=frame["kind"]).to_csv("items.csv", index=False)
    assert "--label" not in refused(capsys, "sample", "items.csv")
    frame["kind"] = [*"abcd", *[""] * 26]
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert remedy_of(error) == "--label COLUMN --ignore kind"
    assert "--ignore kind, --label kind, or --categorical kind" in error


def test_whole_numbers_in_few_rows_are_probably_the_labels(capsys):
    cells = ["1", "", "2", "1", *[""] * 26]
    frame = table(rank=["0.5", *["1.5"] * 28, ""]).drop(columns="label")
    frame.assign(kind=cells).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "? kind" in error
    assert "27  --label kind, --ignore kind, or --fill-missing" in error
    assert "1  --fill-missing (column mean), or --drop-missing (1 row)" in error
    remedy = remedy_of(error)
    assert remedy == "--label kind --fill-missing"
    columns = classify("items.csv", *remedy.split())["columns"]
    assert [row["name"] for row in columns if row["read_as"] == "labels"] == ["kind"]
    # not where the labels are known, numbers are fractions, or none repeats
    frame = frame.drop(columns="rank")
    for others in (
        {"kind": cells, "label": ["u", "v", *[""] * 28]},
        {"kind": [cell and f"{cell}.5" for cell in cells]},
        {"kind": ["1", "2", "3", *[""] * 27]},
        {"kind": ["2020-01-01", "2020-01-01", "2021-01-01", *[""] * 27]},
    ):
        frame.assign(**others).to_csv("items.csv", index=False)
        error = refused(capsys, "sample", "items.csv")
        assert "--label kind, --ignore" not in error
        assert "--fill-missing (column mean)" in error


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_columns_that_may_be_the_labels_are_left_to_choose_from(kind, capsys):
    frame = table().rename(columns={"label": "kind"})
    if kind == "numbers":
        frame["kind"] = frame["kind"].map({"a": "1", "b": "2"})
    frame.assign(group=["3", "", "1", "3", *[""] * 26]).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    for name in ("kind", "group"):
        assert f"--label {name}, " in error
    assert "without editing" not in error
    assert classify("items.csv", "--label", "kind", "--ignore", "group")["labels"] == 10


def test_texts_that_are_complete_and_distinct_are_probably_ids(capsys):
    frame = table().rename(columns={"label": "kind"})
    n = len(frame)
    for names, remedy in (
        ({"name": [f"item {k}" for k in range(n)]}, "--id name"),
        ({"name": [f"item {k}" for k in range(n)], "id": range(n)}, "--ignore name"),
        ({"name": [f"item {k // 2}" for k in range(n)]}, "--categorical name"),
        ({"name": ["", *(f"item {k}" for k in range(1, n))]}, "--ignore name"),
        ({which: [f"{which} {k}" for k in range(n)] for which in "ab"}, "--ignore a --ignore b"),
    ):
        frame.assign(**names).to_csv("items.csv", index=False)
        error = refused(capsys, "sample", "items.csv")
        assert remedy_of(error).replace("--label kind ", "") == remedy
    many = pd.concat([frame] * 3, ignore_index=True)  # more texts than categories
    many.assign(name=[f"item {k}" for k in range(3 * n)]).to_csv("items.csv", index=False)
    assert remedy_of(refused(capsys, "sample", "items.csv")) == "--label kind --id name"


@pytest.mark.filterwarnings("default:.*each once:RuntimeWarning")
def test_consecutive_whole_numbers_are_probably_counts_of_the_items(capsys):
    frame, numbers = table(), 1000 + np.random.default_rng(0).permutation(30)
    frame.assign(number=numbers).to_csv("items.csv", index=False)
    classify("items.csv")
    warned = capsys.readouterr().err
    assert "column 'number' has the whole numbers from 1000 to 1029, each once: if they" in warned
    assert "use --id number, or --ignore number; now it is a feature" in warned
    # beside another problem it is one, with its remedy
    frame.rename(columns={"label": "kind"}).assign(number=numbers, rank=range(30)).to_csv(
        "items.csv", index=False
    )
    error = refused(capsys, "sample", "items.csv")
    assert remedy_of(error) == "--label kind --id number --ignore rank"
    # no warning of numbers that repeat or leave gaps, nor of few rows
    for other in (numbers // 2, numbers * 2, numbers + 0.5):
        frame.assign(number=other).to_csv("items.csv", index=False)
        classify("items.csv")
        assert "whole numbers" not in capsys.readouterr().err
    frame.head(9).assign(number=range(9)).to_csv("items.csv", index=False)
    classify("items.csv")
    assert "whole numbers" not in capsys.readouterr().err


def test_a_name_that_is_nearly_a_column_is_corrected(capsys):
    table().to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--label", "lable")
    assert "no column 'lable' (--label): did you mean 'label'?" in error
    error = refused(capsys, "sample", "items.csv", "--label", "quite other")
    assert "(--label): name one of its columns: 'x', 'y', 'label'" in error


def test_a_class_of_most_items_is_asked_about_where_no_item_is_left_to_predict(capsys):
    frame = table(90)
    for mark in ("Unassigned", "-", "to do"):
        marked = frame.fillna({"label": mark}).assign(id=range(90))
        marked.to_csv("items.csv", index=False)
        error = refused(capsys, "sample", "items.csv")
        assert f"60 of 90 labels are {mark!r}: use --unlabeled" in error
        assert classify("items.csv", "--unlabeled", mark)["labels"] == 30
        assert classify("items.csv", "--class", mark)["labels"] == 90
    # also where some items have no label; not for two classes, or for less than half
    frame.assign(label=["to do"] * 80 + ["v"] * 5 + ["w"] * 4 + [""]).to_csv(
        "items.csv", index=False
    )
    assert "80 of 89 labels are 'to do'" in refused(capsys, "sample", "items.csv")
    for labels in (["u"] * 80 + ["v"] * 10, ["u"] * 44 + ["v"] * 26 + ["w"] * 20):
        frame.assign(label=labels).to_csv("items.csv", index=False)
        assert classify("items.csv")["labels"] == 90


def test_names_of_items_are_no_labels(capsys):
    frame = table().assign(label=[f"item {k}" for k in range(30)])
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "each of the 30 items has a label of its own, such as 'item 0'" in error


def test_measurements_are_no_labels(capsys):
    frame = table()
    frame.assign(label=frame["x"].round(2)).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "different numbers, such as" in error
    frame.assign(label=np.arange(30) % 4 / 2).to_csv("items.csv", index=False)
    assert len(classify("items.csv")["predicted"]) == 4  # ratings in halves are classes


def test_missing_values_of_a_misnamed_column_of_labels_are_not_complained_of(capsys):
    frame = table()
    frame["kind"] = frame.pop("label").map({"a": 0, "b": 1})
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--label", "kimd")
    assert error.startswith("graphuq sample: items.csv has no column 'kimd' (--label): did you")


@pytest.mark.parametrize("other", ["light RED", "Light red"])
def test_classes_that_differ_only_in_case_or_spaces_are_asked_about(other, capsys):
    labels = ["light red", "blue"] * 14 + ["light red ", other]
    table(label=labels).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert f"{other!r} in 1 row differs from 'light red' only in case or spaces: write" in error
    assert f"or list them with --class 'light red' --class '{other}'" in error
    table(label=labels, y=[None, 2] + [1] * 28).to_csv("both.csv", index=False)
    assert refused(capsys, "sample", "both.csv").endswith(
        "This remedies a part:\n  graphuq sample both.csv --fill-missing\n"
    )
    error = refused(capsys, "sample", "items.csv", "--class", other)
    assert f"'light red' in 15 rows differs from {other!r} only in case or spaces" in error
    found = classify("items.csv", "--class", "light red", "--class", other)
    assert found["labels"] == 30


@pytest.mark.filterwarnings("default:.*typing error:RuntimeWarning")
def test_classes_that_are_nearly_alike_are_warned_of(capsys):
    labels = ["Grignolino", "Barolo"] * 14 + ["Grignolino", "Grignolno"]
    table(label=labels).to_csv("items.csv", index=False)
    classify("items.csv", "--class", "Grignolino")
    error = capsys.readouterr().err
    assert "'Grignolno' in 1 row is nearly 'Grignolino': correct it if it is a typing" in error
    table(label=["type 1", "type 2", "type 4"] * 9 + ["type 1", "type 2", "type 3"]).to_csv(
        "items.csv", index=False
    )
    classify("items.csv")
    assert not capsys.readouterr().err


def test_labels_that_all_belong_to_dropped_rows_are_named(capsys):
    frame = table()
    frame["z"] = frame["x"].where(frame["label"].isna())
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--drop-missing")
    assert "the items that are kept, 20 of 30, have no label: use --fill-missing" in error
    write("edges.csv", "source,target\na,b\nb,c\nc,a\nx,y\n")
    write("labels.csv", "id,label\nx,u\ny,v\n")
    error = refused(capsys, "sample", "edges.csv", "--labels", "labels.csv", "--largest-component")
    assert "the items that are kept, 3 of 5, have no label: label an item of the largest" in error


def test_true_classes_that_differ_in_case_can_be_listed(capsys):
    truth = np.where(np.arange(30) % 2, "b", "a").astype(object)
    truth[-1] = "B"
    table().assign(truth=truth).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--truth", "truth")
    assert "write them alike, or list them with --class b --class B" in error
    options = ["--truth", "truth", "--class", "b", "--class", "B"]
    assert classify("items.csv", *options)["labels"] == 10


def test_codes_with_letters_and_points_are_classes(capsys):
    codes = [f"1.{k:02d}" for k in range(12)]
    table(36, label=[*codes, *codes, *codes[:-1], "v0"]).to_csv("items.csv", index=False)
    assert len(classify("items.csv")["predicted"]) == 13


def test_what_filling_in_replaces_is_told(capsys):
    frame = table().assign(z=[*map(str, range(28)), "127.o", "12%"], few=[1.0, 2.0, *[None] * 28])
    frame.to_csv("items.csv", index=False)
    notes = classify("items.csv", "--fill-missing")["notes"]
    assert "invalid: '127.o' in items.csv, line 30, column 'z', and 1 more" in notes
    assert "most values of 'few' are replaced, 28 of 30 (to exclude it, use --ignore few)" in notes
    frame[:1].to_csv("one.csv", index=False)
    error = refused(capsys, "sample", "one.csv", "--fill-missing", "--ignore", "z")
    assert error.endswith("one.csv has 1 row, but at least 2 are needed\n")


def test_a_column_of_predictions_is_no_labels(capsys):
    table().assign(id=range(30)).drop(columns="label").to_csv("items.csv", index=False)
    table()[["label"]].fillna("a").rename(columns={"label": "prediction"}).rename_axis("id").to_csv(
        "predicted.csv"
    )
    error = refused(capsys, "sample", "items.csv", "--labels", "predicted.csv")
    assert "predicted.csv has no column 'label' (--labels)" in error


def test_a_class_that_marks_unknown_labels_is_named_where_it_leaves_one_class(capsys):
    frame = table()
    frame["label"] = frame["label"].map({"a": "-1", "b": "1"})
    frame.to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "all 5 labels are '1': label at least one item of another class; " in error
    assert "(if '-1' is a class, use --class -1)" in error
    assert classify("items.csv", "--class", "-1")["labels"] == 10


def test_a_text_column_of_the_classes_is_probably_the_labels(capsys):
    frame = table(team=["red", "blue"] * 15, note=["x", "y", "x", *[None] * 27])
    frame.drop(columns="label").to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv", "--class", "red", "--class", "blue")
    assert remedy_of(error).endswith(" --label team --categorical note")


def test_the_encoding_does_not_hide_other_problems(capsys):
    text = "Name;Größe;Stadt;Gruppe\nA;1,82;Köln;u\nB;;Ulm;v\nC;1,7;Ulm;\nD;1,6;Köln;u\n"
    Path("de.csv").write_bytes(text.encode("latin-1"))
    error = refused(capsys, "sample", "de.csv")
    for message in ("byte 0xf6 is not UTF-8 text", "no column 'label'", "? Stadt", "? Größe"):
        assert message in error
    remedy = remedy_of(error, "de.csv").replace("COLUMN", "Gruppe")
    assert remedy.startswith("--encoding latin-1 --label Gruppe ")
    columns = classify("de.csv", *remedy.split())["columns"]
    assert columns[-1]["read_as"] == "labels"
    Path("de.csv").write_bytes(text.encode("utf-16"))
    assert "--encoding utf-16 --label COLUMN" in refused(capsys, "sample", "de.csv")
    # a problem that stops the reading is told beside the encoding
    Path("de.csv").write_bytes((text + "E;1\n").encode("latin-1"))
    error = refused(capsys, "sample", "de.csv")
    assert "byte 0xf6 is not UTF-8 text" in error
    assert "line 6: expected 4 values" in error


def test_text_columns_may_be_categories_one_by_one(capsys):
    write("messy.csv", "x,team,city,label\n1,red,Rome,u\n2,blue,Oslo,\n5,red,Rome,v\n")
    with pytest.raises(ValueError, match="column 'city'"):
        files.read("messy.csv", files.ReadOptions(categorical=("team",)))
    items = files.read("messy.csv", files.ReadOptions(categorical=("team",), ignore=("city",)))
    assert items.features.shape == (3, 3)
    # FILE may follow the option
    classify("--categorical", "messy.csv")
    classify("messy.csv", "--categorical")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2", "-0,25"], [1.5, 2, -0.25]),
        (["1.234,5", "2,25", "7"], [1234.5, 2.25, 7]),
        (["1,234,567", "12", "1,000,000"], [1234567, 12, 1000000]),
        (["1,234.5", "12", "1,000"], [1234.5, 12, 1000]),
        (["31.12.2020", "01.01.2021", "02.01.2021"], [18627, 18628, 18629]),
        (["12/31/2020", "01/01/2021", "01/02/2021"], [18627, 18628, 18629]),
        (["31/12/2020", "01/01/2021", "02/01/2021"], [18627, 18628, 18629]),
        (["2020-12-31", "2021-01-01T12:00", "2021-01-02 00:00:00"], [18627, 18628.5, 18629]),
        (["Dec 31, 2020", "January 1, 2021", "2-Jan-2021"], [18627, 18628, 18629]),
        (["December 2020", "Jan 2021", "Feb 2021"], [18597, 18628, 18659]),
        (["12/31/20", "1/1/21", "1/2/21"], [18627, 18628, 18629]),
        (["31/12/98", "01/01/99", "02/01/99"], [10591, 10592, 10593]),
        (["31.12.20", "1.1.21", "2.1.21"], [18627, 18628, 18629]),
        (["31-Dec-20", "1-Jan-21", "2 Jan 21"], [18627, 18628, 18629]),
        (["2020-12", "2021-01", "2021-02"], [18597, 18628, 18659]),
        (
            ["12/31/2020 1:30 PM", "1/1/2021 6:00 AM", "1/2/21 12:00"],
            [18627.5625, 18628.25, 18629.5],
        ),
        (["(1,234.50)", "2", "\u22123"], [-1234.5, 2, -3]),
        (["812.000", "1.235.000", "2.345.682"], [812000, 1235000, 2345682]),
        (["1 234,5", "12", "1\u202f000"], [1234.5, 12, 1000]),
        (["1'234.5", "12 345", "1\u2019000"], [1234.5, 12345, 1000]),
        (["1 234 €", "5 €", "7 €"], [1234, 5, 7]),
        (["8/10", "10/10", "2/10"], [8, 10, 2]),
    ],
)
def test_numbers_and_dates_are_read_as_their_country_writes_them(cells, values):
    rows = "".join(f"{k};{cell};{'uv'[k % 2]}\n" for k, cell in enumerate(cells))
    write("items.csv", f"k;x;label\n{rows}")
    items = files.read("items.csv", files.ReadOptions(scale=False))
    np.testing.assert_allclose(items.features[:, 1], values)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,234", "2,500", "7"], "line 2: '1,234' may be 1.234 or 1234"),
        (["03/04/2020", "05/06/2020", "01/01/2021"], "may begin with the day or with the month"),
        (["20/04/21", "21/06/30", "22/01/01"], "may begin with the year, the day or the month"),
        (["14/09/42", "28/05/55", "1/3/99"], "the year 42 in '14/09/42' may be 1942 or 2042"),
        (["12/31/98", "1/1/00", "2/1/01"], "may be 1998 or 2098"),
        (["9999-12-31", "2020-01-01", "2021-02-03"], "'9999-12-31' is before 1680 or after 2260"),
        (["812", "2.345", "1.200"], "the point in '2.345' may be a decimal point or stand between"),
    ],
)
def test_numbers_and_dates_of_two_meanings_are_asked_about(cells, message, capsys):
    rows = "".join(f"{k};{cell};{'uv'[k % 2]}\n" for k, cell in enumerate(cells))
    write("items.csv", f"k;x;label\n{rows}")
    assert message in refused(capsys, "sample", "items.csv")
    if "1.234" in message:
        for mark in ("comma", "point"):
            classify("items.csv", "--decimal", mark)


@pytest.mark.parametrize(
    ("cells", "values", "read_as"),
    [
        (["64.9%", "12%", "7.5 %"], [64.9, 12, 7.5], "numbers with %"),
        (["$1,792.13", "-$5", "$12"], [1792.13, -5, 12], "numbers with $, decimal points"),
        (["1.792,13 €", "5 €", "12,5 €"], [1792.13, 5, 12.5], "numbers with €, decimal commas"),
    ],
)
def test_one_currency_or_unit_stands_beside_all_numbers_of_a_column(cells, values, read_as, capsys):
    rows = "".join(f"{k};{cell};{'uv'[k % 2]}\n" for k, cell in enumerate(cells))
    write("items.csv", f"k;x;label\n{rows}")
    items = files.read("items.csv", files.ReadOptions(scale=False))
    np.testing.assert_allclose(items.features[:, 1], values)
    assert items.columns[1].read_as == read_as
    # values without it, or with another, are as invalid as texts, and are not replaced unasked
    for odd in ("5", "£5", "[$5]", "x"):
        write("items.csv", f"k;x;label\n{rows}9;{odd};u\n")
        error = refused(capsys, "sample", "items.csv")
        assert f"line 5: {odd!r} is " in error
        assert "without editing" not in error
        filled = files.read("items.csv", files.ReadOptions(missing="fill", scale=False))
        np.testing.assert_allclose(filled.features[:3, 1], values)


def test_seasons_are_no_months(capsys):
    for cells in (["2009-10", "2010-11", "2011-12"], ["2009-10", "2019-20", "2010-11"]):
        rows = "".join(f"{k};{cell};{'uv'[k % 2]}\n" for k, cell in enumerate(cells))
        write("items.csv", f"k;x;label\n{rows}")
        assert "text: 2009-10" in refused(capsys, "sample", "items.csv")


def test_signs_between_numbers_are_no_units(capsys):
    write("items.csv", "x,label\n€5 €10,u\n5°30°,v\n1€50€,\n")
    assert "? x       text: €5 €10, 5°30°, 1€50€" in refused(capsys, "sample", "items.csv")


def test_the_table_says_only_what_is_known(capsys):
    pytest.importorskip("pyarrow")
    frame = table(30, z=[1.0] * 29 + [None], word=["red", "blue"] * 15, tags=[["a", "b"]] * 30)
    frame.to_parquet("items.parquet")
    found = classify("items.parquet", "--ignore", "tags", "--fill-missing", "--categorical")
    rows = {row["name"]: row for row in found["columns"]}
    assert rows["z"]["read_as"] == "constant: not used"
    assert rows["tags"]["read_as"] == "not used"
    assert (rows["label"]["distinct"], rows["label"]["missing"]) == (2, 20)
    # a column that is constant only in the rows that are kept
    frame.drop(columns="tags").assign(k=[1.0] * 29 + [2.0]).to_csv("items.csv", index=False)
    found = classify("items.csv", "--drop-missing", "--categorical")
    assert {row["name"]: row["read_as"] for row in found["columns"]}["k"] == "constant: not used"
    # nothing is said of columns that are judged later
    error = refused(capsys, "sample", "items.csv", "--text", "wrod")
    assert re.search(r"^  word +not read yet", error, re.M)


def test_proposed_options_are_those_that_a_shell_takes(capsys):
    frame = table(**{"-x": ["red", "blue"] * 15, "two words": ["a", "b"] * 15})
    frame.to_csv("items.csv", index=False)
    remedy = remedy_of(refused(capsys, "sample", "items.csv"))
    assert classify("items.csv", *shlex.split(remedy))["labels"] == 10
    table(**{f"c{k}": ["a", "b"] * 15 for k in range(9)}).to_csv("items.csv", index=False)
    assert remedy_of(refused(capsys, "sample", "items.csv")) == "--categorical"
    # a name with control characters cannot be pasted
    table(**{"a\x1bb": ["a", "b"] * 15}).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "? a\\x1bb" in error
    assert error.endswith("Choose options, and add them to the command.\n")


def test_many_columns_are_counted_and_roles_are_always_shown(capsys):
    wide = table(**{f"c{k}": np.sqrt(np.arange(30) + k) for k in range(90)})
    wide.to_csv("items.csv", index=False)
    assert main(["sample", "items.csv", "--draws", "20"]) == 0
    printed = capsys.readouterr().out
    assert "\n  label   labels" in printed
    assert "\n  and 92 more columns of numbers\n" in printed
    table(**{f"c{k}": ["a", "b"] * 15 for k in range(90)}).to_csv("items.csv", index=False)
    error = refused(capsys, "sample", "items.csv")
    assert "and 33 more columns, 30 of them with questions like those above" in error


def test_new_items_need_the_unit_of_the_first(tmp_path):
    write("items.csv", "x,label\n50%,u\n20%,v\n30%,\n")
    encoding = files.read("items.csv").encoding
    write("same.csv", "x\n40%\n")
    write("other.csv", "x\n0.4\n")
    assert read_new(Path("same.csv"), encoding).features.shape == (1, 1)
    with pytest.raises(ValueError, match="expected numbers with %, as in the first file"):
        read_new(Path("other.csv"), encoding)


def test_one_point_among_decimal_commas_stands_between_thousands_or_is_a_misfit(capsys):
    table(60).assign(x=[f"{k + 1000},5" for k in range(59)] + ["1.450"]).to_csv(
        "items.csv", sep=";", index=False
    )
    items = files.read("items.csv", files.ReadOptions(scale=False))
    assert items.features[-2:, 0].tolist() == [1058.5, 1450.0]
    table(60).assign(x=[f"{k},5" for k in range(59)] + ["1.45"]).to_csv(
        "items.csv", sep=";", index=False
    )
    error = refused(capsys, "sample", "items.csv")
    assert "line 61: '1.45' is written in another way than the other" in error
    assert "without editing" not in error  # what is written is not replaced unasked


@pytest.mark.parametrize(("cell", "given"), [("1.5", "comma"), ("1,5", "point")])
def test_another_decimal_mark_than_the_file_has_is_named(cell, given, capsys):
    mark = "point" if given == "comma" else "comma"
    rows = "".join(f"{cell}{k % 10};{'uv'[k % 2]}\n" for k in range(60))
    write("items.csv", f"x;label\n7;u\n{rows}")
    error = refused(capsys, "sample", "items.csv", "--decimal", given)
    assert f"'{cell}0' has a decimal {mark}, where a decimal {given} is expected" in error
    assert "leave out --decimal, or --ignore x" in error
    classify("items.csv")


def test_points_beside_decimal_commas_are_asked_about(capsys):
    write("items.csv", "pop;height;label\n1.234;1,75;u\n2.500;1,8;\n12;1,62;v\n")
    error = refused(capsys, "sample", "items.csv")
    assert "line 2: the point in '1.234' may be a decimal point or stand" in error
    items = files.read("items.csv", files.ReadOptions(decimal=",", scale=False))
    np.testing.assert_allclose(items.features, [[1234, 1.75], [2500, 1.8], [12, 1.62]])


def test_empty_columns_at_the_end_of_a_spreadsheet_are_ignored(capsys):
    write("items.csv", "x,label,,\n1,u,,\n2,v,,\n3,,,\n")
    columns = classify("items.csv")["columns"]
    assert [row["read_as"] for row in columns] == ["numbers", "labels", "not used", "not used"]


def test_all_rows_of_a_wrong_length_are_told(capsys):
    write("items.csv", "x,label\n1,u\n2\n3,v,4\n5\n")
    error = refused(capsys, "sample", "items.csv")
    assert "line 3: expected 2 values" in error
    assert "the length of 3 rows is wrong, also in lines 4, 5" in error


def test_suggested_ids_with_commas_can_be_told_apart():
    from graphuq.utils.words import join_names

    assert join_names(["Smith, Ann", "Bob"]) == "'Smith, Ann', 'Bob'"


# Examples


@pytest.mark.parametrize("name", ["votes", "irises", "friends", "digits"])
def test_each_example_can_be_read_as_it_says(name, capsys):
    if name == "friends":
        pytest.importorskip("networkx")
    assert main(["example", name]) == 0
    printed = capsys.readouterr().out
    command = re.search(r"^  graphuq (sample .*)$", printed, re.M)[1].split()
    read = [word for word in command[1:] if word != "--images"]
    assert classify(*read)["labels"] in (5, 9, 2, 14)
    error = refused(capsys, "example", name)
    assert "exists: remove it, or choose another --out" in error


def test_the_example_of_votes_is_that_of_the_first_command(capsys):
    assert main(["example", "votes"]) == 0
    assert "Try:\n  graphuq sample votes.csv --label party\n" in capsys.readouterr().out
    votes, parties = pd.read_csv("votes.csv"), pd.read_csv("parties.csv")
    assert votes["party"].notna().sum() == 5
    result = classify("votes.csv", "--label", "party", "--truth", "parties.csv")
    assert result["accuracy"] > 0.85
    assert parties["id"].tolist() == votes["id"].tolist()
