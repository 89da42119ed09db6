"""The main job: from prior, likelihood and labels to a sampled posterior."""

from __future__ import annotations

import dataclasses
import os
import shutil
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from graphuq import diagnostics, validation
from graphuq.checkpoint import Checkpoint, digest, require_seed
from graphuq.each_class import EachClass
from graphuq.extension import Extension, FromAll, FromColumns, FromLabelled
from graphuq.labels import Labels
from graphuq.likelihoods.contract import (
    Likelihood,
    bind_under,
    described,
    described_sign_model,
    mark,
)
from graphuq.posterior import Posterior
from graphuq.prior import Prior
from graphuq.record import ChainRecord, assembled, traces_of
from graphuq.samplers.automatic import automatic
from graphuq.samplers.family import Sampler, Target
from graphuq.samplers.run import Outcome, run
from graphuq.solved_prior import SolvedPrior
from graphuq.threads import one_blas_thread
from graphuq.tuning import require_problem, settled

# Draws that a chain makes before its effective sample size is first looked at, at most.
FIRST_ROUND = 500

# Draws of a chain where the user does not say: as such, and at most for an effective sample size.
DRAWS, MOST_DRAWS = 1000, 16_000


def sample(
    prior: Prior,
    likelihood: Likelihood,
    labels: Labels,
    sampler: Sampler | str = "auto",
    *,
    draws: int | None = None,
    target_ess: float | None = None,
    chains: int = 4,
    warmup: int | None = None,
    thin: int | None = None,
    nodes: Any = (),
    seed: validation.Seed = None,
    threads: int | None = None,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    node_files: str | os.PathLike[str] | None = None,
) -> Posterior:
    """Sample the posterior over the labels of all nodes.

    Ctrl-C returns what was sampled so far, marked incomplete.

    Parameters
    ----------
    prior : Prior, SolvedPrior, Spectrum or Graph
        On the field at all nodes. A spectrum or graph stands for `Prior.projected` on all its
        modes, or on up to 300, with alpha "auto", and tau too of more than two classes.
    likelihood : likelihood
        `Probit`, `LevelSet`, `NoisyProbit`, `GinzburgLandau`, or one of your own
        (`graphuq.likelihoods.contract`). Parameters that are "auto", here and in the prior, are
        chosen by the labels first: `graphuq.tune`.
    labels : Labels
        The few that are known.
    sampler : sampler or "auto"
        By default `Harmonic` for sign models (probit, level-set), `HilbertHMC` for other
        likelihoods with a gradient, `EllipticalSlice` for the rest; the choice is recorded in
        ``settings``. `PCN` is the paper's.
    draws : int, optional
        Draws kept from each chain, 1,000 by default.
    target_ess : float, optional
        Instead: keep drawing, twice as much each time, until `Diagnostics.ess`, the smallest bulk
        effective sample size of the log posterior, the modes and the traced nodes, has come to
        this. ``draws`` is then the most that a chain may keep, 16,000 by default.
    chains : int
        Independent chains, started from draws of the prior.
    warmup : int, optional
        Draws discarded at the start of each chain, during which the sampler adapts; by default
        what the sampler asks for.
    thin : int, optional
        Steps from one draw to the next, in warm-up too; the sampler's own default otherwise.
    nodes : array_like of int
        Nodes whose latent field is traced.
    seed : int, SeedSequence or Generator, optional
        The same seed gives the same draws, bit for bit, whatever the number of threads.
    threads : int, optional
        At most this many chains run at a time; by default one on each core.
    progress : bool
        Show a progress bar with the acceptance and the time left.
    checkpoint : path, optional
        A file to which the run's state is written every minute, and on Ctrl-C. Where it is there
        already, the same call goes on from it, to the same draws, bit for bit, as if it had never
        been stopped. It is removed when the run is complete. It needs a ``seed``.
    node_files : path, optional
        A folder for the statistics of nodes, a file each such as ``mean.npy``, which the arrays of
        the posterior are mapped to: for more nodes than memory has room for.

    Returns
    -------
    Posterior

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, or a checkpoint of another run, before any work.
    MemoryError, OSError
        Too little memory for the traces, or room on the disk for the checkpoint.

    Warns
    -----
    ConvergenceWarning
        If the chains plainly disagree, or ``target_ess`` was not reached; `Posterior.diagnostics`
        looks closer.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.approximated(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> post
    Posterior(100 nodes, 4 chains x 1000 draws)
    >>> post.accuracy(y) > 0.9
    True
    """
    if isinstance(sampler, str):
        if sampler != "auto":
            raise ValueError(
                f"sampler must be 'auto' or a sampler such as gq.PCN(), got {sampler!r}"
            )
    elif not (dataclasses.is_dataclass(sampler) and hasattr(sampler, "advance")) or isinstance(
        sampler, type
    ):
        raise TypeError(f"sampler must be 'auto' or a sampler such as gq.PCN(), got {sampler!r}")
    if draws is None:
        draws = DRAWS if target_ess is None else MOST_DRAWS
    most = validation.integer("draws", draws, 1)
    round_of = most
    if target_ess is not None:
        target_ess = validation.positive("target_ess", target_ess)
        while round_of > FIRST_ROUND:  # halves, so that the last round is half of all draws
            round_of = -(-round_of // 2)
    chains = validation.integer("chains", chains, 1)
    if warmup is not None:
        warmup = validation.integer("warmup", warmup, 0)
    if thin is not None:
        thin = validation.integer("thin", thin, 1)
    if threads is not None:
        validation.integer("threads", threads, 1)
    if checkpoint is not None:
        require_seed(seed)
    folder = None if node_files is None else _folder(node_files)
    require_problem(prior, labels)
    traced = validation.node_ids("nodes", nodes, prior.n_nodes)
    sequence = validation.seed_sequence(seed)

    prior, likelihood = settled(prior, likelihood, labels)
    bound = bind_under(prior, likelihood, labels)
    if isinstance(prior, SolvedPrior):
        if bound.nodes is None:
            raise TypeError(
                f"{type(likelihood).__name__} reads the field at all nodes, and a gq.SolvedPrior "
                "is known at some: take Prior.projected or Prior.approximated"
            )
        prior.places(np.concatenate([bound.nodes, traced]))
    elif bound.nodes is None:
        prior.require_here(type(likelihood).__name__)
    if isinstance(sampler, str):
        sampler = automatic(bound)
    noise = sampler.noise(bound)
    if warmup is None:
        warmup = sampler.warmup(most if target_ess is None else round_of)
    if thin is None:
        thin = int(sampler.thin)
    fields = bound.columns
    rank_and_nodes = fields * (prior.sigma.size + traced.size)
    read = fields * bound.nodes.size if bound.nodes is not None and prior.tail else 0
    kept = 0 if bound.nodes is None else bound.nodes.size
    if not isinstance(prior, SolvedPrior):
        kept = min(kept, prior.rank + 1)
    if bound.nodes is not None and (prior.tail or noise == 0):
        kept += bound.nodes.size
    kept *= fields
    validation.memory(
        8.0 * chains * most * (rank_and_nodes + read + kept),
        f"traces of {chains} x {most} draws of {rank_and_nodes} modes and nodes, and what they say "
        f"of all nodes, {read + kept} numbers a draw,",
        "ask for fewer draws, and thin more",
    )
    if folder is None:
        validation.memory(
            6 * 8.0 * prior.n_nodes * fields,
            f"6 x {fields} statistics of {prior.n_nodes} nodes",
            "name node_files, or keep the labels of fewer classes, labels.of_classes(...)",
        )

    if folder is not None:
        room, needed = shutil.disk_usage(folder).free, 6 * 8.0 * prior.n_nodes * fields
        if bound.nodes is None:
            raise ValueError(
                f"node_files serves sign models, and {type(likelihood).__name__} reads all nodes"
            )
        if needed > room:
            raise OSError(
                f"statistics of {prior.n_nodes} nodes need {needed / 2**30:.2g} GiB in {folder}, "
                f"where {room / 2**30:.2g} GiB are free: name another folder"
            )
    extension: Extension
    with one_blas_thread():  # the number of BLAS threads changes last digits
        if bound.nodes is None:
            extension = FromAll(prior, traced)
        elif isinstance(prior, SolvedPrior):
            extension = FromColumns(prior, bound.nodes, traced, noise)
        else:
            extension = FromLabelled(prior, bound.nodes, traced, noise)
    law = extension.law
    if fields > 1:
        extension = EachClass(extension, fields)
    streams = [chain.spawn(2) for chain in sequence.spawn(chains)]
    records = [
        ChainRecord(
            extension,
            bound.label,
            most,
            round_of,
            rank_and_nodes,
            read,
            np.random.default_rng(own),
            fields,
        )
        for _, own in streams
    ]
    settings = {
        "prior": prior.summary(),
        "likelihood": described(likelihood),
        "sign_model": described_sign_model(bound),
        "sampler": _plain(sampler),
        "noise": noise,
        "target_ess": target_ess,
        "chains": chains,
        "warmup": warmup,
        "thin": thin,
        "seed_entropy": np.asarray(sequence.entropy).tolist(),
        "seed_spawn_key": np.asarray(sequence.spawn_key, dtype=int).tolist(),
        "tuning_steps": warmup * thin,
    }

    state = None
    if checkpoint is not None:
        state = Checkpoint(
            checkpoint,
            {
                "run": {**settings, "draws": most},
                "labels": digest(labels.nodes, labels.values, labels.classes),
                "nodes": digest(traced),
                "potential": mark(bound, prior.n_nodes),
            },
            8.0 * chains * most * (rank_and_nodes + read + kept),
        )

    def assemble(outcome: Outcome) -> Posterior:
        kept = [record for record in records if record.draws]
        so_far = {
            **settings,
            "draws": min(record.draws for record in kept),
            "sampling_time": outcome.seconds,
            "stopped": outcome.stopped,
            "running_mean_every": records[0].batch_length * thin,
        }
        return assembled(
            kept,
            labels,
            traced,
            so_far,
            outcome.complete,
            prior,
            threads=threads,
            progress=progress,
            folder=folder,
        )

    ess = np.inf

    def more() -> int:
        nonlocal ess
        if target_ess is None:
            return 0
        ess = diagnostics.effective_size(traces_of(records, traced.size))
        done = records[0].draws
        return 0 if ess >= target_ess else min(done, most - done)

    with closing(state) if state else nullcontext():
        outcome = run(
            sampler,
            Target(law, bound),
            records,
            [walking for walking, _ in streams],
            draws=round_of,
            warmup=warmup,
            thin=thin,
            threads=threads,
            progress=progress,
            more=more,
            checkpoint=state,
        )
        if not any(record.draws for record in records):
            if outcome.stopped:
                raise ValueError(f"{type(likelihood).__name__}: {' '.join(outcome.stopped)}")
            raise KeyboardInterrupt("interrupted during warm-up: there are no draws to return")
        posterior = assemble(outcome)
        if state and (outcome.complete or outcome.stopped):
            state.remove()
    messages = diagnostics.quick_messages(posterior)
    if outcome.complete and target_ess is not None and not ess >= target_ess:
        messages += (
            f"target_ess = {target_ess:g} was not reached: {most} draws in each of {chains} chains "
            f"are worth {ess:.0f}. Raise draws, or thin more.",
        )
    diagnostics.warn(messages, stacklevel=2)
    return posterior


def _folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that is there."""
    folder = Path(path)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder: make it first")
    return folder


def _plain(sampler: Sampler) -> dict[str, Any]:
    """Return a sampler's name and settings as plain Python values, which files can hold."""
    values: dict[str, Any] = {"name": type(sampler).__name__}
    for field in dataclasses.fields(sampler):
        value = getattr(sampler, field.name)
        if dataclasses.is_dataclass(value):
            value = _plain(value)  # type: ignore[arg-type]
        values[field.name] = value.item() if isinstance(value, np.generic) else value
    return values
