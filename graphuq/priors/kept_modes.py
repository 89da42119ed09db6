"""The modes of a graph that a prior keeps."""

from __future__ import annotations

from typing import Any

from graphuq.graphs import Graph
from graphuq.graphs.eigenspaces import compute_eigenspaces, warn_of_split, whole_eigenspaces
from graphuq.graphs.laplacian_parts import require_modes
from graphuq.graphs.spectrum import Spectrum
from graphuq.utils import validation

# Modes that are computed by default, and for rank "auto".
DEFAULT_MAX_MODES = 300


def needs_whole_eigenspaces(kind: str, lambda_bar: float | None) -> bool:
    """Whether the prior depends on which eigenvectors of a repeated eigenvalue are kept.

    The modes beyond the rank have the eigenvalue of the last mode by default. It then does not
    matter which eigenvectors of this eigenvalue are among them.
    """
    return kind == "projected" or lambda_bar is not None


def modes_of(graph: Any, rank: Any, whole: bool) -> Spectrum:
    """Return the modes of a graph or of a larger spectrum that ``rank`` asks for.

    With ``whole``, a rank inside a repeated eigenvalue moves to one of its ends.
    """
    if rank is None:
        raise TypeError("rank must be an integer or 'auto', got None; Prior.full keeps all modes")
    if validation.is_auto(rank):
        rank = graph.rank if isinstance(graph, Spectrum) else default_rank(Graph.of(graph))
    if isinstance(graph, Spectrum):
        spectrum = whole_eigenspaces(graph, rank) if whole else graph.truncated(rank)
    else:
        spectrum = compute_eigenspaces(graph, rank) if whole else Spectrum.of(graph, rank)
    warn_of_split(spectrum, stacklevel=3)
    return spectrum


def default_rank(graph: Graph) -> int:
    """Return how many modes of a graph are computed by default."""
    return min(DEFAULT_MAX_MODES, require_modes(graph))
