"""Compilation of jitted functions: once, lazily, cached on disk."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numba


def cached_njit(function: Callable[..., Any]) -> Any:
    """Return ``numba.njit(function)``, cached on disk where a cache can be written."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # a read-only installation without a home: compile in every process
        return numba.njit(function)


class Kernel:
    """A loop compiled for one explicit signature, at its first call.

    The explicit signature is what keeps a kernel from being compiled again for each likelihood: a
    plugin's function enters as a typed pointer. A kernel runs without the GIL. It must not call
    another file's jitted functions, whose edits numba's cache does not see.
    """

    def __init__(self, signature: Any, function: Callable[..., Any]) -> None:
        self._signature, self._function = signature, function
        self._compiled: Any = None
        self._lock = threading.Lock()  # chains meet here at their first step

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled loop."""
        return self.compiled(*arguments)

    @property
    def compiled(self) -> Any:
        """The numba dispatcher."""
        with self._lock:
            if self._compiled is None:
                compile_ = functools.partial(
                    numba.njit, self._signature, nogil=True, error_model="numpy"
                )
                try:
                    self._compiled = compile_(cache=True)(self._function)
                except RuntimeError:  # as above
                    self._compiled = compile_()(self._function)
            return self._compiled


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function as a `Kernel` of ``signature``."""
    return lambda function: Kernel(signature, function)
