"""Probit: noise before the threshold, y(j) = S(u(j) + eta(j)), eta(j) ~ N(0, gamma^2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq.likelihoods import sign_kernels
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.sign_kernels import log_cdf as log_cdf
from graphuq.likelihoods.sign_kernels import log_cdf_slope as log_cdf_slope
from graphuq.likelihoods.sign_model import MAX_NOISE, MIN_NOISE, SignModel
from graphuq.utils import validation


def check_noise(gamma: object) -> float:
    """Return the deviation of the noise before the threshold, or refuse it."""
    remedy = (
        "smaller noise changes no label, take 0.01; larger noise leaves a label to chance, leave "
        "those labels out"
    )
    return validation.positive("gamma", gamma, MAX_NOISE, remedy, low=MIN_NOISE)


@dataclass(frozen=True)
class Probit(Likelihood):
    """Labels are signs of a noisy field: y(j) = S(u(j) + eta(j)), eta(j) ~ N(0, gamma^2).

    Phi(u) = - sum_j log Psi(y(j) u(j); gamma), with Psi the distribution function of
    N(0, gamma^2); Bertozzi et al. 2018, section 3.1. With t = y(j) u(j) / gamma its derivative is
    -y(j) / gamma phi(t) / Psi(t; 1), phi the density of N(0, 1). With K > 2 classes, each has a
    field and a noise of its own, and a label is the largest sum (the multinomial probit model,
    Girolami and Rogers 2006): y(j) = argmax_k u_k(j) + eta_k(j), so that

    Phi(u) = - sum_j log E_t prod_{k != c} Psi((u_c(j) - u_k(j)) / gamma + t; 1), c = y(j),

    t ~ N(0, 1), by quadrature.

    Parameters
    ----------
    gamma : float or "auto"
        Standard deviation of the noise, in units of the field, whose prior deviation is 1.
        Errors are likeliest where the field is near zero. With "auto", the default, the labels
        choose it: `graphuq.tune`.

    Raises
    ------
    ValueError
        ``gamma`` below 1e-8 or above 1e5.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.Probit(gamma=0.1)
    Probit(gamma=0.1)

    A node whose K fields are equal has each label with probability 1 / K:

    >>> import math
    >>> import numpy as np
    >>> from graphuq.likelihoods.contract import Observed
    >>> seen = Observed(y=np.array([2.0]), rows=np.array([0]), parameters=np.array([0.1]))
    >>> round(math.exp(-gq.Probit.potential(np.zeros((1, 4)), seen)), 6)
    0.25
    """

    gamma: float | str = validation.AUTO

    ranges: ClassVar[dict[str, tuple[float, float]]] = {"gamma": (0.01, 1.0)}
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(sign_kernels.potential)
    gradient: ClassVar[Any] = staticmethod(sign_kernels.gradient)

    def __post_init__(self) -> None:
        if not validation.is_auto(self.gamma):
            check_noise(self.gamma)

    def sign_model(self, n_classes: int = 2) -> SignModel:
        """Return noise gamma before the threshold, and no wrong signs after it."""
        del n_classes
        return SignModel(float(self.gamma), math.inf)
