"""A line on standard error every ten seconds: what a command is doing."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from graphuq.utils.progress import listen_to_progress

# Seconds between two lines.
INTERVAL = 10.0


class _State:
    """What is being done, and how far a count is."""

    stage: str | None = None
    count: str = ""


_state = _State()


def begin_stage(stage: str, *, has_bar: bool = False) -> None:
    """Say what is being done from now on; nothing is printed if a progress bar shows it."""
    _state.stage, _state.count = None if has_bar else stage, ""


def has_terminal() -> bool:
    """Return whether somebody sees standard error, which may be closed."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def heartbeat(command: str) -> Iterator[None]:
    """Print a line every ten seconds, until the block ends.

    Where standard error is not a terminal, the lines replace progress bars.
    """
    start, ended = time.monotonic(), threading.Event()
    _state.stage, _state.count = "working", ""

    def print_lines() -> None:
        while not ended.wait(INTERVAL):
            if _state.stage is not None:
                seconds = time.monotonic() - start
                line = f"graphuq {command}: {seconds:.0f} s, {_state.stage}{_state.count}"
                print(line, file=sys.stderr, flush=True)

    def hear(done: int, total: int, unit: str) -> None:
        _state.count = f", {done} of {total} {unit}s" if total else f", {done} {unit}s"

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        with nullcontext() if has_terminal() else listen_to_progress(hear):
            yield
    finally:
        ended.set()
        thread.join()
