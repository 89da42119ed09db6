"""The sites of an approximate posterior: a Gaussian instead of draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import label_rule
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Given, draws_at_a_time, require_gain_memory
from graphuq.propagation.gaussian_sites import at_labeled, classes_at_labeled
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array, Nodes


@dataclass(frozen=True, eq=False)
class GaussianSites:
    """Gaussian factors in place of the labels' likelihoods; ``source`` of `graphuq.approximate`.

    Attributes
    ----------
    precision, shift : ndarray, shape (J,) or (J, K)
        tau and nu of exp(nu_j u_j - tau_j u_j^2 / 2), which replaces label j's likelihood; for
        K > 2 classes pi and b of `graphuq.propagation.gaussian_sites`.
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
    >>> sites = gq.approximate(prior, gq.Probit(gamma=0.1), labels).sites
    >>> sites
    GaussianSites(6 labels, log evidence -2.30)
    >>> sites.precision.shape, sites.leave_one_out.shape
    ((6,), (6,))
    >>> next(sites.latent(prior, labels, np.array([5, 8]), draws=10, seed=0)).shape
    (10, 2)

    The sites of two labels, one of which is new:

    >>> more = gq.Labels([labels.nodes[0], 99], [labels.values[0], 1])
    >>> precision, shift = sites.moved(labels, more)
    >>> bool(precision[0] == sites.precision[0]), float(precision[1])
    (True, 0.0)
    """

    precision: Array
    shift: Array
    leave_one_out: Array
    log_evidence: LogEvidence

    def moved(self, labels: Labels, other: Labels) -> tuple[Array, Array] | None:
        """Return precision and shift of ``other`` labels: 0 where these ``labels`` lack them.

        None where the classes are others.
        """
        if not np.array_equal(labels.classes, other.classes):
            return None
        precision, shift = np.zeros((2, len(other), *self.precision.shape[1:]))
        _, old, new = np.intersect1d(labels.nodes, other.nodes, return_indices=True)
        same = labels.values[old] == other.values[new]
        precision[new[same]] = self.precision[old[same]]
        shift[new[same]] = self.shift[old[same]]
        return precision, shift

    def latent(
        self, prior: GaussianPrior, labels: Labels, nodes: Nodes, draws: int, seed: Any
    ) -> Iterator[Array]:
        """Return draws of the latent field at ``nodes``; see `Posterior.latent_draws`."""
        require_gain_memory(len(labels), nodes.size, prior.field.weights.size)
        return self._drawn(prior, labels, nodes, draws, np.random.default_rng(seed))

    def _drawn(
        self,
        prior: GaussianPrior,
        labels: Labels,
        nodes: Nodes,
        draws: int,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        n_fields = label_rule(labels).n_fields
        with one_blas_thread():
            given = Given(prior.field, labels.nodes, nodes)
            root = prior.root(labels.nodes)
            if n_fields == 1:
                draw: Callable[..., Array]
                mean, spread, _ = at_labeled(root, self.precision, self.shift)
                draw = partial(_draw_field, mean, spread)
            else:
                draw = classes_at_labeled(root, self.precision, self.shift).draw
        block = draws_at_a_time(nodes.size * n_fields)
        for start in range(0, draws, block):
            with one_blas_thread():
                at_labels = draw(min(block, draws - start), rng)
                fields = given.trace(at_labels, rng)[1]
            yield fields[:, 0] if n_fields == 1 else np.swapaxes(fields, 1, 2)

    def __repr__(self) -> str:
        return f"GaussianSites({len(self.precision)} labels, log evidence {self.log_evidence:.2f})"


def _draw_field(mean: Array, spread: Array, size: int, rng: np.random.Generator) -> Array:
    """Return draws of the field at the labeled nodes, shape (size, 1, J)."""
    white = rng.standard_normal((size, spread.shape[1]))
    return np.asarray((mean + white @ spread.T)[:, None])
