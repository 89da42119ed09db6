"""Approximate the posterior by expectation propagation, without draws."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from graphuq.inference.approximate_classes import approximate_classes
from graphuq.inference.check_by_draws import describe_poor_probabilities
from graphuq.inference.evidence.evidence import converged_sites, log_evidence_of
from graphuq.inference.problem import Problem
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import describe, describe_sign_model
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.label_rule import Argmax, both_classes, probability_positive
from graphuq.posterior.node_kernels import expected_entropy
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.sites import GaussianSites
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Given
from graphuq.propagation.sign_predictive import (
    label_probability,
    predict_labeled,
    probability_of_overlap,
    sign_probability,
)
from graphuq.utils.interruption import interruptible
from graphuq.utils.row_blocks import map_rows
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array


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
    if start is not None and (not isinstance(start, Posterior) or start.is_sampled):
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
    if doubt:
        warnings.warn(doubt, RuntimeWarning, stacklevel=2)
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
    unknown = np.full(fields["mean"].shape, np.nan)
    return Posterior(
        prior=problem.prior,
        labels=problem.labels,
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
