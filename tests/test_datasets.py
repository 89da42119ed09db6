from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq


def test_two_moons_lie_on_their_circles_without_noise():
    X, y = gq.datasets.two_moons(500, d=7, sigma=0.0, seed=1)
    centre = np.where(y[:, None], [1.0, 0.5], [0.0, 0.0])
    np.testing.assert_allclose(np.linalg.norm(X[:, :2] - centre, axis=1), 1)
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


def test_mnist_comes_from_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHUQ_DATA", str(tmp_path))
    images = np.arange(6 * 4, dtype=np.uint8).reshape(6, 4) * 10
    np.savez(tmp_path / "mnist.npz", X=images, y=np.array([4, 9, 1, 4, 9, 4]))
    X, y = gq.datasets.digit_pair(4, 9, dataset="mnist")
    assert y.tolist() == [4, 9, 4, 9, 4]
    np.testing.assert_allclose(X, images[[0, 1, 3, 4, 5]] / 230)


def test_the_cache_is_looked_at_after_the_named_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHUQ_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"named or .*cache"):
        gq.datasets.load_file("thing")
    (tmp_path / "cache" / "graphuq").mkdir(parents=True)
    np.savez(tmp_path / "cache" / "graphuq" / "thing.npz", a=[1])
    assert gq.datasets.load_file("thing")["a"].tolist() == [1]


def test_damaged_and_pickled_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHUQ_DATA", str(tmp_path))
    np.savez(tmp_path / "pickled.npz", a=np.array([{}], dtype=object))
    whole = tmp_path / "whole.npz"
    np.savez(whole, a=np.arange(1000))
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:500])
    for name in ("pickled", "cut"):
        with pytest.raises(ValueError, match=rf"{name}\.npz is damaged"):
            gq.datasets.load_file(name)
