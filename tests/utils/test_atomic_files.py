import errno
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from graphuq.utils.atomic_files import read_npz, write_atomically


def write_half(path):
    with write_atomically(path) as temporary:
        Path(temporary).write_text("half")
        raise ArithmeticError


def test_a_failure_keeps_the_old_file_and_leaves_no_other(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(ArithmeticError):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_a_success_replaces_the_file(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with write_atomically(path) as temporary:
        Path(temporary).write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_places_where_no_file_can_be_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"), \
            write_atomically(tmp_path):  # fmt: skip
        pass
    with pytest.raises(FileNotFoundError, match="does not exist: make it first"), \
            write_atomically(tmp_path / "no" / "file"):  # fmt: skip
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # a superuser may write anywhere
    message = r"cannot write to the folder .* \(Permission denied\): name"
    with pytest.raises(OSError, match=message), write_atomically(tmp_path / "file"):
        pass


@pytest.mark.slow
def test_a_link_stays_one_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with write_atomically(tmp_path / "link") as temporary:
        Path(temporary).write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(FileExistsError, match="device or a pipe"),
        write_atomically(tmp_path / "pipe"),
    ):
        pass
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_disk_names_the_file_and_a_remedy(tmp_path):
    with (
        pytest.raises(OSError, match=r"make room, or name a file on another disk.*result\.nc"),
        write_atomically(tmp_path / "result.nc"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_no_flipped_bit_in_the_directory_of_an_archive_hides_an_array(tmp_path):
    path = tmp_path / "arrays.npz"
    arrays = {"a": np.arange(3.0), "b": np.array([1, -1]), "c": np.array("text")}
    np.savez(path, **arrays)
    content = path.read_bytes()
    refused = 0
    directory = range(8 * content.index(b"PK\x01\x02"), 8 * len(content))
    for position in directory:
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            found = read_npz(path)
        except ValueError:
            refused += 1
            continue
        assert found.keys() == arrays.keys(), position
        assert all(np.array_equal(found[name], arrays[name]) for name in arrays), position
    assert refused > len(directory) / 4


def test_a_file_that_is_no_array_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.arange(3.0))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("b.npy", b"text")
    with pytest.raises(ValueError, match="is damaged"):
        read_npz(tmp_path / "a.npz")


def test_pickled_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "objects.npz", a=np.array([None]))
    with pytest.raises(ValueError, match=r"holds pickled objects, which are never read"):
        read_npz(tmp_path / "objects.npz")
