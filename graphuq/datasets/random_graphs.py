"""Random graphs with known classes, and a chain with a weak link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    from graphuq.graphs import Graph


def planted_partition(
    sizes: Sequence[int] = (100, 100),
    within: float = 0.7,
    between: float = 0.3,
    *,
    seed: validation.Seed = None,
) -> tuple[Graph, NDArray[np.int64]]:
    """Draw a graph of clusters, with one edge probability inside and one between clusters.

    Alaíz, Fanuel and Suykens 2016 use two clusters of 100 nodes with probabilities 0.7 and 0.3 or
    0.5 in section 4.2, and three clusters with 0.3 and 0.05 as "synth" in Table 1.

    Parameters
    ----------
    sizes : sequence of int
        Number of nodes of each cluster.
    within, between : float
        Probability of an edge between two nodes of one cluster, and of different clusters.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Dense, with weights 0 and 1. It may be disconnected if probabilities are small.
    y : ndarray of int, shape (n,)
        The cluster of each node, from 0.

    Raises
    ------
    ValueError
        Sizes below 1, or numbers that are not probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.planted_partition([30, 20, 10], within=0.5, between=0.05, seed=0)
    >>> graph
    Graph(60 nodes, 396 edges, dense)
    >>> np.bincount(y)
    array([30, 20, 10])
    """
    from graphuq.graphs import Graph

    sizes = [validation.integer("sizes", size, 1) for size in _as_list("sizes", sizes)]
    validation.between("within", within, 0, 1)
    validation.between("between", between, 0, 1)
    _check_memory(sum(sizes))
    y = np.repeat(np.arange(len(sizes)), sizes)
    probability = np.where(y[:, None] == y, within, between)
    return Graph(_draw_edges(np.random.default_rng(validation.seed_sequence(seed)), probability)), y


def weak_link_chain(half: int = 10, weight: float = 0.1) -> tuple[Graph, NDArray[np.int64]]:
    """Return two paths, and a weak edge from the end of one to the start of the other.

    Alaíz, Fanuel and Suykens 2016, Figure 2.

    Parameters
    ----------
    half : int
        Number of nodes of each path, whose edges have weight 1.
    weight : float
        Weight of the edge between the paths.

    Returns
    -------
    graph : Graph
    y : ndarray of int, shape (2 half,)
        0 on the first path, 1 on the second.

    Raises
    ------
    ValueError
        ``half`` below 1, or a weight that is not positive.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.weak_link_chain(3)
    >>> graph.adjacency.diagonal(1)
    array([1. , 1. , 0.1, 1. , 1. ])
    >>> y
    array([0, 0, 0, 1, 1, 1])
    """
    from graphuq.graphs import Graph

    validation.integer("half", half, 1)
    validation.positive("weight", weight)
    _check_memory(2 * half)
    weights = np.ones(2 * half - 1)
    weights[half - 1] = weight
    return Graph(np.diag(weights, 1) + np.diag(weights, -1)), np.repeat([0, 1], half)


def near_constant_degree(
    errors: float = 1.0,
    *,
    classes: int = 10,
    size: int = 200,
    degrees: tuple[float, float] = (10, 100),
    seed: validation.Seed = None,
) -> tuple[Graph, NDArray[np.int64]]:
    """Draw a graph whose degrees are nearly constant in each class and differ between classes.

    Ando and Zhang 2007, Figure 1a, which does not state sizes and degrees.

    Parameters
    ----------
    errors : float
        Expected number of edges to other classes for each edge within a class.
    classes, size : int
        Number of classes, and of nodes in each class.
    degrees : (float, float)
        Expected number of edges of a node within the first class and within the last; linear in
        between.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Sparse, with weights 0 and 1. It may be disconnected: take its largest component.
    y : ndarray of int, shape (classes * size,)

    Raises
    ------
    ValueError
        Numbers out of range, or degrees too high for the number of nodes.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.near_constant_degree(classes=4, size=50, degrees=(5, 20), seed=0)
    >>> graph
    Graph(200 nodes, 2388 edges, sparse)
    """
    from graphuq.graphs import Graph

    y = _check_classes(classes, size)
    low, high = (validation.between("degrees", degree, 0, size) for degree in _as_pair(degrees))
    degree = np.linspace(low, high, classes)[y]
    errors = validation.between("errors", errors, 0, (y.size - size) / max(low, high, 1.0))
    # probabilities that give the expected degrees within classes, and the errors between them
    within = np.equal.outer(y, y) * degree / size
    between = np.not_equal.outer(y, y) * errors * np.sqrt(np.outer(degree, degree))
    rng = np.random.default_rng(validation.seed_sequence(seed))
    edges = _draw_edges(rng, within + between / (y.size - size))
    return Graph(sparse.csr_array(edges)), y


def core_satellite(
    cores: int = 100,
    links: float = 5.0,
    errors: float = 5.0,
    *,
    classes: int = 10,
    size: int = 200,
    core_degree: float = 40.0,
    seed: validation.Seed = None,
) -> tuple[Graph, NDArray[np.int64]]:
    """Draw a graph of dense cores, and satellites with few edges to them and to each other.

    Ando and Zhang 2007, Figure 1b, which does not state sizes and degrees.

    Parameters
    ----------
    cores : int
        Number of core nodes in each class; the others are satellites.
    links, errors : float
        Expected number of edges of a satellite: to cores of its class, and to satellites of other
        classes.
    classes, size : int
        Number of classes, and of nodes in each class.
    core_degree : float
        Expected number of edges of a core node to cores of its class.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Sparse, with weights 0 and 1. It may be disconnected: take its largest component.
    y : ndarray of int, shape (classes * size,)

    Raises
    ------
    ValueError
        Numbers out of range, or degrees too high for the number of nodes.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.core_satellite(20, 2, 2, classes=4, size=50, core_degree=10, seed=0)
    >>> graph
    Graph(200 nodes, 763 edges, sparse)
    """
    from graphuq.graphs import Graph

    y = _check_classes(classes, size)
    validation.integer("cores", cores, 1, size - 1)
    validation.between("links", links, 0, cores)
    validation.between("core_degree", core_degree, 0, cores)
    others = (classes - 1) * (size - cores)
    validation.between("errors", errors, 0, others)
    core = np.arange(y.size) % size < cores
    same = np.equal.outer(y, y)
    tight, weak = np.logical_and.outer(core, core), np.logical_xor.outer(core, core)
    wrong = np.logical_and.outer(~core, ~core) & ~same
    # edges between cores of a class, between its cores and satellites, and wrong ones
    probability = core_degree / cores * (same & tight) + links / cores * (same & weak)
    probability += errors / others * wrong
    rng = np.random.default_rng(validation.seed_sequence(seed))
    return Graph(sparse.csr_array(_draw_edges(rng, probability))), y


def _check_classes(classes: int, size: int) -> NDArray[np.int64]:
    validation.integer("classes", classes, 2)
    validation.integer("size", size, 2)
    _check_memory(classes * size)
    return np.repeat(np.arange(classes), size)


def _draw_edges(rng: np.random.Generator, probability: Array) -> Array:
    # one draw for each pair of nodes
    edges = np.triu(rng.random(probability.shape) < probability, 1).astype(float)
    return edges + edges.T


def _as_list(name: str, values: Any) -> list[Any]:
    if np.ndim(values) != 1 or not len(values):
        raise ValueError(f"{name} must be a list of numbers, such as [50, 50], got {values!r}")
    return list(values)


def _as_pair(degrees: Any) -> list[Any]:
    pair = _as_list("degrees", degrees)
    if len(pair) != 2:
        raise ValueError(
            f"degrees must be a pair (lowest, highest), such as (10, 100), got {degrees!r}"
        )
    return pair


def _check_memory(n: int) -> None:
    """Refuse graphs whose dense matrices of random numbers do not fit into memory."""
    require_memory(6 * 8 * n**2, f"a random graph of {n} nodes", "take fewer nodes")
