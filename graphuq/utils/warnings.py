"""Warnings of the package, issued at the line that called it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"

_SILENCED = ContextVar("silenced", default=False)


class ConvergenceWarning(UserWarning):
    """There is no evidence that a sampler or a solver has converged.

    Examples
    --------
    Turn the warning into an error:

    >>> import warnings
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> short = {"draws": 20, "warmup": 0, "thin": 1, "seed": 0, "progress": False}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", gq.ConvergenceWarning)
    ...     post = gq.sample(prior, gq.Probit(gamma=0.1), labels, gq.PCN(beta=0.01), **short)
    Traceback (most recent call last):
    graphuq.utils.warnings.ConvergenceWarning: The chains disagree ...
    """


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line that called the package, unless the message is empty.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("the graph is split")
    ...     warn("")
    >>> [str(each.message) for each in caught]
    ['the graph is split']
    """
    if not message or _SILENCED.get():
        return
    level = outside = 1
    frame = sys._getframe()
    while frame.f_back is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            outside = level + 1
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=outside)


@contextmanager
def silenced() -> Iterator[None]:
    """Leave out the package's own warnings, in this thread alone.

    Examples
    --------
    >>> with silenced():
    ...     warn("the graph is split")
    """
    token = _SILENCED.set(True)
    try:
        yield
    finally:
        _SILENCED.reset(token)
