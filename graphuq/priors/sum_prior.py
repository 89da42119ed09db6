"""Sums of priors, and the level that all nodes share.

A sum u = b + w_1^(1/2) f_1 + ... + w_M^(1/2) f_M has independent parts f_m, each with mean node
variance 1, weights w_m >= 0 that sum to 1, and a level b ~ N(0, s^2) that all nodes share. The
covariance of the sum is the sum of the parts' covariances. For K > 2 classes each class has such a
field, with a level of its own.

The level is along the constant vector. There it shifts all nodes alike, as the base rate of a class
does, and an item without any edge has it too; along D^(1/2) 1 it would grow with the degree.

Weights are chosen as fractions, each of what earlier parts leave: fractions between 0 and 1 may be
chosen one by one, whereas weights must sum to 1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.priors.field import Field
from graphuq.priors.gaussian_prior import GaussianPrior, Ranges, require_chosen
from graphuq.utils import validation
from graphuq.utils.typing import Array, Nodes

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
        labels drawn at random, and may be 0; for others it is 1 (``sampling`` of `Labels`).

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


def fractions_of(weights: Any, n_parts: int) -> tuple[float, ...]:
    """Return the fractions of given weights, which need not sum to 1.

    Raises
    ------
    TypeError, ValueError
        Not numbers; negative, infinite, all zero; another number than there are parts.

    Examples
    --------
    >>> fractions_of([2, 1, 1], 3)
    (0.5, 0.5)
    """
    given = validation.real_array("weights", weights)
    try:
        given = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"weights must be {n_parts} numbers, got {weights!r}") from error
    if given.shape != (n_parts,):
        raise ValueError(
            f"weights must be {n_parts} numbers, one for each part, and none for a level, got "
            f"{weights!r}"
        )
    if any(isinstance(weight, bool | np.bool_) for weight in weights):
        raise TypeError(f"weights must be numbers, not True or False, got {weights!r}")
    if not (np.isfinite(given).all() and (given >= 0).all() and (given > 0).any()):
        raise ValueError(
            f"weights must be finite and not negative, and not all zero, got {given.tolist()}: "
            'give each part its share of the variance, or weights="auto"'
        )
    if given.max() > 1 or abs(given.sum() - 1) > 1e-12:  # others are kept to the last digit
        given = given / given.max()  # so that no sum overflows
        given /= given.sum()
    fractions, left = [], 1.0
    for at, weight in enumerate(given[:-1].tolist()):
        all_of_it = weight > 0 and not given[at + 1 :].any()  # exactly 0 is left for the others
        fractions.append(1.0 if all_of_it else _fraction(weight, left))
        left -= left * fractions[-1]
    return tuple(fractions)


def _fraction(weight: float, left: float) -> float:
    """Return f, with left f = weight to the last digit wherever there is such a number."""
    if weight == 0 or left == 0:  # a first weight next to 1 leaves 0 for all others
        return 0.0
    near = min(weight / left, 1.0)
    candidates = (near, math.nextafter(near, 0), math.nextafter(near, 1))
    return next((f for f in candidates if left * f == weight), near)


def weights_of(fractions: Sequence[Any]) -> Array:
    """Return the weights, which sum to 1, of fractions.

    Examples
    --------
    >>> weights_of([0.5, 0.5])
    array([0.5 , 0.25, 0.25])
    """
    shares, left = [], 1.0
    for fraction in fractions:
        shares.append(left * float(fraction))
        left -= shares[-1]
    return np.array([*shares, left])


def check_fraction(name: str, fraction: Any) -> float | str:
    """Return a fraction from 0 to 1, or "auto"."""
    if validation.is_auto(fraction):
        return validation.AUTO
    try:
        return validation.between(name, fraction, 0, 1)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f'{error}: give the share of a part in what earlier parts leave, or "auto"; '
            "gq.SumPrior.of(parts, weights) scales other weights"
        ) from error


class Summable(GaussianPrior):
    """A prior that can be added to others and to a `Level`."""

    def __add__(self, other: Any) -> SumPrior:
        _refuse_graph(other)
        if not isinstance(other, Summable | Level):
            return NotImplemented
        return SumPrior.of([self, other])

    def __radd__(self, other: Any) -> Summable:
        if isinstance(other, int) and other == 0:  # as sum() begins
            return self
        _refuse_graph(other)
        return SumPrior.of([other, self]) if isinstance(other, Level) else NotImplemented


@dataclass(frozen=True, eq=False)
class SumPrior(Summable):
    """A sum of priors and a level, made by adding them: ``prior + FeaturePrior(X) + Level()``.

    u = b + w_1^(1/2) f_1 + ... + w_M^(1/2) f_M with independent parts of mean node variance 1, and
    b ~ N(0, s^2). Covariances add, as kernels do (Belkin, Niyogi and Sindhwani 2006 have
    the penalties of a graph and of features side by side).

    Attributes
    ----------
    parts : tuple of Prior, FeaturePrior, LinearPrior and others
    fractions : tuple of float or "auto"
        w_1, then the share of w_2 in what w_1 leaves, and so on; one fewer than parts. With "auto"
        `graphuq.tune` chooses, by the evidence times a weak prior that is largest at 1/2.
    level : float or "auto"
        s; 0 without a level.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> prior = gq.Prior.projected(graph, rank=20) + gq.FeaturePrior(X, length_scale=1.0)
    >>> prior.open
    ('weight',)
    >>> gq.SumPrior.of(prior.parts, weights=[1, 0]).used
    (Prior.projected(100 nodes, rank 20),)
    >>> prior = gq.SumPrior.of([*prior.parts, gq.Level(0.5)], weights=[3, 1])
    >>> prior.weights, prior.level
    (array([0.75, 0.25]), 0.5)
    >>> float(prior.variance().mean().round(9))
    1.25
    >>> prior.draw(2, seed=0).shape
    (2, 100)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> gq.sample(prior, gq.Probit(0.1), labels, seed=0, progress=False).accuracy(y) > 0.9
    True
    """

    parts: tuple[GaussianPrior, ...]
    fractions: tuple[float | str, ...]
    level: float | str = 0.0

    def __post_init__(self) -> None:
        for name in ("parts", "fractions"):
            if not np.iterable(getattr(self, name)):
                raise TypeError(f"{name} must be a tuple, got {getattr(self, name)!r}")
        parts, fractions = tuple(self.parts), tuple(self.fractions)
        if not parts:
            raise ValueError("a sum needs a prior besides the level: add gq.Prior.projected(...)")
        for part in parts:
            if isinstance(part, SumPrior) or not isinstance(part, Summable):
                raise TypeError(
                    "the parts of a sum are priors such as gq.Prior and gq.FeaturePrior, got "
                    f"{type(part).__name__}: add other terms with gq.SumPrior.of([...])"
                )
        if len({part.n_nodes for part in parts}) > 1:
            sizes = ", ".join(f"{type(part).__name__} {part.n_nodes}" for part in parts)
            raise ValueError(
                f"all parts of a sum must have the same nodes, got {sizes}: make them from the "
                "same items, in the same order"
            )
        if len(fractions) != len(parts) - 1:
            raise ValueError(
                f"fractions must be one fewer than the {len(parts)} parts, got {len(fractions)}: "
                "use gq.SumPrior.of(parts, weights)"
            )
        object.__setattr__(self, "parts", parts)
        names = _weight_names(len(fractions))
        object.__setattr__(self, "fractions", tuple(map(check_fraction, names, fractions)))
        object.__setattr__(self, "level", check_level("level", self.level))

    @classmethod
    def of(cls, terms: Sequence[Any], weights: Any = validation.AUTO) -> SumPrior:
        """Return the sum of priors, sums and at most one `Level`.

        Parameters
        ----------
        terms : sequence of Prior, FeaturePrior, LinearPrior, SumPrior and Level
        weights : sequence of float, or "auto"
            Shares of the variance, one for each part but the level, scaled to sum to 1. With
            "auto" `graphuq.tune` chooses them, by the evidence times a weak prior; see
            ``fractions``.

        Raises
        ------
        TypeError, ValueError
            Something else than priors, no prior, two levels, parts of different sizes, weights that
            are negative, all zero, or of another number than the parts.
        """
        if isinstance(terms, GaussianPrior | Level) or not np.iterable(terms):
            raise TypeError("give the terms of a sum as a list: gq.SumPrior.of([prior, ...])")
        parts: list[GaussianPrior] = []
        given: tuple[float | str, ...] = ()
        levels: list[float | str] = []
        for term in terms:
            if isinstance(term, SumPrior):
                if not all(map(validation.is_auto, term.fractions)):
                    given = term.fractions
                parts += term.parts
                levels += [term.level] * (term.level != 0)
            elif isinstance(term, Level):
                levels.append(term.scale)
            elif isinstance(term, Summable):
                parts.append(term)
            else:
                _refuse_graph(term)
                raise TypeError(
                    "a sum consists of priors, such as gq.Prior and gq.FeaturePrior, and gq.Level, "
                    f"got {type(term).__name__}"
                )
        if len(levels) > 1:
            raise ValueError("a sum has one level, and two were added: leave one out")
        if given and (len(given) < len(parts) - 1 or not validation.is_auto(weights)):
            raise ValueError(
                "only a level can be added to a sum with given weights: give all parts and weights "
                "to gq.SumPrior.of(parts, weights)"
            )
        fractions = given or (validation.AUTO,) * (len(parts) - 1)
        if parts and not validation.is_auto(weights):
            fractions = fractions_of(weights, len(parts))
        return cls(tuple(parts), fractions, levels[0] if levels else 0.0)

    @property
    def weights(self) -> Array:
        """w, the share of each part in the variance, shape (M,)."""
        own = (*self._weight_names, "level")
        require_chosen([name for name in self.open if name in own])
        return weights_of(self.fractions)

    @property
    def used(self) -> tuple[GaussianPrior, ...]:
        """The parts whose weight is not 0; all of them while weights are open."""
        if any(map(validation.is_auto, self.fractions)):
            return self.parts
        weights = weights_of(self.fractions)
        return tuple(part for w, part in zip(weights, self.parts, strict=True) if w > 0)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.parts[0].n_nodes

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the nodes, if a graph has some."""
        return next((part.names for part in self.parts if part.names is not None), None)

    @property
    def component(self) -> Nodes | None:
        """The component of each node, if a disconnected graph is all that relates nodes."""
        first, *others = (part.component for part in self.used)
        if first is None:
            return None
        same = (other is not None and np.array_equal(other, first) for other in others)
        return first if all(same) else None

    @property
    def graph_part(self) -> GaussianPrior | None:
        """The first part on a graph."""
        return next((part for part in self.parts if part.graph_part is not None), None)

    @cached_property
    def _places(self) -> dict[str, tuple[int, str]]:
        """The part and its own name of each parameter; later parts' names have their number."""
        places: dict[str, tuple[int, str]] = {}
        for at, part in enumerate(self.parts):
            for own in part.ranges:
                count = 1 + sum(other == own for _, other in places.values())
                places[own if count == 1 else f"{own}_{count}"] = (at, own)
        return places

    @cached_property
    def _weight_names(self) -> tuple[str, ...]:
        return _weight_names(len(self.fractions))

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are chosen from the labels."""
        names = [name for name, (at, own) in self._places.items() if own in self.parts[at].open]
        names += [
            name
            for name, fraction in zip(self._weight_names, self.fractions, strict=True)
            if validation.is_auto(fraction)
        ]
        return (*names, *(["level"] if validation.is_auto(self.level) else []))

    @property
    def ranges(self) -> Ranges:
        """The range in which each parameter is searched."""
        found = {name: self.parts[at].ranges[own] for name, (at, own) in self._places.items()}
        found |= dict.fromkeys(self._weight_names, (0.0, 1.0))
        return {**found, "level": LEVEL_RANGE}

    @property
    def typical(self) -> dict[str, float]:
        """A typical value of parameters that have one."""
        return {
            name: self.parts[at].typical[own]
            for name, (at, own) in self._places.items()
            if own in self.parts[at].typical
        }

    @property
    def parameters(self) -> dict[str, float | str]:
        """The value of each parameter but ranks."""
        found = {
            name: self.parts[at].parameters[own]
            for name, (at, own) in self._places.items()
            if own in self.parts[at].parameters
        }
        found |= dict(zip(self._weight_names, self.fractions, strict=True))
        return {**found, "level": self.level}

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of parameters that change nothing: of parts of weight 0, and shares in 0."""
        # whatever the open ones will be
        weights = weights_of([0.5 if validation.is_auto(w) else w for w in self.fractions])
        names = [name for name, (at, _) in self._places.items() if weights[at] == 0]
        names += [name for at, name in enumerate(self._weight_names) if not weights[at:].any()]
        return tuple(names)

    def with_parameters(self, **values: Any) -> SumPrior:
        """Return the sum with these parameters, and the others as they are.

        Parameters
        ----------
        **values
            ``level``; ``weight``, and for more than two parts ``weight_2`` and so on, see
            ``fractions``; and the parameters of the parts, such as ``alpha``. Those of a second
            graph end in ``_2``. Each is a number, or "auto" to choose it from the labels.
        """
        parts, fractions, level = list(self.parts), list(self.fractions), self.level
        for name, value in values.items():
            if value is None:
                raise TypeError(
                    f'{name} must be a number or "auto", got None: leave it out to keep it'
                )
            if name == "level":
                level = value  # checked below, as weights are
            elif name in self._weight_names:
                fractions[self._weight_names.index(name)] = value
            elif name not in self._places:
                known = [*self._places, *self._weight_names, "level"]
                raise TypeError(f"the sum has no parameter {name!r}; it has {', '.join(known)}")
            else:
                at, own = self._places[name]
                parts[at] = parts[at].with_parameters(**{own: value})
        return dataclasses.replace(
            self, parts=tuple(parts), fractions=tuple(fractions), level=level
        )

    def with_labeled(self, nodes: Nodes) -> SumPrior:
        """Return the prior whose law at labeled nodes is exact, not approximated.

        Parameters
        ----------
        nodes : ndarray of int
        """
        return dataclasses.replace(self, parts=tuple(p.with_labeled(nodes) for p in self.parts))

    @property
    def _terms(self) -> list[tuple[float, GaussianPrior]]:
        """The parts that have a share, with their weights."""
        return [(float(w), p) for w, p in zip(self.weights, self.parts, strict=True) if w > 0]

    @cached_property
    def field(self) -> Field:
        """The field at all nodes, from the bases of the parts side by side."""
        if len(self.parts) > 1:
            self.require_here("a sum of priors")
        each = zip(self.weights.tolist(), self.parts, strict=True)
        return Field.sum([(w, part.field) for w, part in each], float(self.level))

    def deviations(self) -> Array:
        """Return the deviations of the level and of the columns of the field's basis, (1 + P,)."""
        parts = zip(np.sqrt(self.weights), self.parts, strict=True)
        each = [root * part.deviations() for root, part in parts]
        levels = [float(self.level), *(own[0] for own in each)]
        return np.concatenate([[np.linalg.norm(levels)], *(own[1:] for own in each)])

    def field_at(self, nodes: Nodes) -> Field:
        """Return the field at some nodes alone, which are numbered anew, exactly.

        Parameters
        ----------
        nodes : ndarray of int
        """
        return Field.sum([(w, part.field_at(nodes)) for w, part in self._terms], float(self.level))

    def covariance(self, rows: Any, columns: Any) -> Array:
        """Return the covariance block between two lists of nodes.

        Parameters
        ----------
        rows, columns : array_like of int
        """
        block = sum(w * part.covariance(rows, columns) for w, part in self._terms)
        return np.asarray(block + float(self.level) ** 2)

    def rows_of_new(self, degrees: Array, weights: Any, X: Any) -> tuple[Array, Array]:
        """Return rows of the field's basis for new items, and variance of their own."""
        each = [part.rows_of_new(degrees, weights, X) for part in self.parts]
        own = sum(w * variance for w, (_, variance) in zip(self.weights, each, strict=True))
        return np.hstack([rows for rows, _ in each]), np.asarray(own)

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify this prior; see `Prior.fingerprint`.

        The first part's values stand beside those of the sum.
        """
        first, *others = (part.fingerprint() for part in self.parts)
        return {
            **first,
            "parts": others,
            "weights": [float(w) for w in self.weights],
            "level": float(self.level),
        }

    def require_here(self, what: str) -> None:
        """Refuse eigenvectors on a cluster for work that needs all of them here.

        Parameters
        ----------
        what : str
            The work, named in the message.
        """
        for part in self.parts:
            part.require_here(what)

    def __repr__(self) -> str:
        terms = [repr(part) for part in self.parts]
        if len(terms) > 1 and not any(validation.is_auto(fraction) for fraction in self.fractions):
            terms = [
                f"{w:.3g} {term}" for w, term in zip(weights_of(self.fractions), terms, strict=True)
            ]
        if self.level != 0:
            level = self.level if validation.is_auto(self.level) else format(self.level, ".3g")
            terms.append(f"Level({level})")
        return " + ".join(terms)


def _refuse_graph(term: Any) -> None:
    """Refuse a graph or a spectrum as a term, which has no rank."""
    if isinstance(term, Graph | Spectrum):
        raise TypeError(
            f"a {type(term).__name__} is not a prior: add gq.Prior.projected(graph, rank)"
        )


def _weight_names(count: int) -> tuple[str, ...]:
    return tuple("weight" if number == 1 else f"weight_{number}" for number in range(1, count + 1))
