"""How fields become a label: the sign of one field, or the largest of K.

Models and samplers ask a rule for what depends on the number of classes, or choose walls by the
rule's class. Potentials and statistics of nodes go by the number of fields, 1 or K, which arrays
show. `docs/development/architecture.md` lists the places where two and K classes differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array


@dataclass(frozen=True)
class Sign:
    """The rule for two classes: one field u, and class 1 where u >= 0.

    Examples
    --------
    >>> Sign().index(np.array([[0.3, -2.0, 0.0]]), axis=0)
    array([1, 0, 1])
    """

    n_fields: ClassVar[int] = 1
    n_classes: ClassVar[int] = 2

    def observed(self, labels: Labels) -> Array:
        """Return y: -1 for ``classes[0]`` and +1 for ``classes[1]``, shape (J,)."""
        return labels.codes

    def index(self, fields: NDArray[Any], axis: int) -> NDArray[np.intp]:
        """Return the index of the class; ``axis``, of length 1, is removed. S(0) is +1."""
        return np.asarray(np.take(fields, 0, axis=axis) >= 0, dtype=np.intp)

    def are_wrong(self, fields: Array, y: Array) -> NDArray[np.bool_]:
        """Return whether each label differs from the fields' class, shape (draws, J)."""
        return np.asarray((fields[:, 0] >= 0) != (y > 0))

    def wrong(self, fields: Array, y: Array) -> NDArray[np.intp]:
        """Return how many labels differ from the fields' class in each draw.

        Parameters
        ----------
        fields : ndarray, shape (draws, 1, J)
        y : ndarray, shape (J,)
            As in ``observed``.
        """
        return np.asarray(self.are_wrong(fields, y).sum(axis=1))


def both_classes(second: Array) -> Array:
    """Return the probabilities of both classes along a last axis, from those of the second.

    Examples
    --------
    >>> both_classes(np.array([0.25, 1.0]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    return np.stack([1 - second, second], axis=-1)


def as_by_class(probability: Array) -> Array:
    """Return class probabilities, (n, K), from those or from the second of two classes', (n,).

    Examples
    --------
    >>> as_by_class(np.array([0.25])), as_by_class(np.array([[0.1, 0.9]]))
    (array([[0.75, 0.25]]), array([[0.1, 0.9]]))
    """
    return probability if probability.ndim == 2 else both_classes(probability)


def probability_positive(mean: Array, deviation: Array) -> Array:
    """Return P(x > 0) for x ~ N(mean, deviation^2), and 1/2 where both are 0.

    Examples
    --------
    >>> probability_positive(np.array([0.0, 0.0, -1.0]), np.array([2.0, 0.0, 0.0]))
    array([0.5, 0.5, 0. ])
    """
    certain = np.heaviside(mean, 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(deviation > 0, ndtr(mean / deviation), certain)


@dataclass(frozen=True)
class Argmax:
    """The rule for K > 2 classes: a field u_k for each, and the class whose field is largest.

    Examples
    --------
    >>> rule = Argmax(3)
    >>> rule.n_fields
    3
    >>> rule.index(np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.3]]), axis=1)
    array([1, 0])
    """

    n_classes: int

    @property
    def n_fields(self) -> int:
        """K."""
        return self.n_classes

    def observed(self, labels: Labels) -> Array:
        """Return y: the index of each label's class, shape (J,)."""
        return labels.indices.astype(np.float64)

    def index(self, fields: NDArray[Any], axis: int) -> NDArray[np.intp]:
        """Return the index of the class; ``axis``, of length K, is removed."""
        return np.asarray(fields.argmax(axis=axis))

    def are_wrong(self, fields: Array, y: Array) -> NDArray[np.bool_]:
        """Return whether each label differs from the fields' class, shape (draws, J)."""
        return np.asarray(fields.argmax(axis=1) != y)

    def wrong(self, fields: Array, y: Array) -> NDArray[np.intp]:
        """Return how many labels differ from the fields' class in each draw.

        Parameters
        ----------
        fields : ndarray, shape (draws, K, J)
        y : ndarray, shape (J,)
            As in ``observed``.
        """
        return np.asarray(self.are_wrong(fields, y).sum(axis=1))


LabelRule: TypeAlias = Sign | Argmax


def label_rule(classes: Labels | int) -> LabelRule:
    """Return the rule for labels, or for a number of classes.

    Examples
    --------
    >>> label_rule(2)
    Sign()
    >>> label_rule(Labels([0, 4, 7], ["bee", "ant", "cow"]))
    Argmax(n_classes=3)
    """
    n_classes = classes.classes.size if isinstance(classes, Labels) else classes
    return Sign() if n_classes == 2 else Argmax(n_classes)
