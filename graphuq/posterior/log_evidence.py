"""A log evidence with the method that computed it."""

from __future__ import annotations


class LogEvidence(float):
    """A log evidence: a float with the method that computed it and its accuracy.

    Attributes
    ----------
    method : {"expectation propagation", "annealing", "pairwise composite"}
        The last is not an evidence, but replaces it in `graphuq.tune` for K > 2 classes; see
        `graphuq.inference.evidence.pairwise`.
    correction : float
        What was added to the value of expectation propagation: if it is well above 1, the
        approximation is poor and the next digit unreliable. 0 for annealing.
    mcse : float
        Monte Carlo standard error; 0 for expectation propagation.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> value = gq.evidence(prior, gq.Probit(0.1), labels)
    >>> round(value, 2), value.method, value.mcse
    (-2.3, 'expectation propagation', 0.0)
    """

    method: str
    correction: float
    mcse: float

    def __new__(
        cls, value: float, method: str, correction: float = 0.0, mcse: float = 0.0
    ) -> LogEvidence:
        """Return the float with its attributes."""
        number = super().__new__(cls, value)
        number.method, number.correction, number.mcse = method, correction, mcse
        return number

    def __getnewargs__(self) -> tuple[float, str, float, float]:  # type: ignore[override]
        """Return the arguments for copies and pickles."""
        return float(self), self.method, self.correction, self.mcse
