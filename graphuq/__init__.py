"""Bayesian uncertainty quantification for graph-based classification.

Given a graph and a few, perhaps wrong, labels, graphuq samples the posterior over all labels and
says which nodes are uncertain and whether the sampler can be trusted. The mathematics is that of
Bertozzi, Luo, Stuart and Zygalakis, "Uncertainty quantification in graph-based classification of
high dimensional data" (2017), "the paper" throughout; equation numbers are the paper's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. It is imported at first use, so that importing graphuq is cheap.
_HOME = {
    "Tuning": "graphuq.tuning",
    "tune": "graphuq.tuning",
    "LogEvidence": "graphuq.model_evidence",
    "LowRankSpectrum": "graphuq.low_rank",
    "evidence": "graphuq.model_evidence",
    "approximate": "graphuq.approximation",
    "ApproximatePosterior": "graphuq.approximation",
    "AnnealedEvidence": "graphuq.annealed",
    "BayesianGraphClassifier": "graphuq.classifiers",
    "BelkinNiyogi": "graphuq.classifiers",
    "Calibration": "graphuq.calibration",
    "ConvergenceWarning": "graphuq.diagnostics",
    "Diagnostics": "graphuq.diagnostics",
    "GDPCA": "graphuq.classifiers",
    "GinzburgLandau": "graphuq.likelihoods",
    "Graph": "graphuq.graphs",
    "KAssociatedOptimalGraph": "graphuq.classifiers",
    "LabelledKFold": "graphuq.classifiers",
    "Labels": "graphuq.labels",
    "LaplacianKernel": "graphuq.classifiers",
    "LaplaceLearning": "graphuq.classifiers",
    "LevelSet": "graphuq.likelihoods",
    "MapEstimate": "graphuq.map",
    "EllipticalSlice": "graphuq.samplers",
    "FiedlerClustering": "graphuq.classifiers",
    "Harmonic": "graphuq.samplers",
    "HilbertHMC": "graphuq.samplers",
    "NoisyProbit": "graphuq.likelihoods",
    "PCN": "graphuq.samplers",
    "PageRankSSL": "graphuq.classifiers",
    "Posterior": "graphuq.posterior",
    "PredictionSets": "graphuq.conformal",
    "Prior": "graphuq.prior",
    "Probit": "graphuq.likelihoods",
    "RobustGC": "graphuq.classifiers",
    "SolvedPrior": "graphuq.solved_prior",
    "Spectrum": "graphuq.spectrum",
    "Tempered": "graphuq.samplers",
    "ZhouGC": "graphuq.classifiers",
    "annealed_evidence": "graphuq.annealed",
    "brier_score": "graphuq.calibration",
    "calibrate": "graphuq.calibration",
    "check_likelihood": "graphuq.likelihoods",
    "compare": "graphuq.comparison",
    "epsilon_graph": "graphuq.graphs",
    "expected_calibration_error": "graphuq.calibration",
    "from_arviz": "graphuq.export",
    "full_graph": "graphuq.graphs",
    "knn_graph": "graphuq.graphs",
    "load": "graphuq.export",
    "map_estimate": "graphuq.map",
    "nystrom": "graphuq.nystrom_extension",
    "pca": "graphuq.graphs",
    "reveal": "graphuq.labels",
    "write_report": "graphuq.report",
    "sample": "graphuq.sampling",
    "sample_jointly": "graphuq.joint",
}
_MODULES = ("classifiers", "datasets", "likelihoods", "plots", "samplers")

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:  # what type checkers and editors see
    from graphuq import classifiers as classifiers
    from graphuq import datasets as datasets
    from graphuq import likelihoods as likelihoods
    from graphuq import plots as plots
    from graphuq import samplers as samplers
    from graphuq.annealed import AnnealedEvidence as AnnealedEvidence
    from graphuq.annealed import annealed_evidence as annealed_evidence
    from graphuq.approximation import ApproximatePosterior as ApproximatePosterior
    from graphuq.approximation import approximate as approximate
    from graphuq.calibration import Calibration as Calibration
    from graphuq.calibration import brier_score as brier_score
    from graphuq.calibration import calibrate as calibrate
    from graphuq.calibration import expected_calibration_error as expected_calibration_error
    from graphuq.classifiers import GDPCA as GDPCA
    from graphuq.classifiers import BayesianGraphClassifier as BayesianGraphClassifier
    from graphuq.classifiers import BelkinNiyogi as BelkinNiyogi
    from graphuq.classifiers import FiedlerClustering as FiedlerClustering
    from graphuq.classifiers import KAssociatedOptimalGraph as KAssociatedOptimalGraph
    from graphuq.classifiers import LabelledKFold as LabelledKFold
    from graphuq.classifiers import LaplaceLearning as LaplaceLearning
    from graphuq.classifiers import LaplacianKernel as LaplacianKernel
    from graphuq.classifiers import PageRankSSL as PageRankSSL
    from graphuq.classifiers import RobustGC as RobustGC
    from graphuq.classifiers import ZhouGC as ZhouGC
    from graphuq.comparison import compare as compare
    from graphuq.conformal import PredictionSets as PredictionSets
    from graphuq.diagnostics import ConvergenceWarning as ConvergenceWarning
    from graphuq.diagnostics import Diagnostics as Diagnostics
    from graphuq.export import from_arviz as from_arviz
    from graphuq.export import load as load
    from graphuq.graphs import Graph as Graph
    from graphuq.graphs import epsilon_graph as epsilon_graph
    from graphuq.graphs import full_graph as full_graph
    from graphuq.graphs import knn_graph as knn_graph
    from graphuq.graphs import pca as pca
    from graphuq.joint import sample_jointly as sample_jointly
    from graphuq.labels import Labels as Labels
    from graphuq.labels import reveal as reveal
    from graphuq.likelihoods import GinzburgLandau as GinzburgLandau
    from graphuq.likelihoods import LevelSet as LevelSet
    from graphuq.likelihoods import NoisyProbit as NoisyProbit
    from graphuq.likelihoods import Probit as Probit
    from graphuq.likelihoods import check_likelihood as check_likelihood
    from graphuq.low_rank import LowRankSpectrum as LowRankSpectrum
    from graphuq.map import MapEstimate as MapEstimate
    from graphuq.map import map_estimate as map_estimate
    from graphuq.model_evidence import LogEvidence as LogEvidence
    from graphuq.model_evidence import evidence as evidence
    from graphuq.nystrom_extension import nystrom as nystrom
    from graphuq.posterior import Posterior as Posterior
    from graphuq.prior import Prior as Prior
    from graphuq.report import write_report as write_report
    from graphuq.samplers import PCN as PCN
    from graphuq.samplers import EllipticalSlice as EllipticalSlice
    from graphuq.samplers import Harmonic as Harmonic
    from graphuq.samplers import HilbertHMC as HilbertHMC
    from graphuq.samplers import Tempered as Tempered
    from graphuq.sampling import sample as sample
    from graphuq.solved_prior import SolvedPrior as SolvedPrior
    from graphuq.spectrum import Spectrum as Spectrum
    from graphuq.tuning import Tuning as Tuning
    from graphuq.tuning import tune as tune


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"graphuq.{name}")
    else:
        raise AttributeError(f"module 'graphuq' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
