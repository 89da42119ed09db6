"""The sampled posterior: statistics of every node, traces of the draws, and their diagnostics."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from graphuq.likelihoods.label_rule import label_rule
from graphuq.posterior.assessment.diagnostics import Diagnostics, diagnose
from graphuq.posterior.assessment.trust import Trust, trust_in_draws
from graphuq.posterior.call import Call
from graphuq.posterior.label_likelihood import MAX_TERMS, LabelDraws, label_draws
from graphuq.posterior.left_out import left_out_from_draws
from graphuq.posterior.node_posterior import NodePosterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Conditional, Given, draws_at_a_time, require_gain_memory
from graphuq.priors.given_modes import GivenModes, append_parameters
from graphuq.utils import validation
from graphuq.utils.typing import Array
from graphuq.utils.warnings import warn

if TYPE_CHECKING:
    from graphuq.posterior.new_items import NewItems


@dataclass(frozen=True, eq=False)
class Posterior(NodePosterior):
    """A sampled posterior, which `graphuq.sample` makes: node statistics, and traces.

    Attributes
    ----------
    labels, mean, variance, by_class, mcse, latent_mean, latent_variance, settings
        See `NodePosterior`.
    modes : ndarray, shape (chains, draws, r) or (chains, draws, r, K)
        Traces of the mode coefficients z: standard normal under the prior.
    traced : ndarray of int, shape (m,)
        The nodes whose field was traced.
    field : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        Traces of u there.
    read : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        What determines the field where the modes do not, as with features or under
        `Prior.approximated`: traces of the sampled field at the labeled nodes, noise before the
        threshold included. If hyperparameters were sampled, it is z of all columns of the prior,
        followed by the prior's parameters. Else m = 0.
    stats : dict of ndarray, shape (chains, draws)
        ``lp`` (log posterior density of the field read, up to a constant), ``potential``,
        ``acceptance_rate`` and statistics of the sampler.
    running_mean_change : ndarray, shape (chains, batches)
        |mean of u after k T steps - after (k - 1) T steps|, eq. (16), with T of ``settings``.
    complete : bool
        False if the run was interrupted.
    hyperparameters : dict of ndarray, shape (chains, draws)
        Traces of the parameters that `graphuq.sample_jointly` sampled with the field, whose
        posterior means ``settings`` holds; empty for `graphuq.sample`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, nodes=[5, 8], seed=0, progress=False)
    >>> post.modes.shape, post.field.shape
    ((4, 1000, 20), (4, 1000, 2))
    >>> bool(post.mcse.max() < 0.05), post.diagnostics().messages
    (True, ())
    >>> post.label_draws().log_likelihood.shape
    (4000, 6)
    """

    modes: Array
    traced: NDArray[np.int64]
    field: Array
    read: Array
    stats: dict[str, Array]
    running_mean_change: Array
    complete: bool
    hyperparameters: dict[str, Array] = dataclasses.field(default_factory=dict)

    @property
    def run(self) -> Self:
        """The draws and their diagnostics: this posterior itself."""
        return self

    @property
    def n_latent_draws(self) -> int:
        """Number of draws that `latent_draws` yields: those of all chains."""
        return self.modes.shape[0] * self.modes.shape[1]

    def diagnostics(self) -> Diagnostics:
        """Return R-hat, effective sample size, acceptance and more; warn if they are poor.

        See `graphuq.posterior.assessment.diagnostics.Diagnostics`.

        Warns
        -----
        ConvergenceWarning
            With what was seen and what to do.
        """
        warn(self._diagnostics.messages, stacklevel=3)
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        return diagnose(self)

    def trust(self) -> Trust:
        """Return how far the run can be trusted: a traffic light with reasons."""
        if self.labels.classes.size == 2:
            target = "an item's expected label (from -1 to +1)"
        else:
            target = "the probability of a class (or, under Ginzburg-Landau, of its field)"
        chains, draws = self.modes.shape[:2]
        return trust_in_draws(self._diagnostics, chains, draws, (float(self.mcse.max()), target))

    def call(self) -> Call:
        """Return the call of graphuq that makes this posterior again."""
        settings = self.settings
        length = "draws" if settings["target_ess"] is None else "target_ess"
        options = {name: settings[name] for name in (length, "chains", "warmup", "thin")}
        if self.traced.size:
            options["nodes"] = self.traced.tolist()
        seed = settings["seed_entropy"], tuple(settings["seed_spawn_key"])
        if not self.hyperparameters:
            return Call("sample", settings["sampler"], options, seed)
        options |= {name: tuple(ends) for name, ends in settings["ranges"].items()}
        return Call("sample_jointly", None, options, seed)

    def _arviz_groups(self) -> dict[str, Any]:
        from graphuq.posterior.to_arviz import groups_of_draws

        return groups_of_draws(self)

    def _flips_and_overlaps(self) -> tuple[Array, Array]:
        every = math.ceil(self._label_terms / MAX_TERMS)
        if not isinstance(self.prior, GaussianPrior):
            unknown = np.full(len(self.labels), np.nan)
            return unknown, unknown
        found = label_draws(self, self.prior, self._own_seed(), every)
        return found.mistake.mean(axis=0), found.overlap.mean(axis=0)

    def label_draws(self) -> LabelDraws | None:
        """Return what each draw says of the labels; None where that is not known.

        It needs a sign model and the prior, and at most `MAX_TERMS` draws x labels x classes.
        """
        known = self.settings["sign_model"] and isinstance(self.prior, GaussianPrior)
        if not known or self._label_terms > MAX_TERMS:
            return None
        return label_draws(self, self.prior, self._own_seed())

    @property
    def _label_terms(self) -> int:
        """Number of draws x labels x classes."""
        return self.n_latent_draws * len(self.labels) * label_rule(self.labels).n_fields

    def _own_seed(self) -> np.random.SeedSequence:
        """Return the seed of the run."""
        own = self.settings
        return np.random.SeedSequence(own["seed_entropy"], spawn_key=own["seed_spawn_key"])

    def _left_out(self, prior: GaussianPrior) -> Array:
        if self.hyperparameters:
            raise ValueError(
                "hyperparameters were sampled, and predictions of labels need one prior: take "
                "those of gq.sample(...) or gq.approximate(...)"
            )
        return left_out_from_draws(self, prior, self._own_seed())

    def _new_by_class(self, prior: GaussianPrior, items: NewItems) -> Array:
        rng = np.random.default_rng(self._own_seed())
        total = np.zeros((items.n, self.labels.classes.size))
        for block in self.latent_draws(prior, self.labels.nodes, seed=rng):
            total += items.by_class_from_draws(block, rng)
        return total / self.n_latent_draws

    def _own_prior(self, given: GaussianPrior | None = None) -> GaussianPrior:
        """Return the prior of this posterior, with the means of hyperparameters that were sampled.

        See `NodePosterior._own_prior`.
        """
        if isinstance(given, GaussianPrior):
            own = self.settings["prior"]
            values = {**own, "weight": own.get("weights", [1.0])[0]}
            names = [name for name in self.hyperparameters if name in given.parameters]
            given = given.with_parameters(**{name: values[name] for name in names})
        return super()._own_prior(given)

    def latent_draws(
        self, prior: GaussianPrior | None = None, nodes: Any = None, *, seed: validation.Seed = None
    ) -> Iterator[Array]:
        """Return draws of the latent field u at any nodes, a block at a time.

        Chain after chain, each draw belongs to the draw of the same number in ``modes``. Under
        `Prior.approximated` the modes do not determine the field: there it belongs to the labeled
        nodes' field of the same number in ``read``, and the rest is drawn again.

        Parameters
        ----------
        prior : Prior, optional
            The prior that was sampled with; needed if the posterior was read from a file. Its
            alpha, tau and level are ignored where they were sampled too.
        nodes : array_like of int, optional
            All nodes by default.
        seed : int, SeedSequence or Generator, optional

        Yields
        ------
        ndarray, shape (draws of the block, nodes), or (..., nodes, K) for K > 2 classes

        Raises
        ------
        ValueError
            Another prior; a likelihood that reads all nodes under `Prior.approximated`, whose
            fields were not kept.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> labels = gq.reveal(y, counts=3, seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
        >>> [block.shape for block in post.latent_draws(prior, nodes=[5, 8])][:2]
        [(256, 2), (256, 2)]
        """
        prior = self._own_prior(prior)
        wanted = np.arange(self.n_nodes) if nodes is None else nodes
        wanted = validation.node_ids("nodes", wanted, self.n_nodes)
        if not (prior.modes_determine_field or self.hyperparameters or self.read.size):
            raise ValueError(
                "the fields were not kept: this likelihood reads all nodes, and under "
                "Prior.approximated modes do not determine them; name nodes=... to gq.sample"
            )
        if not (prior.modes_determine_field or self.hyperparameters):
            require_gain_memory(len(self.labels), wanted.size, self.modes.shape[2])
        rng = np.random.default_rng(validation.seed_sequence(seed))
        return self._drawn(prior, wanted, rng)

    def _drawn(
        self, prior: GaussianPrior, wanted: NDArray[np.int64], rng: np.random.Generator
    ) -> Iterator[Array]:
        names = tuple(name for name in self.hyperparameters if name in prior.parameters)
        source = self.modes if prior.modes_determine_field else self.read
        given: Conditional | None = None
        if self.hyperparameters:
            given = GivenModes(prior, wanted, names)
        elif not prior.modes_determine_field:
            given = Given(prior.field, self.labels.nodes, wanted, self.settings["noise"])
        else:
            loadings = prior.mode_loadings(wanted).T
        n_fields = label_rule(self.labels).n_fields
        block = draws_at_a_time(wanted.size * n_fields)
        for chain in range(self.modes.shape[0]):
            for start in range(0, self.modes.shape[1], block):
                part = slice(start, start + block)
                drawn = source[chain, part]
                fields = np.swapaxes(drawn.reshape(*drawn.shape[:2], n_fields), 1, 2)
                if names and prior.modes_determine_field:  # else what was read has them
                    own = [self.hyperparameters[name][chain, part] for name in names]
                    fields = append_parameters(fields, np.column_stack(own))
                found = fields @ loadings if given is None else given.trace(fields, rng)[1]
                yield found[:, 0] if n_fields == 1 else np.swapaxes(found, 1, 2)

    def __repr__(self) -> str:
        chains, draws = self.modes.shape[:2]
        cut = "" if self.complete else ", incomplete"
        return f"Posterior({self.n_nodes} nodes, {chains} chains x {draws} draws{cut})"
