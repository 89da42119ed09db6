"""The linear system of two classifiers: (L + s I) f = p0(y)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from graphuq.graphs import Graph
from graphuq.utils.linear_solve import solve_positive_definite
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array


def resolvent(graph: Graph, shift: float, Y: Array) -> tuple[Array, Array]:
    """Return the part of Y in the null space of L, and (L + s I)^(-1) of the rest.

    L is the normalized Laplacian. Its null vectors v_0, one for each connected component, are known
    and deflated, so that the condition of the system depends on lambda_1 + s, even for a shift
    near 0.

    Parameters
    ----------
    graph : Graph
        Every node has an edge.
    shift : float
        s > -lambda_1.
    Y : ndarray, shape (n, m)

    Returns
    -------
    constant, solved : ndarray, shape (n, m)
        Y - p0(Y), and (L + s I)^(-1) p0(Y), which is orthogonal to v_0.

    Warns
    -----
    ConvergenceWarning
        Conjugate gradients, which solve for sparse graphs, did not converge.

    Raises
    ------
    ValueError
        Nodes without an edge.
    MemoryError
        The Cholesky factor for a dense graph does not fit.

    Examples
    --------
    >>> pair = Graph([[0, 1], [1, 0]])  # eigenvalues 0 and 2
    >>> constant, solved = resolvent(pair, -1.0, np.array([[2.0], [0.0]]))
    >>> constant.ravel().round(12), solved.ravel().round(12)
    (array([1., 1.]), array([ 1., -1.]))
    """
    n = graph.n_nodes
    if not graph.is_sparse:
        require_memory(
            4 * 8.0 * n * n, f"a linear system of a dense graph of {n} nodes", "use knn_graph"
        )
    L = graph.laplacian("normalized")
    volumes = np.bincount(graph.component, weights=graph.degrees)
    roots = np.sqrt(graph.degrees / volumes[graph.component])
    v0 = sparse.csr_array((roots, (np.arange(n), graph.component)))

    def constant_part(x: Array) -> Array:
        return v0 @ (v0.T @ x)

    # L + s I, with the eigenvalue of v_0 lifted into the rest of the spectrum
    lift = 1 + abs(shift)
    A: Any
    if graph.is_sparse:
        A = LinearOperator(
            (n, n),
            matvec=lambda x: L @ x + shift * x + lift * constant_part(x),
            dtype=np.float64,
        )
    else:
        A = L + shift * np.eye(n) + lift * (v0 @ v0.T).toarray()
    constant = constant_part(Y)
    solved = solve_positive_definite(A, Y - constant)
    return constant, solved - constant_part(solved)  # orthogonal to v_0 to rounding
