"""The paper's four data sets and their graphs, as section 5.1 builds them.

Its full graphs keep self-loops (the demo of its authors does), and so do these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import graphuq as gq


class Scene(NamedTuple):
    """Pixels as nodes."""

    X: np.ndarray
    """Spectra, shape (nodes, channels)."""
    y: np.ndarray
    """1 where the target is, else 0; shape (nodes,)."""
    shape: tuple[int, int, int]
    """Frames, height, width."""


def moons(sigma: float, seed: int, n: int = 2000) -> tuple[gq.Graph, np.ndarray]:
    """Section 5.1.1: 2,000 points in 100 dimensions, self-tuning weights of scale K = 10."""
    X, y = gq.datasets.two_moons(n, 100, sigma, seed=seed)
    return gq.full_graph(X, weights="self-tuning", n_neighbors=10, self_loops=True), y


def votes(tau: float = 1.25, self_loops: bool = True) -> tuple[gq.Graph, np.ndarray]:
    """Section 5.1.2: 435 members of the House and 16 votes, Gaussian weights, tau = 1.25."""
    data = gq.datasets.load_file("vote")
    graph = gq.full_graph(data["X"], weights="gaussian", tau=tau, self_loops=self_loops)
    return graph, data["y"]


def digits(
    a: int, b: int, per_class: int = 2000, seed: int = 0
) -> tuple[gq.Graph, np.ndarray, np.ndarray]:
    """Section 5.1.3: 2,000 images of each digit, 20 neighbours in 50 principal components.

    Of images drawn at random; these are the third that is returned.
    """
    X, y = gq.datasets.digit_pair(a, b, dataset="mnist", per_class=per_class, seed=seed)
    return gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True), y, X


def plume(shrink: int = 1) -> Scene:
    """Section 5.1.4: 7 frames of 128 x 320 pixels in 129 channels; ours are synthetic."""
    rng = np.random.default_rng(0)
    shape = (7, 128 // shrink, 320 // shrink)
    t, i, j = np.meshgrid(
        np.arange(7), np.linspace(0, 1, shape[1]), np.linspace(0, 1, shape[2]), indexing="ij"
    )
    band = np.linspace(0, 1, 129)
    materials = np.stack([np.exp(-((band - at) ** 2) / 0.3) + 0.5 for at in (0.1, 0.5, 0.9)])
    ground = (i > 0.35 + 0.04 * np.sin(9 * j)).astype(int) + (i > 0.7 + 0.03 * np.sin(14 * j))
    light = 1 + 0.2 * np.sin(3 * i) * np.cos(4 * j)
    gone = ((i - 0.5 - 0.06 * np.sin(12 * j + t)) / 0.2) ** 2 + ((j - 0.3 - 0.05 * t) / 0.2) ** 2
    column = np.exp(-(gone**2))
    signature = sum(np.exp(-(((band - at) / 0.03) ** 2)) for at in (0.3, 0.55, 0.62))
    X = light[..., None] * materials[ground] * np.exp(-0.5 * column[..., None] * signature)
    X = X.reshape(-1, 129) + 0.03 * rng.standard_normal((X.size // 129, 129))
    return Scene(X, (column > 0.3).astype(int).ravel(), shape)


def jasper_ridge() -> Scene:
    """A river scene of 100 x 100 pixels in 198 bands: water is the target."""
    data = gq.datasets.load_file("jasper_ridge")
    return Scene(data["X"].reshape(-1, 198).astype(float), (data["y"] == 1).astype(int).ravel(),
                 (1, 100, 100))  # fmt: skip


def cosine_spectrum(X: np.ndarray, rank: int) -> gq.Spectrum:
    """Section 5.1.4's fully connected cosine graph, exactly.

    A = X X' for rows of unit length, so that D^-1/2 A D^-1/2 = Y Y' has the eigenvalues of Y'Y.
    All eigenvalues of L beyond the number of channels are 1.
    """
    Y = X / np.linalg.norm(X, axis=1, keepdims=True)
    Y /= np.sqrt(Y @ Y.sum(axis=0))[:, None]
    values, right = np.linalg.eigh(Y.T @ Y)
    values, right = values[::-1][: rank + 1], right[:, ::-1][:, : rank + 1]
    vectors = Y @ (right / np.sqrt(values))
    return gq.Spectrum(1 - values[1:], vectors[:, 1:], vectors[:, 0])
