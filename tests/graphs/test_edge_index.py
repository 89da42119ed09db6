"""Lists of edges as arrays, and the graphs of other packages."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.tensors import Tensor

import graphuq as gq

PAIRS = [[0, 1, 1, 2, 2, 2], [1, 0, 2, 1, 2, 3]]


def dense(graph):
    return graph.adjacency.toarray()


@given(seed=st.integers(0, 2**32 - 1), both=st.booleans())
@settings(max_examples=8, deadline=None)
def test_edges_are_those_of_the_matrix(seed, both):
    rng = np.random.default_rng(seed)
    A = rng.random((7, 7)) * (rng.random((7, 7)) < 0.4)
    A = np.triu(A)
    A[0, 6] = 1.0
    listed = np.maximum(A, A.T) if both else A
    i, j = np.nonzero(listed)
    order = rng.permutation(i.size)
    edges, weights = np.stack([i, j])[:, order], listed[i, j][order]

    np.testing.assert_array_equal(
        dense(gq.Graph.from_edge_index(edges, weights)), np.maximum(A, A.T)
    )
    np.testing.assert_array_equal(dense(gq.Graph.from_edge_index(edges)), np.maximum(A, A.T) > 0)


def test_weights_of_repeated_edges_are_added_and_pairs_without_weights_are_one():
    edges = [[0, 0, 1, 1], [1, 1, 0, 2]]
    graph = gq.Graph.from_edge_index(edges, [1.0, 2.0, 4.0, 0.5])
    assert dense(graph).tolist() == [[0, 7, 0], [7, 0, 0.5], [0, 0.5, 0]]
    assert dense(gq.Graph.from_edge_index(edges)).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.filterwarnings("ignore:edge")
def test_directions_that_differ_by_rounding_count_once():
    weights = np.float32([0.1, 0.1, 3.0, 3.0])
    weights[1] = np.nextafter(weights[0], np.float32(1))
    graph = gq.Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]], weights)
    np.testing.assert_allclose(graph.degrees, [0.1, 3.1, 3.0], rtol=1e-6)
    # small beside the largest weight, but another weight in each direction
    apart = gq.Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]], [1e-8, 2e-8, 1.0, 1.0])
    np.testing.assert_allclose(apart.degrees[[0, 2]], [3e-8, 2.0])


def test_nodes_without_edges_and_columns_of_weights_are_taken():
    graph = gq.Graph.from_edge_index(np.array(PAIRS, dtype=np.uint8), np.ones((6, 1)), n_nodes=6)
    assert (graph.n_nodes, graph.n_components) == (6, 3)
    assert gq.Graph.from_edge_index(np.empty((2, 0)), n_nodes=2).n_edges == 0


def test_tensors_are_read_in_place_or_refused():
    graph = gq.Graph.from_edge_index(Tensor(PAIRS), Tensor(np.ones(6)))
    assert graph.n_nodes == 4
    with pytest.raises(TypeError, match=r"edge_index is a tensor on .*pass edge_index\.cpu\(\)"):
        gq.Graph.from_edge_index(Tensor(PAIRS, device="cuda"))
    with pytest.raises(TypeError, match=r"edge_weight is .* gradients: pass edge_weight\.detach"):
        gq.Graph.from_edge_index(PAIRS, Tensor(np.ones(6), requires_grad=True))
    with pytest.raises(TypeError, match=r"X is a tensor that requires gradients: pass X\.detach"):
        gq.knn_graph(Tensor(np.ones((4, 2)), requires_grad=True), 1)
    with pytest.raises(TypeError, match=r"adjacency is a tensor on .*pass adjacency\.cpu\(\)"):
        gq.Graph(Tensor(np.ones((4, 4)), device="cuda"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.transpose(PAIRS),), ValueError, r"two rows.*shape \(6, 2\): pass edge_index\.T"),
        (([0, 1],), ValueError, "two rows"),
        (([[0.0], [1.0]],), TypeError, "must hold integers, the nodes, got float64"),
        (([[0], [-1]],), ValueError, "count the nodes from 0, got nodes -1 to 0"),
        ((np.empty((2, 0)),), ValueError, "lists no edge between two nodes: give n_nodes"),
        ((PAIRS, None, 3), ValueError, "n_nodes must be at least 4, got 3"),
        ((PAIRS, None, 2.0), TypeError, "n_nodes must be an integer"),
        (([[0], [2**52]],), MemoryError, "number the nodes from 0 without gaps"),
        ((PAIRS, [1, 1]), ValueError, r"one number for each of 6 edges, got shape \(2,\)"),
        ((PAIRS, ["a"] * 6), TypeError, "must hold numbers"),
        ((PAIRS, [1, 1, np.nan, 1, 1, 1]), ValueError, "edge 2 has weight nan"),
        ((PAIRS, [1, -1, -2, 1, 1, 1]), ValueError, r"edge 1 has weight -1.*2 such edges"),
    ],
)
def test_bad_lists_of_edges_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        gq.Graph.from_edge_index(*arguments)


class Igraph:
    """What an igraph.Graph has."""

    def __init__(self, n, edges, vertices=(), weights=None, directed=False):
        names = {"name": list(vertices)} if vertices else {}
        weight = {} if weights is None else {"weight": weights}
        self.vs, self.es = (_Sequence(named) for named in (names, weight))
        self._n, self._edges, self._directed = n, edges, directed

    def vcount(self):
        return self._n

    def ecount(self):
        return len(self._edges)

    def get_edgelist(self):
        return self._edges

    def is_directed(self):
        return self._directed


class _Sequence(dict):
    def attributes(self):
        return list(self)


def of_igraph(**options):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(options["n"], options["edges"], directed=options.get("directed", False))
    if options.get("vertices"):
        graph.vs["name"] = options["vertices"]
    if options.get("weights") is not None:
        graph.es["weight"] = options["weights"]
    return graph


@pytest.mark.parametrize("make", [Igraph, of_igraph])
def test_igraph_names_and_weights_are_read(make):
    edges = [(0, 1), (2, 1), (3, 3), (1, 0)]
    named = make(n=4, edges=edges, vertices=["ann", "bob", "cy", "dee"], weights=[2.5, 1, 4, 0.5])
    graph = gq.Graph(named)
    assert graph.nodes.tolist() == ["ann", "bob", "cy", "dee"]
    network = nx.MultiGraph()
    network.add_nodes_from(graph.nodes)
    for (i, j), weight in zip(edges, [2.5, 1, 4, 0.5], strict=True):
        network.add_edge(graph.nodes[i], graph.nodes[j], weight=weight)
    np.testing.assert_array_equal(dense(graph), dense(gq.Graph(network)))
    plain = gq.Graph(make(n=4, edges=edges[:2]))
    assert plain.nodes.tolist() == [0, 1, 2, 3]
    assert plain.degrees.tolist() == [1, 2, 1, 0]


@pytest.mark.parametrize("make", [Igraph, of_igraph])
def test_directed_and_unweighable_graphs_of_igraph_are_refused(make):
    with pytest.raises(ValueError, match=r"igraph graph is directed: pass graph\.as_undirected"):
        gq.Graph(make(n=2, edges=[(0, 1)], directed=True))
    with pytest.raises(TypeError, match="igraph graph has no numeric weights"):
        gq.Graph(make(n=2, edges=[(0, 1)], weights=["heavy"]))


def test_what_only_looks_like_a_graph_is_refused():
    with pytest.raises(TypeError, match="or a graph of networkx or igraph, got"):
        gq.Graph(SimpleNamespace(vs=[]))
