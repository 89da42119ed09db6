"""The sign model: how labels arise from fields by noise before the label rule, and flips after it.

Let p be the probability that the class of u + noise eta, eta ~ N(0, I), is y; the class is the sign
of one field, or the largest of K. A label is then y with probability

    P(y | u) = wrong + (right - wrong) p,    right = 1 / (1 + (K - 1) e^-V),    wrong = e^-V right,

where e^-V are the odds of one wrong label against the right one, and all K - 1 wrong labels are
equally likely. `Probit` has V = infinity, `LevelSet` has noise 0, and `NoisyProbit` has both. A
label of confidence c is right with probability c, and otherwise any of the K - 1 other classes: a
second channel of the same kind, so that both together have a cost V_j of their own. It is negative
where the label speaks against its class.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, ndtr

from graphuq.likelihoods import sign_kernels
from graphuq.likelihoods.argmax_probability import argmax_probability
from graphuq.likelihoods.label_rule import both_classes
from graphuq.utils.typing import Array

# Beyond this noise the field, of mean node variance 1, is lost to rounding, and below the other the
# noise is: its square is added to the field's.
MIN_NOISE, MAX_NOISE = 1e-8, 1e5


class SignModel(NamedTuple):
    """P(label | fields); fields u have the shape (..., C), with C = 1 for two classes, else K.

    Examples
    --------
    >>> model = SignModel.flipping(noise=0.5, flip_rate=0.1, n_classes=2)
    >>> round(float(model.flip_rate(2)), 6), round(model.cost, 6) == round(math.log(9), 6)
    (0.1, True)
    >>> model.probability(np.zeros((1, 1)))
    array([[0.5, 0.5]])

    A node whose fields leave no doubt of class 2, and labels of confidence 0.8:

    >>> u = np.array([[0.0, 0.0, 9.0]])
    >>> SignModel.flipping(0.5, 0.1, n_classes=3).probability(u).round(6)
    array([[0.05, 0.05, 0.9 ]])
    >>> SignModel().with_confidence(np.array([0.8]), 3).probability(u).round(6)
    array([[0.1, 0.1, 0.8]])
    >>> log_p = SignModel(noise=0.5).log_probability(u, np.array([2]))
    >>> bool(abs(log_p[0]) < 1e-6)
    True

    A label whose class wins with probability 0.2 is flipped with probability 8/26:

    >>> model.wins(np.array([[0.0]])), model.log_wins(np.array([[0.0]]), np.array([1])).round(3)
    (array([[0.5, 0.5]]), array([-0.693]))
    >>> round(float(model.right(2)), 6), round(float(model.wrong(2)), 6)
    (0.9, 0.1)
    >>> round(float(model.of_label(0.2, 2)), 6), round(float(model.mistake(0.2, 2)), 6)
    (0.26, 0.307692)
    >>> round(float(model.of_class(0.26, 2)), 6)
    0.2
    >>> bool(np.isclose(model.log_of_label(np.log(0.2), 2), np.log(0.26)))
    True
    >>> potential, gradient, parameters = model.functions(2)
    >>> parameters.round(6)
    array([0.5, 0.1])
    """

    noise: Any = 0.0
    """Deviation of the noise before the label rule: a number, or one for each draw."""
    cost: Any = math.inf
    """V, the log odds of the right label against one wrong label: a number, or one for each label,
    or for each draw."""

    @classmethod
    def flipping(cls, noise: Any, flip_rate: Any, n_classes: int) -> SignModel:
        """Return the model whose labels are flipped with a given probability, from 0 to 1."""
        if not np.all((np.asarray(flip_rate) >= 0) & (np.asarray(flip_rate) <= 1)):
            raise ValueError(f"flip_rate must be from 0 to 1, got {flip_rate!r}")
        with np.errstate(divide="ignore"):
            cost = np.log((n_classes - 1) * np.subtract(1, flip_rate)) - np.log(flip_rate)
        return cls(noise, cost if np.ndim(cost) else float(cost))

    def right(self, n_classes: int) -> Any:
        """Return the probability of a label whose class wins."""
        return expit(self.cost - math.log(n_classes - 1))

    def wrong(self, n_classes: int) -> Any:
        """Return the probability of a label when another class wins."""
        return np.exp(-np.logaddexp(self.cost, math.log(n_classes - 1)))

    def flip_rate(self, n_classes: int) -> Any:
        """Return the probability that a label is flipped."""
        return expit(math.log(n_classes - 1) - self.cost)

    def with_confidence(self, confidence: Array | None, n_classes: int) -> SignModel:
        """Return the model of labels that are right with these probabilities, shape (J,)."""
        if confidence is None:
            return self
        flip, doubt = self.flip_rate(n_classes), 1 - confidence
        # right again where both channels flip, the second back to the class
        flips = flip * confidence + doubt - flip * doubt / (n_classes - 1)
        return SignModel.flipping(self.noise, flips, n_classes)

    def of_label(self, p: Any, n_classes: int) -> Any:
        """Return the probability of a label whose class wins with probability p."""
        wrong = self.wrong(n_classes)
        return wrong + (self.right(n_classes) - wrong) * p

    def of_class(self, p: Any, n_classes: int) -> Any:
        """Return the probability that a class wins whose label has probability p."""
        wrong = self.wrong(n_classes)
        margin = self.right(n_classes) - wrong
        return np.clip((p - wrong) / margin, 0, 1) if margin else p

    def log_of_label(self, log_p: Any, n_classes: int) -> Any:
        """Return the log of `of_label`, where p may underflow."""
        if np.min(self.cost) == math.inf:
            return log_p
        right, wrong = self.right(n_classes), self.wrong(n_classes)
        with np.errstate(divide="ignore"):
            found = np.logaddexp(np.log(wrong), np.log(np.maximum(right - wrong, 0.0)) + log_p)
            if np.min(self.cost) < 0:  # labels that are likelier wrong than right
                against = np.log(right + np.maximum(wrong - right, 0.0) * -np.expm1(log_p))
                found = np.where(np.less(self.cost, 0), against, found)
        return found

    def mistake(self, p: Any, n_classes: int) -> Any:
        """Return P(flipped | label) of labels whose class wins with probability p."""
        wrong = self.wrong(n_classes) * np.subtract(1, p)
        given = np.maximum(wrong + self.right(n_classes) * p, np.finfo(np.float64).tiny)
        return np.minimum(wrong, given) / given

    def wins(self, u: Array) -> Array:
        """Return the probability that each class wins, before flips, shape (..., K)."""
        if u.shape[-1] > 1:
            return argmax_probability(u, float(self.noise))
        second = ndtr(u[..., 0] / self.noise) if self.noise else (u[..., 0] >= 0).astype(np.float64)
        return both_classes(second)

    def probability(self, u: Array) -> Array:
        """Return P(y | u) of each label, shape (..., K)."""
        p = self.wins(u)
        return np.asarray(self.of_label(p, p.shape[-1]))

    def log_wins(self, u: Array, y: Array) -> Array:
        """Return the log probability that the class y (J,) wins, for fields u (..., J, C).

        Classes are -1 and +1 where C = 1, else 0, ..., K - 1.
        """
        if np.all(np.equal(self.noise, 0)):
            largest = u[..., 0] >= 0 if u.shape[-1] == 1 else u.argmax(axis=-1)
            return np.where(largest == (y > 0 if u.shape[-1] == 1 else y), 0.0, -np.inf)
        if u.shape[-1] == 1:
            return np.asarray(log_ndtr(y * u[..., 0] / self.noise))
        scaled = u / (self.noise[..., None] if np.ndim(self.noise) else self.noise)
        flat = np.ascontiguousarray(scaled.reshape(-1, *u.shape[-2:]))
        found = np.empty(flat.shape[:2])
        sign_kernels.class_log_probability(flat, y.astype(np.int64), found)
        return found.reshape(u.shape[:-1])

    def log_probability(self, u: Array, y: Array) -> Array:
        """Return log P(y | u); see `log_wins`."""
        return np.asarray(self.log_of_label(self.log_wins(u, y), max(2, u.shape[-1])))

    def functions(self, n_classes: int) -> tuple[Any, Any, Array]:
        """Return a potential -log P(y | u) for compiled code, its gradient, and their parameters.

        There is no gradient without noise.
        """
        if self.noise == 0:
            return sign_kernels.step_potential, None, np.atleast_1d(np.asarray(self.cost, float))
        flips = np.asarray(self.flip_rate(n_classes), dtype=np.float64)
        parameters = np.append(float(self.noise), flips)
        return sign_kernels.noisy_potential, sign_kernels.noisy_gradient, parameters
