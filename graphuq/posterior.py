"""The sampled posterior: what is known of every node, and how far to trust it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import diagnostics as _diagnostics
from graphuq import validation
from graphuq.extension import FromLabelled, FromModes, draws_at_a_time, require_room
from graphuq.node_posterior import NodePosterior
from graphuq.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Posterior(NodePosterior):
    """A sampled posterior, which `graphuq.sample` makes: node statistics, and traces.

    Attributes
    ----------
    labels, mean, variance, probability, mcse, latent_mean, latent_variance, settings
        See `NodePosterior`.
    modes : ndarray, shape (chains, draws, r) or (chains, draws, r, K)
        Traces of the mode coefficients z: standard normal under the prior.
    traced : ndarray of int, shape (m,)
        The nodes whose field was traced.
    field : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        Traces of u there.
    read : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        Traces of the sampled field at the labelled nodes, noise before the threshold included,
        under `Prior.approximated`, whose field the modes do not determine; else m = 0.
    stats : dict of ndarray, shape (chains, draws)
        ``lp`` (log posterior density of the field read, up to a constant), ``potential``,
        ``acceptance_rate`` and the sampler's own.
    running_mean_change : ndarray, shape (chains, batches)
        |mean of u after k T steps - after (k - 1) T steps|, eq. (16), with T of ``settings``.
    complete : bool
        False if the run was interrupted.
    hyperparameters : dict of ndarray, shape (chains, draws)
        Traces of what `graphuq.sample_jointly` sampled along with the field; of `graphuq.sample`
        none. The settings then hold posterior means in their place.

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
    """

    modes: Array
    traced: NDArray[np.int64]
    field: Array
    read: Array
    stats: dict[str, Array]
    running_mean_change: Array
    complete: bool
    hyperparameters: dict[str, Array] = dataclasses.field(default_factory=dict)

    def diagnostics(self) -> _diagnostics.Diagnostics:
        """Return R-hat, effective sample size, acceptance and more; warn if they are poor.

        See `graphuq.diagnostics.Diagnostics`.

        Warns
        -----
        ConvergenceWarning
            With what was seen and what to do.
        """
        result = _diagnostics.diagnose(self)
        _diagnostics.warn(result.messages, stacklevel=3)
        return result

    def _own_prior(self, prior: Prior | None = None) -> Prior:
        """Return the prior that this is of; see `NodePosterior._own_prior`.

        Of hyperparameters that were sampled along, it has the means.
        """
        if isinstance(prior, Prior):
            names = [name for name in ("alpha", "tau") if name in self.hyperparameters]
            prior = prior.settled(**{name: self.settings["prior"][name] for name in names})
        return super()._own_prior(prior)

    def latent_draws(
        self, prior: Prior | None = None, nodes: Any = None, *, seed: validation.Seed = None
    ) -> Iterator[Array]:
        """Return draws of the latent field u at any nodes, a block at a time.

        Chain after chain, each draw belongs to the one of the same number in ``modes``. Not so
        under `Prior.approximated`, whose modes do not determine the field: there a draw belongs to
        the labelled nodes' field of the same number in ``read``, and all else is drawn afresh.

        Parameters
        ----------
        prior : Prior, optional
            The one that was sampled with, where the posterior was read from a file; of what was
            sampled along, its alpha and tau are not looked at.
        nodes : array_like of int, optional
            All nodes by default.
        seed : int, SeedSequence or Generator, optional

        Yields
        ------
        ndarray, shape (draws of the block, nodes), or of K > 2 classes (..., nodes, K)

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
        if prior.tail and not self.read.size:
            raise ValueError(
                "the fields were not kept: this likelihood reads all nodes, and under "
                "Prior.approximated modes do not determine them; name nodes=... to gq.sample"
            )
        if prior.tail:
            require_room(len(self.labels), wanted.size, self.modes.shape[2])
        rng = np.random.default_rng(validation.seed_sequence(seed))
        return self._drawn(prior, wanted, rng)

    def _drawn(
        self, prior: Prior, wanted: NDArray[np.int64], rng: np.random.Generator
    ) -> Iterator[Array]:
        names = tuple(name for name in ("alpha", "tau") if name in self.hyperparameters)
        if prior.tail:
            given = FromLabelled(prior, self.labels.nodes, wanted, self.settings["noise"])
        by_modes = FromModes(prior, wanted, names)
        parameters = [self.hyperparameters[name] for name in names]
        drawn = np.dstack([self.modes, *parameters]) if names else self.modes
        K = self.probability.shape[1] if self.probability.ndim == 2 else 1
        block = draws_at_a_time(wanted.size * K)
        for chain in range(self.modes.shape[0]):
            for start in range(0, self.modes.shape[1], block):
                part = slice(start, start + block)
                source = (self.read if prior.tail else drawn)[chain, part]
                if K > 1:  # one field after another
                    source = np.swapaxes(source, 1, 2).reshape(len(source) * K, -1)
                found = (given if prior.tail else by_modes).trace(source, rng)[1]
                if K > 1:
                    found = np.swapaxes(found.reshape(-1, K, wanted.size), 1, 2)
                yield found

    def __repr__(self) -> str:
        chains, draws = self.modes.shape[:2]
        cut = "" if self.complete else ", incomplete"
        return f"Posterior({self.n_nodes} nodes, {chains} chains x {draws} draws{cut})"
