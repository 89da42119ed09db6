"""The approximate posterior: a Gaussian instead of draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import as_by_class, label_rule
from graphuq.posterior.assessment.calibration import Calibration, calibrate
from graphuq.posterior.assessment.trust import Trust, trust_in_approximation
from graphuq.posterior.call import Call
from graphuq.posterior.label_likelihood import mistakes_from_left_out
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.posterior.new_items import NewItems
from graphuq.posterior.node_posterior import NodePosterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Given, draws_at_a_time, require_gain_memory
from graphuq.propagation.class_gaussian import classes_at_labeled
from graphuq.propagation.gaussian_sites import at_labeled
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# Draws of the latent field unless asked otherwise.
LATENT_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class ApproximatePosterior(NodePosterior):
    """A Gaussian approximation of the posterior, which `graphuq.approximate` makes in milliseconds.

    Attributes
    ----------
    labels, mean, variance, by_class, latent_mean, latent_variance, settings
        See `NodePosterior`.
    mcse : ndarray, shape (N,) or (N, K)
        NaN: there are no draws, and the error of the approximation is unknown.
    site_precision, site_shift : ndarray, shape (J,) or (J, K)
        tau and nu of exp(nu_j u_j - tau_j u_j^2 / 2), which replaces label j's likelihood; for
        K > 2 classes pi and b of `graphuq.propagation.class_gaussian`.
    leave_one_out : ndarray, shape (J,) or (J, K)
        P(label j is ``classes[1]`` | all other labels), or that of each of K > 2 classes, as if
        label j had confidence 1.
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

    The sites of two labels, one of which is new:

    >>> more = gq.Labels([labels.nodes[0], 99], [labels.values[0], 1])
    >>> precision, shift = quick.sites_for(more)
    >>> bool(precision[0] == quick.site_precision[0]), float(precision[1])
    (True, 0.0)
    """

    site_precision: Array
    site_shift: Array
    leave_one_out: Array
    log_evidence: LogEvidence

    @property
    def run(self) -> None:
        """None: an approximation has no draws."""
        return None

    @property
    def n_latent_draws(self) -> int:
        """Number of draws that `latent_draws` yields by default."""
        return LATENT_DRAWS

    def trust(self) -> Trust:
        """Return how far the approximation can be trusted: a traffic light with reasons."""
        return trust_in_approximation(self.log_evidence)

    def call(self) -> Call:
        """Return the call of graphuq that makes this posterior again."""
        return Call("approximate")

    def sites_for(self, labels: Labels) -> tuple[Array, Array] | None:
        """Return the sites of labels that this posterior has, and 0 for all others.

        They are None where the classes are others.
        """
        if not np.array_equal(self.labels.classes, labels.classes):
            return None
        precision, shift = np.zeros((2, len(labels), *self.site_precision.shape[1:]))
        _, old, new = np.intersect1d(self.labels.nodes, labels.nodes, return_indices=True)
        same = self.labels.values[old] == labels.values[new]
        precision[new[same]] = self.site_precision[old[same]]
        shift[new[same]] = self.site_shift[old[same]]
        return precision, shift

    def _arviz_groups(self) -> dict[str, Any]:
        from graphuq.posterior.to_arviz import groups_of_sites

        return groups_of_sites(self)

    def _flips_and_overlaps(self) -> tuple[Array, Array]:
        flip_rate = self.settings["sign_model"]["flip_rate"]
        assert self.overlaps is not None
        return mistakes_from_left_out(self.leave_one_out, self.labels, flip_rate), self.overlaps

    def _left_out(self, prior: GaussianPrior) -> Array:
        return as_by_class(self.leave_one_out)

    def _new_by_class(self, prior: GaussianPrior, items: NewItems) -> Array:
        root = prior.root(self.labels.nodes)
        return items.by_class_from_sites(root, self.site_precision, self.site_shift)

    def calibration(
        self, truth: Any = None, *, n_bins: int = 10, seed: validation.Seed = 0
    ) -> Calibration:
        """Return how far probabilities can be trusted, with or without the truth.

        Without the truth each given label is compared with what all other labels predict,
        ``leave_one_out``. This requires labels drawn at random, and errors of the labels count as
        errors of the predictions.

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
        found, labels = as_by_class(self.leave_one_out), self.labels
        return calibrate(found, labels.values, labels.classes, n_bins=n_bins, seed=seed)

    def latent_draws(
        self,
        prior: GaussianPrior | None = None,
        nodes: Any = None,
        *,
        draws: int = LATENT_DRAWS,
        seed: validation.Seed = None,
    ) -> Iterator[Array]:
        """Return draws of the latent field u at any nodes from the Gaussian, a block at a time.

        Parameters
        ----------
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file.
        nodes : array_like of int, optional
            All nodes by default.
        draws : int
        seed : int, SeedSequence or Generator, optional

        Yields
        ------
        ndarray, shape (draws of the block, nodes), or (..., nodes, K) for K > 2 classes

        Raises
        ------
        ValueError
            Another prior, or none.
        """
        prior = self._own_prior(prior)
        wanted = np.arange(self.n_nodes) if nodes is None else nodes
        wanted = validation.node_ids("nodes", wanted, self.n_nodes)
        validation.integer("draws", draws, 1)
        require_gain_memory(len(self.labels), wanted.size, prior.field.weights.size)
        rng = np.random.default_rng(validation.seed_sequence(seed))
        return self._drawn(prior, wanted, draws, rng)

    def _drawn(
        self, prior: GaussianPrior, wanted: NDArray[np.int64], draws: int, rng: np.random.Generator
    ) -> Iterator[Array]:
        n_fields = label_rule(self.labels).n_fields
        with one_blas_thread():
            given = Given(prior.field, self.labels.nodes, wanted)
            root = prior.root(self.labels.nodes)
            if n_fields == 1:
                draw: Callable[..., Array]
                mean, spread, _ = at_labeled(root, self.site_precision, self.site_shift)
                draw = partial(_draw_field, mean, spread)
            else:
                gaussian = classes_at_labeled(root, self.site_precision, self.site_shift)
                draw = gaussian.draw
        block = draws_at_a_time(wanted.size * n_fields)
        for start in range(0, draws, block):
            with one_blas_thread():
                at_labels = draw(min(block, draws - start), rng)
                fields = given.trace(at_labels, rng)[1]
            yield fields[:, 0] if n_fields == 1 else np.swapaxes(fields, 1, 2)

    def __repr__(self) -> str:
        return (
            f"ApproximatePosterior({self.n_nodes} nodes, {len(self.labels)} labels, "
            f"log evidence {self.log_evidence:.2f})"
        )


def _draw_field(mean: Array, spread: Array, size: int, rng: np.random.Generator) -> Array:
    """Return draws of the field at the labeled nodes, shape (size, 1, J)."""
    white = rng.standard_normal((size, spread.shape[1]))
    return np.asarray((mean + white @ spread.T)[:, None])
