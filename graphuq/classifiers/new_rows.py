"""Class probabilities of new rows of features, connected to the graph by its own rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.neighbors import Neighbors
from graphuq.likelihoods.label_rule import label_rule
from graphuq.posterior.new_items import join, new_probability
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.features import require_squarable
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array


def classify_new_rows(
    posterior: Any, prior: GaussianPrior, graph: Graph, neighbors: Neighbors, X: Array
) -> Array:
    """Return the class probabilities of new rows, shape (m, K).

    A row that equals fitted ones gets their mean.

    Parameters
    ----------
    posterior : Posterior
    prior : Prior, FeaturePrior or SumPrior
        That of the posterior, on ``graph``.
    graph : Graph
        The graph of ``neighbors``.
    neighbors : Neighbors
        The fitted rows.
    X : ndarray, shape (m, d)
        Checked features.

    Examples
    --------
    >>> import graphuq as gq
    >>> from graphuq.graphs.construction import build_graph
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> neighbors = Neighbors(X[:90], 8, "self-tuning")
    >>> graph = build_graph(neighbors, connect=True)
    >>> prior = gq.Prior.projected(graph, rank=20, alpha=2.0)
    >>> quick = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y[:90], counts=5, seed=0))
    >>> p = classify_new_rows(quick, prior, graph, neighbors, X[90:])
    >>> p.shape, bool((p.argmax(axis=1) == y[90:]).mean() > 0.8)
    ((10, 2), True)
    """
    require_squarable(X)
    weights, same = neighbors.weigh_new(X)
    by_class = new_probability(posterior, prior, graph.degrees, weights, X)
    fitted = np.asarray(same.sum(axis=1) > 0)[:, None]
    return np.where(fitted, same @ posterior.by_class, by_class)


def draw_new_rows(
    posterior: Posterior,
    prior: GaussianPrior,
    graph: Graph,
    neighbors: Neighbors,
    X: Array,
    *,
    draws: int,
    seed: int,
) -> Array:
    """Return draws of the fields at new rows, shape (draws, m, C).

    Rows that equal fitted ones get draws of their joint posterior, in the mean over equal ones.
    Others are independent of each other, given the fields at the labeled nodes.

    Parameters
    ----------
    posterior, prior, graph, neighbors, X
        As `classify_new_rows`.
    draws : int
    seed : int

    Examples
    --------
    >>> import graphuq as gq
    >>> from graphuq.graphs.construction import build_graph
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> neighbors = Neighbors(X[:90], 8, "self-tuning")
    >>> graph = build_graph(neighbors, connect=True)
    >>> prior = gq.Prior.projected(graph, rank=20, alpha=2.0)
    >>> quick = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y[:90], counts=5, seed=0))
    >>> u = draw_new_rows(quick, prior, graph, neighbors, X, draws=500, seed=0)
    >>> u.shape, bool(abs(u[:, :90, 0].mean(axis=0) - quick.latent_mean).max() < 0.3)
    ((500, 100, 1), True)
    """
    require_squarable(X)
    weights, same = neighbors.weigh_new(X)
    labeled = posterior.labels.nodes
    nodes = np.union1d(labeled, same.tocoo().coords[1])
    blocks = posterior.latent_draws(prior, nodes, draws=draws, seed=seed)
    n_fields = label_rule(posterior.labels).n_fields
    fields = np.concatenate(list(blocks)).reshape(draws, nodes.size, n_fields)
    by_node = fields.transpose(1, 0, 2).reshape(nodes.size, draws * n_fields)
    found = (same[:, nodes] @ by_node).reshape(len(X), draws, n_fields).transpose(1, 0, 2)
    unseen = np.flatnonzero(same.sum(axis=1) == 0)
    if unseen.size:
        with one_blas_thread():
            items = join(posterior, prior, graph.degrees, weights[unseen], X[unseen])
            at_labels = fields[:, np.searchsorted(nodes, labeled)]
            found[:, unseen] = items.draw(at_labels, np.random.default_rng(seed))
    return found
