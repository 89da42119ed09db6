"""Write what a posterior says of cells into an AnnData object.

Nothing here imports anndata. Every value can be written to h5ad: the probabilities are an array and
no data frame, because names of columns with "/", as in "CD4+/CD25", are not allowed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.posterior.predictions import most_probable
from graphuq.utils.typing import Nodes

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "Unknown"

# scanpy's color of missing values
GRAY = "#d3d3d3"


def order_of_classes(labels: Labels, column: pd.Series) -> NDArray[np.int64]:
    """Return the order of the classes in a column: that of its categories, or as they are sorted.

    Examples
    --------
    >>> import pandas as pd
    >>> column = pd.Series(pd.Categorical(["T", "B"], categories=["T", "B"]))
    >>> order_of_classes(Labels([0, 1], ["T", "B"]), column)
    array([1, 0])
    """
    classes = labels.classes.tolist()
    if not hasattr(column, "cat"):
        return np.arange(len(classes))
    listed = [value for value in column.cat.categories if value in classes]
    return np.array([classes.index(value) for value in listed])


def tabulate_cells(post: Any, column: pd.Series, reject: float, ask: Nodes) -> dict[str, Any]:
    """Return a column for every suffix of ``obs``.

    Parameters
    ----------
    post : Posterior
    column : Series
        The labels, as given.
    reject : float
        Cells of a larger uncertainty are "Unknown" in ``filtered``.
    ask : ndarray of int
        Cells to label next.
    """
    import pandas as pd

    best = post.by_class.max(axis=1)
    order = order_of_classes(post.labels, column)
    codes = np.argsort(order)[most_probable(post.by_class)]
    classes = [post.labels.classes.tolist()[k] for k in order]
    uncertain = 1 - best > reject
    suspects = post.suspect_labels()
    return {
        "pred": pd.Categorical.from_codes(codes, classes),
        "conf": best,
        "uncertainty": 1 - best,
        "entropy": post.entropy,
        "epistemic": post.uncertainty()["epistemic"].to_numpy(),
        "filtered": pd.Categorical.from_codes(
            np.where(uncertain, len(classes), codes), [*map(str, classes), UNKNOWN]
        ),
        "suspect": _mask(post.n_nodes, suspects["node"][suspects["suspect"]]),
        "ask": _mask(post.n_nodes, ask),
    }


def write_cells(adata: Any, label: str, key: str, post: Any, columns: Mapping[str, Any]) -> None:
    """Write the columns into ``obs``, the probabilities into ``obsm``, and the colors.

    The classes of ``pred`` and ``filtered`` get the colors that they have in ``label``.
    """
    order = order_of_classes(post.labels, adata.obs[label])
    colors = _colors(adata, label, post.labels.classes[order])
    for suffix, values in columns.items():
        adata.obs[f"{key}_{suffix}"] = values
    adata.obsm[f"{key}_probability"] = np.ascontiguousarray(post.by_class[:, order])
    for suffix, more in (("pred", []), ("filtered", [GRAY])):
        if colors:
            adata.uns[f"{key}_{suffix}_colors"] = [*colors, *more]
        else:  # those of an earlier call may be colors of other classes
            adata.uns.pop(f"{key}_{suffix}_colors", None)


def describe_cells(post: Any, settings: dict[str, Any], ask: Nodes, order: Nodes) -> dict[str, Any]:
    """Return settings and diagnostics for ``uns``: numbers, texts and lists of these."""
    from graphuq.utils.version import __version__

    trust = post.trust()
    values = {**post.prior.parameters, **post.settings["likelihood"]}
    model = {name: value for name, value in values.items() if isinstance(value, int | float | str)}
    likelihood = model.pop("name", "")
    return settings | {
        "classes": [str(name) for name in post.labels.classes[order].tolist()],
        "n_labels": len(post.labels),
        "likelihood": likelihood,
        "parameters": {name: float(value) for name, value in model.items()},
        "ask": post.names[ask].tolist(),
        "trust": trust.light,
        "reasons": list(trust.reasons),
        "graphuq": __version__,
    }


def _mask(n: int, nodes: Any) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    mask[np.asarray(nodes, dtype=np.int64)] = True
    return mask


def _colors(adata: Any, label: str, classes: NDArray[Any]) -> list[str]:
    """Return the colors of the classes in the plots of ``label``; none if there are none."""
    column, given = adata.obs[label], adata.uns.get(f"{label}_colors")
    if not hasattr(column, "cat") or isinstance(given, str | Mapping) or given is None:
        return []
    categories = column.cat.categories.tolist()
    if len(given) < len(categories):
        return []
    colors = dict(zip(categories, given, strict=False))
    return [str(colors[name]) for name in classes.tolist()]
