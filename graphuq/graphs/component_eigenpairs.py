"""Eigenpairs of a disconnected graph: those of its components, each by itself.

An iteration on the whole graph would have to find one zero eigenvalue for each component, and would
silently miss some. The eigenvectors of a component are zero elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.graphs.eigensolver import Eigenpairs, smallest_eigenpairs
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes


def eigenpairs_of_components(
    L: Any, rank: int, component: Nodes, null: Array, bound: float, **options: Any
) -> Eigenpairs:
    """Compute the smallest non-zero eigenpairs of the Laplacian of a disconnected graph.

    Parameters
    ----------
    L : ndarray or csr_array, shape (n, n)
    rank : int
        At most n minus the number of components.
    component : ndarray of int, shape (n,)
        The component of each node.
    null : ndarray, shape (n,)
        A vector with L null = 0, zero nowhere.
    bound : float
        An upper bound of the eigenvalues.
    **options
        ``precision`` and ``progress`` of `smallest_eigenpairs`.

    Returns
    -------
    Eigenpairs

    Examples
    --------
    A pair of nodes, and two others that are alone:

    >>> L = np.zeros((4, 4))
    >>> L[:2, :2] = [[1.0, -1.0], [-1.0, 1.0]]
    >>> found = eigenpairs_of_components(L, 1, np.array([0, 0, 1, 2]), np.ones(4), 2.0)
    >>> found.values, abs(found.vectors[:, 0]).round(3), found.next_value
    (array([2.]), array([0.707, 0.707, 0.   , 0.   ]), inf)
    """
    n, sizes = component.size, np.bincount(component)
    require_memory(16.0 * n * rank, f"{rank} modes of {n} nodes", "ask for a smaller rank")
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(sizes)[:-1])
    each, beyond = [], [np.inf]
    for nodes in members:
        if nodes.size == 1:
            continue
        part = L[nodes][:, nodes]
        own = null[nodes] / np.linalg.norm(null[nodes])
        found = smallest_eigenpairs(
            part, min(rank, nodes.size - 1), bound=bound, null=own, **options
        )
        beyond.append(found.next_value)
        each.append((nodes, found))
    # the smallest of all; of a repeated eigenvalue those of the larger components come first
    values = np.concatenate([found.values for _, found in each])
    order = np.argsort(values, kind="stable")
    beyond += values[order[rank:]].tolist()
    place = np.full(values.size, -1)
    place[order[:rank]] = np.arange(rank)
    vectors, residuals, start = np.zeros((n, rank)), np.zeros(rank), 0
    for nodes, found in each:
        at = place[start : start + found.values.size]
        start += found.values.size
        kept = at >= 0
        vectors[np.ix_(nodes, at[kept])] = found.vectors[:, kept]
        residuals[at[kept]] = found.residuals[kept]
    return Eigenpairs(values[order[:rank]], vectors, residuals, float(min(beyond)))
