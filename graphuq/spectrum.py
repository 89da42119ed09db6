"""Eigenpairs of the graph Laplacian, the zero eigenvalue set apart."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.eigenpairs import PRECISIONS, lowest
from graphuq.graphs import LAPLACIANS, Graph
from graphuq.row_blocks import is_dask, product, transposed_product
from graphuq.whole import plain_arrays, written_whole

# Pairs with residuals above this, as a share of the spectrum's width, are another graph's.
OTHER = 1e-3


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The smallest non-zero eigenpairs of a graph Laplacian, L q_k = lambda_k q_k, eq. (3).

    Parameters
    ----------
    values : ndarray, shape (r,)
        lambda_1 <= ... <= lambda_r, all positive.
    vectors : ndarray, shape (n, r)
        q_1, ..., q_r, orthonormal columns. Kept as they are if float32, in half the memory; sums
        are made in float64. May be a Dask array, which stays where it is.
    null : ndarray, shape (n,)
        q_0, the unit vector with L q_0 = 0.
    residuals : ndarray, shape (r,), optional
        |L q_k - lambda_k q_k|, where known.

    Attributes
    ----------
    basis : ndarray, shape (n, r + 1)
        [q_0, Q]: null and vectors are its columns.

    Raises
    ------
    ValueError
        Shapes that do not fit, eigenvalues that are not positive and increasing.

    Examples
    --------
    >>> spectrum = Spectrum.of(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> spectrum.values
    array([1., 2.])
    >>> spectrum.n_nodes, spectrum.rank, spectrum.truncated(1).rank
    (3, 2, 1)

    Kept for another day, and for a larger rank:

    >>> import tempfile
    >>> from pathlib import Path
    >>> graph = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Spectrum.of(graph, rank=1).save(Path(folder) / "path.npz")
    ...     first = Spectrum.load(Path(folder) / "path.npz", graph)
    >>> first.basis.shape, Spectrum.of(graph, rank=2, known=first).rank
    ((4, 2), 2)
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    null: NDArray[np.float64]
    residuals: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] = field(init=False, repr=False)

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
        # one array for both, since that is what priors are made of
        basis = _joined(self.null, self.vectors)
        for name, value in (("basis", basis), ("null", basis[:, 0]), ("vectors", basis[:, 1:])):
            object.__setattr__(self, name, value)
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

    def truncated(self, rank: int) -> Spectrum:
        """Return the first ``rank`` modes."""
        validation.integer(
            "rank", rank, 1, self.rank, f"this spectrum holds {self.rank} modes: compute more"
        )
        # views, and no second look at what was checked: priors of many ranks are tried
        part = object.__new__(Spectrum)
        kept = None if self.residuals is None else self.residuals[:rank]
        for name, value in (
            ("values", self.values[:rank]),
            ("basis", self.basis[:, : rank + 1]),
            ("vectors", self.basis[:, 1 : rank + 1]),
            ("null", self.null),
            ("residuals", kept),
        ):
            object.__setattr__(part, name, value)
        return part

    @classmethod
    def of(
        cls,
        graph: Any,
        rank: int | None = None,
        laplacian: str = "normalised",
        *,
        precision: str = "auto",
        known: Spectrum | None = None,
        progress: bool = False,
    ) -> Spectrum:
        """Compute the smallest non-zero eigenpairs of a connected graph's Laplacian.

        Small graphs and large ranks go to a dense solver, the rest to Lanczos iterations on the
        largest eigenvalues of D^(-1/2) A D^(-1/2) = I - L, with the known q_0 moved out of the way.

        Parameters
        ----------
        graph : Graph or adjacency
            Connected.
        rank : int, optional
            Number of modes r < n; all n - 1 by default.
        laplacian : {"normalised", "combinatorial"}
        precision : {"auto", "single", "double"}
            Of the iterations: double for full accuracy; single in a third of the time, with
            posterior means off by about 1e-4, and double again where that does not do. "auto" is
            single beyond 5,000 nodes. Vectors are orthonormal to full accuracy in any case.
        known : Spectrum, optional
            Fewer modes of the same graph, such as were saved: only the others are computed.
        progress : bool
            Show how many products with L were made; there are a few for each mode.

        Returns
        -------
        Spectrum

        Raises
        ------
        ValueError
            A disconnected graph, ``rank`` not below n, modes ``known`` of another graph.
        MemoryError
            A dense solver is needed and does not fit.
        RuntimeError
            The iterations did not converge.
        """
        graph = Graph.of(graph)
        n = graph.n_nodes
        if rank is None:
            rank = n - 1
        validation.integer("rank", rank, 1, n - 1, f"the graph has {n} nodes, so n - 1 modes")
        validation.one_of("laplacian", laplacian, LAPLACIANS)
        validation.one_of("precision", precision, PRECISIONS)
        graph.require_connected()
        L, null, bound = _parts(graph, laplacian)
        pairs = None
        if known is not None:
            _require_pairs_of(known, L, bound)
            if known.rank >= rank:
                return known.truncated(rank)
            pairs = known.values, known.vectors
        values, vectors, residuals = lowest(
            L, rank, bound=bound, null=null, known=pairs, precision=precision, progress=progress
        )
        if values[0] <= 1e-13 * bound:
            raise ValueError(
                f"the graph falls apart numerically: lambda_1 = {values[0]:.2g}, so some nodes "
                "hang on by negligible weights; take larger weights (tau, n_neighbors), or drop "
                "the weak edges and take graph.largest_component()"
            )
        return cls(values, vectors, null, residuals)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs to an npz file, whole or not at all.

        Parameters
        ----------
        path : path

        Raises
        ------
        OSError
            No such folder, or it cannot be written.
        """
        arrays: dict[str, Any] = {"values": self.values, "basis": np.asarray(self.basis)}
        if self.residuals is not None:
            arrays["residuals"] = self.residuals
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], graph: Any = None, laplacian: str = "normalised"
    ) -> Spectrum:
        """Read pairs that `save` wrote, if they are this graph's.

        Parameters
        ----------
        path : path
        graph : Graph or adjacency, optional
            Pairs for which |L q - lambda q| is not small are another graph's. Those of `nystrom`
            have no graph at hand: without one nothing is held against them.
        laplacian : {"normalised", "combinatorial"}

        Returns
        -------
        Spectrum

        Raises
        ------
        FileNotFoundError
            No such file.
        ValueError
            A damaged file, or pairs of another graph.
        """
        validation.one_of("laplacian", laplacian, LAPLACIANS)
        try:
            arrays = plain_arrays(path)
            basis = arrays["basis"]
            found = Spectrum(arrays["values"], basis[:, 1:], basis[:, 0], arrays.get("residuals"))
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ValueError(f"{path} holds no eigenpairs ({error}): compute them anew") from error
        if graph is None:
            return found
        L, _, bound = _parts(Graph.of(graph), laplacian)
        _require_pairs_of(found, L, bound)
        return found


def _parts(graph: Graph, laplacian: str) -> tuple[Any, NDArray[np.float64], float]:
    """Return L, q_0 and a number that no eigenvalue exceeds."""
    if laplacian == "normalised":
        null, bound = np.sqrt(graph.degrees), 2.0
    else:
        null, bound = np.ones(graph.n_nodes), 2 * graph.degrees.max()
    return graph.laplacian(laplacian), null / np.linalg.norm(null), bound


def _require_pairs_of(known: Spectrum, L: Any, bound: float) -> None:
    """Refuse eigenpairs of another graph."""
    if not isinstance(known, Spectrum):
        raise TypeError(f"known must be a gq.Spectrum, got {type(known).__name__}")
    if known.n_nodes != L.shape[0]:
        raise ValueError(
            f"the eigenpairs are of a graph of {known.n_nodes} nodes, and this one has "
            f"{L.shape[0]}: compute them anew"
        )
    q = np.asarray(known.vectors, dtype=np.float64)
    residual = float(np.linalg.norm(L @ q - q * known.values, axis=0).max())
    if residual > OTHER * bound:
        raise ValueError(
            f"the eigenpairs are another graph's, or of its other Laplacian: |L q - lambda q| is "
            f"{residual:.2g}; compute them anew"
        )


def _joined(null: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [null, vectors], the array that they are the columns of where there is one."""
    if is_dask(vectors):
        import dask.array as da

        return da.concatenate([null[:, None], vectors], axis=1)
    whole: Any = vectors.base
    if isinstance(whole, np.ndarray) and whole.shape == (vectors.shape[0], vectors.shape[1] + 1):
        columns = (whole[:, 0], null), (whole[:, 1:], vectors)
        if all(a.__array_interface__ == b.__array_interface__ for a, b in columns):
            return whole
    return np.ascontiguousarray(np.column_stack([null, vectors]))
