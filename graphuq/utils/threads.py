"""The number of cores, and BLAS limited to one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import scipy.linalg  # noqa: F401  # loads its BLAS before the controller looks for libraries
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # scans the process's libraries, which takes milliseconds
    return ThreadpoolController().select(user_api="blas")


def _let_any_thread_set_limits() -> None:
    """Give up the right to set limits, which threadpoolctl 3.8 leaves to one thread while it lives.

    Limits that other threads set have no effect, without an error.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class _OneThread:
    """BLAS in one thread while anyone needs it.

    Limits of threadpoolctl restore what they found. Where they overlap without nesting, as in calls
    from several threads, the last to end restores the limit of another.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._users:
                _let_any_thread_set_limits()
                self._limit = _controller().limit(limits=1)
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                _let_any_thread_set_limits()
                self._limit.restore_original_limits()
                _let_any_thread_set_limits()


_ONE_THREAD = _OneThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the BLAS of NumPy and SciPy in one thread, until the last such context ends.

    More threads compete with those of chains or row blocks, and change the last digits. Any thread
    may set the limit. With the OpenBLAS of NumPy's and SciPy's wheels it is that of the process.
    Limits of other code, by threadpoolctl, belong inside or outside of it: where they overlap, the
    last to end decides.
    """
    _ONE_THREAD.enter()
    try:
        yield
    finally:
        _ONE_THREAD.leave()


def limit_to_one_blas_thread() -> None:
    """Run BLAS in one thread from now on."""
    _ONE_THREAD.enter()


def cpu_count() -> int:
    """Return the number of cores that this process may use, by affinity and container quota."""
    import joblib  # takes longer than all else here

    return int(joblib.cpu_count())
