"""The MAP estimate: the field of largest posterior density, and the label it gives every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import as_by_class
from graphuq.posterior.predictions import PredictionMixin
from graphuq.utils.typing import Array
from graphuq.utils.words import count


@dataclass(frozen=True, eq=False)
class MapEstimate(PredictionMixin):
    """A stationary point of J, and how near it is; `graphuq.map_estimate` makes one.

    Attributes
    ----------
    labels : Labels
        What was observed.
    field : ndarray, shape (N,) or (N, K)
        u, or v under Ginzburg-Landau: it has prior mean 0 and lies in the prior's support.
    probability : ndarray, shape (N,) or (N, K), or None
        For a sign model, the probability that a label observed at a node would be ``classes[1]``,
        or each of K > 2 classes, if ``field`` were the truth. It ignores the uncertainty of the
        field, so it is more confident than the posterior. None under other likelihoods.
    objective : float
        J(field).
    gradient_norm : float
        Norm of the gradient of J in the whitened z, u = C^(1/2) z. For a convex Phi, J is within
        ``gradient_norm**2 / 2`` of its minimum.
    iterations : int
    converged : bool
    method : {"newton", "flow", "quasi-newton"}

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> estimate = gq.map_estimate(prior, gq.Probit(gamma=0.1), labels)
    >>> estimate.prediction.shape, estimate.accuracy(y) > 0.9
    ((100,), True)
    >>> estimate.by_class.shape
    (100, 2)
    """

    labels: Labels
    field: Array
    probability: Array | None
    objective: float
    gradient_norm: float
    iterations: int
    converged: bool
    method: str

    @property
    def by_class(self) -> Array | None:
        """Probabilities of ``labels.classes`` at ``field``, shape (N, K); None as `probability`."""
        return None if self.probability is None else as_by_class(self.probability)

    @property
    def prediction(self) -> NDArray[Any]:
        """The class of every node by the sign of its field, or the largest, shape (N,)."""
        if self.field.ndim == 2:
            return self.labels.classes[self.field.argmax(axis=1)]
        return self.labels.classes[(self.field >= 0).astype(int)]

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        steps = f"{count(self.iterations, 'iteration')} of {self.method}"
        return f"MapEstimate({len(self.field)} nodes, {state} in {steps})"
