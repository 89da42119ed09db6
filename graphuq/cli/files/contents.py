"""The contents of a file, before its labels are completed and its items selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray

from graphuq.cli.files.encoding import Encoding
from graphuq.graphs import Graph
from graphuq.utils.typing import Array

# The note on items without ids.
NUMBERED = (
    "the items have no ids: they are numbered from 0, in the order of the file. If your ids count "
    "from 1, subtract 1"
)


class Contents(NamedTuple):
    """What every reader of a file returns.

    Attributes
    ----------
    ids : ndarray of str, shape (n,)
    features : ndarray, shape (n_kept, d), or None
    graph : Graph or None
        Either the features or the graph is given; cells have both, and so have linked items.
    columns : dict of str to array_like, shape (n,)
        Columns that may hold classes, with the values of the file.
    notes : tuple of str
        Sentences that say how the contents were changed.
    kept : ndarray of bool, shape (n,), or None
        Items that are kept; None keeps all.
    image_shape : (int, int) or None
        Height and width, if the features are the pixels of images.
    names : sequence of str
        All names of columns in the file, to list them in messages.
    encoding : Encoding or None
        How the columns of the file became features.
    shown : DataFrame or None
        Columns that lists of items show.
    images : ndarray, shape (n_kept, n_pixels), or None
        Gray levels of items that are pictures in files.
    linked : bool
        Whether the graph has links that were not made of the features.
    """

    ids: NDArray[Any]
    features: Array | None
    graph: Graph | None
    columns: dict[str, Any]
    notes: tuple[str, ...] = ()
    kept: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None
    names: Sequence[str] = ()
    encoding: Encoding | None = None
    shown: pd.DataFrame | None = None
    images: Array | None = None
    linked: bool = False
