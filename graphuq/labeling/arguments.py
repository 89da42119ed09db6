"""What `graphuq.label` accepts, before any work."""

from __future__ import annotations

from typing import Any

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.checks import require_labels
from graphuq.likelihoods.contract import adopt, has_sign_model
from graphuq.utils import validation
from graphuq.utils.features import check_node_features


def check_model(
    graph: Graph, features: Any, labels: Any, likelihood: Any, spectrum: Any
) -> dict[str, Any]:
    """Return the arguments that say what is learned.

    Raises
    ------
    TypeError, ValueError
        Another type, or another number of nodes; a likelihood without a sign model.
    """
    n = graph.n_nodes
    if labels is not None:
        require_labels(labels, n)
    if spectrum is not None and not isinstance(spectrum, Spectrum):
        raise TypeError(f"spectrum must be gq.Spectrum.of(graph), got {type(spectrum).__name__}")
    if likelihood is not None:
        likelihood = adopt(likelihood)
        if not has_sign_model(likelihood):
            raise ValueError(
                "the session learns by expectation propagation, which needs a sign model, such as "
                f"gq.Probit() or gq.NoisyProbit(), got {likelihood!r}"
            )
    return {
        "features": None if features is None else check_node_features(features, n),
        "labels": labels,
        "likelihood": likelihood,
        "spectrum": spectrum,
    }


def check_names(name: str, values: Any) -> list[str]:
    """Return texts, from a sequence or an array in one dimension."""
    if isinstance(values, str | bytes | dict | set) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a list of names, got {type(values).__name__}")
    given = validation.unmasked(name, values if hasattr(values, "dtype") else [*values])
    if given.ndim != 1 or given.dtype.kind not in "biufOUST":
        raise TypeError(f"{name} must be a list of names, got an array of shape {given.shape}")
    missing = [value for value in given.tolist() if value is None or value != value]
    if missing:
        raise ValueError(f"{name} must be names, got {missing[0]!r}: give each a name")
    return [str(value) for value in (given.tolist() if hasattr(values, "dtype") else values)]
