"""How many cores there are, and BLAS kept to one thread where more would do harm."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  # its BLAS, like numpy's, is loaded before they are looked for
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the process's libraries, for milliseconds


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which numpy's and scipy's BLAS run in one thread.

    More would fight with the threads of chains or of blocks of rows, or change last digits.
    """
    return _controller().limit(limits=1, user_api="blas")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
