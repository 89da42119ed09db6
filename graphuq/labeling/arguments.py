"""What a session accepts, before any work."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Any

from graphuq.graphs import Graph
from graphuq.graphs.graph import require_modes
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.checks import require_labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import Likelihood, adopt, has_sign_model
from graphuq.priors.prior import default_rank
from graphuq.utils import validation


def check_likelihood(likelihood: Any) -> Likelihood:
    """Return the likelihood, by default `Probit`; refuse one without a sign model."""
    if likelihood is None:
        return Probit()
    likelihood = adopt(likelihood)
    if not has_sign_model(likelihood):
        raise ValueError(
            "the session learns by expectation propagation, which needs a sign model, such as "
            f"gq.Probit() or gq.NoisyProbit(), got {likelihood!r}"
        )
    return likelihood


def check_rank(rank: Any, spectrum: Any, graph: Graph) -> int:
    """Return how many modes are used, and refuse what is not the modes of the graph."""
    if spectrum is None:
        n_modes, default = require_modes(graph), default_rank(graph)
    elif not isinstance(spectrum, Spectrum):
        raise TypeError(f"spectrum must be gq.Spectrum.of(graph), got {type(spectrum).__name__}")
    elif spectrum.n_nodes != graph.n_nodes:
        raise ValueError(
            f"spectrum must be that of the graph's {graph.n_nodes} nodes, got {spectrum.n_nodes}"
        )
    else:
        n_modes = default = spectrum.rank
    if rank is None:
        return default
    return validation.integer("rank", rank, 1, n_modes, f"there are {n_modes} modes")


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


def item_names(names: Any, n: int) -> list[str]:
    """Return the names of n items as texts, by default their positions."""
    if names is None:
        return [str(node) for node in range(n)]
    found = check_names("names", names)
    if len(found) != n:
        raise ValueError(f"names must name {n} items, got {len(found)}")
    if len(set(found)) != n:
        twice = Counter(found).most_common(1)[0][0]
        raise ValueError(f"names must differ, got {twice!r} twice: name each item otherwise")
    return found


def labels_before(labels: Any, n: int) -> dict[int, str]:
    """Return the label of each node that has one before the session."""
    require_labels(labels, n)
    return dict(zip(labels.nodes.tolist(), map(str, labels.values.tolist()), strict=True))


def one_line(name: str, value: Any) -> str:
    """Refuse a name that is empty or would break a line."""
    if not isinstance(value, str) or not value.strip() or not is_one_line(value):
        raise ValueError(f"{name} must be a text of one line, got {value!r}")
    return value


def is_one_line(text: str) -> bool:
    r"""Return whether a text has no end of a line, control character or half of a letter.

    Joiners and spaces of all scripts are allowed, which ``str.isprintable`` refuses.

    Examples
    --------
    >>> is_one_line("\u0645\u06cc\u200c\u062e"), is_one_line("a\u2028b"), is_one_line("a\tb")
    (True, False, False)
    """
    return not {unicodedata.category(letter) for letter in text} & {"Cc", "Cs", "Zl", "Zp"}


def share(name: str, value: float) -> float:
    """Refuse what does not lie between 0 and 1."""
    if not 0 < validation.real(name, value) < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float(value)
