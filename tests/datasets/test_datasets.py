"""Generators, and sets that come with libraries. Files are in test_data_files.py."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import graphuq as gq


def test_two_moons_lie_on_their_circles_without_noise():
    X, y = gq.datasets.two_moons(500, d=7, sigma=0.0, seed=1)
    center = np.where(y[:, None], [1.0, 0.5], [0.0, 0.0])
    np.testing.assert_allclose(np.linalg.norm(X[:, :2] - center, axis=1), 1)
    assert (X[y == 0, 1] >= 0).all()
    assert (X[y == 1, 1] <= 0.5).all()
    assert not X[:, 2:].any()


def test_two_moons_noise_is_in_every_dimension():
    clean, _ = gq.datasets.two_moons(4000, d=5, sigma=0.0, seed=1)
    noisy, _ = gq.datasets.two_moons(4000, d=5, sigma=0.3, seed=1)
    np.testing.assert_allclose((noisy - clean).std(axis=0), 0.3, rtol=0.05)


def test_bundled_digits_are_scaled_and_named():
    X, y = gq.datasets.digit_pair(0, 6, per_class=50, seed=3)
    assert X.shape == (100, 64)
    assert X.min() == 0
    assert X.max() == 1
    assert np.unique(y, return_counts=True)[1].tolist() == [50, 50]
    again, _ = gq.datasets.digit_pair(0, 6, per_class=50, seed=3)
    assert np.array_equal(X, again)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((4, 4), {}, "two different digits"),
        ((4, 10), {}, "b must be between 0 and 9"),
        ((4, 9), {"per_class": 10_000}, "per_class must be between"),
        ((4, 9), {"dataset": "letters"}, "dataset must be one of"),
    ],
)
def test_bad_pairs_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        gq.datasets.digit_pair(*arguments, **options)


def test_the_karate_club_is_zacharys():
    graph, y = gq.datasets.karate()
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert set(np.unique(graph.adjacency.data)) == {1.0}
    assert np.bincount(y).tolist() == [17, 17]
    assert y[[0, 8, 33]].tolist() == [0, 0, 1]  # Mr. Hi; the one whom factions and clubs part


def test_karate_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ImportError, match=r"pip install 'graphuq\[networkx\]'"):
        gq.datasets.karate()


# Graphs


def rates(adjacency, y):
    """Share of linked pairs, for each pair of classes."""
    members = (y[:, None] == np.unique(y)).astype(float)
    pairs = members.sum(axis=0)[:, None] * members.sum(axis=0) - np.diag(members.sum(axis=0))
    return members.T @ adjacency @ members / pairs


def test_clusters_are_linked_with_the_given_probabilities():
    graph, y = gq.datasets.planted_partition([150, 100, 50], 0.3, 0.05, seed=2)
    assert np.bincount(y).tolist() == [150, 100, 50]
    assert not graph.is_sparse
    expected = np.where(np.eye(3), 0.3, 0.05)
    pairs = np.outer([150, 100, 50], [150, 100, 50]) / np.where(np.eye(3), 2, 1)
    error = np.sqrt(expected * (1 - expected) / pairs)
    z = (rates(graph.adjacency, y) - expected) / error
    assert abs(z).max() < 4
    wrong = (rates(graph.adjacency, y) - expected.T[::-1]) / error
    assert abs(wrong).max() > 10


def test_the_chain_has_one_weak_link():
    graph, y = gq.datasets.weak_link_chain(10, 0.1)
    weights = graph.adjacency.diagonal(1)
    assert graph.n_edges == 19
    assert np.flatnonzero(weights != 1).tolist() == [9]
    assert weights[9] == 0.1
    assert np.flatnonzero(np.diff(y)).tolist() == [9]


def test_degrees_are_constant_within_classes_and_differ_between():
    graph, y = gq.datasets.near_constant_degree(0.0, classes=4, size=200, degrees=(10, 40), seed=0)
    means = np.array([graph.degrees[y == k].mean() for k in range(4)])
    expected = np.linspace(10, 40, 4) * 199 / 200
    error = np.sqrt(2 * expected / 200)  # standard error of the mean degree of 200 nodes
    assert (abs(means - expected) < 4 * error).all()
    assert (abs(means - expected[::-1]) > 4 * error).any()
    assert not np.triu(rates(graph.adjacency.toarray(), y), 1).any()


def test_errors_are_links_between_classes():
    graph, y = gq.datasets.near_constant_degree(0.5, classes=4, size=200, degrees=(20, 20), seed=0)
    across = graph.adjacency.toarray()[y[:, None] != y].sum() / 2
    expected = 0.5 * 20 * 800 / 2
    assert abs(across - expected) < 4 * np.sqrt(expected)


def test_satellites_are_weakly_linked_to_cores():
    graph, y = gq.datasets.core_satellite(50, 3, 2, classes=5, size=150, core_degree=25, seed=0)
    A, core = graph.adjacency.toarray(), np.arange(750) % 150 < 50
    same = y[:, None] == y
    satellites = (~core).sum()
    for kind, expected in (
        (same & np.logical_xor.outer(core, core), 2 * 3 * satellites),
        (~same & np.logical_and.outer(~core, ~core), 2 * satellites),
        (same & np.logical_and.outer(core, core), 25 * 49 / 50 * core.sum()),
    ):
        assert abs(A[kind].sum() - expected) < 4 * np.sqrt(2 * expected)
        A[kind] = 0
    assert not A.any()


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("planted_partition", ([20, 30], 0.5, 0.1), {}),
        ("near_constant_degree", (0.5,), {"classes": 3, "size": 30, "degrees": (3, 9)}),
        ("core_satellite", (9, 2, 1), {"classes": 3, "size": 30, "core_degree": 5}),
    ],
)
def test_a_seed_draws_the_same_graph_again(name, arguments, options):
    draw = getattr(gq.datasets, name)
    first, again, other = (draw(*arguments, **options, seed=s)[0].adjacency for s in (1, 1, 2))
    assert abs(first - again).max() == 0
    assert abs(first - other).max() == 1


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"),
    [
        ("planted_partition", ([10, 0],), {}, "sizes must be at least 1"),
        ("planted_partition", ([10, 10], 1.5), {}, "within must lie between 0 and 1"),
        ("weak_link_chain", (0,), {}, "half must be at least 1"),
        ("weak_link_chain", (5, 0.0), {}, "weight must be positive"),
        ("near_constant_degree", (-1.0,), {}, "errors must lie between"),
        ("near_constant_degree", (1.0,), {"size": 50}, "degrees must lie between 0 and 50"),
        ("core_satellite", (200,), {}, "cores must be between 1 and 199"),
        ("core_satellite", (3, 5), {}, "links must lie between 0 and 3"),
        ("core_satellite", (20, 5), {}, "core_degree must lie between 0 and 20"),
        ("gas_plume", (0,), {}, "frames must be at least 1"),
        ("gas_plume", (), {"noise": -1.0}, "noise must lie between 0 and 1000"),
        ("gas_plume", (), {"depth": -1.0}, "depth must lie between 0 and 1000"),
        ("gas_plume", (), {"noise": 1e300}, "noise must lie between 0 and 1000"),
        ("planted_partition", (5,), {}, r"sizes must be a list of numbers"),
        ("near_constant_degree", (), {"degrees": 3}, r"degrees must be a list of numbers"),
        ("near_constant_degree", (), {"degrees": [1, 2, 3]}, r"a pair .lowest, highest."),
        ("uci", ("letters",), {}, "name must be one of"),
        ("planetoid", ("karate",), {}, "name must be one of"),
    ],
)
def test_bad_parameters_are_refused(name, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(gq.datasets, name)(*arguments, **options)


def test_what_does_not_fit_in_memory_is_refused_before_any_work():
    with pytest.raises(MemoryError, match="take a smaller video"):
        gq.datasets.gas_plume(7, 100_000, 100_000)
    with pytest.raises(MemoryError, match="take fewer nodes"):
        gq.datasets.planted_partition([10**7, 10**7])


# The plume


@pytest.fixture(scope="module")
def plume():
    return gq.datasets.gas_plume(4, 32, 80, 65, seed=3)


def test_the_default_video_has_the_papers_size(monkeypatch):
    video = gq.datasets.gas_plume(seed=0)
    assert video.X.shape == (286_720, 129)
    assert video.X.dtype == np.float32
    assert video.concentration.shape == (7, 128, 320)
    np.testing.assert_allclose(video.wavelengths[[0, -1]], [7.83, 11.70])
    assert 0.1 < video.y.mean() < 0.3
    assert np.isfinite(video.X).all()


def test_the_truth_is_the_concentration(plume):
    assert np.array_equal(plume.y, plume.concentration.ravel() >= 0.1)
    assert plume.concentration.min() > 0
    assert plume.concentration[0].max() == 1
    assert np.unique(plume.material).tolist() == [0, 1, 2]
    assert (np.diff(plume.material, axis=0) >= 0).all()  # sky above mountain above desert


def test_the_gas_absorbs_by_beers_law_in_narrow_bands():
    options = {"frames": 2, "height": 16, "width": 40, "channels": 129, "noise": 0.0, "seed": 0}
    none, thin, thick = (gq.datasets.gas_plume(depth=d, **options) for d in (0.0, 0.35, 0.7))
    absorbed = np.log(none.X.astype(float) / thick.X)
    c = thick.concentration.reshape(-1, 1)
    signature = absorbed[c.argmax()] / c.max()
    np.testing.assert_allclose(absorbed, c * signature, atol=2e-6)
    np.testing.assert_allclose(absorbed, 2 * np.log(none.X.astype(float) / thin.X), atol=2e-6)
    assert abs(signature.max() - 0.7) < 0.02
    assert (signature < 0.01).mean() > 0.6
    assert np.count_nonzero(np.diff(np.sign(np.diff(signature[signature > 0.05]))) < 0) == 3


def test_the_noise_is_the_sensors():
    clean, noisy = (gq.datasets.gas_plume(2, 20, 50, 40, noise=s, seed=0) for s in (0.0, 0.02))
    nothing = gq.datasets.gas_plume(2, 20, 50, 40, noise=0.0, depth=0.0, seed=0)
    error = (noisy.X - clean.X) / nothing.X
    assert abs(error.std() / 0.02 - 1) < 4 / np.sqrt(2 * error.size)
    assert abs(error.mean()) < 4 * 0.02 / np.sqrt(error.size)


def test_the_plume_drifts_and_thins_out_smoothly(plume):
    columns = np.arange(80)
    centers = [(frame.sum(axis=0) @ columns) / frame.sum() for frame in plume.concentration]
    assert (np.diff(centers) > 1).all()
    fine = gq.datasets.gas_plume(1, 128, 320, 1, seed=0).concentration[0]
    assert max(abs(np.diff(fine, axis=axis)).max() for axis in (0, 1)) < 0.1
    assert 0.1 < ((fine > 0.03) & (fine < 0.3)).mean() < 0.4


def test_thin_plume_is_hard_and_thick_plume_is_easy(plume):
    half = np.random.default_rng(0).random(plume.y.size) < 0.5
    model = LinearDiscriminantAnalysis().fit(plume.X[half], plume.y[half])
    wrong = model.predict(plume.X[~half]) != plume.y[~half]
    c = plume.concentration.ravel()[~half]
    thin = wrong[(c > 0.05) & (c < 0.2)].mean()
    assert 0.1 < thin < 0.5
    assert wrong[(c < 0.01) | (c > 0.3)].mean() < 0.02


def test_a_seed_draws_the_same_video_again():
    first, again, other = (gq.datasets.gas_plume(2, 8, 20, 5, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.concentration, other.concentration)


def test_small_videos_are_drawn_too():
    for size in ((1, 1, 1, 1), (2, 1, 5, 3), (1, 5, 1, 3)):
        video = gq.datasets.gas_plume(*size, seed=0)
        assert np.isfinite(video.X).all()
        assert video.concentration[0].max() == 1
