"""A climb to the maximum of a function in the unit cube, by few values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphuq.utils.typing import Array

# The first radius of the region in which the model is trusted, as a share of each side, and the
# gain of a step, in units of the function, below which the climb ends.
FIRST_RADIUS, SMALLEST_GAIN = 0.25, 1e-3

# Passes over the coordinates of a step; each solves for one of them.
MAX_PASSES = 100

# At most so many climbs. One ends where it comes so near to the summit of another, in shares of
# each side.
MAX_CLIMBS, SAME = 4, 0.1


class Height(NamedTuple):
    """The function at a point: a part whose gradient is known, and a small rest."""

    known: float
    rest: float
    gradient: Array
    """The gradient of the known part."""

    @property
    def value(self) -> float:
        """The function."""
        return self.known + self.rest


Seen = list[tuple[Array, Height]]
"""Points that have been evaluated."""


def climb_from_all(
    height_at: Callable[[Array], Height | None], seen: Seen, max_points: int
) -> None:
    """Climb from the best point, the first, and others whose slope leads away from all summits.

    Parameters
    ----------
    height_at : callable
        Returns the height of a point, or None where there is none.
    seen : list of (ndarray, Height)
        At least one. New points are appended.
    max_points : int
        The largest number of new points, over all climbs.
    """
    first, last = seen[0], len(seen) + max_points
    best, *others = sorted(seen, key=lambda pair: -pair[1].value)
    summits = [_climb(height_at, best, seen, max_points, [])]
    for start in [first, *others] if first is not best else others:
        if len(summits) == MAX_CLIMBS or len(seen) >= last:
            break
        if start is first or all(_leads_away(*start, summit) for summit in summits):
            summits.append(_climb(height_at, start, seen, last - len(seen), summits))


def _leads_away(point: Array, height: Height, summit: Array) -> bool:
    return float(height.gradient @ (summit - point)) < 0


def _climb(
    height_at: Callable[[Array], Height | None],
    start: tuple[Array, Height],
    seen: Seen,
    max_points: int,
    summits: list[Array],
) -> Array:
    """Evaluate points that lead to a maximum, and return it.

    Each is the maximum of a quadratic model in a trust region about the best point, as far as it
    lies in the cube. The Hessian and the gradient of the rest come from all points, those next to
    the best last: by updates of Broyden, Fletcher, Goldfarb and Shanno, and of Broyden (Nocedal and
    Wright 2006, chapters 4, 6 and 11).
    """
    radius, (best, here) = FIRST_RADIUS, start
    for _ in range(max_points):
        slope, curvature = _model(best, here, seen)
        low, high = np.maximum(-best, -radius), np.minimum(1 - best, radius)
        step = _largest(slope, curvature, low, high)
        gain = float(slope @ step - 0.5 * step @ curvature @ step)
        if gain < SMALLEST_GAIN:
            break
        point = np.clip(best + step, 0.0, 1.0)
        if any(abs(point - summit).max() < SAME for summit in summits):
            break
        there = height_at(point)
        share = -math.inf if there is None else (there.value - here.value) / gain
        length = float(abs(step).max())
        if share < 0.25:
            radius = 0.5 * length
        elif share > 0.75 and length > 0.9 * radius:
            radius *= 2
        if there is not None:
            seen.append((point, there))
            if there.value > here.value:
                best, here = point, there
    return best


def _model(best: Array, here: Height, seen: Seen) -> tuple[Array, Array]:
    """Return the slope at the best point, and minus the Hessian."""
    others = [(x - best, height) for x, height in seen if x is not best]
    others.sort(key=lambda pair: -float(pair[0] @ pair[0]))
    rest, pairs = np.zeros(best.size), []
    for step, height in others:
        size = float(step @ step)
        if not size > 0:
            continue
        rest = rest + (height.rest - here.rest - rest @ step) / size * step
        pairs.append((step, here.gradient - height.gradient))
    bends = [float(s @ y) / float(s @ s) for s, y in pairs]
    scale = float(np.median([b for b in bends if b > 0] or [1.0]))
    curvature = scale * np.eye(best.size)
    for (step, change), bend in zip(pairs, bends, strict=True):
        if bend > 0.01 * scale:
            at = curvature @ step
            curvature = curvature + np.outer(change, change) / float(step @ change)
            curvature = curvature - np.outer(at, at) / float(step @ at)
    return here.gradient + rest, curvature


def _largest(slope: Array, curvature: Array, low: Array, high: Array) -> Array:
    """Return s in a box with the largest slope' s - s' curvature s / 2, by coordinates."""
    g, H, a, b = slope.tolist(), curvature.tolist(), low.tolist(), high.tolist()
    s = [0.0] * len(g)
    for _ in range(MAX_PASSES):
        moved = 0.0
        for i, row in enumerate(H):
            pull = g[i] - sum(x * y for x, y in zip(row, s, strict=True)) + row[i] * s[i]
            new = min(max(pull / row[i], a[i]), b[i])
            moved, s[i] = max(moved, abs(new - s[i])), new
        if moved < 1e-6:
            break
    return np.array(s)
