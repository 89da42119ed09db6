"""Likelihoods: how labels arise from the latent field."""

from graphuq.likelihoods.check import check_likelihood
from graphuq.likelihoods.contract import Likelihood, Observed
from graphuq.likelihoods.ginzburg_landau import GinzburgLandau
from graphuq.likelihoods.level_set import LevelSet
from graphuq.likelihoods.noisy_probit import NoisyProbit
from graphuq.likelihoods.probit import Probit

__all__ = [
    "GinzburgLandau",
    "LevelSet",
    "Likelihood",
    "NoisyProbit",
    "Observed",
    "Probit",
    "check_likelihood",
]
