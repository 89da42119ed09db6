"""The plots of the report, each with what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from graphuq import plots
from graphuq.graphs import Graph
from graphuq.node_posterior import NodePosterior
from graphuq.plots.graph_layout import can_be_drawn
from graphuq.plots.png import png
from graphuq.posterior import Posterior
from graphuq.report import page
from graphuq.report.subject import Subject

# Traced nodes whose chains are shown.
MOST_TRACED = 5


def pictures(subject: Subject) -> Iterator[str]:
    """Yield what can be drawn of what is known."""
    posterior, prior, graph = subject.posterior, subject.prior, subject.graph
    classes = posterior.labels.classes
    many = classes.size > 2
    colours = (
        "Each class has a colour, or a colour and a shape, the paler the less certain it is; given "
        "labels are larger, and framed."
        if many
        else f"Dark is surely {classes[0]}, bright surely {classes[1]}. Rings mark items whose "
        "class is unsure, triangles given labels in their colour."
    )
    if subject.truth is None and subject.hidden.size:
        yield of_confusion(posterior)
    if classes.size == 3:
        yield page.figure(
            png(lambda figure: plots.simplex(posterior, subject.truth, ax=figure.subplots()), 7, 5),
            "The items in the triangle of their probabilities.",
            "In a corner an item is surely of that class, on a side surely not of the one "
            "opposite, in the middle anything.",
        )
    if subject.images is not None:
        _, height, width = subject.images.shape
        flat = subject.images.reshape(posterior.n_nodes, -1)
        yield page.figure(
            png(
                lambda figure: plots.hard_and_easy(
                    posterior,
                    flat,
                    subject.truth,
                    count=4 if many else 8,
                    shape=(height, width),
                    figure=figure,
                ),
                8.4,
                1.4 * classes.size + 0.9 if many else 5.9,
            ),
            "Images that are hard and easy to tell.",
            "The least and the most certain images without a label, by "
            + ("predicted" if subject.truth is None else "true")
            + " class.",
        )
    if graph is not None and can_be_drawn(graph) and find_spec("networkx"):
        named = Graph(graph.adjacency, subject.names)
        yield page.figure(
            png(lambda figure: plots.graph_layout(posterior, named, ax=figure.subplots()), 8, 6),
            "The graph, its nodes coloured by their probable class.",
            f"The items, with lines between those that are alike. {colours}",
        )
    if prior is not None and prior.rank > 1:
        yield page.figure(
            png(lambda figure: plots.embedding(posterior, prior, ax=figure.subplots()), 8, 5.5),
            "The items in a plane, coloured by their probable class.",
            "The items in the plane where the graph's two smoothest patterns put them, like near "
            f"like. {colours}",
        )
    if prior is not None:
        yield page.figure(
            png(lambda figure: plots.spectrum(prior, ax=figure.subplots()), 7, 4),
            "Eigenvalues of the graph Laplacian.",
            "How rough the graph's patterns are, the smoothest first. Left of the dashed line are "
            "those that the prior makes classes from; a gap after the first few tells how many "
            "clusters the graph has.",
        )
    if isinstance(posterior, Posterior) and posterior.modes.shape[1] >= 4:
        yield from _of_chains(posterior)
    else:
        yield page.paragraph("There are no chains to show, or they are too short.")
    if prior is None:
        yield page.paragraph(
            "With the prior at hand (write_report(..., prior=prior)) the items would be shown in a "
            "plane here, and with the graph or with images these."
        )


def _of_chains(posterior: Posterior) -> Iterator[str]:
    panels = 4 + len(posterior.hyperparameters) + min(posterior.traced.size, MOST_TRACED)
    traces = partial(plots.traces, posterior, nodes=MOST_TRACED)
    ranks = partial(plots.ranks, posterior, nodes=MOST_TRACED)
    yield page.figure(
        png(lambda figure: traces(figure=figure), 9, 1.4 * panels + 0.5),
        "Densities and traces of the chains.",
        "Each chain in a colour of its own: on the left how often it had which value, on the right "
        "its draws in their order. The log posterior says how well a draw fits prior and labels, a "
        "mode how much of that one of the graph's smoothest patterns it has"
        + (
            ", in the field of the class named, for which chains agree least"
            if posterior.labels.classes.size > 2
            else ""
        )
        + ". Where chains agree, "
        "the curves lie on each other and the draws look like noise about one level.",
    )
    if posterior.modes.shape[0] > 1:
        yield page.figure(
            png(lambda figure: ranks(figure=figure), 2.8 * panels, 3),
            "Ranks of the chains' draws.",
            "All draws together were put in order, and ranked; bars have a row for each chain. "
            "Where chains agree, low and high ranks are equally frequent in each: bars are about "
            "level, or lines stay near 0.",
        )


def of_confusion(posterior: NodePosterior, truth: Any = None) -> str:
    """Return which of more than two classes are taken for which."""
    K = posterior.labels.classes.size
    if K == 2:
        return ""
    side = 5.4 if K > 6 else 3.6
    if truth is None:
        return page.figure(
            png(lambda figure: plots.confusion(posterior, figure=figure), side + 1.5, side),
            "How probable each class is where another was predicted.",
            "A row is of the unlabelled items that are predicted to be of the class it names: how "
            "probable each class is at them, in per cent where there is room. What lies off the "
            "diagonal, and is coloured, may be confused.",
        )
    return page.figure(
        png(lambda figure: plots.confusion(posterior, truth, figure=figure), 2 * side + 1, side),
        "Confusion of classes, expected and counted.",
        "A row is of the unlabelled items whose true class it names: on the left how probable each "
        "class is at them, on the right how often it was predicted, in per cent where there is "
        "room. What lies off the diagonal, and is coloured, is confusion. Where the left has more "
        "of it than the right, the posterior doubts more than it errs.",
    )
