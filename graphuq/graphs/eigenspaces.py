"""Whole eigenspaces: ranks that do not cut through a repeated eigenvalue.

The eigenvectors of a repeated eigenvalue are an arbitrary basis of its eigenspace. A prior on some
of them would depend on this basis, and so on the order of the nodes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.eigensolver import DENSE_NODES
from graphuq.graphs.laplacian_parts import require_modes
from graphuq.graphs.spectrum import GAP_SHARE, Spectrum

# Modes that are computed beyond the rank to complete an eigenspace. All modes of a small graph are.
SPARE_MODES = 16


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


def compute_eigenspaces(graph: Any, rank: int) -> Spectrum:
    """Return the smallest ``rank`` eigenpairs of a graph, more if the last eigenvalue is repeated.

    Parameters
    ----------
    graph : Graph or adjacency
    rank : int

    Warns
    -----
    RuntimeWarning
        The last eigenvalue is repeated more often than can be computed.
    """
    graph = Graph.of(graph)
    spectrum = Spectrum.of(graph, rank)
    if spectrum.splits:
        n_modes = require_modes(graph)
        more = n_modes if graph.n_nodes <= DENSE_NODES else min(rank + SPARE_MODES, n_modes)
        spectrum = whole_eigenspaces(Spectrum.of(graph, more, known=spectrum), rank)
    return spectrum


def warn_of_split(spectrum: Spectrum, stacklevel: int) -> None:
    """Warn of a rank that moved down, or that stays inside a repeated eigenvalue."""
    if spectrum.asked is None or spectrum.rank > spectrum.asked:
        return
    moved = (
        "which of its eigenvectors are kept depends on the order of the nodes"
        if spectrum.splits
        else f"the first {spectrum.rank} modes are kept"
    )
    warnings.warn(
        f"rank {spectrum.asked} lies inside a repeated eigenvalue, so that {moved}: take "
        "Prior.approximated, which may cut a repeated eigenvalue, or a larger rank",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
