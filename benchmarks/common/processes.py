"""Measurements in a fresh process, whose peak memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def measure_apart(module: str, *arguments: str) -> dict:
    """Run ``python -m module arguments`` and return the JSON of the last line that it prints."""
    command = [sys.executable, "-m", module, *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def peak_gib() -> float:
    """Return this process's peak memory in GiB.

    It is read from /proc: getrusage also counts what the parent had in use at the fork.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20
