"""The ranges in which parameters of prior and likelihood are searched or sampled."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphuq.labels.labels import BY_CLASS, RANDOM, Labels
from graphuq.likelihoods.bound import open_parameters
from graphuq.likelihoods.contract import adopt
from graphuq.priors.gaussian_prior import GaussianPrior, base_name
from graphuq.priors.hyperprior import LEVEL_SCALE, LINEAR
from graphuq.utils import validation

Ranges = dict[str, tuple[float, float]]

# The deviation of the level for labels of any design, most of which answer questions of a model.
# With 1, sessions on texts of eight classes took twice as many (docs/theory/labeling.md).
ANY_LEVEL = 0.3


def open_ranges(
    prior: GaussianPrior,
    likelihood: Any,
    given: Mapping[str, Any],
    labels: Labels | None = None,
    *,
    required: bool = True,
) -> tuple[Any, Any, Ranges]:
    """Return prior and likelihood with fixed parameters set, and the ranges of the open ones.

    A parameter is open if it is "auto" or has a range among those ``given``. Those that change
    nothing are set by `fix_idle`. An open level without a range has a `fixed_level`, if ``labels``
    are given that were not drawn at random: somebody chose how many there are of each class, and
    the evidence would take these numbers for the sizes of the classes.

    Raises
    ------
    TypeError, ValueError
        A range of the wrong form, of an unknown parameter or outside its domain; nothing open,
        if something is ``required`` to be.
    """
    own = adopt(likelihood).ranges
    defaults = {**prior.ranges, **own}
    known = [*prior.ranges, *(f.name for f in dataclasses.fields(likelihood))]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(
            f"there is no parameter {unknown[0]}: the parameters are {', '.join(known)}"
        )
    for name, value in given.items():
        validation.array_of(name, value)
    # numbers fix parameters, and so does a range of one rank
    given = {
        n: v[0] if base_name(n) == "rank" and np.ndim(v) and len({*v}) == 1 else v
        for n, v in given.items()
    }
    fixed = {n: v for n, v in given.items() if not validation.is_auto(v) and np.ndim(v) == 0}
    prior, likelihood = with_values(prior, likelihood, fixed)
    ranged = [n for n in given if n not in fixed]
    opened = [n for n in ranged if n in prior.ranges]
    prior = fix_idle(prior.with_parameters(**dict.fromkeys(opened, validation.AUTO)))
    others = (n for n in ranged if n not in opened)
    random = labels is None or labels.sampling == RANDOM
    searched = random or not validation.is_auto(given.get("level", validation.AUTO))
    uninformed = not searched and "level" in prior.open
    if uninformed:
        assert labels is not None
        prior = prior.with_parameters(level=fixed_level(labels))
    left = (*prior.open, *open_parameters(likelihood), *others)
    # the others have the range given, or their own
    found: Ranges = {}
    for name in (n for n in known if n in left):
        pair = given.get(name, validation.AUTO)
        if validation.is_auto(pair):
            if name not in defaults:
                raise ValueError(f"{name} has no range of its own: give {name}=(low, high)")
            pair = defaults[name]
        found[name] = check_range(name, pair, defaults.get(name, pair)[1])
    if not found and not uninformed and required:
        raise ValueError(
            'all parameters are fixed: leave one "auto", or give its range, such as gamma=(0.01, 1)'
        )
    for end in (0.0, 1.0):  # prior and likelihood refuse ends that are outside their domain
        with_values(prior, likelihood, {name: value_at(name, end, *found[name]) for name in found})
    return prior, likelihood, found


def fixed_level(labels: Labels) -> float:
    """Return the deviation of a level of which labels say nothing.

    For labels by class it is that of the level's prior. One label of a class cannot tell the
    class's level from the field at its node. The deviation is 0 then.
    """
    if np.bincount(labels.indices).max() < 2:
        return 0.0
    return LEVEL_SCALE if labels.sampling == BY_CLASS else ANY_LEVEL


def reopened(prior: GaussianPrior) -> GaussianPrior:
    """Return the prior with parameters open again, except for ranks and what labels never choose.

    They never choose tau = 0, or a weight of 0 or 1.
    """
    values = prior.parameters
    names = [
        name
        for name in prior.ranges
        if base_name(name) != "rank"
        and not (base_name(name) == "tau" and values.get(name) == 0)
        and not (base_name(name) == "weight" and values.get(name) in (0, 1))
    ]
    return prior.with_parameters(**dict.fromkeys(names, validation.AUTO)) if names else prior


def fix_idle(prior: GaussianPrior) -> GaussianPrior:
    """Return the prior with open parameters that change nothing in the middle of their ranges."""
    idle = [name for name in prior.idle if name in prior.open]
    if not idle:
        return prior  # with what it has computed
    return prior.with_parameters(**{n: value_at(n, 0.5, *prior.ranges[n]) for n in idle})


def check_range(name: str, pair: Any, max_rank: float) -> tuple[float, float]:
    """Return a range (low, high) as floats, or refuse it."""
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise TypeError(f"{name} must be a number or a range (low, high), got {pair!r}")
    low, high = (validation.real(name, end) for end in pair)
    if not low < high:
        raise ValueError(
            f"the range of {name} must have low below high, got ({low:g}, {high:g}): fix it by a "
            f"number, such as {name}={low:g}"
        )
    if base_name(name) == "rank":
        for end in pair:
            validation.integer(name, end, 1, int(max_rank), f"the spectrum holds {max_rank} modes")
    elif base_name(name) not in LINEAR and not low > 0:
        raise ValueError(
            f"{name} is searched on a logarithmic scale: its range must begin above 0, got {low:g}"
        )
    return low, high


def with_values(
    prior: GaussianPrior, likelihood: Any, values: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return copies of prior and likelihood with the parameters in ``values``."""
    known = prior.ranges
    own = {name: v for name, v in values.items() if name in known}
    others = {name: v for name, v in values.items() if name not in own}
    return prior.with_parameters(**own), dataclasses.replace(likelihood, **others)


def value_at(name: str, x: float, low: float, high: float) -> float:
    """Return the value at the place x in [0, 1] of a range."""
    if base_name(name) in LINEAR:
        return float(low + x * (high - low))
    value = math.exp(math.log(low) + x * (math.log(high) - math.log(low)))
    return round(value) if base_name(name) == "rank" else min(max(value, low), high)


def place_of(name: str, value: float, low: float, high: float) -> float:
    """Return the place in [0, 1] of a value in its range; see `value_at`."""
    if base_name(name) in LINEAR:
        return (value - low) / (high - low)
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
