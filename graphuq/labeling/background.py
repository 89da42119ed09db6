"""One thread that works in the background, on the newest task."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from graphuq.utils.interruption import leave_behind

T = TypeVar("T")


class Background(Generic[T]):
    """A thread that does the newest task, and skips those that came before it.

    The thread ends with the process, which waits a few seconds for compiled code to end.

    Parameters
    ----------
    work : callable
        Takes a task.

    Examples
    --------
    >>> done = []
    >>> background = Background(done.append)
    >>> background.give(1)
    >>> background.wait(10.0), done
    (True, [1])
    >>> background.close()
    """

    def __init__(self, work: Callable[[T], None]) -> None:
        self._work, self._changed = work, threading.Condition()
        self._task: list[T] = []
        self._busy = self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def give(self, task: T) -> None:
        """Give a task, which replaces one that was not begun."""
        with self._changed:
            self._task = [task]
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a task is being done or waits."""
        with self._changed:
            return self._busy or bool(self._task)

    @property
    def has_newer(self) -> bool:
        """Whether a task waits, or there will be none: what is being done may end early."""
        return bool(self._task) or self._closed

    def wait(self, seconds: float) -> bool:
        """Wait until all tasks are done; return whether they are."""
        until = time.monotonic() + seconds
        with self._changed:
            while self._busy or self._task:
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    return False
            return True

    def close(self) -> None:
        """End the thread after the task that is being done."""
        atexit.unregister(self.close)
        with self._changed:
            if not self._closed:
                leave_behind(self._thread)
            self._closed, self._task = True, []
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._task and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                (task,) = self._task
                self._task, self._busy = [], True
            try:
                self._work(task)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
