"""Protocols of results and of draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.utils.typing import Array


class Predictions(Protocol):
    """A class for every node: of a sampled or approximate posterior, a MAP estimate, a classifier.

    `graphuq.posterior.predictions.PredictionMixin` derives the rest from ``labels`` and
    ``by_class``.
    """

    @property
    def labels(self) -> Labels:
        """What was observed."""
        ...

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        ...

    @property
    def by_class(self) -> Array | None:
        """Probabilities of ``labels.classes``, shape (N, K); None where there are none."""
        ...

    @property
    def prediction(self) -> NDArray[Any]:
        """The predicted class of every node, shape (N,)."""
        ...

    def accuracy(self, truth: Any) -> float:
        """Return the share of unlabeled nodes whose prediction is right."""
        ...


class Traces(Protocol):
    """The draws of all chains, side by side; see `Posterior`."""

    @property
    def modes(self) -> Array:
        """Coefficients of the modes, shape (chains, draws, r) or (chains, draws, r, K)."""
        ...

    @property
    def field(self) -> Array:
        """The latent field at the traced nodes."""
        ...

    @property
    def stats(self) -> Mapping[str, Array]:
        """Statistics of the sampler by name, each of shape (chains, draws)."""
        ...

    @property
    def hyperparameters(self) -> Mapping[str, Array]:
        """Sampled hyperparameters by name, each of shape (chains, draws)."""
        ...


class Run(Traces, Protocol):
    """A run of a sampler: its draws, its settings, and whether it ended as planned."""

    @property
    def traced(self) -> NDArray[Any]:
        """The traced nodes."""
        ...

    @property
    def running_mean_change(self) -> Array:
        """Eq. (16), shape (chains, batches)."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was run."""
        ...

    @property
    def complete(self) -> bool:
        """False if the run was interrupted."""
        ...

    def diagnostics(self) -> Any:
        """Return the `Diagnostics`; warn if they are poor."""
        ...


class LatentDraws(Protocol):
    """A posterior that can draw its latent field at any nodes."""

    @property
    def labels(self) -> Labels:
        """What was observed."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was run."""
        ...

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        ...

    @property
    def variance(self) -> Array:
        """Variance of the label of every node."""
        ...

    @property
    def n_latent_draws(self) -> int:
        """Number of draws that ``latent_draws`` yields."""
        ...

    def ranking(self, by: str) -> NDArray[Any]:
        """Return all nodes, most uncertain first."""
        ...

    def latent_draws(self, prior: Any, nodes: Any, *, seed: Any) -> Iterator[Array]:
        """Yield draws of the field at ``nodes``, a block at a time."""
        ...
