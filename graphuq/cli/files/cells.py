"""Cells in h5ad files of AnnData: the graph of neighbors, and the representation beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphuq.adapters.cells import read_cells
from graphuq.cli.files.contents import Contents


def read_h5ad(path: Path) -> Contents:
    """Return the names of the cells, their graph, the representation and the columns of ``obs``.

    Genes stay on the disk.

    Raises
    ------
    ModuleNotFoundError
        anndata is not installed.
    ValueError
        A damaged file, or one without neighbors.
    """
    try:
        import anndata
    except ImportError as error:
        raise ModuleNotFoundError(
            "h5ad files need anndata: pip install 'graphuq[anndata]'"
        ) from error
    try:
        adata = anndata.read_h5ad(path, backed="r")
    except Exception as error:  # damage can make the reader fail in any way
        raise ValueError(
            f"{path} is not h5ad, or is damaged ({error}): write it again with adata.write_h5ad"
        ) from error
    try:
        return _contents(path, adata)
    finally:
        adata.file.close()


def _contents(path: Path, adata: Any) -> Contents:
    names = adata.obs_names
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise ValueError(
            f"{path}: two cells have the name {twice!r}: make names unique with "
            "adata.obs_names_make_unique()"
        )
    try:
        cells = read_cells(adata)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    note = f"the graph is that of the neighbors in the file, and the features are {cells.use_rep}"
    columns = {str(name): column.to_numpy(object) for name, column in adata.obs.items()}
    ids = np.array([str(name) for name in names])
    return Contents(ids, cells.X, cells.graph, columns, (note,), names=list(columns))
