"""A Chebyshev filter in single precision finds the pairs of a dense solver."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.graphs import filtered_subspace
from graphuq.graphs.filtered_subspace import BlockProducts, filtered_eigenpairs, order_by_cells
from graphuq.graphs.graph import laplacian_parts
from graphuq.utils.progress import progress_bar

SILENT = progress_bar(0, False, "product")
X = np.random.default_rng(0).normal(size=(900, 3))

GRAPHS = {
    "cloud": gq.knn_graph(X, 10, connect=True),
    "full": gq.full_graph(X[:400]),
    "cycle": gq.Graph(nx.cycle_graph(800)),
    "grid": gq.Graph(nx.grid_2d_graph(25, 25)),
    "tree": gq.Graph(nx.balanced_tree(2, 8)),
    "star": gq.Graph(nx.star_graph(500)),
    "complete": gq.Graph(nx.complete_graph(400)),
    "bipartite": gq.Graph(nx.complete_bipartite_graph(5, 600)),
    "hypercube": gq.Graph(nx.hypercube_graph(9)),
}


def find(graph, rank, kind="normalized", known=None):
    M, null, bound = laplacian_parts(graph, kind)
    return filtered_eigenpairs(M, null, bound, rank, known, SILENT), M, null, bound


@pytest.mark.parametrize("rank", [30, 120], ids=["filter", "dense in single precision"])
@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("name", GRAPHS)
def test_pairs_are_those_of_a_dense_solver(name, kind, rank):
    (values, vectors, residuals, beyond), M, null, bound = find(GRAPHS[name], rank, kind)
    dense = M if isinstance(M, np.ndarray) else M.toarray()
    true = np.linalg.eigvalsh(dense)[1:]
    # the error of a value is at most the residual, and of its square's size
    allowed = filtered_subspace.MAX_VALUE_ERROR * true[:rank] + 1e-12 * bound
    assert (abs(values - true[:rank]) <= allowed).all()
    assert abs(values - true[:rank]).max() <= 1e-6 * bound
    assert beyond == pytest.approx(true[rank], abs=1e-6 * bound)
    basis = np.column_stack([null, vectors])
    assert abs(basis.T @ basis - np.eye(rank + 1)).max() < 1e-10
    own = np.linalg.norm(M @ vectors - vectors * values, axis=0)
    assert np.allclose(own, residuals, rtol=1e-3, atol=1e-6 * bound)
    limit = filtered_subspace.MAX_RESIDUAL + filtered_subspace.REACHED
    assert own.max() <= limit * bound


def test_vectors_of_a_poor_dense_solver_are_filtered(monkeypatch):
    dense = filtered_subspace._dense_in_single

    def poor(*arguments):
        V = dense(*arguments)
        return V + np.float32(1e-4) * np.random.default_rng(0).standard_normal(V.shape, np.float32)

    _, M, null, bound = find(GRAPHS["cloud"], 120)
    V = poor(M, null, bound, 120)
    limit = filtered_subspace.MAX_RESIDUAL * bound
    assert filtered_subspace._in_double(M, V, null, 120)[2].max() > limit
    monkeypatch.setattr(filtered_subspace, "_dense_in_single", poor)
    assert find(GRAPHS["cloud"], 120)[0][2].max() <= limit


def test_weights_of_many_sizes_are_left_to_double_precision(monkeypatch):
    upper = sparse.triu(GRAPHS["cloud"].adjacency, format="csr")
    upper.data = 10 ** np.random.default_rng(0).uniform(-7, 7, upper.data.size)
    graph = gq.Graph(upper + upper.T)
    assert find(graph, 10, "combinatorial")[0] is None
    monkeypatch.setattr(filtered_subspace, "MAX_VALUE_ERROR", 1e9)
    monkeypatch.setattr(filtered_subspace, "REACHED", 0.0)
    (values, *_), M, *_ = find(graph, 10, "combinatorial")
    true = np.linalg.eigvalsh(M.toarray())[1:11]
    assert abs(values / true - 1).max() > 0.1


def test_a_matrix_without_a_known_null_vector_keeps_all_its_pairs():
    M = np.diag(np.linspace(1.0, 9.0, 300))
    values, *_ = filtered_eigenpairs(M, np.zeros(300), 9.0, 4, None, SILENT)
    assert np.allclose(values, np.diag(M)[:4], rtol=1e-6)


def test_threads_change_nothing(monkeypatch):
    found = []
    for number in (1, 3):
        monkeypatch.setattr(filtered_subspace, "cpu_count", lambda number=number: number)
        monkeypatch.setattr("graphuq.utils.row_blocks.cpu_count", lambda number=number: number)
        found.append(find(GRAPHS["cloud"], 60)[0])
    for first, second in zip(*found, strict=True):
        assert np.array_equal(first, second)


def test_known_pairs_save_products():
    (values, vectors, *_), *_ = find(GRAPHS["cloud"], 60)

    class Count:
        total = 0

        def update(self, number):
            self.total += number

    M, null, bound = laplacian_parts(GRAPHS["cloud"], "normalized")
    counts = []
    for known in (None, (values[:50], vectors[:, :50])):
        bar = Count()
        again, *_ = filtered_eigenpairs(M, null, bound, 60, known, bar)
        assert np.allclose(again, values, atol=1e-7)
        counts.append(bar.total)
    assert counts[1] < 0.9 * counts[0]


def test_too_few_rounds_give_nothing(monkeypatch):
    monkeypatch.setattr(filtered_subspace, "MAX_ROUNDS", 1)
    assert find(GRAPHS["cloud"], 30)[0] is None


def test_without_the_limits_of_residuals_pairs_would_be_wrong(monkeypatch):
    true, *_ = np.linalg.eigh(laplacian_parts(GRAPHS["cloud"], "normalized")[0].toarray())
    # a flat filter needs more rounds, after which the pairs are right
    monkeypatch.setattr(filtered_subspace, "RANGE", 100.0)
    (values, *_), *_ = find(GRAPHS["cloud"], 30)
    assert np.allclose(values, true[1:31], atol=1e-7)
    monkeypatch.setattr(filtered_subspace, "MAX_RESIDUAL", 1.0)
    monkeypatch.setattr(filtered_subspace, "MAX_VALUE_ERROR", 1e9)
    (values, *_), *_ = find(GRAPHS["cloud"], 30)
    assert abs(values - true[1:31]).max() > 1e-6


def test_a_wrong_estimate_of_the_cut_costs_rounds_only(monkeypatch):
    estimate = filtered_subspace._estimate_ends
    (true, *_), *_ = find(GRAPHS["cloud"], 30)
    for factor in (0.2, 3.0):

        def wrong(*args, factor=factor):
            cut, top = estimate(*args)
            return factor * cut, top

        monkeypatch.setattr(filtered_subspace, "_estimate_ends", wrong)
        (values, *_), *_ = find(GRAPHS["cloud"], 30)
        assert np.allclose(values, true, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["cloud", "full"])
def test_products_are_those_of_numpy(name, dtype):
    M = laplacian_parts(GRAPHS[name], "normalized")[0]
    x = np.random.default_rng(1).normal(size=(M.shape[0], 70)).astype(dtype)
    z = np.ascontiguousarray(x[:, ::-1])
    expected = 0.7 * (M @ x) - 0.3 * x + 2.0 * z
    products = BlockProducts(M, dtype)
    products.add(0.7, -0.3, 2.0, x, z)
    tolerance = 50 * np.finfo(dtype).eps
    assert np.allclose(z, expected, rtol=tolerance, atol=tolerance)
    assert np.allclose(products.times(x), M @ x, rtol=tolerance, atol=tolerance)


def test_cells_bring_neighbors_together(monkeypatch):
    monkeypatch.setattr(filtered_subspace, "CELL_NODES", 50)
    M = laplacian_parts(GRAPHS["cloud"], "normalized")[0]
    order = order_by_cells(M)
    assert np.array_equal(np.sort(order), np.arange(M.shape[0]))
    i, j = M.nonzero()
    place = np.argsort(order)
    assert np.mean(abs(place[i] - place[j]) < 50) > 3 * np.mean(abs(i - j) < 50)
