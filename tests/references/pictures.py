"""What the tests of plots share."""

from __future__ import annotations

import numpy as np
from conftest import NodesAlone
from matplotlib.figure import Figure

import graphuq as gq


def panel():
    return Figure().subplots()


def of_classes(n_classes, n=60, labeled=None, names=None, seed=0):
    """Return a posterior whose probabilities are known, and its truth."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    p = rng.dirichlet(np.ones(n_classes) / 2, size=n) + np.eye(n_classes)[y] * rng.random((n, 1))
    p /= p.sum(axis=1, keepdims=True)
    names = np.arange(n_classes) if names is None else np.array(names)
    nodes = np.arange(n_classes if labeled is None else labeled)
    labels = gq.Labels(nodes, names[y[nodes]], classes=names)
    order = np.argsort(names)  # as labels have them
    nothing = np.zeros_like(p)
    post = NodesAlone(labels, p[:, order], nothing[:, 0], p[:, order], *[nothing] * 3)
    return post, names[y]
