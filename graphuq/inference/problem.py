"""What is inferred: prior, likelihood and labels, checked and bound once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.foreign import is_foreign
from graphuq.inference.checks import (
    bind_checked,
    check_components,
    require_prior_and_labels,
)
from graphuq.inference.parameter_ranges import fix_idle
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import Bound, fingerprint, open_parameters
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.node_names import check_names, node_numbers
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Conditional
from graphuq.priors.given_modes import GivenModes, is_latent_prior
from graphuq.samplers.protocol import Sampler, Target
from graphuq.utils.fingerprint import array_fingerprint
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Nodes


def choose_parameters(prior: Any, likelihood: Any, labels: Any) -> tuple[Any, Any]:
    """Return prior and likelihood with the parameters that are "auto" chosen from the labels.

    A Spectrum or Graph stands for `Prior.projected` with alpha and tau open, and a level.
    """
    require_prior_and_labels(prior, labels)
    if isinstance(prior, GaussianPrior):
        prior = fix_idle(prior)
        if not prior.open and not open_parameters(likelihood):
            return prior, likelihood
    from graphuq.inference.tune import tune  # a dozen files, of which numbers need none

    found = tune(prior, labels, likelihood)
    return found.prior, found.likelihood


@dataclass(frozen=True, eq=False)
class Problem:
    """A prior, a likelihood and labels that fit together.

    Attributes
    ----------
    prior : GaussianPrior
    likelihood : likelihood
        Like the prior, with all parameters chosen.
    labels : Labels
    bound : Bound
        The likelihood joined with the labels.
    traced : ndarray of int
        The nodes that the user named, whose field is traced.
    names : ndarray of str, optional
        Names of the nodes, if the prior has some.
    """

    prior: GaussianPrior
    likelihood: Likelihood
    labels: Labels
    bound: Bound
    traced: Nodes
    names: NDArray[np.str_] | None = None

    @classmethod
    def check(cls, prior: Any, likelihood: Any, labels: Labels, nodes: Any = ()) -> Problem:
        """Return the problem; the labels choose the parameters that are "auto".

        Raises
        ------
        TypeError, ValueError
            Arguments that do not fit together.
        """
        prior = Graph.of(prior) if is_foreign(prior) else prior
        require_prior_and_labels(prior, labels)
        names = None if prior.names is None else check_names(prior.names, prior.n_nodes)
        traced = node_numbers(nodes, names, prior.n_nodes)
        prior, likelihood = choose_parameters(prior, likelihood, labels)
        bound = bind_checked(prior, likelihood, labels)
        prior = prior.with_labeled(labels.nodes)
        check_components(prior, labels)
        if bound.nodes is None:
            prior.require_here(type(likelihood).__name__)
        return cls(prior, likelihood, labels, bound, traced, names)

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify the labels, the traced nodes and the potential."""
        labels = self.labels
        return {
            "labels": array_fingerprint(
                *(labels.nodes, labels.values, labels.classes),
                *(() if labels.confidence is None else (labels.confidence,)),
            ),
            "nodes": array_fingerprint(self.traced),
            "potential": fingerprint(self.bound, self.prior.n_nodes),
        }

    def conditional(self, noise: float) -> Conditional:
        """Return the law of the field at all nodes, given the noisy field that is read."""
        with one_blas_thread():  # the number of BLAS threads changes last digits
            return self.prior.conditional(self.bound.nodes, self.traced, noise)

    def sampled_by(self, sampler: Sampler) -> tuple[Conditional, Target]:
        """Return the law of the field at all nodes given what a sampler draws, and its target.

        Raises
        ------
        ValueError
            The sampler draws modes, and those of the prior do not determine the field.
        """
        noise = sampler.noise(self.bound)
        if not sampler.samples_modes:
            conditional = self.conditional(noise)
            return conditional, Target(conditional.law, self.bound)
        if not is_latent_prior(self.prior):
            raise ValueError(
                f"gq.{type(sampler).__name__} needs a prior whose modes determine the field, such "
                f"as gq.Prior.projected, or one plus gq.Level(), got {self.prior!r}: use "
                "gq.Harmonic or gq.HilbertHMC"
            )
        conditional = GivenModes(self.prior, self.traced)
        loadings = np.ascontiguousarray(self.prior.mode_loadings(self.bound.nodes))
        return conditional, Target(conditional.law, self.bound, loadings=loadings)
