"""Plots; no other folder imports matplotlib.

A plot with one panel takes ``ax`` and returns the Axes. A plot with several panels takes ``figure``
and returns an array of Axes. Without ``ax`` or ``figure``, a plot makes its own figure.
"""

from graphuq.plots.chains import ranks, traces
from graphuq.plots.confusion import confusion
from graphuq.plots.embedding import embedding
from graphuq.plots.graph_layout import graph_layout
from graphuq.plots.hard_and_easy import hard_and_easy
from graphuq.plots.node_marginals import node_marginals
from graphuq.plots.pixel_map import pixel_map
from graphuq.plots.reliability import reliability
from graphuq.plots.simplex import simplex
from graphuq.plots.spectrum import spectrum
from graphuq.plots.tuning import tuning

__all__ = [
    "confusion",
    "embedding",
    "graph_layout",
    "hard_and_easy",
    "node_marginals",
    "pixel_map",
    "ranks",
    "reliability",
    "simplex",
    "spectrum",
    "traces",
    "tuning",
]
