"""The posterior at once: expectation propagation's Gaussian in the place of draws."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from graphuq import validation
from graphuq.calibration import Calibration, calibrate
from graphuq.expectation_propagation import at_labelled, label_probability, sign_probability
from graphuq.extension import FromLabelled, draws_at_a_time, require_room
from graphuq.labels import Labels
from graphuq.likelihoods.contract import (
    Likelihood,
    bind_under,
    described,
    described_sign_model,
)
from graphuq.model_evidence import LogEvidence, settle
from graphuq.node_posterior import NodePosterior
from graphuq.prior import Prior
from graphuq.row_blocks import mapped
from graphuq.threads import one_blas_thread
from graphuq.tuning import require_two_classes, settled

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ApproximatePosterior(NodePosterior):
    """A Gaussian approximation of the posterior, which `graphuq.approximate` makes in milliseconds.

    Attributes
    ----------
    labels, mean, variance, probability, latent_mean, latent_variance, settings
        See `NodePosterior`.
    mcse : ndarray, shape (N,)
        NaN: there are no draws, and the error of the approximation is not known.
    site_precision, site_shift : ndarray, shape (J,)
        tau and nu of exp(nu_j u_j - tau_j u_j^2 / 2), which stands for label j's likelihood.
    leave_one_out : ndarray, shape (J,)
        P(label j is ``classes[1]`` | all other labels).
    log_evidence : LogEvidence
        See `graphuq.evidence`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
    >>> quick.accuracy(y) > 0.9
    True
    >>> quick.site_precision.shape, quick.leave_one_out.shape
    ((6,), (6,))
    >>> [block.shape for block in quick.latent_draws(prior, nodes=[5, 8], draws=300, seed=0)]
    [(256, 2), (44, 2)]
    """

    site_precision: Array
    site_shift: Array
    leave_one_out: Array
    log_evidence: LogEvidence

    def calibration(
        self, truth: Any = None, *, n_bins: int = 10, seed: validation.Seed = 0
    ) -> Calibration:
        """Return how far probabilities can be trusted: against the truth, or without it.

        Without it each given label is held against what all others say of it, ``leave_one_out``.
        That asks for labels drawn at random, and sees no less error than the labels themselves
        have.

        Parameters
        ----------
        truth, n_bins, seed
            See `NodePosterior.calibration`.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(200, seed=0)
        >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
        >>> labels = gq.reveal(y, counts=20, seed=0)
        >>> quick = gq.approximate(graph, gq.Probit(), labels)
        >>> bool(abs(quick.calibration().accuracy - quick.accuracy(y)) < 0.1)
        True
        """
        if truth is not None:
            return super().calibration(truth, n_bins=n_bins, seed=seed)
        probabilities = np.column_stack([1 - self.leave_one_out, self.leave_one_out])
        labels = self.labels
        return calibrate(probabilities, labels.values, labels.classes, n_bins=n_bins, seed=seed)

    def latent_draws(
        self,
        prior: Prior | None = None,
        nodes: Any = None,
        *,
        draws: int = 1000,
        seed: validation.Seed = None,
    ) -> Iterator[Array]:
        """Return draws of the latent field u at any nodes from the Gaussian, a block at a time.

        Parameters
        ----------
        prior : Prior, optional
            The one that was approximated under, where the posterior was read from a file.
        nodes : array_like of int, optional
            All nodes by default.
        draws : int
        seed : int, SeedSequence or Generator, optional

        Yields
        ------
        ndarray, shape (draws of the block, nodes)

        Raises
        ------
        ValueError
            Another prior, or none.
        """
        prior = self._own_prior(prior)
        wanted = np.arange(self.n_nodes) if nodes is None else nodes
        wanted = validation.node_ids("nodes", wanted, self.n_nodes)
        validation.integer("draws", draws, 1)
        require_room(len(self.labels), wanted.size, prior.sigma.size)
        rng = np.random.default_rng(validation.seed_sequence(seed))
        return self._drawn(prior, wanted, draws, rng)

    def _drawn(
        self, prior: Prior, wanted: NDArray[np.int64], draws: int, rng: np.random.Generator
    ) -> Iterator[Array]:
        with one_blas_thread():
            given = FromLabelled(prior, self.labels.nodes, wanted)
            root = prior.root(self.labels.nodes)
            mean, spread, _ = at_labelled(root, self.site_precision, self.site_shift)
        block = draws_at_a_time(wanted.size)
        for start in range(0, draws, block):
            with one_blas_thread():
                white = rng.standard_normal((min(block, draws - start), spread.shape[1]))
                fields = given.trace(mean + white @ spread.T, rng)[1]
            yield fields

    def __repr__(self) -> str:
        return (
            f"ApproximatePosterior({self.n_nodes} nodes, {len(self.labels)} labels, "
            f"log evidence {self.log_evidence:.2f})"
        )


def approximate(
    prior: Prior,
    likelihood: Likelihood,
    labels: Labels,
    *,
    start: ApproximatePosterior | None = None,
) -> ApproximatePosterior:
    """Approximate the posterior by expectation propagation's Gaussian.

    P(u_i > 0) is Psi(m_i / v_i^(1/2); 1) at an unlabelled node, with the Gaussian's mean and
    variance; at a labelled one that of its true likelihood times the Gaussian of all others.

    Parameters
    ----------
    prior : Prior, Spectrum or Graph
        See `graphuq.sample`.
    likelihood : likelihood
        A sign model: `Probit`, `LevelSet`, `NoisyProbit`.
    labels : Labels
        Of two classes.
    start : ApproximatePosterior, optional
        To fewer labels, from which to go on: that takes less time.

    Returns
    -------
    ApproximatePosterior
        With the statistics, rankings and exports of a sampled `Posterior`.

    Raises
    ------
    ValueError
        No sign model, more than two classes.
    RuntimeError
        Expectation propagation did not converge; see `graphuq.evidence`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
    >>> quick
    ApproximatePosterior(100 nodes, 6 labels, log evidence -2.30)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> bool(abs(quick.probability - post.probability).max() < 0.05)
    True
    """
    begun = time.perf_counter()
    if start is not None and not isinstance(start, ApproximatePosterior):
        raise TypeError(f"start must be what gq.approximate returned, got {type(start).__name__}")
    require_two_classes(labels, "gq.approximate")
    prior, likelihood = settled(prior, likelihood, labels)
    bound = bind_under(prior, likelihood, labels)
    sites = settle(prior, likelihood, bound, None if start is None else _carried(start, labels))
    n = prior.n_nodes
    latent_mean, latent_variance = np.empty(n), np.empty(n)
    with one_blas_thread():
        # the mean, and the columns of a root of the covariance, each extended to all nodes
        stacked = np.vstack([sites.mean, sites.spread.T])
        given = FromLabelled(prior, labels.nodes, _NONE)
        work = partial(_moments, given, given.keep(stacked))
        for rows, (mean, variance) in mapped(work, given.basis, stacked.shape[0], given.which):
            latent_mean[rows], latent_variance[rows] = mean, variance
    spread = np.sqrt(latent_variance)
    certain = np.where(latent_mean >= 0, 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = np.where(spread > 0, ndtr(latent_mean / spread), certain)
    probability[labels.nodes] = sign_probability(sites, bound)
    mean = 2 * probability - 1
    return ApproximatePosterior(
        prior=prior,
        labels=labels,
        mean=mean,
        variance=1 - mean**2,
        probability=probability,
        mcse=np.full(n, np.nan),
        latent_mean=latent_mean,
        latent_variance=latent_variance,
        site_precision=sites.precision,
        site_shift=sites.shift,
        leave_one_out=label_probability(sites, bound),
        log_evidence=LogEvidence.of(sites),
        settings={
            "prior": prior.summary(),
            "likelihood": described(likelihood),
            "sign_model": described_sign_model(bound),
            "seconds": time.perf_counter() - begun,
        },
    )


_NONE = np.empty(0, dtype=np.int64)


def _moments(
    given: FromLabelled, kept: Array, basis: Array, which: NDArray[np.int32]
) -> tuple[Array, Array]:
    """Return mean and variance of some nodes, of the mean and a root's columns in ``kept``."""
    rows = given.rows(basis, which)
    extended = rows.mean(kept)
    return extended[:, 0], rows.deviation**2 + (extended[:, 1:] ** 2).sum(axis=1)


def _carried(start: ApproximatePosterior, labels: Labels) -> tuple[Array, Array]:
    """Return the sites of ``start`` where its labels still stand, and none elsewhere."""
    tau, nu = np.zeros(len(labels)), np.zeros(len(labels))
    if np.array_equal(start.labels.classes, labels.classes):
        _, old, new = np.intersect1d(start.labels.nodes, labels.nodes, return_indices=True)
        same = start.labels.values[old] == labels.values[new]
        tau[new[same]] = start.site_precision[old[same]]
        nu[new[same]] = start.site_shift[old[same]]
    return tau, nu
