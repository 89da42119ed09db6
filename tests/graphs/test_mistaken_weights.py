"""Weights that are probably something else, and names that are other numbers than positions."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import kneighbors_graph

import graphuq as gq


def quiet(work):
    """Return what work returns; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return work()


@pytest.fixture(scope="module")
def moons():
    return gq.datasets.two_moons(60, seed=0)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_matrix_of_distances_is_told(moons, metric, form):
    D = squareform(pdist(moons[0][:, :2], metric))
    with pytest.warns(RuntimeWarning, match="the weights look like distances"):
        gq.Graph(form(D))


@pytest.mark.parametrize("seed", range(20))
def test_matrices_of_similarities_are_not(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, int(rng.integers(1, 12))))
    squared = squareform(pdist(X, "sqeuclidean"))
    kernel = np.exp(-squared / np.median(squared))
    np.fill_diagonal(kernel, 0.0)
    quiet(lambda: gq.Graph(kernel))
    quiet(lambda: gq.Graph(np.ones((40, 40)) - np.eye(40)))
    quiet(lambda: gq.full_graph(X, weights="gaussian", tau=1.0))
    correlation = 1 + np.corrcoef(rng.normal(size=(40, 8)))
    np.fill_diagonal(correlation, 0.0)
    quiet(lambda: gq.Graph(correlation))


def test_distances_of_neighbors_name_the_way_out(moons):
    found = kneighbors_graph(moons[0], 8, mode="distance")
    with pytest.raises(ValueError, match=r"its 8 nearest neighbors, take gq.knn_graph\(X, 8\)"):
        gq.Graph(found)
    uneven = sparse.csr_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match=r"symmetrize it, for example \(A \+ A.T\) / 2$"):
        gq.Graph(uneven)


def test_a_matrix_of_pairs_in_place_of_features_is_told(moons):
    X, y = moons
    A = np.asarray(gq.Graph(gq.knn_graph(X, 8).adjacency.toarray()).adjacency)
    labels = np.where(np.arange(60) % 6 == 0, y, -1)
    with pytest.warns(RuntimeWarning, match='affinity="precomputed"'):
        gq.BayesianGraphClassifier(n_neighbors=5).fit(A, labels)
    with pytest.warns(RuntimeWarning, match=r"gq.Graph\(X\)"):
        gq.knn_graph(squareform(pdist(X)), 5)
    quiet(lambda: gq.knn_graph(np.random.default_rng(0).normal(size=(60, 60)), 5))


def test_weights_by_another_name_are_told():
    network = nx.Graph()
    network.add_edge("a", "b", value=3.0, kind="friend", close=True)
    network.add_edge("b", "c", value=1)
    with pytest.warns(RuntimeWarning, match="attribute 'value', which is not used: call it"):
        assert gq.Graph(network).adjacency[0, 1] == 1
    network["a"]["b"]["weight"] = 2.0
    assert quiet(lambda: gq.Graph(network)).adjacency[0, 1] == 2
    named = nx.Graph()
    named.add_edge("a", "b", kind="friend", close=True)
    quiet(lambda: gq.Graph(named))


def test_weights_of_igraph_by_another_name_are_told():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2)], edge_attrs={"strength": [1.0, 2.0]})
    with pytest.warns(RuntimeWarning, match="attribute 'strength'"):
        gq.Graph(graph)


def test_nodes_that_are_called_by_positions_have_these():
    """A file names node 31 before node 1; labels by number are those of these nodes."""
    network = nx.Graph([(0, 4), (4, 2), (2, 1), (1, 3)])
    graph = quiet(lambda: gq.Graph(network))
    assert graph.nodes.tolist() == [0, 1, 2, 3, 4]
    assert graph.adjacency[0, 4] == graph.adjacency[2, 1] == 1
    assert graph.adjacency[0, 1] == 0


def test_labels_by_name_are_those_of_the_nodes():
    karate = nx.karate_club_graph()
    club = {node: karate.nodes[node]["club"] for node in karate}
    renamed = nx.relabel_nodes(karate, {node: node + 1 for node in karate})
    with pytest.warns(RuntimeWarning, match=r"called 1 to 34, .* gq.Labels\({name: class"):
        graph = gq.Graph(renamed)
    known = {node + 1: club[node] for node in (0, 1, 32, 33)}
    for source in (graph, renamed):  # a graph of networkx will do, and is no reason to warn
        labels = quiet(lambda source=source: gq.Labels(known, source))
        assert labels.nodes.tolist() == [0, 1, 32, 33]
        assert labels.values.tolist() == [club[node] for node in (0, 1, 32, 33)]
    post = gq.approximate(graph, gq.Probit(0.1), labels)
    assert (post.prediction == [club[node] for node in karate]).mean() > 0.9
    part = gq.Graph(nx.Graph([("ann", "bob"), ("bob", "cy"), ("dee", "eve")])).largest_component()
    column = pd.Series([1, 0, 1], ["cy", "ann", "cy"])
    labels = gq.Labels(column, part)
    assert (labels.nodes.tolist(), labels.values.tolist()) == ([0, 2], [0, 1])
    with pytest.raises(ValueError, match="node 2"):
        gq.Labels(column.set_axis(["cy", "cy", "ann"]), part)
    assert gq.Labels({"cy": 1, "ann": 0}, part).nodes.tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"no node 'dee' \(2 such names\): its nodes are 'ann'"):
        gq.Labels({"dee": 1, "fay": 1, "ann": 0}, part)
    with pytest.raises((TypeError, ValueError)):
        gq.Labels({"ann": 1}, ["a", "b"])


def test_a_graph_of_networkx_can_be_sampled():
    karate = nx.karate_club_graph()
    labels = gq.Labels({0: "Mr. Hi", 33: "Officer"}, karate)
    post = gq.sample(karate, gq.Probit(0.1), labels, draws=50, chains=2, seed=0, progress=False)
    same = gq.sample(
        gq.Graph(karate), gq.Probit(0.1), labels, draws=50, chains=2, seed=0, progress=False
    )
    np.testing.assert_array_equal(post.probability, same.probability)


def test_classes_that_are_nearly_one_are_told():
    with pytest.warns(RuntimeWarning, match="'Dog', 'dog ' differ only in case or spaces"):
        gq.Labels([0, 1, 2], ["Dog", "dog ", "cat"])
    quiet(lambda: gq.Labels([0, 1, 2], ["Dog", "dog ", "cat"], ["Dog", "cat", "dog "]))
    quiet(lambda: gq.Labels([0, 1], ["Dog", "cat"]))
    with pytest.raises(ValueError, match="may not end with a NUL character, got 'a"):
        gq.Labels([0, 1, 2], ["a", "a\0", "b"])


@pytest.mark.parametrize(
    "change",
    [
        lambda D: D.round(2),
        lambda D: (100 * D).round(),
        lambda D: D.astype(np.float32),
        lambda D: D**2,
    ],
)
def test_rounded_and_squared_distances_are_told(change):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[7] = X[3]  # a duplicate
    D = change(squareform(pdist(X)))
    with pytest.warns(RuntimeWarning, match="the weights look like distances"):
        gq.Graph((D + D.T) / 2)


def test_weights_of_numpy_and_distances_by_name_are_told():
    network = nx.Graph()
    network.add_edge("a", "b", w=np.int64(3))
    with pytest.warns(RuntimeWarning, match="attribute 'w'"):
        gq.Graph(network)
    far = nx.Graph()
    far.add_edge("a", "b", distance=3.0)
    with pytest.warns(RuntimeWarning, match="of distances, 1 / distance is one"):
        gq.Graph(far)
    with pytest.warns(RuntimeWarning, match="X is symmetric"):
        gq.knn_graph(np.corrcoef(np.random.default_rng(0).normal(size=(30, 9))), 5)


def test_a_name_of_several_nodes_labels_none():
    graph = gq.Graph(np.ones((3, 3)), nodes=["a", "a", "b"])
    with pytest.raises(ValueError, match="several nodes are called 'a': label them by position"):
        gq.Labels({"a": "x", "b": "y"}, graph)
