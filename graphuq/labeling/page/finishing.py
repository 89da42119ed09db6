"""Sample at the end, in a thread, while the page goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Finishing:
    """The last step of a session, and how far it is.

    Parameters
    ----------
    finish : callable
        Samples and writes; returns a sentence that says what was written.
    report : Path, optional
        The report that it writes.

    Examples
    --------
    >>> finishing = Finishing(lambda: "Written to votes-graphuq.")
    >>> finishing.start()
    >>> finishing.wait()
    >>> finishing.describe()
    {'state': 'done', 'message': 'Written to votes-graphuq.', 'report': False}
    """

    def __init__(self, finish: Callable[[], str], report: Path | None = None) -> None:
        self._finish, self._report, self._lock = finish, report, threading.Lock()
        self._state, self._message = "idle", ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless it runs already."""
        with self._lock:
            if self._state == "running":
                return
            self._state, self._message = "running", ""
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    @property
    def runs(self) -> bool:
        """Whether it has begun and not ended."""
        return self._state == "running"

    @property
    def report(self) -> Path | None:
        """The report, once it is written."""
        return self._report if self._state == "done" else None

    def describe(self) -> dict[str, Any]:
        """Return the state and what there is to say."""
        with self._lock:
            return {
                "state": self._state,
                "message": self._message,
                "report": self.report is not None,
            }

    def _run(self) -> None:
        try:
            message, state = self._finish(), "done"
        except Exception as error:
            message, state = f"{type(error).__name__}: {error}", "failed"
        with self._lock:
            self._state, self._message = state, message
