"""From what was kept of all chains' draws to the statistics of every node, some rows at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.extension import Extension, MakeRows
from graphuq.moments import NodeMoments, at_a_time
from graphuq.progress import progress_bar
from graphuq.row_blocks import mapped

Array = NDArray[np.float64]

# Numbers held for each node of a block: a batch of means, and the sums of a few chains.
WIDTH = 1024

# Chains that agree differ by so much more than their batches tell in one of a thousand nodes (four
# chains: chi-squared with 3 degrees of freedom), so that sound runs keep the steadier estimate.
DISAGREE = 2.3


class Statistics(NamedTuple):
    """What node moments tell."""

    nodes: dict[str, Any]
    """Statistics of all nodes, named as in `Posterior`."""
    running_mean_change: Array
    """Shape (chains, batches)."""


def node_statistics(
    extension: Extension,
    kept: Sequence[Array],
    rounds: Sequence[int],
    label: str,
    columns: int = 1,
    threads: int | None = None,
    progress: bool = False,
    folder: Path | None = None,
) -> Statistics:
    """Return the statistics of all nodes over the chains.

    Parameters
    ----------
    extension : Extension
    kept : sequence of ndarray, shapes (draws, extension.keeps)
        One for each chain; of K > 2 classes with as many normal numbers besides, see
        `graphuq.moments`.
    rounds : sequence of int
        How many draws each round asked for; see `NodeMoments.expect`.
    label : {"sign", "field"}
    columns : int
        Fields at each node: K of K > 2 classes, else 1.
    threads : int, optional
        At most so many work at a time; by default one on each core.
    progress : bool
        Show a progress bar.
    folder : Path, optional
        Where the statistics are kept in files, which arrays are mapped to.
    """
    nodes: dict[str, Array] = {}
    changes: Array | float = 0.0
    work = partial(_of_rows, extension.rows, kept, rounds, label, columns)
    width = WIDTH if columns == 1 else WIDTH + 2 * at_a_time(columns) * columns
    basis, which = extension.basis, extension.which
    bar = progress_bar(basis.shape[0], progress, "node")
    with bar, _one_interruption_ignored():
        done = mapped(work, basis, width, which, threads=threads, bar=bar)
        for rows, (part, squares) in done:
            for name, values in part.items():
                if name not in nodes:
                    nodes[name] = _room((basis.shape[0], *values.shape[1:]), name, folder)
                nodes[name][rows] = values
            changes = changes + squares
    return Statistics(nodes, np.sqrt(changes))


def _room(shape: tuple[int, ...], name: str, folder: Path | None) -> Array:
    if folder is None:
        return np.empty(shape)
    made: Array = np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", shape=shape)
    return made


@contextmanager
def _one_interruption_ignored() -> Iterator[None]:
    """Let only a second Ctrl-C end this: the draws are there, and would be lost."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, before))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _of_rows(
    make: MakeRows,
    kept: Sequence[Array],
    rounds: Sequence[int],
    label: str,
    columns: int,
    basis: Array,
    which: NDArray[np.int32],
) -> tuple[dict[str, Array], Array]:
    rows = make(basis, which)
    chains = []
    for draws in kept:
        moments = NodeMoments(rows, label, rounds[0], columns)
        done = 0
        for number, asked in enumerate(rounds):
            if number:
                moments.expect(asked)
            moments.add(draws[done : done + asked])
            done += asked
        chains.append(moments)
    return summarise(chains, label), squared_changes(chains)


def squared_changes(chains: Sequence[NodeMoments]) -> Array:
    """Return what the nodes add to the squares of eq. (16), shape (chains, batches)."""
    batches = min(len(chain.changes) for chain in chains)
    return np.array([chain.changes[:batches] for chain in chains])


def summarise(moments: list[NodeMoments], label: str) -> dict[str, Array]:
    """Return the node statistics of all chains together, named as in `Posterior`."""
    chains = [chain.totals() for chain in moments]
    draws = sum(chain.draws for chain in chains)
    expected = np.sum([chain.label for chain in chains], axis=0) / draws
    latent = np.sum([chain.latent for chain in chains], axis=0) / draws
    square = np.sum([chain.latent_square for chain in chains], axis=0) / draws
    latent_variance = np.clip(square - latent**2, 0, None)
    batches, before = [chain.batches for chain in chains], [chain.before for chain in chains]
    if min(b.number for b in batches) < 2 <= min(b.number for b in before):
        batches = before  # interrupted soon after beginning anew
    number = sum(b.number for b in batches)
    if number > 1:
        total = np.sum([b.label for b in batches], axis=0)
        squares = np.sum([b.label_square for b in batches], axis=0)
        spread = np.clip(squares - total**2 / number, 0, None) / (number - 1)
        mcse = np.sqrt(spread * batches[0].length / draws)
        if len(chains) > 1:
            # batches of chains that disagree are not independent: the chains' means tell more
            sums = [chain.label if label == "sign" else chain.latent for chain in chains]
            means = np.array([s / chain.draws for s, chain in zip(sums, chains, strict=True)])
            between = means.std(axis=0, ddof=1) / np.sqrt(len(chains))
            mcse = np.where(between > DISAGREE * mcse, between, mcse)
    else:
        mcse = np.full(expected.shape, np.inf)
    if expected.ndim == 1:
        probability, variance = (1 + expected) / 2, 1 - expected**2
    else:
        # of the label as one of the corners of a simplex: 1 where all classes are as probable
        K, probability = expected.shape[1], expected
        variance = K / (K - 1) * (1 - (expected**2).sum(axis=1))
    if label == "field":
        variance = latent_variance.reshape(len(latent), -1).sum(axis=1)
    return {
        "mean": expected if label == "sign" else latent,
        "variance": variance,
        "probability": probability,
        "mcse": mcse,
        "latent_mean": latent,
        "latent_variance": latent_variance,
    }
