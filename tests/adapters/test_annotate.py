from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.adapters.cells import read_cells, write_cells
from graphuq.graphs.construction import connect_by_features
from graphuq.priors.default_sum import default_graph_prior, default_sum

N = 60
SUFFIXES = [
    "pred", "conf", "uncertainty", "entropy", "epistemic", "filtered", "wrong", "suspect", "ask",
]  # fmt: skip
COLORS = ["#ff0000", "#00ff00", "#0000ff", "#888888"]


def make_parts():
    """Three clumps of cells, four labels of each; categories are not sorted."""
    rng = np.random.default_rng(3)
    truth = np.repeat(["T cell", "B", "CD4+/CD25"], N // 3)
    X = rng.normal(size=(N, 4)) + 2.5 * np.repeat(np.eye(4)[:3], N // 3, axis=0)
    known = np.where(np.arange(N) % 5 == 0, truth, "Unknown")
    categories = ["T cell", "Unknown", "CD4+/CD25", "B"]
    parts = {
        "obs": pd.DataFrame(
            {"type": pd.Categorical(known, categories)}, index=[f"cell{i}" for i in range(N)]
        ),
        "obsm": {"X_pca": X, "X_other": X[:, :2]},
        "obsp": {"connectivities": gq.knn_graph(X, 6, connect=True).adjacency},
        "uns": {"neighbors": {"params": {}}, "type_colors": COLORS},
    }
    return parts, truth


@pytest.fixture
def cells():
    parts, _ = make_parts()
    return SimpleNamespace(**parts, obs_names=parts["obs"].index)


def expected(cells, labels, **options):
    prior = default_sum(
        default_graph_prior(gq.Graph(cells.obsp["connectivities"]), N - 1),
        cells.obsm["X_pca"],
        **options,
    )
    tuned = gq.tune(prior, labels)
    return gq.approximate(tuned.prior, tuned.likelihood, labels)


@pytest.fixture(scope="module")
def annotated():
    """Cells with results, which tests leave as they are, and the posterior."""
    parts, _ = make_parts()
    found = SimpleNamespace(**parts, obs_names=parts["obs"].index)
    return found, gq.annotate(found, "type", reject=0.3, method="approximate")


def test_results_are_those_of_the_default_prior(annotated):
    cells, post = annotated

    given = np.arange(0, N, 5)
    labels = gq.Labels(given, cells.obs["type"].astype(str).to_numpy()[given])
    alone = expected(cells, labels)
    assert np.array_equal(post.by_class, alone.by_class)
    assert not np.allclose(post.by_class, expected(cells, labels, graph_weight=1).by_class)
    assert post.names[7] == "cell7"


def test_columns_say_what_the_posterior_says(annotated):
    cells, post = annotated

    obs, classes = cells.obs, ["T cell", "CD4+/CD25", "B"]
    assert obs.columns.tolist() == ["type", *(f"type_{suffix}" for suffix in SUFFIXES)]
    p = cells.obsm["type_probability"]
    settings = cells.uns["type_graphuq"]
    assert settings["classes"] == obs["type_pred"].cat.categories.tolist() == classes
    assert np.array_equal(p[:, [2, 1, 0]], post.by_class)  # sorted: B, CD4+/CD25, T cell
    assert (obs["type_pred"] == post.prediction).all()
    assert (obs["type_pred"] == np.array(classes)[p.argmax(axis=1)]).all()
    assert np.array_equal(obs["type_conf"], p.max(axis=1))
    assert np.array_equal(obs["type_uncertainty"], 1 - p.max(axis=1))
    assert np.array_equal(obs["type_entropy"], post.entropy)
    assert np.array_equal(obs["type_epistemic"], post.uncertainty()["epistemic"])
    rejected = obs["type_uncertainty"] > 0.3
    assert 0 < rejected.sum() < N
    assert (obs["type_filtered"][rejected] == "Unknown").all()
    assert (obs["type_filtered"] == obs["type_pred"].astype(str))[~rejected].all()
    asked = np.flatnonzero(obs["type_ask"])
    assert asked.size == 5
    assert (obs["type"].iloc[asked] == "Unknown").all()
    assert sorted(settings["ask"]) == sorted(obs.index[asked])


def test_classes_keep_their_colors(annotated, cells):
    uns, post = annotated[0].uns, annotated[1]
    assert uns["type_pred_colors"] == ["#ff0000", "#0000ff", "#888888"]
    assert uns["type_filtered_colors"] == ["#ff0000", "#0000ff", "#888888", "#d3d3d3"]

    cells.uns |= {"mine_pred_colors": COLORS, "type_colors": COLORS[:2]}  # of other classes
    write_cells(cells, "type", "mine", post, {})
    assert "mine_pred_colors" not in cells.uns


@pytest.mark.parametrize("likelihood", ["auto", gq.NoisyProbit(0.1, 0.1)])
def test_a_wrong_label_is_suspect(cells, likelihood):
    _, truth = make_parts()
    wrong = np.where(np.arange(N) % 2, "Unknown", truth).astype(object)
    wrong[4] = "CD4+/CD25"  # among T cells
    cells.obs["type"] = wrong

    post = gq.annotate(cells, "type", likelihood=likelihood, method="approximate")

    assert np.flatnonzero(cells.obs["type_suspect"]).tolist() == [2, 4]  # 2 is among the B
    assert post.suspect_labels()["node"][0] == 4
    doubt = cells.obs["type_wrong"].dropna()  # of labeled cells
    assert len(doubt) == len(post.labels)
    assert doubt.idxmax() == cells.obs_names[4]
    assert cells.obs["type_pred"].cat.categories.tolist() == ["B", "CD4+/CD25", "T cell"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_sampling_agrees(annotated, cells):
    quick = annotated[1]
    drawn = gq.annotate(cells, "type", ask=0, draws=130, chains=3, seed=1)
    assert drawn.draws.shape == (3, 130)

    assert abs(quick.by_class - drawn.by_class).max() < 0.15
    assert cells.uns["type_graphuq"]["method"] == "sample"
    assert not cells.obs["type_ask"].any()


def test_the_representation_is_the_one_of_the_neighbors(cells):
    params = cells.uns["neighbors"]["params"]
    assert read_cells(cells).use_rep == "X_pca"
    params["n_pcs"] = np.array([3])  # as files of earlier versions have it
    assert np.array_equal(read_cells(cells).X, cells.obsm["X_pca"][:, :3])
    params["use_rep"] = np.array([b"X_other"])
    assert np.array_equal(read_cells(cells).X, cells.obsm["X_other"])
    assert read_cells(cells, use_rep="X_pca").X.shape == (N, 4)
    params["n_pcs"], cells.X = 0, sparse.csr_array(np.eye(N))
    assert read_cells(cells).X.shape == (N, N)


def test_neighbors_name_their_weights(cells):
    cells.uns["spatial"] = {"connectivities_key": "spatial_connectivities"}
    cells.obsp["spatial_connectivities"] = 2 * cells.obsp["connectivities"]

    found = read_cells(cells, "spatial").graph

    assert (found.adjacency != cells.obsp["spatial_connectivities"]).nnz == 0


def test_gaps_are_bridged_by_the_shortest_edge():
    X = np.array([[0.0], [1.0], [3.0], [3.5], [9.0]])
    pairs = gq.Graph([[0, 0.01, 0, 0, 0], [0.01, 0, 0, 0, 0], [0, 0, 0, 0.2, 0],
                      [0, 0, 0.2, 0, 0], [0, 0, 0, 0, 0]])  # fmt: skip

    found = connect_by_features(pairs, X).adjacency.toarray()

    assert np.isclose(found[1, 2], np.exp(-(2**2) / (2 * 1 * 0.5)))
    assert found[3, 4] == 0.01  # the lightest edge: the one of eq. (15) is lighter
    assert np.count_nonzero(found) == 8
    assert found[0, 1] == 0.01


BAD = {
    "label": ({"label": "kind"}, "obs has no 'kind' (label), but 'type': name the column"),
    "number": ({"label": 3}, "label must be a name in obs, got 3"),
    "key": ({"neighbors_key": "nn"}, "uns has no 'nn' (neighbors_key), but 'neighbors', 'type_col"),
    "rep": ({"use_rep": "X_scvi"}, "obsm has no 'X_scvi' (use_rep), but 'X_pca', 'X_other': run"),
    "unknown": ({"unknown": ["None"]}, "unknown lists 'None', but obs['type'] has 'B', 'CD4+/CD2"),
    "no text": ({"unknown": [3]}, "unknown must be a list of texts, got [3]"),
    "doubtful": ({"unknown": []}, "obs['type'] has 'Unknown' for 48 cells: list it in unknown="),
    "reject": ({"reject": 2}, "reject must lie between 0 and 1, got 2"),
    "method": ({"method": "exact"}, "method must be one of 'sample', 'approximate', got 'exact'"),
    "draws": ({"draws": 0}, "draws must be at least 1, got 0"),
    "chains": ({"chains": 2.5}, "chains must be an integer, got 2.5"),
    "added": ({"key_added": 1}, "key_added must be a text, got 1"),
    "weight": ({"graph_weight": -1}, "graph_weight must lie between 0 and 1, got -1"),
    "likelihood": ({"likelihood": gq.Probit}, "pass an instance, such as Probit(...), not the cl"),
}


@pytest.mark.parametrize("options", BAD)
def test_bad_arguments_are_refused_before_any_work(cells, options):
    given, message = BAD[options]

    with pytest.raises((TypeError, ValueError), match="^" + re.escape(message)):
        gq.annotate(cells, given.pop("label", "type"), **given)

    assert cells.obs.columns.tolist() == ["type"]
    assert list(cells.uns) == ["neighbors", "type_colors"]


def set_numbers(cells):
    cells.obs["type"] = np.linspace(0, 1, N)


def set_one_class(cells):
    cells.obs["type"] = ["B"] * N


def set_weights(cells):
    cells.obsp["connectivities"] = -cells.obsp["connectivities"]


def set_nan(cells):
    cells.obsm["X_pca"][3, 1] = np.nan


def drop_weights(cells):
    cells.obsp["distances"] = cells.obsp.pop("connectivities")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (set_numbers, "obs['type'] holds numbers with fractions, and classes are needed"),
        (set_one_class, "obs['type'] must show at least two classes, got ['B']"),
        (set_weights, "obsp['connectivities']: weights must be non-negative"),
        (set_nan, "obsm['X_pca']: "),
        (drop_weights, "obsp has no 'connectivities' (uns['neighbors']), but 'distances': run"),
    ],
)
def test_bad_cells_are_refused_before_any_work(cells, spoil, message):
    spoil(cells)

    with pytest.raises((TypeError, ValueError), match="^" + re.escape(message)):
        gq.annotate(cells, "type")

    assert cells.obs.columns.tolist() == ["type"]


def test_something_else_than_anndata_is_refused():
    with pytest.raises(TypeError, match=r"^adata must be an AnnData object, got DataFrame"):
        gq.annotate(pd.DataFrame(), "type")


@pytest.mark.parametrize("method", ["sample", "approximate"])
def test_results_survive_a_file(tmp_path, method):
    anndata = pytest.importorskip("anndata")
    parts, _ = make_parts()
    adata = anndata.AnnData(X=np.zeros((N, 1)), **parts)
    post = gq.annotate(adata, "type", method=method)

    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")

    pd.testing.assert_frame_equal(again.obs, adata.obs)
    classes = again.uns["type_graphuq"]["classes"].tolist()
    order = [classes.index(name) for name in post.labels.classes]
    assert np.array_equal(again.obsm["type_probability"][:, order], post.by_class)
    assert again.uns["type_pred_colors"].tolist() == ["#ff0000", "#0000ff", "#888888"]
    kept = {k: v for k, v in again.uns["type_graphuq"].items() if not isinstance(v, np.ndarray)}
    assert kept == {k: adata.uns["type_graphuq"][k] for k in kept}


@pytest.mark.filterwarnings("ignore")
def test_scanpy_draws_what_was_written():
    anndata, scanpy = pytest.importorskip("anndata"), pytest.importorskip("scanpy")
    from matplotlib.colors import to_hex

    parts, _ = make_parts()
    parts["obsm"]["X_umap"] = parts["obsm"]["X_other"]
    adata = anndata.AnnData(X=np.zeros((N, 1)), **parts)
    gq.annotate(adata, "type", method="approximate")

    panels = [f"type_{suffix}" for suffix in SUFFIXES]
    axes = scanpy.pl.umap(adata, color=panels, show=False, sort_order=False)

    drawn = dict(zip(panels, (axis.collections[0] for axis in axes), strict=True))
    assert np.array_equal(drawn["type_conf"].get_array(), adata.obs["type_conf"])
    by_class = dict(zip(["T cell", "CD4+/CD25", "B"], adata.uns["type_pred_colors"], strict=True))
    colors = [to_hex(color) for color in drawn["type_pred"].get_facecolors()]
    assert colors == [by_class[name] for name in adata.obs["type_pred"]]


@pytest.mark.filterwarnings("ignore")
def test_the_page_on_cells_runs():
    pytest.importorskip("scanpy")
    import matplotlib

    matplotlib.use("agg")
    page = Path(gq.__file__).parents[1] / "docs/how-to/cells.md"
    text = page.read_text(encoding="utf-8")
    found = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, found)
    assert found["post"].accuracy(found["truth"]) > 0.7
    written = set(re.findall(r'`(obs|obsm|uns)\["(cell_type_\w+)"\]`', text))
    assert {suffix for _, suffix in written} >= {f"cell_type_{suffix}" for suffix in SUFFIXES}
    for place, name in written:
        assert name in getattr(found["adata"], place)
