"""Warnings name the line that called the package, however deep in it they come about."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import graphuq as gq
from graphuq.utils.warnings import silenced, warn

FAR = np.vstack([np.random.default_rng(0).normal(size=(40, 2)), [[1e6, 0]]])
SIGNS = np.array([0, 1] * 20 + [0])
SPLIT = np.kron(np.eye(2), np.ones((10, 10)))
LABELS = gq.Labels([0, 1], [0, 1])


def _short_chains():
    prior = gq.Prior.projected(gq.knn_graph(FAR[:40], n_neighbors=8, connect=True), rank=20)
    options = {"draws": 20, "warmup": 0, "thin": 1, "seed": 0, "progress": False}
    return gq.sample(prior, gq.Probit(0.1), LABELS, gq.PCN(beta=0.01), **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gq.knn_graph(FAR, n_neighbors=5),
        lambda: gq.Graph(abs(np.subtract.outer(FAR[:10, 0], FAR[:10, 0]))),
        lambda: gq.Labels([0, 1], ["a", "A"]),
        lambda: gq.approximate(gq.Graph(SPLIT), gq.Probit(0.1), LABELS),
        _short_chains,
        lambda: gq.BayesianGraphClassifier(n_neighbors=5, method="approximate").fit(
            FAR, np.where(np.arange(41) < 12, SIGNS, -1)
        ),
        lambda: gq.compare(gq.Graph(SPLIT), LABELS, np.arange(20) % 2, [gq.PageRankSSL()]),
    ],
)
def test_a_warning_names_the_line_of_the_caller(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    lines = {line for *_, line in call.__code__.co_lines()}
    assert caught
    assert all(one.filename == __file__ and one.lineno in lines for one in caught)


def test_warnings_are_left_out_in_one_thread():
    seen = []

    def other():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn("heard")
            seen.extend(str(one.message) for one in caught)

    with silenced():
        warn("not heard")  # an error otherwise
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["heard"]
    with pytest.warns(RuntimeWarning, match="heard"):
        warn("heard")
