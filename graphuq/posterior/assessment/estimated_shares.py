"""How many items there are of each class, with intervals, whether labels are random or by class.

If labels are drawn at random, or a model chose which items to label, each draw of the field gives
every item a class, and the counts of the classes are a draw of the shares.

Labels by class, a fixed number of each, say nothing about the shares. They do say what is predicted
for an item of a class. Let q_k be the mean predicted probability of class k over unlabeled items,
M_ck its expectation for an item of class c, and pi_c the share of class c among unlabeled items.
Then q equals pi M up to sampling error. The theory chapter "Assessment" says how M is learned from
predictions of each label by the others.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from graphuq.labels.labels import BY_CLASS, Labels
from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.draws import Draws
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# Draws of the shares, and the number of items x fields x draws beyond which draws are fewer.
DRAWS, FEWEST_DRAWS, MOST_TERMS = 1000, 200, 2**27

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
        number, names = pd.factorize(given, sort=True)
        missing = np.flatnonzero(number < 0)
        if missing.size:
            raise ValueError(
                f"groups must name a group for every node, but that of node {missing[0]} is "
                "missing: fill it in, for example by 'unknown'"
            )
        return cls(np.asarray(names), number.astype(np.int64))

    @property
    def size(self) -> int:
        """Number of groups."""
        return 1 if self.names is None else self.names.size

    def counts(self) -> NDArray[np.int64]:
        """Return the number of nodes in each group."""
        return np.bincount(self.number, minlength=self.size)

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


def estimate_shares(posterior: Any, groups: Any, prior: Any, seed: validation.Seed) -> ClassShares:
    """Return the shares of the classes; see `Posterior.class_shares`."""
    labels, grouped = posterior.labels, Groups.of(groups, posterior.n_nodes)
    model, source = posterior.settings.get("sign_model"), posterior.source
    if isinstance(source, Draws) and source.hyperparameters:
        raise ValueError(
            "hyperparameters were sampled, and shares of classes need one likelihood: take those "
            "of gq.sample(...) or gq.approximate(...)"
        )
    of_field, own = validation.seed_sequence(seed).spawn(2)
    rng = np.random.default_rng(own)

    def drawn() -> Array:
        terms = posterior.n_nodes * label_rule(labels).n_fields
        n, few = max(FEWEST_DRAWS, min(DRAWS, MOST_TERMS // terms)), posterior
        if isinstance(source, Draws):
            every = math.ceil(math.prod(source.shape) / n)
            n, few = None, dataclasses.replace(posterior, source=source.thinned(every))
        latent = few.latent_draws(prior, draws=n, seed=of_field)
        return counts_from_draws(latent, labels, grouped, posterior.overlap, model, rng)

    if labels.sampling != BY_CLASS:
        counts = drawn()
    elif model is None:
        raise ValueError(
            "shares of classes from labels by class need a sign model, such as gq.Probit, and "
            f"{posterior.settings['likelihood']['name']} is not one: give the labels "
            "sampling='any' to rely on the draws"
        )
    else:
        left_out, flips = posterior.pred_probs(prior), model["flip_rate"]
        whole = counts_from_predictions(posterior.by_class, labels, left_out, flips, rng)
        counts = whole[:, None]
        if grouped.names is not None:
            in_groups = drawn()
            n = min(len(in_groups), len(whole))
            counts = shifted(in_groups[:n], labels, grouped, whole[:n])
    items = grouped.counts()
    return ClassShares(labels.classes, grouped.names, items, counts / items[:, None])


def counts_from_draws(
    latent: Any,
    labels: Labels,
    groups: Groups,
    overlap: float,
    sign_model: dict[str, float] | None,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the number of items of each class, shape (draws, G, K).

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
    return np.concatenate(counts)


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
    p += np.finfo(np.float64).tiny * same  # where nothing else is possible, the label
    return np.asarray(rng.multinomial(1, p / p.sum(axis=-1, keepdims=True)).argmax(axis=-1))


def counts_from_predictions(
    by_class: Array,
    labels: Labels,
    left_out: Array,
    flip_rate: float,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the number of items of each class, shape (draws, K), from predictions.

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
        Predicted probabilities.
    labels : Labels
        Those of each class are a random sample of its items.
    left_out : ndarray, shape (J, K)
        What all other labels predict for the label of each labeled item.
    flip_rate : float
        Flip rate of the labels that ``left_out`` assumes.
    rng : Generator

    Examples
    --------
    Eight of ten items of each class are predicted right, and 0.38 of all others are called "b":

    >>> labels = Labels(np.arange(20), np.repeat(["a", "b"], 10), sampling="by class")
    >>> certain = np.repeat(np.eye(2)[[0, 1, 1, 0]], [8, 2, 8, 2], axis=0)
    >>> p = np.repeat([[1.0, 0.0], [0.0, 1.0]], [630, 390], axis=0)
    >>> p[:20] = certain
    >>> draws = counts_from_predictions(p, labels, certain, 0.0, np.random.default_rng(0))
    >>> draws.shape, bool(150 < draws.mean(axis=0)[1] < 450)
    ((1000, 2), True)
    """
    n_classes = labels.classes.size
    p = np.delete(by_class, labels.nodes, axis=0)
    known = np.bincount(labels.indices, minlength=n_classes)
    if not len(p):
        return np.tile(known.astype(np.float64), (DRAWS, 1))
    model = SignModel.flipping(0.0, flip_rate, n_classes)
    rows, within = _rows(p, labels, model.of_class(left_out, n_classes), rng)
    q = p.mean(axis=0)
    covariance = np.tensordot(q, within, axes=1) / len(p)  # with q in place of pi
    drawn = rng.multivariate_normal(q, covariance, DRAWS, check_valid="ignore")
    shares = np.empty((DRAWS, n_classes))
    for draw, (row, mean) in enumerate(zip(rows, drawn, strict=True)):
        equations = np.vstack([row.T, np.full(n_classes, SUM_WEIGHT)])
        shares[draw], _ = nnls(equations, np.append(mean, SUM_WEIGHT))
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(known + len(p) * shares)


def _rows(
    p: Array, labels: Labels, left_out: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return draws of M, (draws, K, K), and the covariance of predictions of each class, (K, K, K).

    Parameters
    ----------
    p : ndarray, shape (unlabeled nodes, K)
    labels, left_out, rng
        See `counts_from_predictions`.
    """
    n_classes = labels.classes.size
    expected = p.T @ p / np.maximum(p.sum(axis=0), np.finfo(float).tiny)[:, None]
    # certain predictions that the prior adds: one as the model expects, and one of any class
    prior = expected + 1 / n_classes
    rows, within = np.empty((DRAWS, n_classes, n_classes)), np.empty((n_classes,) * 3)
    for c in range(n_classes):
        own = left_out[labels.indices == c]
        predicted = np.vstack([own, np.eye(n_classes)])
        weight = np.append(np.ones(len(own)), prior[c])
        rows[:, c] = rng.dirichlet(weight, DRAWS) @ predicted
        within[c] = np.cov(predicted.T, aweights=weight, bias=True)
    return rows, within


def shifted(counts: Array, labels: Labels, groups: Groups, wanted: Array) -> Array:
    """Return counts in groups, moved so that those of all groups are near the ``wanted`` ones.

    The odds of classes of unlabeled items are multiplied by one factor for each class, as Saerens,
    Latinne and Decaestecker (2002) do with probabilities.

    Parameters
    ----------
    counts : ndarray, shape (draws, G, K)
    labels : Labels
    groups : Groups
    wanted : ndarray, shape (draws, K)
    """
    known = groups.class_counts(labels.indices[None], labels.nodes, labels.classes.size)[0]
    hidden = np.maximum(counts - known, 0)  # fewer where labels may be mistakes
    factor = np.maximum(wanted - known.sum(axis=0), 0) / np.maximum(hidden.sum(axis=1), 1)
    moved = hidden * factor[:, None]
    total = moved.sum(axis=2, keepdims=True)
    moved = np.where(total > 0, moved / np.where(total > 0, total, 1), 1 / moved.shape[2])
    return np.asarray(known + moved * (groups.counts() - known.sum(axis=1))[:, None])
