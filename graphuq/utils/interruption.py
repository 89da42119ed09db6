"""Work in threads that Ctrl-C leaves behind: compiled code cannot be stopped."""

from __future__ import annotations

import atexit
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from queue import SimpleQueue
from types import FrameType
from typing import ParamSpec, Self, TypeVar

from graphuq.utils.threads import limit_to_one_blas_thread, one_blas_thread

P = ParamSpec("P")
T = TypeVar("T")


# Threads that were interrupted, and may still be inside compiled code.
_LEFT_BEHIND: list[threading.Thread] = []

# A process that ends gives them these seconds.
EXIT_SECONDS = 3.0

# A signal that comes just before a thread begins to wait does not end the wait.
POLL_SECONDS = 0.5


@atexit.register
def _let_threads_end() -> None:
    """Wait, when the process ends, until threads that were left behind are out of compiled code.

    OpenBLAS ends by joining its own threads, forever if a thread that was left behind has given
    them work. So it is left without them.
    """
    running = [thread for thread in _LEFT_BEHIND if thread.is_alive()]
    if not running:
        return
    limit_to_one_blas_thread()
    until = time.monotonic() + EXIT_SECONDS
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in running):
        _end_before_libraries()


def _end_before_libraries() -> None:
    """End the process as soon as Python is done, before its libraries clean up.

    OpenBLAS frees its buffers then, and a thread that still computes in them would crash.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc has it, which hands the exit code on
        libc.on_exit(libc._exit, None)


def leave_behind(thread: threading.Thread) -> None:
    """Have the process, when it ends, wait for a thread that may be inside compiled code.

    Examples
    --------
    >>> thread = threading.Thread(target=time.sleep, args=(0.0,), daemon=True)
    >>> thread.start()
    >>> leave_behind(thread)
    """
    _LEFT_BEHIND.append(thread)


class _Presses:
    """Whether Ctrl-C raised an exception that no `named_interruption` has seen."""

    def __init__(self) -> None:
        self.depth, self.raised = 0, False

    def enter(self) -> None:
        """Begin a `named_interruption`; what was raised before the outermost one is not its own."""
        if not self.depth:
            self.raised = False
        self.depth += 1


_PRESSES = _Presses()


class Workers:
    """Threads that work on futures; unlike those of a pool they end with the process.

    Parameters
    ----------
    number : int

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     futures = [workers.submit(pow, 2, n) for n in range(3)]
    ...     [future.result() for future in futures]
    [1, 2, 4]
    """

    def __init__(self, number: int) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> Future[T]:
        """Return the future result of ``work``."""
        future: Future[T] = Future()

        def do() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(*args, **options))
            except BaseException as error:
                future.set_exception(error)

        self._queue.put(do)
        return future

    def _interrupt(self) -> None:
        """Raise KeyboardInterrupt in the threads, once they run Python code again."""
        _LEFT_BEHIND.extend(self._threads)
        for thread in self._threads:
            number = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(KeyboardInterrupt))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt:
            self._interrupt()
        for _thread in self._threads:
            self._queue.put(None)

    def _run(self) -> None:
        with suppress(KeyboardInterrupt):  # of `_interrupt`
            while (do := self._queue.get()) is not None:
                do()
                del do  # its result may be large


def interruptible(doing: str, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return ``work(*args, **options)``; Ctrl-C returns at once, also from compiled code.

    BLAS has one thread meanwhile. The limits that ``work`` sets may have no effect, since it runs
    in another thread than those before.

    Parameters
    ----------
    doing : str
        What the work is, for the message of the interruption.
    work : callable

    Raises
    ------
    KeyboardInterrupt
        With what was interrupted.

    Examples
    --------
    >>> interruptible("adding numbers", sum, [1, 2, 3])
    6
    """
    if threading.current_thread() is not threading.main_thread():
        with one_blas_thread():
            return work(*args, **options)  # Ctrl-C reaches the main thread alone
    with one_blas_thread(), Workers(1) as worker:
        future: Future[T] = worker.submit(copy_context().run, work, *args, **options)  # type: ignore[arg-type]
        with named_interruption(doing):
            while not wait([future], timeout=POLL_SECONDS).done:
                pass
            return future.result()


@contextmanager
def named_interruption(doing: str) -> Iterator[None]:
    """Say in the message of Ctrl-C what was interrupted, and raise it at the end if it got lost.

    Python drops an exception that is raised in a finalizer or in a callback of a weak reference,
    which plots have by the thousand, and the work would go on.

    Examples
    --------
    >>> try:
    ...     with named_interruption("writing the report"):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as error:
    ...     print(error)
    interrupted while writing the report
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def press(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except KeyboardInterrupt:
            _PRESSES.raised = True
            raise

    _PRESSES.enter()
    signal.signal(signal.SIGINT, press)
    try:
        yield
        if _PRESSES.raised:
            raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        _PRESSES.raised = False
        raise KeyboardInterrupt(str(error) or f"interrupted while {doing}") from None
    finally:
        _PRESSES.depth -= 1
        signal.signal(signal.SIGINT, before)
