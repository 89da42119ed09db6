"""Deterministic classifiers of a graph's nodes, beside the posterior."""

from graphuq.classifiers.kaog import KAssociatedOptimalGraph
from graphuq.classifiers.belkin import BelkinNiyogi
from graphuq.classifiers.robust import RobustGC
from graphuq.classifiers.transductive import TransductiveClassifier
from graphuq.classifiers.zhou import ZhouGC

__all__ = ["KAssociatedOptimalGraph", "TransductiveClassifier"]
__all__ = ["BelkinNiyogi", "RobustGC", "TransductiveClassifier", "ZhouGC"]
