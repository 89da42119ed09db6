"""A likelihood bound to its labels, ready for a sampler."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.extending import is_jitted
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.contract import (
    FIELD,
    GRADIENT,
    LABEL,
    OBSERVED,
    POTENTIAL,
    READS,
    Likelihood,
    Observed,
    adopt,
    sign_model_of,
)
from graphuq.likelihoods.label_rule import Argmax, LabelRule, Sign, label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.utils import validation
from graphuq.utils.jit import kernel
from graphuq.utils.typing import Array


class Bound(NamedTuple):
    """A likelihood with its labels, ready for a sampler."""

    potential: Any
    gradient: Any | None
    observed: Observed
    nodes: NDArray[np.int64] | None
    """The nodes read; None for all."""
    label: str
    sign_model: SignModel | None
    """That of labels of confidence 1."""
    log_normalizer: float | None = None
    rule: LabelRule = Sign()
    """How the fields at a node become its label."""
    overlap: float = 0.0
    """Deviation of the noise that belongs to the true class; see `Likelihood.overlap`."""
    confidence: Array | None = None
    """That of each label, shape (J,); None if it is 1."""

    @property
    def label_model(self) -> SignModel:
        """The sign model of the given labels, with their confidences."""
        assert self.sign_model is not None
        return self.sign_model.with_confidence(self.confidence, self.rule.n_classes)

    @property
    def n_fields(self) -> int:
        """Fields at each node: 1 for two classes, else K."""
        return self.rule.n_fields

    def with_parameters(self, likelihood: Likelihood) -> Bound:
        """Return this for a likelihood of the same class with other parameters."""
        sign_model, log_normalizer, overlap = _models(likelihood, self.rule)
        parameters = np.array(list(parameters_of(likelihood).values()), dtype=np.float64)
        return self._replace(
            observed=self.observed._replace(parameters=parameters),
            sign_model=sign_model,
            log_normalizer=log_normalizer,
            overlap=overlap,
        )._completed(likelihood)

    def _completed(self, likelihood: Likelihood) -> Bound:
        """Return this with the potential of the sign model, where the likelihood's does not do."""
        if likelihood.potential is not None and self.confidence is None:
            return self
        potential, gradient, parameters = self.label_model.functions(self.rule.n_classes)
        return self._replace(
            potential=potential,
            gradient=gradient,
            observed=self.observed._replace(parameters=parameters),
        )

    def without_labels(self) -> Bound:
        """Return the bound likelihood of no labels; see `Likelihood.log_normalizer`."""
        nothing = self.observed._replace(y=np.empty(0), rows=np.empty(0, dtype=np.int64))
        return self._replace(observed=nothing)


def bind(likelihood: Likelihood, labels: Labels, n_nodes: int) -> Bound:
    """Check ``likelihood`` against the contract and bind it to ``labels``.

    Raises
    ------
    TypeError
        ``likelihood`` is not a likelihood; the message says what is missing.
    ValueError
        A label belongs to a node that the graph does not have.
    """
    likelihood = adopt(likelihood)
    name = type(likelihood).__name__
    _check_attributes(likelihood)
    require_supported(likelihood, labels)
    rule = label_rule(labels)
    parameters = parameters_of(likelihood)
    labels.require_within(n_nodes)
    rows = np.arange(len(labels)) if likelihood.reads == "labelled" else labels.nodes
    observed = Observed(
        np.ascontiguousarray(rule.observed(labels), dtype=np.float64),
        np.ascontiguousarray(rows, dtype=np.int64),
        np.array(list(parameters.values()), dtype=np.float64),
    )
    nodes = labels.nodes if likelihood.reads == "labelled" else None
    sign_model, log_normalizer, overlap = _models(likelihood, rule)
    bound = Bound(
        likelihood.potential,
        likelihood.gradient,
        observed,
        nodes,
        likelihood.label,
        sign_model,
        log_normalizer,
        rule,
        overlap,
    )
    if labels.confidence is not None:
        _require_confidence(likelihood, sign_model)
    bound = bound._replace(confidence=labels.confidence)._completed(likelihood)
    size = len(labels) if nodes is not None else n_nodes
    _compile(bound, np.full((size, bound.n_fields), 0.1), name)
    return bound


def _require_confidence(likelihood: Likelihood, sign_model: Any) -> None:
    """Refuse confidences of labels without a sign model, which says what a wrong label is."""
    if sign_model is None or likelihood.reads != "labelled":
        raise ValueError(
            f"{type(likelihood).__name__} does not support labels with confidence: take a sign "
            "model, gq.Probit, gq.LevelSet or gq.NoisyProbit, or gq.Labels without confidence"
        )


def _models(
    likelihood: Likelihood, rule: LabelRule
) -> tuple[SignModel | None, float | None, float]:
    """Return sign model, log normalizer and overlap for a rule's number of classes, checked."""
    name = type(likelihood).__name__
    sign_model = sign_model_of(likelihood, rule.n_classes)
    if sign_model is None and likelihood.potential is None:
        raise TypeError(
            f"{name}.sign_model returned None for {rule.n_classes} classes, and there is no "
            "potential: return a SignModel, or define one"
        )
    if likelihood.potential is None and likelihood.reads != "labelled":
        raise TypeError(f"{name} has no potential, so that reads must be 'labelled'")
    log_normalizer = likelihood.log_normalizer(rule.n_classes)
    if log_normalizer is not None:
        log_normalizer = validation.real(f"{name}.log_normalizer", log_normalizer)
    overlap = validation.real(f"{name}.overlap", likelihood.overlap(rule.n_classes))
    if overlap < 0:
        raise ValueError(f"{name}.overlap must return a deviation of at least 0, got {overlap}")
    if overlap > 0 and likelihood.label == "field":
        raise ValueError(
            f"{name}.overlap must return 0 where label is 'field', got {overlap}: noise is that of "
            "a label that is the field's sign"
        )
    return sign_model, log_normalizer, overlap


def _check_attributes(likelihood: Likelihood) -> None:
    """Refuse attributes and methods that are not as the contract has them."""
    name = type(likelihood).__name__
    if likelihood.reads not in READS:
        raise TypeError(f"{name}.reads must be 'labelled' or 'all', got {likelihood.reads!r}")
    if likelihood.label not in LABEL:
        raise TypeError(f"{name}.label must be 'sign' or 'field', got {likelihood.label!r}")
    for what, function in (
        ("potential", likelihood.potential),
        ("gradient", likelihood.gradient),
    ):
        if not is_jitted(function) and function is not None:
            raise TypeError(
                f"{name}.{what} must be a function decorated with numba.njit, got {function!r}; "
                f"inside the class write {what} = staticmethod(your_function)"
            )
    for what, method in (
        ("sign_model", likelihood.sign_model),
        ("log_normalizer", likelihood.log_normalizer),
        ("overlap", likelihood.overlap),
    ):
        if not _takes_one_argument(method):
            raise TypeError(
                f"{name}.{what} must be a method of the number of classes, got {method!r}: "
                f"inside the class write def {what}(self, n_classes=2)"
            )


def _takes_one_argument(method: Any) -> bool:
    """Whether a method can be called with one positional argument."""
    try:
        inspect.signature(method).bind(2)
    except TypeError:
        return False
    return True


def require_supported(likelihood: Any, labels: Labels) -> None:
    """Raise ValueError if there are more than two classes and the likelihood supports two."""
    rule = label_rule(labels)
    if isinstance(rule, Argmax) and not adopt(likelihood).multiclass:
        raise ValueError(
            f"{type(likelihood).__name__} supports two classes, and the labels have "
            f"{rule.n_classes}: keep two classes with labels.of_classes(a, b), or use gq.Probit, "
            "gq.LevelSet or gq.NoisyProbit"
        )


def open_parameters(likelihood: Any) -> tuple[str, ...]:
    """Return the names of the parameters that are "auto"."""
    if not dataclasses.is_dataclass(likelihood) or isinstance(likelihood, type):
        return ()
    fields = dataclasses.fields(likelihood)
    return tuple(f.name for f in fields if validation.is_auto(getattr(likelihood, f.name)))


def parameters_of(likelihood: Any) -> dict[str, float]:
    """Return the parameters: the dataclass fields, which must be finite numbers."""
    parameters = dataclasses.asdict(likelihood)
    if left := open_parameters(likelihood):
        raise ValueError(
            f"{likelihood!r} leaves {' and '.join(left)} to the labels: "
            "pass gq.tune(prior, labels, likelihood).likelihood instead"
        )
    for field, value in parameters.items():
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise TypeError(
                f"{type(likelihood).__name__}.{field} must be a finite number, got {value!r}: the "
                "fields of a likelihood are its parameters"
            )
    return {field: float(value) for field, value in parameters.items()}


def describe(likelihood: Any) -> dict[str, Any]:
    """Return the name and parameters of a likelihood, as stored in a posterior's settings."""
    return {"name": type(likelihood).__name__, **parameters_of(likelihood)}


def describe_sign_model(bound: Bound) -> dict[str, float] | None:
    """Return noise and flip rate of a sign model; unlike an infinite cost, JSON can store them."""
    if bound.sign_model is None:
        return None
    model = bound.sign_model
    return {
        "noise": float(model.noise),
        "flip_rate": float(model.flip_rate(bound.rule.n_classes)),
    }


@kernel(types.float64(POTENTIAL, FIELD, OBSERVED))
def _evaluate(potential, field, observed):  # type: ignore[no-untyped-def]
    return potential(field, observed)


@kernel(types.void(GRADIENT, FIELD, OBSERVED, FIELD))
def _differentiate(gradient, field, observed, out):  # type: ignore[no-untyped-def]
    gradient(field, observed, out)


def evaluate(bound: Bound, field: NDArray[np.float64]) -> float:
    """Return Phi(field)."""
    return float(_evaluate(bound.potential, field, bound.observed))


def fingerprint(bound: Bound, n_nodes: int) -> list[float]:
    """Return Phi at a few fixed fields, which shows whether a likelihood's code was edited."""
    m = n_nodes if bound.nodes is None else bound.nodes.size
    fields = np.random.default_rng(0).standard_normal((3, m, bound.n_fields))
    return [evaluate(bound, field) for field in fields]


def differentiate(bound: Bound, field: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dPhi/du at ``field``, in its shape; only where there is a gradient."""
    out = np.full_like(field, np.nan)  # shows what a gradient leaves out
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
        raise TypeError(f"{name}.potential or gradient writes to u: it must not change the field")
