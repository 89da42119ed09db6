import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.graphs import random_graphs, random_weights
from scipy import sparse
from threadpoolctl import threadpool_limits

import graphuq as gq
from graphuq import Graph, Spectrum, knn_graph
from graphuq.graphs import LAPLACIANS, filtered_subspace
from graphuq.graphs import eigensolver as module

few = settings(max_examples=20, deadline=None)


def dense_laplacian(graph, kind="normalized"):
    L = graph.laplacian(kind)
    return L.toarray() if graph.is_sparse else L


def assert_eigenpairs(spectrum, graph, kind="normalized", atol=1e-12):
    """Check eigenvalues, orthonormality with q_0, and residuals; the subspaces then agree, too."""
    L = dense_laplacian(graph, kind)
    scale = max(1.0, graph.degrees.max() if kind == "combinatorial" else 1.0)
    with threadpool_limits(1, "blas"):  # far faster where other processes share the cores
        every = np.linalg.eigvalsh(L)
    # q_0 is the first eigenvector, and of the signless Laplacian the last one, of eigenvalue 2
    of_null, first = (2, 0) if kind == "signless" else (0, 1)
    expected = every[first : spectrum.rank + first]
    if kind == "signless":
        expected = np.maximum(expected, 2e-6)
        atol = max(atol, 1.1 * np.any(every < 2e-6) * 2e-6)
    np.testing.assert_allclose(spectrum.values, expected, rtol=0, atol=atol * scale)
    basis = np.column_stack([spectrum.null, spectrum.vectors])
    np.testing.assert_allclose(basis.T @ basis, np.eye(spectrum.rank + 1), atol=1e-11)
    null = L @ spectrum.null - of_null * spectrum.null
    np.testing.assert_allclose(null, 0, atol=atol * scale)
    residuals = np.linalg.norm(L @ spectrum.vectors - spectrum.vectors * spectrum.values, axis=0)
    assert residuals.max() < atol * scale
    np.testing.assert_allclose(spectrum.residuals, residuals, rtol=0, atol=atol * scale)


@given(A=random_graphs, kind=st.sampled_from(LAPLACIANS), data=st.data())
@few
def test_eigenpairs_of_random_graphs_are_those_of_numpy(A, kind, data):
    rank = data.draw(st.none() | st.integers(1, len(A) - 1))
    form = data.draw(st.sampled_from([np.asarray, sparse.csr_array]))
    spectrum = Spectrum.of(form(A), rank, kind)
    assert spectrum.rank == (len(A) - 1 if rank is None else rank)
    assert_eigenpairs(spectrum, Graph(A), kind)


@given(A=random_graphs.filter(lambda A: len(A) >= 8), kind=st.sampled_from(LAPLACIANS))
@few
def test_lanczos_agrees_with_the_dense_solver(A, kind):
    rank = len(A) // 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DENSE_NODES", 0)
        lanczos = Spectrum.of(A, rank, kind)
    assert_eigenpairs(lanczos, Graph(A), kind)


@pytest.fixture(scope="module")
def cloud():
    X = np.random.default_rng(0).normal(size=(1100, 2))
    return knn_graph(X, 10, connect=True)


@pytest.mark.parametrize("kind", LAPLACIANS)
def test_lanczos_on_a_large_sparse_graph_agrees_with_a_dense_solver(cloud, kind):
    assert_eigenpairs(Spectrum.of(cloud, 20, kind, precision="double"), cloud, kind)


def path(n):
    return nx.path_graph(n), 1 - np.cos(np.pi * np.arange(n) / (n - 1))


def cycle(n):
    return nx.cycle_graph(n), 1 - np.cos(2 * np.pi * np.arange(n) / n)


def star(n):
    return nx.star_graph(n - 1), np.concatenate([[0], np.ones(n - 2), [2]])


def complete(n):
    return nx.complete_graph(n), np.concatenate([[0], np.full(n - 1, n / (n - 1))])


def complete_bipartite(a, b):
    network = nx.complete_bipartite_graph(a, b)
    return network, np.concatenate([[0], np.ones(a + b - 2), [2]])


def torus(n):
    side = 1 - np.cos(2 * np.pi * np.arange(n) / n)
    return nx.grid_2d_graph(n, n, periodic=True), np.add.outer(side, side).ravel() / 2


def hypercube(d):
    network = nx.hypercube_graph(d)
    return network, 2 / d * np.array([sum(node) for node in network.nodes])


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        (path, (2,)),
        (path, (3,)),
        (path, (10,)),  # even: bipartite with equal sides
        (cycle, (4,)),
        (cycle, (9,)),
        (star, (7,)),
        (complete, (6,)),
        (complete_bipartite, (3, 3)),
        (complete_bipartite, (2, 5)),
        (torus, (4,)),
        (hypercube, (4,)),
    ],
)
def test_complete_spectra_are_those_in_the_textbook(family, sizes):
    network, expected = family(*sizes)
    graph = Graph(network)
    spectrum = Spectrum.of(graph)
    np.testing.assert_allclose(spectrum.values, np.sort(expected)[1:], atol=1e-13)
    assert_eigenpairs(spectrum, graph)


@pytest.mark.parametrize(
    ("family", "sizes"),
    [(cycle, (1100,)), (torus, (33,)), (hypercube, (11,)), (star, (1100,))],
)
def test_lanczos_finds_every_copy_of_a_repeated_eigenvalue(family, sizes):
    network, expected = family(*sizes)
    spectrum = Spectrum.of(network, 20, precision="double")
    np.testing.assert_allclose(spectrum.values, np.sort(expected)[1:21], atol=1e-12)


@pytest.mark.parametrize(
    ("family", "sizes"),
    [(cycle, (1100,)), (torus, (33,)), (hypercube, (11,)), (star, (1100,))],
)
def test_single_precision_finds_every_copy_too(family, sizes):
    network, expected = family(*sizes)
    spectrum = Spectrum.of(network, 20, precision="single")
    np.testing.assert_allclose(spectrum.values, np.sort(expected)[1:21], atol=1e-5)
    np.testing.assert_allclose(spectrum.basis.T @ spectrum.basis, np.eye(21), atol=1e-12)


def test_a_dense_solver_takes_over_where_many_items_are_equal(monkeypatch):
    """Six distinct rows make six near cliques: nearly all eigenvalues are one, which has copies."""
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 190, axis=0)
    graph = knn_graph(X, 10, connect=True)
    solved = []
    solve = module._solve_dense
    monkeypatch.setattr(module, "_solve_dense", lambda *a: solved.append(1) or solve(*a))
    monkeypatch.setattr(module, "RESTARTS", 3)
    spectrum = Spectrum.of(graph, 100, precision="double")
    assert solved == [1]
    expected = np.linalg.eigvalsh(graph.laplacian("normalized").toarray())
    np.testing.assert_allclose(spectrum.values, expected[1:101], atol=1e-10)


def test_single_precision_moves_no_posterior_mean_that_matters(cloud):
    exact, single = (Spectrum.of(cloud, 60, precision=p) for p in ("double", "single"))
    assert not np.array_equal(exact.values, single.values)
    labels = gq.Labels(np.arange(0, cloud.n_nodes, 37), np.arange(0, cloud.n_nodes, 37) % 2)
    for kind in (gq.Prior.projected, gq.Prior.approximated):
        means = [gq.approximate(kind(s, 60), gq.Probit(0.1), labels).mean for s in (exact, single)]
        assert abs(means[0] - means[1]).max() < 1e-3
    rough = Spectrum(exact.values + 0.05, exact.vectors, exact.null)  # negative control
    mean = gq.approximate(gq.Prior.projected(rough, 60), gq.Probit(0.1), labels).mean
    assert abs(means[0] - mean).max() > 1e-3


def test_single_precision_gives_way_where_it_does_not_do():
    A = knn_graph(np.random.default_rng(1).normal(size=(600, 2)), 8, connect=True).adjacency
    weak = Spectrum.of(twins(A, 1e-8), 5, precision="single")
    assert weak.values[0] == pytest.approx(2e-8, rel=filtered_subspace.MAX_VALUE_ERROR)
    assert weak.residuals.max() > 1e-12  # single precision did
    with pytest.warns(RuntimeWarning, match=r"nearly falls apart.* 600 nodes, first node 600, are"):
        weaker = Spectrum.of(twins(A, 1e-11), 5, precision="single")
    assert weaker.values[0] == pytest.approx(2e-11, rel=1e-4)
    assert weaker.residuals.max() < 1e-12


def test_iterations_that_stop_say_how_far_they_came(cloud, monkeypatch):
    eigsh = module.eigsh

    def stopping(operator, k, **options):
        values, vectors = eigsh(operator, k=3, **{**options, "tol": 1e-2})
        raise module.ArpackNoConvergence("no", values, vectors)

    monkeypatch.setattr(module, "eigsh", stopping)
    monkeypatch.setattr(module, "PATIENCE", 1e9)  # no dense solver takes over
    with pytest.raises(RuntimeError, match=r"found 3 of 9 eigenpairs, with residuals up to \d"):
        Spectrum.of(cloud, 9, precision="double")


def test_auto_is_single_for_many_nodes(cloud, monkeypatch):
    monkeypatch.setattr(module, "SINGLE_NODES", 2000)
    assert Spectrum.of(cloud, 8).residuals.max() < 1e-12
    monkeypatch.setattr(module, "SINGLE_NODES", 1000)
    residuals = Spectrum.of(cloud, 8).residuals
    assert 1e-10 < residuals.max() < 1e-4


def test_known_pairs_are_kept_and_only_others_computed(cloud):
    whole = Spectrum.of(cloud, 40, precision="double")
    more = Spectrum.of(cloud, 40, precision="double", known=whole.truncated(25))
    np.testing.assert_array_equal(more.values[:20], whole.values[:20])
    np.testing.assert_allclose(more.values, whole.values, atol=1e-12)
    assert_eigenpairs(more, cloud)
    assert Spectrum.of(cloud, 10, known=whole).rank == 10
    for other, message in (
        (Spectrum.of(random_weights(30, 1), 4), "of a graph of 30 nodes"),
        (Spectrum.of(cloud, 4, "combinatorial"), "another graph or of the other Laplacian"),
    ):
        with pytest.raises(ValueError, match=message):
            Spectrum.of(cloud, 12, known=other)
    with pytest.raises(TypeError, match=r"gq\.Spectrum, got ndarray"):
        Spectrum.of(cloud, 12, known=whole.vectors)


def test_saved_pairs_are_read_back_for_the_same_graph_alone(cloud, tmp_path):
    spectrum, file = Spectrum.of(cloud, 12), tmp_path / "pairs.npz"
    spectrum.save(file)
    again = Spectrum.load(file, cloud)
    for name in ("values", "basis", "residuals"):
        np.testing.assert_array_equal(getattr(again, name), getattr(spectrum, name))
    other = Graph(cloud.adjacency.multiply(cloud.adjacency).tocsr())
    with pytest.raises(ValueError, match="those of another graph"):
        Spectrum.load(file, other)
    with pytest.raises(ValueError, match="other Laplacian"):
        Spectrum.load(file, cloud, "combinatorial")
    content = file.read_bytes()
    for damaged in (content[:-2000], b"", b"no archive"):
        file.write_bytes(damaged)
        with pytest.raises(
            ValueError, match=r"cannot be read as eigenpairs \(.* is damaged, is not an npz file"
        ):
            Spectrum.load(file, cloud)
    np.savez(file, values=np.array([{}], dtype=object), basis=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="pickled objects, which are never read"):
        Spectrum.load(file, cloud)
    with pytest.raises(FileNotFoundError):
        Spectrum.load(tmp_path / "nowhere.npz", cloud)


def test_combinatorial_path_has_the_textbook_spectrum_and_a_constant_null_vector():
    spectrum = Spectrum.of(nx.path_graph(8), laplacian="combinatorial")
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 8) / 8)
    np.testing.assert_allclose(spectrum.values, expected, atol=1e-13)
    np.testing.assert_allclose(spectrum.null, 8**-0.5)


@pytest.mark.parametrize("rank", [None, 5])
@pytest.mark.parametrize(
    "graph",
    [
        Graph(random_weights(30, 1)),
        pytest.param(Graph(nx.complete_bipartite_graph(4, 4)), id="repeated eigenvalues"),
    ],
)
def test_the_dense_solver_repeats_itself_to_the_last_bit(graph, rank):
    first, second = Spectrum.of(graph, rank), Spectrum.of(graph, rank)
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.vectors, second.vectors)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", ["cloud", "hypercube"])
def test_iterations_repeat_themselves_to_the_last_bit(cloud, name, precision):
    graph, rank = (cloud, 20) if name == "cloud" else (Graph(nx.hypercube_graph(11)), 100)
    first, second = (Spectrum.of(graph, rank, precision=precision) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_the_largest_entry_of_every_vector_is_positive(cloud):
    for spectrum in (Spectrum.of(random_weights(30, 2)), Spectrum.of(cloud, 20)):
        largest = abs(spectrum.vectors).argmax(axis=0)
        assert (spectrum.vectors[largest, np.arange(spectrum.rank)] > 0).all()
        assert (spectrum.null > 0).all()


def test_truncation_keeps_the_first_modes():
    whole = Spectrum.of(random_weights(12, 3))
    part = whole.truncated(4)
    assert part.rank == 4
    np.testing.assert_array_equal(part.values, whole.values[:4])
    np.testing.assert_array_equal(part.vectors, whole.vectors[:, :4])
    np.testing.assert_array_equal(part.residuals, whole.residuals[:4])
    assert Spectrum(whole.values, whole.vectors, whole.null).truncated(4).residuals is None
    with pytest.raises(ValueError, match=r"between 1 and 4, got 5; this spectrum holds 4 modes"):
        part.truncated(5)


def twins(A, weight):
    """Two copies of a graph, each node joined to its double in proportion to its degree.

    The weakest mode tells the copies apart, and has lambda_1 = 2 weight / (1 + weight) exactly.
    """
    links = sparse.diags_array(weight * A.sum(axis=1))
    return Graph(sparse.block_array([[A, links], [links, A]]))


@pytest.mark.parametrize("n", [20, 600])  # dense, Lanczos
@pytest.mark.parametrize("weight", [1e-4, 1e-8])
def test_weakly_linked_blocks_have_the_right_first_eigenpair(n, weight):
    X = np.random.default_rng(1).normal(size=(n, 2))
    A = knn_graph(X, 8, connect=True).adjacency
    spectrum = Spectrum.of(twins(A, weight), 5)
    assert spectrum.values[0] == pytest.approx(2 * weight / (1 + weight), rel=1e-5)
    side = np.sign(spectrum.vectors[:, 0])
    assert (side[:n] == side[0]).all()
    assert (side[n:] == -side[0]).all()


@pytest.mark.parametrize("n", [20, 600])
def test_blocks_linked_below_rounding_are_refused(n):
    X = np.random.default_rng(1).normal(size=(n, 2))
    graph = twins(knn_graph(X, 8, connect=True).adjacency, 1e-15)
    assert graph.n_components == 1
    with pytest.raises(
        ValueError, match=r"falls apart numerically: lambda_1 = .*largest_component"
    ):
        Spectrum.of(graph, 5)


@pytest.mark.parametrize(
    ("rank", "error", "message"),
    [
        (0, ValueError, r"rank must be between 1 and 5, got 0"),
        (6, ValueError, r"rank must be between 1 and 5, got 6; the graph has 6 nodes"),
        (2.0, TypeError, r"rank must be an integer"),
        (True, TypeError, r"rank must be an integer"),
    ],
)
def test_ranks_out_of_range_are_refused(rank, error, message):
    with pytest.raises(error, match=message):
        Spectrum.of(random_weights(6, 0), rank)


def test_unknown_laplacians_are_refused():
    with pytest.raises(ValueError, match=r"laplacian must be one of 'normalized', 'combinatorial'"):
        Spectrum.of(random_weights(6, 0), laplacian="random walk")


Q3 = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]


def test_a_spectrum_from_elsewhere_is_accepted():
    spectrum = Spectrum([1, 2], Q3[:, 1:].tolist(), Q3[:, 0])
    assert (spectrum.n_nodes, spectrum.rank) == (3, 2)
    np.testing.assert_array_equal(spectrum.vectors, Q3[:, 1:])


@pytest.mark.parametrize(
    ("values", "vectors", "null", "message"),
    [
        ([1.0], Q3[:, 1:], Q3[:, 0], r"shapes .*got \(1,\), \(3, 2\) and \(3,\)"),
        ([1.0, 2.0], Q3[:, 1:], Q3[:2, 0], r"shapes"),
        ([1.0, 2.0, 3.0], Q3, Q3[:, 0], r"1 to 2 non-zero modes, got 3"),
        ([], Q3[:, :0], Q3[:, 0], r"1 to 2 non-zero modes, got 0"),
        ([0.0, 1.0], Q3[:, 1:], Q3[:, 0], r"positive and increasing; leave lambda_0 = 0 out"),
        ([2.0, 1.0], Q3[:, 1:], Q3[:, 0], r"positive and increasing"),
        ([1.0, np.nan], Q3[:, 1:], Q3[:, 0], r"finite|positive"),
        ([1.0, np.inf], Q3[:, 1:], Q3[:, 0], r"finite|positive"),
        ([1.0, 2.0], Q3[:, 1:] * np.nan, Q3[:, 0], r"finite|orthonormal"),
    ],
)
def test_an_impossible_spectrum_is_refused(values, vectors, null, message):
    with pytest.raises(ValueError, match=message):
        Spectrum(values, vectors, null)


def test_single_precision_is_not_kept_where_hubs_make_its_residuals_large():
    network = Graph(
        nx.to_scipy_sparse_array(nx.barabasi_albert_graph(1200, 8, seed=0), dtype=float)
    )
    single, kept = (
        Spectrum.of(network, 20, "combinatorial", precision=precision)
        for precision in ("single", "auto")
    )
    assert single.residuals.max() > 1e-4 * single.values[-1]
    assert kept.residuals.max() < 1e-9 * kept.values[-1]
    cloud = knn_graph(np.random.default_rng(0).standard_normal((1200, 3)), 10, connect=True)
    assert Spectrum.of(cloud, 20).residuals.max() > 1e-9  # a graph without hubs stays single


def test_large_residuals_are_reported(monkeypatch):
    monkeypatch.setattr(module, "MAX_RESIDUAL", 1e-30)
    with pytest.warns(RuntimeWarning, match=r"eigenpair \d+ has residual .*approximate"):
        Spectrum.of(random_weights(30, 1))


def test_a_dense_problem_too_large_for_memory_is_refused(monkeypatch):
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"30 nodes needs about .*rank of at most 7"):
        Spectrum.of(random_weights(30, 1))
