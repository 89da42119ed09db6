"""Noise before the threshold and flips after it: probit whose labels may be plainly wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from graphuq.likelihoods import sign_kernels
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.probit import check_noise
from graphuq.likelihoods.sign_model import SignModel
from graphuq.utils import validation


@dataclass(frozen=True)
class NoisyProbit(Likelihood):
    """Probit labels, some of them flipped: y(j) = +-S(u(j) + eta(j)), minus at ``flip_rate``.

    Phi(u) = - sum_j log(f + (1 - 2 f) Psi(y(j) u(j); gamma)) with flip rate f: probit (section 3.1
    of Bertozzi et al. 2018) for f = 0, and the level-set model of gamma_ls^2 = 2 / log(1/f - 1) as
    gamma goes to 0. With K > 2 classes a flipped label is any of the K - 1 others alike:

    Phi(u) = - sum_j log((1 - f) P(j) + f / (K - 1) (1 - P(j))),

    with P(j) the probability of y(j) under `Probit`.

    Parameters
    ----------
    gamma : float or "auto"
        Standard deviation of the noise on the field, before the threshold.
    flip_rate : float in (0, 1/2) or "auto"
        Probability that a label is wrong wherever the field is.

    Raises
    ------
    ValueError
        ``gamma`` below 1e-8 or above 1e5, ``flip_rate`` outside (0, 1/2).

    Examples
    --------
    >>> import math
    >>> import graphuq as gq
    >>> gq.NoisyProbit(gamma=0.1, flip_rate=0.05)
    NoisyProbit(gamma=0.1, flip_rate=0.05)

    A label has at least probability f / (K - 1), wherever the K fields are:

    >>> import numpy as np
    >>> from graphuq.likelihoods.contract import Observed
    >>> seen = Observed(y=np.array([2.0]), rows=np.array([0]), parameters=np.array([0.1, 0.06]))
    >>> round(math.exp(-gq.NoisyProbit.potential(np.array([[9.0, 0.0, 0.0, 0.0]]), seen)), 6)
    0.02

    The odds of one wrong label are then 0.02 to 0.94:

    >>> noise, cost = gq.NoisyProbit(gamma=0.1, flip_rate=0.06).sign_model(n_classes=4)
    >>> round(0.94 * math.exp(-cost), 6)
    0.02
    """

    gamma: float | str = validation.AUTO
    flip_rate: float | str = validation.AUTO

    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        "gamma": (0.01, 1.0),
        # The evidence is often as large without mistakes, which are overlap of the classes then:
        # from 0.001 on a seventh fewer are found in ten public sets.
        "flip_rate": (0.02, 0.3),
    }
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(sign_kernels.noisy_potential)
    gradient: ClassVar[Any] = staticmethod(sign_kernels.noisy_gradient)

    def __post_init__(self) -> None:
        if not validation.is_auto(self.gamma):
            check_noise(self.gamma)
        if validation.is_auto(self.flip_rate):
            return
        if not 0 < validation.real("flip_rate", self.flip_rate) < 0.5:
            raise ValueError(f"flip_rate must lie in (0, 1/2), got {self.flip_rate}")

    def sign_model(self, n_classes: int = 2) -> SignModel:
        """Return gamma and V, where exp(-V) = f / ((K - 1) (1 - f)) is the odds of a wrong sign."""
        return SignModel.flipping(float(self.gamma), float(self.flip_rate), n_classes)
