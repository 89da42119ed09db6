"""The call of graphuq that makes a posterior again."""

from __future__ import annotations

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A function and its arguments besides prior, likelihood and labels; `NodePosterior.call`."""

    function: str
    sampler: dict[str, Any] | None = None
    """The sampler as settings describe it; None for functions that take none."""
    options: dict[str, Any] | None = None
    """Keyword arguments, without the seed; None for functions that take none."""
    seed: tuple[Any, tuple[int, ...]] | None = None
    """Entropy and spawn key of the SeedSequence; None where nothing is random."""
