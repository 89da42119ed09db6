"""Whether expectation propagation is poor, by importance weights of draws of its Gaussian."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound
from graphuq.propagation.sign_propagation import Sites
from graphuq.utils.typing import Array

# At most this many draws of the Gaussian, and as many numbers in all of them together.
MAX_DRAWS, MAX_NUMBERS = 8000, 10**6

# An error of the log evidence that says that it is poor, within SIGMAS standard errors.
MAX_EVIDENCE_ERROR, SIGMAS = 0.1, 3.0

# From weights of a smaller effective number no error is estimated.
MIN_SIZE = 100.0

# Log of the draws over their effective number, for each dimension of the Gaussian, above which it
# is poor. In many dimensions weights differ although each probability is right.
MAX_UNEVENNESS = 0.5

# A leading term of the error of the log evidence above this says that further terms matter, too.
MAX_CORRECTION = 1.0


class WeightedDraws(NamedTuple):
    """Draws of the field, which follow the posterior with these weights."""

    u: Array
    """The field at the labeled nodes, shape (draws, J)."""
    weight: Array
    """Scaled to sum to 1, shape (draws,)."""
    log_evidence: float
    """Log of the mean weight before that."""

    @property
    def size(self) -> float:
        """The effective number of draws."""
        return 1 / float(self.weight @ self.weight)


def describe_poor_evidence(sites: Sites, bound: Bound) -> str:
    """Return why the log evidence is poor, "" if it is not."""
    if message := _describe_large_correction(sites):
        return message
    draws = _weigh_draws(sites, bound)
    if draws is None or draws.size < MIN_SIZE:
        return _describe_uneven_weights(draws, sites)
    error = abs(draws.log_evidence - sites.log_evidence)
    if error <= max(MAX_EVIDENCE_ERROR, SIGMAS / math.sqrt(draws.size)):
        return ""
    return describe_poor(f"the log evidence is off by {error:.2g}")


def _weigh_draws(sites: Sites, bound: Bound) -> WeightedDraws | None:
    """Return draws of the Gaussian and of the prior, or None if all weights are zero.

    The Gaussian may miss a mode of the posterior, the prior does not (a defensive mixture,
    Hesterberg 1995).
    """
    J, p = sites.root.shape
    n = max(1, min(MAX_DRAWS, MAX_NUMBERS // max(J, p)) // 2)
    rng = np.random.default_rng(0)
    of_gaussian = sites.mean + rng.standard_normal((n, sites.spread.shape[1])) @ sites.spread.T
    u = np.vstack([of_gaussian, rng.standard_normal((n, p)) @ sites.root.T])
    # densities over that of the prior: of the Gaussian, of the mixture, and of the posterior
    gaussian = u @ sites.shift - 0.5 * (u**2 @ sites.precision) - sites.log_integral
    mixture = np.logaddexp(gaussian, 0.0) - math.log(2)
    log_weight = bound.label_model.log_probability(u[:, :, None], bound.observed.y).sum(axis=1)
    log_weight -= mixture
    most = float(log_weight.max())
    if most == -math.inf:
        return None
    weight = np.exp(log_weight - most)
    return WeightedDraws(u, weight / weight.sum(), most + math.log(weight.mean()))


def _describe_uneven_weights(draws: WeightedDraws | None, sites: Sites) -> str:
    """Return why few draws have all the weight, "" if their number of dimensions explains it."""
    if draws is not None:
        unevenness = math.log(draws.weight.size / draws.size) / sites.root.shape[1]
        if unevenness <= MAX_UNEVENNESS:
            return ""
    return describe_poor("almost no draw of its Gaussian agrees with the labels")


def _describe_large_correction(sites: Sites) -> str:
    if abs(sites.correction) <= MAX_CORRECTION:
        return ""
    return describe_poor(
        f"the leading term of its error is {sites.correction:.2g} in the log evidence"
    )


def describe_poor(reason: str, instead: str = "gq.annealed_evidence") -> str:
    """Return the sentence that says so, and what to do."""
    return (
        f"expectation propagation is poor here, since {reason}: take {instead}, take more modes, "
        "or allow more noise (gamma) or flips"
    )
