from __future__ import annotations

import csv
import io
import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphuq.cli import files
from graphuq.cli.files.options import ALL

GOOD = "id,length,width,label\na,1,2,rose\nb,1,3,\nc,5,2,lily\n"


def written(folder, content, name="items.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, **options):
    return files.read(path, files.ReadOptions(**options))


def test_a_table_is_read(tmp_path):
    items = read(written(tmp_path, GOOD))
    assert items.ids.tolist() == ["a", "b", "c"]
    assert items.known.tolist() == ["rose", None, "lily"]
    np.testing.assert_allclose(items.features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(items.features.std(axis=0), 1)
    raw = read(written(tmp_path, GOOD), scale=False).features
    assert raw.tolist() == [[1, 2], [1, 3], [5, 2]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.tsv", GOOD.replace(",", "\t")),
        ("items.csv", GOOD.replace(",", ";")),
        ("items.csv", GOOD.replace("\n", "\r\n")),
        ("items.csv", b"\xef\xbb\xbf" + GOOD.encode()),
        ("items.csv", GOOD.replace(",", " , ")),
        ("items.csv", GOOD.replace("b,1", "\n  \nb,1")),
        ("items.csv", GOOD.replace("rose", '"rose"').replace("b,1,3,", "b,1,3,?")),
    ],
)
def test_ways_to_write_a_table_are_equal(name, content, tmp_path):
    items, plain = read(written(tmp_path, content, name)), read(
        written(tmp_path, GOOD, "plain.csv")
    )  # fmt: skip
    assert items.ids.tolist() == plain.ids.tolist()
    assert items.known.tolist() == plain.known.tolist()
    np.testing.assert_array_equal(items.features, plain.features)


def test_labels_keep_their_own_words(tmp_path):
    content = "label;x\n01;1\n Größe 2 ;2\n1.0;3\n;4\n"
    items = read(written(tmp_path, content.encode("latin-1")), encoding="latin-1")
    assert items.known.tolist() == ["01", "Größe 2", "1.0", None]
    assert items.ids.tolist() == ["0", "1", "2", "3"]


def test_columns_have_one_use_each(tmp_path):
    content = "name,x,note,known,true\na,1,hm,u,u\nb,2,hm,,v\nc,3,so,-1,v\nd,4,so,v,v\n"
    items = read(
        written(tmp_path, content),
        id_column="name",
        label="known",
        truth="true",
        ignore=("note",),
        unlabeled=("-1",),
        scale=False,
    )
    assert items.features.tolist() == [[1], [2], [3], [4]]
    assert items.known.tolist() == ["u", None, None, "v"]
    assert items.truth.tolist() == ["u", "v", "v", "v"]


def test_a_first_column_without_a_name_holds_ids(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["u", "v"]}, index=["one", "two"])
    frame.to_csv(tmp_path / "items.csv")
    items = read(tmp_path / "items.csv")
    assert items.ids.tolist() == ["one", "two"]
    assert items.features.shape == (2, 1)


def test_labels_from_a_second_file(tmp_path):
    table = written(tmp_path, "id,x\na,1\nb,2\nc,3\n")
    for content in ("id,label\nc,lily\na,rose\n", "item,kind\na,rose\nc,lily\nb,\n"):
        items = read(table, labels=written(tmp_path, content, "labels.csv"))
        assert items.known.tolist() == ["rose", None, "lily"]
    content = "id,first,true\na,u,u\nb,,v\nc,v,v\n"
    labels = written(tmp_path, content, "labels.csv")
    items = read(table, labels=labels, label="first", truth="true")
    assert items.known.tolist() == ["u", None, "v"]
    assert items.truth.tolist() == ["u", "v", "v"]


def test_dropped_rows_have_no_influence(tmp_path):
    rows = GOOD.splitlines()
    spoilt = [*rows[:2], "x,,1,rose", *rows[2:], "y,inf,1,", "z,oops,1,"]
    items = read(written(tmp_path, "\n".join(spoilt)), missing="drop")
    plain = read(written(tmp_path, GOOD))
    assert items.ids.tolist() == plain.ids.tolist()
    assert items.known.tolist() == plain.known.tolist()
    np.testing.assert_array_equal(items.features, plain.features)
    assert items.left_out == ("x", "y", "z")
    assert "dropped 3 of 6 rows (50.0%)" in items.notes[0]
    assert any(note.endswith("1 labeled item") for note in items.notes)


def test_missing_values_are_filled_with_the_mean(tmp_path):
    content = "x,z,label\n1,a,u\n,a,v\n4,,\n4,b,\n"
    items = read(written(tmp_path, content), missing="fill", categorical=(ALL,), scale=False)
    np.testing.assert_allclose(items.features, [[1, 1, 0], [3, 1, 0], [4, 2 / 3, 1 / 3], [4, 0, 1]])
    assert "2 missing or invalid values in 2 rows" in items.notes[0]


def test_answers_are_numbers(tmp_path):
    content = "a,b,c,label\ny,Yes,true,u\nn,no,false,v\n"
    items = read(written(tmp_path, content), scale=False)
    assert items.features.tolist() == [[1, 1, 1], [-1, -1, -1]]


def test_categories_are_as_far_apart_as_numbers(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.standard_normal(400), "z": rng.choice(list("abc"), 400), "label": "u"}
    )
    frame.to_csv(tmp_path / "items.csv", index=False)
    X = read(tmp_path / "items.csv", categorical=(ALL,)).features
    i, j = np.triu_indices(400, 1)
    numbers = ((X[i, :1] - X[j, :1]) ** 2).sum(axis=1)
    categories = ((X[i, 1:] - X[j, 1:]) ** 2).sum(axis=1)
    assert set(categories) == {0.0, 2.0}
    # the mean over ordered pairs, of an item with itself too, is 2 exactly
    np.testing.assert_allclose(numbers.mean() * (399 / 400), 2)


def test_constant_columns_do_not_matter(tmp_path):
    content = GOOD.replace("length", "same,length").replace("a,", "a,7,").replace("b,", "b,7,")
    items = read(written(tmp_path, content.replace("c,", "c,7,")))
    np.testing.assert_array_equal(
        items.features, read(written(tmp_path, GOOD, "plain.csv")).features
    )


def test_edge_lists(tmp_path):
    labels = written(tmp_path, "id,label\nann,u\ncid,v\n", "labels.csv")
    bare = written(tmp_path, "ann,bob\nbob,cid\ncid,bob\n", "bare.csv")
    items = read(bare, edges=True, labels=labels)
    assert items.ids.tolist() == ["ann", "bob", "cid"]
    assert items.known.tolist() == ["u", None, "v"]
    once, twice = np.array([0, 1, 0]), np.array([1, 0, 2])
    np.testing.assert_array_equal(items.graph.adjacency.toarray(), [once, twice, 2 * once])
    content = "Source\tTarget\tWeight\nann\tbob\t2\nbob\tcid\t1\ncid\tbob\t3\n"
    items = read(written(tmp_path, content, "named.tsv"), labels=labels)
    np.testing.assert_array_equal(items.graph.adjacency.toarray()[1], [2, 0, 4])


def test_the_largest_component(tmp_path):
    path = written(tmp_path, "from,to\nx,y\na,b\nb,c\n")
    labels = written(tmp_path, "id,label\na,u\nc,v\nx,u\n", "labels.csv")
    assert read(path, labels=labels).graph.n_components == 2
    items = read(path, labels=labels, largest=True)
    assert items.ids.tolist() == ["a", "b", "c"]
    assert items.known.tolist() == ["u", None, "v"]
    assert items.left_out == ("x", "y")


def test_graphml(tmp_path):
    networkx = pytest.importorskip("networkx")
    network = networkx.karate_club_graph()
    networkx.write_graphml(network, tmp_path / "karate.graphml")
    items = read(tmp_path / "karate.graphml", label="club")
    assert items.ids.tolist() == [str(i) for i in range(34)]
    assert items.known.tolist() == [network.nodes[i]["club"] for i in range(34)]
    np.testing.assert_array_equal(items.graph.adjacency.toarray(), networkx.to_numpy_array(network))


def as_igraph_writes(names):
    """A path of three nodes: igraph counts the nodes, and has their names as an attribute."""
    nodes = "".join(
        f'<node id="n{k}"><data key="v_name">{name}</data></node>' for k, name in enumerate(names)
    )
    return (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="v_name" for="node" attr.name="name" attr.type="string"/>'
        '<key id="e_weight" for="edge" attr.name="weight" attr.type="double"/>'
        f'<graph id="G" edgedefault="undirected">{nodes}'
        '<edge source="n0" target="n1"><data key="e_weight">2.5</data></edge>'
        '<edge source="n1" target="n2"><data key="e_weight">4</data></edge></graph></graphml>'
    )


def test_graphml_of_igraph_has_its_names_as_ids(tmp_path):
    pytest.importorskip("networkx")
    items = read(written(tmp_path, as_igraph_writes(["ann", "bob", "cy"]), "named.graphml"))
    assert items.ids.tolist() == ["ann", "bob", "cy"]
    assert items.graph.degrees.tolist() == [2.5, 6.5, 4]
    assert "attribute 'name'" in "".join(items.notes)
    same = read(written(tmp_path, as_igraph_writes(["ann", "bob", "ann"]), "same.graphml"))
    assert same.ids.tolist() == ["n0", "n1", "n2"]


def test_archives(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 2))
    path = tmp_path / "items.npz"
    np.savez(path, X=X, y=[3, -1, 5, -1])
    items = read(path)
    np.testing.assert_array_equal(items.features, X)
    assert items.known.tolist() == ["3", None, "5", None]
    assert abs(read(path, scale=True).features.mean(axis=0)).max() < 1e-12
    A = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    parts = {part: getattr(A, part) for part in ("data", "indices", "indptr", "shape")}
    sparse.save_npz(tmp_path / "plain.npz", A)
    np.savez(tmp_path / "named.npz", **{f"adj_{k}": v for k, v in parts.items()},
             labels=["u", "", "v"], ids=["a", "b", "c"])  # fmt: skip
    for name in ("plain", "named"):
        graph = read(tmp_path / f"{name}.npz").graph
        np.testing.assert_array_equal(graph.adjacency.toarray(), A.toarray())
    assert read(tmp_path / "named.npz").known.tolist() == ["u", None, "v"]


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(io.StringIO(GOOD))
    frame.to_parquet(tmp_path / "items.parquet")
    items, plain = read(tmp_path / "items.parquet"), read(written(tmp_path, GOOD))
    assert items.known.tolist() == plain.known.tolist()
    np.testing.assert_array_equal(items.features, plain.features)
    frame["width"] = [np.nan if row == 1 else row for row in range(len(frame))]
    frame.to_parquet(tmp_path / "items.parquet")
    with pytest.raises(ValueError, match=r"row 1, column 'width': the value is missing"):
        read(tmp_path / "items.parquet")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read(written(tmp_path, b"PAR1 no", "bad.parquet"))


@pytest.mark.parametrize(
    ("name", "module"),
    [("items.parquet", "pyarrow"), ("items.graphml", "networkx"), ("items.h5ad", "anndata")],
)
def test_a_missing_package_is_named(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'graphuq\["):
        read(written(tmp_path, b"", name))


EDGES = "source,target,weight\na,b,1\nb,c,2\n"

BAD = {
    "row too long": (
        GOOD.replace("b,1,3,", "b,1,3,,9"),
        {},
        r"line 3: expected 4 values .* got 5 .*continues after column 'label",
    ),
    "row too short": (
        GOOD.replace("b,1,3,", "b,1,3"),
        {},
        r"line 3: expected 4 .* got 3 .*after column 'w",
    ),
    "all rows too long": ("x,label\n1,2,u\n3,4,v\n", {}, r"line 2: expected 2 values .* got 3"),
    "open quote": (GOOD.replace("b,1", 'b,"1'), {}, r"line 3: .* values|cannot be read as a table"),
    "number spoilt": (
        GOOD + "d,4,2..5,\n",
        {},
        r"line 5, column 'width': '2..5' is not a finite number .*1 of 4 rows.*--drop-missing",
    ),
    "infinite": (GOOD + "d,inf,1,\n", {}, r"line 5, column 'length': 'inf' is not a finite"),
    "overflow": (GOOD + "d,1e400,1,\n", {}, r"line 5, column 'length': '1e400' is too large \(fou"),
    "underflow": (
        "x,z,label\n1e-200,1,u\n3e-200,2,v\n",
        {},
        r"column 'x': its numbers differ by at most 2e-200, .*--ignore x",
    ),
    "four hundred digits": (
        GOOD + f"d,{'9' * 400},1,\n",
        {},
        r"line 5, column 'length': '999+\.\.\.9+' is too large \(found in 1 of 4 rows",
    ),
    "one answer spelled out": (
        "x,label\nn,u\ny,v\nyes please,u\n",
        {},
        r"line 4, column 'x': 'yes please' is neither yes nor no, .*--categorical x",
    ),
    "text before which a number stands": (
        "x,label\n1,u\nlow,v\nhigh,u\n",
        {},
        r"line 3, column 'x': 'low' is not a number: .*--categorical x",
    ),
    "missing": (GOOD + "\nd,4,,\n", {}, r"line 6, column 'width': the value is missing"),
    "text": (
        GOOD.replace("3", "tall").replace("2", "low"),
        {},
        r"line 2, column 'width': 'low' is not a number: .*--categorical.*--ignore width",
    ),
    "too many categories": (
        "z,label\n" + "".join(f"text{i},u\n" for i in range(60)),
        {"categorical": (ALL,)},
        r"line 2, column 'z': expected at most 50 categories, got 60",
    ),
    "id twice": (GOOD.replace("c,5", "a,5"), {}, r"line 4, column 'id': duplicate id 'a' .*line 2"),
    "id missing": (GOOD.replace("c,5", ",5"), {}, r"line 4, column 'id': the id is missing"),
    "not UTF-8": (
        GOOD.replace("lily", "fleur é").encode("latin-1"),
        {},
        r"line 4, column 4: byte 0xe9 is not UTF-8 text: .*--encoding latin-1",
    ),
    "numbers for names": ("0,1\n0,2\n", {}, r"line 1: expected column names, got numbers.*--edges"),
    "published without names": (
        "republican,n,y,n\ndemocrat,y,y,n\n",
        {"label": "republican"},
        r"line 1: duplicate column 'n': give every column its own name",
    ),
    "no text encoding": (GOOD, {"encoding": "base64"}, "unknown encoding 'base64'"),
    "no such encoding": (GOOD, {"encoding": "utf-0"}, "unknown encoding 'utf-0'"),
    "UTF-16": (GOOD.encode("utf-16"), {}, r"line 1, column 1: byte 0xff.*--encoding"),
    "empty": ("", {}, r"is empty: expected a line of column names"),
    "blank": ("\n \n", {}, r"is empty: expected a line of column names"),
    "names only": ("id,x,label\n", {}, r"has column names but no rows"),
    "no such label": (GOOD, {"label": "party"}, r"no column 'party' \(--label\): .*'id', 'length'"),
    "no such id": (GOOD, {"id_column": "key"}, r"no column 'key' \(--id\)"),
    "no such truth": (GOOD, {"truth": "real"}, r"no column 'real' \(--truth\)"),
    "nothing to ignore": (GOOD, {"ignore": ("hue",)}, r"no column 'hue' \(--ignore\)"),
    "labels nowhere": (
        GOOD.replace("label", "kind"),
        {},
        r"no column 'label': name .*--label.*'kind'",
    ),
    "name twice": (GOOD.replace("width", "length"), {}, r"line 1: duplicate column 'length'"),
    "name blank": (GOOD.replace("width", ""), {}, r"line 1: column 3 has no name"),
    "no features": ("id,label\na,u\nb,v\n", {}, r"no feature columns"),
    "constant": ("x,label\n1,u\n1,v\n", {}, r"every feature column is constant"),
    "truth with gaps": (GOOD, {"truth": "label"}, r"true class of item 'b' is missing"),
    "all dropped": ("x,z,label\n1,,u\n,2,v\n", {"missing": "drop"}, r"0 rows .*--fill-missing"),
    "nothing to fill by": (
        "x,z,label\n1,,u\n3,,v\n",
        {"missing": "fill"},
        r"column 'z' has no valid values: .*--ignore z",
    ),
    "nothing finite to fill by": (
        "x,z,label\n1,inf,u\n3,,v\n",
        {"missing": "fill"},
        r"column 'z' has no valid values: .*--ignore z",
    ),
    "edge without end": (EDGES + "c,,1\n", {}, r"line 4, column 'target': the edge has no target"),
    "weight no number": (EDGES + "c,a,w\n", {}, r"line 4, column 'weight': 'w' is not a positive"),
    "weight negative": (EDGES + "c,a,-1\n", {}, r"line 4, column 'weight': '-1' is not a positive"),
    "edge ragged": (EDGES + "c,a,1,1\n", {}, r"line 4: expected source,target\[,weight\], got 4"),
    "edges empty": ("", {"edges": True}, r"is empty: expected lines of source,target"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_their_place(case, tmp_path):
    content, options, message = BAD[case]
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=message) as refused:
        read(path, **options)
    assert "items.csv" in str(refused.value) or "encoding" in case
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,label\na,u\nz,v\n",
            r"labels.csv, line 3, column 'id': 'z' is not one of the 3 items, such as 'a'",
        ),
        ("id,label\na,u\na,v\n", r"labels.csv, line 3, column 'id': duplicate id 'a'"),
        ("a,u\nb,v\n", r"labels.csv, line 1: .* got 'a', the id of an item.*id,label"),
        ("id,kind,size\na,u,1\n", r"labels.csv has no column 'label' \(--labels\)"),
        ("", r"labels.csv is empty"),
    ],
)
def test_mistakes_in_a_file_of_labels(content, message, tmp_path):
    table = written(tmp_path, "id,x\na,1\nb,2\nc,3\n")
    with pytest.raises(ValueError, match=message):
        read(table, labels=written(tmp_path, content, "labels.csv"))


def test_two_sources_of_labels_are_refused(tmp_path):
    labels = written(tmp_path, "id,label\na,u\n", "labels.csv")
    with pytest.raises(ValueError, match="--ignore label"):
        read(written(tmp_path, GOOD), labels=labels)
    assert read(written(tmp_path, GOOD), labels=labels, ignore=("label",)).known[0] == "u"


def test_a_column_that_a_file_of_labels_replaces_is_named(tmp_path):
    labels = written(tmp_path, "id,kind\na,u\nb,v\n", "labels.csv")
    items = read(written(tmp_path, "id,x,kind\na,1,v\nb,2,\n"), labels=labels, label="kind")
    assert items.known.tolist() == ["u", "v"]
    assert any(note.startswith("column 'kind' is not used: the labels") for note in items.notes)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "expected X or an adjacency matrix, got only Z"),
        (
            {"X": np.eye(3), "y": [0, 1]},
            r"y must have one value for each of 3 items, got shape \(2,",
        ),
        ({"X": [[1.0, np.nan], [0, 1]]}, "NaN or infinite values in 1 of 2 rows, first in row 0"),
        ({"X": np.eye(2), "y": np.array([0, None])}, "damaged, or not a plain npz file"),
        ({"X": np.eye(2), "ids": ["a", "a"]}, r"ids\[1\]: duplicate id 'a'"),
        ({"adjacency": [[0, 1], [0, 0]]}, "must be symmetric"),
    ],
)
def test_mistakes_in_archives(arrays, message, tmp_path):
    np.savez(tmp_path / "items.npz", **arrays)
    with pytest.raises(ValueError, match=message) as refused:
        read(tmp_path / "items.npz")
    assert "items.npz" in str(refused.value)


def test_tiny_columns_of_archives_are_not_scaled_away(tmp_path):
    np.savez(tmp_path / "items.npz", X=np.arange(6.0).reshape(3, 2) * [1, 1e-200], y=[0, 1, 1])
    with pytest.raises(ValueError, match=r"items\.npz: column 1 of X varies by 4e-200, .* --scale"):
        read(tmp_path / "items.npz", scale=True)
    assert read(tmp_path / "items.npz").features[2, 1] == 5e-200


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"unknown suffix '\.docx': save it as one of \.csv"):
        read(written(tmp_path, b"PK", "items.docx"))
    for name in ("items.npz", "items.graphml"):
        with pytest.raises(ValueError, match=f"{name} is"):
            read(written(tmp_path, b"PK and no more", name))


def test_labels_of_one_class_or_none(tmp_path):
    one = read(written(tmp_path, GOOD.replace("lily", "rose")))
    with pytest.raises(ValueError, match="all 2 labels are 'rose'"):
        one.labels()
    only = read(written(tmp_path, GOOD.replace("lily", "")))
    with pytest.raises(ValueError, match="the only label is 'rose': label at least one item of"):
        only.labels()
    none = read(written(tmp_path, GOOD.replace("lily", "").replace("rose", "")))
    with pytest.raises(ValueError, match="no item has a label"):
        none.labels()


def test_notes_count_one_row_in_the_singular(tmp_path):
    path = written(tmp_path, GOOD + "d,,2,\n")
    assert "1 missing or invalid value in 1 row by" in read(path, missing="fill").notes[0]
    with pytest.raises(ValueError, match="has 1 row without missing values"):
        read(written(tmp_path, "x,label\n1,u\n,v\n"), missing="drop")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_invalid_cell_is_found(tmp_path_factory, data):
    """Blank lines and cells with several lines may come before it."""
    n_rows, n_columns = data.draw(st.integers(3, 8)), data.draw(st.integers(1, 4))
    row = data.draw(st.integers(0, n_rows - 1))
    column = data.draw(st.integers(0, n_columns - 1))
    notes = data.draw(st.lists(st.sampled_from(["so", "a\nb", 'a,"b"\n\nc']), min_size=n_rows,
                               max_size=n_rows))  # fmt: skip
    blanks = data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["note", *(f"c{k}" for k in range(n_columns)), "label"])
    for i in range(n_rows):
        text.write("\n" * blanks[i])
        if i == row:
            line = text.getvalue().count("\n") + 1
        cells = [str(i + k) for k in range(n_columns)]
        if i == row:
            cells[column] = data.draw(st.sampled_from(["", "?", "x1", "inf"]))
        table.writerow([notes[i], *cells, "u"])
    path = written(tmp_path_factory.getbasetemp(), text.getvalue(), "spoilt.csv")
    with pytest.raises(ValueError, match=rf"line {line}, column 'c{column}':"):
        read(path, ignore=("note",))
    assert read(path, ignore=("note",), missing="drop").left_out == (str(row),)


def test_a_pipe_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "votes.csv")
    for path in (tmp_path / "votes.csv", "-"):
        with pytest.raises(ValueError, match="is no regular file, and tables are read twice"):
            read(path)
