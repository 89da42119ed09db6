"""The given labels under each draw of the field: their likelihoods, replicates and mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr

from graphuq.likelihoods.confidence import combined_flip_rate
from graphuq.likelihoods.label_rule import Argmax, LabelRule, as_by_class, label_rule
from graphuq.likelihoods.probit_kernels import class_log_probability
from graphuq.posterior.given_others import GivenOthers
from graphuq.posterior.protocol import LatentDraws
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# The largest number of draws x labels x classes: beyond it, results have no likelihood of each
# label in each draw, and mistakes are averaged over fewer draws.
MAX_TERMS = 2**22


class SampledField(LatentDraws, Protocol):
    """A sampled posterior: `graphuq.posterior.sampled.Posterior`."""

    @property
    def hyperparameters(self) -> Mapping[str, Array]:
        """Sampled hyperparameters by name, each of shape (chains, draws)."""
        ...


class SignModel(NamedTuple):
    """Noise before the label rule and flips after it, of each draw.

    The shape is (draws, 1); that of the flip rates is (draws, J) where labels have confidences.
    """

    noise: Array
    flip_rate: Array
    """Probability that a label is flipped, to any of the other classes."""

    @classmethod
    def of(cls, posterior: SampledField) -> SignModel:
        """Return the sign model, with the draws of its hyperparameters that were sampled."""
        settings, sampled = posterior.settings, posterior.hyperparameters
        model = settings["sign_model"]
        shape = posterior.n_latent_draws, 1
        noise, flip = np.full(shape, model["noise"]), np.full(shape, model["flip_rate"])
        if settings["likelihood"]["name"] == "LevelSet" and "gamma" in sampled:
            n_wrong = posterior.labels.classes.size - 1
            flip = expit(math.log(n_wrong) - 2 / sampled["gamma"].reshape(shape) ** 2)
        elif "gamma" in sampled:
            noise = sampled["gamma"].reshape(shape)
        if "flip_rate" in sampled:
            flip = sampled["flip_rate"].reshape(shape)
        labels = posterior.labels
        return cls(noise, combined_flip_rate(flip, labels.confidence, labels.classes.size))

    def at(self, draws: Any) -> SignModel:
        """Return the model of some draws."""
        return SignModel(self.noise[draws], self.flip_rate[draws])


class LabelDraws(NamedTuple):
    """What each draw says of the labels, shape (draws, J)."""

    log_likelihood: Array
    """log P(label j | u_j)."""
    mistake: Array
    """P(label j is flipped | u_-j, label j), or given u_j where the others determine it."""
    overlap: Array
    """P(label j is not flipped | u_j, label j) if it is not the class of u_j, else 0."""
    replicate: NDArray[np.int8] | NDArray[np.int64]
    """A label drawn anew given u_j, flips included, as `LabelRule.observed` has it."""


def label_draws(posterior: SampledField, prior: Any, seed: Any, every: int = 1) -> LabelDraws:
    """Return what each ``every``-th draw of the field says of the labels.

    Parameters
    ----------
    posterior : Posterior
        With a sign model.
    prior : GaussianPrior
    seed : SeedSequence
    every : int
    """
    labels, rule = posterior.labels, label_rule(posterior.labels)
    rng = np.random.default_rng(seed)
    model, found, done = SignModel.of(posterior), [], 0
    # Integrate u_j out: where flips are rare, its draws hardly ever contradict the label. If labels
    # outnumber modes, the others determine it, and nothing is left to integrate.
    others_say, noise = None, posterior.settings["sign_model"]["noise"]
    if not posterior.hyperparameters and len(labels) <= prior.expansion.weights.size:
        others_say = GivenOthers.of(prior, labels.nodes)
    for block in posterior.latent_draws(prior, labels.nodes, seed=rng):
        kept = np.arange(-done % every, len(block), every)
        u = block[kept].reshape(kept.size, len(labels), rule.n_fields)
        own = model.at(done + kept)
        draws = _describe(u, rule.observed(labels), own, rule, rng)
        if others_say is not None:
            with one_blas_thread():
                right = others_say.by_class(u, noise, rule)[
                    :, np.arange(len(labels)), labels.indices
                ]
            draws = draws._replace(mistake=_mistake(right, own.flip_rate, rule.n_classes))
        found.append(draws)
        done += len(block)
    return LabelDraws(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _describe(
    u: Array, y: Array, model: SignModel, rule: LabelRule, rng: np.random.Generator
) -> LabelDraws:
    """Return what draws u of shape (draws, J, C) say of the labels y."""
    noise, flip = model
    other = flip / (rule.n_classes - 1)
    # 1. the label before flips: that its class wins
    log_right = _log_right(u, y, noise, rule)
    with np.errstate(divide="ignore"):
        margin = 1 - flip - other
        log_likelihood = np.logaddexp(np.log(np.maximum(margin, 0)) + log_right, np.log(other))
        if (margin < 0).any():  # labels that are likelier wrong than right
            unlikely = np.log(other + np.minimum(margin, 0) * np.exp(log_right))
            log_likelihood = np.where(margin < 0, unlikely, log_likelihood)
    # 2. that it was flipped, by Bayes' rule
    mistake = other * -np.expm1(log_right) * np.exp(-log_likelihood)
    overlap = np.where(_agrees(u, y, rule), 0.0, 1 - mistake)
    # 3. another label by the same model
    noisy = u + noise[:, :, None] * rng.standard_normal(u.shape)
    index = rule.index(noisy, axis=2)
    step = rng.integers(1, rule.n_classes, size=index.shape)
    flipped = rng.uniform(size=index.shape) < flip
    index = np.where(flipped, (index + step) % rule.n_classes, index)
    return LabelDraws(
        log_likelihood, mistake, overlap, index if isinstance(rule, Argmax) else (2 * index - 1)
    )


def _mistake(right: Array, flip: Array, n_classes: int) -> Array:
    """Return P(flipped | label) of labels that are right before flips with a given probability."""
    other = flip / (n_classes - 1)
    given = np.maximum(other + (1 - flip - other) * right, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(other * (1 - right), given) / given)


def _agrees(u: Array, y: Array, rule: LabelRule) -> NDArray[np.bool_]:
    """Return whether the class of the field is the label, shape (draws, J)."""
    return np.asarray(rule.index(u, axis=2) == (y if isinstance(rule, Argmax) else y > 0))


def _log_right(u: Array, y: Array, noise: Array, rule: LabelRule) -> Array:
    """Return log P(the label before flips is y | u), shape (draws, J)."""
    if not noise.any():
        return np.where(_agrees(u, y, rule), 0.0, -np.inf)
    if not isinstance(rule, Argmax):
        return np.asarray(log_ndtr(y * u[:, :, 0] / noise))
    found = np.empty(u.shape[:2])
    class_log_probability(np.ascontiguousarray(u / noise[:, :, None]), y.astype(np.int64), found)
    return found


def mistakes_from_left_out(left_out: Array, labels: Any, flip_rate: float) -> Array:
    """Return P(label j is flipped | all labels), given P(label j | all others), shape (J,).

    Parameters
    ----------
    left_out : ndarray, shape (J,) or (J, K)
        As `ApproximatePosterior.leave_one_out`, of labels of confidence 1.
    labels : Labels
    flip_rate : float

    Examples
    --------
    >>> from graphuq.graphs.labels import Labels
    >>> labels = Labels([0, 4], [0, 1])
    >>> mistakes_from_left_out(np.array([0.9, 0.9]), labels, flip_rate=0.1).round(6)
    array([1., 0.])
    """
    by_class = as_by_class(left_out)
    given = by_class[np.arange(len(labels)), labels.indices]
    n_wrong = by_class.shape[1] - 1
    other = flip_rate / n_wrong
    right = ((given - other) / (1 - flip_rate - other)).clip(0, 1)
    return _mistake(
        right, combined_flip_rate(flip_rate, labels.confidence, n_wrong + 1), n_wrong + 1
    )
