"""Compilation of jitted functions: once, lazily, cached on disk."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numba


def cached_njit(function: Callable[..., Any]) -> Any:
    """Return ``numba.njit(function)``, cached on disk if a cache can be written."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # a read-only installation without a home: compile in every process
        return numba.njit(function)


@numba.njit
def copy_matrix(v, u):  # type: ignore[no-untyped-def]
    """Write v into u: ``u[:] = v`` takes seconds to compile, for the words of its error."""
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            u[i, j] = v[i, j]


class Kernel:
    """A function compiled for one explicit signature at its first call.

    Thanks to the explicit signature, a kernel is not compiled again for each likelihood: the
    function of a plugin enters as a typed pointer. A kernel runs without the GIL. It must not call
    jitted functions of another file, because numba's cache does not see edits there; those of
    this file stay as they are.
    ``fastmath`` is that of `numba.njit`.
    """

    def __init__(
        self, signature: Any, function: Callable[..., Any], fastmath: bool | set[str] = False
    ) -> None:
        self._signature, self._function, self._fastmath = signature, function, fastmath
        self._compiled: Any = None
        self._lock = threading.Lock()  # chains in threads make their first call together

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return self.compiled(*arguments)

    @property
    def compiled(self) -> Any:
        """The numba dispatcher."""
        with self._lock:
            if self._compiled is None:
                compile_ = functools.partial(
                    numba.njit,
                    self._signature,
                    nogil=True,
                    error_model="numpy",
                    fastmath=self._fastmath,
                )
                try:
                    self._compiled = compile_(cache=True)(self._function)
                except RuntimeError:  # as in `cached_njit`
                    self._compiled = compile_()(self._function)
            return self._compiled


def kernel(
    signature: Any, *, fastmath: bool | set[str] = False
) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function as a `Kernel` of ``signature``."""
    return lambda function: Kernel(signature, function, fastmath)
