"""The meaning of settings and scores, in a sentence each, for the report and the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scipy.special import expit

from graphuq.labels.labels import ANY, BY_CLASS, RANDOM

PRIOR = {
    "rank": "The number of patterns (eigenvectors) of the graph that classes combine.",
    "alpha": "How smoothly classes vary over the graph: 1 is rough, and 4 is smooth.",
    "tau": "How fast influence fades with distance on the graph; 0 is not at all.",
    "level": "The deviation of a shift that all items share: how much classes may differ in size.",
    "weight": "The share of the graph in the prior; the rest is the share of the features, or of a "
    "level of each component of the graph.",
    "weight_2": "The share of similarity in the share of the features; the rest is that of "
    "straight directions in them.",
    "length_scale": "The distance between features at which the correlation has fallen to 0.6; at "
    "three times this distance it is 0.01.",
}

SHARES = (
    "Shares of the classes among all items, as given by the user. Probabilities were changed as "
    "little as possible to follow them."
)

# What estimated shares of the classes assume about how labels were chosen.
SAMPLING = {
    RANDOM: "This assumes that the labels are a random sample of all items.",
    BY_CLASS: "This assumes that a fixed number of items was drawn at random from each class and "
    "labeled.",
    ANY: "This relies on the model, since the labels are not a random sample.",
}

WITHOUT_SHARES = (
    "These parts, variances and means, suspect labels, and pictures of the items, of the graph and "
    "of the plane do not use the given shares of the classes. Predictions, probabilities, their "
    "entropy and all scores do."
)

# The kinds of the priors on features, of one without eigenvectors, and of the levels of components.
FEATURES, LINEAR, SOLVED, COMPONENTS = "features", "linear", "solved", "components"

# What a prior on features is called if they are averages over links.
AVERAGES = "features of linked items"

_PRIORS = {
    "full": "Similar items tend to have the same class. All patterns of the graph are used.",
    "projected": "Similar items tend to have the same class. Only the smoothest patterns of the "
    "graph are used.",
    "approximated": "Similar items tend to have the same class. The smoothest patterns of the "
    "graph are used; all others share one variance.",
    SOLVED: "Similar items tend to have the same class. All patterns of the graph are used, by "
    "linear solves.",
    FEATURES: "Items with similar features tend to have the same class, wherever they are in the "
    "graph.",
    LINEAR: "The class changes along straight directions in the features: each feature counts for "
    "or against a class.",
    COMPONENTS: "Items of one component of the graph tend to have the same class.",
    AVERAGES: "Items whose linked items have similar features on average tend to have the same "
    "class.",
}

_LIKELIHOODS = {
    "Probit": "Labels can be wrong only near the border between classes. A label among items of "
    "another class is believed.",
    "LevelSet": "Any label may be wrong, all with the same probability.",
    "NoisyProbit": "Labels can be wrong near the border between classes and, at a fixed rate, "
    "anywhere else.",
    "GinzburgLandau": "Labels are noisy measurements of a field, and a potential with wells pulls "
    "the field toward the classes.",
}

_BORDER = "How blurred the border between classes is: 0 is sharp, 0.1 slightly blurred, 1 strongly."

_PARAMETERS = {
    ("Probit", "gamma"): _BORDER,
    ("LevelSet", "gamma"): "Label noise: the odds of each wrong class are exp(-2 / gamma^2).",
    ("NoisyProbit", "gamma"): _BORDER,
    ("NoisyProbit", "flip_rate"): "The fraction of labels that are wrong, anywhere on the graph.",
    ("GinzburgLandau", "epsilon"): "The width of the wells; narrow wells force a decision.",
    ("GinzburgLandau", "gamma"): "The standard deviation of a label as a measurement.",
}

_SAMPLERS = {
    "Harmonic": "Hamiltonian Monte Carlo without step errors. Its draws are nearly independent.",
    "HilbertHMC": "Hamiltonian Monte Carlo. Its draws are weakly correlated.",
    "PreconditionedHMC": "Hamiltonian Monte Carlo for many labels, with weakly correlated draws.",
    "EllipticalSlice": "Elliptical slice sampling, for any likelihood. Its draws are correlated.",
    "PCN": "The preconditioned Crank-Nicolson random walk. Its draws are strongly correlated.",
    "Tempered": "Parallel tempering: hotter copies of the chain move between separate modes.",
    "Joint": "Samples parameters of the prior and the likelihood together with the classes.",
}


def of_scores(n_classes: int) -> tuple[tuple[str, str, str], ...]:
    """Return each score for ``n_classes`` classes: its attribute, its name and its meaning."""
    guess = "50/50" if n_classes == 2 else "that all classes are equally likely"
    return (
        (
            "accuracy",
            "accuracy",
            "The fraction of these items whose most probable class is the true class.",
        ),
        (
            "expected_calibration_error",
            "calibration error",
            "The mean difference between confidence and accuracy: 0.05 means that predictions with "
            "80% confidence may be correct in 75% or 85% of cases. 0 is best; with few items, "
            "chance alone gives a value above 0.",
        ),
        (
            "brier",
            "Brier score",
            "The mean squared distance of the probabilities from the truth: 0 is best; always "
            f"predicting {guess} gives {1 - 1 / n_classes:.2g}.",
        ),
        (
            "log_score",
            "log score",
            "The mean negative log probability of the true class: 0 is best; always predicting "
            f"{guess} gives {math.log(n_classes):.2f}. Confident errors cost most.",
        ),
    )


def of_parts(shares: tuple[float, float]) -> str:
    """Return the meaning of the two parts of the uncertainty, given their shares."""
    epistemic, aleatoric = shares
    return (
        f"More labels would resolve {epistemic:.0%} of the uncertainty about the items without a "
        f"label (the epistemic part of their entropy). No label will resolve the other "
        f"{aleatoric:.0%} (the aleatoric part): as far as the model can tell from the similarities "
        "of the items, their classes overlap. Probabilities are those of the true class; the "
        "overlap is part of them, labeling mistakes are not."
    )


def of_prior_parameter(name: str, prior: dict[str, Any]) -> str:
    """Return the meaning of a parameter of a prior, and nothing of others."""
    if name == "alpha" and prior.get("laplacian") == "signless":
        return "How much linked items differ: 1 is little, and 4 is much."
    return PRIOR.get(name, "")


def of_prior(prior: dict[str, Any]) -> str:
    """Return the meaning of a kind of prior."""
    if prior.get("laplacian") == "signless":
        return "Items that a link joins tend to have different classes."
    return _PRIORS[kind_of(prior)]


def kind_of(prior: dict[str, Any]) -> str:
    """Return what a prior is called, given its settings."""
    return AVERAGES if prior.get("hops", 0) else str(prior["kind"])


def of_weights(kinds: Sequence[str]) -> str:
    """Return the meaning of the weights of a sum, given the kinds of its parts.

    Examples
    --------
    >>> of_weights(["projected", "projected", "features"])
    'The share of each part in the prior: graph 1, graph 2, features.'
    """
    named = (FEATURES, LINEAR, COMPONENTS, AVERAGES)
    things = [kind if kind in named else "graph" for kind in kinds]
    names = [
        f"{thing} {things[: at + 1].count(thing)}" if things.count(thing) > 1 else thing
        for at, thing in enumerate(things)
    ]
    return f"The share of each part in the prior: {', '.join(names)}."


def of_likelihood(name: str) -> str:
    """Return the meaning of a likelihood."""
    return _LIKELIHOODS.get(name, "A user-defined likelihood.")


def of_parameter(likelihood: str, name: str, value: float, n_classes: int) -> str:
    """Return the meaning of a parameter of a likelihood for ``n_classes`` classes."""
    meaning = _PARAMETERS.get((likelihood, name), "A parameter of the likelihood.")
    if (likelihood, name) == ("LevelSet", "gamma"):
        wrong = expit(math.log(n_classes - 1) - 2 / value**2)
        meaning += f" Here any label is wrong with probability {wrong:.1%}."
    return meaning


def of_sampler(name: str) -> str:
    """Return a description of a sampler."""
    return _SAMPLERS.get(name, "A user-defined sampler.")
