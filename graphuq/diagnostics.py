"""Whether a run can be trusted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from graphuq.posterior import Posterior

Array = NDArray[np.float64]

# The usual thresholds; Vehtari et al. 2021 ask for more (1.01, 400) where results are published.
R_HAT = 1.05
ESS = 100
ACCEPTANCE = 0.01

# Of more quantities than this, as the modes of many classes are, arviz is shown the worst: those of
# the largest plain split R-hat, and those whose batch means vary most.
MOST = 600


class ConvergenceWarning(UserWarning):
    """A sampler or a solver has not been shown to have converged.

    Examples
    --------
    To stop where it is given, and not only to read of it:

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
    graphuq.diagnostics.ConvergenceWarning: The chains disagree ...
    """


@dataclass(frozen=True)
class Diagnostics:
    """The health of a run.

    Attributes
    ----------
    r_hat : float
        Largest rank-normalised split R-hat over the log posterior, the potential, the modes,
        the traced nodes and the logarithms of hyperparameters that were sampled; above 1.05 the
        chains tell different stories. Of a single chain the plain split R-hat. NaN with
        fewer than four draws. Of more than 600 quantities, as K classes may have, it is looked for
        among those that plainer measures show to be the worst, and so is ``ess``.
    ess : float
        Smallest bulk effective sample size over the same: what the draws are worth.
    acceptance : float
        Mean acceptance probability.
    divergences : int
        Numerical failures of the sampler's integrator; always 0 for pCN.
    running_mean_change : float
        Largest over chains of the last change of the running mean of u, eq. (16). It is what the
        paper stops at; it says little about the error that is left.
    messages : tuple of str
        What is wrong, in words; empty if nothing is.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> health = post.diagnostics()
    >>> health.r_hat < 1.05, health.ess > 1000, health.messages
    (True, True, ())
    """

    r_hat: float
    ess: float
    acceptance: float
    divergences: int
    running_mean_change: float
    messages: tuple[str, ...]


def diagnose(posterior: Posterior) -> Diagnostics:
    """Compute the `Diagnostics` of a posterior, through arviz."""
    from graphuq.export import rhat_and_ess

    monitored = _monitored(posterior)
    r_hat, ess = float("nan"), float("nan")
    if monitored.shape[1] >= 4:
        monitored = worst(monitored)
        r_hats, sizes = rhat_and_ess(monitored)
        if monitored.shape[0] == 1:  # arviz has none for a single chain: hold its halves together
            r_hats = split_rhat(monitored)
        r_hat, ess = float(np.max(r_hats)), float(np.min(sizes))
    acceptance = float(posterior.stats["acceptance_rate"].mean())
    change = posterior.running_mean_change
    return Diagnostics(
        r_hat=r_hat,
        ess=ess,
        acceptance=acceptance,
        divergences=int(posterior.stats.get("diverging", np.zeros(1)).sum()),
        running_mean_change=float(change[:, -1].max()) if change.size else float("nan"),
        messages=_messages(posterior, r_hat, ess, acceptance),
    )


def effective_size(traces: Any) -> float:
    """Return the smallest effective sample size of what `Diagnostics.ess` looks at."""
    from graphuq.export import rhat_and_ess

    monitored = _monitored(traces)
    if monitored.shape[1] < 4:
        return float("nan")
    return float(np.min(rhat_and_ess(worst(monitored))[1]))


def quick_messages(posterior: Posterior) -> tuple[str, ...]:
    """Return what is plainly wrong, by plain split R-hat: importing arviz takes seconds."""
    r_hat = float(np.max(split_rhat(_monitored(posterior))))
    acceptance = float(posterior.stats["acceptance_rate"].mean())
    return _messages(posterior, r_hat, float("inf"), acceptance)


def warn(messages: tuple[str, ...], stacklevel: int) -> None:
    """Issue one `ConvergenceWarning` with all messages."""
    if messages:
        warnings.warn(" ".join(messages), ConvergenceWarning, stacklevel=stacklevel + 1)


def split_rhat(traces: Array) -> Array:
    """Return split R-hat (Gelman et al. 2013) of traces (chains, draws, quantities).

    A chain that never moves while others do, and chains stuck in different places, give infinity.
    """
    half = traces.shape[1] // 2
    if half < 2:
        return np.full(traces.shape[2], np.nan)
    halves = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    stuck = within == 0
    ratio = between / np.where(stuck, 1.0, within)
    return np.where(stuck, np.where(between > 0, np.inf, 1.0), np.sqrt((half - 1) / half + ratio))


def worst(traces: Array) -> Array:
    """Return the quantities of traces (chains, draws, quantities) to look closer at."""
    chains, draws, n = traces.shape
    if n <= MOST:
        return traces
    length = int(np.sqrt(draws))
    batches = traces[:, : draws // length * length].reshape(chains, -1, length, n).mean(axis=2)
    total = traces.var(axis=(0, 1))
    noise = np.where(total > 0, batches.var(axis=(0, 1)) / np.where(total > 0, total, 1.0), np.inf)
    by_rhat, by_noise = np.argsort(-split_rhat(traces)), np.argsort(-noise)
    return traces[:, :, np.union1d(by_rhat[: MOST // 2], by_noise[: MOST // 2])]


def _monitored(posterior: Any) -> Array:
    stats = posterior.stats
    scalars = np.stack([stats["lp"], stats["potential"]], axis=-1)
    positive = [np.log(values)[..., None] for values in posterior.hyperparameters.values()]
    traces = [a.reshape(*a.shape[:2], -1) for a in (posterior.modes, posterior.field)]
    return np.concatenate([scalars, *traces, *positive], axis=-1)


def _messages(posterior: Posterior, r_hat: float, ess: float, acceptance: float) -> tuple[str, ...]:
    messages: list[str] = []
    chains, draws = posterior.modes.shape[:2]
    stopped = posterior.settings["stopped"]
    messages += stopped
    if not posterior.complete and not stopped:
        messages.append(f"The run was interrupted after {draws} draws in each of {chains} chains.")
    frozen = np.ptp(posterior.stats["lp"], axis=1) == 0
    if draws > 1 and frozen.any():
        messages.append(
            f"Chain {int(np.flatnonzero(frozen)[0])} never moved: take a smaller step (beta), or "
            "leave it to be adapted with warmup > 0."
        )
    if acceptance < ACCEPTANCE:
        messages.append(
            f"Only {acceptance:.2%} of proposals were accepted: take a smaller step (beta), or "
            "leave it to be adapted with warmup > 0."
        )
    diverged = posterior.stats.get("diverging", np.zeros(1)).mean()
    if diverged > 0:
        messages.append(
            f"{diverged:.2%} of trajectories diverged: raise target_acceptance, or take a smaller "
            "step_size."
        )
    if not r_hat <= R_HAT:
        messages.append(
            f"The chains disagree (R-hat {r_hat:.2f}, should be below {R_HAT}): raise draws, thin "
            "or warmup; if that does not help, the posterior has separate modes."
            if draws >= 4
            else f"{draws} draws are too few to judge convergence: raise draws."
        )
    if ess < ESS:
        messages.append(
            f"The draws are worth only {ess:.0f} independent ones (ESS, should be above {ESS}): "
            "raise draws or thin."
        )
    return tuple(messages)
