"""Matrices in tables, lists in JSON lines, and several annotators in one table."""

import json

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli import files

NAMES = ["ann", "bob", "cy", "dee", "eve"]
A = np.array(
    [[0, 2, 1, 0, 0], [2, 0, 1, 0, 0], [1, 1, 0, 0.5, 0], [0, 0, 0.5, 0, 3], [0, 0, 0, 3, 0.0]]
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("id,label\nann,u\neve,v\n")
    return tmp_path


def write_r(frame):
    """Write a table as R's write.csv does."""
    frame.to_csv("matrix.csv", quoting=2)


@pytest.mark.parametrize(
    "write",
    [
        lambda frame: frame.to_csv("matrix.csv"),
        write_r,
        lambda frame: frame.rename_axis("node").to_csv("matrix.csv", sep=";"),
        lambda frame: frame.where(frame > 0).to_csv("matrix.csv"),  # blank where no edge is
    ],
)
def test_a_matrix_with_names_is_asked_about_and_read(folder, write):
    write(pd.DataFrame(A, NAMES, NAMES))
    with pytest.raises(ValueError, match="rows are called as the columns: use --edges if the"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv"))
    items = files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))
    assert items.ids.tolist() == NAMES
    np.testing.assert_array_equal(items.graph.adjacency, A)
    assert items.known.tolist() == ["u", None, None, None, "v"]


def test_a_matrix_without_names(folder):
    np.savetxt("matrix.csv", A, delimiter=",")
    (folder / "labels.csv").write_text("id,label\n0,u\n4,v\n")
    with pytest.raises(ValueError, match="or is a matrix of their weights"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv"))
    items = files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))
    np.testing.assert_array_equal(items.graph.adjacency, A)
    assert items.ids.tolist() == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda M: M.assign(ann=M["ann"] + 1.0), "adjacency must be symmetric"),
        (lambda M: -M, "weights must be non-negative"),
        (lambda M: M.astype(object).where(M != 0.5, "half"), "line 4, column 5: 'half' is not a"),
    ],
)
def test_matrices_that_are_no_graph_are_refused(folder, change, message):
    change(pd.DataFrame(A, NAMES, NAMES)).to_csv("matrix.csv")
    with pytest.raises(ValueError, match=message):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))


def test_distances_in_a_table_are_told(folder):
    D = abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    names = [f"n{k}" for k in range(9)]
    pd.DataFrame(D, names, names).to_csv("matrix.csv")
    (folder / "labels.csv").write_text("id,label\nn0,u\nn8,v\n")
    with pytest.warns(RuntimeWarning, match="look like distances"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))
    (folder / "edges.csv").write_text("source,target,km\nn0,n1,2\nn1,n8,3\n")
    with pytest.raises(ValueError, match=r"large where nodes are near; of distances, write 1 /"):
        files.read("edges.csv", files.ReadOptions(labels="labels.csv"))


def test_a_table_of_as_many_rows_as_columns_is_no_matrix(folder):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 5)), NAMES, list("vwxyz"))
    frame.rename_axis("id").to_csv("items.csv")
    items = files.read("items.csv", files.ReadOptions(labels="labels.csv"))
    assert items.features.shape == (5, 5)
    pd.DataFrame(A, NAMES, NAMES).rename_axis("id").to_csv("items.csv")
    items = files.read("items.csv", files.ReadOptions(labels="labels.csv", edges=False))
    assert items.features.shape == (5, 5)


def lines(*rows):
    """Write JSON lines."""
    with open("items.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_lists_of_one_value_are_this_value(folder):
    lines(*({"id": k, "x": [k * k], "label": [["u"], ["v"], []][min(k, 2)]} for k in range(5)))
    items = files.read("items.jsonl")
    assert items.known.tolist() == ["u", "v", None, None, None]
    assert items.features.shape == (5, 1)


def test_vectors_are_columns(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    lines(
        *(
            {"id": f"i{k}", "embedding": X[k].tolist(), "label": ["u", "v", None][min(k, 2)]}
            for k in range(6)
        )
    )
    items = files.read("items.jsonl", files.ReadOptions(scale=False))
    np.testing.assert_array_equal(items.features, X)
    assert [column.name for column in items.columns][1:5] == [f"embedding[{k}]" for k in range(4)]


def test_other_lists_are_asked_about_or_ignored(folder):
    rows = [
        {"id": k, "x": k * k, "tags": ["a", "b"][: k % 3], "label": "uv"[k] if k < 2 else None}
        for k in range(6)
    ]
    lines(*rows)
    with pytest.raises(ValueError, match="column 'tags'"):
        files.read("items.jsonl")
    assert files.read("items.jsonl", files.ReadOptions(ignore=("tags",))).features.shape == (6, 1)
    lines(*({**row, "label": [["u", "v"], ["u"], ["v"]][min(k, 2)]} for k, row in enumerate(rows)))
    with pytest.raises(ValueError, match=r"\['u', 'v'\] is not one class: keep one"):
        files.read("items.jsonl", files.ReadOptions(ignore=("tags",)))


def test_several_annotators_in_one_table(folder):
    rng = np.random.default_rng(0)
    truth = rng.choice(["u", "v"], 80)
    X = rng.normal(size=(80, 2)) + 4 * (truth == "v")[:, None]
    pd.DataFrame(X, columns=["a", "b"]).assign(id=[f"i{k}" for k in range(80)]).to_csv(
        "items.csv", index=False
    )
    wrong = {"u": "v", "v": "u"}
    rates = {"Ann": 0.02, "Ben": 0.1, "Cy": 0.45}
    said = [
        (f"i{k}", wrong[truth[k]] if rng.random() < rate else truth[k], who)
        for k in range(60)
        for who, rate in rates.items()
    ]
    table = pd.DataFrame(said, columns=["id", "label", "who"])
    table.to_csv("said.csv", index=False)
    with pytest.raises(ValueError, match="name the column of annotators with --annotator COLUMN"):
        files.read("items.csv", files.ReadOptions(labels="said.csv"))
    items = files.read("items.csv", files.ReadOptions(labels="said.csv", annotators=("who",)))
    frame = table.pivot(index="id", columns="who", values="label").loc[items.ids[:60]]
    expected = gq.Labels.from_annotators(frame)
    known = [k for k in range(80) if items.known[k] is not None]
    assert known == expected.nodes.tolist()
    assert items.known[known].tolist() == expected.values.tolist()
    np.testing.assert_allclose(items.confidence[known], expected.confidence)
    assert (items.known[known] == truth[known]).mean() > 0.9
    assert any("180 labels of 3 annotators make" in note for note in items.notes)
    # a person who labels an item twice is asked about
    pd.concat([table, table[:1]]).to_csv("said.csv", index=False)
    with pytest.raises(ValueError, match="duplicate id 'i0': keep one row for each item and ann"):
        files.read("items.csv", files.ReadOptions(labels="said.csv", annotators=("who",)))
    with pytest.raises(ValueError, match=r"no column 'whom' \(--annotator\): did you mean 'who'"):
        files.read("items.csv", files.ReadOptions(labels="said.csv", annotators=("whom",)))


def test_choices_as_label_studio_writes_them_into_csv(folder):
    rows = ['a,1,"{""choices"": [""u"", ""v""]}"', "b,3,u", "c,4,v", "d,9,"]
    (folder / "items.csv").write_text("id,x,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(ValueError, match=r"column 'label': '{\"choices\": .* is not one class"):
        files.read("items.csv")


def test_annotators_that_are_missing_or_not_asked_for(folder):
    (folder / "items.csv").write_text("id,x\na,1\nb,2\nc,4\n")
    (folder / "said.csv").write_text("id,label,who\na,u,Ann\na,u,\nb,v,Ann\nb,v,Ben\n")
    with pytest.raises(ValueError, match="line 3, column 'who': the annotator is missing"):
        files.read("items.csv", files.ReadOptions(labels="said.csv", annotators=("who",)))
    (folder / "own.csv").write_text("id,x,label\na,1,u\nb,2,v\nc,4,\n")
    with pytest.raises(ValueError, match="--annotator names a column of --labels"):
        files.read("own.csv", files.ReadOptions(annotators=("who",)))
    with pytest.raises(ValueError, match=r"keep one row for each item$"):
        files.read_classes("said.csv", np.array(["a", "b", "c"]), "--truth")


def test_people_who_contradict_each_other_give_no_label(folder):
    (folder / "items.csv").write_text("id,x\n" + "".join(f"i{k},{k * k}\n" for k in range(9)))
    said = [f"i{k},{label},{who}" for k in range(4) for label, who in (("u", "Ann"), ("v", "Ben"))]
    said += ["i5,u,Ann", "i5,u,Ben", "i6,v,Ann", "i6,v,Ben"]
    (folder / "said.csv").write_text("id,label,who\n" + "\n".join(said) + "\n")
    items = files.read("items.csv", files.ReadOptions(labels="said.csv", annotators=("who",)))
    assert [k for k in range(9) if items.known[k] is not None] == [5, 6]
    assert any("4 items without a label, whose classes are a tie" in n for n in items.notes)


def test_vectors_with_gaps(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    rows = [
        {"id": f"i{k}", "emb": X[k].tolist(), "label": ["u", "v", None][min(k, 2)]}
        for k in range(8)
    ]
    rows[3]["emb"], rows[4]["emb"] = None, [1.0, None, 2.0]
    del rows[5]["emb"]
    lines(*rows)
    with pytest.raises(ValueError, match=r"found in 3 of 8 rows in 'emb.0.', 'emb.1.', 'emb.2.'"):
        files.read("items.jsonl")
    lines(*({**row, "x": k * k} for k, row in enumerate(rows)))
    alone = files.read("items.jsonl", files.ReadOptions(ignore=("emb",)))
    assert alone.features.shape == (8, 1)
    lines(*rows)
    items = files.read("items.jsonl", files.ReadOptions(missing="drop", scale=False))
    np.testing.assert_array_equal(items.features, X[[0, 1, 2, 6, 7]])
    rows[6]["emb"] = [1.0, 2.0]
    lines(*rows)
    with pytest.raises(ValueError, match="item 7 has 2 numbers in 'emb', and item 1 has 3"):
        files.read("items.jsonl")
    lines(*({**row, "emb": X[k].tolist(), "emb[1]": 3} for k, row in enumerate(rows)))
    with pytest.raises(ValueError, match=r"called as 'emb\[1\]', which is another column"):
        files.read("items.jsonl")
    lines(*({**row, "emb": [10**400, 1, 2]} for row in rows))
    with pytest.raises(ValueError, match="cells are lists or objects"):
        files.read("items.jsonl")


def test_vectors_in_parquet_are_columns(folder):
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(6, 4))
    frame = pd.DataFrame({"id": list("abcdef"), "emb": X.tolist(), "label": [*"uv", *[None] * 4]})
    frame.to_parquet("items.parquet")
    items = files.read("items.parquet", files.ReadOptions(scale=False))
    np.testing.assert_array_equal(items.features, X)


def test_objects_are_only_to_be_ignored(folder):
    rows = [{"id": k, "x": k * k, "meta": {"a": k}, "label": "uv"[k] if k < 2 else None}
            for k in range(6)]  # fmt: skip
    lines(*rows)
    with pytest.raises(ValueError, match="cells are lists or objects: --ignore meta") as caught:
        files.read("items.jsonl")
    assert "--text" not in str(caught.value)


def test_options_without_effect_on_a_matrix_are_refused(folder):
    pd.DataFrame(A, NAMES, NAMES).to_csv("matrix.csv")
    for options in ({"weight": "ann"}, {"ignore": ("bob",)}):
        with pytest.raises(ValueError, match="cannot be used with a matrix"):
            files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True, **options))


@pytest.mark.parametrize(
    "change",
    [
        lambda M: M.loc[NAMES[::-1]],
        lambda M: M.drop(columns="cy"),
        lambda M: M.drop(index="cy"),
        lambda M: M.rename(columns=str.upper),
    ],
)
def test_matrices_whose_names_differ_are_told(folder, change):
    change(pd.DataFrame(A, NAMES, NAMES)).to_csv("matrix.csv")
    with pytest.raises(ValueError, match="the same names, in the same order"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))


def test_wide_tables_of_numbers_are_not_searched_for_lists(folder):
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(50, 6))
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(label=["u", "v", *[None] * 48])
    frame.to_parquet("items.parquet")
    np.testing.assert_array_equal(
        files.read("items.parquet", files.ReadOptions(scale=False)).features, X
    )
