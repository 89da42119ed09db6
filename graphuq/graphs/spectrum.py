"""Eigenpairs of the graph Laplacian, with the zero eigenvalue apart.

The components of a disconnected graph have their own eigenpairs, with vectors that are zero
elsewhere. An iteration on the whole graph would have to find one zero eigenvalue for each
component, and would silently miss some.

The eigenvectors of a repeated eigenvalue are an arbitrary basis of its eigenspace. A prior on some
of them would depend on this basis, and so on the order of the nodes: `whole_eigenspaces`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.eigensolver import DENSE_NODES, PRECISIONS, Eigenpairs, smallest_eigenpairs
from graphuq.graphs.graph import check_laplacian, laplacian_parts, require_modes
from graphuq.utils import validation
from graphuq.utils.atomic_files import holds_arrays, read_npz, require_replaceable, write_atomically
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import is_dask, product, transposed_product
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn
from graphuq.utils.words import choose_form, count

# The largest residual of a graph's own eigenpairs, relative to the width of the spectrum.
MAX_RESIDUAL = 1e-3

# Eigenvalues that differ by at most this share of the spectrum's width count as one repeated
# eigenvalue: rounding rotates the eigenvectors of closer ones.
GAP_SHARE = 1e-7

# Below this share of the spectrum's width lambda_1 says that the graph nearly falls apart.
MIN_LAMBDA_SHARE = 1e-9

# A share of the spectrum's width in place of smaller eigenvalues of the signless Laplacian. It is 0
# where links join two sets of nodes, and none within a set.
LEAST_SIGNLESS = 1e-6

# Smaller entries of eigenvectors are rounding, and 0 by the symmetry of the graph. The sign of the
# field at such a node must not come from rounding.
ZERO_ENTRY = 1e-14

# Modes that are computed beyond the rank to complete an eigenspace. All modes of a small graph are.
SPARE_MODES = 16


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """The smallest non-zero eigenpairs of a graph Laplacian, L q_k = lambda_k q_k, eq. (3).

    Parameters
    ----------
    values : ndarray, shape (r,)
        lambda_1 <= ... <= lambda_r, all positive.
    vectors : ndarray, shape (n, r)
        q_1, ..., q_r, orthonormal columns. float32 is kept, in half the memory; sums are computed
        in float64. A Dask array stays on its workers.
    null : ndarray, shape (n,)
        q_0, the unit vector with L q_0 = 0.
    residuals : ndarray, shape (r,), optional
        |L q_k - lambda_k q_k|, if known.
    next_value : float, optional
        lambda_(r+1), if known, and infinite if there is none.
    width : float
        An upper bound of all eigenvalues, by default 2, that of the normalized Laplacian.
    laplacian : {"normalized", "combinatorial", "signless"}
        q_0 has the eigenvalue 2 of the signless Laplacian, and is left out too.

    Attributes
    ----------
    basis : ndarray, shape (n, r + 1)
        [q_0, Q]; null and vectors are views of its columns.
    asked : int, optional
        The rank that was asked for, where it lies inside a repeated eigenvalue.
    component : ndarray of int, shape (n,), optional
        The component of each node, if the graph is disconnected. The modes are those of all
        components; null is one of the vectors of eigenvalue 0.
    names : ndarray, shape (n,), optional
        Names of the nodes, if the graph has some.

    Raises
    ------
    ValueError
        Shapes that do not fit; eigenvalues that are not positive and increasing.

    Examples
    --------
    >>> import graphuq as gq
    >>> spectrum = gq.Spectrum.of(gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> spectrum
    Spectrum(3 nodes, rank 2, eigenvalues 1 to 2)
    >>> spectrum.values
    array([1., 2.])
    >>> spectrum.n_nodes, spectrum.rank, spectrum.truncated(1).rank, spectrum.n_components
    (3, 2, 1, 1)

    Save eigenpairs, load them and extend them to a larger rank:

    >>> import tempfile
    >>> from pathlib import Path
    >>> graph = gq.Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gq.Spectrum.of(graph, rank=1).save(Path(folder) / "path.npz")
    ...     first = gq.Spectrum.load(Path(folder) / "path.npz", graph)
    >>> first.basis.shape, gq.Spectrum.of(graph, rank=2, known=first).rank
    ((4, 2), 2)

    The eigenvectors of a repeated eigenvalue are an arbitrary basis, and so are some of them:

    >>> triangle = gq.Spectrum.of(gq.Graph([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), rank=1)
    >>> triangle, triangle.splits
    (Spectrum(3 nodes, rank 1, eigenvalues 1.5 to 1.5, the last one repeated beyond), True)
    """

    values: Array
    vectors: Array
    null: Array
    residuals: Array | None = None
    next_value: float | None = field(default=None, kw_only=True)
    width: float = field(default=2.0, kw_only=True)
    laplacian: str = field(default="normalized", kw_only=True)
    asked: int | None = field(default=None, kw_only=True)
    component: Nodes | None = field(default=None, kw_only=True)
    names: NDArray[Any] | None = field(default=None, kw_only=True)
    basis: Array = field(init=False)

    def __post_init__(self) -> None:
        narrow = getattr(self.vectors, "dtype", None) == np.float32
        for name, dtype in (
            ("values", np.float64),
            ("vectors", np.float32 if narrow else np.float64),
            ("null", np.float32 if narrow else np.float64),
        ):
            value = getattr(self, name)
            if not is_dask(value):
                object.__setattr__(self, name, np.asarray(value, dtype=dtype))
        check_laplacian("laplacian", self.laplacian)
        n, r = self.vectors.shape
        if self.values.shape != (r,) or self.null.shape != (n,):
            raise ValueError(
                f"values, vectors and null must have shapes (r,), (n, r) and (n,), got "
                f"{self.values.shape}, {self.vectors.shape} and {self.null.shape}"
            )
        if self.residuals is not None and np.shape(self.residuals) != (r,):
            raise ValueError(
                f"residuals must have shape (r,) = ({r},), got {np.shape(self.residuals)}"
            )
        if not 1 <= r <= n - 1:
            raise ValueError(f"a graph of {n} nodes has 1 to {n - 1} non-zero modes, got {r}")
        # one array for both, which priors use
        basis = _concatenate(self.null, self.vectors)
        for name, value in (("basis", basis), ("null", basis[:, 0]), ("vectors", basis[:, 1:])):
            object.__setattr__(self, name, value)
        # orthonormality, by the product of basis' basis with one random vector
        probe = np.random.default_rng(0).standard_normal(r + 1)
        skew = transposed_product(basis, product(basis, probe)) - probe
        if not (np.isfinite(self.values).all() and np.isfinite(skew).all()):
            raise ValueError("eigenvalues and eigenvectors must be finite")
        if abs(skew).max() > 1e-6:
            raise ValueError("null and the columns of vectors must be orthonormal")
        if self.values[0] <= 0 or (np.diff(self.values) < 0).any():
            raise ValueError("eigenvalues must be positive and increasing; leave lambda_0 = 0 out")

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.vectors.shape[0]

    @property
    def rank(self) -> int:
        """Number of modes r, q_0 not counted."""
        return self.values.size

    @property
    def n_components(self) -> int:
        """Number of components of the graph, and of vectors of eigenvalue 0."""
        return 1 if self.component is None else int(self.component.max()) + 1

    @property
    def splits(self) -> bool:
        """Whether the last eigenvalue is repeated beyond the last mode."""
        if self.next_value is None:
            return False
        return bool(self.next_value - self.values[-1] <= GAP_SHARE * self.width)

    def truncated(self, rank: int) -> Spectrum:
        """Return the first ``rank`` modes."""
        validation.integer(
            "rank", rank, 1, self.rank, f"this spectrum holds {self.rank} modes: compute more"
        )
        # views without new checks, since tuning tries priors of many ranks
        part = object.__new__(Spectrum)
        kept = None if self.residuals is None else self.residuals[:rank]
        for name, value in (
            ("values", self.values[:rank]),
            ("basis", self.basis[:, : rank + 1]),
            ("vectors", self.basis[:, 1 : rank + 1]),
            ("null", self.null),
            ("residuals", kept),
            ("next_value", self.values[rank] if rank < self.rank else self.next_value),
            ("width", self.width),
            ("laplacian", self.laplacian),
            ("asked", None),
            ("component", self.component),
            ("names", self.names),
        ):
            object.__setattr__(part, name, value)
        return part

    @classmethod
    def of(
        cls,
        graph: Any,
        rank: int | None = None,
        laplacian: str = "normalized",
        *,
        precision: str = "auto",
        known: Spectrum | None = None,
        progress: bool = False,
    ) -> Spectrum:
        """Compute the smallest non-zero eigenpairs of a graph's Laplacian.

        Small graphs and large ranks go to a dense solver. Others go to Lanczos iterations for the
        largest eigenvalues of D^(-1/2) A D^(-1/2) = I - L, or in single precision to a Chebyshev
        filter of many vectors at once, with the known q_0 deflated. Each component of a
        disconnected graph is solved by itself.

        Parameters
        ----------
        graph : Graph or adjacency
        rank : int, optional
            Number of modes r; by default all, which are n minus the number of components.
        laplacian : {"normalized", "combinatorial", "signless"}
            Under a prior on modes of the signless Laplacian I + D^(-1/2) A D^(-1/2) neighbors tend
            to differ. These are the largest eigenpairs of the normalized Laplacian, with
            eigenvalues 2 - lambda, and at least 2e-6.
        precision : {"auto", "single", "double"}
            Precision of the iterations. "single" takes a third of the time and changes posterior
            means by up to 2e-4; where it is not accurate enough, "double" follows. "auto" is
            single above 1,000 nodes, if residuals are small beside the eigenvalues. Vectors are
            orthonormal to full accuracy in any case.
        known : Spectrum, optional
            Fewer modes of the same graph, for example from a file; only the others are computed.
            It saves no time on a disconnected graph.
        progress : bool
            Show the number of products with L, a few for each mode.

        Returns
        -------
        Spectrum

        Raises
        ------
        ValueError
            A ``rank`` beyond all modes, ``known`` modes of another graph.
        MemoryError
            A dense solver is needed and does not fit.
        RuntimeError
            The iterations did not converge.

        Warns
        -----
        RuntimeWarning
            The graph nearly falls apart: lambda_1 is below 1e-9 times the largest eigenvalue
            possible, which is 2 for the normalized Laplacian.
        """
        graph = Graph.of(graph)
        n_modes = require_modes(graph)
        if rank is None:
            rank = n_modes
        validation.integer(
            "rank", rank, 1, n_modes, f"the graph has {graph.n_nodes} nodes and {n_modes} modes"
        )
        laplacian = check_laplacian("laplacian", laplacian)
        validation.one_of("precision", precision, PRECISIONS)
        component = graph.component if graph.n_components > 1 else None
        L, null, bound = laplacian_parts(graph, laplacian)
        # continue from the pairs that are known
        pairs = None
        if known is not None:
            _require_pairs_of(known, L, bound)
            if known.rank >= rank:
                return known.truncated(rank)
            pairs = known.values, known.vectors
        options: dict[str, Any] = {"precision": precision, "progress": progress}
        if component is None:
            found = smallest_eigenpairs(L, rank, bound=bound, null=null, known=pairs, **options)
        else:
            found = eigenpairs_of_components(L, rank, component, null, bound, **options)
        if laplacian == "signless":
            found = found._replace(values=np.maximum(found.values, LEAST_SIGNLESS * bound))
        if found.values[0] <= 1e-13 * bound:
            raise ValueError(
                f"the graph falls apart numerically: lambda_1 = {found.values[0]:.2g}, so some "
                "nodes are attached by negligible weights; take knn_graph(..., connect=True), "
                "larger weights (tau, n_neighbors), or drop the weak edges and take "
                "graph.largest_component()"
            )
        if found.values[0] < MIN_LAMBDA_SHARE * bound:
            _warn_of_falling_apart(found.values[0], found.vectors[:, 0])
        for column in found.vectors.T:  # one by one, to save memory
            column[abs(column) < ZERO_ENTRY] = 0.0
        return cls(
            found.values,
            found.vectors,
            null,
            found.residuals,
            next_value=found.next_value,
            width=bound,
            laplacian=laplacian,
            component=component,
            names=graph.names,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the eigenpairs to an npz file, completely or not at all.

        Parameters
        ----------
        path : path

        Raises
        ------
        OSError
            The folder does not exist or cannot be written, or the file holds something else.
        """
        require_replaceable(
            validation.file_path("path", path),
            lambda found: holds_arrays(found, "values", "basis"),
            "gq.Spectrum.save",
        )
        arrays: dict[str, Any] = {"values": self.values, "basis": np.asarray(self.basis)}
        arrays |= {"width": self.width, "laplacian": self.laplacian}
        if self.next_value is not None:
            arrays["next_value"] = self.next_value
        if self.residuals is not None:
            arrays["residuals"] = self.residuals
        if self.component is not None:
            arrays["component"] = self.component
        with write_atomically(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], graph: Any = None, laplacian: str = "normalized"
    ) -> Spectrum:
        """Read eigenpairs that `save` wrote, and check that they are those of a graph.

        Parameters
        ----------
        path : path
        graph : Graph or adjacency, optional
            Refuse pairs for which |L q - lambda q| is not small. Without a graph, as for pairs of
            `nystrom`, nothing is checked.
        laplacian : {"normalized", "combinatorial", "signless"}
            That of the graph.

        Returns
        -------
        Spectrum

        Raises
        ------
        FileNotFoundError
            The file does not exist.
        ValueError
            A damaged file, or pairs of another graph.
        """
        laplacian = check_laplacian("laplacian", laplacian)
        try:
            arrays = read_npz(path)
            basis = arrays["basis"]
            next_value = float(arrays["next_value"]) if "next_value" in arrays else None
            found = Spectrum(
                arrays["values"],
                basis[:, 1:],
                basis[:, 0],
                arrays.get("residuals"),
                next_value=next_value,
                width=float(arrays.get("width", 2.0)),
                laplacian=str(arrays.get("laplacian", laplacian)),
                component=arrays.get("component"),
            )
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ValueError(
                f"{path} cannot be read as eigenpairs ({error}): compute them again"
            ) from error
        if graph is None:
            return found
        if found.laplacian != laplacian:
            raise ValueError(
                f"{path} has eigenpairs of the other Laplacian: give "
                f"laplacian={found.laplacian!r}, or compute them again"
            )
        graph = Graph.of(graph)
        L, _, bound = laplacian_parts(graph, laplacian)
        _require_pairs_of(found, L, bound)
        return replace(found, names=graph.names)

    def __repr__(self) -> str:
        parts = [f"{self.n_nodes} nodes", f"rank {self.rank}"]
        parts.append(f"eigenvalues {self.values[0]:.3g} to {self.values[-1]:.3g}")
        if self.splits:
            parts.append("the last one repeated beyond")
        return f"{type(self).__name__}({', '.join(parts)})"


def _warn_of_falling_apart(value: float, vector: Array) -> None:
    """Warn of nodes that are attached to the others by small weights only."""
    apart = (vector < 0) != (vector[0] < 0)  # from node 0: the sign of the vector is arbitrary
    side = np.flatnonzero(apart if 2 * np.count_nonzero(apart) <= apart.size else ~apart)
    warn(
        f"the graph nearly falls apart: lambda_1 = {value:.2g}; "
        f"{count(side.size, 'node')}, first node {side[0]}, "
        f"{choose_form(side.size, 'is', 'are')} attached to the others by small weights only, so "
        "that labels on one side say little about the other; take larger weights (tau, "
        "n_neighbors), or one part alone"
    )


def _require_pairs_of(known: Spectrum, L: Any, bound: float) -> None:
    """Refuse eigenpairs of another graph."""
    if not isinstance(known, Spectrum):
        raise TypeError(f"known must be a gq.Spectrum, got {type(known).__name__}")
    if known.n_nodes != L.shape[0]:
        raise ValueError(
            f"the eigenpairs are those of a graph of {known.n_nodes} nodes, and this one has "
            f"{L.shape[0]}: compute them again"
        )
    q = np.asarray(known.vectors, dtype=np.float64)
    residual = float(np.linalg.norm(L @ q - q * known.values, axis=0).max())
    if residual > MAX_RESIDUAL * bound:
        raise ValueError(
            f"the eigenpairs are those of another graph or of the other Laplacian: "
            f"|L q - lambda q| is {residual:.2g}; compute them again"
        )


def _concatenate(null: Array, vectors: Array) -> Array:
    """Return [null, vectors], without a copy if both are views of its columns already."""
    if is_dask(vectors):
        import dask.array as da

        return da.concatenate([null[:, None], vectors], axis=1)
    whole: Any = vectors.base
    if isinstance(whole, np.ndarray) and whole.shape == (vectors.shape[0], vectors.shape[1] + 1):
        columns = (whole[:, 0], null), (whole[:, 1:], vectors)
        if all(a.__array_interface__ == b.__array_interface__ for a, b in columns):
            return whole
    return np.ascontiguousarray(np.column_stack([null, vectors]))


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


def whole_eigenspaces(spectrum: Spectrum, rank: int) -> Spectrum:
    """Return the first ``rank`` modes, or more or fewer, so that all eigenspaces are whole.

    A rank inside a repeated eigenvalue moves up to its end. If the spectrum does not reach so far,
    it moves down to the end of the eigenvalue before. If there is none, it stays.

    Parameters
    ----------
    spectrum : Spectrum
    rank : int
        At most that of ``spectrum``.

    Examples
    --------
    >>> import networkx
    >>> spectrum = Spectrum.of(networkx.cycle_graph(8), rank=5)
    >>> [whole_eigenspaces(spectrum, rank).rank for rank in (1, 2, 3, 5)]
    [2, 2, 4, 4]
    """
    part = spectrum.truncated(rank)
    if not part.splits:
        return part
    end = np.inf if spectrum.next_value is None else spectrum.next_value
    gaps = np.diff(np.append(spectrum.values, end)) > GAP_SHARE * spectrum.width
    ends = np.flatnonzero(gaps) + 1
    above, below = ends[ends > rank], ends[ends < rank]
    if above.size or below.size:
        part = spectrum.truncated(int(above[0] if above.size else below[-1]))
    object.__setattr__(part, "asked", rank)
    return part


def compute_eigenspaces(graph: Any, rank: int, laplacian: str = "normalized") -> Spectrum:
    """Return the smallest ``rank`` eigenpairs of a graph, more if the last eigenvalue is repeated.

    Parameters
    ----------
    graph : Graph or adjacency
    rank : int
    laplacian : {"normalized", "combinatorial", "signless"}

    Warns
    -----
    RuntimeWarning
        The last eigenvalue is repeated more often than can be computed.
    """
    graph = Graph.of(graph)
    spectrum = Spectrum.of(graph, rank, laplacian)
    if spectrum.splits:
        n_modes = require_modes(graph)
        more = n_modes if graph.n_nodes <= DENSE_NODES else min(rank + SPARE_MODES, n_modes)
        spectrum = whole_eigenspaces(Spectrum.of(graph, more, laplacian, known=spectrum), rank)
    return spectrum


def warn_of_split(spectrum: Spectrum) -> None:
    """Warn of a rank that moved down, or that stays inside a repeated eigenvalue."""
    if spectrum.asked is None or spectrum.rank > spectrum.asked:
        return
    moved = (
        "which of its eigenvectors are kept depends on the order of the nodes"
        if spectrum.splits
        else f"the first {spectrum.rank} modes are kept"
    )
    warn(
        f"rank {spectrum.asked} lies inside a repeated eigenvalue, so that {moved}: take "
        "Prior.approximated, which may cut a repeated eigenvalue, or a larger rank"
    )
