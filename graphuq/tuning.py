"""Parameters that the labels choose: the maximum of the evidence, and a weak prior on alpha."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation
from graphuq.graphs import Graph
from graphuq.hyperprior import log_prior
from graphuq.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import (
    Likelihood,
    bind_under,
    open_parameters,
    require_serves,
)
from graphuq.model_evidence import LogEvidence, settle
from graphuq.pairwise import PairwiseEvidence
from graphuq.prior import Prior, default_rank
from graphuq.solved_prior import SolvedPrior
from graphuq.spectrum import Spectrum
from graphuq.whittle_matern import RANGES

if TYPE_CHECKING:
    import pandas as pd

# Parameters that are looked for on a linear scale; all others on a logarithmic one.
LINEAR = ("alpha",)

# Points that are looked at before the best of them is climbed from, for each open parameter twice
# as many, and how far the climb goes on: to so much of the evidence and of each range.
FIRST_POINTS, GAIN, NARROW = 8, 0.01, 0.005

# An optimum within this share of its range from an end is said to lie there.
EDGE = 0.01


@dataclass(frozen=True, eq=False)
class Tuning:
    """What `tune` found.

    Attributes
    ----------
    prior : Prior
    likelihood : likelihood
        With the parameters chosen.
    chosen : dict
        The value of each parameter that was open.
    log_evidence : LogEvidence
        Theirs; of more than two classes what stands for it, `graphuq.pairwise`.
    ranges : dict
        From each parameter that was open to (low, high), where it was looked for.
    at_edge : tuple of str
        Parameters that lie at an end of their range: a wider one may hold a larger evidence.
    table : pandas.DataFrame
        All that was looked at, in order: the parameters, their ``log_evidence``, NaN where
        expectation propagation did not converge, and ``log_posterior``, whose maximum was looked
        for: with `graphuq.hyperprior.log_prior` added, of two classes - alpha / 4.
        `graphuq.plots.tuning` shows it.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> found = gq.tune(spectrum, gq.reveal(y, counts=5, seed=0), alpha=2.0)
    >>> list(found.chosen), found.ranges
    (['gamma'], {'gamma': (0.01, 1.0)})
    >>> bool(found.table["log_posterior"].max() <= found.log_evidence)
    True
    """

    prior: Prior
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

    Only the labels given are looked at. Alpha, where it is open, has an exponential prior with mean
    4: a handful of labels says little about it, and the largest that explains them would leave one
    mode only, and probabilities too sure. All else is flat, on the scale on which it is looked for:
    what is maximised is log evidence - alpha / 4. It is computed at points that fill the ranges
    evenly (Sobol's), and climbed from the best of them (by Nelder and Mead's simplex). Eigenpairs
    are computed once.

    Of more than two classes a composite likelihood stands for the evidence, from the labels of two
    classes at a time; of more than five, each class meets four others. See `graphuq.pairwise`. Tau
    and gamma then have priors too, and where labels say nothing, as one of each class hardly does,
    alpha stays near 4 and these near the middle of their ranges: `graphuq.hyperprior`.

    Parameters
    ----------
    prior : Spectrum, Graph or Prior
        Of a spectrum, `Prior.projected` on all its modes with alpha open, and tau too of more than
        two classes; of a graph the same on up to 300 modes; of a prior, its parameters that are
        "auto".
    labels : Labels
    likelihood : likelihood
        A sign model, whose parameters that are "auto" are open; of a class, all.
    **ranges
        For any of ``alpha``, ``tau``, ``rank`` and the likelihood's parameters: (low, high), where
        to look for it, or a number to keep to. By default alpha is looked for from 1 to 10, tau
        from 0.01 to 1, rank from 10 to all modes given, gamma from 0.01 to 1 (level-set: 0.3 to
        2), flip_rate from 0.001 to 0.3.

    Returns
    -------
    Tuning

    Raises
    ------
    TypeError, ValueError
        No sign model, ranges in the wrong order or for what is no parameter, ranks beyond the
        spectrum, labels of one class of many.
    RuntimeError
        Expectation propagation converged nowhere.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> labels = gq.reveal(y, counts=10, seed=0)
    >>> tuning = gq.tune(gq.Spectrum.of(graph, rank=50), labels, gamma=(0.05, 0.5))
    >>> sorted(tuning.chosen)
    ['alpha', 'gamma']
    >>> tuning.prior.alpha > 1
    True
    """
    likelihood = _instance(likelihood)
    prior = prior if isinstance(prior, Prior | Spectrum) else Graph.of(prior)
    require_problem(prior, labels)
    require_serves(likelihood, labels)
    evidence_of = _evidence_of(labels)
    if isinstance(prior, Graph):  # ranges are looked at before eigenpairs are computed
        for name, pair in ranges.items():
            if not validation.is_auto(pair) and np.ndim(pair) > 0:
                _checked_range(name, pair, default_rank(prior.n_nodes))
    if not isinstance(prior, Prior):
        prior = _default_prior(prior, labels)
    prior, likelihood, found = open_ranges(prior, likelihood, ranges)
    rows: list[dict[str, float]] = []
    failures: list[str] = []
    best: tuple[float, dict[str, float], LogEvidence] | None = None

    def loss(point: NDArray[np.float64]) -> float:
        nonlocal best
        values = {name: _value(name, x, *found[name]) for name, x in zip(found, point, strict=True)}
        candidate = with_values(prior, likelihood, values)
        try:
            log_evidence = evidence_of(*candidate)
        except RuntimeError as error:
            failures.append(str(error))
            rows.append({**values, "log_evidence": math.nan, "log_posterior": math.nan})
            return math.inf
        log_posterior = float(log_evidence) + log_prior(values, found, labels.classes.size)
        rows.append({**values, "log_evidence": float(log_evidence), "log_posterior": log_posterior})
        if best is None or log_posterior > best[0]:
            best = (log_posterior, values, log_evidence)
        return -log_posterior

    _climb(loss, len(found))
    if best is None:
        raise RuntimeError(f"the evidence is known nowhere in the ranges; first: {failures[0]}")
    import pandas as pd

    _, chosen, log_evidence = best
    edges = tuple(
        name
        for name, (low, high) in found.items()
        if not EDGE < _place(name, chosen[name], low, high) < 1 - EDGE
    )
    prior, likelihood = with_values(prior, likelihood, chosen)
    return Tuning(prior, likelihood, chosen, log_evidence, found, edges, pd.DataFrame(rows))


def require_problem(prior: Any, labels: Any) -> None:
    """Refuse what is no prior, nor stands for one, and labels that do not fit it."""
    if not isinstance(prior, Prior | SolvedPrior | Spectrum | Graph):
        raise TypeError(
            "prior must be a Prior, such as gq.Prior.projected(graph, rank), or a Spectrum or "
            f"Graph, got {type(prior).__name__}"
        )
    if not isinstance(labels, Labels):
        raise TypeError(
            "labels must be gq.Labels(nodes, values) or gq.reveal(...), got "
            f"{type(labels).__name__}"
        )
    labels.require_within(prior.n_nodes)


def require_two_classes(labels: Labels, what: str) -> None:
    """Refuse labels of more classes for what serves two."""
    if isinstance(labels, Labels) and labels.classes.size > 2:
        raise ValueError(
            f"{what} serves two classes, and the labels have {labels.classes.size}: take "
            "gq.sample, which serves any number, or keep those of two, labels.of_classes(a, b)"
        )


def settled(prior: Any, likelihood: Any, labels: Any) -> tuple[Any, Any]:
    """Return prior and likelihood with what is open chosen by the labels, the rest untouched.

    A Spectrum or Graph stands for `Prior.projected` with alpha open, and tau too of more than two
    classes.
    """
    require_problem(prior, labels)
    if isinstance(prior, SolvedPrior):
        if open_parameters(likelihood):
            raise TypeError(
                "parameters are chosen by the evidence, which needs eigenvectors, and a "
                "gq.SolvedPrior has none: give numbers, such as gq.Probit(gamma=0.1)"
            )
        return prior, likelihood
    if isinstance(prior, Prior) and not prior.open and not open_parameters(likelihood):
        return prior, likelihood
    found = tune(prior, labels, likelihood)
    return found.prior, found.likelihood


def _evidence_of(labels: Labels) -> Callable[[Prior, Any], LogEvidence]:
    """Return the function of prior and likelihood that the labels choose by."""
    if labels.classes.size > 2:
        return PairwiseEvidence(labels)
    return lambda prior, likelihood: LogEvidence.of(
        settle(prior, likelihood, bind_under(prior, likelihood, labels))
    )


def left_tau(alpha: float | str, labels: Labels) -> float | str:
    """Return the tau of a prior of which nobody says more than ``alpha``.

    It is open of more than two classes if alpha is: these differ in more than the first few modes,
    to which a large alpha without it gives nearly all variance.
    """
    return validation.AUTO if validation.is_auto(alpha) and labels.classes.size > 2 else 0.0


def _default_prior(source: Any, labels: Labels) -> Prior:
    """Return the projected prior on all modes of a spectrum, or on many of a graph, alpha open.

    The rank is not open: with few labels the evidence may fall for too few modes, and where alpha
    is free, more of them do no harm.
    """
    tau = left_tau(validation.AUTO, labels)
    if not isinstance(source, Spectrum):
        source = Spectrum.of(source, default_rank(source.n_nodes))
    return Prior.projected(source, source.rank, alpha=validation.AUTO, tau=tau)


def _instance(likelihood: Any) -> Any:
    """Return a sign model, of a class the one with all parameters open."""
    if isinstance(likelihood, type):
        try:
            likelihood = likelihood()
        except TypeError as error:
            raise TypeError(
                f'{likelihood.__name__} has parameters without the default "auto": pass an instance'
            ) from error
    if not hasattr(type(likelihood), "sign_model"):
        raise TypeError(
            "parameters are chosen for the sign models gq.Probit, gq.LevelSet and gq.NoisyProbit; "
            f"with {likelihood!r} take a prior and a likelihood with numbers, such as "
            "gq.Prior.projected(spectrum, rank, alpha=1.0)"
        )
    return likelihood


def open_ranges(
    prior: Prior, likelihood: Any, given: Mapping[str, Any]
) -> tuple[Prior, Any, dict[str, tuple[float, float]]]:
    """Return prior and likelihood with what is fixed set, and the ranges of what is open.

    Open is what is "auto", and what has a range among those ``given``.

    Raises
    ------
    TypeError, ValueError
        Ranges that are none, of no parameter, or beyond what it may be; nothing open.
    """
    own = {**getattr(likelihood, "ranges", {})}
    defaults = {**RANGES, "rank": (min(10, prior.rank), prior.rank), **own}
    known = ["alpha", "tau", "rank", *(f.name for f in dataclasses.fields(likelihood))]
    if prior.kind == "full":
        known.remove("rank")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"there is no parameter {unknown[0]}; there are {', '.join(known)}")
    given = {
        n: v[0] if n == "rank" and np.ndim(v) and len({*v}) == 1 else v for n, v in given.items()
    }
    fixed = {n: v for n, v in given.items() if not validation.is_auto(v) and np.ndim(v) == 0}
    prior, likelihood = with_values(prior, likelihood, fixed)
    left = [n for n in known if n in (*prior.open, *open_parameters(likelihood))]
    found = {}
    for name in (n for n in known if n in left or (n in given and n not in fixed)):
        pair = given.get(name, validation.AUTO)
        if validation.is_auto(pair):
            if name not in defaults:
                raise ValueError(f"{name} has no range of its own: give {name}=(low, high)")
            pair = defaults[name]
        found[name] = _checked_range(name, pair, prior.rank)
    if not found:
        raise ValueError(
            'nothing is open: leave a parameter "auto", or give its range, such as gamma=(0.01, 1)'
        )
    for end in (0.0, 1.0):  # what a prior or a likelihood refuses is refused now
        with_values(prior, likelihood, {name: _value(name, end, *found[name]) for name in found})
    return prior, likelihood, found


def _checked_range(name: str, pair: Any, most: int) -> tuple[float, float]:
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise TypeError(f"{name} must be a number or a range (low, high), got {pair!r}")
    low, high = (validation.real(name, end) for end in pair)
    if not low < high:
        raise ValueError(f"the range of {name} must have low below high, got ({low:g}, {high:g})")
    if name == "rank":
        for end in pair:
            validation.integer("rank", end, 1, most, f"the spectrum holds {most} modes")
    elif name not in LINEAR and not low > 0:
        raise ValueError(
            f"{name} is looked for on a logarithmic scale: its range must begin above 0, got "
            f"{low:g}"
        )
    return low, high


def with_values(prior: Prior, likelihood: Any, values: Mapping[str, Any]) -> tuple[Prior, Any]:
    """Return copies with ``values`` in the places that have their names."""
    own = {name: v for name, v in values.items() if name in ("alpha", "tau", "rank")}
    others = {name: v for name, v in values.items() if name not in own}
    return prior.settled(**own), dataclasses.replace(likelihood, **others)


def _value(name: str, x: float, low: float, high: float) -> float:
    """Return the value at the place x in [0, 1] of a range."""
    if name in LINEAR:
        return float(low + x * (high - low))
    value = math.exp(math.log(low) + x * (math.log(high) - math.log(low)))
    return round(value) if name == "rank" else min(max(value, low), high)


def _place(name: str, value: float, low: float, high: float) -> float:
    """Return where in [0, 1] a value lies in its range."""
    if name in LINEAR:
        return (value - low) / (high - low)
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def _climb(loss: Any, dimension: int) -> None:
    """Look for the least loss over the unit cube; ``loss`` keeps what it was asked."""
    from scipy.optimize import minimize
    from scipy.stats.qmc import Sobol

    sobol = Sobol(dimension, scramble=False)
    # the first of Sobol's points is a corner
    points = sobol.random(FIRST_POINTS * 2**dimension)[1:]
    losses = np.array([loss(point) for point in points])
    if not np.isfinite(losses).any():
        return
    start = points[losses.argmin()]
    # a simplex that reaches half-way to the neighbours, inwards
    corners = start + np.diag(np.where(start < 0.5, 0.15, -0.15))
    minimize(
        loss,
        start,
        method="Nelder-Mead",
        bounds=[(0.0, 1.0)] * dimension,
        options={
            "initial_simplex": np.vstack([start, corners]),
            "xatol": NARROW,
            "fatol": GAIN,
            "maxfev": 60 * dimension,
        },
    )
