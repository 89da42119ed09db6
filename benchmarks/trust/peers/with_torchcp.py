"""torchcp: diffusion adaptive prediction sets of a network (Zargarbashi et al. 2023)."""

from __future__ import annotations

import numpy as np

from benchmarks.trust.peers import with_geometric
from benchmarks.trust.peers.ours import COVERAGE, halves
from benchmarks.trust.peers.task import Answer, Task


def daps(task: Task) -> Answer:
    """Return sets whose threshold comes from half of the labels, held out from the network."""
    import torch
    from torch_geometric.data import Data
    from torchcp.classification.score import APS
    from torchcp.graph.predictor import SplitPredictor
    from torchcp.graph.score import DAPS

    given, held_out = halves(task)
    z = torch.tensor(with_geometric.logits(task.given(given)), dtype=torch.float32)
    ends, weights = with_geometric.edges(task)
    n, n_classes = z.shape
    # only the classes of held-out labels are read
    y = torch.zeros(n, dtype=torch.int64)
    y[held_out.nodes] = torch.tensor(held_out.indices)
    data = Data(x=z, edge_index=ends, edge_weight=weights, y=y)
    scores = DAPS(data, APS(score_type="softmax"))(z)
    predictor = SplitPredictor(data, lambda _: scores, alpha=1 - COVERAGE)
    mask = torch.nn.functional.one_hot(y, n_classes).bool()
    predictor.calculate_threshold(z, torch.tensor(held_out.nodes), mask)
    sets = predictor.predict_with_logits(z, torch.arange(n))
    return Answer(sets=np.asarray(sets, dtype=bool))
