"""The level that all nodes share, which lets classes differ in size."""

from __future__ import annotations

from dataclasses import dataclass

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
        s, in units of a node's prior deviation. With "auto", the default, the labels choose it,
        and may choose 0.

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
        if not validation.is_auto(self.scale):
            validation.between("scale", self.scale, *LEVELS)
