"""BLAS kept to one thread, where more would fight with the chains' or change last digits."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  # its BLAS, like numpy's, is loaded before they are looked for
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the process's libraries, for milliseconds


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which numpy's and scipy's BLAS run in one thread."""
    return _controller().limit(limits=1, user_api="blas")
