"""What a report is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.graphs import Graph
from graphuq.node_posterior import NodePosterior
from graphuq.prior import Prior


@dataclass(frozen=True, eq=False)
class Subject:
    """A posterior, and what else is known of its nodes."""

    posterior: NodePosterior
    names: NDArray[Any]
    truth: NDArray[Any] | None
    images: NDArray[np.float64] | None
    prior: Prior | None
    graph: Graph | None
    command: str | None

    @classmethod
    def checked(
        cls,
        posterior: NodePosterior,
        *,
        names: Any,
        truth: Any,
        images: Any,
        shape: tuple[int, int] | None,
        prior: Any,
        graph: Any,
        command: str | None,
    ) -> Subject:
        """Return the subject, if all of it fits the posterior."""
        n = posterior.n_nodes
        names = np.arange(n) if names is None else np.asarray(names)
        if names.shape != (n,):
            raise ValueError(f"names must name {n} nodes, got shape {names.shape}")
        if truth is not None:
            posterior.labels.unlabelled_truth(truth, n)
            truth = np.asarray(truth)
        if images is not None:
            images = validation.images(images, n, shape)
        if prior is not None and (not isinstance(prior, Prior) or prior.n_nodes != n):
            raise ValueError(
                f"prior must be a gq.Prior on the posterior's {n} nodes, got {prior!r}"
            )
        if graph is not None:
            graph = Graph.of(graph)
            if graph.n_nodes != n:
                raise ValueError(f"graph must have the posterior's {n} nodes, got {graph.n_nodes}")
        return cls(posterior, names, truth, images, prior, graph, command)

    @property
    def hidden(self) -> NDArray[np.int64]:
        """Unlabelled nodes, most uncertain first."""
        order = self.posterior.ranking()
        return order[~np.isin(order, self.posterior.labels.nodes)]
