"""Lines of a table that hold no item: separators, further headers, totals."""

import warnings

import numpy as np
import pandas as pd
import pytest

from graphuq.cli import files

ROWS = "a;1;2.5;u\nb;3;5;v\nc;4;4;\nd;9;1;\n"


def read(tmp_path, text, **options):
    path = tmp_path / "items.csv"
    path.write_text(text)
    return files.read(path, files.ReadOptions(**options))


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\n', "sep=;\r\n"])
def test_a_line_that_names_the_separator_is_skipped(tmp_path, first):
    plain = read(tmp_path, "id;x;y;label\n" + ROWS)
    named = read(tmp_path, first + "id;x;y;label\n" + ROWS)
    np.testing.assert_array_equal(named.features, plain.features)
    assert named.known.tolist() == plain.known.tolist()
    with pytest.raises(ValueError, match="line 4, column 'x': 'oops' is not a finite number"):
        read(tmp_path, first + "id;x;y;label\n" + ROWS.replace("b;3", "b;oops"))


@pytest.mark.parametrize("missing", ["refuse", "fill"])
@pytest.mark.parametrize("n_headers", [1, 2])
def test_a_second_header_is_told(tmp_path, missing, n_headers):
    headers = "name;in cm;in kg;class\n" * n_headers
    text = "id;x;y;label\n" + headers.replace("name", "n", 1) + ROWS * 1
    more = ", and 1 more such lines" if n_headers > 1 else ""
    with pytest.raises(ValueError, match=f"line 2: text such as 'in cm' stands in .*{more}"):
        read(tmp_path, text, missing=missing)
    assert read(tmp_path, text, missing="drop").ids.tolist() == ["a", "b", "c", "d"]


def test_cells_that_are_no_numbers_are_no_header(tmp_path):
    text = "id;x;y;z;label\na;1;low;1;u\nb;3;5;2;v\nc;high;4;3;\nd;9;1;5;\ne;7;2;8;\n"
    assert read(tmp_path, text, missing="fill").features.shape == (5, 3)


def test_a_line_of_totals_is_told(tmp_path):
    rng = np.random.default_rng(0)
    for seed in range(20):
        values = np.random.default_rng(seed).integers(0, 50, (9, 3)) / 4
        frame = pd.DataFrame(values, columns=list("xyz"))
        frame["label"] = ["u", "v", *[""] * 7]
        frame.to_csv(tmp_path / "plain.csv", index=False)
        files.read(tmp_path / "plain.csv")
        whole = pd.concat([frame, pd.DataFrame([{**frame[list("xyz")].sum(), "label": ""}])])
        whole.to_csv(tmp_path / "total.csv", index=False)
        with pytest.raises(ValueError, match="line 11: the numbers in 'x', 'y', 'z' are the sums"):
            files.read(tmp_path / "total.csv")
    # counts of rare things agree with a sum by chance
    rare = pd.DataFrame((rng.random((40, 6)) < 0.05).astype(int), columns=list("abcdef"))
    rare.iloc[0], rare.iloc[-1] = 1, 1
    rare.assign(label=["u", "v", *[""] * 38]).to_csv(tmp_path / "rare.csv", index=False)
    files.read(tmp_path / "rare.csv")


def test_a_line_of_totals_may_leave_columns_blank(tmp_path):
    rows = "".join(f"r{k};{k * k % 7}.25;{k % 5};{'uv'[k] if k < 2 else ''}\n" for k in range(9))
    x = sum(k * k % 7 + 0.25 for k in range(9))
    header = "id;x;y;label\n"
    with pytest.raises(ValueError, match="line 11: the numbers in 'x' are the sums of those above"):
        read(tmp_path, f"{header}{rows}Total;{x};;\n", missing="fill")
    assert read(tmp_path, f"{header}{rows}Total;{x};;\n", missing="drop").ids.size == 9
    assert read(tmp_path, f"{header}{rows}r9;{x + 1};;\n", missing="fill").ids.size == 10
    assert read(tmp_path, f"{header}{rows}r9;{x};3;\n", missing="fill").ids.size == 10


def test_whole_numbers_that_are_ids_by_name_are_told(tmp_path):
    values = np.random.default_rng(0).choice(10**6, 20, replace=False)
    rows = [f"{value},{k % 7}.5,{'uv'[k] if k < 2 else ''}" for k, value in enumerate(values)]
    text = "customer_id,x,label\n" + "\n".join(rows) + "\n"
    with pytest.warns(RuntimeWarning, match="column 'customer_id' has the whole numbers from"):
        read(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tmp_path, text.replace("customer_id", "income"))


def test_row_names_of_r_are_told(tmp_path):
    with pytest.raises(
        ValueError, match=r"got 4 .*if write.table of R wrote row names, use write.csv"
    ):
        read(tmp_path, "x;y;label\n" + ROWS)


def test_numbers_whose_difference_overflows_are_told(tmp_path):
    text = "x,y,label\n1.7976931348623157e+308,1,u\n-9.9e+307,2,v\n3,4,\n"
    with pytest.raises(ValueError, match=r"expected numbers up to 1e\+\d+, got 1.79769e\+308"):
        read(tmp_path, text)
