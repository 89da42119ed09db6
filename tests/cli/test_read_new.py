"""Features of new items: the same values become the same features as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphuq.cli.files import ReadOptions, read
from graphuq.cli.files.encoding import Encoding
from graphuq.cli.files.options import ALL
from graphuq.cli.files.read_new import read_new

N = 24


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with every form of column, and a missing value in each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"i{k}" for k in range(N)],
            "plain": rng.normal(size=N).round(3),
            "comma": [f"{value:.2f}".replace(".", ",") for value in 10 * rng.normal(size=N)],
            "price": [f"{value:,d}" for value in rng.integers(1000, 9000000, N)],
            "day": pd.date_range("2020-01-01", periods=N, freq="9D").strftime("%d.%m.%Y"),
            "member": rng.choice(["yes", "no"], N),
            "color": rng.choice(["red", "green", "blue"], N),
            "constant": 1,
            "label": ["x", "y"] * (N // 2),
        }
    ).astype(object)
    for k, name in enumerate(["plain", "comma", "price", "day", "member", "color"]):
        frame.loc[3 * k, name] = None
    frame.to_csv("first.csv", index=False)
    return frame


OPTIONS = ReadOptions(missing="fill", categorical=(ALL,))


@pytest.mark.parametrize("scale", [None, False])
def test_every_row_becomes_the_same_features_again(table, scale):
    items = read("first.csv", ReadOptions(missing="fill", categorical=(ALL,), scale=scale))
    encoding = Encoding.from_arrays(items.encoding.to_arrays())
    again = read_new(Path("first.csv"), encoding, fill=True)
    np.testing.assert_array_equal(again.features, items.features)
    assert again.ids.tolist() == items.ids.tolist()
    # one row, or a few, do not change how a column is read
    for rows in ([0, 3, 6, 9, 12, 15], [1], [23, 2]):
        table.iloc[rows].drop(columns="label").to_csv("new.csv", index=False)
        new = read_new(Path("new.csv"), encoding, fill=True)
        np.testing.assert_array_equal(new.features, items.features[rows])


@pytest.mark.parametrize(
    ("first", "new", "message"),
    [
        # the column itself shows no comma, and another one does
        ("plain", "10,5;1.253", "line 2, column 'y': '1.253' may be a fraction or thousands"),
        (
            "comma",
            "10.300;7,5",
            "line 2, column 'x': '10.300' may be a fraction or thousands: use --decimal comma or",
        ),
    ],
)
def test_marks_that_may_be_decimal_or_between_thousands(tmp_path, monkeypatch, first, new, message):
    monkeypatch.chdir(tmp_path)
    mark = "," if first == "comma" else "."
    rows = "".join(f"i{k};{k}{mark}5;{1000 + k * k}{mark}25;{'uv'[k % 2]}\n" for k in range(8))
    Path("first.csv").write_text("id;x;y;label\n" + rows)
    encoding = read("first.csv").encoding
    Path("new.csv").write_text(f"id;x;y\nn0;{new}\n")
    with pytest.raises(ValueError, match=message):
        read_new(Path("new.csv"), encoding)
    Path("new.csv").write_text("id;x;y\nn0;10,5;1253,25\n")
    expected = (10.5 * 1.0, 1253.25)
    plain = encoding.to_features(np.array([expected]))
    np.testing.assert_allclose(read_new(Path("new.csv"), encoding).features, plain)


def test_thousands_between_semicolons_are_asked_about_as_at_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"i{k};{300 + 400 * k};{'uv'[k % 2]}\n" for k in range(8))
    Path("first.csv").write_text("id;amount;label\n" + rows)
    encoding = read("first.csv").encoding
    Path("new.csv").write_text("id;amount\nn0;812\nn1;2.345\n")
    with pytest.raises(
        ValueError, match=r"line 3.*'2.345' may be a fraction or thousands: use --d"
    ):
        read_new(Path("new.csv"), encoding)
    for mark, value in ((".", 2.345), (",", 2345.0)):
        found = read_new(Path("new.csv"), encoding, decimal=mark)
        np.testing.assert_allclose(found.features, encoding.to_features(np.array([[812], [value]])))


def test_row_names_of_r_are_ids_of_new_items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"i{k},{k}.5,{k * k},{'uv'[k % 2]}\n" for k in range(8))
    Path("first.csv").write_text("id,x,y,label\n" + rows)
    Path("new.txt").write_text('"x" "y"\n"n0" 1.5 2\n"n1" 2.5 3\n')
    new = read_new(Path("new.txt"), read("first.csv").encoding)
    assert new.ids.tolist() == ["n0", "n1"]


def test_a_parquet_table_becomes_the_same_features_too(table):
    pytest.importorskip("pyarrow")
    items = read("first.csv", OPTIONS)
    table.astype({"plain": float, "constant": int}).to_parquet("new.parquet")
    again = read_new(Path("new.parquet"), items.encoding, fill=True)
    np.testing.assert_allclose(again.features, items.features)


@pytest.mark.parametrize("scale", [True, None])
def test_an_archive_becomes_the_same_features_again(scale, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(20, 4, 3))
    np.savez("first.npz", X=X, y=[0, 1] * 10, ids=[f"i{k}" for k in range(20)])
    items = read("first.npz", ReadOptions(scale=scale))
    encoding = Encoding.from_arrays(items.encoding.to_arrays())
    X[5, 2, 1] = np.nan
    np.savez("new.npz", X=X[5:8], ids=["a", "b", "c"])
    new = read_new(Path("new.npz"), encoding, fill=True)
    assert new.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(new.features[1:], items.features[6:8])
    if scale:
        assert new.features[0, 7] == 0
    np.savez("new.npz", X=X[5:8, :3])
    with pytest.raises(ValueError, match="X must have 12 columns, as for the first items, got 9"):
        read_new(Path("new.npz"), encoding)
    with pytest.raises(ValueError, match=r"expected an \.npz file with X"):
        read_new(Path("first.csv") if Path("first.csv").exists() else _csv(), encoding)


def _csv():
    Path("first.csv").write_text("a\n1\n")
    return Path("first.csv")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("color", "mauve", "'mauve' is not one of the categories 'blue', 'green', 'red'"),
        ("member", "3", "expected yes and no, as in the first file, got '3'"),
        ("day", "17", "expected dates, as in the first file, got '17'"),
        ("plain", "yes", "expected numbers, as in the first file, got 'yes'"),
        ("plain", "1e200", "expected numbers up to"),
    ],
)
def test_a_column_of_another_form_is_refused(table, name, value, message):
    encoding = read("first.csv", OPTIONS).encoding
    row = table.iloc[[1]].assign(**{name: value})
    row.to_csv("new.csv", index=False)
    with pytest.raises(ValueError, match=message) as caught:
        read_new(Path("new.csv"), encoding)
    assert "new.csv" in str(caught.value)
    assert name in str(caught.value)


def test_the_one_answer_that_is_none_is_named(table):
    encoding = read("first.csv", OPTIONS).encoding
    rows = table.iloc[:4].assign(member=["y", "n", "maybe", "y"])
    rows.to_csv("new.csv", index=False)
    with pytest.raises(ValueError, match=r"line 4, column 'member': .* got 'maybe'"):
        read_new(Path("new.csv"), encoding)


def test_all_problems_are_told_at_once(table):
    encoding = read("first.csv", OPTIONS).encoding
    table.iloc[[1]].assign(color="mauve", plain="north").to_csv("new.csv", index=False)
    with pytest.raises(ValueError, match=r"2 problems: .*'north'.*'mauve'"):
        read_new(Path("new.csv"), encoding)
