"""The level that all nodes share, which lets classes differ in size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphuq.utils import validation

# The range in which the deviation of the level is searched, in units of a node's deviation.
LEVEL_RANGE = (0.0, 3.0)

# The range in which it may be given.
LEVELS = (0.0, 100.0)


@dataclass(frozen=True)
class Level:
    """A level that all nodes share, b ~ N(0, s^2), to add to a prior.

    It lets classes differ in size: without it the field of `Prior` must balance between them.

    Parameters
    ----------
    scale : float from 0 or "auto"
        s, in units of a node's prior deviation. With "auto", the default, it is chosen from
        the labels, and may be 0.

    Raises
    ------
    ValueError
        ``scale`` negative or not finite.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, _ = gq.datasets.karate()
    >>> prior = gq.Prior.projected(graph, rank=10) + gq.Level(0.5)
    >>> float(prior.variance().mean().round(12))
    1.25
    """

    scale: float | str = validation.AUTO

    def __post_init__(self) -> None:
        check_level("the scale of gq.Level", self.scale)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Level):
            raise ValueError("a sum has one level, and two were added: leave one out")
        return NotImplemented  # a prior adds itself to a level


def check_level(name: str, value: Any) -> float | str:
    """Return the deviation of a level in its range, or "auto"."""
    if validation.is_auto(value):
        return validation.AUTO
    try:
        return validation.between(name, value, *LEVELS)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f'{error}: give it in units of a node\'s deviation, 0 for no level, or "auto"'
        ) from error
