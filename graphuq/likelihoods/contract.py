"""What a likelihood is, and the check that a plugin keeps to it.

A likelihood is a frozen dataclass whose fields are numbers, its parameters, and which has

``potential``
    an ``@njit`` function ``(u, seen) -> float``: Phi, minus the log-likelihood up to a constant;
``reads``
    ``"labelled"`` if Phi looks at the field at labelled nodes only, else ``"all"``;
``gradient`` (optional)
    an ``@njit`` function ``(u, seen, out)`` that writes dPhi/du into ``out``;
``sign_model`` (optional)
    ``(noise, cost)`` if y(j) = S(u(j) + noise eta(j)), except that a wrong sign costs ``cost`` in
    Phi, or is impossible where that is infinity: then exact samplers serve it;
``ranges`` (optional)
    a dict from the names of parameters to (low, high): where `graphuq.tune` looks for one that is
    "auto", in logarithms; only sign models have them;
``label`` (optional)
    what the label l of a node is: ``"sign"`` of the field (default), or the ``"field"`` itself;
``log_normaliser`` (optional)
    log of what exp(-Phi) lacks, for each label, to be a density of labels: their density at y is
    exp(-Phi(u; y) + Phi(u; no labels) - J log_normaliser). What Phi says without labels then
    belongs to the prior, so ``potential`` and ``gradient`` must serve a ``seen`` without labels;
``multiclass`` (optional)
    True if it serves more than two classes too: without it, they are refused;
``sign_model_of``, ``log_normaliser_of`` (optional)
    methods of the number of classes K > 2, which return what ``sign_model`` and ``log_normaliser``
    are of so many, where they are not the same.

``u`` is the field at the m nodes read: float64[m, 1] of two classes, whose label is its sign, and
float64[m, K] of K > 2, whose label is the largest of K fields, independent a priori. ``seen`` is an
`Observed`: ``seen.y`` holds -1 and +1 of two classes, and 0, ..., K - 1 of K > 2, as float64. Where
a sign model says S(u), read the largest of K; its cost is minus the log of the odds of one wrong
label, each of the K - 1 alike.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.extending import is_jitted
from numpy.typing import NDArray
from scipy.special import expit

from graphuq import validation
from graphuq.jit import kernel
from graphuq.labels import Labels
from graphuq.prior import Prior
from graphuq.solved_prior import SolvedPrior

READS = ("labelled", "all")
LABEL = ("sign", "field")


class Observed(NamedTuple):
    """What a potential is told besides the field.

    Examples
    --------
    Of one labelled node, the first of two that are read, and a parameter 0.1:

    >>> seen = Observed(y=np.array([1.0]), rows=np.array([0]), parameters=np.array([0.1]))
    >>> seen.y.size == seen.rows.size
    True
    """

    y: NDArray[np.float64]
    """Observed labels, shape (J,): -1 or +1 of two classes, 0, ..., K - 1 of K > 2."""
    rows: NDArray[np.int64]
    """Rows of ``u`` that belong to the labelled nodes, shape (J,)."""
    parameters: NDArray[np.float64]
    """The dataclass's fields, in order."""


FIELD = types.float64[:, ::1]
OBSERVED = types.NamedTuple([types.float64[::1], types.int64[::1], types.float64[::1]], Observed)
POTENTIAL = types.FunctionType(types.float64(FIELD, OBSERVED))
GRADIENT = types.FunctionType(types.void(FIELD, OBSERVED, FIELD))


class Likelihood(Protocol):
    """The attributes that every likelihood has; see the module's text for those it may have.

    Examples
    --------
    At a field of 0 the well of a node costs 1/4, and a label y = 1 with gamma = 1 costs 1/2:

    >>> import graphuq as gq
    >>> likelihood = gq.GinzburgLandau(epsilon=1.0, gamma=1.0)
    >>> likelihood.reads
    'all'
    >>> seen = Observed(y=np.array([1.0]), rows=np.array([0]), parameters=np.array([1.0, 1.0]))
    >>> field, slope = np.zeros((1, 1)), np.empty((1, 1))
    >>> likelihood.potential(field, seen)
    0.75
    >>> likelihood.gradient(field, seen, slope)
    >>> slope
    array([[-1.]])
    >>> round(likelihood.log_normaliser, 3)                   # log(2 pi) / 2
    0.919
    >>> gq.LevelSet(gamma=1.0).sign_model                     # no noise, a step of 2 / gamma^2
    (0.0, 2.0)
    """

    @property
    def reads(self) -> str:
        """``"labelled"`` or ``"all"``."""

    @property
    def potential(self) -> Any:
        """The jitted Phi."""


class Bound(NamedTuple):
    """A likelihood with its labels, ready for a sampler."""

    potential: Any
    gradient: Any | None
    observed: Observed
    nodes: NDArray[np.int64] | None
    """The nodes read; None for all."""
    label: str
    sign_model: tuple[float, float] | None
    log_normaliser: float | None = None
    columns: int = 1
    """Fields at each node: K, or 1 of two classes."""

    def without_labels(self) -> Bound:
        """Return what the likelihood says of the field alone; needs ``log_normaliser``."""
        nothing = self.observed._replace(y=np.empty(0), rows=np.empty(0, dtype=np.int64))
        return self._replace(observed=nothing)


def bind(likelihood: Likelihood, labels: Labels, n_nodes: int) -> Bound:
    """Check ``likelihood`` against the contract and join it with ``labels``.

    Raises
    ------
    TypeError
        Something that is not a likelihood; the message says what is missing.
    ValueError
        Labels on nodes that the graph does not have.
    """
    if isinstance(likelihood, type):
        raise TypeError(f"pass an instance, such as {likelihood.__name__}(...), not the class")
    if not dataclasses.is_dataclass(likelihood) or not hasattr(likelihood, "potential"):
        raise TypeError(
            "a likelihood is a dataclass with attributes reads and potential, such as "
            f"gq.Probit(gamma=0.1); got {likelihood!r}"
        )
    likelihood = cast("Likelihood", likelihood)
    name = type(likelihood).__name__
    reads = getattr(likelihood, "reads", None)
    label = getattr(likelihood, "label", "sign")
    if reads not in READS:
        raise TypeError(f"{name}.reads must be 'labelled' or 'all', got {reads!r}")
    if label not in LABEL:
        raise TypeError(f"{name}.label must be 'sign' or 'field', got {label!r}")
    require_serves(likelihood, labels)
    n_classes = labels.classes.size
    parameters = parameters_of(likelihood)
    for what in ("potential", "gradient"):
        function = getattr(likelihood, what, None)
        if not is_jitted(function) and not (what == "gradient" and function is None):
            raise TypeError(
                f"{name}.{what} must be a function decorated with numba.njit, got {function!r}; "
                f"inside the class write {what} = staticmethod(your_function)"
            )
    labels.require_within(n_nodes)
    rows = np.arange(len(labels)) if reads == "labelled" else labels.nodes
    observed = Observed(
        np.ascontiguousarray(labels.codes if n_classes == 2 else labels.indices, dtype=np.float64),
        np.ascontiguousarray(rows, dtype=np.int64),
        np.array(list(parameters.values()), dtype=np.float64),
    )
    nodes = labels.nodes if reads == "labelled" else None
    gradient = getattr(likelihood, "gradient", None)
    sign_model = _of_classes(likelihood, "sign_model", n_classes)
    if sign_model is not None:
        _check_sign_model(name, sign_model)
    log_normaliser = _of_classes(likelihood, "log_normaliser", n_classes)
    if log_normaliser is not None:
        log_normaliser = validation.real(f"{name}.log_normaliser", log_normaliser)
    bound = Bound(
        likelihood.potential,
        gradient,
        observed,
        nodes,
        label,
        sign_model,
        log_normaliser,
        1 if n_classes == 2 else n_classes,
    )
    size = len(labels) if nodes is not None else n_nodes
    _compile(bound, np.full((size, bound.columns), 0.1), name)
    return bound


def require_serves(likelihood: Any, labels: Labels) -> None:
    """Refuse labels of more than two classes for a likelihood that does not serve them."""
    n_classes = labels.classes.size
    if n_classes > 2 and not getattr(likelihood, "multiclass", False):
        raise ValueError(
            f"{type(likelihood).__name__} serves two classes, and the labels have {n_classes}: "
            "keep those of two, labels.of_classes(a, b), or take gq.Probit, gq.LevelSet or "
            "gq.NoisyProbit"
        )


def bind_under(prior: Prior, likelihood: Likelihood, labels: Labels) -> Bound:
    """Check all that makes a posterior, as `bind` does its likelihood.

    Raises
    ------
    TypeError
        No prior, or no labels.
    """
    if not isinstance(prior, Prior | SolvedPrior):
        raise TypeError(
            "prior must be a Prior, such as gq.Prior.approximated(graph, rank), got "
            f"{type(prior).__name__}"
        )
    if not isinstance(labels, Labels):
        raise TypeError(
            "labels must be gq.Labels(nodes, values) or gq.reveal(...), got "
            f"{type(labels).__name__}"
        )
    return bind(likelihood, labels, prior.n_nodes)


def _of_classes(likelihood: Likelihood, name: str, n_classes: int) -> Any:
    """Return an optional attribute: of more than two classes, what its method says of so many."""
    method = getattr(likelihood, f"{name}_of", None)
    return method(n_classes) if n_classes > 2 and method else getattr(likelihood, name, None)


def _check_sign_model(name: str, sign_model: Any) -> None:
    """Refuse what is no (noise, V), with noise from 0 and V from 0 to infinity."""
    pair = sign_model if isinstance(sign_model, tuple) and len(sign_model) == 2 else (-1, -1)
    numbers = all(isinstance(part, int | float | np.number) for part in pair)
    if not numbers or not (0 <= pair[0] < np.inf and pair[1] >= 0):
        raise TypeError(
            f"{name}.sign_model must be (deviation of the noise before the threshold, V: minus the "
            f"log odds of a flip after it), both at least 0, got {sign_model!r}"
        )


def open_parameters(likelihood: Any) -> tuple[str, ...]:
    """Return the names of a likelihood's parameters that the labels shall choose."""
    if not dataclasses.is_dataclass(likelihood) or isinstance(likelihood, type):
        return ()
    fields = dataclasses.fields(likelihood)
    return tuple(f.name for f in fields if validation.is_auto(getattr(likelihood, f.name)))


def parameters_of(likelihood: Any) -> dict[str, float]:
    """Return a likelihood's parameters: its dataclass fields, which must be finite numbers."""
    parameters = dataclasses.asdict(likelihood)
    if left := open_parameters(likelihood):
        raise ValueError(
            f"{likelihood!r} leaves {' and '.join(left)} to the labels: "
            "gq.tune(prior, labels, likelihood).likelihood has them chosen"
        )
    for field, value in parameters.items():
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise TypeError(
                f"{type(likelihood).__name__}.{field} must be a finite number, got {value!r}: the "
                "fields of a likelihood are its parameters"
            )
    return {field: float(value) for field, value in parameters.items()}


def described(likelihood: Any) -> dict[str, Any]:
    """Return a likelihood's name and parameters, as a posterior's settings hold them."""
    return {"name": type(likelihood).__name__, **parameters_of(likelihood)}


def described_sign_model(bound: Bound) -> dict[str, float] | None:
    """Return noise and flip rate of a sign model: JSON holds them, and not an infinite cost."""
    if bound.sign_model is None:
        return None
    noise, cost = bound.sign_model
    others = max(1, bound.columns - 1)
    return {"noise": float(noise), "flip_rate": float(expit(math.log(others) - cost))}


@kernel(types.float64(POTENTIAL, FIELD, OBSERVED))
def _evaluate(potential, field, observed):  # type: ignore[no-untyped-def]
    return potential(field, observed)


@kernel(types.void(GRADIENT, FIELD, OBSERVED, FIELD))
def _differentiate(gradient, field, observed, out):  # type: ignore[no-untyped-def]
    gradient(field, observed, out)


def evaluate(bound: Bound, field: NDArray[np.float64]) -> float:
    """Return Phi(field)."""
    return float(_evaluate(bound.potential, field, bound.observed))


def mark(bound: Bound, n_nodes: int) -> list[float]:
    """Return Phi at a few fields, always the same ones: what tells edited code from what it was."""
    m = n_nodes if bound.nodes is None else bound.nodes.size
    fields = np.random.default_rng(0).standard_normal((3, m, bound.columns))
    return [evaluate(bound, field) for field in fields]


def differentiate(bound: Bound, field: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dPhi/du at ``field``, in its shape; only where there is a gradient."""
    out = np.empty_like(field)
    _differentiate(bound.gradient, field, bound.observed, out)
    return out


def _compile(bound: Bound, field: NDArray[np.float64], name: str) -> None:
    """Refuse potentials and gradients that numba cannot compile for the contract, or that fail."""
    before = field.copy()
    try:
        evaluate(bound, field)
        if bound.gradient is not None:
            differentiate(bound, field)
    except (NumbaError, TypeError) as error:
        raise TypeError(
            f"{name}.potential(u, seen), and gradient(u, seen, out) if there is one, must compile "
            "for u, out: float64[m, k] and seen with y, rows and parameters; the potential must "
            f"return a float. numba says: {error}"
        ) from error
    except Exception as error:
        raise ValueError(f"{name} fails at a field of 0.1: {error!r}") from error
    if not np.array_equal(field, before):
        raise TypeError(f"{name}.potential or gradient writes to u: it must leave the field alone")


def check_likelihood(likelihood: Likelihood, seed: int = 0) -> None:
    """Check a plugin: that it compiles, is finite, and that its gradient is its potential's.

    A small made-up problem serves: 12 nodes, 5 of them labelled, a standard normal field. The
    gradient is held against central differences at every node. A likelihood that is ``multiclass``
    gets another problem, of three classes.

    Parameters
    ----------
    likelihood : likelihood
        See `graphuq.likelihoods.contract`.
    seed : int
        Of the field.

    Raises
    ------
    TypeError
        It does not keep to the contract.
    ValueError
        A potential that is not finite, or a gradient that is off; the message names the node, the
        class if there are three, and the numbers.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.check_likelihood(gq.Probit(gamma=0.1))
    """
    nodes = np.array([0, 3, 4, 7, 11])
    problems = [Labels(nodes, [1, 0, 1, 1, 0])]
    if getattr(likelihood, "multiclass", False):
        problems.append(Labels(nodes, [1, 0, 2, 1, 0]))
    for labels in problems:
        _check_at_a_field(likelihood, labels, np.random.default_rng(seed))


def _check_at_a_field(likelihood: Likelihood, labels: Labels, rng: np.random.Generator) -> None:
    """Check a likelihood with labels of 12 nodes."""
    name = type(likelihood).__name__
    bound = bind(likelihood, labels, 12)
    size = 12 if bound.nodes is None else bound.nodes.size
    field = rng.standard_normal((size, bound.columns))
    value = evaluate(bound, field)
    if not np.isfinite(value):
        raise ValueError(f"{name}.potential is {value} at the field {field.ravel().round(3)}")
    if bound.gradient is None:
        return
    out = np.full_like(field, np.nan)
    _differentiate(bound.gradient, field, bound.observed, out)
    step = 1e-5
    for node, column in np.ndindex(field.shape):
        ends = []
        for sign in (-1, 1):
            moved = field.copy()
            moved[node, column] += sign * step
            ends.append(evaluate(bound, moved))
        slope = (ends[1] - ends[0]) / (2 * step)
        # differences lose about eps * |Phi| / step
        tolerance = 1e-5 * (1 + abs(slope)) + 1e-10 * abs(value)
        if not abs(out[node, column] - slope) <= tolerance:
            where = f"node {node}" + (f", class {column} of 3" if bound.columns > 1 else "")
            raise ValueError(
                f"{name}.gradient disagrees with its potential at {where}: gradient "
                f"{out[node, column]:.8g}, central difference {slope:.8g}, field "
                f"{field[node, column]:.4g}"
            )
