"""The plots of the report, each with a caption."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from graphuq import plots
from graphuq.graphs import Graph
from graphuq.plots.graph_layout import can_be_drawn
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import Predictions
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.prior import Prior
from graphuq.report.blocks import Block, Figure, Paragraph
from graphuq.report.subject import Subject

# Traced nodes whose chains are shown.
MAX_TRACED = 5

# Draws of a chain below which its traces show nothing.
MIN_DRAWS = 4


def draw_pictures(subject: Subject) -> Iterator[Block]:
    """Yield the plots for which the data are known."""
    posterior, prior = subject.posterior, subject.prior
    if subject.truth is None and subject.hidden.size:
        yield from draw_confusion(subject.predictions)
    if posterior.labels.classes.size == 3:
        yield Figure(
            lambda figure: plots.simplex(subject.predictions, subject.truth, ax=figure.subplots()),
            (7, 5),
            "The items in the triangle of their probabilities.",
            "An item in a corner certainly has that class, an item on a side certainly does not "
            "have the class opposite, and in the middle all classes are equally likely.",
        )
    if subject.images is not None:
        yield _draw_images(subject)
    if subject.graph is not None and can_be_drawn(subject.graph) and find_spec("networkx"):
        named = Graph(subject.graph.adjacency, subject.names)
        yield Figure(
            lambda figure: plots.graph_layout(posterior, named, ax=figure.subplots()),
            (8, 6),
            "The graph, its nodes colored by their probable class.",
            f"The items, with lines between linked ones. {_explain_colors(posterior)}",
        )
    if prior is not None:
        yield from _draw_prior(posterior, prior)
    if posterior.is_sampled and posterior.draws.shape[1] >= MIN_DRAWS:
        yield from _draw_chains(posterior)
    else:
        yield Paragraph("There are no chains to show, or they are too short.")
    if prior is None:
        yield Paragraph(
            "Given the prior, write_report(..., prior=prior), this page would also show the items "
            "in a plane; given the graph or images, it would show these."
        )


def _explain_colors(posterior: Posterior) -> str:
    classes = posterior.labels.classes
    if classes.size > 2:
        return (
            "Each class has a color, or a color and a shape, paler where it is less certain; given "
            "labels are larger and framed."
        )
    return (
        f"Dark is certainly {classes[0]}, bright certainly {classes[1]}. Rings mark unsure items, "
        "triangles mark given labels in their color."
    )


def _draw_images(subject: Subject) -> Figure:
    """Return the most and the least certain images."""
    posterior, images = subject.posterior, subject.images
    n_classes = posterior.labels.classes.size
    many = n_classes > 2
    draw = partial(
        plots.hard_and_easy,
        posterior,
        images.reshape(posterior.n_nodes, -1),
        subject.truth,
        count=4 if many else 8,
        shape=images.shape[1:],
    )
    return Figure(
        lambda figure: draw(figure=figure),
        (8.4, 1.4 * n_classes + 0.9 if many else 5.9),
        "Hard and easy images.",
        "The least and the most certain images without a label, by "
        f"{'predicted' if subject.truth is None else 'true'} class.",
    )


def _draw_prior(posterior: Posterior, whole: GaussianPrior) -> Iterator[Block]:
    """Yield the items in the plane of two modes, and the spectrum."""
    prior = whole.graph_part
    if not isinstance(prior, Prior):
        return
    differ = prior.spectrum.laplacian == "signless"
    if prior.rank > 1 and not differ:
        yield Figure(
            lambda figure: plots.embedding(posterior, prior, ax=figure.subplots()),
            (8, 5.5),
            "The items in a plane, colored by their probable class.",
            "The items in the plane of the graph's two smoothest patterns, where similar items are "
            f"close to each other. {_explain_colors(posterior)}",
        )
    truncation = _explain_truncation(prior)
    yield Figure(
        lambda figure: plots.spectrum(prior, ax=figure.subplots()),
        (7, 4),
        "Eigenvalues of the graph Laplacian.",
        f"How much linked items agree in the graph's patterns, the least first. {truncation}"
        if differ
        else f"The roughness of the graph's patterns, the smoothest first. {truncation} "
        "A gap after the first few indicates how many clusters the graph has.",
    )


def _explain_truncation(prior: Prior) -> str:
    """Return which patterns the prior uses; only a truncated spectrum has a dashed line."""
    if prior.rank == prior.n_nodes - prior.spectrum.n_components:
        return "The prior makes classes from all of them."
    if prior.kind == "approximated":
        return (
            "The prior makes classes from all of them, but those right of the dashed line share "
            "one eigenvalue."
        )
    return "The prior makes classes from those left of the dashed line."


def _draw_chains(posterior: Posterior) -> Iterator[Block]:
    """Yield traces and ranks of the chains."""
    found = posterior.draws
    panels = 4 + len(found.hyperparameters) + min(found.traced.size, MAX_TRACED)
    traces = partial(plots.traces, posterior, nodes=MAX_TRACED)
    ranks = partial(plots.ranks, posterior, nodes=MAX_TRACED)
    worst = (
        " For K > 2 classes each mode is shown for the class on which the chains agree least."
        if posterior.labels.classes.size > 2
        else ""
    )
    yield Figure(
        lambda figure: traces(figure=figure),
        (9, 1.4 * panels + 0.5),
        "Densities and traces of the chains.",
        "Each chain has its own color: on the left the distribution of its values, on the right "
        "its draws in order. The log posterior measures how well a draw fits prior and labels; a "
        f"mode is the weight of one of the graph's patterns.{worst} Where chains agree, "
        "the curves coincide and the draws look like noise around one level.",
    )
    if found.shape[0] > 1:
        yield Figure(
            lambda figure: ranks(figure=figure),
            (2.8 * panels, 3),
            "Ranks of the chains' draws.",
            "All draws were ranked together; each chain has a row of bars, or a line. Where chains "
            "agree, low and high ranks are equally frequent in each chain: bars have about the "
            "same height, and lines stay near 0.",
        )


def draw_confusion(posterior: Predictions, truth: Any = None) -> Iterator[Block]:
    """Yield the confusion matrix for K > 2 classes, and nothing for two."""
    K = posterior.labels.classes.size
    if K == 2:
        return
    side = 5.4 if K > 6 else 3.6
    if truth is None:
        yield Figure(
            lambda figure: plots.confusion(posterior, figure=figure),
            (side + 1.5, side),
            "Expected confusion matrix.",
            "Each row is for the unlabeled items predicted to have the class named: the mean "
            "probability of each class, in percent where there is room. Colored cells off the "
            "diagonal are classes that may be confused.",
        )
        return
    yield Figure(
        lambda figure: plots.confusion(posterior, truth, figure=figure),
        (2 * side + 1, side),
        "Confusion matrices, expected and observed.",
        "Each row is for the unlabeled items whose true class is named: on the left the mean "
        "probability of each class, on the right how often it was predicted, in percent where "
        "there is room. Colored cells off the diagonal are confused classes. If the left has more "
        "of them than the right, the posterior doubts more often than it errs.",
    )
