import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphuq as gq
from graphuq.graphs import low_rank
from graphuq.graphs import nystrom as nystrom_extension
from graphuq.utils import row_blocks
from graphuq.utils.progress import progress_bar


def dense(X, **weights):
    return gq.Spectrum.of(gq.full_graph(X, self_loops=True, **weights))


def assert_same_pairs(found, exact, atol=1e-9):
    """The same values, and vectors that have the same products with a function of L."""
    r = found.rank
    np.testing.assert_allclose(found.values, exact.values[:r], atol=atol)
    np.testing.assert_allclose(abs(found.null), abs(exact.null), atol=atol)
    weight = np.exp(-3 * found.values)  # copies of an eigenvalue share a subspace only
    own = (found.vectors * weight) @ found.vectors.T
    other = (exact.vectors[:, :r] * np.exp(-3 * exact.values[:r])) @ exact.vectors[:, :r].T
    np.testing.assert_allclose(own, other, atol=100 * atol)


def assert_orthonormal(spectrum, atol=1e-9):
    np.testing.assert_allclose(
        spectrum.basis.T @ spectrum.basis, np.eye(spectrum.rank + 1), atol=atol
    )


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(12, 60), d=st.integers(3, 8))
@settings(max_examples=20, deadline=None)
def test_cosine_weights_have_exact_pairs(seed, n, d):
    X = np.random.default_rng(seed).uniform(0, 1, (n, d)) + 0.01
    found = gq.nystrom(X, d - 1, weights="cosine")
    assert_same_pairs(found, dense(X, weights="cosine"))
    assert found.residuals.max() < 1e-9
    assert found.degree_error < 1e-12


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_with_every_item_a_landmark_the_pairs_are_exact(seed):
    X = np.random.default_rng(seed).standard_normal((40, 3))
    found = gq.nystrom(X, 6, tau=0.7, n_landmarks=40, landmarks="uniform")
    assert_same_pairs(found, dense(X, weights="gaussian", tau=0.7), atol=1e-6)


@pytest.mark.parametrize("landmarks", [pytest.param("kmeans", marks=pytest.mark.slow), "uniform"])
def test_more_landmarks_come_nearer_and_the_measured_errors_say_so(landmarks):
    X, _ = gq.datasets.two_moons(600, d=3, sigma=0.06, seed=0)
    exact = dense(X, weights="gaussian", tau=0.3)
    few, many = (
        gq.nystrom(X, 8, tau=0.3, n_landmarks=m, landmarks=landmarks, seed=1) for m in (30, 300)
    )
    wrong = [abs(s.values - exact.values[:8]).max() for s in (few, many)]
    assert wrong[1] < wrong[0] / 5
    assert many.degree_error < few.degree_error / 5
    assert many.residuals.max() < few.residuals.max() / 5
    for spectrum in (few, many):
        assert_orthonormal(spectrum)


class Off:
    """Weights that are known as a product, X X', and that are own as X X' + 0.05."""

    root = np.eye(3)

    def rows(self, X):
        return X

    def between(self, X, Y):
        return X @ Y.T + 0.05


def test_errors_are_those_of_the_own_weights_where_all_rows_are_held_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1, (90, 3))
    spectrum = low_rank.compute_spectrum(X, 2, Off(), "float64", rng, progress_bar(0, False, "row"))
    A = X @ X.T
    degrees, own = A.sum(axis=1), (A + 0.05).sum(axis=1)
    assert spectrum.degree_error == pytest.approx(np.sqrt(np.mean((degrees / own - 1) ** 2)))
    scaled = (A + 0.05) / np.sqrt(np.multiply.outer(own, degrees))
    gap = spectrum.vectors - scaled @ spectrum.vectors - spectrum.vectors * spectrum.values
    np.testing.assert_allclose(spectrum.residuals, np.linalg.norm(gap, axis=0))
    assert spectrum.residuals.min() > 1e-3


def test_items_far_from_all_landmarks_take_the_nearest_and_are_counted():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((400, 2)) / 2, [[6.0, 6.0], [7.0, -6.0], [-40.0, 0.0]]])
    with pytest.warns(RuntimeWarning, match=r"3 of 403 items are far from all landmarks"):
        spectrum = gq.nystrom(X, 5, tau=0.5, n_landmarks=60, landmarks="uniform", seed=0)
    assert spectrum.n_replaced == 3
    assert_orthonormal(spectrum)
    assert (spectrum.null > 0).all()
    assert np.isfinite(gq.Prior.projected(spectrum, 5).variance()).all()


def test_items_beyond_all_weights_take_the_nearest_by_distance():
    rng = np.random.default_rng(0)
    X = np.append(rng.uniform(0, 30, 600), 170.0)[:, None]
    kernel = nystrom_extension._Radial.of(X[:150], 3.0, 10)
    with pytest.warns(RuntimeWarning, match="1 of 601 items"):
        spectrum = low_rank.compute_spectrum(
            X, 6, kernel, "float64", rng, progress_bar(0, False, "row")
        )
    place = spectrum.vectors / spectrum.null[:, None]
    gap = np.linalg.norm(place - place[-1], axis=1)
    assert gap[:150].argmin() == X[:150].argmax()
    assert gap[:150].min() < 1e-9


def test_self_tuning_weights_are_those_of_the_full_graph_where_all_are_landmarks():
    X = np.random.default_rng(3).standard_normal((120, 3))
    found = gq.nystrom(
        X, 6, weights="self-tuning", n_neighbors=5, n_landmarks=120, landmarks="uniform"
    )
    exact = dense(X, weights="self-tuning", n_neighbors=5)
    np.testing.assert_allclose(found.values, exact.values[:6], rtol=2e-3)
    one = gq.nystrom(
        X, 3, weights="self-tuning", n_neighbors=1, n_landmarks=100, landmarks="uniform"
    )
    assert np.isfinite(one.values).all()


def test_directions_of_tiny_and_huge_rows_are_distinguished():
    X = np.random.default_rng(0).uniform(0.1, 1, (60, 4))
    plain = gq.nystrom(X, 3, weights="cosine").values
    for unit in (1e-200, 1e99):
        np.testing.assert_allclose(gq.nystrom(X * unit, 3, weights="cosine").values, plain)


def test_pairs_are_kept_and_read_without_a_graph(tmp_path):
    X = np.random.default_rng(0).standard_normal((80, 3))
    spectrum = gq.nystrom(X, 5, tau=1.0, n_landmarks=30)
    spectrum.save(tmp_path / "pairs.npz")
    again = gq.Spectrum.load(tmp_path / "pairs.npz")
    np.testing.assert_array_equal(again.basis, spectrum.basis)


def test_dask_vectors_are_saved_and_refused_where_all_are_needed(tmp_path):
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).standard_normal((80, 3))
    spectrum = gq.nystrom(da.from_array(X, chunks=(30, 3)), 5, tau=1.0, n_landmarks=30)
    spectrum.save(tmp_path / "pairs.npz")
    again = gq.Spectrum.load(tmp_path / "pairs.npz")
    np.testing.assert_array_equal(again.basis, np.asarray(spectrum.basis))
    labels, prior = gq.Labels([0, 1], [0, 1]), gq.Prior.projected(spectrum, 5)
    for work in (gq.sample, gq.map_estimate):
        with pytest.raises(TypeError, match=r"needs all eigenvectors here, .* np\.asarray"):
            work(prior, gq.GinzburgLandau(1.0, 0.1), labels)
    unknown = da.from_array(X, chunks=(30, 3))
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(ValueError, match=r"compute_chunk_sizes\(\) first"):
        gq.nystrom(unknown, 3, tau=1.0)


def test_one_seed_gives_one_answer_whatever_the_threads_and_blocks_in_order(monkeypatch):
    X, _ = gq.datasets.two_moons(500, d=3, seed=0)
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 5000)  # many blocks
    runs = []
    for count in (1, 2, 5):
        monkeypatch.setattr(row_blocks, "cpu_count", lambda count=count: count)
        runs.append(gq.nystrom(X, 6, tau=0.3, seed=3))
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].basis, other.basis)
    assert not np.array_equal(runs[0].values, gq.nystrom(X, 6, tau=0.3, seed=4).values)


def test_blocks_memory_maps_and_whole_arrays_agree(monkeypatch, tmp_path):
    X, _ = gq.datasets.two_moons(700, d=4, seed=0)
    whole = gq.nystrom(X, 6, weights="self-tuning", seed=0)
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 7000)
    np.save(tmp_path / "X.npy", X)
    mapped = gq.nystrom(np.load(tmp_path / "X.npy", mmap_mode="r"), 6, weights="self-tuning")
    np.testing.assert_allclose(mapped.values, whole.values, atol=1e-10)
    np.testing.assert_allclose(mapped.basis, whole.basis, atol=1e-8)


def test_dask_arrays_give_the_same(monkeypatch):
    da = pytest.importorskip("dask.array")
    X, _ = gq.datasets.two_moons(700, d=4, seed=0)
    whole = gq.nystrom(X, 6, tau=0.3, seed=0)
    parts = gq.nystrom(da.from_array(X, chunks=(90, 2)), 6, tau=0.3, seed=0)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-10)
    np.testing.assert_allclose(np.asarray(parts.basis), whole.basis, atol=1e-8)


def test_single_precision_keeps_seven_digits_and_sums_in_double():
    X, y = gq.datasets.two_moons(800, d=3, seed=0)
    double = gq.nystrom(X, 10, tau=0.3, seed=0)
    single = gq.nystrom(X, 10, tau=0.3, seed=0, dtype="float32")
    assert single.vectors.dtype == np.float32
    assert single.basis.nbytes == double.basis.nbytes // 2
    np.testing.assert_allclose(single.vectors, double.vectors, atol=1e-7)
    labels = gq.reveal(y, counts=8, seed=0)
    moments = []
    for spectrum in (double, single):
        prior = gq.Prior.approximated(spectrum, 10)
        assert prior.covariance([0, 5], [5, 9]).dtype == np.float64
        moments.append(gq.approximate(prior, gq.Probit(0.2), labels).mean)
    np.testing.assert_allclose(*moments, atol=1e-5)
    post = gq.sample(prior, gq.Probit(0.2), labels, seed=0, draws=400, progress=False)
    assert abs(post.mean - moments[1]).max() < 0.05


def test_a_spectrum_keeps_one_array_for_null_and_vectors():
    X, _ = gq.datasets.two_moons(300, d=3, seed=0)
    spectrum = gq.nystrom(X, 6, tau=0.3)
    again = gq.Spectrum(spectrum.values, spectrum.vectors, spectrum.null)
    assert np.shares_memory(again.basis, spectrum.basis)
    apart = gq.Spectrum(spectrum.values, spectrum.vectors.copy(), spectrum.null.copy())
    assert not np.shares_memory(apart.basis, spectrum.basis)
    np.testing.assert_array_equal(apart.basis, spectrum.basis)
    assert np.shares_memory(gq.Prior.projected(spectrum, 4).law.basis, spectrum.basis)


X = np.random.default_rng(0).uniform(0.1, 1, (60, 4))
HOLE = X.copy()
HOLE[41, 2] = np.nan


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"X": HOLE, "tau": 1.0}, ValueError, "1 of 60 rows, first in row 41"),
        ({"X": HOLE, "weights": "cosine", "rank": 2, "tau": None}, ValueError, "first in row 41"),
        ({"tau": None}, ValueError, "give tau"),
        ({"tau": -1.0}, ValueError, "tau must be positive"),
        ({"weights": "cosine", "tau": 1.0, "rank": 2}, ValueError, "cosine weights take none"),
        ({"weights": "cosine", "tau": None, "rank": 4}, ValueError, "4 features have d modes"),
        ({"weights": "cosine", "tau": None, "rank": 2, "X": X * 0}, ValueError, "rows of zeros"),
        ({"weights": "cosine", "tau": None, "rank": 2, "X": X - 0.55}, ValueError, "negative"),
        ({"weights": "linear"}, ValueError, "one of 'gaussian'"),
        ({"rank": 60}, ValueError, "60 rows, so n - 1 modes"),
        ({"n_landmarks": 5}, ValueError, "must exceed the rank"),
        ({"n_landmarks": 61}, ValueError, "between 6 and 60"),
        ({"tau": 1e-3}, ValueError, "falls apart"),
        ({"tau": 1e3, "rank": 40, "n_landmarks": 50}, ValueError, "modes to rounding"),
        ({"X": X[:, 0]}, ValueError, "matrix"),
        ({"X": np.where(X > 0.9, 1e160, X)}, ValueError, r"beyond 1e\+100"),
        ({"X": np.ma.masked_less(X, 0.5)}, TypeError, "X is masked"),
        ({"X": X.astype(str)}, TypeError, "real numbers"),
        ({"X": X.astype(complex)}, TypeError, "real numbers"),
        (
            {"X": np.repeat(X[:3], 20, axis=0), "weights": "self-tuning", "tau": None,
             "landmarks": "uniform", "n_landmarks": 50, "rank": 2},
            ValueError, "coincide",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(given, error, match):
    arguments = {"X": X, "rank": 5, "tau": 1.0, **given}
    with pytest.raises(error, match=match):
        gq.nystrom(**arguments)
