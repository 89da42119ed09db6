"""What ends the command line while it imports its commands, or without memory: one line."""

import os
import signal
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
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr, ended.stdout) == (code, f"graphuq: {line}\n", "")


def test_a_lack_of_memory_in_a_command_is_no_bug():
    assert describe_error("sample", MemoryError()) == "graphuq sample: there is not enough memory"
