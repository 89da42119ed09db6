"""The nearest labeled items of an item, along the edges of the graph."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from graphuq.graphs import Graph
from graphuq.labeling.records import Neighbor

# Items looked at: a question must not wait.
MAX_SETTLED = 300


class Near:
    """The graph's edges, made ready to look for labeled items.

    Examples
    --------
    >>> near = Near(Graph([[0, 2, 0], [2, 0, 1], [0, 1, 0]]))
    >>> near.labeled(0, {2: "cat"}, 5)
    (Neighbor(node=2, label='cat', weight=0.5),)
    """

    def __init__(self, graph: Graph) -> None:
        edges: Any = sparse.csr_array(graph.adjacency)
        self._starts, self._ends = edges.indptr, edges.indices
        self._weights = edges.data / max(edges.data.max(initial=0.0), np.finfo(float).tiny)

    def labeled(self, node: int, labels: Mapping[int, str], k: int) -> tuple[Neighbor, ...]:
        """Return up to k labeled items, those with the largest product of weights first.

        Dijkstra's algorithm, which stops after `MAX_SETTLED` items.
        """
        found: list[Neighbor] = []
        settled: set[int] = set()
        best = [(-1.0, node)]
        while best and len(found) < k and len(settled) < MAX_SETTLED:
            weight, at = heapq.heappop(best)
            if at in settled:
                continue
            settled.add(at)
            if at != node and at in labels:
                found.append(Neighbor(at, labels[at], -weight))
            its = slice(self._starts[at], self._starts[at + 1])
            for end, factor in zip(
                self._ends[its].tolist(), self._weights[its].tolist(), strict=True
            ):
                if end not in settled and factor > 0:
                    heapq.heappush(best, (weight * factor, end))
        return tuple(found)
