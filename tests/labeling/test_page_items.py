"""What the page shows of items, and the pictures and tables that it refuses."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.labeling.label import items_of
from graphuq.labeling.page.items import MAX_LETTERS, Names, Texts
from graphuq.labeling.page.pictures import PictureFiles, Pictures
from graphuq.labeling.page.rows import Column, Rows, columns_of

Image = pytest.importorskip("PIL.Image")

CHAIN = gq.Graph(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))


def decode(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def test_gray_pictures_keep_their_levels():
    pixels = np.arange(50.0).reshape(2, 5, 5)
    shown = decode(Pictures(pixels).encode(1))
    assert np.array_equal(shown, np.round(255 * pixels[1] / 49).astype(np.uint8))


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_colors_are_taken_as_they_are(kind):
    levels = np.random.default_rng(0).integers(0, 256, (2, 4, 6, 3))
    pixels = levels.astype(np.uint8) if kind is np.uint8 else levels / 255
    assert np.array_equal(decode(Pictures(pixels).encode(0)), levels[0])


def test_an_even_picture_is_drawn():
    assert decode(Pictures(np.ones((1, 4, 4))).encode(0)).shape == (4, 4)


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.jpg"
    pixels = np.zeros((1500, 2000, 3), np.uint8)
    pixels[:, :1000] = 200
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    image.save(path, exif=exif)
    return path


def test_files_are_shown_upright_small_and_encoded_anew(photo):
    png = PictureFiles([photo.name], photo.parent).encode(0)
    shown = decode(png)
    assert shown.shape[:2] == (1024, 768)
    assert shown[100, 400].min() > 150
    assert shown[-100, 400].max() < 50


def test_pictures_may_stand_in_the_table_itself():
    png = base64.b64encode(Pictures(np.eye(4)[None]).encode(0)).decode()
    files = PictureFiles([f"data:image/png;base64,{png}"], Path())
    assert np.array_equal(decode(files.encode(0))[..., 0], 255 * np.eye(4))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("none.png", "the file is missing"),
        ("text.png", "cannot identify"),
        ("vector.svg", "cannot identify"),
        ("", "has no path"),
        ("https://example.com/a.png", "download"),
        ("data:image/png;base64,AAAA", "cannot identify"),
        ("data:image/png,xx", "expected data:image/png;base64"),
        ("data:text/html;base64,PHNjcmlwdD4=", "cannot identify"),
        (".", "directory"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path, source, reason):
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "vector.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with pytest.raises(ValueError, match=reason):
        PictureFiles([source], tmp_path)


def test_all_unreadable_pictures_are_counted(photo):
    with pytest.raises(
        ValueError, match=r"2 pictures of 3 cannot be read.*item 1 .'a.png'.*1 more"
    ):
        PictureFiles([photo.name, "a.png", "b.png"], photo.parent)


def test_a_damaged_picture_is_found_at_the_start(tmp_path):
    png = Pictures(np.random.default_rng(0).random((1, 64, 64))).encode(0)
    (tmp_path / "cut.png").write_bytes(png[: len(png) // 2])
    with pytest.raises(ValueError, match="1 picture of 1 cannot be read"):
        PictureFiles(["cut.png"], tmp_path)


def test_an_enormous_picture_is_refused(tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    with pytest.raises(ValueError, match="cannot be read"):
        PictureFiles(["bomb.png"], tmp_path)


def test_rows_begin_with_the_columns_that_differ_most_from_the_neighbors():
    size = np.array([1.0, 2.0, 9.0, 2.0])
    frame = pd.DataFrame(
        {"same": [5.0] * 4, "color": list("rrrg"), "size": size, "text": list("abcd")}
    )
    columns = columns_of(frame)
    columns[3] = columns[3]._replace(compared=False)
    cells = Rows(columns, CHAIN).show(2)["cells"]
    # by hand: node 2 has the neighbors 1 and 3, of equal weight
    assert [cell["column"] for cell in cells] == ["size", "color", "same", "text"]
    assert cells[0]["around"] == "2"
    assert cells[0]["difference"] == pytest.approx(7 / size.std(), abs=1e-3)
    assert cells[1]["difference"] == pytest.approx(np.sqrt(2) / 2, abs=1e-3)
    assert [cell["difference"] for cell in cells[2:]] == [0, 0]


def test_rows_go_without_numbers_that_are_missing():
    columns = [Column("x", ["1", "", "3", ""], np.array([1, np.nan, 3, np.nan]))]
    shown = [Rows(columns, CHAIN).show(node)["cells"][0] for node in range(4)]
    assert [cell["difference"] for cell in shown] == [0, 0, 0, 0]


def test_a_neighbor_is_shown_in_the_columns_of_the_item():
    frame = pd.DataFrame(np.eye(4)[:, [3, 0, 1, 2]].repeat(2, axis=1))
    frame.columns = [f"c{k}" for k in range(8)]
    rows = Rows(columns_of(frame), CHAIN)
    wanted = [cell["column"] for cell in rows.show(2)["cells"][:4]]
    assert [cell["column"] for cell in rows.show_beside(1, 2)["cells"]] == wanted


def test_long_texts_are_cut():
    texts = Texts(["x" * 10**6])
    assert len(texts.show(0)["text"]) == MAX_LETTERS
    assert texts.show_beside(0, 0)["text"].endswith("…")


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        (None, Names),
        (["a", "b", "c", "d"], Texts),
        (np.zeros((4, 3, 3)), Pictures),
        (pd.DataFrame({"x": range(4)}), Rows),
        (pd.Series(["a", "b", "c", "d"]), Texts),
    ],
)
def test_items_are_told_by_their_type(items, kind):
    assert isinstance(items_of(items, CHAIN), kind)


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        (["a"], ValueError, "must be 4"),
        ("abcd", TypeError, "items must be"),
        (7, TypeError, "items must be"),
        ([1, 2, 3, 4], TypeError, "must all be texts"),
        (["a", "b", "c", None], TypeError, "must all be texts"),
        (np.zeros((4, 3, 3, 2)), ValueError, "shape"),
        (np.zeros((4, 3)), ValueError, "shape"),
        (np.full((4, 3, 3), np.nan), ValueError, "NaN"),
        (np.full((4, 3, 3), "a"), TypeError, "must be numbers"),
        ([Path("nothing.png")] * 4, ValueError, "cannot be read"),
    ],
)
def test_items_that_cannot_be_shown_are_refused(items, error, message):
    with pytest.raises(error, match=message):
        items_of(items, CHAIN)
