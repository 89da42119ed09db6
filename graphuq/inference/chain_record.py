"""What is stored of one chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphuq.inference.plan import Plan
from graphuq.likelihoods.bound import Bound
from graphuq.posterior.draws import Draws
from graphuq.posterior.node_statistics import NodeMoments, Summaries, batch_length
from graphuq.priors.given import Conditional
from graphuq.samplers.protocol import Chunk
from graphuq.utils.typing import Array


class ChainRecord:
    """One chain's draws: traces, statistics, and summaries that determine all nodes.

    Where summaries are too much to store, node moments are added up as draws come.

    Parameters
    ----------
    conditional : Conditional
    bound : Bound
    plan : Plan
    rng : Generator
        For what is drawn along with the chain's draws.

    Attributes
    ----------
    modes, field, read : ndarray, shape (plan.draws, C, n)
        The modes, the field at the traced nodes, and the field read where it is needed.
    """

    def __init__(
        self,
        conditional: Conditional,
        bound: Bound,
        plan: Plan,
        rng: np.random.Generator,
    ) -> None:
        self.conditional, self.bound, self.rng = conditional, bound, rng
        C, most = bound.n_fields, plan.draws
        self.modes = np.empty((most, C, conditional.n_modes))
        self.field = np.empty((most, C, conditional.n_traced))
        self.read = np.empty((most, C, conditional.n_read))
        self._summaries = np.empty((most, C, conditional.n_summary))
        self._noise = np.empty((most, C if C > 1 and conditional.n_summary else 0))
        self.stats: list[dict[str, Any]] = []
        self.draws = 0
        self.rounds = [plan.first_round]
        self.moments: NodeMoments | None = None
        if not conditional.n_summary:
            rows = conditional.rows(conditional.basis, conditional.which)
            self.moments = NodeMoments(rows, bound.label, plan.first_round, C)

    def record(self, chunk: Chunk) -> None:
        """Store some draws; called in the thread of the chain."""
        fields, C = chunk.fields, self.bound.n_fields
        if fields.ndim != 3 or fields.shape[1] != C:
            raise TypeError(
                f"a sampler must return fields of shape (draws, {C}, m), got {fields.shape}: give "
                "each draw one row per field, such as fields[:, None, :] for two classes"
            )
        missing = [name for name in ("potential", "acceptance_rate") if name not in chunk.stats]
        if missing:
            raise TypeError(
                f"a sampler must return the statistic {missing[0]} of each draw, shape (draws,), "
                f"got {', '.join(chunk.stats) or 'none'}"
            )
        place = slice(self.draws, self.draws + len(fields))
        summaries = self.conditional.summarize(fields)
        noise = self.rng.standard_normal((len(fields), C if C > 1 else 0))
        if self.moments is not None:
            self.moments.add(summaries, noise, self.bound.overlap)
        else:
            self._summaries[place], self._noise[place] = summaries, noise
        self.modes[place], self.field[place] = self.conditional.trace(fields, self.rng)
        if self.read.size:
            self.read[place] = fields
        lp = -chunk.stats["potential"] - self.conditional.energy(fields)
        self.stats.append({"lp": lp, **chunk.stats})
        self.draws = place.stop

    def expect(self, draws: int) -> None:
        """Prepare for another round of draws."""
        self.rounds.append(draws)
        if self.moments is not None:
            self.moments.expect(draws)

    def snapshot(self) -> Callable[[], dict[str, Any]]:
        """Return a function that collects the draws so far, for a `Snapshot` of a checkpoint."""
        place, stats = slice(self.draws), self.stats.copy()
        moments = None if self.moments is None else self.moments.snapshot()
        return lambda: {
            **{name: array[place] for name, array in self._arrays().items()},
            "stats": {n: np.concatenate([s[n] for s in stats]) for n in (stats or [{}])[0]},
            "moments": moments,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        self.draws = len(saved["modes"])
        for name, array in self._arrays().items():
            array[: self.draws] = saved[name]
        self.stats = [saved["stats"]] if saved["stats"] else []
        if self.moments is not None:
            self.moments.restore(saved["moments"])

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays with one row per draw."""
        return {
            "modes": self.modes,
            "field": self.field,
            "read": self.read,
            "summaries": self._summaries,
            "noise": self._noise,
        }

    @property
    def batch_length(self) -> int:
        """Draws between two running means of eq. (16)."""
        return batch_length(self.rounds[-1])

    @property
    def summaries(self) -> Summaries:
        """The stored summaries of the draws so far."""
        return Summaries(self._summaries[: self.draws], self._noise[: self.draws])


def join_draws(records: list[ChainRecord], sampled: tuple[str, ...] = (), **others: Any) -> Draws:
    """Stack the draws of all chains, up to the length of the shortest.

    The statistics named ``sampled`` are hyperparameters; ``others`` are fields of `Draws`.
    """
    draws = min(record.draws for record in records)
    stats = {
        name: np.stack(
            [np.concatenate([s[name] for s in record.stats])[:draws] for record in records]
        )
        for name in records[0].stats[0]
    }

    def join(chains: list[Array]) -> Array:
        """Return draws (chains, draws, n), for K > 2 classes (chains, draws, n, K)."""
        stacked = np.stack([chain[:draws] for chain in chains])
        return stacked[:, :, 0] if stacked.shape[2] == 1 else np.moveaxis(stacked, 2, 3)

    return Draws(
        modes=join([record.modes for record in records]),
        field=join([record.field for record in records]),
        read=join([record.read for record in records]),
        hyperparameters={name: stats.pop(name) for name in sampled},
        stats=stats,
        **others,
    )
