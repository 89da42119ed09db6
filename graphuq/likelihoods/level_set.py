"""Level-set: noise after the threshold, y(j) = S(u(j)) + eta(j), eta(j) ~ N(0, gamma^2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.sign_model import SignModel
from graphuq.utils import validation
from graphuq.utils.jit import cached_njit


@cached_njit
def _potential(u, seen):  # type: ignore[no-untyped-def]
    """Phi_ls(u; y) = sum_j |y(j) - S(u(j))|^2 / (2 gamma^2), section 3.2."""
    wrong = 0
    for j in range(seen.y.size):
        if u.shape[1] == 1:
            wrong += (u[seen.rows[j], 0] >= 0.0) != (seen.y[j] > 0.0)
        else:
            wrong += np.argmax(u[seen.rows[j]]) != seen.y[j]
    return wrong * 2.0 / seen.parameters[0] ** 2


@dataclass(frozen=True)
class LevelSet(Likelihood):
    """Labels are noisy signs of the field: y(j) = S(u(j)) + eta(j), eta(j) ~ N(0, gamma^2).

    Phi(u) = sum_j |y(j) - S(u(j))|^2 / (2 gamma^2): every node on the wrong side costs
    2 / gamma^2; Bertozzi et al. 2018, section 3.2. It has no gradient. With K > 2 classes, each has
    a field of its own, and a node whose largest is not that of its label costs as much:
    Phi(u) = 2 / gamma^2 #{j : argmax_k u_k(j) != y(j)}.

    Parameters
    ----------
    gamma : float or "auto"
        Standard deviation of the noise, in units of the labels -1 and +1. A wrong label has odds
        exp(-2 / gamma^2), wherever the field is.

    Raises
    ------
    ValueError
        ``gamma`` not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> gq.LevelSet(gamma=0.5)
    LevelSet(gamma=0.5)

    Two nodes of three classes, the second of them wrong:

    >>> from graphuq.likelihoods.contract import Observed
    >>> u = np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.3]])
    >>> seen = Observed(y=np.array([1.0, 2.0]), rows=np.array([0, 1]), parameters=np.array([0.5]))
    >>> gq.LevelSet.potential(u, seen)
    8.0
    """

    gamma: float | str = validation.AUTO

    ranges: ClassVar[dict[str, tuple[float, float]]] = {"gamma": (0.3, 2.0)}
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential: ClassVar[Any] = staticmethod(_potential)

    def __post_init__(self) -> None:
        if not validation.is_auto(self.gamma):
            validation.positive("gamma", self.gamma)

    def sign_model(self, n_classes: int = 2) -> SignModel:
        """Return noise 0 and cost 2 / gamma^2: labels flip after the threshold."""
        del n_classes
        return SignModel(0.0, 2 / float(self.gamma) ** 2)
