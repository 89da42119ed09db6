"""What the page of ``graphuq label`` shows of the items of a file."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from graphuq.cli.files import Items
from graphuq.cli.files.class_column import to_ids
from graphuq.cli.files.column_roles import default_id, own_label
from graphuq.cli.files.label_table import no_column
from graphuq.cli.files.numbers import AmbiguousColumnError, read_numbers
from graphuq.cli.files.options import ALL
from graphuq.cli.files.table import TABLES, kind, open_table
from graphuq.cli.options import read_options
from graphuq.cli.sample_steps import pixels_of
from graphuq.graphs import Graph
from graphuq.labeling.page import items as shown
from graphuq.labeling.page.pictures import PictureFiles, Pictures
from graphuq.labeling.page.rows import Column, Rows

# More features of an archive are not shown: they are no table that anybody reads.
MAX_FEATURES = 200


def show_items(options: argparse.Namespace, items: Items, graph: Graph) -> shown.Items:
    """Return pictures, texts, rows of the table, or names."""
    if items.images is not None:
        return PictureFiles(items.ids.tolist(), items.path.absolute())
    is_table = kind(items.path) in TABLES and items.features is not None
    if options.images is not None and options.images != ALL:
        if not is_table:
            raise ValueError(
                f"{items.path} has no columns: --images without a column takes the pixels of an "
                ".npz file"
            )
        frame = _read_texts(options, items)
        if options.images not in frame:
            raise ValueError(no_column(items.path, "--images", options.images, [*frame]))
        return PictureFiles(frame[options.images].tolist(), items.path.absolute().parent)
    if options.images is not None:
        X, shape = pixels_of(items), items.image_shape
        side = int(np.sqrt(X.shape[1]))
        return Pictures(np.asarray(X).reshape(len(X), *(shape or (side, side))))
    if is_table:
        frame = _read_texts(options, items)
        if options.text:
            return shown.Texts(["\n\n".join(row) for row in frame[options.text].to_numpy()])
        return Rows(_columns(options, items, frame), graph)
    if items.features is None or items.features.shape[1] > MAX_FEATURES:
        return shown.Names()
    return Rows(
        [
            Column(f"feature {k}", [f"{value:.4g}" for value in column], column)
            for k, column in enumerate(np.asarray(items.features, dtype=np.float64).T)
        ],
        graph,
    )


def _read_texts(options: argparse.Namespace, items: Items) -> Any:
    """Return the cells of the items as texts, in the order of the items; "" where nothing is."""
    table = open_table(items.path, options.encoding)
    frame = table.frame(as_text=table.columns)
    key = (
        default_id(table.columns, options.ignore)
        if options.id_column is None
        else options.id_column
    )
    ids = np.arange(len(frame)).astype(str) if key is None else to_ids(frame[key])
    frame = frame[np.isin(ids.astype(str), items.ids)].fillna("")
    label = own_label(table.columns, read_options(options))
    hidden = {key, label, options.truth, *table.empty_columns}
    return frame[[name for name in table.columns if name not in hidden]].astype(str)


def _columns(options: argparse.Namespace, items: Items, frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a table; features come first."""
    forms = {} if items.encoding is None else items.encoding.columns or {}
    found = []
    for name in frame:
        cells = frame[name].tolist()
        try:
            read = read_numbers(frame[name].replace("", None), options.decimal)
        except AmbiguousColumnError:
            read = None
        found.append(Column(str(name), cells, None if read is None else read.values, name in forms))
    return found
