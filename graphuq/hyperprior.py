"""How plausible parameters are before labels are seen: weak, but not flat."""

from __future__ import annotations

import math
from collections.abc import Mapping

from graphuq.whittle_matern import MEAN_ALPHA

# Of more than two classes these are thought exponential too, with the middle of their range on the
# scale of logarithms for a mean.
SCALES = ("tau", "gamma")


def log_prior(
    values: Mapping[str, float], ranges: Mapping[str, tuple[float, float]], n_classes: int
) -> float:
    """Return the log of the prior density of parameters, up to a constant.

    Alpha is exponential with mean 4. Of two classes it is - alpha / 4, a density on alpha's own
    scale, and all else is flat on the logarithmic scale on which it is looked for.

    Of more classes a label of each may be all that there is, which says so little that the largest
    density decides; and that of an exponential on its own scale is at the roughest alpha of all. So
    densities are those of logarithms, log x - x / m, which are largest at the mean m; tau and gamma
    have one too, and without labels stay in the middle of their ranges.

    Parameters
    ----------
    values : mapping from name to float
        Those that are looked for.
    ranges : mapping from name to (float, float)
        Where.
    n_classes : int

    Examples
    --------
    >>> log_prior({"alpha": 2.0, "gamma": 0.3}, {"alpha": (1, 10), "gamma": (0.01, 1)}, 2)
    -0.5
    >>> at = [log_prior({"gamma": gamma}, {"gamma": (0.01, 1)}, 3) for gamma in (0.05, 0.1, 0.2)]
    >>> at.index(max(at))
    1
    """
    if n_classes == 2:
        return -values.get("alpha", 0.0) / MEAN_ALPHA
    means = {name: math.sqrt(math.prod(ranges[name])) for name in SCALES if name in values}
    means |= {"alpha": MEAN_ALPHA} if "alpha" in values else {}
    return sum(math.log(values[name]) - values[name] / mean for name, mean in means.items())
