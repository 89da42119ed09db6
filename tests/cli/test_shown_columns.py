"""Lists of items show the columns of the user's file."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli import files
from graphuq.cli.files import shown_columns
from graphuq.cli.program import main

QUICK = ["--draws", "50", "--chains", "2"]
READ = ["--text", "body", "--fill-missing", "--categorical", "town", "--ignore", "prediction"]


@pytest.fixture
def mail(tmp_path, monkeypatch):
    """Letters of two kinds, with a town, an age, and a column that is called prediction."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=60)
    words = [["meeting", "project", "budget", "plan"], ["win", "cash", "prize", "free"]]
    frame = pd.DataFrame(
        {
            "id": [f"m{k}" for k in range(60)],
            "body": [" ".join(rng.choice(words[kind], 6)) for kind in kinds],
            "town": rng.choice(["Ulm", "Köln"], 60),
            "age": rng.integers(20, 70, 60),
            "prediction": "by hand",
            "label": np.where(np.arange(60) < 8, np.array(["ham", "spam"])[kinds], None),
        }
    )
    frame.loc[50, "body"] = "=project cash " + 200 * "long "
    frame.loc[51, "town"] = None
    frame.to_csv("mail.csv", index=False)
    return frame.set_index("id")


def beginnings(texts):
    """Return the beginnings of texts, which are no formulas."""
    return [text.lstrip("'=")[:20] for text in texts]


def test_the_lists_of_a_result_show_the_items(mail, capsys):
    assert main(["sample", "mail.csv", *READ, *QUICK, "--out", "out"]) == 0
    for name in ("uncertain.csv", "suspects.csv"):
        listed = pd.read_csv(f"out/{name}").set_index("id")
        assert (
            listed["town"].fillna("").tolist() == mail.loc[listed.index, "town"].fillna("").tolist()
        )
        assert listed["age"].tolist() == mail.loc[listed.index, "age"].tolist()
    uncertain = pd.read_csv("out/uncertain.csv").set_index("id")
    assert set(uncertain["prediction (file)"]) == {"by hand"}
    assert set(uncertain["prediction"]) == {"ham", "spam"}
    long = uncertain.loc["m50", "body"]
    assert long.startswith("'=project cash long")  # no formula
    assert len(long) == shown_columns.MAX_LETTERS + 1
    assert long.endswith("…")
    assert "town" not in pd.read_csv("out/nodes.csv")
    # What is asked for has the item beside the empty label.
    assert main(["suggest", "out", "--k", "4", "--out", "ask.csv"]) == 0
    asked = pd.read_csv("ask.csv")
    assert [*asked][:4] == ["id", "label", "body", "town"]
    assert beginnings(asked["body"]) == beginnings(mail.loc[asked["id"], "body"])
    # An update reads it, and keeps the columns.
    asked.astype({"label": object}).assign(label=asked["prediction"]).to_csv("ask.csv", index=False)
    assert main(["update", "out", "--labels", "ask.csv", *QUICK]) == 0
    listed = pd.read_csv("out/suspects.csv").set_index("id")
    assert len(listed) == 12
    assert beginnings(listed["body"]) == beginnings(mail.loc[listed.index, "body"])
    # So does the report, and another one that is made later.
    assert main(["report", "out", "--out", "page.html"]) == 0
    for page in ("out/report.html", "page.html"):
        shown = Path(page).read_text(encoding="utf-8")
        first = next(name for name in listed.index if name != "m50")
        assert f"body: {mail.loc[first, 'body']}; town: {mail.loc[first, 'town']}; age: " in shown


def test_show_names_the_columns(mail):
    ignored = ("prediction", "town")
    options = files.ReadOptions(text=("body",), ignore=ignored, show=("age", "town"))
    assert [*files.read("mail.csv", options).shown] == ["town", "age"]
    with pytest.raises(ValueError, match=r"no column 'tow' \(--show\): did you mean 'town'"):
        files.read("mail.csv", files.ReadOptions(text=("body",), show=("tow",)))


def test_rows_that_are_dropped_are_not_shown(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,x,y,note,label\na,1,2,first,u\nb,,3,second,\nc,5,1,third,v\nd,6,2,last,\n")
    options = files.ReadOptions(missing="drop", ignore=("note",))
    items = files.read(path, options)
    assert items.ids.tolist() == ["a", "c", "d"]
    assert items.shown["note"].tolist() == ["first", "third", "last"]


def test_many_columns_show_texts_before_numbers():
    frame = pd.DataFrame({f"x{k:02d}": [k, 0] for k in range(20)} | {"note": ["a", "b"]})
    assert [*shown_columns.choose_columns(frame, ())] == [*[f"x{k:02d}" for k in range(11)], "note"]
    assert [*shown_columns.choose_columns(frame, ["x19"])] == ["x19"]


@pytest.mark.parametrize(
    "column",
    [
        ["Ulm", None, "Köln"],
        [None, None, None],
        [1, 2, 3],
        [1.5, np.nan, 2],
        [True, False, True],
        pd.array([1, None, 3], dtype="Int64"),
        pd.to_datetime(["2020-01-01", None, "2021-05-06"]),
        [1 + 2j, 0j, 1j],
        pd.Categorical(["a", None, "b"]),
    ],
)
def test_columns_of_any_type_survive_a_file(column):
    shown = shown_columns.choose_columns(pd.DataFrame({"x": column}), ())
    again = shown_columns.from_cells(
        json.loads(json.dumps({name: shown[name].tolist() for name in shown}))
    )
    pd.testing.assert_frame_equal(again, shown)
    assert again["x"].isna().tolist() == pd.isna(pd.Series(column)).tolist()


def test_attributes_of_a_graph_are_shown(tmp_path):
    networkx = pytest.importorskip("networkx")
    network = networkx.karate_club_graph()
    for node, values in network.nodes(data=True):
        values |= {"town": f"town {node}", "club": values["club"] if node in (0, 33) else ""}
    networkx.write_graphml(network, tmp_path / "karate.graphml")
    items = files.read(tmp_path / "karate.graphml", files.ReadOptions(label="club"))
    assert [*items.shown] == ["town"]
    assert items.shown["town"][3] == "town 3"


def test_reports_of_python_show_a_table(tmp_path):
    X, y = gq.datasets.two_moons(60, seed=0)
    post = gq.approximate(gq.knn_graph(X, 8), gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    table = pd.DataFrame({"note": [f"<note {k}>" for k in range(60)]})
    gq.write_report(post, tmp_path / "page.html", table=table)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("&lt;note ") == 20 + 6
    with pytest.raises(ValueError, match="a row for each of 60 nodes, got 59"):
        gq.write_report(post, tmp_path / "page.html", table=table[1:])


def test_ids_and_labels_are_shown_if_asked_for(mail):
    options = files.ReadOptions(text=("body",), ignore=("prediction", "town"), show=("label", "id"))
    shown = files.read("mail.csv", options).shown
    assert [*shown] == ["id", "label"]
    assert shown["id"][3] == "m3"


def test_a_name_that_is_taken_twice_gets_another():
    shown = pd.DataFrame({"prediction": [1], "prediction (file)": [2]})
    table = shown_columns.show_beside(pd.DataFrame({"prediction": ["u"]}), shown, [0])
    assert table.iloc[0].tolist() == ["u", 1, 2]
    assert table.columns.is_unique


def test_tables_of_any_kind_are_shown_or_refused(tmp_path):
    X, y = gq.datasets.two_moons(40, seed=0)
    post = gq.approximate(gq.knn_graph(X, 8), gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    frame = pd.DataFrame({"note": ["a", None] * 20, "n": [1, None] * 20}).convert_dtypes()
    frame["tags"] = [[1, 2]] * 40
    frame = pd.concat([frame, frame[["note"]]], axis=1)
    gq.write_report(post, tmp_path / "page.html", table=frame)
    assert "note: a; n: 1; tags: [1, 2]; note: a" in (tmp_path / "page.html").read_text()
    for other in (["a"] * 40, X, {"note": ["a"] * 40}):
        with pytest.raises(TypeError, match="table must be a pandas DataFrame, got"):
            gq.write_report(post, tmp_path / "page.html", table=other)
