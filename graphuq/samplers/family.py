"""What the runner asks of a sampler: a state, and a way to advance it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.likelihoods.contract import Observed
from graphuq.prior import Gaussian

Array = NDArray[np.float64]


class Target(NamedTuple):
    """The posterior exp(-Phi(u)) N(u; 0, C) of the field at the nodes that Phi reads."""

    law: Gaussian
    potential: Any
    observed: Observed


class Chunk(NamedTuple):
    """Some kept draws of one chain."""

    fields: Array
    """The field at the nodes read, shape (draws, m)."""
    stats: dict[str, Array]
    """Of each draw, shape (draws,); among them ``potential`` and ``acceptance_rate``."""


class Sampler(Protocol):
    """One chain's transition; a frozen dataclass whose fields are its settings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def thin(self) -> int:
        """Steps from one kept draw to the next, where the user does not say."""

    def start(self, target: Target, rng: np.random.Generator) -> Any:
        """Return the first state, overdispersed: a draw from the prior."""

    def advance(
        self,
        target: Target,
        state: Any,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[Any, Chunk]:
        """Return the state after ``draws * thin`` steps, and every ``thin``-th of them.

        Settings may be adapted only where ``tune`` is true.
        """
