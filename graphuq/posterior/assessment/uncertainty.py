"""The entropy of a label, split into what more labels would resolve and what none will."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.special import entr

from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

# The entropy and its two parts, in nats.
PARTS = ("total", "aleatoric", "epistemic")


def split_entropy(by_class: Array, aleatoric: Array) -> pd.DataFrame:
    """Return the entropy of each node's class and its two parts, in nats.

    total = H(p) of the predictive probabilities p = E[p(u)]; aleatoric = E[H(p(u))], with p(u) the
    probabilities of the true class given the field; epistemic = total - aleatoric, the mutual
    information of class and field (Depeweg et al. 2018, Decomposition of uncertainty in Bayesian
    deep learning), which is at least 0.

    Parameters
    ----------
    by_class : ndarray, shape (N, K)
    aleatoric : ndarray, shape (N,)
        Rounding and Monte Carlo errors above the total are cut off.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    >>> split_entropy(p, aleatoric=np.array([0.0, 0.6, 0.0])).round(2)
       total  aleatoric  epistemic
    0   0.69        0.0       0.69
    1   0.69        0.6       0.09
    2   0.00        0.0       0.00
    """
    import pandas as pd

    total = entr(by_class).sum(axis=1)
    own = aleatoric.clip(0, total)
    return pd.DataFrame({"total": total, "aleatoric": own, "epistemic": total - own})
