"""What ends the command line while it imports its commands, or without memory: one line."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graphuq.cli.errors import describe_error

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
MODULE, _, FUNCTION = PROJECT["scripts"]["graphuq"].partition(":")
WAYS = {
    "module": ["-m", "graphuq"],
    "script": ["-c", f"from {MODULE} import {FUNCTION}\n{FUNCTION}()"],
}

PRESS = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)"
LOST = (
    "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nfinally:\n    raise OSError"
)
EVENTS = {
    "pressed": (PRESS, 130, "interrupted"),
    "lost": (LOST, 130, "interrupted"),
    "memory": ("raise MemoryError", 2, "could not start: there is not enough memory"),
    "library": (
        "raise ImportError('failed to map\\nsegment')",
        2,
        "could not start, for lack of a package or of memory: failed to map segment",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("event", EVENTS)
def test_what_ends_the_start(way, event, tmp_path):
    numpy, code, line = EVENTS[event]
    (tmp_path / "numpy.py").write_text(numpy)  # imported in place of NumPy
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, *WAYS[way], "sample", "items.csv"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr, ended.stdout) == (code, f"graphuq: {line}\n", "")


def test_a_lack_of_memory_in_a_command_is_no_bug():
    assert describe_error("sample", MemoryError()) == "graphuq sample: there is not enough memory"


@pytest.mark.parametrize(
    "code", ["cp1252", *(pytest.param(code, marks=pytest.mark.slow) for code in ("ascii", "utf-8"))]
)
def test_a_terminal_of_another_encoding_shows_codes(code, tmp_path):
    (tmp_path / "items.csv").write_text("id,\u03b1,label\na,1,u\nb,2,v\n", encoding="utf-8")
    (tmp_path / "\u03b1").mkdir()
    environment = {
        **os.environ, "PYTHONIOENCODING": code, "PYTHONPATH": os.pathsep.join(sys.path)
    }  # fmt: skip
    shows, refused = "example irises --out \u03b1", "sample items.csv --label kind"
    for number, run in ((0, shows), (2, refused)):
        done = subprocess.run(
            [sys.executable, "-m", "graphuq", *run.split()],
            cwd=tmp_path, capture_output=True, env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == number, done.stderr
        shown = (done.stderr if number else done.stdout).decode(code)
        assert ("\N{GREEK SMALL LETTER ALPHA}" if code == "utf-8" else "\\u03b1") in shown


@pytest.mark.slow
def test_a_closed_standard_error_stops_nothing(tmp_path):
    (tmp_path / "items.csv").write_text("id,x,label\na,1,u\nb,2,v\nc,3,\nd,5,\n")
    command = f"{sys.executable} -m graphuq sample items.csv --draws 20 2>&-"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, shell=True, capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "items-graphuq" / "run.json").is_file()
