"""A disk without room: nothing is lost, and no file is left half written."""

import contextlib
import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq
from graphuq.cli.program import main
from graphuq.inference import checkpoint

resource = pytest.importorskip("resource")

# Bytes that a file may have: none, a part of the smallest, and a part of most
ROOM = (0, 300, 2000)
RUN = {"draws": 200, "chains": 2, "seed": 0, "progress": False}


@contextlib.contextmanager
def files_of_at_most(size):
    """Let each write beyond ``size`` bytes fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def model(small):
    return gq.Prior.approximated(small[0], 8), gq.Probit(0.3), small[1]


@pytest.fixture(scope="module")
def post(model):
    return quietly(*model, **RUN)


@pytest.fixture(scope="module")
def writers(post, small):
    return {
        "posterior": lambda path: post.save(path),
        "spectrum": lambda path: small[0].save(path),
        "report": lambda path: gq.write_report(post, path),
    }


@pytest.mark.parametrize(
    ("name", "size"), [*itertools.product(["posterior", "spectrum"], ROOM), ("report", 2000)]
)
def test_what_cannot_be_written_leaves_the_old_file_and_no_other(writers, name, size, tmp_path):
    path = tmp_path / "file"
    with files_of_at_most(size), pytest.raises(OSError, match="File too large"):
        writers[name](path)
    assert list(tmp_path.iterdir()) == []
    writers[name](path)
    old = path.read_bytes()
    with files_of_at_most(size), pytest.raises(OSError, match="File too large"):
        writers[name](path)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == old


@pytest.mark.parametrize("size", ROOM)
def test_a_run_continues_without_its_checkpoint(model, post, size, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", 0.0)
    with files_of_at_most(size), pytest.warns(RuntimeWarning, match="the run continues"):
        there = gq.sample(*model, **RUN, checkpoint=tmp_path / "run.npz")
    np.testing.assert_array_equal(there.draws.modes, post.draws.modes)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """A file system of 5 MiB."""
    path = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(path)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(disk, left):
    """Leave about so many bytes free."""
    with open(disk / "ballast", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    with open(disk / "ballast", "rb+") as file:
        file.truncate((disk / "ballast").stat().st_size - left)


@pytest.mark.slow
def test_a_full_file_system_loses_nothing(writers, model, post, small_disk, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", 0.0)
    for left in (0, 4096, 16384, 40960):
        for name, write in writers.items():
            fill(small_disk, left)
            write(tmp_path / name)
            if (tmp_path / name).stat().st_size > left:
                with pytest.raises(OSError, match="No space left"):
                    write(small_disk / name)
                assert [file.name for file in small_disk.iterdir()] == ["ballast"]
        for file in small_disk.iterdir():
            file.unlink()


def test_the_command_line_keeps_its_draws_elsewhere(tmp_path, monkeypatch, capsys, clumps):
    from graphuq.cli import result_folder

    X, y = clumps
    rows = [
        f"{a},{b},{c if i % 10 == 0 else ''}"
        for i, ((a, b), c) in enumerate(zip(X, y, strict=True))
    ]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,label", *rows]))
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(result_folder.tempfile, "tempdir", str(tmp_path / "spare"))
    out, save = tmp_path / "result", gq.Posterior.save

    def full(self, path):
        if Path(path).is_relative_to(tmp_path / "spare"):
            return save(self, path)
        with files_of_at_most(300):
            return save(self, path)

    monkeypatch.setattr(gq.Posterior, "save", full)
    sample = ["sample", str(tmp_path / "table.csv"), "--label", "label", "--draws", "100"]
    assert main([*sample, "--gamma", "0.1", "--alpha", "2", "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert "the result is in" in message
    assert not out.exists()
    (rescued,) = (tmp_path / "spare").iterdir()
    assert str(rescued) in message
    assert main(["report", str(rescued), "--text"]) == 0
    assert {file.name for file in rescued.iterdir()} >= {"nodes.csv", "report.html", "run.json"}
