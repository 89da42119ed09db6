"""The evidence: how probable a prior and a likelihood make the labels that were seen."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.annealed import annealed_evidence
from graphuq.expectation_propagation import NotConvergedError, Sites, propagate
from graphuq.labels import Labels
from graphuq.likelihoods.contract import Bound, Likelihood, bind_under
from graphuq.prior import Prior
from graphuq.threads import one_blas_thread

Array = NDArray[np.float64]

# Walls of V > RARE, flips at less than e^-5, are held against those of V = COMMON; by more than
# SLACK, which is what expectation propagation itself may be off.
RARE, COMMON, SLACK = 5.0, 2.0, 1.0


class LogEvidence(float):
    """A log evidence: a float that knows how it was come by.

    Attributes
    ----------
    method : {"expectation propagation", "annealing", "pairwise composite"}
        The last is no evidence, but what `graphuq.tune` takes in its place of more than two
        classes; see `graphuq.pairwise`.
    correction : float
        What was added to expectation propagation's own value: where it is well above 1, do not
        rely on the next digit. 0 for annealing.
    mcse : float
        Monte Carlo standard error; 0 for expectation propagation.

    Examples
    --------
    Two nodes whose fields are independent, and two labels: either is a coin's toss.

    >>> import graphuq as gq
    >>> import numpy as np
    >>> from graphuq.likelihoods.contract import bind
    >>> sites = propagate(np.eye(2), bind(gq.Probit(1.0), gq.Labels([0, 1], [0, 1]), 2))
    >>> value = LogEvidence.of(sites)
    >>> round(value / np.log(0.5), 6)
    2.0
    >>> value.method, value.mcse
    ('expectation propagation', 0.0)
    """

    method: str
    correction: float
    mcse: float

    def __new__(
        cls, value: float, method: str, correction: float = 0.0, mcse: float = 0.0
    ) -> LogEvidence:
        """Return the float, with what it knows."""
        number = super().__new__(cls, value)
        number.method, number.correction, number.mcse = method, correction, mcse
        return number

    def __getnewargs__(self) -> tuple[float, str, float, float]:  # type: ignore[override]
        """Return what copies and pickles are made of."""
        return float(self), self.method, self.correction, self.mcse

    @classmethod
    def of(cls, sites: Sites) -> LogEvidence:
        """Return what expectation propagation came to."""
        return cls(sites.log_evidence, "expectation propagation", sites.correction)


def evidence(
    prior: Prior, likelihood: Likelihood, labels: Labels, *, seed: validation.Seed = None
) -> LogEvidence:
    """Return the log of the evidence, the labels' probability p(y) = E_prior[prod_j t_j(u_j)].

    The larger, the better prior and likelihood foresee the labels; differences between settings
    are log Bayes factors. By expectation propagation at the labelled nodes, with the leading term
    of what it leaves out (Opper, Paquet and Winther 2013), in O(J p min(J, p)) with p modes. Of
    more than two classes, and for likelihoods that are no sign models, it comes by annealing,
    `graphuq.annealed_evidence`, which takes seconds or minutes.

    Parameters
    ----------
    prior : Prior
    likelihood : likelihood
        Under the sign models `Probit`, `LevelSet` and `NoisyProbit` labels of two classes have
        probability f + (1 - 2 f) Psi(y u; gamma), where f = 1 / (1 + exp(2 / gamma^2)) for the
        level-set model, so that the evidence of all possible labels adds up to 1; so it does of
        more classes.
    labels : Labels
    seed : int, SeedSequence or Generator, optional
        Of the annealing.

    Returns
    -------
    LogEvidence

    Raises
    ------
    ValueError
        Parameters left open.
    RuntimeError
        Expectation propagation did not converge, or came to rest at a mode that cannot be the
        main one: level-set and noisy probit posteriors may have many when flips are thought rare
        and the labels contradict each other. Between the two, an evidence of theirs may be off by
        half a unit or so, which `graphuq.annealed_evidence` tells.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> round(gq.evidence(prior, gq.Probit(0.1), labels), 2)
    -2.3
    >>> bool(gq.evidence(prior, gq.Probit(10.0), labels) < -4)      # six coin's tosses
    True
    """
    bound = bind_under(prior, likelihood, labels)
    if bound.sign_model is None or bound.columns > 1:
        estimate = annealed_evidence(prior, likelihood, labels, seed=seed)
        return LogEvidence(estimate.log_evidence, "annealing", mcse=estimate.mcse)
    return LogEvidence.of(settle(prior, likelihood, bound))


def settle(
    prior: Prior,
    likelihood: Likelihood,
    bound: Bound,
    start: tuple[Array, Array] | None = None,
) -> Sites:
    """Return expectation propagation's sites, or say what it did not converge with."""
    if bound.sign_model is None or bound.nodes is None:
        raise ValueError(
            f"expectation propagation serves the sign models gq.Probit, gq.LevelSet and "
            f"gq.NoisyProbit, got {likelihood!r}"
        )
    with one_blas_thread():
        root = prior.root(bound.nodes)
        try:
            sites = propagate(root, bound, start)
            _require_likeliest(root, bound, sites)
        except NotConvergedError as error:
            raise not_converged(prior, likelihood, bound.nodes.size, error) from error
    return dataclasses.replace(sites, log_evidence=at_most_half(prior, sites.log_evidence))


def at_most_half(prior: Prior, log_evidence: float) -> float:
    """Return it, or log(1/2): u and -u are as probable, but where q_0 is a mode."""
    return log_evidence if prior.null_mode else min(log_evidence, -math.log(2))


def not_converged(prior: Prior, likelihood: Any, n_labels: int, error: Exception) -> RuntimeError:
    """Return the error that says what expectation propagation did not converge with."""
    return RuntimeError(
        f"expectation propagation did not converge for {likelihood!r} under {prior!r} and "
        f"{n_labels} labels ({error}): allow more flips (a larger flip_rate, or "
        "gamma of the level-set model) or more noise, or sample instead"
    )


def _require_likeliest(root: Array, bound: Bound, sites: Sites) -> None:
    """Refuse sites at rest among fields that make hardly a label wrong, where others weigh more.

    Labels y' that differ from y in d places have p(y') <= e^(V d) p(y), since a label's likelihood
    is never below e^-V of the opposite one's. So if flips are rare, hold the evidence against that
    of the labels that a field thinks right for which flips are common.
    """
    assert bound.sign_model is not None
    noise, cost = bound.sign_model
    if not RARE < cost < math.inf:
        return
    y = bound.observed.y
    try:
        doubting = propagate(root, bound._replace(sign_model=(noise, COMMON)))
        other = np.where(doubting.mean >= 0, 1.0, -1.0)
        differ = int((other != y).sum())
        if not differ:
            return
        theirs = propagate(root, bound._replace(observed=bound.observed._replace(y=other)))
    except NotConvergedError:
        return  # what was asked for did converge
    if sites.log_evidence < theirs.log_evidence - cost * differ - SLACK:
        raise NotConvergedError(
            f"sites came to rest where {differ} likely flips are not seen, at a log evidence of "
            f"{sites.log_evidence:.4g}, below {theirs.log_evidence - cost * differ:.4g}"
        )
