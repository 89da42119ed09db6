"""Deterministic classifiers of a graph's nodes, beside the posterior."""

from graphuq.classifiers.transductive import TransductiveClassifier

__all__ = ["TransductiveClassifier"]
