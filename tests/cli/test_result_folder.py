"""The folder of a result."""

from __future__ import annotations

import os
import stat

import pytest

from graphuq.cli.result_folder import require_result_folder, result_folder


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_a_new_folder_has_the_permissions_that_umask_gives(tmp_path, mask):
    path, before = tmp_path / "result", os.umask(mask)
    try:
        with result_folder(path) as temporary:
            (temporary / "nodes.csv").write_text("node\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777 & ~mask
    assert [file.name for file in path.iterdir()] == ["nodes.csv"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_nothing_is_refused_before_any_work(tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere" / "else")
    with pytest.raises(FileNotFoundError, match="is a link to nothing: choose another --out"):
        require_result_folder(tmp_path / "out")
