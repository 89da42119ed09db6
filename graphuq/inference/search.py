"""The search for parameters of largest posterior density: a climb in the unit cube."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from graphuq.inference.evidence.tangent import Near, Tangent
from graphuq.inference.parameter_ranges import Ranges, value_at, with_values
from graphuq.likelihoods.contract import adopt, sign_model_of
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior, base_name
from graphuq.priors.hyperprior import log_prior
from graphuq.utils.progress import Pace
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# Points that are evaluated first, and as many more as have no evidence, up to a limit.
FIRST_POINTS, MAX_FIRST_POINTS = 7, 32

# The climb ends after MAX_STEPS for each open parameter.
MAX_STEPS = 20

# Places on each side of the cube by which quantiles of the prior density are found.
N_PLACES = 64

# Lengths of the differences that give gradients, as shares of each side. That of ranks spans some.
DIFFERENCE, DIFFERENCE_OF_RANKS = 1e-5, 0.05

# Decimal places of the log posterior density, which sites to a coarse tolerance know no better.
LOSS_DIGITS = 6

# Decimal places of points in the cube. A gradient near the middle of two of its own last digits
# moves the next point by far less, and would move all later ones.
POINT_DIGITS = 4

# The first radius of the region in which the model is trusted, as a share of each side, and the
# gain of a step, in units of the function, below which the climb ends.
FIRST_RADIUS, SMALLEST_GAIN = 0.25, 1e-3

# Passes over the coordinates of a step; each solves for one of them.
MAX_PASSES = 100

# At most so many climbs. One ends where it comes so near to the summit of another, in shares of
# each side.
MAX_CLIMBS, SAME = 4, 0.1


class Evidence(Protocol):
    """What is maximized; `SignEvidence` and `PairwiseEvidence` have it."""

    of_shares: float
    """That of labels that say nothing of each other but how large classes are."""

    def __call__(self, prior: GaussianPrior, likelihood: Any) -> LogEvidence:
        """Return the evidence."""

    def near(self, prior: GaussianPrior, likelihood: Any, start: Any) -> Near:
        """Return the evidence to a coarse tolerance.

        ``start`` has the sites of another setting, or is None.
        """


class Search:
    """The settings that were evaluated, and the best of them.

    Parameters
    ----------
    prior, likelihood
        With parameters that vary.
    ranges : dict
        From the name of each open parameter to (low, high).
    evidence : callable
        Returns the evidence of a prior and a likelihood.
    n_classes : int
    """

    def __init__(
        self,
        prior: GaussianPrior,
        likelihood: Any,
        ranges: Ranges,
        evidence: Evidence,
        n_classes: int,
    ) -> None:
        self._prior, self._likelihood, self._ranges = prior, likelihood, ranges
        self._evidence, self._n_classes, self._typical = evidence, n_classes, prior.typical
        self._rows: list[dict[str, float]] = []
        self._failures: list[str] = []
        self._points: list[Array] = []
        self._sites: list[Any] = []

    def run(self) -> None:
        """Evaluate points that fill the prior density, and climb from the best of them."""
        dimension = len(self._ranges)
        self._pace = Pace(
            FIRST_POINTS + MAX_STEPS * dimension,
            f"choosing {', '.join(self._ranges)}",
            "give numbers for some of them, or fewer labels; Ctrl-C stops it",
        )
        if not dimension:  # the labels inform none of the parameters that were open
            self._height(np.empty(0))
            return
        seen: list[tuple[Array, Height]] = []
        for point in self._first_points():
            height = self._height(point)
            if height is not None:
                seen.append((point, height))
            if len(seen) == FIRST_POINTS:
                break
        if seen:
            climb_from_all(self._height, seen, MAX_STEPS * dimension)

    def _first_points(self) -> Iterator[Array]:
        """Return the mode of the prior density, and points that divide its mass evenly.

        Its parameters are independent. A mode at an end of a range is replaced by the median.
        """
        middle = self._values(np.full(len(self._ranges), 0.5))
        likelihood = with_values(self._prior, self._likelihood, middle)[1]
        places = (np.arange(N_PLACES) + 0.5) / N_PLACES
        modes, masses = [], []
        for name, ends in self._ranges.items():
            logs = np.array([
                self._log_prior({name: value_at(name, x, *ends)}, likelihood) for x in places
            ])  # fmt: skip
            mass = np.cumsum(np.exp(logs - logs.max()))
            masses.append(mass / mass[-1])
            at = logs.round(LOSS_DIGITS).argmax()  # the first of two on either side of a mode
            median = np.interp(0.5, masses[-1], places)
            modes.append(places[at] if 0 < at < N_PLACES - 1 else median)
        yield np.array(modes)
        for quantiles in _fill_evenly(len(self._ranges), MAX_FIRST_POINTS - 1):
            pairs = zip(quantiles, masses, strict=True)
            yield np.array([np.interp(share, mass, places) for share, mass in pairs])

    def _values(self, point: Array) -> dict[str, float]:
        """Return the parameters at a point of the unit cube."""
        return {
            name: value_at(name, x, *self._ranges[name])
            for name, x in zip(self._ranges, point, strict=True)
        }

    def _height(self, point: Array) -> Height | None:
        """Return the log posterior density of the parameters at a point of the unit cube."""
        values = self._values(point)
        start = None
        if self._points:  # the sites of the nearest point
            distances = np.square(np.array(self._points) - point).sum(axis=1)
            start = self._sites[distances.argmin()]
        setting = with_values(self._prior, self._likelihood, values)
        if self._log_prior(values, setting[1]) == -math.inf:  # a weight of 0 or 1
            return None
        try:
            near = self._evidence.near(*setting, start)
            self._pace.step()
        except RuntimeError as error:
            self._failures.append(str(error))
            self._rows.append({**values, "log_evidence": math.nan, "log_posterior": math.nan})
            return None
        self._points.append(np.array(point))
        self._sites.append(near.sites)
        # the last digits depend on the order of the nodes, and must not steer the search
        rest = round(near.log_evidence.correction, LOSS_DIGITS)
        value = round(self._add_row(values, setting[1], near.log_evidence), LOSS_DIGITS)
        return Height(value - rest, rest, self._gradient(point, near.tangent))

    def _gradient(self, point: Array, tangent: Tangent) -> Array:
        """Return the gradient of the log posterior density, but for the evidence's correction."""

        def at(x: Array) -> float:
            values = self._values(x)
            prior, likelihood = with_values(self._prior, self._likelihood, values)
            model = sign_model_of(adopt(likelihood), self._n_classes)
            assert model is not None
            return tangent(prior, model) + self._log_prior(values, likelihood)

        here, gradient = at(point), np.empty(point.size)
        for i, name in enumerate(self._ranges):
            moved = point.copy()
            length = DIFFERENCE_OF_RANKS if base_name(name) == "rank" else DIFFERENCE
            moved[i] += length if point[i] < 0.5 else -length
            gradient[i] = (at(moved) - here) / (moved[i] - point[i])
        return np.round(gradient, LOSS_DIGITS)

    def _add_row(self, values: dict[str, float], likelihood: Any, evidence: float) -> float:
        """Add a setting to the table, and return its log posterior density."""
        posterior = float(evidence) + self._log_prior(values, likelihood)
        self._rows.append({**values, "log_evidence": float(evidence), "log_posterior": posterior})
        return posterior

    def _log_prior(self, values: dict[str, float], likelihood: Any) -> float:
        noisy = adopt(likelihood).overlap(self._n_classes) > 0
        return log_prior(values, self._n_classes, noisy=noisy, typical=self._typical)

    def best(self) -> tuple[dict[str, float], LogEvidence]:
        """Return the parameters with the largest log posterior density, and their evidence.

        The evidence is computed anew, to its full accuracy and without the sites of other settings.
        """
        exact: dict[int, LogEvidence] = {}
        while True:
            posteriors = np.array([row["log_posterior"] for row in self._rows])
            if not np.isfinite(posteriors).any():
                raise RuntimeError(
                    f"the evidence could not be computed anywhere in the ranges; first: "
                    f"{self._failures[0]}"
                )
            at = int(np.nanargmax(posteriors))
            values = {name: self._rows[at][name] for name in self._ranges}
            if at in exact:
                return values, exact[at]
            setting = with_values(self._prior, self._likelihood, values)
            try:
                exact[at] = self._evidence(*setting)
            except RuntimeError as error:
                self._failures.append(str(error))
                self._rows[at] |= {"log_evidence": math.nan, "log_posterior": math.nan}
                continue
            self._add_row(values, setting[1], exact[at])
            self._rows[at] = self._rows.pop()

    def table(self) -> pd.DataFrame:
        """Return all settings, in the order in which they were evaluated."""
        import pandas as pd

        return pd.DataFrame(self._rows)


def _fill_evenly(dimension: int, count: int) -> Iterator[Array]:
    """Return points that fill the unit cube evenly.

    From its center they are multiples of (1/g, 1/g^2, ...), with g^(d + 1) = g + 1, the golden
    ratio for d = 1 (Roberts 2018).

    Examples
    --------
    >>> [point.round(2).item() for point in _fill_evenly(1, 5)]
    [0.12, 0.74, 0.35, 0.97, 0.59]
    """
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    shift = ratio ** -np.arange(1.0, dimension + 1)
    return ((0.5 + k * shift) % 1.0 for k in range(1, count + 1))


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
        point = np.clip(best + step, 0.0, 1.0).round(POINT_DIGITS)
        if np.array_equal(point, best):
            break
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
