"""Pictures; the only place that imports matplotlib.

A plot of one panel takes ``ax``, draws a figure of its own without, and returns the Axes. A plot of
several takes ``figure`` instead, and returns an array of Axes.
"""

from graphuq.plots.hard_and_easy import hard_and_easy
from graphuq.plots.reliability import reliability
from graphuq.plots.tuning import tuning

__all__ = ["hard_and_easy", "reliability", "tuning"]
