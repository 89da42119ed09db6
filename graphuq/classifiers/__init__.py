"""Deterministic classifiers of a graph's nodes, beside the posterior."""

from graphuq.classifiers.kaog import KAssociatedOptimalGraph
from graphuq.classifiers.transductive import TransductiveClassifier

__all__ = ["KAssociatedOptimalGraph", "TransductiveClassifier"]
