"""The evidence: how probable a prior and a likelihood make the observed labels."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from graphuq.inference.checks import BindOnce, bind_checked
from graphuq.inference.evidence.annealed import annealed_evidence
from graphuq.inference.evidence.poor_sites import describe_poor_evidence
from graphuq.inference.evidence.tangent import (
    LabeledCovariance,
    Near,
    Tangent,
    TangentPart,
    root_of,
)
from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import Bound
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.label_rule import Argmax
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.propagation.class_propagation import ClassSites, propagate_classes
from graphuq.propagation.gaussian_sites import NotConvergedError
from graphuq.propagation.sign_propagation import (
    COARSE,
    TOLERANCE,
    Sites,
    propagate,
)
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import warn

# With V above RARE_FLIPS, flips of odds below e^-5, sites are compared with those of V =
# COMMON_FLIPS. A difference up to EP_ERROR may be the error of expectation propagation itself.
RARE_FLIPS, COMMON_FLIPS, EP_ERROR = 5.0, 2.0, 1.0


def evidence(
    prior: GaussianPrior, likelihood: Likelihood, labels: Labels, *, seed: validation.Seed = None
) -> LogEvidence:
    """Return the log of the evidence, p(y) = E_prior[prod_j t_j(u_j)] of the labels y.

    The larger it is, the better prior and likelihood predict the labels. Differences between
    settings are log Bayes factors. For sign models and two classes it is computed by expectation
    propagation at the labeled nodes, with the leading term of its error added (Opper, Paquet and
    Winther 2013), in O(J p min(J, p)) with p modes. For K > 2 classes and for other likelihoods it
    is computed by annealing, `graphuq.annealed_evidence`, which takes seconds or minutes.

    Parameters
    ----------
    prior : Prior, FeaturePrior or SumPrior
    likelihood : likelihood
        Under the sign models `Probit`, `LevelSet` and `NoisyProbit` labels of two classes have
        probability f + (1 - 2 f) Psi(y u; gamma), where f = 1 / (1 + exp(2 / gamma^2)) for the
        level-set model. The evidence of all possible labels adds up to 1, for K > 2 classes too.
    labels : Labels
    seed : int, SeedSequence or Generator, optional
        Seed of the annealing.

    Returns
    -------
    LogEvidence

    Raises
    ------
    ValueError
        A parameter is "auto".
    RuntimeError
        Expectation propagation did not converge, or converged to a mode that cannot be the main
        one. Level-set and noisy probit posteriors may have many modes when flips are rare and
        labels contradict each other. Near that case their evidence may be off by about 0.5, which
        a comparison with `graphuq.annealed_evidence` shows.

    Warns
    -----
    RuntimeWarning
        Expectation propagation is poor: weighted draws of its Gaussian and of the prior say that
        the log evidence is off by more than 0.1, or their weights are too uneven to tell, or the
        leading term of its error is above 1.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> round(gq.evidence(prior, gq.Probit(0.1), labels), 2)
    -2.3
    >>> bool(gq.evidence(prior, gq.Probit(10.0), labels) < -4)      # six coin tosses
    True
    """
    bound = bind_checked(prior, likelihood, labels)
    if bound.sign_model is None or isinstance(bound.rule, Argmax):
        estimate = annealed_evidence(prior, likelihood, labels, seed=seed)
        return LogEvidence(estimate.log_evidence, "annealing", mcse=estimate.mcse)
    sites = converged_sites(prior, likelihood, bound)
    warn(describe_poor_evidence(sites, bound))
    return log_evidence_of(sites)


class SignEvidence:
    """The evidence of a sign model and two classes, for one setting after another.

    Parameters
    ----------
    labels : Labels
    """

    def __init__(self, labels: Labels) -> None:
        self._bind, self._covariance = BindOnce(labels), LabeledCovariance(labels.nodes)
        self.of_shares = evidence_of_shares(np.bincount(labels.indices, minlength=2))

    def __call__(self, prior: GaussianPrior, likelihood: Likelihood) -> LogEvidence:
        """Return it for one setting.

        Raises
        ------
        RuntimeError
            Expectation propagation does not converge.
        """
        bound = self._bind(prior, likelihood)
        return log_evidence_of(converged_sites(prior, likelihood, bound))

    def near(
        self, prior: GaussianPrior, likelihood: Likelihood, start: tuple[Array, Array] | None
    ) -> Near:
        """Return it to a coarse tolerance, from the sites of another setting."""
        bound = self._bind(prior, likelihood)
        _nodes_of_sign_model(likelihood, bound)
        with one_blas_thread():
            root = root_of(self._covariance.terms(prior), slice(None))
            sites = _sites_of_main_mode(root, prior, likelihood, bound, start, COARSE)
            rows = np.arange(len(root))
            part = TangentPart(rows, bound.observed.y, sites, bound.confidence)
            value = at_most_half(sites.log_evidence)
            log_evidence = log_evidence_of(dataclasses.replace(sites, log_evidence=value))
            tangent = Tangent(self._covariance, [part], bound.rule.n_classes)
            return Near(log_evidence, (sites.precision, sites.shift), tangent)


def log_evidence_of(sites: Sites) -> LogEvidence:
    """Return the evidence that expectation propagation found."""
    return LogEvidence(sites.log_evidence, "expectation propagation", sites.correction)


def converged_sites(
    prior: GaussianPrior,
    likelihood: Likelihood,
    bound: Bound,
    start: tuple[Array, Array] | None = None,
) -> Sites:
    """Return the sites of expectation propagation, or say with which settings it failed."""
    nodes = _nodes_of_sign_model(likelihood, bound)
    with one_blas_thread():
        sites = _sites_of_main_mode(prior.root(nodes), prior, likelihood, bound, start, TOLERANCE)
    return dataclasses.replace(sites, log_evidence=at_most_half(sites.log_evidence))


def _sites_of_main_mode(
    root: Array,
    prior: GaussianPrior,
    likelihood: Likelihood,
    bound: Bound,
    start: tuple[Array, Array] | None,
    tolerance: float,
) -> Sites:
    """Return the sites for a root of C_JJ, or say with which settings propagation failed."""
    try:
        sites = propagate(root, bound, start, tolerance)
        _require_main_mode(root, bound, sites)
    except NotConvergedError as error:
        raise not_converged(prior, likelihood, len(root), error) from error
    return sites


def converged_class_sites(
    prior: GaussianPrior,
    likelihood: Likelihood,
    bound: Bound,
    start: tuple[Array, Array] | None = None,
    *,
    must_converge: bool = True,
) -> ClassSites:
    """Return the sites for K > 2 classes, or say with which settings propagation failed."""
    nodes = _nodes_of_sign_model(likelihood, bound)
    with one_blas_thread():
        try:
            return propagate_classes(prior.root(nodes), bound, start, must_converge)
        except NotConvergedError as error:
            raise not_converged(prior, likelihood, nodes.size, error) from error


def _nodes_of_sign_model(likelihood: Likelihood, bound: Bound) -> Nodes:
    """Return the labeled nodes, or refuse a likelihood without a sign model."""
    if bound.sign_model is None or bound.nodes is None:
        raise ValueError(
            "expectation propagation supports the sign models gq.Probit, gq.LevelSet and "
            f"gq.NoisyProbit, got {likelihood!r}"
        )
    return bound.nodes


def evidence_of_shares(counts: NDArray[np.intp]) -> float:
    """Return the log evidence of two classes by numbers of labels, the larger of two.

    That of equal shares is 2^-J. That of a uniform prior on the shares is n! m! / (J + 1)!.
    """
    return max(-float(counts.sum()) * math.log(2), float(betaln(*(counts + 1))))


def at_most_half(log_evidence: float) -> float:
    """Return ``log_evidence``, at most log(1/2).

    The fields u and -u are equally probable, and so are the labels y and -y.
    """
    return min(log_evidence, -math.log(2))


def not_converged(
    prior: GaussianPrior, likelihood: Any, n_labels: int, error: Exception
) -> RuntimeError:
    """Return the error to raise when expectation propagation does not converge."""
    return RuntimeError(
        f"expectation propagation did not converge for {likelihood!r} under {prior!r} and "
        f"{n_labels} labels ({error}): allow more flips (a larger flip_rate, or "
        "gamma of the level-set model) or more noise, or sample instead"
    )


def _require_main_mode(root: Array, bound: Bound, sites: Sites) -> None:
    """Refuse sites at a mode that agrees with nearly all labels, where another has more mass.

    Labels y' that differ from y in d places have p(y') <= e^(V d) p(y), since the likelihood of a
    label is at least e^-V times that of the opposite one. So if flips are rare, p(y) is compared
    with this bound for the labels y' that the field suggests when flips are common. Labels of
    infinite V cannot be flipped, and those of negative V speak for the other class: y' keeps them.
    """
    y, noise = bound.observed.y, bound.label_model.noise
    cost = np.broadcast_to(bound.label_model.cost, y.shape)
    may_flip = (cost > 0) & np.isfinite(cost)
    if not (cost[may_flip] > RARE_FLIPS).any():
        return
    try:
        # labels y' that the field suggests when flips are common, and their evidence
        doubting = propagate(root, bound._replace(sign_model=SignModel(noise, COMMON_FLIPS)))
        suggested = np.where(doubting.mean >= 0, 1.0, -1.0)
        differ = may_flip & (suggested != y)
        if not differ.any():
            return
        least, other = -float(cost[differ].sum()), np.where(differ, suggested, y)
        theirs = propagate(root, bound._replace(observed=bound.observed._replace(y=other)))
    except NotConvergedError:
        return  # only the comparison failed
    least += theirs.log_evidence
    if sites.log_evidence < least - EP_ERROR:
        raise NotConvergedError(
            f"the sites converged to a mode that misses {differ.sum()} likely flips, at a log "
            f"evidence of {sites.log_evidence:.4g}, below {least:.4g}"
        )
