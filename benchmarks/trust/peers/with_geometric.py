"""torch-geometric: the two-layer graph convolutional network, plain and with its temperature.

The network and its training are those of Kipf and Welling (2017), with 64 hidden units and without
early stopping, which needs more labels. The temperature (Guo et al. 2017) is the one that
fits best the labels that networks trained without them predict, a third at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from benchmarks.trust.peers.task import Answer, SkippedError, Task
from benchmarks.trust.peers.tuning import folds

if TYPE_CHECKING:
    import torch

HIDDEN, DROPOUT, EPOCHS, RATE, DECAY = 64, 0.5, 200, 0.01, 5e-4
MOST_EDGES = 200_000  # more take minutes for each network
SPARSE = 0.2  # features with a smaller share of values other than 0 are stored without the zeros
LOWEST, HIGHEST = 0.05, 20.0  # temperatures


def plain(task: Task) -> Answer:
    return Answer(softmax(logits(task), axis=1))


def scaled(task: Task) -> Answer:
    if np.bincount(task.labels.indices).min() < 2:
        raise SkippedError("too few labels")
    whole = logits(task)
    parts = [(logits(task.given(kept))[left.nodes], left.indices) for kept, left in folds(task)]
    z = np.concatenate([found for found, _ in parts])
    y = np.concatenate([indices for _, indices in parts])

    def loss(log_t: float) -> float:
        return -log_softmax(z / np.exp(log_t), axis=1)[np.arange(len(y)), y].mean()

    best = minimize_scalar(loss, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded")
    return Answer(softmax(whole / np.exp(best.x), axis=1))


@lru_cache(maxsize=1)  # the plain network is also the one to scale
def logits(task: Task) -> np.ndarray:
    """Return the logits of a network trained with the labels of ``task``, shape (N, K)."""
    if task.problem.links.n_edges > MOST_EDGES:
        raise SkippedError("too many edges")
    import torch
    from torch_geometric.nn import GCNConv

    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    X = torch.tensor(task.problem.features, dtype=torch.float32)
    ends, weights = edges(task)
    first = GCNConv(X.shape[1], HIDDEN, cached=True)
    second = GCNConv(HIDDEN, task.problem.n_classes, cached=True)
    drop = torch.nn.Dropout(DROPOUT)
    optimizer = torch.optim.Adam(
        [
            {"params": first.parameters(), "weight_decay": DECAY},
            {"params": second.parameters()},
        ],
        lr=RATE,
    )

    is_sparse = X.count_nonzero() < SPARSE * X.numel()
    words = X.to_sparse_coo().coalesce()

    def dropped() -> torch.Tensor:
        if not is_sparse:
            return drop(X)
        values = drop(words.values())  # dropout leaves zeros as they are
        return torch.sparse_coo_tensor(words.indices(), values, X.shape, is_coalesced=True)

    def forward() -> torch.Tensor:
        hidden = drop(first(dropped(), ends, weights).relu())
        return second(hidden, ends, weights)

    nodes, y = torch.tensor(task.labels.nodes), torch.tensor(task.labels.indices)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(forward()[nodes], y).backward()
        optimizer.step()
    drop.eval()
    with torch.no_grad():
        return forward().numpy().astype(np.float64)


def edges(task: Task) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    A = sparse.coo_array(task.problem.links.adjacency)
    weights = torch.tensor(A.data, dtype=torch.float32)
    return torch.tensor(np.stack([A.row, A.col]), dtype=torch.int64), weights
