"""How many items there are of each class, with intervals, from labels of any design.

Where labels are drawn at random, or where a model chose whom to ask, the posterior knows: each draw
of the field gives every item a class, and their counts are a draw of the shares.

Labels of so many items of each class say nothing about the shares, and the level of the field is
then a guess. They do say what is predicted for an item of a class. Let M_ck be the mean of the
predicted probability of class k over unlabeled items of class c, q_k the mean over all unlabeled
items, and pi_c the share of class c among these. Then (Saerens, Latinne and Decaestecker 2002)

    q = pi M.

The labels of class c are a random sample of its items, and `Posterior.pred_probs` predicts each
from the others. Row c of M is the mean of a distribution that has a Dirichlet process as its prior
(Ferguson 1973): a draw of it is a weighted mean of these predictions, with Dirichlet weights, and
of certain predictions, which the prior adds in the shares that the model itself expects. So a few
labels that are all predicted right do not make M certain. The predictions of n items differ from
their mean by chance, which adds noise to q of covariance sum_c pi_c Var(prediction | c) / n. For
each draw of M and q, pi is the least-squares solution among shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from graphuq.labels.labels import ANY, BY_CLASS, RANDOM, Labels
from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# Draws of the shares, and the number of items x fields x draws beyond which draws are fewer.
DRAWS, FEWEST_DRAWS, MOST_TERMS = 1000, 200, 2**27

# The prior's weight in labels. `benchmarks.trust.class_shares` tries others.
CONCENTRATION = 2.0

# The weight of the equation that shares sum to 1, beside those of the classes.
SUM_WEIGHT = 1e3


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Shares of the classes among items, which `Posterior.class_shares` estimates.

    Attributes
    ----------
    classes : ndarray, shape (K,)
        The classes of the labels.
    groups : ndarray, shape (G,), or None
        The groups, in order; None where all items are one.
    items : ndarray of int, shape (G,)
        Number of items in each group, labeled ones included.
    draws : ndarray, shape (draws, G, K)
        Draws of the shares.

    Examples
    --------
    >>> shares = ClassShares(
    ...     classes=np.array(["ham", "spam"]), groups=None, items=np.array([20]),
    ...     draws=np.array([[[0.6, 0.4]], [[0.8, 0.2]], [[0.7, 0.3]]]),
    ... )
    >>> shares.mean.round(6), shares
    (array([[0.7, 0.3]]), ClassShares(20 items, 0.7 of 'ham', 0.3 of 'spam'))
    >>> shares.interval(0.8).round(2)
    array([[[0.62, 0.78],
            [0.22, 0.38]]])
    >>> shares.table(0.8).round(2)
      class  items  share   low  high
    0   ham     20    0.7  0.62  0.78
    1  spam     20    0.3  0.22  0.38
    """

    classes: NDArray[Any]
    groups: NDArray[Any] | None
    items: NDArray[np.int64]
    draws: Array

    @property
    def mean(self) -> Array:
        """Expected shares, shape (G, K)."""
        return np.asarray(self.draws.mean(axis=0))

    def interval(self, probability: float = 0.9) -> Array:
        """Return both ends of central intervals, shape (G, K, 2).

        Parameters
        ----------
        probability : float in (0, 1)
            The posterior probability of each interval.
        """
        if not 0 < validation.real("probability", probability) < 1:
            raise ValueError(f"probability must lie in (0, 1), got {probability}")
        ends = [(1 - probability) / 2, (1 + probability) / 2]
        return np.moveaxis(np.quantile(self.draws, ends, axis=0), 0, -1)

    def table(self, probability: float = 0.9) -> pd.DataFrame:
        """Return a row for each group and class: items of the group, share, low and high.

        Parameters
        ----------
        probability : float in (0, 1)
            See `interval`.
        """
        import pandas as pd

        n_groups, n_classes = self.mean.shape
        ends = self.interval(probability)
        columns = {
            "class": np.tile(self.classes, n_groups),
            "items": np.repeat(self.items, n_classes),
            "share": self.mean.ravel(),
            "low": ends[..., 0].ravel(),
            "high": ends[..., 1].ravel(),
        }
        if self.groups is not None:
            columns = {"group": np.repeat(self.groups, n_classes), **columns}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        if self.groups is not None:
            return f"ClassShares({self.groups.size} groups, {self.classes.size} classes)"
        each = zip(self.mean[0], self.classes.tolist(), strict=True)
        shares = ", ".join(f"{share:.3g} of {name!r}" for share, name in each)
        return f"ClassShares({self.items[0]} items, {shares})"


class Groups(NamedTuple):
    """The group of each item."""

    names: NDArray[Any] | None
    number: NDArray[np.int64]
    """Shape (N,); from 0 to G - 1."""

    @classmethod
    def of(cls, groups: Any, n_nodes: int) -> Groups:
        """Return the groups of items, or the single one of all of them if there are none."""
        import pandas as pd

        if groups is None:
            return cls(None, np.zeros(n_nodes, dtype=np.int64))
        given = validation.unmasked("groups", groups)
        if given.shape != (n_nodes,):
            raise ValueError(
                f"groups must hold the group of each of {n_nodes} nodes, got shape {given.shape}"
            )
        if given.dtype.kind == "c":
            raise TypeError(f"groups must be names or whole numbers, got {given.dtype} values")
        missing = np.flatnonzero(pd.isna(given))
        if missing.size:
            raise ValueError(
                f"groups must name a group for every node, but that of node {missing[0]} is "
                "missing: fill it in, for example by 'unknown'"
            )
        names, number = np.unique(
            given.astype(str) if given.dtype.kind == "O" else given, return_inverse=True
        )
        return cls(names, number.astype(np.int64))

    @property
    def size(self) -> int:
        """Number of groups."""
        return 1 if self.names is None else self.names.size

    def counts(self, nodes: Any = slice(None)) -> NDArray[np.int64]:
        """Return the number of ``nodes`` in each group."""
        return np.bincount(self.number[nodes], minlength=self.size)

    def class_counts(self, classes: NDArray[np.intp], nodes: Any, n_classes: int) -> Array:
        """Return the number of ``nodes`` of each group and class, shape (draws, G, K).

        Parameters
        ----------
        classes : ndarray of int, shape (draws, nodes)
        nodes : ndarray of int, or slice
        n_classes : int
        """
        cell = self.number[nodes] * n_classes + classes
        size = self.size * n_classes
        found = [np.bincount(row, minlength=size) for row in cell]
        return np.array(found, dtype=np.float64).reshape(-1, self.size, n_classes)


def explain_sampling(sampling: str) -> str:
    """Return what estimated shares take for granted of how labels were chosen.

    Examples
    --------
    >>> explain_sampling("random")
    'They take the labels for a random sample.'
    """
    taken = {
        RANDOM: "They take the labels for a random sample.",
        BY_CLASS: "They take the labels of each class for a random sample of that class, and its "
        "number of labels for a choice.",
        ANY: "They rest on the model, since the labels are no random sample.",
    }
    return taken[sampling]


def number_of_draws(n_nodes: int, n_fields: int) -> int:
    """Return how many draws of the fields of all nodes are made."""
    return max(FEWEST_DRAWS, min(DRAWS, MOST_TERMS // (n_nodes * n_fields)))


def shares_from_draws(
    latent: Any,
    labels: Labels,
    groups: Groups,
    overlap: float,
    sign_model: dict[str, float] | None,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the shares, shape (draws, G, K), from draws of the field.

    Parameters
    ----------
    latent : iterable of ndarray
        Blocks of the field at all nodes; see `Posterior.latent_draws`.
    labels : Labels
    groups : Groups
    overlap : float
        Deviation of the noise between the field and the true class.
    sign_model : dict or None
        Noise and flip rate; None where the field is the label.
    rng : Generator
    """
    rule, counts = label_rule(labels), []
    for block in latent:
        fields = block.reshape(*block.shape[:2], rule.n_fields)
        noisy = fields + overlap * rng.standard_normal(fields.shape) if overlap else fields
        classes = rule.index(noisy, axis=2)
        if sign_model is not None:
            at_labels = fields[:, labels.nodes]
            classes[:, labels.nodes] = _labeled(at_labels, labels, overlap, sign_model, rng)
        counts.append(groups.class_counts(classes, slice(None), rule.n_classes))
    return np.concatenate(counts) / groups.counts()[:, None]


def _labeled(
    fields: Array,
    labels: Labels,
    overlap: float,
    sign_model: dict[str, float],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Return draws of the true classes of labeled nodes, shape (draws, J)."""
    n_classes = labels.classes.size
    model = SignModel.flipping(overlap, sign_model["flip_rate"], n_classes)
    model = model.with_confidence(labels.confidence, n_classes)
    if np.all(np.equal(model.cost, np.inf)):
        return np.broadcast_to(labels.indices, fields.shape[:2])
    same = labels.indices[:, None] == np.arange(n_classes)
    right, wrong = (np.reshape(each(n_classes), (-1, 1)) for each in (model.right, model.wrong))
    p = SignModel(overlap).wins(fields) * np.where(same, right, wrong)
    cumulative = p.cumsum(axis=-1)
    return np.asarray(
        (cumulative > rng.random(p.shape[:2])[..., None] * cumulative[..., -1:]).argmax(axis=-1)
    )


def shares_from_predictions(
    by_class: Array,
    labels: Labels,
    left_out: Array,
    flip_rate: float,
    groups: Groups,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the shares, shape (draws, G, K), from what is predicted of each class.

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
        Predicted probabilities.
    labels : Labels
        Those of each class are a random sample of its items.
    left_out : ndarray, shape (J, K)
        What all other labels predict for the label of each labeled item.
    flip_rate : float
        Of the labels, as ``left_out`` expects it.
    groups : Groups
    rng : Generator

    Examples
    --------
    Of ten items of a class eight are predicted right, and 0.38 of all others are called "b":

    >>> labels = Labels(np.arange(20), np.repeat(["a", "b"], 10), sampling="by class")
    >>> certain = np.repeat(np.eye(2)[[0, 1, 1, 0]], [8, 2, 8, 2], axis=0)
    >>> p = np.repeat([[1.0, 0.0], [0.0, 1.0]], [630, 390], axis=0)
    >>> p[:20] = certain
    >>> groups = Groups.of(None, 1020)
    >>> draws = shares_from_predictions(p, labels, certain, 0.0, groups, np.random.default_rng(0))
    >>> draws.shape, bool(0.15 < draws.mean(axis=0)[0, 1] < 0.45)
    ((1000, 1, 2), True)
    """
    n_classes = labels.classes.size
    hidden = np.setdiff1d(np.arange(len(by_class)), labels.nodes)
    p, n = by_class[hidden], groups.counts(hidden)
    known = groups.class_counts(labels.indices[None], labels.nodes, n_classes)[0]
    total = np.stack(
        [np.bincount(groups.number[hidden], each, groups.size) for each in p.T], axis=1
    )
    q = total / np.maximum(n, 1)[:, None]
    model = SignModel.flipping(0.0, flip_rate, n_classes)
    right, wrong = model.right(n_classes), model.wrong(n_classes)
    of_class = np.clip((left_out - wrong) / (right - wrong), 0, 1) if right > wrong else left_out
    rows, within = _rows(p, labels, of_class, rng)
    noise = np.zeros((DRAWS, groups.size, n_classes))
    for group in np.flatnonzero(n):
        covariance = np.tensordot(q[group], within, axes=1) / n[group]
        noise[:, group] = rng.multivariate_normal(
            np.zeros(n_classes), covariance, DRAWS, check_valid="ignore"
        )
    shares = np.zeros((DRAWS, groups.size, n_classes))
    for draw, row in enumerate(rows):
        equations = np.vstack([row.T, np.full(n_classes, SUM_WEIGHT)])
        for group in np.flatnonzero(n):
            found, _ = nnls(equations, np.append(q[group] + noise[draw, group], SUM_WEIGHT))
            shares[draw, group] = found / found.sum()
    return np.asarray((known + n[:, None] * shares) / groups.counts()[:, None])


def _rows(
    p: Array, labels: Labels, left_out: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return draws of M, (draws, K, K), and the covariance of predictions of each class, (K, K, K).

    Parameters
    ----------
    p : ndarray, shape (unlabeled nodes, K)
    labels, left_out, rng
        See `shares_from_predictions`.
    """
    n_classes = labels.classes.size
    mass = p.sum(axis=0)
    expected = p.T @ p / np.maximum(mass, np.finfo(float).tiny)[:, None]
    rows, within = np.empty((DRAWS, n_classes, n_classes)), np.empty((n_classes,) * 3)
    for c in range(n_classes):
        own = left_out[labels.indices == c]
        predicted = np.vstack([own, np.eye(n_classes)])
        prior = CONCENTRATION * (expected[c] if mass[c] > 0 else np.eye(n_classes)[c])
        # a Dirichlet parameter of 0 is a weight of 0
        weight = np.append(np.ones(len(own)), np.maximum(prior, 1e-12))
        rows[:, c] = rng.dirichlet(weight, DRAWS) @ predicted
        within[c] = np.cov(predicted.T, aweights=weight, bias=True)
    return rows, within
