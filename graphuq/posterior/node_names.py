"""Names of nodes, as files and arviz hold them: texts stored with the node numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation
from graphuq.utils.words import is_unicode, list_names


def check_names(names: Any, n_nodes: int) -> NDArray[np.str_]:
    """Return the names of nodes as texts.

    Raises
    ------
    ValueError, TypeError
        Not one name for each node; missing names; texts that files cannot hold.

    Examples
    --------
    >>> check_names(["anna", 7], 2)
    array(['anna', '7'], dtype='<U4')
    """
    import pandas as pd

    given = list(names) if np.ndim(validation.unmasked("names", names)) == 1 else None
    if given is None or len(given) != n_nodes:
        raise ValueError(
            f"names must be a list of {n_nodes} names, one for each node, got shape "
            f"{np.shape(names)}"
        )
    missing = np.flatnonzero(pd.Series(given, dtype=object).isna())
    if missing.size:
        raise ValueError(
            f"names must name every node, but that of node {missing[0]} is missing: fill it in, "
            "for example by the node's number, or give no names; they may be the index of a data "
            "frame, which X.reset_index(drop=True) drops"
        )
    texts = [str(name) for name in given]
    for node, text in enumerate(texts):
        if "\0" in text or not is_unicode(text):
            raise ValueError(
                f"the name of node {node}, {text!r}, has a character that files cannot hold: "
                "replace it"
            )
    return np.array(texts, dtype=np.str_)


def node_numbers(nodes: Any, names: NDArray[np.str_] | None, n_nodes: int) -> NDArray[np.int64]:
    """Return the positions of nodes that are given by position, or by name if they have names.

    Raises
    ------
    ValueError, TypeError
        A name that no node has, or that several have; positions that are none.

    Examples
    --------
    >>> node_numbers(["bo", "anna"], np.array(["anna", "bo"]), 2), node_numbers([1], None, 2)
    (array([1, 0]), array([1]))
    """
    given = np.atleast_1d(nodes)
    if given.dtype.kind not in "UO" or given.ndim > 1 or names is None:
        return validation.node_ids("nodes", nodes, n_nodes)
    position = {name: at for at, name in enumerate(names.tolist())}
    absent = [name for name in given.ravel().tolist() if name not in position]
    if absent:
        raise ValueError(
            f"no node is called {absent[0]!r} (nodes): the names are {list_names([*position], 4)}"
        )
    if len(position) < names.size:
        counts = Counter(names.tolist())
        twice = [name for name in given.tolist() if counts[name] > 1]
        if twice:
            raise ValueError(f"several nodes are called {twice[0]!r} (nodes): give their positions")
    return validation.node_ids("nodes", [position[name] for name in given], n_nodes)


def names_of_rows(X: Any) -> NDArray[np.str_] | None:
    """Return the index of a data frame, unless it only counts the rows; None for anything else.

    Raises
    ------
    ValueError
        An index that does not contain names, as in `check_names`.

    Examples
    --------
    >>> import pandas as pd
    >>> names_of_rows(pd.DataFrame({"height": [1.8, 1.6]}, index=["anna", "bo"]))
    array(['anna', 'bo'], dtype='<U4')
    >>> names_of_rows(pd.DataFrame({"height": [1.8, 1.6]}))
    """
    import pandas as pd

    if not isinstance(X, pd.DataFrame) or X.index.equals(pd.RangeIndex(len(X))):
        return None
    return check_names(np.asarray(X.index, dtype=object), len(X))
