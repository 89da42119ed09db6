"""What the runner asks of a sampler: a state, and a way to advance it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphuq.gaussian import Gaussian
from graphuq.likelihoods.contract import Bound, evaluate

Array = NDArray[np.float64]


class Target(NamedTuple):
    """The posterior exp(-Phi(u)) N(u; 0, C) of the field at the nodes that Phi reads."""

    law: Gaussian
    """Prior law of the sampled field: of u, plus the noise that the sampler asked for."""
    likelihood: Bound
    power: float = 1.0
    """An inverse temperature b: Phi counts b times. `Harmonic` does not look at it."""

    @property
    def size(self) -> int:
        """Numbers that make a state: a field at each node read, for each class of more than two."""
        return self.law.size * self.likelihood.columns

    def draw(self, rng: np.random.Generator) -> Array:
        """Return a draw of the prior, shape (m, k)."""
        return np.ascontiguousarray(self.law.draw(self.likelihood.columns, rng).T)


class Chunk(NamedTuple):
    """Some kept draws of one chain."""

    fields: Array
    """The sampled field at the nodes read, shape (draws, m); of K > 2 classes (draws, K m), the
    whole field of the first before that of the second."""
    stats: dict[str, Array]
    """Of each draw, shape (draws,); among them ``potential`` and ``acceptance_rate``."""


class NonFinitePotentialError(ArithmeticError):
    """A potential gave NaN or -infinity: the chain stops, and its draws so far are kept.

    Attributes
    ----------
    chunk : Chunk
        What was drawn before, in this call of ``advance``.
    """

    def __init__(self, value: float, field: Array, chunk: Chunk) -> None:
        shown = np.array2string(field.ravel()[:6], precision=4)
        super().__init__(
            f"the potential is {value} at a field of {field.size} nodes whose first values are "
            f"{shown}"
        )
        self.chunk = chunk

    @classmethod
    def after(
        cls, steps: int, thin: int, target: Target, field: Array, chunk: Chunk
    ) -> NonFinitePotentialError:
        """Return the exception after ``steps`` good steps, the next of which proposed ``field``."""
        done = steps // thin
        value = evaluate(target.likelihood, field)
        kept = {name: values[:done] for name, values in chunk.stats.items()}
        return cls(value, field, Chunk(chunk.fields[:done], kept))


def prior_blocks(
    law: Gaussian, steps: int, rng: np.random.Generator, columns: int = 1
) -> Iterator[tuple[int, Array]]:
    """Yield ``steps`` draws of the prior, a block at a time, each with its first step's number.

    No sampler's fresh noise depends on its state, so it is made by matrix products. Rows hold
    ``columns`` independent fields, one after another.
    """
    size = law.size * columns
    block = int(np.clip(2**21 // size, 1, 256))
    for first in range(0, steps, block):
        rows = min(block, steps - first)
        yield first, law.draw(rows * columns, rng).reshape(rows, size)


class Sampler(Protocol):
    """One chain's transition; a frozen dataclass whose fields are its settings.

    Examples
    --------
    What the runner does with each chain:

    >>> import graphuq as gq
    >>> from graphuq.likelihoods.contract import bind
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior, labels = gq.Prior.full(graph), gq.Labels([0, 3], [0, 1])
    >>> bound = bind(gq.Probit(gamma=0.1), labels, n_nodes=4)
    >>> sampler, rng = gq.Harmonic(), np.random.default_rng(0)
    >>> sampler.warmup(draws=1000), sampler.noise(bound)
    (100, 0.1)
    >>> target = Target(prior.at(labels.nodes).with_noise(0.1), bound)
    >>> state = sampler.start(target, rng)
    >>> state, chunk = sampler.advance(target, state, rng, draws=5, thin=1, tune=False)
    >>> chunk.fields.shape, bool((chunk.fields * labels.codes > 0).all())
    ((5, 2), True)
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def thin(self) -> int:
        """Steps from one kept draw to the next, where the user does not say."""

    def warmup(self, draws: int) -> int:
        """Return how many draws to discard, where the user does not say."""

    def noise(self, likelihood: Bound) -> float:
        """Return the deviation of the noise that is sampled along with the field, mostly 0.

        Raises
        ------
        ValueError
            The sampler cannot serve this likelihood; the message says which it can.
        """

    def start(self, target: Target, rng: np.random.Generator) -> Any:
        """Return the first state, overdispersed."""

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

        Raises
        ------
        NonFinitePotentialError
            The potential is NaN or -infinity somewhere; infinity is a forbidden place.
        """
