"""Sites that a visit to all labeled nodes leaves as they are, by Anderson acceleration.

Expectation propagation puts a Gaussian site in place of each label's likelihood. A visit takes the
sites s of all nodes to T(s), those that each node asks for, given the sites of the others. Where
s = T(s), the sites have converged. With the residuals r_k = T(s_k) - s_k of the last visits, the
next sites are

    s_k + h r_k - sum_i g_i (s_k - s_i + h (r_k - r_i)),

where g minimizes |r_k - sum_i g_i (r_k - r_i)| in units of the field's deviations (Anderson 1965,
Iterative procedures for nonlinear integral equations; Walker and Ni 2011). Without the sum this is
a step of length h, which swings between a wide and a narrow Gaussian, or takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphuq.propagation.gaussian_sites import NotConvergedError
from graphuq.utils.typing import Array

# Where a search fails, another begins without any sites, at last with shorter steps.
STEPS = (1.0, 0.3, 0.1)

# Earlier visits that the next sites take into account, and the largest number of visits.
MEMORY, MAX_VISITS = 8, 150

# Sites of precisions that differ by many powers of ten move by their rounding. Those that move by
# at most ROUNDED have converged if no others move less in IDLE further visits.
ROUNDED, IDLE = 1e-4, 8

# Steps are halved where no Gaussian has such sites, and then grow back by a factor.
MOST_HALVINGS, GROWTH = 6, 1.3

# A step after which sites move so many times as far as before is taken back, and the earlier visits
# are forgotten.
JUMP = 30.0

# Relative to the largest, differences of residuals that rounding makes.
ROUNDING = 1e-10

# If nothing converges, the last step of sites without negative precisions is of this length.
LAST_STEP = 0.3


class Visit(NamedTuple):
    """What the nodes say of sites; sites are pairs of precisions and shifts, shape (2, ...)."""

    asked: Array
    """The sites T(s) that they ask for."""
    mean: Array
    variance: Array
    """Moments of the fields given the sites s; 1 where a variance is 0."""
    complete: bool
    """Whether no node had to keep its site, for want of a Gaussian without it."""
    found: Any
    """What else is known given the sites s."""


def settle(
    visit: Callable[[Array, float], Visit],
    start: Array,
    tolerance: float,
    must_converge: bool = True,
) -> tuple[Array, Visit]:
    """Return sites that have converged, and the visit that found them.

    Parameters
    ----------
    visit : callable
        Takes sites and the least precision of those asked for. Raises `NotConvergedError` where no
        Gaussian has such sites.
    start : ndarray, shape (2, ...)
        Sites to start from. After a failure the start is 0.
    tolerance : float
        Largest move of means in deviations, and of variances as a share of themselves.
    must_converge : bool
        If not, sites that do not converge are replaced by sites without negative precisions, after
        the last visit if need be.

    Raises
    ------
    NotConvergedError
        The sites do not converge, even with short steps, and ``must_converge``.
    """
    nothing = np.zeros_like(start)
    searches = [(nothing, step) for step in STEPS]
    if start.any():
        searches.insert(0, (start, STEPS[0]))
    for first, step in searches:
        try:
            return _search(visit, first, step, tolerance)
        except NotConvergedError as error:
            failure = error
    if must_converge:
        raise failure
    sites, seen = nothing, visit(nothing, 0.0)
    for _ in range(MAX_VISITS):
        if _move(sites, seen, seen) < tolerance:
            break
        sites = sites + LAST_STEP * (seen.asked - sites)
        seen = visit(sites, 0.0)
    return sites, seen


def _search(
    visit: Callable[[Array, float], Visit], sites: Array, longest: float, tolerance: float
) -> tuple[Array, Visit]:
    """Return converged sites, by steps of at most a given length."""
    step, moved, least, idle, before, best = longest, np.inf, np.inf, 0, None, None
    history: list[tuple[Array, Array]] = []
    for _ in range(MAX_VISITS):
        try:
            seen, last_move = visit(sites, -np.inf), moved
        except NotConvergedError:
            if before is None or step < longest / 2**MOST_HALVINGS:
                raise
            # back, and part of the way
            step, history, (last, then) = step / 2, [], before
            sites = last + step * (then.asked - last)
            continue
        moved = np.inf if before is None or not seen.complete else _move(sites, seen, before[1])
        if before and len(history) > 1 and moved > JUMP * last_move:
            # back, and the way without the earlier visits
            moved, history, (last, then) = np.inf, [], before
            sites = last + step * (then.asked - last)
            continue
        before, idle = (sites, seen), idle + 1
        if moved < least:
            least, idle, best = moved, 0, before
        if best and (least < tolerance or (least < ROUNDED and idle > IDLE)):
            return best
        history = [*history[-MEMORY:], (sites, seen.asked - sites)]
        sites = _next(history, np.array([seen.variance, np.sqrt(seen.variance)]), step)
        step = min(longest, step * GROWTH)
    raise NotConvergedError(f"sites still move by {least:.1g} deviations of the field")


def _move(sites: Array, seen: Visit, before: Visit) -> float:
    """Return how far moments moved since a visit, and would move each by its own next site."""
    deviation, (precision, shift) = np.sqrt(seen.variance), seen.asked - sites
    moves = [
        (seen.mean - before.mean) / deviation,
        seen.variance / before.variance - 1,
        precision * seen.variance,
        (shift - precision * seen.mean) * deviation,
    ]
    return float(abs(np.array(moves)).max())


def _next(history: list[tuple[Array, Array]], units: Array, step: float) -> Array:
    """Return the next sites, given the last ones and their residuals."""
    *earlier, (sites, residual) = history
    plain = sites + step * residual
    if not earlier:
        return plain
    changes = np.array([(residual - r).ravel() for _, r in earlier])
    g = np.linalg.lstsq((units.ravel() * changes).T, (units * residual).ravel(), rcond=ROUNDING)[0]
    back = np.array([(sites - s).ravel() for s, _ in earlier]) + step * changes
    return np.asarray(plain - (g @ back).reshape(plain.shape))
