"""AnnData files on the command line; skipped where anndata is not installed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.cli.files import ReadOptions, read
from graphuq.cli.program import main

anndata = pytest.importorskip("anndata")

N = 40


@pytest.fixture
def adata():
    rng = np.random.default_rng(0)
    kind = np.repeat(["B", "T"], N // 2)
    X = rng.normal(size=(N, 3)) + 3 * (kind == "T")[:, None]
    obs = pd.DataFrame({"kind": kind, "depth": rng.uniform(size=N)})
    obs["type"] = pd.Categorical(np.where(np.arange(N) % 5 == 0, kind, None))
    obs.index = [f"cell{i}" for i in range(N)]
    return anndata.AnnData(
        sparse.csr_array(np.hstack([X, X])),
        obs=obs,
        obsm={"X_pca": X},
        obsp={"connectivities": gq.knn_graph(X, 5, connect=True).adjacency},
        uns={"neighbors": {"params": {"n_neighbors": 5}}},
    )


def test_cells_have_a_graph_and_features(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")

    items = read(tmp_path / "cells.h5ad", ReadOptions(label="type", truth="kind"))

    assert items.ids.tolist() == adata.obs_names.tolist()
    assert np.array_equal(items.features, adata.obsm["X_pca"])
    assert (items.graph.adjacency != adata.obsp["connectivities"]).nnz == 0
    assert items.known.tolist() == [None if pd.isna(k) else k for k in adata.obs["type"]]
    assert items.truth.tolist() == adata.obs["kind"].tolist()


@pytest.mark.parametrize("dense", [False, True])
def test_genes_are_read_if_neighbors_were_made_of_them(adata, tmp_path, dense):
    if dense:
        adata.X = adata.X.toarray()
    adata.uns["neighbors"]["params"]["use_rep"] = "X"
    adata.write_h5ad(tmp_path / "cells.h5ad")

    items = read(tmp_path / "cells.h5ad", ReadOptions(label="type"))

    assert np.array_equal(items.features, np.hstack([adata.obsm["X_pca"]] * 2))


def test_a_result_is_that_of_annotate(adata, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adata.write_h5ad("cells.h5ad")

    assert main(["sample", "cells.h5ad", "--label", "type", "--seed", "3"]) == 0
    assert main(["suggest", "cells-graphuq", "--k", "2"]) == 0

    nodes = pd.read_csv("cells-graphuq/nodes.csv", index_col="id")
    post = gq.annotate(adata, "type", ask=0, method="sample", seed=4)
    assert nodes.index.tolist() == adata.obs_names.tolist()
    assert (
        abs(nodes["probability"] - post.probability).max()
        < 6 * np.hypot(nodes["mcse"], post.probability_mcse).max()
    )


def drop_neighbors(adata):
    del adata.uns["neighbors"]


def repeat_names(adata):
    adata.obs_names = ["one", "one", *adata.obs_names[2:]]


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [
        (drop_neighbors, {}, "uns has no 'neighbors' (neighbors_key), and is empty: run scanpy"),
        (repeat_names, {}, "two cells have the name 'one': make names unique with adata.obs"),
        (None, {"label": "celltype"}, "has no column 'celltype' (--label): did you mean 'type'?"),
        (
            None,
            {"scale": True},
            "--scale and --no-scale cannot be used with an .h5ad file: leave it",
        ),
    ],
)
def test_bad_files_are_refused(adata, tmp_path, spoil, options, message):
    if spoil is not None:
        spoil(adata)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)

    with pytest.raises(ValueError, match="cells.h5ad.*" + re.escape(message)):
        read(path, ReadOptions(**{"label": "type", **options}))


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"PK and no more")

    with pytest.raises(ValueError, match=r"cells\.h5ad is not h5ad, or is damaged"):
        read(path)
