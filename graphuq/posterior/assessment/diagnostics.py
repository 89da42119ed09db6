"""Diagnostics of a run: R-hat, effective sample size, acceptance, and messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphuq.posterior.arviz_compat import rhat_and_ess
from graphuq.posterior.draws import Draws
from graphuq.utils.typing import Array
from graphuq.utils.words import count

# The usual thresholds; Vehtari et al. 2021 ask for 1.01 and 400 in published results.
R_HAT = 1.05
ESS = 100
ACCEPTANCE = 0.01

# Advice that the command line knows an option for.
RAISE_DRAWS = "raise draws"

# arviz gets at most this many quantities (the modes of many classes are more): those with the
# largest plain split R-hat, and those whose batch means vary most.
MAX_QUANTITIES = 600


@dataclass(frozen=True)
class Diagnostics:
    """The health of a run.

    Attributes
    ----------
    r_hat : float
        Largest rank-normalized split R-hat over the log posterior, the potential, the modes,
        the traced nodes and the logarithms of sampled hyperparameters; above 1.05 the chains
        disagree. For a single chain the plain split R-hat. NaN with fewer than four draws. With
        more than 600 quantities, as for many classes, R-hat and ``ess`` are computed for the worst
        by simpler measures.
    ess : float
        Smallest bulk effective sample size over the same quantities: how many independent draws
        the draws are worth.
    acceptance : float
        Mean acceptance probability.
    divergences : int
        Numerical failures of the sampler's integrator; always 0 for pCN.
    running_mean_change : float
        Largest over chains of the last change of the running mean of u, eq. (16). The paper's
        stopping rule uses it; it says little about the remaining error.
    messages : tuple of str
        What is wrong and what to do; empty if nothing is wrong.

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


def diagnose(draws: Draws, settings: dict[str, Any]) -> Diagnostics:
    """Compute the `Diagnostics` of the draws of a run with these settings, through arviz."""
    monitored = _monitored(draws)
    r_hat, ess = float("nan"), float("nan")
    if monitored.shape[1] >= 4:
        monitored = select_worst(monitored)
        r_hats, sizes = rhat_and_ess(monitored)
        if monitored.shape[0] == 1:  # arviz needs two chains: compare the halves of one
            r_hats = split_rhat(monitored)
        r_hat, ess = float(np.max(r_hats)), float(np.min(sizes))
    acceptance = float(draws.stats["acceptance_rate"].mean())
    change = draws.running_mean_change
    return Diagnostics(
        r_hat=r_hat,
        ess=ess,
        acceptance=acceptance,
        divergences=int(draws.stats.get("diverging", np.zeros(1)).sum()),
        running_mean_change=float(change[:, -1].max()) if change.size else float("nan"),
        messages=_messages(draws, settings, r_hat, ess, acceptance),
    )


def effective_size(draws: Draws) -> float:
    """Return the smallest effective sample size of the quantities of `Diagnostics.ess`."""
    monitored = _monitored(draws)
    if monitored.shape[1] < 4:
        return float("nan")
    return float(np.min(rhat_and_ess(select_worst(monitored))[1]))


def quick_messages(draws: Draws, settings: dict[str, Any]) -> tuple[str, ...]:
    """Return messages by plain split R-hat, without arviz, whose import takes seconds."""
    each = [split_rhat(traces).ravel() for traces in _traces(draws)]
    r_hat = float(np.max(np.concatenate(each)))
    acceptance = float(draws.stats["acceptance_rate"].mean())
    return _messages(draws, settings, r_hat, float("inf"), acceptance)


def split_rhat(traces: Array) -> Array:
    """Return split R-hat (Gelman et al. 2013) of traces (chains, draws, ...).

    A chain that never moves while others do, and chains stuck in different places, give infinity.
    """
    half = traces.shape[1] // 2
    if half < 2:
        return np.full(traces.shape[2:], np.nan)
    # views: a copy of all traces would take longer than their variances
    halves = [part for chain in traces for part in (chain[:half], chain[-half:])]
    within = np.mean([part.var(axis=0, ddof=1) for part in halves], axis=0)
    between = np.var([part.mean(axis=0) for part in halves], axis=0, ddof=1)
    stuck = within == 0
    ratio = between / np.where(stuck, 1.0, within)
    return np.where(stuck, np.where(between > 0, np.inf, 1.0), np.sqrt((half - 1) / half + ratio))


def select_worst(traces: Array) -> Array:
    """Return the worst quantities of traces (chains, draws, quantities), if there are too many."""
    chains, draws, n = traces.shape
    if n <= MAX_QUANTITIES:
        return traces
    length = int(np.sqrt(draws))
    batches = traces[:, : draws // length * length].reshape(chains, -1, length, n).mean(axis=2)
    total = traces.var(axis=(0, 1))
    noise = np.where(total > 0, batches.var(axis=(0, 1)) / np.where(total > 0, total, 1.0), np.inf)
    by_rhat, by_noise = np.argsort(-split_rhat(traces)), np.argsort(-noise)
    return traces[:, :, np.union1d(by_rhat[: MAX_QUANTITIES // 2], by_noise[: MAX_QUANTITIES // 2])]


def _traces(draws: Draws) -> list[Array]:
    """Return the traces that are monitored, each of shape (chains, draws, ...)."""
    scalars = [draws.stats["lp"], draws.stats["potential"]]
    scalars += [np.log(values) for values in draws.hyperparameters.values()]
    return [np.stack(scalars, axis=-1), draws.modes, draws.field]


def _monitored(draws: Draws) -> Array:
    traces = [each.reshape(*each.shape[:2], -1) for each in _traces(draws)]
    return np.concatenate(traces, axis=-1)


def _messages(
    draws: Draws, settings: dict[str, Any], r_hat: float, ess: float, acceptance: float
) -> tuple[str, ...]:
    messages: list[str] = []
    chains, length = draws.shape
    stopped = settings["stopped"]
    messages += stopped
    if not draws.complete and not stopped:
        messages.append(
            f"The run was interrupted after {count(length, 'draw')} per chain "
            f"({count(chains, 'chain')})."
        )
    if "statistics_draws" in settings:
        messages.append(
            f"The statistics of nodes use the last {settings['statistics_draws']:,} draws"
            " of each chain, because Ctrl-C ended those of all draws: run again to use all."
        )
    frozen = np.ptp(draws.stats["lp"], axis=1) == 0
    if length > 1 and frozen.any():
        messages.append(
            f"Chain {int(np.flatnonzero(frozen)[0])} never moved: take smaller steps (beta, "
            "step_size), or leave it to be adapted with warmup > 0."
        )
    if acceptance < ACCEPTANCE:
        messages.append(
            f"Only {acceptance:.2%} of proposals were accepted: take smaller steps (beta, "
            "step_size), or leave it to be adapted with warmup > 0."
        )
    diverged = draws.stats.get("diverging", np.zeros(1)).mean()
    if diverged > 0:
        messages.append(
            f"{diverged:.2%} of trajectories diverged: raise target_acceptance, or take a smaller "
            "step_size."
        )
    if not r_hat <= R_HAT:
        messages.append(
            f"The chains disagree (R-hat {r_hat:.2f}, should be below {R_HAT}): {RAISE_DRAWS}, "
            "thin or warmup; if that does not help, the posterior has separate modes."
            if length >= 4
            else f"{count(length, 'draw')} of each chain cannot show convergence: {RAISE_DRAWS}."
        )
    if ess < ESS:
        messages.append(
            f"The draws are worth only {ess:.0f} independent ones (ESS, should be above {ESS}): "
            f"{RAISE_DRAWS} or thin."
        )
    return tuple(messages)
