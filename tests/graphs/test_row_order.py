"""The order of the rows changes nothing but the order of the results."""

import itertools

import networkx as nx
import numpy as np
import pytest
from references.selection import slow_among

import graphuq as gq
from graphuq.graphs import construction, neighbor_search
from graphuq.graphs.neighbors import Neighbors

LEAVES, SIDE = 200, 12
binary = np.random.default_rng(1).random((200, 16)) < np.repeat([0.35, 0.65], [90, 110])[:, None]
few_bits = (np.random.default_rng(0).random((160, 3)) < 0.4).astype(float)
rounded = 1000 + np.random.default_rng(2).normal(size=(160, 3)).round(1)
lattice = np.indices((SIDE, SIDE)).reshape(2, -1).T / 10
pairs = np.repeat(np.arange(40), 2)[:, None] * 3.0 + np.tile([[0.0], [1.0]], (40, 1))


def of_features(X, **options):
    return len(X), lambda order: gq.knn_graph(X.astype(float)[order], connect=True, **options)


def of_network(network):
    A = nx.to_scipy_sparse_array(network, format="csr", dtype=float)
    return A.shape[0], lambda order: gq.Graph(A[order][:, order])


def unit_scale(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


CASES = {
    "votes": of_features(binary, n_neighbors=10),
    "scaled votes": of_features(unit_scale(binary), n_neighbors=10),
    "cosines of votes": of_features(binary, n_neighbors=10, weights="cosine"),
    "mutual neighbors": of_features(few_bits, n_neighbors=10, symmetrise="mutual"),
    "few distinct rows": of_features(few_bits, n_neighbors=10),
    "rounded numbers": of_features(rounded, n_neighbors=7),
    "lattice": of_features(lattice, n_neighbors=9),
    "one neighbor": of_features(lattice, n_neighbors=1),
    "equal bridges": of_features(pairs, n_neighbors=1),
    "copies": of_features(np.repeat(rounded[:20], 15, axis=0), n_neighbors=10),
    "edges as long as the radius": (
        SIDE**2,
        lambda order: gq.epsilon_graph(lattice[order], radius=0.1),
    ),
    "star": of_network(nx.star_graph(LEAVES)),
    "complete graph": of_network(nx.complete_graph(100)),
    "grid": of_network(nx.grid_2d_graph(SIDE, SIDE)),
    "torus": of_network(nx.grid_2d_graph(8, 8, periodic=True)),
}

# cases whose ties are of the kind of another case
ALIKE = ("scaled votes", "cosines of votes", "rounded numbers", "one neighbor", "copies", "torus")


def infer(graph, order, rank, kind):
    """Return the probabilities in the original order, and the evidence."""
    nodes = np.random.default_rng(5).permutation(order.size)[:8]
    labels = gq.Labels(np.argsort(order)[nodes], np.tile([0, 1], 4))
    prior = getattr(gq.Prior, kind)(graph, rank)
    probability = np.empty(order.size)
    probability[order] = gq.approximate(prior, gq.Probit(0.3), labels).probability
    return probability, float(gq.evidence(prior, gq.Probit(0.3), labels))


@pytest.mark.parametrize("name", slow_among(CASES, ALIKE))
def test_a_permutation_of_rows_permutes_probabilities(name):
    n, build = CASES[name]
    orders = np.arange(n), np.random.default_rng(3).permutation(n)
    graphs = [build(order) for order in orders]
    for kind, rank in itertools.product(("projected", "approximated"), (5, 50, n - 1)):
        (before, evidence), (after, again) = (
            infer(graph, order, rank, kind) for graph, order in zip(graphs, orders, strict=True)
        )
        assert abs(before - after).max() < 1e-8
        assert evidence == pytest.approx(again, abs=1e-7)


@pytest.mark.slow
def test_a_permutation_of_rows_permutes_what_the_labels_choose():
    n, build = CASES["votes"]
    known = gq.reveal(np.repeat([0, 1], [90, 110]), counts=6, seed=4)
    found = []
    for order in (np.arange(n), np.random.default_rng(3).permutation(n)):
        labels = gq.Labels(np.argsort(order)[known.nodes], known.values)
        quick = gq.approximate(build(order), gq.Probit(), labels)
        probability = np.empty(n)
        probability[order] = quick.probability
        found.append(probability)
    assert abs(found[0] - found[1]).max() < 1e-8


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_permutation_of_rows_with_tied_binary_features_leaves_the_default_as_it_is(seed):
    """Labels that agree with equally many others are told apart by those about them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (150, 5)).astype(float)
    y = X[:, :3].sum(axis=1).astype(int) % 2
    known = np.where(rng.permutation(150) < 40, y, -1)
    found = []
    for order in (np.arange(150), rng.permutation(150)):
        model = gq.BayesianGraphClassifier(method="approximate", n_neighbors=8)
        probability = np.empty((150, 2))
        probability[order] = model.fit(X[order], known[order]).posterior_.by_class
        found.append(probability)
    assert abs(found[0] - found[1]).max() < 1e-8


def test_all_neighbors_that_tie_with_the_last_are_kept():
    graph = gq.knn_graph(lattice, 2, weights="binary")
    inner = graph.adjacency.toarray().reshape((SIDE,) * 4)[5, 5]
    assert np.argwhere(inner).tolist() == [[4, 5], [5, 4], [5, 6], [6, 5]]
    # no more than K where none tie
    X = np.random.default_rng(0).normal(size=(200, 4))
    assert np.array_equal(np.bincount(Neighbors(X, 6, "binary")._links.i), np.full(200, 6))


def test_ties_beyond_the_first_candidates_are_found():
    X = np.eye(60)
    assert gq.knn_graph(X, 3, weights="binary").n_edges == 60 * 59 // 2
    assert gq.knn_graph(np.repeat([[0.0], [1.0]], 40, axis=0), 3).n_edges == 2 * 40 * 39 // 2


def test_more_ties_than_the_limit_are_cut_with_a_warning(monkeypatch):
    monkeypatch.setattr(neighbor_search, "MAX_LINKS", 60)
    with pytest.warns(RuntimeWarning, match=r"more than 30 neighbors of 60 items.*order of the r"):
        graph = gq.knn_graph(np.eye(60), 3, weights="binary")
    assert graph.n_edges < 60 * 59 // 2


def test_all_bridges_of_equal_length_are_added():
    X = np.array([[0.0, 0], [0, 1], [5, 0], [5, 1], [50, 0.5]])
    graph = gq.knn_graph(X, 1, weights="binary", connect=True)
    i, j = np.nonzero(np.triu(graph.adjacency.toarray()))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 3),
        (2, 4),
        (3, 4),
    ]


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("rounded", [False, True])
def test_bridges_between_many_items_are_those_of_all_distances(d, rounded, monkeypatch):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(4, d))[rng.integers(0, 4, 400)] * 40 + rng.normal(size=(400, d))
    if rounded:  # edges tie
        X = np.round(X)
    plain = gq.knn_graph(X, 5, connect=True)
    monkeypatch.setattr(construction, "BRIDGE_BLOCK", 400)
    nearest, searched = construction.Exact.nearest, []

    def watched(self, rows, k):
        searched.append(k)
        return nearest(self, rows, k)

    monkeypatch.setattr(construction.Exact, "nearest", watched)
    again = gq.knn_graph(X, 5, connect=True)
    assert searched.count(1) > 2
    assert (plain.adjacency != again.adjacency).nnz == 0


def test_more_bridges_than_the_limit_are_cut_with_a_warning(monkeypatch):
    monkeypatch.setattr(construction, "MAX_LINKS", 100)
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    with pytest.warns(RuntimeWarning, match=r"edges between two components are equally short"):
        graph = gq.knn_graph(X, 3, weights="binary", connect=True)
    assert graph.n_edges < 2 * 20 * 19 // 2 + 20 * 20


def test_a_new_item_is_connected_to_all_items_that_tie():
    neighbors = Neighbors(lattice, 2, "binary")
    weights, same = neighbors.weigh_new(np.array([[0.55, 0.5], [0.5, 0.5]]))
    assert np.flatnonzero(weights.toarray()[0]).tolist() == [5 * SIDE + 5, 6 * SIDE + 5]
    assert same.toarray()[1, 5 * SIDE + 5] == 1


def test_interchangeable_leaves_of_a_star_are_treated_alike():
    star = gq.Graph(nx.star_graph(LEAVES))
    labels = gq.Labels([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1])
    prior = gq.Prior.projected(star, 50)
    post = gq.sample(prior, gq.Probit(0.1), labels, seed=0, draws=200, progress=False)
    leaves = post.probability[7:]
    assert np.ptp(leaves) < 1e-9
    assert post.probability[0] == 0.5  # the field at the hub is 0 in all modes kept


def test_a_rank_inside_a_repeated_eigenvalue_moves_to_an_end():
    grid = gq.Graph(nx.grid_2d_graph(SIDE, SIDE))
    prior = gq.Prior.projected(grid, 1)
    assert prior.rank == 2
    assert "rank 2, since 1 lies inside a repeated eigenvalue" in repr(prior)
    assert gq.Prior.approximated(grid, 1).rank == 1
    assert gq.Prior.approximated(grid, 1, lambda_bar=1.0).rank == 2
    # the same for the ranks that the labels choose from
    free = gq.Prior.projected(gq.Spectrum.of(grid, 7), "auto")
    assert free.with_parameters(rank=1).rank == 2
    assert [gq.Prior.projected(free.spectrum, r).rank for r in (2, 3, 5)] == [2, 3, 5]


def test_a_spectrum_that_ends_inside_an_eigenvalue_says_so(tmp_path):
    grid = gq.Graph(nx.grid_2d_graph(SIDE, SIDE))
    spectrum = gq.Spectrum.of(grid, 2)
    assert not spectrum.splits
    shorter = spectrum.truncated(1)
    assert shorter.splits
    assert repr(shorter).endswith("the last one repeated beyond)")
    gq.Spectrum.of(grid, 1).save(tmp_path / "one.npz")
    assert gq.Spectrum.load(tmp_path / "one.npz", grid).splits


def test_a_rank_that_cannot_move_up_gives_a_warning():
    star = gq.Spectrum.of(gq.Graph(nx.star_graph(LEAVES)), 20)
    with pytest.warns(RuntimeWarning, match=r"rank 20 lies inside .* order of the nodes.*approx"):
        gq.Prior.projected(star, 20)
    grid = gq.Spectrum.of(gq.Graph(nx.grid_2d_graph(SIDE, SIDE)), 4)
    cut = gq.Spectrum(
        grid.values[:3], grid.vectors[:, :3], grid.null, next_value=float(grid.values[2])
    )
    with pytest.warns(RuntimeWarning, match=r"rank 3 lies inside .* the first 2 modes are kept"):
        assert gq.Prior.projected(cut, 3).rank == 2


def test_lanczos_completes_an_eigenspace():
    torus = gq.Graph(nx.grid_2d_graph(33, 33, periodic=True))
    assert gq.Prior.projected(torus, 6).rank == 8
