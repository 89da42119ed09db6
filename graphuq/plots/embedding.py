"""The nodes in the plane of the two smoothest modes, or at coordinates of the user."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.plots.canvas import new_axes
from graphuq.plots.nodes import draw_nodes
from graphuq.plots.results import require_posterior
from graphuq.posterior.assessment.uncertainty import PARTS
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.prior import Prior
from graphuq.utils import validation


def embedding(
    posterior: Posterior, coordinates: Any, *, color: str = "class", ax: Any = None
) -> Any:
    """Show the nodes in a plane, colored by posterior mean.

    Rings mark nodes whose class is unsure: none has a probability of 85% or more. Triangles
    mark labeled nodes, in the color of the label.

    For K > 2 classes, a node has the color of its most probable class, with the opacity
    1 - entropy / log K. Labeled nodes are larger and framed. The name of a class is written at the
    median of the nodes that are predicted to be in it. There are ten colors; from the eleventh
    class on, they repeat with another marker.

    Parameters
    ----------
    posterior : Posterior
    coordinates : Prior or array_like, shape (N, 2)
        A prior gives the first two eigenvectors, q_1 and q_2, as coordinates.
    color : {"class", "total", "aleatoric", "epistemic"}
        By default the class; else the entropy or a part of it, `Posterior.uncertainty`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        A result that is not a posterior, such as `MapEstimate`.
    ValueError
        The coordinates are not finite or do not have shape (N, 2), or the prior has one mode.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> quick = gq.approximate(prior, gq.Probit(0.1), gq.reveal(y, counts=4, seed=0))
    >>> gq.plots.embedding(quick, prior).get_xlabel()
    '$q_1$'
    >>> ax = gq.plots.embedding(quick, X[:, :2])
    """
    require_posterior(posterior)
    n = posterior.n_nodes
    names = ("", "")
    if isinstance(coordinates, GaussianPrior):
        coordinates = coordinates.graph_part
    if isinstance(coordinates, Prior):
        coordinates, names = coordinates.spectrum.vectors[:, :2], ("$q_1$", "$q_2$")
        if coordinates.shape[1] < 2:
            raise ValueError(
                "a prior with one mode does not span a plane: give coordinates of shape (N, 2)"
            )
    try:
        places = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"coordinates must be a prior or an array of shape ({n}, 2), got "
            f"{type(coordinates).__name__}: of a graph, take gq.Prior.projected(graph, rank=2)"
        ) from error
    if places.shape != (n, 2):
        raise ValueError(
            f"coordinates must be a prior on the same nodes or have shape ({n}, 2), got "
            f"{places.shape}: give two numbers for each node"
        )
    if not np.isfinite(places).all():
        raise ValueError("coordinates must be finite: fill in the missing values")
    validation.one_of("color", color, ("class", *PARTS))
    ax = new_axes(ax)
    draw_nodes(ax, posterior, places, color=color)
    ax.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    return ax
