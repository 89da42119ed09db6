"""The paper's four data sets and their graphs, as section 5.1 builds them.

The paper's full graphs keep self-loops (its authors' demo does), and so do these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_cdt
from sklearn.cluster import KMeans

import graphuq as gq
from benchmarks.common import report

# Seeds of labels and of generated data begin here: bounds were fixed by runs with those below.
FIRST_SEED = 200


class Scene(NamedTuple):
    """Pixels as nodes."""

    X: np.ndarray
    """Spectra, shape (nodes, channels)."""
    y: np.ndarray
    """1 where the target is, else 0; shape (nodes,)."""
    shape: tuple[int, int, int]
    """Frames, height, width."""
    amount: np.ndarray | None = None
    """The concentration of the gas, shape (nodes,); None if there is none."""

    def at_edges(self, reach: int) -> np.ndarray:
        """Return which nodes have a node of the other class within some pixels in their frame."""
        frames = self.y.reshape(self.shape)
        return np.concatenate([
            (distance_transform_cdt(frame, "taxicab") <= reach).ravel()
            & (distance_transform_cdt(1 - frame, "taxicab") <= reach).ravel()
            for frame in frames
        ])  # fmt: skip


def seeds(count: int) -> range:
    """Return the seeds of some trials."""
    return range(FIRST_SEED, FIRST_SEED + count)


def moons(sigma: float, seed: int, n: int | None = None) -> tuple[gq.Graph, np.ndarray]:
    """Return section 5.1.1's 2,000 points in 100 dimensions; self-tuning weights, scale K = 10."""
    n = n or (400 if report.quick() else 2000)
    X, y = gq.datasets.two_moons(n, 100, sigma, seed=seed)
    return gq.full_graph(X, weights="self-tuning", n_neighbors=10, self_loops=True), y


def votes(tau: float = 1.25, self_loops: bool = True) -> tuple[gq.Graph, np.ndarray]:
    """Section 5.1.2: 435 members of the House and 16 votes, Gaussian weights, tau = 1.25."""
    X, y = gq.datasets.vote()
    return gq.full_graph(X, weights="gaussian", tau=tau, self_loops=self_loops), y


def digits(
    a: int, b: int, per_class: int | None = 2000, seed: int = 0
) -> tuple[gq.Graph, np.ndarray, np.ndarray]:
    """Section 5.1.3: 2,000 images of each digit, 20 neighbors in 50 principal components.

    The images are drawn at random; they are the third return value.
    """
    per_class = 300 if report.quick() else per_class
    X, y = gq.datasets.digit_pair(a, b, dataset="mnist", per_class=per_class, seed=seed)
    return gq.knn_graph(gq.pca(X, 50), n_neighbors=20, connect=True), y, X


def plume(shrink: int = 1) -> Scene:
    """Section 5.1.4: 7 frames of 128 x 320 pixels in 129 channels; ours are synthetic."""
    shape = (7, 128 // shrink, 320 // shrink)
    video = gq.datasets.gas_plume(*shape, seed=0)
    return Scene(video.X, video.y, shape, video.concentration.ravel())


def jasper_ridge() -> Scene:
    """A river scene of 100 x 100 pixels in 198 bands: water is the target."""
    picture = gq.datasets.jasper_ridge()
    return Scene(picture.X, (picture.y == 1).astype(int), (1, *picture.shape))


def segmented(spectrum: gq.Spectrum, truth: np.ndarray) -> np.ndarray:
    """Return the classes that section 5.1.4 treats as known: those of spectral clustering.

    The paper does not state the number of clusters. Here there are 6, by 3 eigenvectors, since no
    more are separated in the spectra of the cosine graphs. A cluster is target if most of it is.
    """
    places = spectrum.vectors[:, :3] * np.sqrt(spectrum.n_nodes)
    clusters = KMeans(6, n_init=3, random_state=0).fit_predict(places)
    target = np.bincount(clusters, weights=truth) / np.bincount(clusters) > 0.5
    return target[clusters].astype(int)
