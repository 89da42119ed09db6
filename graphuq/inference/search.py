"""The search for parameters of largest posterior density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphuq.inference.parameter_ranges import Ranges, value_at, with_values
from graphuq.likelihoods.contract import adopt
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.hyperprior import log_prior
from graphuq.utils.forecast import Pace
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# Sobol points that are evaluated first: 2^(d + 3) for d open parameters, but not more than this.
# With 6 parameters, twice or four times as many gained 0.06 nats on one of three data sets.
MAX_FIRST_POINTS = 32

# The climb ends when its steps are below the second radius, as a share of each range, and after
# MAX_STEPS for each open parameter.
FIRST_RADIUS, LAST_RADIUS, MAX_STEPS = 0.15, 0.02, 20

# A point without evidence is treated as this much worse than the worst.
PENALTY = 10.0

# Decimal places of the loss, which sites to a coarse tolerance know no better.
LOSS_DIGITS = 6


class Evidence(Protocol):
    """What is maximized; `SignEvidence` and `PairwiseEvidence` have it."""

    def __call__(self, prior: GaussianPrior, likelihood: Any) -> LogEvidence:
        """Return the evidence."""

    def near(self, prior: GaussianPrior, likelihood: Any, start: Any) -> tuple[LogEvidence, Any]:
        """Return the evidence to a coarse tolerance, and its sites.

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
        self._evidence, self._n_classes = evidence, n_classes
        self._rows: list[dict[str, float]] = []
        self._failures: list[str] = []
        self._points: list[Array] = []
        self._sites: list[Any] = []

    def run(self) -> None:
        """Evaluate points that fill the ranges, and climb from the best of them."""
        from scipy.optimize import minimize
        from scipy.stats.qmc import Sobol

        dimension = len(self._ranges)
        # 1. points that fill the cube evenly; the first of Sobol's points is a corner
        n_points = min(2 ** (dimension + 3), MAX_FIRST_POINTS)
        points = Sobol(dimension, scramble=False).random(n_points)[1:]
        self._pace = Pace(
            len(points) + MAX_STEPS * dimension,
            f"choosing {', '.join(self._ranges)}",
            "give numbers for some of them, or fewer labels; Ctrl-C stops it",
        )
        losses = np.array([self._loss(point) for point in points])
        if not np.isfinite(losses).any():
            return
        # 2. a trust region about the best of them, in which a quadratic model interpolates
        worst = losses[np.isfinite(losses)].max() + PENALTY
        minimize(
            lambda point: min(self._loss(point), worst),
            points[losses.argmin()],
            method="COBYQA",
            bounds=[(0.0, 1.0)] * dimension,
            options={
                "initial_tr_radius": FIRST_RADIUS,
                "final_tr_radius": LAST_RADIUS,
                "maxfev": MAX_STEPS * dimension,
            },
        )

    def _values(self, point: Array) -> dict[str, float]:
        """Return the parameters at a point of the unit cube."""
        return {
            name: value_at(name, x, *self._ranges[name])
            for name, x in zip(self._ranges, point, strict=True)
        }

    def _loss(self, point: Array) -> float:
        """Return minus the log posterior density of the parameters at a point of the unit cube."""
        values = self._values(point)
        start = None
        if self._points:  # the sites of the nearest point
            distances = np.square(np.array(self._points) - point).sum(axis=1)
            start = self._sites[distances.argmin()]
        setting = with_values(self._prior, self._likelihood, values)
        if self._log_prior(values, setting[1]) == -math.inf:  # a weight of 0 or 1
            return math.inf
        try:
            evidence, sites = self._evidence.near(*setting, start)
            self._pace.step()
        except RuntimeError as error:
            self._failures.append(str(error))
            self._rows.append({**values, "log_evidence": math.nan, "log_posterior": math.nan})
            return math.inf
        self._points.append(np.array(point))
        self._sites.append(sites)
        # the last digits depend on the order of the nodes, and must not steer the search
        return -round(self._add_row(values, setting[1], evidence), LOSS_DIGITS)

    def _add_row(self, values: dict[str, float], likelihood: Any, evidence: float) -> float:
        """Add a setting to the table, and return its log posterior density."""
        posterior = float(evidence) + self._log_prior(values, likelihood)
        self._rows.append({**values, "log_evidence": float(evidence), "log_posterior": posterior})
        return posterior

    def _log_prior(self, values: dict[str, float], likelihood: Any) -> float:
        noisy = adopt(likelihood).overlap(self._n_classes) > 0
        return log_prior(values, self._n_classes, noisy=noisy)

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
