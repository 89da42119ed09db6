"""What is kept of each chain, and how chains make a posterior."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.extension import Extension
from graphuq.labels import Labels
from graphuq.moments import NodeMoments, batch_length
from graphuq.node_statistics import Statistics, node_statistics, squared_changes, summarise
from graphuq.posterior import Posterior
from graphuq.prior import Prior
from graphuq.samplers.family import Chunk

Array = NDArray[np.float64]


class ChainRecord:
    """One chain's draws: traces, statistics, and what determines all nodes.

    Where that is too much to keep, node moments are added up as draws come.

    Parameters
    ----------
    most, first : int
        Draws that may come in all, and in the first round.
    columns : int
        Numbers traced of modes and nodes.
    read : int
        Numbers of the field read that are kept for the posterior.
    fields : int
        At each node: K of K > 2 classes, else 1.
    """

    def __init__(
        self,
        extension: Extension,
        label: str,
        most: int,
        first: int,
        columns: int,
        read: int,
        rng: np.random.Generator,
        fields: int = 1,
    ) -> None:
        self.traces, self.read = np.empty((most, columns)), np.empty((most, read))
        self.fields, self._drawn = fields, fields if fields > 1 else 0
        self._kept = np.empty((most, (extension.keeps + self._drawn) * (extension.keeps > 0)))
        self.stats: list[dict[str, Any]] = []
        self.draws = 0
        self.rounds = [first]
        self.label, self.extension, self.rng = label, extension, rng
        self.moments: NodeMoments | None = None
        if not extension.keeps:
            rows = extension.rows(extension.basis, extension.which)
            self.moments = NodeMoments(rows, label, first, fields)

    def record(self, chunk: Chunk) -> None:
        """Take in some draws; called in the chain's thread."""
        place = slice(self.draws, self.draws + chunk.fields.shape[0])
        kept = self.extension.keep(chunk.fields)
        if self._drawn:
            kept = np.hstack([kept, self.rng.standard_normal((len(kept), self._drawn))])
        if self.moments is not None:
            self.moments.add(kept)
        else:
            self._kept[place] = kept
        self.traces[place] = np.hstack(self.extension.trace(chunk.fields, self.rng))
        if self.read.size:
            self.read[place] = chunk.fields
        lp = -chunk.stats["potential"] - self.extension.energy(chunk.fields)
        self.stats.append({"lp": lp, **chunk.stats})
        self.draws = place.stop

    def expect(self, draws: int) -> None:
        """Make ready for another round of so many draws."""
        self.rounds.append(draws)
        if self.moments is not None:
            self.moments.expect(draws)

    def snapshot(self) -> Callable[[], dict[str, Any]]:
        """Return what gathers what was kept so far; see `graphuq.checkpoint.Snapshot`."""
        place, stats = slice(self.draws), self.stats.copy()
        moments = None if self.moments is None else self.moments.snapshot()
        return lambda: {
            "traces": self.traces[place],
            "read": self.read[place],
            "kept": self._kept[place],
            "stats": {n: np.concatenate([s[n] for s in stats]) for n in (stats or [{}])[0]},
            "moments": moments,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        self.draws = len(saved["traces"])
        for own, name in ((self.traces, "traces"), (self.read, "read"), (self._kept, "kept")):
            own[: self.draws] = saved[name]
        self.stats = [saved["stats"]] if saved["stats"] else []
        if self.moments is not None:
            self.moments.restore(saved["moments"])

    @property
    def batch_length(self) -> int:
        """Draws between two running means of eq. (16)."""
        return batch_length(self.rounds[-1])

    @property
    def kept(self) -> Array:
        """What was kept of the draws so far."""
        return self._kept[: self.draws]


class Traces(NamedTuple):
    """Chains side by side, as far as all of them came; see `Posterior`."""

    modes: Array
    field: Array
    read: Array
    stats: dict[str, Array]
    hyperparameters: dict[str, Array]


def traces_of(records: list[ChainRecord], n_traced: int, sampled: tuple[str, ...] = ()) -> Traces:
    """Put chains side by side; the statistics named ``sampled`` are hyperparameters."""
    draws = min(record.draws for record in records)
    traces = np.stack([record.traces[:draws] for record in records])
    fields = records[0].fields
    rank = traces.shape[2] - fields * n_traced
    stats = {
        name: np.stack(
            [np.concatenate([s[name] for s in record.stats])[:draws] for record in records]
        )
        for name in records[0].stats[0]
    }

    def by_class(flat: Array) -> Array:
        """Return the fields' numbers with the class last."""
        if fields == 1:
            return flat
        apart = flat.reshape(*flat.shape[:2], fields, flat.shape[2] // fields)
        return np.swapaxes(apart, 2, 3)

    return Traces(
        modes=by_class(traces[:, :, :rank]),
        field=by_class(traces[:, :, rank:]),
        read=by_class(np.stack([record.read[:draws] for record in records])),
        hyperparameters={name: stats.pop(name) for name in sampled},
        stats=stats,
    )


def statistics_of(
    records: list[ChainRecord], threads: int | None, progress: bool, folder: Path | None
) -> Statistics:
    """Return the statistics of all nodes."""
    label, extension = records[0].label, records[0].extension
    moments = [record.moments for record in records if record.moments is not None]
    if moments:
        return Statistics(summarise(moments, label), np.sqrt(squared_changes(moments)))
    kept = [record.kept for record in records]
    return node_statistics(
        extension, kept, records[0].rounds, label, records[0].fields, threads, progress, folder
    )


def assembled(
    records: list[ChainRecord],
    labels: Labels,
    traced: NDArray[np.int64],
    settings: dict[str, Any],
    complete: bool,
    prior: Prior,
    *,
    sampled: tuple[str, ...] = (),
    threads: int | None,
    progress: bool,
    folder: Path | None = None,
) -> Posterior:
    """Return the posterior that chains make."""
    statistics = statistics_of(records, threads, progress, folder)
    traces: Any = traces_of(records, traced.size, sampled)._asdict()
    return Posterior(
        prior=prior,
        labels=labels,
        **statistics.nodes,
        **traces,
        traced=traced,
        running_mean_change=statistics.running_mean_change,
        settings=settings,
        complete=complete,
    )
