"""A folder of pictures as data, and features in a file of their own."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from graphuq.cli import files
from graphuq.cli.files.read_new import read_new

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Bright and dark pictures, some of them in sub-folders."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for k in range(12):
        level = 200 if k % 2 else 40
        pixels = np.clip(level + rng.normal(scale=20, size=(40, 60, 3)), 0, 255).astype(np.uint8)
        place = Path("photos", ("bright" if k % 2 else "dark") if k < 6 else ".")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{k:02d}.{'png' if k % 3 else 'JPG'}", "PNG")
    return Path("photos")


def test_pixels_are_features_and_sub_folders_are_classes(folder):
    items = files.read(folder)
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    assert items.ids.tolist() == [path.relative_to(folder).as_posix() for path in found]
    assert items.ids[-1] == "dark/04.png"
    assert items.features.shape == (12, 32 * 32)
    assert items.image_shape == (32, 32)
    expected = [name.split("/")[0] if "/" in name else None for name in items.ids]
    assert items.known.tolist() == expected
    np.testing.assert_array_equal(items.features, items.images)
    # the mean of a picture is that of its pixels
    with Image.open(folder / "07.png") as image:
        mean = np.asarray(image.convert("L")).mean() / 255
    at = items.ids.tolist().index("07.png")
    assert abs(items.features[at].mean() - mean) < 0.01
    notes = " ".join(items.notes)
    assert "labels: the names of sub-folders" in notes
    assert "features: gray levels of 32 x 32 pixels" in notes


def test_files_that_are_no_pictures_are_left_out_and_named(folder):
    (folder / "notes.txt").write_text("x")
    (folder / ".hidden.png").write_text("x")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n")
    (folder / "empty.jpg").write_bytes(b"")
    items = files.read(folder)
    assert items.ids.size == 12
    notes = " ".join(items.notes)
    assert "left out 1 file, no pictures: 'notes.txt'" in notes
    assert "left out 2 pictures, not readable: 'broken.png', 'empty.jpg'" in notes


def test_scans_and_drawings_keep_their_levels(tmp_path):
    """Sixteen bits, fractions, and strokes on a transparent ground."""
    step = np.zeros((64, 64))
    step[:, 32:] = 1.0
    strokes = np.zeros((64, 64, 4), dtype=np.uint8)  # black
    strokes[:, :32, 3] = 255
    for name, image in {
        "deep.png": Image.fromarray((65535 * step).astype(np.uint16)),
        "deep.tiff": Image.fromarray((65535 * step).astype(np.int32)),
        "float.tiff": Image.fromarray(step.astype(np.float32)),
        "plain.png": Image.fromarray((255 * step).astype(np.uint8)),
        "strokes.png": Image.fromarray(strokes),
    }.items():
        image.save(tmp_path / name)
    items = files.read(tmp_path, files.ReadOptions(needs_labels=False))
    expected = np.zeros((32, 32))
    expected[:, 16:] = 1.0
    for row in items.features:
        np.testing.assert_allclose(row.reshape(32, 32), expected, atol=0.01)


def test_labels_and_true_classes_in_tables(folder):
    Path("labels.csv").write_text("id,label\n07.png,b\n08.png,d\n")
    items = files.read(folder, files.ReadOptions(labels="labels.csv"))
    assert [name for name in items.known if name] == ["b", "d"]
    items = files.read(folder, files.ReadOptions(ignore=("label",), needs_labels=False))
    assert not any(items.known)
    assert {*items.shown["folder"]} == {"bright", "dark", ""}


def test_features_of_pictures_in_a_file(folder):
    (folder / "broken.png").write_bytes(b"")
    X = np.random.default_rng(0).normal(size=(13, 5))
    np.save("embeddings.npy", X)
    items = files.read(folder, files.ReadOptions(features=Path("embeddings.npy")))
    names = sorted([*items.ids.tolist(), "broken.png"])
    np.testing.assert_array_equal(items.features, X[[name != "broken.png" for name in names]])
    assert items.images.shape == (12, 32 * 32)
    X[4] = np.nan
    np.save("embeddings.npy", X)
    for missing, n in (("drop", 11), ("fill", 12)):
        items = files.read(
            folder, files.ReadOptions(features=Path("embeddings.npy"), missing=missing)
        )
        assert items.ids.size == len(items.features) == len(items.images) == n
    np.save("embeddings.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"must hold a matrix with 13 rows.*got shape \(3, 3\)"):
        files.read(folder, files.ReadOptions(features=Path("embeddings.npy")))


def test_features_of_a_table_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mail.csv").write_text("id,body,label\na,first text,u\nb,second,v\nc,third,\n")
    X = np.random.default_rng(0).normal(size=(3, 4))
    np.save("embeddings.npy", X)
    items = files.read("mail.csv", files.ReadOptions(features=Path("embeddings.npy")))
    np.testing.assert_array_equal(items.features, X)
    assert items.known.tolist() == ["u", "v", None]
    assert any(column.read_as == "not used, embeddings.npy is" for column in items.columns)
    np.save("new.npy", X[:2])
    new = read_new(Path("new.npy"), items.encoding)
    np.testing.assert_array_equal(new.features, X[:2])
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name, message in (
        ("none.npy", "there is no file"),
        ("mail.csv", r"is no .npy file"),
        ("objects.npy", "is damaged, or holds objects"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            files.read("mail.csv", files.ReadOptions(features=Path(name)))
    np.savez("digits.npz", X=X, y=["u", "v", ""])
    with pytest.raises(ValueError, match=r"--features cannot be used with an .npz file"):
        files.read("digits.npz", files.ReadOptions(features=Path("new.npy")))


def test_new_pictures_become_the_same_features(folder):
    items = files.read(folder)
    shutil.copytree(folder, "more")
    new = read_new(Path("more"), items.encoding)
    assert new.ids.tolist() == items.ids.tolist()
    np.testing.assert_array_equal(new.features, items.features)
    np.save("other.npy", np.eye(3))
    with pytest.raises(ValueError, match="has 3 features of each item, and the first items have"):
        read_new(Path("other.npy"), items.encoding)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda folder: [path.unlink() for path in folder.rglob("*.*")], IsADirectoryError,
         "is a folder without pictures"),
        (lambda folder: [path.write_text("x") for path in folder.rglob("*.*")], ValueError,
         "has 0 pictures that can be read"),
    ],
)  # fmt: skip
def test_folders_without_pictures_are_refused(folder, change, error, message):
    change(folder)
    with pytest.raises(error, match=message):
        files.read(folder)


def test_options_of_tables_have_no_effect_on_pictures(folder):
    with pytest.raises(ValueError, match=r"--text cannot be used with a folder of pictures"):
        files.read(folder, files.ReadOptions(text=("x",)))
