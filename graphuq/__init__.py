"""Bayesian uncertainty quantification for graph-based classification.

Given a graph and a few, perhaps wrong, labels, graphuq samples the posterior over all labels and
says which nodes are uncertain and whether the sampler can be trusted. The mathematics is that of
Bertozzi, Luo, Stuart and Zygalakis, "Uncertainty quantification in graph-based classification of
high dimensional data" (2018), "the paper" throughout; equation numbers are the paper's.
"""

import lazy_loader as _lazy

# The names are in __init__.pyi. Each is imported at first use, so that importing graphuq is cheap.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
