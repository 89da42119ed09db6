"""Graphs drawn at random with known classes, and a chain with a weak link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq import validation

if TYPE_CHECKING:
    from graphuq.graphs import Graph


def planted_partition(
    sizes: Sequence[int] = (100, 100),
    within: float = 0.7,
    between: float = 0.3,
    *,
    seed: validation.Seed = None,
) -> tuple[Graph, NDArray[np.int64]]:
    """Draw a graph of clusters, in which nodes are joined with one of two probabilities.

    Alaíz, Fanuel and Suykens 2016 have two clusters of 100 nodes, with 0.7 and 0.3 or 0.5, in
    section IV-C and three, with 0.3 and 0.05, as "synth" in Table 1.

    Parameters
    ----------
    sizes : sequence of int
        Nodes of each cluster.
    within, between : float
        Probability that two nodes are joined, of one cluster and of two.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Dense, with weights 0 and 1. May fall apart where probabilities are small.
    y : ndarray of int, shape (n,)
        The cluster of each node, from 0.

    Raises
    ------
    ValueError
        Sizes below 1, or no probabilities.

    Examples
    --------
    >>> graph, y = planted_partition([30, 20, 10], within=0.5, between=0.05, seed=0)
    >>> graph
    Graph(60 nodes, 396 edges, dense)
    >>> np.bincount(y)
    array([30, 20, 10])
    """
    from graphuq.graphs import Graph

    sizes = [validation.integer("sizes", size, 1) for size in _listed("sizes", sizes)]
    validation.between("within", within, 0, 1)
    validation.between("between", between, 0, 1)
    _check_memory(sum(sizes))
    y = np.repeat(np.arange(len(sizes)), sizes)
    probability = np.where(y[:, None] == y, within, between)
    return Graph(
        _random_links(np.random.default_rng(validation.seed_sequence(seed)), probability)
    ), y


def weak_link_chain(half: int = 10, weight: float = 0.1) -> tuple[Graph, NDArray[np.int64]]:
    """Return two paths, with a weak link from the end of one to the start of the other.

    Alaíz, Fanuel and Suykens 2016, Figure 2.

    Parameters
    ----------
    half : int
        Nodes of each path, whose links have weight 1.
    weight : float
        Of the link between.

    Returns
    -------
    graph : Graph
    y : ndarray of int, shape (2 half,)
        0 on the first path, 1 on the second.

    Raises
    ------
    ValueError
        No node, or a weight that is not positive.

    Examples
    --------
    >>> graph, y = weak_link_chain(3)
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
    """Draw a graph whose degrees are about constant in each class, and differ between classes.

    Ando and Zhang 2007, Figure 1a; sizes and degrees are not stated there.

    Parameters
    ----------
    errors : float
        Links to nodes of other classes for each link within a class, about.
    classes, size : int
        Number of classes, and of nodes of each.
    degrees : (float, float)
        Expected links within, of the first class and of the last; linear between.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Sparse, with weights 0 and 1. Take its largest component.
    y : ndarray of int, shape (classes * size,)

    Raises
    ------
    ValueError
        Numbers out of range, or degrees that nodes are too few for.

    Examples
    --------
    >>> graph, y = near_constant_degree(classes=4, size=50, degrees=(5, 20), seed=0)
    >>> graph
    Graph(200 nodes, 2388 edges, sparse)
    """
    from graphuq.graphs import Graph

    y = _classes(classes, size)
    low, high = (validation.between("degrees", degree, 0, size) for degree in _pair(degrees))
    degree = np.linspace(low, high, classes)[y]
    errors = validation.between("errors", errors, 0, (y.size - size) / max(low, high, 1.0))
    within = np.equal.outer(y, y) * degree / size
    between = np.not_equal.outer(y, y) * errors * np.sqrt(np.outer(degree, degree))
    rng = np.random.default_rng(validation.seed_sequence(seed))
    links = _random_links(rng, within + between / (y.size - size))
    return Graph(sparse.csr_array(links)), y


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
    """Draw a graph of tight cores, with satellites that hang on them, and on each other, weakly.

    Ando and Zhang 2007, Figure 1b; sizes and degrees are not stated there.

    Parameters
    ----------
    cores : int
        Nodes of each class that are core; the others are satellites.
    links, errors : float
        Expected links of a satellite: to cores of its class, and to satellites of other classes.
    classes, size : int
        Number of classes, and of nodes of each.
    core_degree : float
        Expected links of a core to cores of its class.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    graph : Graph
        Sparse, with weights 0 and 1. Take its largest component.
    y : ndarray of int, shape (classes * size,)

    Raises
    ------
    ValueError
        Numbers out of range, or degrees that nodes are too few for.

    Examples
    --------
    >>> graph, y = core_satellite(20, 2, 2, classes=4, size=50, core_degree=10, seed=0)
    >>> graph
    Graph(200 nodes, 763 edges, sparse)
    """
    from graphuq.graphs import Graph

    y = _classes(classes, size)
    validation.integer("cores", cores, 1, size - 1)
    validation.between("links", links, 0, cores)
    validation.between("core_degree", core_degree, 0, cores)
    others = (classes - 1) * (size - cores)
    validation.between("errors", errors, 0, others)
    core = np.arange(y.size) % size < cores
    same = np.equal.outer(y, y)
    tight, weak = np.logical_and.outer(core, core), np.logical_xor.outer(core, core)
    wrong = np.logical_and.outer(~core, ~core) & ~same
    probability = core_degree / cores * (same & tight) + links / cores * (same & weak)
    probability += errors / others * wrong
    rng = np.random.default_rng(validation.seed_sequence(seed))
    return Graph(sparse.csr_array(_random_links(rng, probability))), y


def _classes(classes: int, size: int) -> NDArray[np.int64]:
    validation.integer("classes", classes, 2)
    validation.integer("size", size, 2)
    _check_memory(classes * size)
    return np.repeat(np.arange(classes), size)


def _random_links(
    rng: np.random.Generator, probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    links = np.triu(rng.random(probability.shape) < probability, 1).astype(float)
    return links + links.T


def _listed(name: str, values: Any) -> list[Any]:
    if np.ndim(values) != 1 or not len(values):
        raise ValueError(f"{name} must be a list of numbers, such as [50, 50], got {values!r}")
    return list(values)


def _pair(degrees: Any) -> list[Any]:
    pair = _listed("degrees", degrees)
    if len(pair) != 2:
        raise ValueError(f"degrees must be the lowest and the highest, got {degrees!r}")
    return pair


def _check_memory(n: int) -> None:
    """Each pair of nodes is tossed for: a few dense matrices."""
    validation.memory(6 * 8 * n**2, f"a random graph of {n} nodes", "take fewer nodes")
