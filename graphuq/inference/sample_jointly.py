"""Sample hyperparameters together with the field, over one set of eigenpairs."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs.labels import Labels
from graphuq.inference.assembly import assemble, settings_of, settings_of_problem
from graphuq.inference.checkpoint import open_checkpoint, require_seed
from graphuq.inference.checks import require_two_classes
from graphuq.inference.forecast import announce_run
from graphuq.inference.parameter_ranges import Ranges, open_ranges, with_values
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.runner import run_chains
from graphuq.inference.storage import Storage
from graphuq.likelihoods import LevelSet, NoisyProbit, Probit
from graphuq.likelihoods.bound import parameters_of
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.assessment import diagnostics
from graphuq.posterior.sampled import Posterior
from graphuq.priors.conditional import GivenModes
from graphuq.priors.prior import Prior
from graphuq.samplers.hyperparameter_slices import NAMES
from graphuq.samplers.joint import OF_THE_PRIOR, Joint
from graphuq.samplers.protocol import Target
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.warnings import warn


def sample_jointly(
    prior: Prior,
    likelihood: Likelihood,
    labels: Labels,
    *,
    draws: int = 1000,
    chains: int = 4,
    warmup: int | None = None,
    thin: int | None = None,
    nodes: Any = (),
    seed: validation.Seed = None,
    threads: int | None = None,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    **ranges: Any,
) -> Posterior:
    """Sample hyperparameters with the field, so that the posterior averages over them.

    The joint density of the whitened modes z and of theta = (alpha, tau, gamma, flip_rate) is

        p(theta) N(z; 0, I) prod_j p(y_j | u_j),    u = Q diag(sigma(alpha, tau)) z,

    with p(theta) as in `graphuq.tune`: exponential in alpha, with mean 4, and flat in log tau, log
    gamma and log flip_rate, over their ranges. `graphuq.tune` maximizes over theta, and this
    averages. A parameter that is neither "auto" nor has a range keeps its value in ``prior`` or
    ``likelihood``. See `graphuq.samplers.joint` for the sampler. Ctrl-C returns the draws so far.

    Parameters
    ----------
    prior : Prior
        `Prior.projected` or `Prior.full`, whose modes determine the field, with a rank.
    likelihood : Probit, LevelSet or NoisyProbit
    labels : Labels
        Labels of two classes.
    draws, chains, nodes, seed, threads, progress, checkpoint
        As in `graphuq.sample`.
    warmup : int, optional
        Draws discarded at the start of each chain, 100 by default.
    thin : int, optional
        Steps from one draw to the next, in warm-up too, 5 by default: a step moves
        hyperparameters less than the field.
    **ranges
        As in `graphuq.tune`: (low, high) of ``alpha`` and ``tau`` of the prior, and of the
        likelihood's parameters, such as ``gamma=(0.02, 0.3)``; "auto" stands for a default range.

    Returns
    -------
    Posterior
        Node statistics averaged over the hyperparameters, whose draws are in
        ``hyperparameters``; the diagnostics cover these too.

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, before any work; a prior with a tail, another
        likelihood, no range, a range in the wrong order or of an unknown parameter.

    Warns
    -----
    ConvergenceWarning
        If the chains disagree; see `Posterior.diagnostics`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=5, seed=0)
    >>> post = gq.sample_jointly(
    ...     prior, gq.Probit(gamma=0.1), labels, alpha=(1, 6), draws=200, seed=0, progress=False
    ... )
    >>> post.hyperparameters["alpha"].shape
    (4, 200)
    """
    _require_modes(prior, likelihood)
    require_two_classes(labels, "gq.sample_jointly")
    if checkpoint is not None:
        require_seed(seed)
    plan = Plan.check(
        draws=draws,
        chains=chains,
        warmup=warmup,
        thin=thin,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    # 1. the problem, with hyperparameters in the middle of their ranges
    prior, likelihood, found = open_ranges(prior, likelihood, _without_rank(ranges))
    box = {name: found[name] for name in NAMES if name in found}
    middle = {name: _middle(name, *ends) for name, ends in box.items()}
    prior, likelihood = with_values(prior, likelihood, middle)
    problem = Problem.check(prior, likelihood, labels, nodes)
    sampler = Joint(prior, _box(prior, likelihood, box), isinstance(likelihood, LevelSet))
    plan = plan.with_defaults_of(sampler)
    # 2. the field at all nodes, given the modes and the prior's parameters
    names = tuple(name for name in NAMES[:OF_THE_PRIOR] if name in box)
    conditional = GivenModes(prior, problem.traced, names)
    storage = Storage(conditional, problem.bound, plan)
    storage.require_room(extra=16.0 * plan.chains * len(labels) ** 2)
    with one_blas_thread():
        target = Target(prior.at(labels.nodes), problem.bound)
    announce_run(sampler, target, plan)
    # 3. chains that sample modes and hyperparameters, then the statistics of all nodes
    records = storage.records()
    settings = {
        **settings_of(problem, {"name": "Joint", "sweeps": sampler.sweeps}, plan, 0.0),
        "ranges": {name: list(ends) for name, ends in box.items()},
    }
    run = {"run": {**settings, "draws": plan.draws}, **problem.fingerprint()}
    with open_checkpoint(checkpoint, run, storage.n_bytes) as state:
        outcome = run_chains(sampler, target, records, plan, checkpoint=state)
        posterior = assemble(records, outcome, problem, settings, storage, tuple(box))
        if state and (posterior.complete or outcome.stopped):
            state.remove()
    posterior = _at_means(posterior, prior, problem)
    warn(diagnostics.quick_messages(posterior), stacklevel=2)
    return posterior


def _at_means(posterior: Posterior, prior: Prior, problem: Problem) -> Posterior:
    """Return the posterior with prior and likelihood at the means of the hyperparameters."""
    means = {
        name: float(values.mean() if name == "alpha" else np.exp(np.log(values).mean()))
        for name, values in posterior.hyperparameters.items()
    }
    prior, likelihood = with_values(prior, problem.likelihood, means)
    problem = Problem.check(prior, likelihood, problem.labels, problem.traced)
    settings = {
        **posterior.settings,
        **settings_of_problem(problem),
        "noise": 0.0 if isinstance(likelihood, LevelSet) else parameters_of(likelihood)["gamma"],
    }
    return dataclasses.replace(posterior, prior=prior, settings=settings)


def _require_modes(prior: Any, likelihood: Any) -> None:
    """Refuse priors whose modes do not determine the field, and other likelihoods."""
    if not isinstance(prior, Prior) or prior.kind == "approximated" or prior.auto_rank:
        raise TypeError(
            "gq.sample_jointly needs a prior whose modes determine the field, and a rank: take "
            f"Prior.projected(spectrum, rank=100) or Prior.full, got {prior!r}"
        )
    if not isinstance(likelihood, Probit | LevelSet | NoisyProbit):
        raise TypeError(
            "gq.sample_jointly supports the sign models gq.Probit, gq.LevelSet and "
            f"gq.NoisyProbit, got {likelihood!r}: for other likelihoods fix the parameters and use "
            "gq.sample"
        )


def _without_rank(ranges: dict[str, Any]) -> dict[str, Any]:
    if "rank" in ranges:
        raise TypeError(
            "a rank is not sampled: give it to the prior, such as Prior.projected(spectrum, 100)"
        )
    return ranges


def _middle(name: str, low: float, high: float) -> float:
    return (low + high) / 2 if name == "alpha" else float(np.sqrt(low) * np.sqrt(high))


def _box(prior: Prior, likelihood: Any, ranges: Ranges) -> NDArray[np.float64]:
    """Return the ends of (alpha, log tau, log gamma, log flip_rate), equal where fixed."""
    fixed = {"alpha": prior.alpha, "tau": prior.tau, **parameters_of(likelihood)}
    ends = np.array([ranges.get(name, (fixed.get(name, 0.0),) * 2) for name in NAMES])
    with np.errstate(divide="ignore"):  # tau = 0, no flips
        ends[1:] = np.log(ends[1:])
    return ends
