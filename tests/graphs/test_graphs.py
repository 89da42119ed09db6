import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from graphuq import Graph, epsilon_graph, full_graph, knn_graph, pca
from graphuq.datasets import digit_pair
from graphuq.graphs.construction import SYMMETRIZATIONS
from graphuq.graphs.neighbors import WEIGHTS
from graphuq.graphs.spectrum import Spectrum

PATH = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
TWO_PIECES = linalg.block_diag(np.ones((2, 2)), np.ones((3, 3))) - np.eye(5)
WITH_ISOLATED = linalg.block_diag(np.ones((3, 3)) - np.eye(3), np.zeros((1, 1)))


def points(n, d, seed=0):
    # positive features, so that a full graph of cosines is allowed
    return np.random.default_rng(seed).gamma(2.0, size=(n, d))


def dense(graph):
    return graph.adjacency.toarray() if graph.is_sparse else graph.adjacency


def lengths_between(X, weights):
    if weights == "cosine":
        X = X / np.linalg.norm(X, axis=1)[:, None]
    return cdist(X, X)


def naive(X, weights, *, tau=None, tuning=None, names=lambda i, j: True, symmetrise="union"):
    """Eq. (15) pair by pair; ``names(i, j)`` says whether i takes j for a neighbor."""
    n = len(X)
    A = np.zeros((n, n))
    for i in range(n):
        for j in set(range(n)) - {i}:
            if weights == "binary":
                w = 1.0
            elif weights == "cosine":
                w = max(0.0, X[i] @ X[j] / np.sqrt((X[i] @ X[i]) * (X[j] @ X[j])))
            else:
                scales = tau**2 if weights == "gaussian" else tuning[i] * tuning[j]
                w = np.exp(-((X[i] - X[j]) ** 2).sum() / (2 * scales))
            votes = int(names(i, j)) + int(names(j, i))
            A[i, j] = w * {"union": votes > 0, "mean": votes / 2, "mutual": votes == 2}[symmetrise]
    return A


@pytest.mark.parametrize("d", [3, 20])  # a tree search and a brute-force one
@pytest.mark.parametrize("symmetrise", SYMMETRIZATIONS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_knn_weights_are_those_of_a_double_loop(weights, symmetrise, d):
    X, K = points(30, d) - 1, 4
    lengths = lengths_between(X, weights)
    nearest = np.argsort(lengths, axis=1)[:, 1 : K + 1]
    tau = 1.5 if weights == "gaussian" else None
    expected = naive(
        X,
        weights,
        tau=tau,
        tuning=np.sort(lengths, axis=1)[:, K],
        names=lambda i, j: j in nearest[i],
        symmetrise=symmetrise,
    )
    graph = knn_graph(X, K, weights=weights, tau=tau, symmetrise=symmetrise)
    assert graph.is_sparse
    np.testing.assert_allclose(dense(graph), expected, atol=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_full_weights_are_those_of_a_double_loop(weights):
    X, K = points(20, 3), 4
    tau = 1.5 if weights == "gaussian" else None
    tuning = np.sort(lengths_between(X, weights), axis=1)[:, K]
    graph = full_graph(X, weights=weights, tau=tau, n_neighbors=K)
    assert not graph.is_sparse
    np.testing.assert_allclose(
        graph.adjacency, naive(X, weights, tau=tau, tuning=tuning), atol=1e-12
    )


@pytest.mark.parametrize(
    ("weights", "tau"), [*((kind, None) for kind in WEIGHTS), ("gaussian", 0.4)]
)
def test_epsilon_weights_are_those_of_a_double_loop(weights, tau):
    X, K = points(20, 3), 4
    lengths = lengths_between(X, weights)
    radius = float(np.quantile(lengths, 0.4))
    graph = epsilon_graph(X, radius, weights=weights, tau=tau, n_neighbors=K)
    expected = naive(
        X,
        weights,
        tau=radius if tau is None else tau,
        tuning=np.sort(lengths, axis=1)[:, K],
        names=lambda i, j: lengths[i, j] <= radius,
    )
    assert 0 < graph.n_edges < 190
    np.testing.assert_allclose(dense(graph), expected, atol=1e-12)


def test_self_loops_add_ones_on_the_diagonal_only():
    X = points(9, 2)
    without = full_graph(X, n_neighbors=3)
    with_loops = full_graph(X, n_neighbors=3, self_loops=True)
    np.testing.assert_array_equal(with_loops.adjacency, without.adjacency + np.eye(9))
    assert with_loops.n_edges == without.n_edges + 9


@pytest.mark.parametrize(
    "build",
    [
        lambda X: knn_graph(X, 4),
        lambda X: full_graph(X, n_neighbors=4),
        lambda X: epsilon_graph(X, 1e3, weights="self-tuning", n_neighbors=4),
    ],
)
@pytest.mark.parametrize("d", [2, 20])
def test_more_duplicates_than_neighbors_keep_finite_positive_weights(build, d):
    X = points(24, d)
    X[:7] = X[0]
    A = dense(build(X))
    np.testing.assert_array_equal(A, A.T)
    assert np.isfinite(A).all()
    assert (A[:7, 7:] > 1e-8).any(axis=0).any()  # they still reach the others
    np.testing.assert_allclose(A[:7, :7][A[:7, :7] > 0], 1, rtol=1e-6)


def test_items_that_are_all_equal_get_weight_one():
    np.testing.assert_array_equal(full_graph(np.ones((12, 2))).adjacency, 1 - np.eye(12))


def test_an_outlier_does_not_turn_the_scales_of_the_others():
    line = np.arange(20.0)[:, None]
    alone = dense(knn_graph(line, 3))
    with pytest.warns(RuntimeWarning, match=r"row 20, column 0 of X is 1e\+09, which dwarfs 20"):
        beside = dense(knn_graph(np.vstack([line, [[1e9]]]), 3))[:20, :20]
    # the three nodes at the end may change: the outlier names them
    np.testing.assert_allclose(beside[:15, :15], alone[:15, :15], rtol=1e-6)


def test_knn_weights_do_not_depend_on_the_origin():
    X = points(60, 20)
    moved = dense(knn_graph(X + 2.0**20, 5))
    np.testing.assert_allclose(moved, dense(knn_graph(X, 5)), atol=1e-6)


@pytest.mark.filterwarnings("ignore:edge .* outweighs")
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_features_give_symmetric_weights_in_the_unit_interval(data):
    n = data.draw(st.integers(3, 12))
    # few distinct values: ties and duplicates are the rule
    cells = data.draw(st.lists(st.integers(1, 3), min_size=2 * n, max_size=2 * n))
    X = np.array(cells, dtype=float).reshape(n, 2)
    weights = data.draw(st.sampled_from(WEIGHTS))
    K = data.draw(st.integers(1, n - 1))
    tau = 0.7 if weights == "gaussian" else None
    for graph in (
        knn_graph(
            X, K, weights=weights, tau=tau, symmetrise=data.draw(st.sampled_from(SYMMETRIZATIONS))
        ),
        full_graph(X, weights=weights, tau=tau, n_neighbors=K),
        epsilon_graph(X, 1.0, weights=weights, tau=tau, n_neighbors=K),
    ):
        A = dense(graph)
        np.testing.assert_array_equal(A, A.T)
        assert A.min() >= 0
        assert A.max() <= 1 + 1e-12
        assert not A.diagonal().any()


def test_items_at_right_angles_have_cosine_zero_and_no_edge():
    rng = np.random.default_rng(0)
    X = np.zeros((40, 8))
    X[:20, :4], X[20:, 4:] = rng.random((2, 20, 4))
    assert full_graph(X, weights="cosine").n_components == 2
    assert knn_graph(X, 25, weights="cosine").n_components == 2


@pytest.mark.parametrize("loops", [0.0, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_laplacians_follow_their_definitions(form, loops):
    A = dense(knn_graph(points(15, 2), 4, connect=True)) + loops * np.eye(15)
    D = np.diag(A.sum(axis=1))
    half = np.diag(A.sum(axis=1) ** -0.5)
    graph = Graph(form(A))
    normalized, combinatorial = graph.laplacian(), graph.laplacian("combinatorial")
    if graph.is_sparse:
        normalized, combinatorial = normalized.toarray(), combinatorial.toarray()
    np.testing.assert_allclose(normalized, np.eye(15) - half @ A @ half, atol=1e-14)
    np.testing.assert_allclose(combinatorial, D - A, atol=1e-14)
    np.testing.assert_allclose(normalized @ np.sqrt(graph.degrees), 0, atol=1e-13)
    np.testing.assert_allclose(combinatorial @ np.ones(15), 0, atol=1e-13)


def test_the_dirichlet_energy_is_the_sum_over_edges():
    graph = knn_graph(points(15, 2), 4, connect=True)
    A, u = dense(graph), np.random.default_rng(0).standard_normal(15)
    scaled = u / np.sqrt(graph.degrees)
    expected = (A * np.subtract.outer(scaled, scaled) ** 2).sum() / 4  # eq. (2)
    assert u @ (graph.laplacian() @ u) / 2 == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format_is_read(name, kind):
    graph = Graph(getattr(sparse, f"{name}_{kind}")(PATH))
    assert graph.is_sparse
    assert graph.n_edges == 2
    np.testing.assert_array_equal(dense(graph), PATH)


def test_sparse_duplicates_are_summed_and_stored_zeros_are_no_edges():
    entries = [0.5, 0.5, 1.0, 0.0, 0.0], ([0, 0, 1, 1, 2], [1, 1, 0, 2, 1])
    graph = Graph(sparse.coo_array(entries, shape=(3, 3)))
    np.testing.assert_array_equal(dense(graph), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert graph.n_edges == 1


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_a_graph_keeps_its_own_copy_of_the_weights(form):
    A = form(PATH)
    graph = Graph(A)
    A[0, 1] = 9
    assert graph.adjacency[0, 1] == 1


def test_rounding_in_symmetry_is_averaged_away():
    A = PATH.copy()
    A[0, 1] += 1e-15
    assert (Graph(A).adjacency == Graph(A).adjacency.T).all()


def test_lists_and_data_frames_are_read():
    np.testing.assert_array_equal(Graph(PATH.tolist()).adjacency, PATH)
    X = points(12, 3)
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"row {i}" for i in range(12)])
    np.testing.assert_array_equal(dense(knn_graph(frame, 3)), dense(knn_graph(X, 3)))


def test_networkx_names_and_weights_are_read():
    network = nx.Graph()
    network.add_edge("ann", "bob", weight=2.5)
    network.add_edge("cy", "bob")
    network.add_edge("dee", "eve", weight=7)
    graph = Graph(network)
    assert graph.nodes.tolist() == ["ann", "bob", "cy", "dee", "eve"]
    assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == 2.5
    assert graph.adjacency[1, 2] == 1
    assert graph.largest_component().nodes.tolist() == ["ann", "bob", "cy"]


def test_networkx_names_may_be_tuples_or_ints():
    assert Graph(nx.grid_2d_graph(2, 2)).nodes.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    with pytest.warns(RuntimeWarning, match="called 3 to 8"):
        assert Graph(nx.Graph([(5, 3), (3, 8)])).nodes.tolist() == [5, 3, 8]


@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from([np.asarray, sparse.csr_array]))
@settings(max_examples=15, deadline=None)
def test_components_are_numbered_by_size_and_map_back(seed, form):
    where = np.random.default_rng(seed).permutation(10)
    blocks = [np.ones((m, m)) - np.eye(m) for m in (2, 5, 3)]
    A = linalg.block_diag(*blocks)[np.ix_(where, where)]
    graph = Graph(form(A))
    assert graph.n_components == 3
    assert np.bincount(graph.component).tolist() == [5, 3, 2]
    part = graph.largest_component()
    assert part.nodes.tolist() == np.flatnonzero((where >= 2) & (where < 7)).tolist()
    np.testing.assert_array_equal(dense(part), A[np.ix_(part.nodes, part.nodes)])


@pytest.mark.parametrize("weights", ["self-tuning", "gaussian", "cosine"])
@pytest.mark.parametrize("seed", range(4))
def test_connecting_adds_the_minimum_spanning_tree_between_components(seed, weights):
    X = points(40, 2, seed)
    tau = 0.8 if weights == "gaussian" else None
    apart = knn_graph(X, 1, weights=weights, tau=tau)
    joined = knn_graph(X, 1, weights=weights, tau=tau, connect=True)
    assert apart.n_components > 2
    assert joined.n_components == 1
    bridges = sparse.csr_array(joined.adjacency - apart.adjacency)
    bridges.eliminate_zeros()
    lengths = lengths_between(X, weights)
    # steps inside a component cost next to nothing, so the tree spans the components
    lengths[np.equal.outer(apart.component, apart.component)] = 1e-6
    tree = csgraph.minimum_spanning_tree(lengths).tocoo()
    between = apart.component[tree.row] != apart.component[tree.col]
    expected = {frozenset(pair) for pair in zip(tree.row[between], tree.col[between], strict=True)}
    assert {frozenset(pair) for pair in zip(*bridges.nonzero(), strict=True)} == expected
    assert bridges.data.min() >= apart.adjacency.data.min()


def test_a_bridge_is_weighed_by_eq_15_but_never_below_any_nodes_heaviest():
    X = np.array([[0.0], [1], [3], [4.9], [15], [15.5]])
    apart = knn_graph(X, 1, weights="gaussian", tau=2.0)
    joined = knn_graph(X, 1, weights="gaussian", tau=2.0, connect=True)
    least = np.exp(-(1.9**2) / 8)
    assert apart.adjacency.data.min() == pytest.approx(least)
    assert joined.adjacency[1, 2] == pytest.approx(least)
    assert joined.adjacency[3, 4] == pytest.approx(least)
    X = np.array([[0.0], [1], [3], [4], [50], [55]])
    assert knn_graph(X, 1, weights="gaussian", tau=2.0).n_components == 3
    joined = knn_graph(X, 1, weights="gaussian", tau=2.0, connect=True)
    assert joined.adjacency[1, 2] == pytest.approx(np.exp(-(2.0**2) / 8))


@given(seed=st.integers(0, 2**32 - 1), log_distance=st.floats(-12, -0.5))
@settings(max_examples=30, deadline=None)
def test_near_duplicates_do_not_make_a_connected_graph_fall_apart(seed, log_distance):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 5)) * rng.lognormal(0, 1, (120, 1))
    for first in (0, 20, 40):
        X[first : first + 9] = X[first] + 10**log_distance * rng.standard_normal((9, 5))

    spectrum = Spectrum.of(knn_graph(X, 5, connect=True), 2)  # it would raise, or warn

    assert spectrum.values[0] > 2e-9


def test_without_bridges_near_duplicates_are_apart_to_rounding():
    rng = np.random.default_rng(0)
    # nine items name each other alone, and items that name them are far away on their scale
    X = np.concatenate([1e-3 * rng.standard_normal((9, 5)), rng.standard_normal((60, 5))])
    loose, joined = knn_graph(X, 5), knn_graph(X, 5, connect=True)
    assert loose.n_components == 1
    with pytest.raises(ValueError, match="falls apart numerically"):
        Spectrum.of(loose, 2)
    added = sparse.csr_array(joined.adjacency - loose.adjacency)
    added.eliminate_zeros()
    assert added.nnz == 2
    assert added.data.min() >= dense(loose).max(axis=1).min() * (1 - 1e-12)


def test_connecting_a_graph_without_any_edge_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"tau|edge|weights"):
        knn_graph([[0.0], [1.0], [2.0]], 1, weights="gaussian", tau=1e-3, connect=True)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_pca_is_the_leading_singular_vectors_up_to_sign(shape):
    X = points(*shape)
    U, S, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(abs(pca(X, 4)), abs(U[:, :4] * S[:4]), atol=1e-10)


def test_pca_refuses_more_components_than_the_data_has():
    with pytest.raises(ValueError, match=r"between 1 and 3, got 4.*shape"):
        pca(points(9, 3), 4)


def spoilt(*faults):
    X = points(8, 2)
    for row, fault in faults:
        X[row, 1] = fault
    return X


@pytest.mark.parametrize("build", [knn_graph, full_graph, lambda X, **_: epsilon_graph(X, 1.0)])
@pytest.mark.parametrize(
    ("X", "first"),
    [
        (spoilt((3, np.nan)), 3),
        (spoilt((5, np.inf)), 5),
        (spoilt((2, -np.inf), (6, np.inf)), 2),
    ],
    ids=["nan", "inf", "both infinities"],
)
def test_features_that_are_not_finite_are_refused_by_row(build, X, first):
    with pytest.raises(ValueError, match=rf"rows, first in row {first}"):
        build(X, n_neighbors=3)


X8 = points(8, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: knn_graph(X8, 8), ValueError, r"n_neighbors.*between 1 and 7, got 8.*8 rows"),
        (lambda: knn_graph(X8, 0), ValueError, r"n_neighbors must be between 1"),
        (lambda: knn_graph(X8, 2.0), TypeError, r"n_neighbors must be an integer"),
        (lambda: full_graph(X8, n_neighbors=8), ValueError, r"n_neighbors.*between 1 and 7"),
        (
            lambda: epsilon_graph(X8, 1.0, weights="self-tuning"),
            ValueError,
            r"n_neighbors.*between 1 and 7, got 10",
        ),
        (lambda: knn_graph(X8, 2, weights="cubic"), ValueError, r"weights must be one of .*cubic"),
        (lambda: knn_graph(X8, 2, symmetrise="max"), ValueError, r"symmetrise must be one of"),
        (lambda: knn_graph(X8, 2, weights="gaussian"), ValueError, r"give tau"),
        (lambda: knn_graph(X8, 2, weights="gaussian", tau=0.0), ValueError, r"tau must be posit"),
        (lambda: knn_graph(X8, 2, tau=1.0), ValueError, r"self-tuning weights take none"),
        (lambda: epsilon_graph(X8, -1.0), ValueError, r"radius must be positive"),
        (lambda: epsilon_graph(X8, np.nan), ValueError, r"radius must be finite"),
        (lambda: knn_graph(np.eye(8)[:, :7], 2, weights="cosine"), ValueError, r"row 7 of X is z"),
        (lambda: full_graph(X8 - 1.5, weights="cosine"), ValueError, r"rows \d and \d have cosine"),
        (lambda: knn_graph(X8[0], 2), ValueError, r"got shape \(2,\)"),
        (lambda: knn_graph(X8[:1], 1), ValueError, r"at least two rows"),
        (lambda: knn_graph([["a"], ["b"]], 1), TypeError, r"numeric matrix"),
        (lambda: Graph(PATH[:2]), ValueError, r"square.*\(2, 3\)"),
        (lambda: Graph([[0.0]]), ValueError, r"at least two nodes"),
        (lambda: Graph([["a", "b"], ["c", "d"]]), TypeError, r"numeric matrix"),
        (lambda: Graph(PATH, nodes=["a", "b"]), ValueError, r"nodes must name 3 nodes"),
        (lambda: Graph(nx.DiGraph([(0, 1)])), ValueError, r"directed.*to_undirected"),
        (lambda: Graph(PATH).laplacian("random walk"), ValueError, r"kind must be one of"),
    ],
)
def test_bad_input_is_refused_with_a_reason(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ([(1, 2, np.nan), (2, 1, np.nan)], r"finite: a\[1, 2\] = nan \(2 such entries\)"),
        ([(1, 2, np.inf)], r"finite: a\[1, 2\] = inf"),
        ([(0, 1, -1), (1, 0, -1)], r"non-negative: a\[0, 1\] = -1"),
        ([(2, 1, 5)], r"symmetric: a\[(1, 2|2, 1)\] = "),
    ],
)
def test_bad_weights_are_refused_by_entry(form, fault, message):
    A = PATH.copy()
    for i, j, weight in fault:
        A[i, j] = weight
    with pytest.raises(ValueError, match=message):
        Graph(form(A))


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (TWO_PIECES, r"2 components of 3, 2 nodes\. .*largest_component.*connect=True"),
        (
            WITH_ISOLATED,
            r"components of 3, 1 nodes; 1 node is isolated, first node 3\. .*largest",
        ),
    ],
)
def test_disconnected_graphs_are_refused_with_the_remedy(adjacency, message):
    with pytest.raises(ValueError, match=message):
        Graph(adjacency).require_connected()


def test_the_british_spelling_of_a_laplacian_is_accepted():
    graph = knn_graph(points(15, 2), 4, connect=True)
    assert (graph.laplacian("normalised") != graph.laplacian("normalized")).nnz == 0
    with pytest.raises(ValueError, match=r"kind must be one of 'normalized', 'combinatorial'"):
        graph.laplacian("random-walk")


def test_isolated_nodes_have_no_normalized_laplacian():
    with pytest.raises(ValueError, match=r"1 node has no edge, first node 3"):
        Graph(WITH_ISOLATED).laplacian()


def test_a_full_graph_too_large_for_memory_is_refused(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"full graph of 8 nodes.*use knn_graph"):
        full_graph(X8, n_neighbors=3)


@pytest.mark.parametrize("kind", ["self-tuning", "cosine"])
def test_ties_between_neighbors_are_broken_alike_by_any_number_of_threads(kind):
    """Distances of integer pixels often tie; scikit-learn's order then depends on threads."""
    from threadpoolctl import threadpool_limits

    X, _ = digit_pair(4, 9)
    graphs = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            graphs.append(knn_graph(X, n_neighbors=10, weights=kind).adjacency)
    assert (graphs[0] != graphs[1]).nnz == 0


def test_indices_beyond_the_shape_are_refused_before_they_are_read():
    A = sparse.csr_array((2, 2))
    A.data, A.indices, A.indptr = np.ones(2), np.array([5, 900]), np.array([0, 1, 2])
    with pytest.raises(TypeError, match="adjacency must be a numeric matrix"):
        Graph(A)
