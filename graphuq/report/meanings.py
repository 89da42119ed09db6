"""What settings and scores mean, in a sentence each."""

from __future__ import annotations

import math
from typing import Any

PRIOR = {
    "rank": "How many patterns on the graph, the smoothest ones, classes are made from.",
    "alpha": "How smoothly classes vary over the graph: 1 is rough, 4 smooth.",
    "tau": "How soon items far apart on the graph cease to tell of each other; 0 is never.",
}

_PRIORS = {
    "full": "Items that are alike tend to have the same class; all patterns on the graph count.",
    "projected": "Items that are alike tend to have the same class; only the smoothest patterns "
    "count, and all others are ruled out.",
    "approximated": "Items that are alike tend to have the same class; the smoothest patterns "
    "count as they are, and all others share one variance.",
}

_LIKELIHOODS = {
    "Probit": "Labels are right, except near the border between classes: one amid items of "
    "another class is believed, not doubted.",
    "LevelSet": "Any label may be wrong, wherever it is, with the same probability.",
    "NoisyProbit": "Labels may be wrong near the border between classes, and at a certain rate "
    "anywhere else too.",
    "GinzburgLandau": "The label is taken for a measurement of a field that wells draw to one "
    "class or another.",
}

_PARAMETERS = {
    ("Probit", "gamma"): "How blurred the border between classes is; 0 is sharp.",
    ("LevelSet", "gamma"): "How readily labels are doubted: the odds of each wrong one are "
    "exp(-2 / gamma^2).",
    ("NoisyProbit", "gamma"): "How blurred the border between classes is; 0 is sharp.",
    ("NoisyProbit", "flip_rate"): "The share of labels that is wrong, wherever they are.",
    ("GinzburgLandau", "epsilon"): "How wide the wells are; narrow ones force a decision.",
    ("GinzburgLandau", "gamma"): "How noisy a label is as a measurement.",
}

_SAMPLERS = {
    "Harmonic": "Exact flow between walls; its draws are nearly independent.",
    "HilbertHMC": "Hamiltonian Monte Carlo, whose draws are weakly correlated.",
    "EllipticalSlice": "Elliptical slice sampling, for any likelihood; its draws are correlated.",
    "PCN": "The preconditioned Crank-Nicolson random walk; its draws are strongly correlated.",
    "Tempered": "Parallel tempering: hotter copies of the chain cross between separate answers.",
    "Joint": "Samples parameters of prior and likelihood along with the classes.",
}


def of_scores(n_classes: int) -> tuple[tuple[str, str, str], ...]:
    """Return each score of so many classes: its attribute, its name, and what it means."""
    alike = "half and half" if n_classes == 2 else "that all classes are alike"
    return (
        (
            "accuracy",
            "accuracy",
            f"The share of these items whose {'likelier' if n_classes == 2 else 'likeliest'} class "
            "is the true one.",
        ),
        (
            "expected_calibration_error",
            "calibration error",
            "By how much confidence and the share that is right differ, on average: 0.05 means "
            "that items called 80% sure may be right in 75% or 85% of cases. 0 is best, though "
            "with few items chance alone gives some.",
        ),
        (
            "brier",
            "Brier score",
            "The squared distance of probabilities from the truth: 0 is best, and always saying "
            f"{alike} gives {1 - 1 / n_classes:.2g}.",
        ),
        (
            "log_score",
            "log score",
            "How surprised the probabilities were by the truth: 0 is best, and always saying "
            f"{alike} gives {math.log(n_classes):.2f}. Being sure and wrong costs most.",
        ),
    )


def of_prior(prior: dict[str, Any]) -> str:
    """Return what a kind of prior means."""
    return _PRIORS[prior["kind"]]


def of_likelihood(name: str) -> str:
    """Return what a likelihood means."""
    return _LIKELIHOODS.get(name, "A likelihood of the user's own.")


def of_parameter(likelihood: str, name: str) -> str:
    """Return what a parameter of a likelihood means."""
    return _PARAMETERS.get((likelihood, name), "A parameter of the likelihood.")


def of_sampler(name: str) -> str:
    """Return what a sampler is."""
    return _SAMPLERS.get(name, "A sampler of the user's own.")
