"""Hyperparameters sampled along with the field, over one set of eigenpairs."""

from __future__ import annotations

import dataclasses
import os
from contextlib import closing, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import diagnostics, validation
from graphuq.checkpoint import Checkpoint, digest, require_seed
from graphuq.extension import FromModes
from graphuq.labels import Labels
from graphuq.likelihoods import LevelSet, NoisyProbit, Probit
from graphuq.likelihoods.contract import (
    Likelihood,
    bind_under,
    described,
    described_sign_model,
    parameters_of,
)
from graphuq.posterior import Posterior
from graphuq.prior import Prior
from graphuq.record import ChainRecord, assembled
from graphuq.samplers.family import Target
from graphuq.samplers.hyperparameters import NAMES
from graphuq.samplers.joint import OF_THE_PRIOR, Joint
from graphuq.samplers.run import run
from graphuq.threads import one_blas_thread
from graphuq.tuning import open_ranges, require_two_classes, with_values

Ranges = dict[str, tuple[float, float]]


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
    """Sample hyperparameters with the field: the posterior averages over them.

    The joint density, of the whitened modes z and of theta = (alpha, tau, gamma, flip_rate), is

        p(theta) N(z; 0, I) prod_j p(y_j | u_j),    u = Q diag(sigma(alpha, tau)) z,

    with p(theta) as `graphuq.tune` has it: exponential in alpha, with mean 4, and flat in log tau,
    log gamma and log flip_rate, over their ranges. `graphuq.tune` finds the maximum of what this
    averages over. A parameter that is not "auto" and has no range stays as it is in ``prior`` or
    ``likelihood``. See `graphuq.samplers.joint` for the sampler. Ctrl-C returns what was sampled so
    far.

    Parameters
    ----------
    prior : Prior
        `Prior.projected` or `Prior.full`, whose fields are those of their modes, with a rank.
    likelihood : Probit, LevelSet or NoisyProbit
    labels : Labels
        Of two classes.
    draws, chains, nodes, seed, threads, progress, checkpoint
        As in `graphuq.sample`.
    warmup : int, optional
        Draws discarded at the start of each chain, 100 by default.
    thin : int, optional
        Steps from one draw to the next, in warm-up too, 20 by default: hyperparameters move
        less in a step than the field does.
    **ranges
        As in `graphuq.tune`: (low, high) of ``alpha`` and ``tau`` of the prior, and of the
        likelihood's parameters, such as ``gamma=(0.02, 0.3)``; what is "auto" has one of its own.

    Returns
    -------
    Posterior
        Node statistics averaged over the hyperparameters, whose draws are in
        ``hyperparameters``; its diagnostics look at them too.

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, before any work; a prior with a tail, a likelihood
        that is no sign model, no range, a range of no parameter or in the wrong order.

    Warns
    -----
    ConvergenceWarning
        If the chains plainly disagree; `Posterior.diagnostics` looks closer.

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
    if "rank" in ranges:
        raise TypeError("a rank is not sampled: give the prior the one that is wanted")
    prior, likelihood, box = open_ranges(prior, likelihood, ranges)
    box = {name: box[name] for name in NAMES if name in box}
    middle = {name: _middle(name, *box[name]) for name in box}
    prior, likelihood = with_values(prior, likelihood, middle)
    bound = bind_under(prior, likelihood, labels)
    sampler = Joint(prior, _box(prior, likelihood, box), isinstance(likelihood, LevelSet))
    draws = validation.integer("draws", draws, 1)
    chains = validation.integer("chains", chains, 1)
    warmup = validation.integer("warmup", sampler.warmup(draws) if warmup is None else warmup, 0)
    thin = validation.integer("thin", sampler.thin if thin is None else thin, 1)
    if threads is not None:
        validation.integer("threads", threads, 1)
    traced = validation.node_ids("nodes", nodes, prior.n_nodes)
    sequence = validation.seed_sequence(seed)
    p, m = prior.sigma.size, len(labels)
    validation.memory(
        8.0 * chains * (draws * (p + traced.size) + 2 * m**2),
        f"traces of {chains} x {draws} draws of {p + traced.size} modes and nodes, and the "
        f"covariances of {m} labelled nodes",
        "ask for fewer draws, and thin more, or take fewer labels",
    )

    state = None
    if checkpoint is not None:
        require_seed(seed)
        run_of = {"draws": draws, "chains": chains, "warmup": warmup, "thin": thin}
        state = Checkpoint(
            checkpoint,
            {
                "run": {**run_of, "sampler": "Joint", "box": sampler.box.tolist()},
                "seed": [sequence.entropy, list(sequence.spawn_key)],
                "prior": prior.summary(),
                "labels": digest(labels.nodes, labels.values),
                "nodes": digest(traced),
            },
            8.0 * chains * draws * (2 * p + traced.size),
        )

    names = tuple(name for name in NAMES[:OF_THE_PRIOR] if name in box)
    extension = FromModes(prior, traced, names)
    streams = [chain.spawn(2) for chain in sequence.spawn(chains)]
    records = [
        ChainRecord(
            extension, bound.label, draws, draws, p + traced.size, 0, np.random.default_rng(own)
        )
        for _, own in streams
    ]
    with one_blas_thread():
        target = Target(prior.at(labels.nodes), bound)
    with closing(state) if state else nullcontext():
        outcome = run(
            sampler,
            target,
            records,
            [walking for walking, _ in streams],
            draws=draws,
            warmup=warmup,
            thin=thin,
            threads=threads,
            progress=progress,
            more=lambda: 0,
            step_seconds=1e-4 + 5e-9 * m * p + 1e-10 * m**2 * p,
            checkpoint=state,
        )
        kept = [record for record in records if record.draws]
        if not kept:
            raise KeyboardInterrupt("interrupted during warm-up: there are no draws to return")
        settings: dict[str, Any] = {
            "ranges": {name: list(ends) for name, ends in box.items()},
            "sampler": {"name": "Joint", "sweeps": sampler.sweeps},
            "target_ess": None,
            "chains": chains,
            "draws": min(record.draws for record in kept),
            "warmup": warmup,
            "thin": thin,
            "seed_entropy": np.asarray(sequence.entropy).tolist(),
            "seed_spawn_key": np.asarray(sequence.spawn_key, dtype=int).tolist(),
            "tuning_steps": warmup * thin,
            "sampling_time": outcome.seconds,
            "stopped": outcome.stopped,
            "running_mean_every": records[0].batch_length * thin,
        }
        posterior = assembled(
            kept,
            labels,
            traced,
            settings,
            outcome.complete,
            prior,
            sampled=tuple(box),
            threads=threads,
            progress=progress,
        )
        if state and (outcome.complete or outcome.stopped):
            state.remove()
    posterior = _at_means(posterior, prior, likelihood)
    diagnostics.warn(diagnostics.quick_messages(posterior), stacklevel=2)
    return posterior


def _at_means(posterior: Posterior, prior: Prior, likelihood: Likelihood) -> Posterior:
    """Return the posterior with prior and likelihood at the means of what was sampled."""
    means = {
        name: float(values.mean() if name == "alpha" else np.exp(np.log(values).mean()))
        for name, values in posterior.hyperparameters.items()
    }
    prior, likelihood = with_values(prior, likelihood, means)
    settings = {
        **posterior.settings,
        "prior": prior.summary(),
        "likelihood": described(likelihood),
        "sign_model": described_sign_model(bind_under(prior, likelihood, posterior.labels)),
        "noise": 0.0 if isinstance(likelihood, LevelSet) else parameters_of(likelihood)["gamma"],
    }
    return dataclasses.replace(posterior, prior=prior, settings=settings)


def _require_modes(prior: Any, likelihood: Any) -> None:
    """Refuse priors whose fields are not those of their modes, and other likelihoods."""
    if not isinstance(prior, Prior) or prior.kind == "approximated" or prior.auto_rank:
        raise TypeError(
            "gq.sample_jointly needs a prior whose fields are those of its modes, and a rank: take "
            f"Prior.projected(spectrum, rank=100) or Prior.full, got {prior!r}"
        )
    if not isinstance(likelihood, Probit | LevelSet | NoisyProbit):
        raise TypeError(
            "gq.sample_jointly serves the sign models gq.Probit, gq.LevelSet and gq.NoisyProbit; "
            f"for other likelihoods choose parameters, and take gq.sample; got {likelihood!r}"
        )


def _middle(name: str, low: float, high: float) -> float:
    return (low + high) / 2 if name == "alpha" else float(np.sqrt(low) * np.sqrt(high))


def _box(prior: Prior, likelihood: Any, ranges: Ranges) -> NDArray[np.float64]:
    """Return the ends of (alpha, log tau, log gamma, log flip_rate), equal where fixed."""
    fixed = {"alpha": prior.alpha, "tau": prior.tau, **parameters_of(likelihood)}
    ends = np.array([ranges.get(name, (fixed.get(name, 0.0),) * 2) for name in NAMES])
    with np.errstate(divide="ignore"):  # tau = 0, no flips
        ends[1:] = np.log(ends[1:])
    return ends
