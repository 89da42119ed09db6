"""The warning that samplers and solvers issue."""

from __future__ import annotations

import warnings


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


def warn(messages: tuple[str, ...], stacklevel: int) -> None:
    """Issue one `ConvergenceWarning` with all messages, if there are any."""
    if messages:
        warnings.warn(" ".join(messages), ConvergenceWarning, stacklevel=stacklevel + 1)
