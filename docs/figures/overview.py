"""README: ten digits from fifty labels, and how often predictions are right."""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.manifold import TSNE

import graphuq as gq

DRAWS = 4  # of fifty labels, for the diagram


def draw() -> tuple[Figure, dict[str, float]]:
    """Return the picture, and the numbers that pages quote."""
    X, y = gq.datasets.digits()
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=10), rank=100)
    posts, probabilities, truth = [], [], []
    for seed in range(DRAWS):
        labels = gq.reveal(y, counts=5, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the diagram judges the Gaussian
            posts.append(gq.approximate(spectrum, gq.Probit(), labels))
        hidden = np.setdiff1d(np.arange(y.size), labels.nodes)
        probabilities.append(posts[-1].by_class[hidden])
        truth.append(y[hidden])
    score = gq.calibrate(np.concatenate(probabilities), np.concatenate(truth), labels.classes)
    post = posts[0]
    places = TSNE(random_state=0).fit_transform(X)

    figure = Figure(figsize=(8, 5.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(4, 5))
    ax = left.subplots()
    gq.plots.embedding(post, places, ax=ax)
    ax.scatter(*places[post.unsure].T, s=28, facecolors="none", edgecolors="black", linewidths=0.7)
    ax.set_axis_off()
    ax.get_legend().remove()  # the digits are written at their images
    left.suptitle(
        f"{y.size:,} images, {len(labels)} labels (framed)\n"
        f"{post.unsure.sum()} unsure images are ringed",
        fontsize=11,
    )
    gq.plots.reliability(score, figure=right)
    right_of_it = post.prediction == y
    numbers = {
        "accuracy": post.accuracy(y),
        "unsure": int(post.unsure.sum()),
        "accuracy of the unsure": float(right_of_it[post.unsure].mean()),
        "accuracy of the others": float(right_of_it[~post.unsure].mean()),
        "calibration error": score.expected_calibration_error,
    }
    return figure, numbers
