"""The draws of a sampled posterior: traces of all chains, side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import label_rule
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given import Conditional, Given, draws_at_a_time, require_gain_memory
from graphuq.priors.given_modes import GivenModes, append_parameters
from graphuq.utils.typing import Array, Nodes


@dataclass(frozen=True, eq=False)
class Draws:
    """Traces of all chains; ``Posterior.source`` of `graphuq.sample` and `sample_jointly`.

    Attributes
    ----------
    modes : ndarray, shape (chains, draws, r) or (chains, draws, r, K)
        The mode coefficients z: standard normal under the prior.
    field : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        u at the traced nodes.
    read : ndarray, shape (chains, draws, m) or (chains, draws, m, K)
        What determines the field where the modes do not, as with features or under
        `Prior.approximated`: the sampled field at the labeled nodes, noise before the threshold
        included. If hyperparameters were sampled, it is z of all columns of the prior, followed by
        the prior's parameters. Else m = 0.
    stats : dict of ndarray, shape (chains, draws)
        ``lp`` (log posterior density of the field read, up to a constant), ``potential``,
        ``acceptance_rate`` and statistics of the sampler.
    hyperparameters : dict of ndarray, shape (chains, draws)
        The parameters that `graphuq.sample_jointly` sampled with the field, whose means the
        posterior's ``settings`` hold; empty for `graphuq.sample`.
    traced : ndarray of int, shape (m,)
        The nodes whose field was traced.
    running_mean_change : ndarray, shape (chains, batches)
        |mean of u after k T steps - after (k - 1) T steps|, eq. (16), with T of the posterior's
        ``settings``.
    complete : bool
        False if the run was interrupted.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, nodes=[5, 8], seed=0, progress=False)
    >>> post.draws.modes.shape, post.draws.field.shape, post.draws.shape
    ((4, 1000, 20), (4, 1000, 2), (4, 1000))
    >>> post.draws
    Draws(4 chains x 1000 draws, 20 modes, 2 traced nodes)
    >>> post.draws.thinned(10).shape
    (4, 100)
    >>> post.draws.complete, sorted(post.draws.stats)[:2]
    (True, ['acceptance_rate', 'lp'])
    >>> next(post.draws.latent(prior, labels, np.array([5, 8]), noise=0.1, seed=0)).shape
    (256, 2)
    """

    modes: Array
    field: Array
    read: Array
    stats: Mapping[str, Array]
    hyperparameters: Mapping[str, Array]
    traced: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))
    running_mean_change: Array = dataclasses.field(default_factory=lambda: np.empty((0, 0)))
    complete: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Number of chains, and of draws of each."""
        chains, draws = self.modes.shape[:2]
        return chains, draws

    def thinned(self, every: int) -> Draws:
        """Return each ``every``-th draw of each chain."""
        part = slice(None), slice(None, None, every)
        return dataclasses.replace(
            self,
            modes=self.modes[part],
            field=self.field[part],
            read=self.read[part],
            stats={name: values[part] for name, values in self.stats.items()},
            hyperparameters={name: values[part] for name, values in self.hyperparameters.items()},
        )

    def latent(
        self, prior: GaussianPrior, labels: Labels, nodes: Nodes, noise: float, seed: Any
    ) -> Iterator[Array]:
        """Return draws of the latent field at ``nodes``; see `Posterior.latent_draws`.

        Parameters
        ----------
        prior : GaussianPrior
        labels : Labels
        nodes : ndarray of int
        noise : float
            Deviation of the noise in ``read``.
        seed : SeedSequence
        """
        if not (prior.modes_determine_field or self.hyperparameters):
            if not self.read.size:
                raise ValueError(
                    "the fields were not kept: this likelihood reads all nodes, and under "
                    "Prior.approximated modes do not determine them; name nodes=... to gq.sample"
                )
            require_gain_memory(len(labels), nodes.size, self.modes.shape[2])
        return self._drawn(prior, labels, nodes, noise, np.random.default_rng(seed))

    def _drawn(
        self,
        prior: GaussianPrior,
        labels: Labels,
        nodes: Nodes,
        noise: float,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        names = tuple(name for name in self.hyperparameters if name in prior.parameters)
        source = self.modes if prior.modes_determine_field else self.read
        given: Conditional | None = None
        if self.hyperparameters:
            given = GivenModes(prior, nodes, names)
        elif not prior.modes_determine_field:
            given = Given(prior.field, labels.nodes, nodes, noise)
        else:
            loadings = prior.mode_loadings(nodes).T
        n_fields = label_rule(labels).n_fields
        block, (chains, draws) = draws_at_a_time(nodes.size * n_fields), self.shape
        for chain in range(chains):
            for start in range(0, draws, block):
                part = slice(start, start + block)
                drawn = source[chain, part]
                fields = np.swapaxes(drawn.reshape(*drawn.shape[:2], n_fields), 1, 2)
                if names and prior.modes_determine_field:  # else what was read has them
                    own = [self.hyperparameters[name][chain, part] for name in names]
                    fields = append_parameters(fields, np.column_stack(own))
                found = fields @ loadings if given is None else given.trace(fields, rng)[1]
                yield found[:, 0] if n_fields == 1 else np.swapaxes(found, 1, 2)

    def __repr__(self) -> str:
        chains, draws = self.shape
        return (
            f"Draws({chains} chains x {draws} draws, {self.modes.shape[2]} modes, "
            f"{self.traced.size} traced nodes)"
        )
