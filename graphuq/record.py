"""What is kept of each chain, and how chains make a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.extension import Extension
from graphuq.labels import Labels
from graphuq.moments import NodeMoments
from graphuq.posterior import Posterior, summarise
from graphuq.prior import Prior
from graphuq.samplers.family import Chunk


class ChainRecord:
    """One chain's draws: node moments, traces, statistics."""

    def __init__(
        self,
        extension: Extension,
        label: str,
        most: int,
        first: int,
        columns: int,
        read: int,
        rng: np.random.Generator,
    ) -> None:
        self.moments = NodeMoments(extension, label, first)
        self.traces, self.read = np.empty((most, columns)), np.empty((most, read))
        self.stats: list[dict[str, Any]] = []
        self.draws = 0
        self._extension, self._rng = extension, rng

    def record(self, chunk: Chunk) -> None:
        """Take in some draws; called in the chain's thread."""
        self.moments.add(chunk.fields)
        kept = slice(self.draws, self.draws + chunk.fields.shape[0])
        self.traces[kept] = np.hstack(self._extension.trace(chunk.fields, self._rng))
        if self.read.size:
            self.read[kept] = chunk.fields
        lp = -chunk.stats["potential"] - self._extension.energy(chunk.fields)
        self.stats.append({"lp": lp, **chunk.stats})
        self.draws = kept.stop


def side_by_side(
    records: list[ChainRecord],
    labels: Labels,
    label: str,
    traced: Any,
    settings: dict[str, Any],
    complete: bool,
    prior: Prior,
    sampled: tuple[str, ...] = (),
) -> Posterior:
    """Put chains side by side; after an interruption, as far as all of them came.

    The statistics named ``sampled`` are hyperparameters.
    """
    draws = min(record.draws for record in records)
    changes = [record.moments.running_mean_change for record in records]
    batches = min(len(change) for change in changes)
    traces = np.stack([record.traces[:draws] for record in records])
    rank = traces.shape[2] - traced.size
    stats = {
        name: np.stack(
            [np.concatenate([s[name] for s in record.stats])[:draws] for record in records]
        )
        for name in records[0].stats[0]
    }
    return Posterior(
        prior=prior,
        labels=labels,
        **summarise([record.moments for record in records], label),
        modes=traces[:, :, :rank],
        traced=traced,
        field=traces[:, :, rank:],
        read=np.stack([record.read[:draws] for record in records]),
        hyperparameters={name: stats.pop(name) for name in sampled},
        stats=stats,
        running_mean_change=np.array([change[:batches] for change in changes]),
        settings=settings,
        complete=complete,
    )
