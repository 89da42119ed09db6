"""Tables as other programs lay them out: titles, blanks between words, row names, Label Studio."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphuq as gq
from graphuq.cli import files
from graphuq.cli.files.text_layout import find_layout, split

ROWS = "ann,41,1.5,u\nbob,27,2.5,v\ncy,33,9.5,\n"
NAMES = "id,age,score,label\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder, text, **options):
    (folder / "items.txt").write_text(text)
    return files.read("items.txt", files.ReadOptions(**options))


def require_same(items, scale=None):
    assert items.ids.tolist() == ["ann", "bob", "cy"]
    assert items.known.tolist() == ["u", "v", None]
    plain = np.array([[41, 1.5], [27, 2.5], [33, 9.5]])
    np.testing.assert_allclose(items.features, (plain - plain.mean(axis=0)) / plain.std(axis=0))


@pytest.mark.parametrize(
    ("title", "separator"),
    [
        ("", ","),
        ("", "\t"),
        ("Survey of the town 2024\n", ","),
        ("Survey of the town 2024\n\n", ";"),
        ("Survey of the town 2024,,,\n,,,\n", ","),
        ('"Survey of the town, 2024"\nsecond line\n', ","),
        ("Survey of the town, 2024, by age\n\n", ","),
        ("#Survey of the town, 2024\n# ages, in years\n", ","),
        ("sep=;\n", ";"),
        ("#", "\t"),
        ("# ", ","),
    ],
)
def test_a_title_above_the_names_is_left_out_with_a_note(folder, title, separator):
    text = (NAMES + ROWS).replace(",", separator)
    items = read(folder, title + text)
    require_same(items)
    told = [note for note in items.notes if "stands above the names of the columns" in note]
    assert len(told) == ("Survey" in title)
    assert all("Survey of the town" in note for note in told)


@pytest.mark.parametrize(
    ("footer", "separator"),
    [
        ("\nSource: the town, 2024\n", ","),
        ("\n\nSource: the town\nMade on 1 May; by hand", ";"),
        ("# Source: the town\n\n# Made by hand\n", ","),
        ("\nSource:\tthe town, 2024\n\n", "\t"),
    ],
)
@pytest.mark.parametrize("title", ["", "Survey of the town, 2024, by age\n\n"])
def test_a_footer_below_the_rows_is_left_out_with_a_note(folder, title, footer, separator):
    text = (NAMES + ROWS).replace(",", separator)
    if separator == "\t":
        title = title.replace(",", "")
    items = read(folder, title.replace(",", separator) + text + footer)
    require_same(items)
    (note,) = [note for note in items.notes if "stands below the last row" in note]
    assert "Source:" in note
    # its labels are read in the same way
    (folder / "known.csv").write_text("id,label\nann,u\nbob,v\n\nSource: the town, 2024, May\n")
    again = read(folder, text + footer, ignore=("label",), labels="known.csv")
    assert again.known.tolist() == ["u", "v", None]
    (note,) = [note for note in again.notes if note.startswith("known.csv: left out")]
    assert "Source: the town" in note


@pytest.mark.parametrize(
    "rest",
    [
        "cy",
        "cy,3\n",
        "Source of this\n",
        "\n\ndee,5",
        "\n\ndee\n",
        "\n\nd,1,2,u,5\ne,1,2,3\n",
        "\nid,age,label\n" + "".join(f"ann lee {k},5,u\n" for k in range(4)),
        "\nName of it\n" * 11,
        "\n<html> Error 504\n",
    ],
)
def test_rows_that_are_cut_off_are_no_footer(folder, rest):
    with pytest.raises(ValueError, match="expected 4 values as in the first line"):
        read(folder, NAMES + ROWS + rest)


def test_names_that_begin_with_a_sign_are_no_comments(folder):
    rows = "".join(f"#n{k},{k % 5},{k % 3},{'uv'[k % 2]}\n" for k in range(12))
    with pytest.raises(ValueError, match="expected 4 values as in the first line"):
        read(folder, NAMES + rows + "#n12,1")


def test_a_table_that_a_blank_line_divides_is_no_title(folder):
    first = "id,age,score,label\n" + "a,1,2,u\n" * 3
    with pytest.raises(ValueError, match="the length of"):
        read(folder, first + "\nid,age,label\n" + "".join(f"b{k},{k},u\n" for k in range(9)))


def test_a_row_that_names_the_source_is_a_footer(folder):
    items = read(folder, NAMES + ROWS + "\nSource: the town,2024,5,May\n")
    require_same(items)
    padded = read(folder, NAMES + ROWS + ",,,\nSource: the town,,,\nmade by hand,,,\n")
    require_same(padded)
    assert "(2 lines)" in padded.notes[0]


@pytest.mark.parametrize("mark", ["\u2028", "\x0b", "\x85"])
def test_signs_within_a_text_end_no_line(folder, mark):
    text = NAMES + ROWS.replace("9.5,", f"9.5,a{mark}{mark}# b")
    assert read(folder, text, classes=("u", "v")).known[2].startswith("a")
    assert "# b" in read(folder, text).known[2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf_16_le", "utf-32", "latin-1"])
def test_footers_in_other_encodings(folder, encoding):
    (folder / "items.txt").write_text(NAMES + ROWS + "\nSource: the town\n", encoding)
    require_same(files.read("items.txt", files.ReadOptions(encoding=encoding)))


def test_the_footer_of_a_long_file(folder):
    rows = "".join(f"p{k},{k % 90},{k % 7},{'uv'[k % 2]}\n" for k in range(3000))
    items = read(folder, NAMES + rows + "\nSource: the town\n")
    assert items.ids.size == 3000
    assert any("stands below" in note for note in items.notes)


def test_lines_are_counted_from_the_first_of_the_file(folder):
    with pytest.raises(ValueError, match=r"line 6, column 'age': 'old' is not"):
        read(folder, "Survey of towns\n\n" + NAMES + ROWS.replace("33", "old") + "dee,5,1,\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,,\nann,41,u\nbob,27,v\n", "column 2 has no name"),  # numbers are no names
        ("label\nu\nv\n", "no feature columns"),
        ("Survey\nid,age,label\nann,41\n", "expected 1 value as in the first line"),
    ],
)
def test_what_is_no_title_is_refused_as_before(folder, text, message):
    with pytest.raises(ValueError, match=message):
        read(folder, text)


@pytest.mark.parametrize("blank", [" ", "   "])
def test_blanks_between_words(folder, blank):
    text = (NAMES + ROWS.replace("9.5,", "9.5,?")).replace(",", blank)
    require_same(read(folder, text))
    quoted = text.replace("ann", '"ann lee"')
    assert read(folder, quoted).ids[0] == "ann lee"


def test_texts_of_one_column_are_not_split(folder):
    assert find_layout(["the text", "good day", "one more day"]).separator == ","
    assert find_layout(["text", "good day", "bad day"]).separator == ","


def test_a_network_with_blanks_and_a_header(folder):
    """As STRING writes its links."""
    (folder / "labels.csv").write_text("id,label\na.1,u\na.3,v\n")
    text = "protein1 protein2 combined_score\na.1 a.2 900\na.2 a.3 150\na.3 a.4 300\n"
    with pytest.raises(ValueError, match="--weight combined_score if they are"):
        read(folder, text, labels="labels.csv")
    items = read(folder, text, labels="labels.csv", weight="combined_score")
    assert items.ids.tolist() == ["a.1", "a.2", "a.3", "a.4"]
    assert items.graph.adjacency[0, 1] == 900


@pytest.mark.parametrize("separator", [" ", "\t", ","])
def test_row_names_of_r(folder, separator):
    """write.table(frame, "items.txt", sep=separator)"""
    rows = ['"ann" 41 1.5 "u"', '"bob" 27 2.5 "v"', '"cy" 33 9.5 ""']
    text = "\n".join(['"age" "score" "label"', *rows]) + "\n"
    require_same(read(folder, text.replace(" ", separator)))
    without = text.replace(" ", separator).replace('""', "?").replace('"', "")
    if separator != ",":
        require_same(read(folder, without))
        return
    # a name may be missing elsewhere
    with pytest.raises(ValueError, match=r"if write.table of R wrote row names, use write"):
        read(folder, without)


def test_separators_at_the_end_of_every_row_are_told(folder):
    text = (NAMES + ROWS).replace("\n", ",\n").replace("label,", "label", 1)
    with pytest.raises(
        ValueError, match="every row ends with ',': end the first line with it, too"
    ):
        read(folder, text)


def test_titles_in_excel(folder):
    pytest.importorskip("openpyxl")
    frame = pd.read_csv(pd.io.common.StringIO(NAMES + ROWS))
    with pd.ExcelWriter("items.xlsx") as writer:
        frame.to_excel(writer, index=False, startrow=2)
        writer.sheets["Sheet1"]["A1"] = "Survey of the town"
    items = files.read("items.xlsx")
    require_same(items)
    assert items.notes[0].startswith("left out 'Survey of the town'")
    with pd.ExcelWriter("items.xlsx") as writer:
        frame.assign(age=["x", 27, 33]).to_excel(writer, index=False, startrow=2)
        writer.sheets["Sheet1"]["A1"] = "Survey of the town"
    with pytest.raises(ValueError, match=r"row 4, column 'age': 'x' is not"):
        files.read("items.xlsx")


words = st.text("abc 1.5'", min_size=1, max_size=5).map(str.strip).filter(bool)


@given(
    rows=st.lists(st.tuples(words, words, words), min_size=2, max_size=5),
    separator=st.sampled_from(",;\t"),
)
def test_cells_of_a_plain_table_stay_in_their_columns(rows, separator):
    lines = [separator.join(row) for row in [("first", "second", "third"), *rows]]
    layout = find_layout(lines)
    assert layout == (separator, 0, "", False)
    assert [tuple(split(line, separator)) for line in lines[1:]] == rows


def task(number, *annotations, **data):
    return {
        "id": number,
        "data": data,
        "annotations": [
            {
                "completed_by": who,
                "was_cancelled": False,
                "result": [{"type": "choices", "from_name": tag, "value": {"choices": [label]}}],
            }
            for who, label, tag in annotations
        ],
    }


def test_an_export_of_label_studio_is_a_table(folder):
    labels = ["u", "v", None, None]
    tasks = [
        task(k + 1, *([] if label is None else [(1, label, "kind")]), x=k, y=k * k)
        for k, label in enumerate(labels)
    ]
    (folder / "export.json").write_text(json.dumps(tasks))
    items = files.read("export.json")
    assert items.ids.tolist() == ["1", "2", "3", "4"]
    assert items.known.tolist() == labels
    assert items.features.shape == (4, 2)
    (folder / "items.csv").write_text("id,x\n4,5\n3,2\n2,1\n1,7\n")
    items = files.read("items.csv", files.ReadOptions(labels="export.json"))
    assert items.known.tolist() == [None, None, "v", "u"]


def test_annotators_and_tags_of_label_studio(folder):
    said = [("u", "u"), ("v", "v"), ("u", "v"), ("v", "v")]
    tasks = [
        task(k, (1, first, "kind"), (2, second, "kind"), id=f"i{k}")
        for k, (first, second) in enumerate(said)
    ]
    tasks.append(task(9, id="i4"))
    (folder / "export.json").write_text(json.dumps(tasks))
    (folder / "items.csv").write_text("id,x\n" + "".join(f"i{k},{k * k}\n" for k in range(5)))
    with pytest.raises(ValueError, match="name the column of annotators with --annotator COLUMN"):
        files.read("items.csv", files.ReadOptions(labels="export.json"))
    items = files.read(
        "items.csv", files.ReadOptions(labels="export.json", annotators=("annotator",))
    )
    assert [items.known[k] for k in (0, 1, 3, 4)] == ["u", "v", "v", None]
    tasks = [task(k, (1, "u", "kind"), (1, "big", "size"), id=f"i{k}") for k in range(3)]
    (folder / "export.json").write_text(json.dumps(tasks))
    items = files.read("items.csv", files.ReadOptions(labels="export.json", label="size"))
    assert items.known.tolist() == ["big"] * 3 + [None] * 2


def wide_table(n=60):
    rng = np.random.default_rng(0)
    truth = rng.choice(["u", "v"], n)
    votes = pd.DataFrame(
        {
            who: np.where(rng.random(n) < rate, np.where(truth == "u", "v", "u"), truth)
            for who, rate in {"Ann": 0.02, "Ben": 0.1, "Cy": 0.4}.items()
        }
    )
    votes = votes.where(rng.random(votes.shape) < 0.45)
    votes.index = [f"i{k}" for k in range(n)]
    return votes.rename_axis("id")


def test_a_column_of_labels_for_each_annotator(folder):
    votes, people = wide_table(), ("Ann", "Ben", "Cy")
    x = np.arange(60.0) ** 2
    votes.assign(x=x).to_csv("items.csv")
    with pytest.raises(
        ValueError, match="column 'Ann': other columns have the same values"
    ) as error:
        files.read("items.csv")
    assert error.value.remedy == "--annotator Ann --annotator Ben --annotator Cy"
    items = files.read("items.csv", files.ReadOptions(annotators=people))
    known = votes[votes.notna().any(axis=1)]
    expected = gq.Labels.from_annotators(known.astype(object).where(known.notna(), None))
    labeled = [name is not None for name in items.known]
    assert items.ids[labeled].tolist() == known.index[expected.nodes].tolist()
    assert items.known[labeled].tolist() == expected.values.tolist()
    np.testing.assert_allclose(items.confidence[labeled], expected.confidence)
    assert items.features.shape == (60, 1)
    # the same columns in a second table, in another order
    votes[::-1].to_csv("votes.csv")
    pd.DataFrame({"id": votes.index, "x": x}).to_csv("items.csv", index=False)
    again = files.read("items.csv", files.ReadOptions(labels="votes.csv", annotators=people))
    assert again.known.tolist() == items.known.tolist()
    np.testing.assert_allclose(again.confidence, items.confidence)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": ("Ann", "Bea")}, r"no column 'Bea' \(--annotator\)"),
        ({"annotators": ("Ann",)}, "or repeat it with the column of each annotator's labels"),
        ({"annotators": ("Ann", "Ben")}, "--annotator names a second source of labels"),
    ],
)
def test_columns_of_annotators_that_cannot_be(folder, options, message):
    wide_table().assign(x=1.0, label="u").to_csv("items.csv")
    with pytest.raises(ValueError, match=message):
        files.read("items.csv", files.ReadOptions(**options))


A = np.array([[0, 2, 1, 0], [2, 0, 1.5, 0], [1, 1.5, 0, 3], [0, 0, 3, 0]])
NODES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("half", [np.tri(4), np.tri(4, k=-1), np.tri(4).T])
@pytest.mark.parametrize("with_names", [True, False])
def test_half_of_a_matrix(folder, half, with_names):
    (folder / "labels.csv").write_text("id,label\na,u\nd,v\n")
    frame = pd.DataFrame(A, NODES, NODES).where(half > 0)
    frame.to_csv("matrix.csv", index=with_names)
    with pytest.raises(ValueError, match="use --edges if the cells are weights of edges"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv"))
    items = files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))
    assert items.ids.tolist() == NODES
    np.testing.assert_array_equal(items.graph.adjacency, A)
    assert any("half of the matrix is blank" in note for note in items.notes)


def test_a_square_below_names(folder):
    (folder / "labels.csv").write_text("id,label\na,u\nd,v\n")
    pd.DataFrame(A, columns=NODES).to_csv("matrix.csv", index=False)
    with pytest.raises(ValueError, match="as many rows as columns, and the same numbers across"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv"))
    items = files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))
    np.testing.assert_array_equal(items.graph.adjacency, A)


def test_whole_numbers_under_a_name_of_ids_are_told(folder):
    rng = np.random.default_rng(0)
    rows = [
        f"{10007 + 37 * k},{rng.normal():.3f},{'uv'[k % 2] if k < 4 else ''}" for k in range(20)
    ]
    text = "patient,age,label\n" + "\n".join(rows) + "\n"
    with pytest.warns(RuntimeWarning, match=r"'patient' has the whole numbers.* use --id patient"):
        assert read(folder, text).features.shape == (20, 2)
    assert read(folder, text, id_column="patient").features.shape == (20, 1)


def test_annotations_of_prodigy(folder):
    rows = [
        {
            "text": f"{'good' if k % 2 else 'bad'} film number {k % 3}",
            "label": "pos" if k % 2 else "neg",
            "answer": "reject" if k == 5 else "accept",
            "_input_hash": 17 * k,
            "_task_hash": 31 * k,
            "_timestamp": 1.7e9 + k,
            "accept": ["pos" if k % 2 else "neg"],
            "options": [{"id": "pos"}, {"id": "neg"}],
        }
        for k in range(8)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    items = files.read("items.jsonl", files.ReadOptions(text=("text",)))
    assert items.known.tolist() == ["neg", "pos", "neg", "pos", "neg", None, "neg", "pos"]
    assert {*items.encoding.columns} == {"text"}


def test_annotations_of_prodigy_about_one_label(folder):
    answers = ["accept", "reject", "ignore"]
    rows = [
        {"text": text, "label": "pos", "answer": answers[k % 3], "_task_hash": k}
        for k, text in enumerate(3 * ["good film", "bad film", "dull film"])
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    items = files.read("items.jsonl", files.ReadOptions(text=("text",)))
    assert items.known.tolist() == 3 * ["pos", "not pos", None]
    for row in rows[3:]:  # without an answer, a label is a suggestion
        del row["answer"]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    items = files.read("items.jsonl", files.ReadOptions(text=("text",)))
    assert items.known.tolist() == ["pos", "not pos", None, *6 * [None]]
    (folder / "other.jsonl").write_text('{"x": 1, "label": "_task_hash"}\n{"x": 2, "label": "b"}\n')
    assert files.read("other.jsonl").known.tolist() == ["_task_hash", "b"]


def test_reviews_are_texts_and_no_names(folder):
    rows = [
        f"this film number {k} was rather {'good' if k % 2 else 'bad'},{'uv'[k % 2]}"
        for k in range(9)
    ]
    (folder / "reviews.csv").write_text("review,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(ValueError, match="review") as error:
        files.read("reviews.csv")
    assert error.value.remedy == "--text review"


def test_totals_are_no_item_where_rows_are_dropped(folder):
    rows = "".join(f"i{k},{k},{3 * k},{'uv'[k % 2]}\n" for k in range(1, 9))
    text = "id,x,y,label\n" + rows + "all,36,108,\n"
    for missing in ("refuse", "drop"):
        with pytest.raises(ValueError, match="line 10: the numbers in 'x', 'y' are the sums"):
            read(folder, text, missing=missing)


def test_missing_values_of_r_in_half_of_a_matrix(folder):
    (folder / "labels.csv").write_text("id,label\na,u\nd,v\n")
    lower = pd.DataFrame(A, NODES, NODES).where(np.tri(4) > 0)
    lower.to_csv("matrix.csv", na_rep="NA")
    options = files.ReadOptions(labels="labels.csv", edges=True)
    np.testing.assert_array_equal(files.read("matrix.csv", options).graph.adjacency, A)
    lower.fillna(0).to_csv("matrix.csv")
    with pytest.raises(ValueError, match="leave the other half blank"):
        files.read("matrix.csv", options)


def test_the_column_of_ids_in_a_table_of_labels(folder):
    (folder / "items.csv").write_text("code,x\na,1\nb,2\nc,5\n")
    (folder / "labels.csv").write_text("batch,code,label\n7,a,u\n7,c,v\n")
    items = files.read("items.csv", files.ReadOptions(labels="labels.csv", id_column="code"))
    assert items.known.tolist() == ["u", None, "v"]


def test_the_name_of_a_column_of_weights_is_quoted(folder):
    (folder / "edges.csv").write_text("source,target,my score\na,b,2\nb,c,3\n")
    with pytest.raises(ValueError, match="use --weight 'my score' if they are"):
        files.read("edges.csv")


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        (["5.1,3.5,setosa", "4.9,3,setosa", "6.3,2.5,virginica"], "setosa"),  # as at UCI
        (["ham,see you at six", "spam,you have won", "ham,late again"], "ham"),
    ],
)
def test_files_without_names_of_columns_are_told(folder, rows, value):
    with pytest.raises(ValueError, match=f"line 1: expected column names, got a row: '{value}'"):
        read(folder, "\n".join(rows) + "\n", label=value)
    names = ",".join([f"x{k}" for k in range(1, rows[0].count(",") + 1)] + ["label"])
    if rows[0][0].isdigit():
        assert read(folder, "\n".join([names, *rows]) + "\n").ids.size == 3


@pytest.mark.parametrize(
    "text",
    [
        ",0,1,2,label\nann,0,1,5,u\nbob,2,0,2,v\ncy,0,2,1,\n",  # as pandas writes an array
        "gene,1,2,3\na,1,5,2.5\nb,2,7,2\nc,8,9,3\n",
        "x,1,label\n1,1,u\n2,1.5,v\n3,4,\n",
    ],
)
def test_numbers_may_be_names_of_columns(folder, text):
    options = {} if "label" in text else {"needs_labels": False, "ignore": ("gene",)}
    assert read(folder, text, **options).features.shape[0] == 3


def test_a_name_of_several_lines(folder):
    text = '"Age\n(years)",score,label\n41,1.5,u\n27,2.5,v\n33,9.5,\n'
    items = read(folder, text)
    assert [column.name for column in items.columns] == ["Age\n(years)", "score", "label"]


@pytest.mark.parametrize("header", ["source,target,weight", "u,v,w", "a,b,c"])
def test_three_edges_are_no_matrix(folder, header):
    (folder / "labels.csv").write_text("id,label\n1,u\n2,v\n")
    text = f"{header}\n1,2,3\n2,3,1\n3,1,2\n"
    weight = header[-1] if len(header) < 6 else "weight"
    items = read(folder, text, labels="labels.csv", edges=True, weight=weight)
    assert items.ids.tolist() == ["1", "2", "3"]
    assert items.graph.adjacency[0, 1] == 3


def test_halves_below_names_that_differ(folder):
    (folder / "labels.csv").write_text("id,label\na,u\nd,v\n")
    pd.DataFrame(np.triu(A), columns=NODES).to_csv("matrix.csv", index=False)
    with pytest.raises(ValueError, match="leave the other half blank"):
        files.read("matrix.csv", files.ReadOptions(labels="labels.csv", edges=True))


def test_names_that_are_values_of_other_columns_are_names(folder):
    text = "female,male,height,label\n1,0,1.7,u\n0,1,1.8,v\n0,1,1.9,\n"
    assert read(folder, text).features.shape == (3, 3)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_a_first_column_without_a_name_has_the_ids(folder, separator, suffix):
    """As pandas and R write an index."""
    if suffix == "tsv" and separator != "\t":
        return
    frame = pd.DataFrame({"age": [41, 27, 33], "score": [1.5, 2.5, 9.5], "label": ["u", "v", None]})
    frame.index = ["ann", "bob", "cy"]
    frame.to_csv(f"items.{suffix}", sep=separator, na_rep="?")
    require_same(files.read(f"items.{suffix}"))
