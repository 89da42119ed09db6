"""Choose parameters by the labels: the maximum of the evidence times a weak prior."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.checks import prior_or_graph, require_prior_and_labels
from graphuq.inference.evidence.evidence import SignEvidence
from graphuq.inference.evidence.pairwise import PairwiseEvidence
from graphuq.inference.parameter_ranges import (
    check_range,
    open_ranges,
    place_of,
    with_values,
)
from graphuq.inference.search import Evidence, Search
from graphuq.labels.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.bound import require_supported
from graphuq.likelihoods.contract import Likelihood, has_sign_model
from graphuq.likelihoods.label_rule import Argmax, label_rule
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.gaussian_prior import GaussianPrior, base_name
from graphuq.priors.prior import default_rank
from graphuq.utils import validation
from graphuq.utils.interruption import interruptible

if TYPE_CHECKING:
    import pandas as pd

# Prior odds of neighbors that tend to agree, for each two classes. At odds of 2 graphs of four and
# eight classes, whose composite evidence is less sure than it looks, are at times found to differ
# where they agree.
ODDS = 10.0

# An optimum within this share of its range from an end is reported to lie at the edge.
EDGE_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of `tune`.

    Attributes
    ----------
    prior : Prior or SumPrior
    likelihood : likelihood
        With the parameters chosen.
    chosen : dict
        The value of each open parameter.
    log_evidence : LogEvidence
        The evidence of these values; for K > 2 classes its substitute,
        `graphuq.inference.evidence.pairwise`.
    ranges : dict
        The range (low, high) in which each open parameter was searched.
    at_edge : tuple of str
        Parameters at an end of their range: a wider range may hold a larger evidence.
    table : pandas.DataFrame
        All settings that were evaluated, in order: the parameters, their ``log_evidence``, NaN
        where expectation propagation did not converge, and ``log_posterior``, which is maximized:
        the log evidence plus `graphuq.priors.hyperprior.log_prior`.
        `graphuq.plots.tuning` shows it.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> found = gq.tune(spectrum, gq.reveal(y, counts=5, seed=0), alpha=2, tau=0, level=0)
    >>> list(found.chosen), found.ranges
    (['gamma'], {'gamma': (0.01, 1.0)})
    >>> bool(found.table["log_posterior"].max() <= found.log_evidence)
    True
    """

    prior: GaussianPrior
    likelihood: Likelihood
    chosen: dict[str, float]
    log_evidence: LogEvidence
    ranges: dict[str, tuple[float, float]]
    at_edge: tuple[str, ...]
    table: pd.DataFrame

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name} {value:.3g}" for name, value in self.chosen.items())
        edge = f"; at the end of its range: {', '.join(self.at_edge)}" if self.at_edge else ""
        composite = self.log_evidence.method == "pairwise composite"
        value = self.log_evidence.method if composite else "log evidence"
        return (
            f"Tuning({chosen}; {value} {self.log_evidence:.2f}, {len(self.table)} settings{edge})"
        )


def tune(prior: Any, labels: Labels, likelihood: Any = Probit, **ranges: Any) -> Tuning:
    """Choose parameters of prior and likelihood by the evidence, `graphuq.evidence`.

    Only the given labels are used. The objective is the log evidence plus the log density of a weak
    prior, `graphuq.priors.hyperprior`, because a few labels say little about the parameters. If
    alpha, tau and the gamma of probit are open and there are two classes, it is log evidence
    + log alpha - alpha / 4 + log tau - tau / 0.3 + log gamma - log(1 + (gamma / 0.2)^2), plus
    - level^2 / 2 for an open level and log w + log(1 - w) for each open weight w of a sum. "auto"
    never gives tau = 0 or a weight of 0 or 1; pass ``tau=0`` for that. The objective is
    computed at points that divide the mass of the weak prior evenly, and then maximized by
    quadratic models in a trust region, from the best of these points and from others that lead to
    other maxima. The gradient of the evidence costs little more than its value. Eigenpairs are
    computed once. The theory chapter "Evidence" has the formulas.

    If the modes of a connected graph have less than 10^(K/2) times the evidence of labels that say
    nothing of each other, those of its signless Laplacian are tried, under which neighbors tend to
    differ. They are taken if they have 10^(K/2) times the evidence of the smooth ones.

    Only labels drawn at random say how large classes are. For others, by ``sampling`` of `Labels`,
    an open level is not searched, unless its range is given. It is 1, the deviation of its prior,
    for labels "by class", 0.3 for labels of "any" design, and 0 if no class has two labels.

    For K > 2 classes a composite likelihood replaces the evidence, from the labels of two classes
    at a time; for K > 5, each class is paired with four others. With labels of little information,
    such as one of each class, alpha stays near 4, tau near 0.3 and gamma near 0.1.

    Parameters
    ----------
    prior : Prior, FeaturePrior, LinearPrior, SumPrior, Spectrum or Graph
        In a prior, parameters that are "auto" are open, but for those of parts of a sum whose
        weight is 0. A spectrum stands for `Prior.projected` on
        all its modes with alpha and tau open, plus a `Level`; a graph stands for the same on up to
        300 modes. If labels are in several components of a graph, half of the variance is that of
        a `ComponentLevel`, and modes where neighbors tend to have opposite signs are left out:
        those of normalized eigenvalue 1 or more. If they are in one component, only the others have
        levels, and its prior is nearly that of its own graph.
    labels : Labels
    likelihood : likelihood
        A sign model: probit, noisy probit or level-set. An instance, whose "auto" parameters are
        chosen, or a likelihood class such as `Probit`, all of whose parameters are chosen. It comes
        after the labels here, and before them in `sample`.
    **ranges
        For any of ``alpha``, ``tau``, ``rank``, ``length_scale``, ``level``, ``weight`` and the
        likelihood's parameters: the range (low, high) to search, or a fixed number. A sum may have
        more, such as ``alpha_2`` and ``weight_2``: `SumPrior.with_parameters`. By default alpha is
        searched from 1 to 10, tau from 0.01 to 1, rank from 10 to all modes given, length_scale
        from 0.1 to 10 times the median distance, level from 0 to 3, weights from 0 to 1, gamma from
        0.01 to 1 (level-set: 0.3 to 2), flip_rate from 0.02 to 0.3.

    Returns
    -------
    Tuning

    Raises
    ------
    TypeError, ValueError
        Not a sign model, a range in the wrong order or of an unknown parameter, ranks beyond the
        spectrum, K > 2 classes with labels of one class only.
    RuntimeError
        Expectation propagation did not converge at any point.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> labels = gq.reveal(y, counts=10, seed=0)
    >>> tuning = gq.tune(gq.Spectrum.of(graph, rank=50), labels, gamma=(0.05, 0.5))
    >>> sorted(tuning.chosen)
    ['alpha', 'gamma', 'level', 'tau']
    >>> bool(tuning.chosen["alpha"] > 1), labels.sampling, tuning.chosen["level"]
    (True, 'by class', 1.0)
    """
    likelihood = _instance(likelihood)
    prior = prior_or_graph(prior)
    require_prior_and_labels(prior, labels)
    require_supported(likelihood, labels)
    evidence = _evidence_for(labels)
    found = _climb(prior_or_default(prior, ranges, labels), labels, likelihood, ranges, evidence)
    margin = labels.classes.size / 2 * np.log(ODDS)
    tried = isinstance(prior, Graph) and prior.n_components == 1
    if tried and found.log_evidence < evidence.of_shares + margin:
        with contextlib.suppress(RuntimeError, MemoryError):  # the smooth modes do
            prior = prior_or_default(prior, ranges, labels, "signless")
            other = _climb(prior, labels, likelihood, ranges, evidence)
            if other.log_evidence > found.log_evidence + margin:
                return other
    return found


def _climb(
    prior: Any, labels: Labels, likelihood: Any, ranges: Mapping[str, Any], evidence: Evidence
) -> Tuning:
    """Return the maximum for a prior."""
    is_open = "level" in prior.open or "level" in ranges
    is_open &= validation.is_auto(ranges.get("level", validation.AUTO))
    prior, likelihood, found = open_ranges(prior, likelihood, ranges, labels)
    exact = prior.with_labeled(labels.nodes)
    search = Search(exact, likelihood, found, evidence, label_rule(labels).n_classes)
    interruptible("choosing parameters", search.run)
    chosen, log_evidence = search.best()
    prior, likelihood = with_values(prior, likelihood, chosen)
    at_edge = tuple(
        name for name, (low, high) in found.items() if _is_at_edge(name, chosen[name], low, high)
    )
    if is_open and "level" not in found:  # labels that were not drawn at random
        chosen["level"] = prior.parameters["level"]
    return Tuning(prior, likelihood, chosen, log_evidence, found, at_edge, search.table())


def _is_at_edge(name: str, value: float, low: float, high: float) -> bool:
    """Whether a wider range may hold more evidence: none goes below 0, nor a weight above 1."""
    place = place_of(name, value, low, high)
    whole = base_name(name) == "weight" and high == 1
    return (place > 1 - EDGE_SHARE and not whole) or (place < EDGE_SHARE and low != 0)


def _evidence_for(labels: Labels) -> Evidence:
    """Return the function of prior and likelihood that is maximized."""
    if isinstance(label_rule(labels), Argmax):
        return PairwiseEvidence(labels)
    return SignEvidence(labels)


def prior_or_default(
    source: Any, ranges: Mapping[str, Any], labels: Labels, laplacian: str = "normalized"
) -> Any:
    """Return a prior itself; for a Spectrum or Graph the projected prior, and a level.

    It has all modes of a spectrum, or many of a graph. Alpha, tau and the level are open. The rank
    is not: with few labels the evidence may favor too few modes, and with alpha open more modes do
    no harm. Ranges are checked before eigenpairs are computed.
    """
    if isinstance(source, Graph):
        for name, pair in ranges.items():
            if not validation.is_auto(pair) and np.ndim(pair) > 0:
                check_range(name, pair, default_rank(source))
    if not isinstance(source, Spectrum | Graph):
        return source
    rank = source.rank if isinstance(source, Spectrum) else default_rank(source)
    modes = default_graph_prior(source, rank, labels=labels, laplacian=laplacian)
    return default_sum(modes, labels=labels)


def _instance(likelihood: Any) -> Any:
    """Return a sign model; for a class, its instance with all parameters open."""
    if isinstance(likelihood, type):
        try:
            likelihood = likelihood()
        except TypeError as error:
            raise TypeError(
                f'{likelihood.__name__} has parameters without the default "auto": pass an instance'
            ) from error
    if not has_sign_model(likelihood):
        raise TypeError(
            "parameters are chosen for the sign models gq.Probit, gq.LevelSet and gq.NoisyProbit; "
            f"with {likelihood!r} take a prior and a likelihood with numbers, such as "
            "gq.Prior.projected(spectrum, rank, alpha=1.0), or an estimator with alpha=1.0"
        )
    return likelihood
