"""Approximate the posterior by expectation propagation, without draws."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq.inference.check_by_draws import describe_poor_probabilities
from graphuq.inference.evidence.evidence import (
    converged_class_sites,
    converged_sites,
    log_evidence_of,
)
from graphuq.inference.problem import Problem
from graphuq.labels.labels import Labels
from graphuq.likelihoods.argmax_probability import (
    argmax_probability,
    argmax_probability_of_gaussian,
    average_alike,
    cholesky,
    in_order,
    order_by_law,
    white_draws,
)
from graphuq.likelihoods.bound import describe, describe_sign_model
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.label_rule import Argmax, both_classes, probability_positive
from graphuq.posterior.assessment.suspect_labels import Doubts
from graphuq.posterior.class_entropy import add_class_entropy
from graphuq.posterior.label_likelihood import mistakes_from_left_out
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.posterior.node_kernels import expected_entropy
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.sites import GaussianSites
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Given, Rows
from graphuq.propagation.class_propagation import ClassSites, label_model
from graphuq.propagation.nested_propagation import LabelModel
from graphuq.propagation.sign_propagation import (
    label_probability,
    predict_labeled,
    probability_of_overlap,
    sign_probability,
)
from graphuq.utils.interruption import interruptible
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

# Draws of the fields at each labeled node, from the Gaussian with and without its label each.
DRAWS = 512

# Draws of the fields at every node, for their entropy.
ENTROPY_DRAWS = 256

# Below the likelihoods of all draws that count.
MIN_LIKELIHOOD = 1e-300

# Labeled nodes whose draws are held at a time.
BLOCK_NODES = 100


def approximate(
    prior: GaussianPrior,
    likelihood: Likelihood,
    labels: Labels,
    *,
    start: Posterior | None = None,
) -> Posterior:
    """Approximate the posterior by the Gaussian of expectation propagation.

    At an unlabeled node P(u_i > 0) is Psi(m_i; v_i^(1/2)), with the mean and variance of the
    Gaussian. Where classes overlap by gamma, the predictive probability is
    Psi(m_i; (v_i + gamma^2)^(1/2)). At a labeled node both come from the true likelihood of its
    label times the Gaussian given all others.

    For K > 2 classes the Gaussian is one of all K fields, which depend on each other given the
    labels. A node's site has 2 (K - 1) parameters, and expectation propagation at the node itself
    gives its moments (Riihimaki, Jylanki and Vehtari 2013, Journal of Machine Learning Research
    14). The noise of a label's own class is raised to 0.01 if it is smaller. Each of about twenty
    visits takes O(K J^3). With few labels the probabilities are a little too cautious, more so than
    those of `graphuq.sample`; ``benchmarks/trust/few_labels.py`` measures by how much.

    Parameters
    ----------
    prior : Prior, FeaturePrior, SumPrior, Spectrum or Graph
        See `graphuq.sample`.
    likelihood : likelihood
        A sign model: `Probit`, `LevelSet`, `NoisyProbit`, or one of your own.
    labels : Labels
    start : Posterior, optional
        An approximation with fewer labels, from which to continue: that takes less time. Under
        likelihoods with flips it changes nothing.

    Returns
    -------
    Posterior
        It has the statistics, rankings and exports of a sampled posterior, and ``sites`` instead of
        draws.

    Raises
    ------
    ValueError
        Not a sign model, or a ``start`` on another graph.
    RuntimeError
        For two classes, expectation propagation did not converge; see `graphuq.evidence`.

    Warns
    -----
    RuntimeWarning
        Probabilities are poor: a short run of `Harmonic` gives a labeled node, or one of up to 400
        others, a probability that differs by more than 0.03. Where such a run takes long, with
        thousands of labels or little noise, the warning says for more than two classes that this
        is not known; two classes are then judged by the correction of the log evidence. The
        warning also comes if Ctrl-C ended this check, whose approximation is returned.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
    >>> quick
    Posterior(100 nodes, approximated from 6 labels, log evidence -2.30)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> bool(abs(quick.probability - post.probability).max() < 0.05)
    True
    """
    if isinstance(start, Posterior) and start.is_sampled:
        raise TypeError("start must be what gq.approximate returned, got a sampled posterior")
    if start is not None and not isinstance(start, Posterior):
        raise TypeError(f"start must be what gq.approximate returned, got {type(start).__name__}")
    problem = Problem.check(prior, likelihood, labels)
    if start is not None and start.n_nodes != problem.prior.n_nodes:
        raise ValueError(
            f"start must be an approximation on the same graph, of {problem.prior.n_nodes} nodes, "
            f"got one of {start.n_nodes}"
        )
    post = approximate_problem(problem, start)
    try:
        doubt = interruptible(
            "judging the approximation",
            describe_poor_probabilities,
            problem,
            post.by_class,
            post.sites.log_evidence.correction,
        )
    except KeyboardInterrupt:  # the approximation is done
        doubt = "interrupted before it was known whether probabilities are poor"
    warn(doubt)
    return post


def approximate_problem(problem: Problem, start: Posterior | None) -> Posterior:
    """Return the approximation of a checked problem.

    Only the sites of ``start`` are used. It may know other nodes than the problem, if labeled ones
    have the same numbers.
    """
    begun = time.perf_counter()
    approximate_fields = (
        approximate_classes if isinstance(problem.bound.rule, Argmax) else _approximate_signs
    )
    # labels that may be flipped can have sites in several places: these are found afresh
    goes_on = start is not None and np.min(problem.bound.label_model.cost) == np.inf
    sites = start.sites.moved(start.labels, problem.labels) if start and goes_on else None
    fields = interruptible("approximating the posterior", approximate_fields, problem, sites)
    overlaps, unknown = fields.pop("overlaps"), np.full(fields["mean"].shape, np.nan)
    post = Posterior(
        prior=problem.prior,
        labels=problem.labels,
        names=problem.names,
        mcse=unknown,
        probability_mcse=unknown,
        settings={
            "prior": problem.prior.fingerprint(),
            "likelihood": describe(problem.likelihood),
            "sign_model": describe_sign_model(problem.bound),
            "overlap": problem.bound.overlap,
            "seconds": time.perf_counter() - begun,
        },
        **fields,
    )
    if overlaps is None or not post.expects_mistakes:
        return post
    flip_rate = post.settings["sign_model"]["flip_rate"]
    mistakes = mistakes_from_left_out(post.sites.leave_one_out, problem.labels, flip_rate)
    at_labels = post.latent_by_class[problem.labels.nodes]
    return dataclasses.replace(post, doubts=Doubts(at_labels, mistakes, overlaps))


def _approximate_signs(problem: Problem, start: tuple[Array, Array] | None) -> dict[str, Any]:
    """Return the fields of a `Posterior` of two classes."""
    prior, bound, labels = problem.prior, problem.bound, problem.labels
    sites = converged_sites(prior, problem.likelihood, bound, start)
    n = prior.n_nodes
    latent_mean, latent_variance = np.empty(n), np.empty(n)
    with one_blas_thread():
        given = Given(prior.field, labels.nodes)
        work = given.extend(sites.mean, sites.spread)
        width = given.basis.shape[1]
        for rows, (mean, variance) in map_rows(work, given.basis, width, given.which):
            latent_mean[rows], latent_variance[rows] = mean, variance
    latent = probability_positive(latent_mean, np.sqrt(latent_variance))
    latent[labels.nodes] = sign_probability(sites, bound)
    probability, aleatoric, overlaps = latent, np.zeros(n), None
    if bound.overlap > 0:
        overlaps = probability_of_overlap(sites, bound)
        probability = probability_positive(latent_mean, np.sqrt(latent_variance + bound.overlap**2))
        aleatoric = expected_entropy(latent_mean, np.sqrt(latent_variance), bound.overlap)
        probability[labels.nodes], aleatoric[labels.nodes] = predict_labeled(sites, bound)
    mean = 2 * latent - 1
    return {
        "mean": mean,
        "variance": 1 - mean**2,
        "by_class": both_classes(probability),
        "aleatoric": aleatoric,
        "overlaps": overlaps,
        "latent_mean": latent_mean,
        "latent_variance": latent_variance,
        "source": GaussianSites(
            sites.precision, sites.shift, label_probability(sites, bound), log_evidence_of(sites)
        ),
    }


def approximate_classes(problem: Problem, start: tuple[Array, Array] | None) -> dict[str, Any]:
    """Return the fields of a `Posterior` that depend on the number of classes."""
    prior, labels = problem.prior, problem.labels
    J, K = len(labels), labels.classes.size
    require_memory(
        8.0 * J * (4 * K * J + K * K),
        f"the approximation of {K} classes with {J} labels",
        "take gq.sample, or fewer labels",
    )
    sites = converged_class_sites(
        prior, problem.likelihood, problem.bound, start, must_converge=False
    )
    n = prior.n_nodes
    mean, variance, latent, by_class = (np.empty((n, K)) for _ in range(4))
    aleatoric, overlap = np.empty(n), problem.bound.overlap
    with one_blas_thread():
        gaussian = sites.gaussian
        given = Given(prior.field, labels.nodes)
        parts = [
            given.summarize(part.reshape(-1, 1, J))[:, 0]
            for part in (
                gaussian.mean,
                gaussian.spread.transpose(0, 2, 1),
                gaussian.coupling.transpose(0, 2, 1),
            )
        ]
        roots = [part.astype(np.float32) for part in parts[1:]]
        work = partial(_moments, given, parts[0], roots, overlap)
        width = sum(map(len, roots))
        for rows, found in map_rows(work, given.basis, width, given.which):
            mean[rows], variance[rows], latent[rows], by_class[rows], aleatoric[rows] = found
        at = labels.nodes
        latent[at], by_class[at], aleatoric[at], overlaps = _at_labeled(sites, problem)
        new_label = problem.bound.sign_model
        assert new_label is not None
        left_out = argmax_probability_of_gaussian(
            sites.cavities.mean, sites.cavities.covariance, float(new_label.noise)
        )
    square = (latent**2).sum(axis=1)
    return {
        "mean": latent,
        "variance": K / (K - 1) * (1 - square),
        "by_class": by_class,
        "aleatoric": aleatoric,
        "overlaps": overlaps,
        "latent_mean": mean,
        "latent_variance": variance,
        "source": GaussianSites(
            sites.precision,
            sites.shift,
            new_label.of_label(left_out, K),
            LogEvidence(sites.log_evidence, "expectation propagation", sites.correction),
        ),
    }


def _moments(
    given: Given,
    means: Array,
    roots: list[NDArray[np.float32]],
    overlap: float,
    basis: Array,
    which: NDArray[np.int32],
) -> tuple[Array, Array, Array, Array, Array]:
    """Return means, variances, class probabilities of both kinds, and entropies of some nodes.

    ``roots`` are summaries of the columns of both roots of the covariance: sums of squares, which
    single precision does not harm.
    """
    rows, n_classes = given.rows(basis, which), len(means)
    mean = np.ascontiguousarray(rows.mean(means))
    spread, coupling = (_extended(rows, root, n_classes) for root in roots)
    covariance = np.asarray(coupling @ coupling.transpose(0, 2, 1), dtype=np.float64)
    own = np.einsum("ikp,ikp->ik", spread, spread) + (rows.deviation**2)[:, None]
    classes = np.arange(n_classes)
    covariance[:, classes, classes] += own
    latent, entropy = argmax_probability_of_gaussian(mean, covariance, 0.0), np.zeros(which.size)
    probability = latent
    if overlap > 0:
        probability = argmax_probability_of_gaussian(mean, covariance, overlap)
        # the entropy at a few draws of the fields
        white = white_draws(n_classes, ENTROPY_DRAWS)
        order, _ = order_by_law(mean, covariance)
        u = _draw(*in_order(mean, covariance, order), white)
        draws = np.ascontiguousarray(u.transpose(2, 1, 0), dtype=np.float32)
        fixed = np.zeros(which.size)
        every = np.arange(ENTROPY_DRAWS)
        add_class_entropy(draws, fixed, np.zeros_like(white), overlap, every, entropy)
        entropy /= ENTROPY_DRAWS
    return mean, np.einsum("ikk->ik", covariance), latent, probability, entropy


def _extended(rows: Rows, summaries: NDArray[np.float32], n_classes: int) -> NDArray[np.float32]:
    """Return columns at some nodes, shape (rows, K, columns of a class), side by side in memory."""
    found = rows.loadings.astype(np.float32) @ summaries.T
    return found.reshape(len(found), n_classes, -1)


def _at_labeled(sites: ClassSites, problem: Problem) -> tuple[Array, Array, Array, Array]:
    """Return what the true t_j says of labeled nodes.

    They are class probabilities of both kinds, entropies, and the probabilities that labels are not
    flipped although their class is not the largest.

    Draws from the Gaussian with and without the label, of equal number, are weighted by t_j times
    the Gaussian without it, over the mean of both densities (Veach and Guibas 1995).
    """
    y, K = problem.bound.observed.y.astype(np.int64), problem.labels.classes.size
    model = label_model(problem.bound)
    white, overlap = white_draws(K, DRAWS), problem.bound.overlap
    laws = (sites.cavities.mean, sites.cavities.covariance), sites.gaussian.moments()
    latent, by_class = np.empty((y.size, K)), np.empty((y.size, K))
    entropy, overlaps = np.empty(y.size), np.empty(y.size)
    for first in range(0, y.size, BLOCK_NODES):
        block = slice(first, first + BLOCK_NODES)
        part = [(mean[block], covariance[block]) for mean, covariance in laws]
        own = model._replace(wrong=model.wrong[block, None], right=model.right[block, None])
        found = _weighted(part, white, y[block], own, overlap)
        latent[block], by_class[block], entropy[block], overlaps[block] = found
    return latent, by_class, entropy, overlaps


def _weighted(
    laws: list[tuple[Array, Array]],
    white: Array,
    y: NDArray[np.int64],
    model: LabelModel,
    overlap: float,
) -> tuple[Array, Array, Array, Array]:
    """Return E[g(u) t_j(u)] / E[t_j(u)] of some nodes under the first of two laws.

    Here g is 1(argmax u = k), P(argmax u + overlap eta = k), the entropy of the latter, and
    1(argmax u is not y) P(y is not flipped | u, y).
    """
    # classes are drawn in the order of their means, so that their names change nothing
    order, alike = order_by_law(*laws[1])
    laws, y = [in_order(*law, order) for law in laws], np.argmax(order == y[:, None], axis=1)
    u = np.concatenate([_draw(*law, white) for law in laws], axis=1)
    densities = [_log_density(u, *law) for law in laws]
    weight = 1 / (1 + np.exp(np.minimum(densities[1] - densities[0], 700.0)))
    wins = argmax_probability(u, model.noise)
    right = wins[np.arange(y.size), :, y]
    likelihood = model.wrong + (model.right - model.wrong) * right
    weight *= likelihood
    largest = u.argmax(axis=2)[:, :, None] == np.arange(u.shape[2])
    predictive = wins if overlap == model.noise else argmax_probability(u, overlap)
    weight /= weight.sum(axis=1, keepdims=True)
    latent, by_class = (np.einsum("js,jsk->jk", weight, p) for p in (largest, predictive))
    other, back = u.argmax(axis=2) != y[:, None], np.argsort(order, axis=1)
    latent, by_class = (
        average_alike(alike, np.take_along_axis(p, back, axis=1)) for p in (latent, by_class)
    )
    overlaps = (weight * other * model.right * right / np.maximum(likelihood, MIN_LIKELIHOOD)).sum(
        axis=1
    )
    return latent, by_class, np.einsum("js,jsk->j", weight, entr(predictive)), overlaps


def _draw(mean: Array, covariance: Array, white: Array) -> Array:
    """Return draws of the fields of each node, shape (n, draws, K)."""
    return np.asarray(mean[:, None] + white @ cholesky(covariance).transpose(0, 2, 1))


def _log_density(u: Array, mean: Array, covariance: Array) -> Array:
    """Return the log density of each node's draws, up to a constant, shape (J, draws)."""
    root = cholesky(covariance)
    white = (u - mean[:, None]) @ np.linalg.inv(root).transpose(0, 2, 1)
    log_root = np.log(np.einsum("jkk->jk", root)).sum(axis=1)
    return np.asarray(-0.5 * np.einsum("jsk,jsk->js", white, white) - log_root[:, None])
