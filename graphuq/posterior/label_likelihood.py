"""The given labels under each draw of the field: their likelihoods, replicates and mistakes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import Argmax, LabelRule, as_by_class, label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.draws import Draws
from graphuq.posterior.left_out import GivenOthers
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# The largest number of draws x labels x classes: beyond it, results have no likelihood of each
# label in each draw, and mistakes are averaged over fewer draws.
MAX_TERMS = 2**22


def _model_of(draws: Draws, labels: Labels, settings: dict[str, Any]) -> SignModel:
    """Return the sign model, with the draws of its hyperparameters that were sampled.

    Noise has the shape (draws, 1), and costs (draws, 1), or (draws, J) where labels have
    confidences.
    """
    sampled, n_classes = draws.hyperparameters, labels.classes.size
    shape = (math.prod(draws.shape), 1)
    model = _model_in(settings, n_classes, shape)
    if settings["likelihood"]["name"] == "LevelSet" and "gamma" in sampled:
        model = model._replace(cost=2 / sampled["gamma"].reshape(shape) ** 2)
    elif "gamma" in sampled:
        model = model._replace(noise=sampled["gamma"].reshape(shape))
    if "flip_rate" in sampled:
        flips = sampled["flip_rate"].reshape(shape)
        model = SignModel.flipping(model.noise, flips, n_classes)
    return model.with_confidence(labels.confidence, n_classes)


def _model_in(settings: dict[str, Any], n_classes: int, shape: tuple[int, ...]) -> SignModel:
    noise, cost = SignModel.flipping(**settings["sign_model"], n_classes=n_classes)
    return SignModel(np.full(shape, noise), np.full(shape, cost))


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


def label_draws(
    draws: Draws, labels: Labels, settings: dict[str, Any], prior: Any, seed: Any
) -> LabelDraws:
    """Return what each draw of the field says of the labels.

    Parameters
    ----------
    draws : Draws
    labels : Labels
    settings : dict
        Those of the posterior, with a sign model.
    prior : GaussianPrior
    seed : SeedSequence
    """
    rule, rng = label_rule(labels), np.random.default_rng(seed)
    model, found, done = _model_of(draws, labels, settings), [], 0
    # Integrate u_j out: where flips are rare, its draws hardly ever contradict the label. If labels
    # outnumber modes, the others determine it, and nothing is left to integrate.
    others_say, noise = None, settings["sign_model"]["noise"]
    if not draws.hyperparameters and len(labels) <= prior.field.weights.size:
        others_say = GivenOthers.of(prior, labels.nodes)
    own_seed = validation.seed_sequence(rng)
    for block in draws.latent(prior, labels, labels.nodes, settings["noise"], own_seed):
        u = block.reshape(len(block), len(labels), rule.n_fields)
        part = slice(done, done + len(block))
        own = SignModel(model.noise[part], model.cost[part])
        said = _describe(u, rule.observed(labels), own, rule, rng)
        if others_say is not None:
            with one_blas_thread():
                right = others_say.by_class(u, noise)[:, np.arange(len(labels)), labels.indices]
            said = said._replace(mistake=own.mistake(right, rule.n_classes))
        found.append(said)
        done += len(block)
    return LabelDraws(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _describe(
    u: Array, y: Array, model: SignModel, rule: LabelRule, rng: np.random.Generator
) -> LabelDraws:
    """Return what draws u of shape (draws, J, C) say of the labels y."""
    K, several = rule.n_classes, isinstance(rule, Argmax)
    log_right = model.log_wins(u, y)
    mistake = model.mistake(np.exp(log_right), K)
    agrees = rule.index(u, axis=2) == (y if several else y > 0)
    return LabelDraws(
        np.asarray(model.log_of_label(log_right, K)),
        mistake,
        np.where(agrees, 0.0, 1 - mistake),
        _replicate(u, model, rule, rng),
    )


def replicates(u: Array, labels: Labels, settings: dict[str, Any], rng: np.random.Generator) -> Any:
    """Return labels by the sign model in ``settings`` for draws u, shape (draws, J, C)."""
    K = labels.classes.size
    model = _model_in(settings, K, (len(u), 1)).with_confidence(labels.confidence, K)
    return _replicate(u, model, label_rule(labels), rng)


def _replicate(u: Array, model: SignModel, rule: LabelRule, rng: np.random.Generator) -> Any:
    """Return a label for each draw of u, shape (draws, J)."""
    K = rule.n_classes
    noisy = u + np.asarray(model.noise)[:, :, None] * rng.standard_normal(u.shape)
    index = rule.index(noisy, axis=2)
    step = rng.integers(1, K, size=index.shape)
    flipped = rng.uniform(size=index.shape) < model.flip_rate(K)
    index = np.where(flipped, (index + step) % K, index)
    return index if isinstance(rule, Argmax) else 2 * index - 1


def mistakes_from_left_out(left_out: Array, labels: Any, flip_rate: float) -> Array:
    """Return P(label j is flipped | all labels), given P(label j | all others), shape (J,).

    Parameters
    ----------
    left_out : ndarray, shape (J,) or (J, K)
        As `GaussianSites.leave_one_out`, of labels of confidence 1.
    labels : Labels
    flip_rate : float

    Examples
    --------
    >>> from graphuq.labels.labels import Labels
    >>> labels = Labels([0, 4], [0, 1])
    >>> mistakes_from_left_out(np.array([0.9, 0.9]), labels, flip_rate=0.1).round(6)
    array([1., 0.])
    """
    by_class = as_by_class(left_out)
    K = by_class.shape[1]
    given = by_class[np.arange(len(labels)), labels.indices]
    model = SignModel.flipping(0.0, flip_rate, K)
    right = model.of_class(given, K)
    return np.asarray(model.with_confidence(labels.confidence, K).mistake(right, K))
