"""What a likelihood is: the base class `Likelihood`, and what its compiled functions are given."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from graphuq.likelihoods.sign_model import MAX_NOISE, MIN_NOISE, SignModel

READS = ("labelled", "all")
LABEL = ("sign", "field")


class Observed(NamedTuple):
    """What a potential is given besides the field.

    Examples
    --------
    One labeled node, whose field is the first row of ``u``, and one parameter, 0.1:

    >>> import numpy as np
    >>> import graphuq as gq
    >>> y, rows, parameters = np.array([1.0]), np.array([0]), np.array([0.1])
    >>> seen = gq.likelihoods.Observed(y, rows, parameters)
    >>> seen.y.size == seen.rows.size
    True
    """

    y: NDArray[np.float64]
    """Observed labels, shape (J,): -1 or +1 for two classes, 0, ..., K - 1 for K > 2."""
    rows: NDArray[np.int64]
    """Rows of ``u`` that belong to the labeled nodes, shape (J,)."""
    parameters: NDArray[np.float64]
    """The fields of the dataclass, in order. Functions that graphuq makes from a sign model get its
    noise and flip rate instead."""


FIELD = types.float64[:, ::1]
OBSERVED = types.NamedTuple([types.float64[::1], types.int64[::1], types.float64[::1]], Observed)
POTENTIAL = types.FunctionType(types.float64(FIELD, OBSERVED))
GRADIENT = types.FunctionType(types.void(FIELD, OBSERVED, FIELD))


class Likelihood:
    """How labels arise from the field u, through the potential Phi.

    Phi is minus the log-likelihood, up to a constant. A likelihood is a frozen dataclass whose
    fields are numbers, its parameters. It defines ``potential`` or `sign_model`, from which a
    potential follows; everything else has a default. A dataclass that does not inherit from this
    class gets the same defaults.

    A likelihood that defines `sign_model` is supported by the sampler `Harmonic`, by
    `graphuq.tune`, `graphuq.evidence` and `graphuq.approximate`, and tells which labels are likely
    to be mistakes. It may have labels with confidences.

    The compiled functions get ``u``, the field at the m nodes that they read: float64[m, C], and
    ``seen``, an `Observed`. For two classes C = 1, and a label is the sign of the field. For
    K > 2 classes C = K, and a label is the largest of K fields, which are independent a priori.

    Attributes
    ----------
    potential : function
        Phi: an ``@njit`` function ``(u, seen) -> float``.
    gradient : function, optional
        An ``@njit`` function ``(u, seen, out)`` that writes dPhi/du into ``out``.
    reads : {"labelled", "all"}
        The nodes at which Phi reads the field.
    label : {"sign", "field"}
        What the posterior reports as a node's label: the sign of the field, or the field itself.
    multiclass : bool
        Whether Phi supports more than two classes. By default it does not.
    ranges : dict
        The interval (low, high) in which `graphuq.tune` looks for each parameter that is "auto",
        on a logarithmic scale. Only sign models have one.

    Examples
    --------
    At a field of 0 the well of a node costs 1/4, and a label y = 1 with gamma = 1 costs 1/2:

    >>> import numpy as np
    >>> import graphuq as gq
    >>> likelihood = gq.GinzburgLandau(epsilon=1.0, gamma=1.0)
    >>> likelihood.reads
    'all'
    >>> y, rows, parameters = np.array([1.0]), np.array([0]), np.array([1.0, 1.0])
    >>> seen = gq.likelihoods.Observed(y, rows, parameters)
    >>> field, slope = np.zeros((1, 1)), np.empty((1, 1))
    >>> likelihood.potential(field, seen)
    0.75
    >>> likelihood.gradient(field, seen, slope)
    >>> slope
    array([[-1.]])
    >>> round(likelihood.log_normalizer(), 3)                 # log(2 pi) / 2
    0.919
    >>> gq.LevelSet(gamma=1.0).sign_model()                   # no noise, a step of 2 / gamma^2
    SignModel(noise=0.0, cost=2.0)
    >>> gq.NoisyProbit(gamma=0.3, flip_rate=0.1).overlap()    # flips are mistakes
    0.3
    """

    potential: ClassVar[Any | None] = None
    gradient: ClassVar[Any | None] = None
    reads: ClassVar[str] = "labelled"
    label: ClassVar[str] = "sign"
    multiclass: ClassVar[bool] = False
    ranges: ClassVar[dict[str, tuple[float, float]]] = {}

    def sign_model(self, n_classes: int = 2) -> SignModel | None:
        """Return the `graphuq.likelihoods.sign_model.SignModel`, or None if this is none.

        In a sign model y(j) = S(u(j) + noise eta(j)), eta(j) ~ N(0, 1), except that a wrong sign
        adds ``cost`` to Phi, or is impossible where ``cost`` is infinite. For K > 2 classes S is
        the index of the largest field, and ``cost`` is the log odds of the right label against one
        wrong label; all K - 1 wrong labels are equally likely. A tuple (noise, cost) will do.
        """
        del n_classes
        return None

    def overlap(self, n_classes: int = 2) -> float:
        """Return how far classes overlap: the deviation of the noise that belongs to the truth.

        The true class of a node is S(u + overlap eta), eta ~ N(0, 1); for K > 2 classes each field
        has a noise of its own. With 0 it is the class of the field itself. Mistakes of labels,
        such as flips, are not part of it. By default it is the noise of the sign model, and 0
        without one. It is 0 where ``label`` is "field".
        """
        model = sign_model_of(self, n_classes)
        return 0.0 if model is None else float(model.noise)

    def log_normalizer(self, n_classes: int = 2) -> float | None:
        """Return what exp(-Phi) lacks, for each label, to be a density of labels; or None.

        The density of J labels y is exp(-Phi(u; y) + Phi(u; no labels) - J log_normalizer). The
        potential of no labels then belongs to the prior, so ``potential`` and ``gradient`` must
        accept a ``seen`` without labels.
        """
        del n_classes
        return None


def adopt(likelihood: Any) -> Likelihood:
    """Return a likelihood; a plain dataclass gets the defaults of `Likelihood`.

    Raises
    ------
    TypeError
        Something that is not a likelihood.
    """
    if isinstance(likelihood, type):
        raise TypeError(f"pass an instance, such as {likelihood.__name__}(...), not the class")
    if not dataclasses.is_dataclass(likelihood) or not (
        getattr(likelihood, "potential", None) or has_sign_model(likelihood)
    ):
        raise TypeError(
            "a likelihood is a dataclass with a potential or a sign model, such as "
            f"gq.Probit(gamma=0.1); got {likelihood!r}"
        )
    if isinstance(likelihood, Likelihood):
        return likelihood
    own = type(likelihood)
    both = type(own.__name__, (own, Likelihood), {"__qualname__": own.__qualname__})
    adopted: Likelihood = object.__new__(both)
    # values are copied: __init__ has checked them already
    values = {f.name: getattr(likelihood, f.name) for f in dataclasses.fields(likelihood)}
    for name, value in {**getattr(likelihood, "__dict__", {}), **values}.items():
        object.__setattr__(adopted, name, value)
    return adopted


def has_sign_model(likelihood: Any) -> bool:
    """Whether a likelihood defines a sign model; its parameters may still be "auto"."""
    own = getattr(type(likelihood), "sign_model", None)
    return own not in (None, Likelihood.sign_model)


def sign_model_of(likelihood: Likelihood, n_classes: int) -> SignModel | None:
    """Return the sign model, checked; None if there is none.

    Raises
    ------
    TypeError, ValueError
    """
    model = likelihood.sign_model(n_classes)
    if model is None:
        return None
    what = f"{type(likelihood).__name__}.sign_model must return SignModel(noise, cost)"
    two = isinstance(model, tuple) and len(model) == 2
    if not two or not all(isinstance(part, int | float | np.number) for part in model):
        raise TypeError(f"{what}, two numbers, got {model!r}")
    noise, cost = map(float, model)
    if not (noise == 0 or MIN_NOISE <= noise <= MAX_NOISE) or not cost > 0:
        raise ValueError(
            f"{what} with noise 0, or from {MIN_NOISE:g} to {MAX_NOISE:g}, and cost > 0, the log "
            f"odds of the right label against one wrong label, got {model!r}"
        )
    return SignModel(noise, cost)
