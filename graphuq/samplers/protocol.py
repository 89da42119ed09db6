"""What a sampler is: the base class `Sampler`, the target that it gets and the draws it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound, evaluate
from graphuq.priors.gaussian import Gaussian
from graphuq.utils.typing import Array


class Target(NamedTuple):
    """The posterior exp(-Phi(u)) N(u; 0, C) of the field at the nodes that Phi reads.

    Examples
    --------
    >>> import graphuq as gq
    >>> from graphuq.likelihoods.bound import bind
    >>> prior = gq.Prior.full(gq.Graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    >>> labels = gq.Labels([0, 2], ["a", "b"])
    >>> target = Target(prior.at(labels.nodes), bind(gq.Probit(gamma=0.1), labels, n_nodes=3))
    >>> target.shape, target.draw(np.random.default_rng(0)).shape
    ((1, 2), (2, 1))
    """

    law: Gaussian
    """Prior law of the sampled field: of u, plus the noise that the sampler asked for."""
    likelihood: Bound
    power: float = 1.0
    """Inverse temperature b: the posterior is that of b Phi. `Tempered` sets it."""
    loadings: Array | None = None
    """A, shape (J, p), where modes z are sampled: the field read is A z, and ``law`` that of z."""

    @property
    def shape(self) -> tuple[int, int]:
        """Fields and nodes of a draw: (C, m)."""
        return self.likelihood.n_fields, self.law.size

    def draw(self, rng: np.random.Generator) -> Array:
        """Return a draw from the prior, shape (m, C)."""
        return np.ascontiguousarray(self.law.draw(self.likelihood.n_fields, rng).T)


class Chunk(NamedTuple):
    """Some kept draws of one chain.

    Examples
    --------
    Five draws of one field at three nodes:

    >>> stats = {"potential": np.zeros(5), "acceptance_rate": np.ones(5)}
    >>> Chunk(np.zeros((5, 1, 3)), stats).fields.shape
    (5, 1, 3)
    """

    fields: Array
    """The sampled fields at the nodes read, shape (draws, C, m): C = 1 for two classes, else K."""
    stats: dict[str, Array]
    """Statistics of each draw, shape (draws,): ``potential`` and ``acceptance_rate``, which are
    required, and others, of the same names in each chunk."""


class NonFinitePotentialError(ArithmeticError):
    """The potential is NaN or -infinity: the chain stops, and its draws so far are kept.

    Attributes
    ----------
    chunk : Chunk
        The draws that this call of ``advance`` made before.
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
        """Return the exception after ``steps`` good steps; the next step proposed ``field``."""
        done = steps // thin
        value = evaluate(target.likelihood, field)
        kept = {name: values[:done] for name, values in chunk.stats.items()}
        return cls(value, field, Chunk(chunk.fields[:done], kept))


class Kept:
    """Every ``thin``-th of a number of steps, and statistics of all, from blocks of steps.

    Kernels write each step of a block, and know nothing of draws.

    Parameters
    ----------
    draws, thin : int
    shape : tuple of int
        That of a field.
    last : tuple of str
        Statistics that a draw has of its last step.
    summed : tuple of str
        Statistics that are summed over the steps of a draw; ``acceptance_rate`` is averaged.

    Examples
    --------
    >>> kept = Kept(2, 3, (1,), last=("potential",), summed=("n_walls",))
    >>> for first in (0, 4):
    ...     steps = np.arange(first, min(first + 4, 6.0))
    ...     kept.add(first, steps[:, None], {"potential": -steps, "n_walls": steps})
    >>> chunk = kept.chunk()
    >>> chunk.fields.ravel(), chunk.stats
    (array([2., 5.]), {'potential': array([-2., -5.]), 'n_walls': array([ 3., 12.])})
    """

    def __init__(
        self,
        draws: int,
        thin: int,
        shape: tuple[int, ...],
        last: tuple[str, ...] = ("potential",),
        summed: tuple[str, ...] = (),
    ) -> None:
        self._thin, self._summed = thin, summed
        self.fields = np.empty((draws, *shape))
        self.stats = {name: np.zeros(draws) for name in (*last, *summed)}

    def add(self, first: int, fields: Array, stats: dict[str, Array]) -> None:
        """Add steps, of which ``first`` is the number of the first."""
        step = first + np.arange(len(fields))
        draw, last = step // self._thin, np.flatnonzero((step + 1) % self._thin == 0)
        self.fields[draw[last]] = fields[last]
        for name, values in stats.items():
            if name in self._summed:
                share = self._thin if name == "acceptance_rate" else 1
                np.add.at(self.stats[name], draw, values / share)
            else:
                self.stats[name][draw[last]] = values[last]

    def chunk(self) -> Chunk:
        """Return the draws."""
        return Chunk(self.fields, self.stats)


def prior_blocks(
    law: Gaussian, steps: int, rng: np.random.Generator, n_fields: int = 1
) -> Iterator[tuple[int, Array]]:
    """Yield draws from the prior for ``steps`` steps, in blocks, with the number of the first step.

    A block has shape (steps, ``n_fields``, m). The fresh noise of a sampler does not depend on its
    state, so that one matrix product makes a whole block.
    """
    block = int(np.clip(2**21 // (law.size * n_fields), 1, 256))
    for first in range(0, steps, block):
        rows = min(block, steps - first)
        yield first, law.draw(rows * n_fields, rng).reshape(rows, n_fields, law.size)


class Sampler(ABC):
    """The transition of one chain: a frozen dataclass whose fields are its settings.

    A sampler defines ``start`` and ``advance``; the rest has defaults. The state of a chain is a
    NamedTuple. Its ``field`` is the sampled field at the nodes read, shape (m, C), or coordinates
    of it that depend on the prior alone. So samplers that use ``target.power`` can continue from
    the ``field`` of another state, which `Tempered` and `graphuq.annealed_evidence` hand on.

    Examples
    --------
    The runner does this for each chain:

    >>> import numpy as np
    >>> import graphuq as gq
    >>> from graphuq.likelihoods.bound import bind
    >>> from graphuq.samplers.protocol import Target
    >>> graph = gq.Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> prior, labels = gq.Prior.full(graph), gq.Labels([0, 3], [0, 1])
    >>> bound = bind(gq.Probit(gamma=0.1), labels, n_nodes=4)
    >>> sampler, rng = gq.Harmonic(), np.random.default_rng(0)
    >>> sampler.warmup(draws=1000), sampler.noise(bound)
    (100, 0.1)
    >>> target = Target(prior.at(labels.nodes).with_noise(0.1), bound)
    >>> sampler.check(target)                          # there is memory for its walls
    >>> state = sampler.start(target, rng)
    >>> state, chunk = sampler.advance(target, state, rng, draws=5, thin=1, tune=False)
    >>> chunk.fields.shape, bool((chunk.fields * labels.codes > 0).all())
    ((5, 1, 2), True)

    It forecasts the time of a draw, and advises if a chunk took many times as long:

    >>> sampler.draw_seconds(target, thin=1) < 1, sampler.advice(target, 1, chunk.stats)
    (True, '')
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    thin: int = 1
    """Steps from one kept draw to the next, by default."""

    steady: ClassVar[bool] = True
    """Whether all draws take about the same time, which `draw_seconds` knows before the first."""

    samples_modes: ClassVar[bool] = False
    """Whether the modes are sampled, of priors where they determine the field, in its place."""

    def warmup(self, draws: int) -> int:
        """Return how many draws to discard, by default."""
        return max(100, draws // 2)

    def noise(self, likelihood: Bound) -> float:
        """Return the deviation of the noise that is sampled with the field.

        Raises
        ------
        ValueError
            The sampler does not support this likelihood; the message says which it supports.
        """
        del likelihood
        return 0.0

    def check(self, target: Target) -> None:
        """Refuse a target that the sampler does not support, or has no memory for.

        It is called before any draw, and by default refuses nothing.

        Raises
        ------
        ValueError, MemoryError
        """
        del target

    def draw_seconds(
        self, target: Target, thin: int, stats: dict[str, Array] | None = None
    ) -> float:
        """Return about how long a kept draw takes, by the statistics of the draws before."""
        del stats
        m, p = target.law.basis.shape
        return thin * (1e-6 + 4e-10 * m * p + 5e-8 * m)

    def advice(self, target: Target, thin: int, stats: dict[str, Array]) -> str:
        """Return why draws take long and what to do, or "", by the statistics of some draws."""
        del target, thin, stats
        return ""

    @abstractmethod
    def start(self, target: Target, rng: np.random.Generator) -> Any:
        """Return the first state, overdispersed."""

    @abstractmethod
    def advance(
        self,
        target: Target,
        state: Any,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[Any, Chunk]:
        """Make ``draws * thin`` steps; return the new state, and every ``thin``-th step.

        The given state stays as it is: a run that is interrupted goes on from it. Settings are
        adapted only if ``tune`` is true.

        Raises
        ------
        NonFinitePotentialError
            The potential is NaN or -infinity somewhere. Infinity marks a forbidden place.
        """
