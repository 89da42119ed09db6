"""What an AnnData object holds about its cells, and what a posterior says of them.

Nothing here imports anndata: an object with ``obs``, ``obsm``, ``obsp`` and ``uns`` will do. Every
value can be written to h5ad: the probabilities are an array and no data frame, because names of
columns with "/", as in "CD4+/CD25", are not allowed there.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.graphs.construction import connect_by_features
from graphuq.labels.class_values import find_most, find_unlabeled
from graphuq.labels.labels import Labels
from graphuq.posterior.predictions import most_probable
from graphuq.utils.features import check_features
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn
from graphuq.utils.words import count, list_names

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("obs", "obsm", "obsp", "uns")

# The representation that scanpy's neighbors use by default, and that of the genes.
PRINCIPAL_COMPONENTS, GENES = "X_pca", "X"

UNKNOWN = "Unknown"

# scanpy's color of missing values
GRAY = "#d3d3d3"


class Cells(NamedTuple):
    """Cells as a graph, and what is known of each.

    Attributes
    ----------
    graph : Graph
        Connected: gaps are bridged by the representation.
    use_rep : str
        The name of the representation.
    X : ndarray, shape (N, d)
        The representation.
    """

    graph: Graph
    use_rep: str
    X: Array


def read_cells(adata: Any, neighbors_key: str = "neighbors", use_rep: str | None = None) -> Cells:
    """Return the graph and the representation of cells.

    Parameters
    ----------
    adata : AnnData
    neighbors_key : str
        ``uns[neighbors_key]["connectivities_key"]`` names the weights in ``obsp``, or else these
        are ``obsp["connectivities"]``.
    use_rep : str, optional
        A name in ``obsm``, or "X". By default that of the neighbors' ``params``, with as many
        columns as their ``n_pcs`` says, or else "X_pca".

    Raises
    ------
    TypeError, ValueError
        Something else than AnnData; a name that is not there, with those that are; weights that
        are negative or not symmetric; values that are missing or infinite.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> path = np.eye(4, k=1) + np.eye(4, k=-1)
    >>> adata = SimpleNamespace(obs={}, uns={"neighbors": {}}, obsp={"connectivities": path},
    ...                         obsm={"X_pca": np.arange(8.0).reshape(4, 2)})
    >>> cells = read_cells(adata)
    >>> cells.graph, cells.use_rep, cells.X.shape
    (Graph(4 nodes, 3 edges, dense), 'X_pca', (4, 2))
    """
    require_anndata(adata)
    found = _entry("uns", adata.uns, "neighbors_key", neighbors_key, "run scanpy.pp.neighbors")
    found = found if isinstance(found, Mapping) else {}
    key = _plain(found.get("connectivities_key", "connectivities"))
    weights = _entry("obsp", adata.obsp, f"uns[{neighbors_key!r}]", key, "run scanpy.pp.neighbors")
    params = found.get("params", {})
    name, n_columns = _representation(use_rep, params if isinstance(params, Mapping) else {})
    X = _matrix(adata, name)[:, :n_columns]
    try:
        graph = connect_by_features(Graph(weights), X)
    except (TypeError, ValueError) as error:
        raise type(error)(f"obsp[{key!r}]: {error}") from error
    return Cells(graph, name, X)


def require_anndata(adata: Any) -> None:
    """Refuse objects that are not AnnData."""
    if not all(hasattr(adata, part) for part in PARTS):
        raise TypeError(
            f"adata must be an AnnData object, got {type(adata).__name__}: read a file with "
            "anndata.read_h5ad(path)"
        )


def read_labels(adata: Any, label: str, unknown: Collection[str]) -> Labels:
    """Return the labels of the cells whose class is known.

    Parameters
    ----------
    adata : AnnData
    label : str
        A column of ``obs``. Missing and blank values, -1 and "?" mark cells without a label.
    unknown : collection of str
        Values that mark them, too.

    Raises
    ------
    TypeError, ValueError
        A column that is not there, or does not hold classes; labels of fewer than two classes; a
        value that may mark cells without a label and that ``unknown`` does not list.

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> adata = SimpleNamespace(obs=pd.DataFrame({"type": ["B", "T", "Unknown", None]}))
    >>> read_labels(adata, "type", ("Unknown",))
    Labels(2 nodes: 1 x 'B', 1 x 'T')
    """
    column = _entry("obs", adata.obs, "label", label, "name the column of cell types")
    if column.dtype.kind == "f" and (column.dropna() % 1 != 0).any():
        raise TypeError(
            f"obs[{label!r}] holds numbers with fractions, and classes are needed: name the column "
            "of cell types"
        )
    values = column.astype(object).tolist()
    found = find_unlabeled(values, marks=unknown)
    for value, n in (*found.doubtful.items(), *found.kept.items()):
        raise ValueError(
            f"obs[{label!r}] has {value!r} for {count(n, 'cell')}: list it in unknown=[...] if it "
            "marks cells without a label, or rename it if it is a class"
        )
    known = np.flatnonzero(~found.missing)
    shown = list(dict.fromkeys(str(values[at]) for at in known))
    if len(shown) < 2:
        raise ValueError(
            f"obs[{label!r}] must show at least two classes, got {shown}: label cells of another "
            "class too, or name another column"
        )
    most = find_most([str(value) for value in values] if known.size == len(values) else [None])
    if most is not None:
        warn(
            f"every cell has a label, and {most[1]} of {len(values)} have {most[0]!r}: list it in "
            "unknown=[...] if it marks cells without a label"
        )
    return Labels(known, [values[at] for at in known])


def require_unknown(
    adata: Any, label: str, unknown: Collection[str], default: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the values that mark cells without a label; one that does not occur is a mistake."""
    given: Any = [unknown] if isinstance(unknown, str) else unknown
    marks = tuple(given) if isinstance(given, list | tuple | set) else (None,)
    if not all(isinstance(mark, str) for mark in marks):
        raise TypeError(f"unknown must be a list of texts, got {reprlib.repr(unknown)}")
    column = _entry("obs", adata.obs, "label", label, "name the column of cell types")
    shown = sorted({str(value).strip() for value in column.dropna().unique()})
    absent = [mark for mark in marks if mark not in shown and mark not in default]
    if absent:
        raise ValueError(
            f"unknown lists {absent[0]!r}, but obs[{label!r}] has {list_names(shown)}: leave it "
            "out, or correct it"
        )
    return marks


def _representation(use_rep: str | None, params: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the name of the representation, and how many of its columns are used."""
    if use_rep is not None:
        return use_rep, None
    name, n_pcs = (_plain(params.get(key)) for key in ("use_rep", "n_pcs"))
    if n_pcs == 0:
        return GENES, None
    return name or PRINCIPAL_COMPONENTS, n_pcs


def _matrix(adata: Any, name: str) -> Array:
    """Return a representation as a checked matrix."""
    if isinstance(name, str) and name == GENES and hasattr(adata, "X"):
        where, found = "X", adata.X
        if hasattr(found, "to_memory"):  # a sparse matrix on the disk
            found = found.to_memory()
    else:
        remedy = 'run scanpy.pp.pca, or name another one by use_rep=..., such as "X"'
        where = f"obsm[{name!r}]"
        found = _entry("obsm", adata.obsm, "use_rep", name, remedy)
    if sparse.issparse(found):
        n, d = found.shape
        require_memory(8.0 * n * d, f"{where} as a dense matrix", "run scanpy.pp.pca first")
        found = found.toarray()
    try:
        matrix: Array = check_features(found)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from error
    return matrix


def _entry(place: str, entries: Any, argument: str, key: Any, remedy: str) -> Any:
    """Return an entry; a key that is not there is refused with those that are."""
    if not isinstance(key, str):
        raise TypeError(f"{argument} must be a name in {place}, got {reprlib.repr(key)}")
    if key not in entries:
        names = list_names([str(name) for name in entries])
        has = f"but {names}" if names else "and is empty"
        raise ValueError(f"{place} has no {key!r} ({argument}), {has}: {remedy}")
    return entries[key]


def _plain(value: Any) -> Any:
    """Return a Python object; files of earlier versions hold arrays of one value."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    value = value.item() if isinstance(value, np.generic) else value
    return value.decode() if isinstance(value, bytes) else value


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
    wrong = np.full(post.n_nodes, np.nan)
    wrong[suspects["node"]] = suspects["probability_mistake"]
    return {
        "pred": pd.Categorical.from_codes(codes, classes),
        "conf": best,
        "uncertainty": 1 - best,
        "entropy": post.entropy,
        "epistemic": post.uncertainty()["epistemic"].to_numpy(),
        "filtered": pd.Categorical.from_codes(
            np.where(uncertain, len(classes), codes), [*map(str, classes), UNKNOWN]
        ),
        "wrong": wrong,
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
