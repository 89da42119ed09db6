"""The rows of the report that describe a prior, part by part."""

from __future__ import annotations

from collections import Counter
from typing import Any

from graphuq.report import glossary as meanings

Row = tuple[str, str, str]

# Parameters that are shown, by the kind of prior.
_PARAMETERS = {
    meanings.FEATURES: ("length_scale",),
    meanings.LINEAR: (),
    meanings.SOLVED: ("alpha", "tau"),
    meanings.COMPONENTS: (),
}
_OF_MODES = ("rank", "alpha", "tau")


def prior_rows(described: dict[str, Any]) -> list[Row]:
    """Return name, value and meaning of a prior and its parameters, as settings describe it.

    Names are numbered as in ``SumPrior.parameters``. Parts of weight 0 have no rows, because their
    parameters change nothing.

    Examples
    --------
    >>> graph = {"kind": "projected", "rank": 20, "alpha": 2.0, "tau": 0.0}
    >>> features = {"kind": "features", "rank": 0, "length_scale": 1.5}
    >>> both = graph | {"parts": [features], "weights": [0.75, 0.25], "level": 0.5}
    >>> [(name, value) for name, value, _ in prior_rows(both)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('prior', 'projected'), ('rank', '20'), ('alpha', '2'), ('tau', '0'), ('prior_2', 'features'),
     ('length_scale', '1.5'), ('weights', '0.75, 0.25'), ('level', '0.5')]
    >>> prior_rows(both)[-2][2]
    'The share of each part in the prior: graph, features.'
    """
    parts = [described, *described.get("parts", [])]
    weights = described.get("weights", [1.0])
    rows: list[Row] = []
    seen: Counter[str] = Counter()
    for part, weight in zip(parts, weights, strict=True):
        own = [("prior", meanings.kind_of(part), meanings.of_prior(part))]
        names = _PARAMETERS.get(part["kind"], _OF_MODES)
        own += [
            (name, short(part[name]), meanings.of_prior_parameter(name, part)) for name in names
        ]
        for name, value, meaning in own:
            seen[name] += 1
            numbered = name if seen[name] == 1 else f"{name}_{seen[name]}"
            rows += [(numbered, value, meaning)] * (weight > 0)
    if len(parts) > 1:
        kinds = [meanings.kind_of(part) for part in parts]
        rows.append(("weights", ", ".join(map(short, weights)), meanings.of_weights(kinds)))
    if "level" in described:
        rows.append(("level", short(described["level"]), meanings.PRIOR["level"]))
    return rows


def short(value: Any) -> str:
    """Return a number with four digits, and any other value as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
