import os
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


def test_pickled_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "objects.npz", a=np.array([None]))
    with pytest.raises(ValueError, match=r"holds pickled objects, which are never read"):
        read_npz(tmp_path / "objects.npz")
