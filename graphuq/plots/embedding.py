"""The nodes in the plane that the prior's smoothest modes span, or in one of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.node_posterior import NodePosterior
from graphuq.plots.canvas import new_axes
from graphuq.plots.nodes import draw_nodes
from graphuq.prior import Prior


def embedding(posterior: NodePosterior, coordinates: Any, *, ax: Any = None) -> Any:
    """Show the nodes in a plane, coloured by posterior mean, the uncertain ones ringed.

    Rings go round nodes whose class is unsure: probability between 15% and 85%, which is a label's
    variance above 1/2. Triangles are given labels, in the colour of the label.

    With more than two classes a node has the colour of its likeliest class, and the opacity
    1 - entropy / log K: certain nodes are full, those of which nothing is known hollow. Given
    labels are larger and framed, and each class's name stands at the median of the nodes that are
    predicted to be of it. There are ten colours, which come again in another shape from the
    eleventh class on.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    coordinates : Prior or array_like, shape (N, 2)
        Of a prior the first two eigenvectors, q_1 and q_2: where the graph's two smoothest
        fields put a node.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        Coordinates of other nodes, not finite, or not two for each; a prior of one mode.

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
    n = posterior.n_nodes
    names = ("", "")
    if isinstance(coordinates, Prior):
        coordinates, names = coordinates.spectrum.vectors[:, :2], ("$q_1$", "$q_2$")
        if coordinates.shape[1] < 2:
            raise ValueError("a prior of one mode spans no plane: give coordinates, shape (N, 2)")
    places = np.asarray(coordinates, dtype=np.float64)
    if places.shape != (n, 2):
        raise ValueError(
            f"coordinates must be a prior on the same nodes or have shape ({n}, 2), got "
            f"{places.shape}"
        )
    if not np.isfinite(places).all():
        raise ValueError("coordinates must be finite: fill in or drop what is missing")
    ax = new_axes(ax)
    draw_nodes(ax, posterior, places)
    ax.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    return ax
