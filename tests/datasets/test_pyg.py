"""Networks as PyTorch Geometric holds them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from references.tensors import Tensor

import graphuq as gq

EDGES = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
MASKS = np.array([[True, False], [False, True], [True, True], [False, False]])


def make(**changes):
    given = {
        "edge_index": EDGES,
        "x": np.eye(4),
        "y": np.array([0, 1, 1, 2]),
        "train_mask": MASKS[:, 0],
        "test_mask": ~MASKS[:, 0],
        "val_mask": None,
    }
    return SimpleNamespace(**{**given, **changes})


def test_a_network_is_read():
    data = make(
        **{name: Tensor(value) for name, value in vars(make()).items() if name != "val_mask"}
    )
    graph, X, y, splits = gq.from_pyg(data)
    assert (graph.n_nodes, graph.n_edges) == (4, 3)
    np.testing.assert_array_equal(X, np.eye(4))
    assert y.tolist() == [0, 1, 1, 2]
    assert {part: nodes.tolist() for part, nodes in splits.items()} == {
        "train": [0, 2],
        "test": [1, 3],
    }


def test_what_is_absent_is_left_out():
    graph, X, y, splits = gq.from_pyg(SimpleNamespace(edge_index=EDGES, num_nodes=6))
    assert (graph.n_nodes, X, y.tolist(), splits) == (6, None, [-1] * 6, {})


def test_weights_classes_in_a_column_and_nan_are_read():
    y = np.array([[0.0], [np.nan], [1.0], [2.0]])
    data = make(edge_weight=np.array([2.0, 2, 3, 3, 4, 4]), y=y)
    found = gq.from_pyg(data)
    assert found.y.tolist() == [0, -1, 1, 2]
    assert found.graph.degrees.tolist() == [2, 5, 7, 4]


def test_one_of_several_splits_and_the_split_of_ogb_are_taken():
    data = make(train_mask=MASKS, test_mask=~MASKS)
    assert gq.from_pyg(data, split=1).splits["train"].tolist() == [1, 2]
    of_ogb = {"train": Tensor([3, 0]), "valid": Tensor([1]), "test": Tensor([2])}
    splits = gq.from_pyg(make(), split=of_ogb).splits
    assert {part: nodes.tolist() for part, nodes in splits.items()} == {
        "train": [0, 3],
        "val": [1],
        "test": [2],
    }


@pytest.mark.parametrize(
    ("changes", "split", "error", "message"),
    [
        ({"edge_index": None}, None, TypeError, "must have edge_index, .*T.ToSparseTensor"),
        ({"edge_attr": np.ones(6)}, None, ValueError, r"data\.edge_weight = data\.edge_attr"),
        ({"weight": np.ones((6, 1))}, None, ValueError, r"data\.edge_weight = data\.weight"),
        ({"x": np.eye(5)}, None, ValueError, "X must have one row for each of 4 nodes"),
        ({"y": np.eye(4)}, None, ValueError, r"one class for each of 4 nodes, got shape \(4, 4\)"),
        ({"y": np.array([0.5, 1, 1, 2])}, None, TypeError, "whole numbers, the classes"),
        ({"y": np.array([0, 1, np.inf, 2])}, None, TypeError, "whole numbers, the classes"),
        ({"train_mask": MASKS}, None, ValueError, "has 2 splits: choose one, split=0 to 1"),
        ({"train_mask": MASKS}, 2, ValueError, "split must be between 0 and 1, got 2"),
        ({}, 0, ValueError, "has only one split: leave out split=0"),
        ({"train_mask": MASKS[:3, 0]}, None, ValueError, r"must have shape \(4,\), got \(3,\)"),
        ({"train_mask": None, "test_mask": None}, 0, ValueError, "split names a split, but"),
        ({}, {"folds": [0]}, ValueError, "split names a split, but"),
        ({}, {"train": [0, 9]}, ValueError, "got 9"),
        ({"x": Tensor(np.eye(4), device="cuda")}, None, TypeError, r"X is a tensor on .*X\.cpu"),
        ({"y": Tensor(np.ones(4), device="cuda")}, None, TypeError, r"pass data\.y\.cpu\(\)"),
    ],
)
def test_bad_networks_are_refused(changes, split, error, message):
    with pytest.raises(error, match=message):
        gq.from_pyg(make(**changes), split)


def test_cora_goes_through_a_data_object_of_pytorch_geometric():
    torch = pytest.importorskip("torch")
    Data = pytest.importorskip("torch_geometric.data").Data
    try:
        cora = gq.datasets.planetoid("cora")
    except FileNotFoundError:
        pytest.skip("cora is not here")
    edges = cora.graph.adjacency.tocoo()
    masks = {}
    for part, nodes in cora.splits.items():
        masks[f"{part}_mask"] = torch.zeros(cora.graph.n_nodes, dtype=torch.bool)
        masks[f"{part}_mask"][torch.tensor(nodes)] = True
    data = Data(
        x=torch.tensor(cora.X.toarray()),
        edge_index=torch.tensor(np.stack([edges.row, edges.col]).astype(np.int64)),
        y=torch.tensor(cora.y),
        **masks,
    )

    again = gq.from_pyg(data)

    assert (again.graph.adjacency != cora.graph.adjacency).nnz == 0
    np.testing.assert_array_equal(again.X, cora.X.toarray())
    np.testing.assert_array_equal(again.y, cora.y)
    for part, nodes in cora.splits.items():
        np.testing.assert_array_equal(again.splits[part], np.sort(nodes))
