import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import graphuq as gq

CYCLE = nx.to_numpy_array(nx.cycle_graph(6))
PAIRS = np.kron(np.eye(3), [[0.0, 5.0], [5.0, 0.0]])


def dense(graph):
    return graph.adjacency.toarray() if graph.is_sparse else graph.adjacency


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_units_of_weights_do_not_matter(form):
    both = gq.union(CYCLE, form(PAIRS))
    assert both.is_sparse == (form is sparse.csr_array)
    # mean degrees 2 and 5, both scaled to 3.5
    np.testing.assert_allclose(dense(both), 3.5 / 2 * CYCLE + 3.5 / 5 * PAIRS)
    other = gq.union(CYCLE, form(1000 * PAIRS))
    np.testing.assert_allclose(
        dense(other) / dense(other).sum(), dense(both) / dense(both).sum(), atol=1e-15
    )
    np.testing.assert_allclose(dense(gq.union(form(PAIRS), CYCLE)), dense(both))


def test_it_connects_what_one_graph_connects():
    X = np.repeat([[0.0], [50.0]], 20, axis=0) + np.random.default_rng(0).random((40, 1))
    apart = gq.knn_graph(X, 5)
    assert apart.n_components == 2
    both = gq.union(apart, nx.path_graph(40))
    assert both.n_components == 1
    labels = gq.Labels([0, 39], [0, 1])
    post = gq.approximate(gq.Prior.projected(both, 10), gq.Probit(0.1), labels)
    assert post.accuracy(np.repeat([0, 1], 20)) == 1


def test_names_of_nodes_are_kept_and_compared():
    named = gq.Graph(CYCLE, nodes=list("abcdef"))
    assert gq.union(PAIRS, named).nodes.tolist() == list("abcdef")
    assert gq.union(named, named).nodes.tolist() == list("abcdef")
    with pytest.raises(ValueError, match=r"name node 0 differently, .*a.* and .*b.*same order"):
        gq.union(named, gq.Graph(CYCLE, nodes=list("bacdef")))


def test_the_smaller_recall_is_kept():
    graph = gq.Graph(CYCLE)
    graph.recall = 0.99
    assert gq.union(PAIRS, graph).recall == 0.99


def test_graphs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="same nodes, got 6 and 3: build both from the same items"):
        gq.union(CYCLE, CYCLE[:3, :3])
    with pytest.raises(ValueError, match="the second graph has no edge: leave it out"):
        gq.union(CYCLE, np.zeros((6, 6)))
