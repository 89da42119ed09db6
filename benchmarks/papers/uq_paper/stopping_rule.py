"""The paper's rule (16): stop a chain by the change of its running mean.

Stop at the first k for which the mean of u over k T steps and that over (k - 1) T steps differ by
at most tol, T = 5000. The paper does not state the norm. Modes are orthonormal, so the Euclidean
norm of a field over all N nodes is that of its mode coefficients, which the posterior stores:
"Euclidean" is this norm, "root mean square" is it divided by sqrt(N), and "over N" is it divided by
N. The means here are over the stored draws.
"""

from __future__ import annotations

import numpy as np

import graphuq as gq

T = 5000
NORMS = ("Euclidean", "root mean square", "over N")


def stops(post: gq.Posterior, prior: gq.Prior, tol: float) -> dict[str, list[float]]:
    """Return where each chain stops in each norm, infinity if it does not."""
    every = T // post.settings["thin"]
    sums = np.cumsum(post.draws.modes * prior.sigma, axis=1)[:, every - 1 :: every]
    count = every * np.arange(1, sums.shape[1] + 1)
    change = np.linalg.norm(np.diff(sums / count[:, None], axis=1), axis=2)
    found = {}
    for norm, divisor in zip(NORMS, (1, prior.n_nodes**0.5, prior.n_nodes), strict=True):
        small = change / divisor <= tol
        found[norm] = [
            float(T * (2 + chain.argmax())) if chain.any() else np.inf for chain in small
        ]
    return found


def columns(found: dict[str, list[float]]) -> dict[str, str]:
    """Return the stop of the median chain in each norm."""
    medians = {norm: float(np.median(stopped)) for norm, stopped in found.items()}
    return {
        f"M by (16), {norm}": f"{median:.3g}" if np.isfinite(median) else "not within run"
        for norm, median in medians.items()
    }


def near(row: dict, printed: float) -> bool:
    """Return whether the rule stops within a factor of two of ``printed``, in some norm."""
    texts = [row[f"M by (16), {norm}"] for norm in NORMS]
    return any(0.5 <= float(text) / printed <= 2 for text in texts if text != "not within run")
