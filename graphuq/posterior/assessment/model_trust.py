"""Whether a model can be trusted: what it predicts, beside always the most frequent class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.posterior.assessment.calibration import wilson_interval
from graphuq.utils.typing import Array
from graphuq.utils.words import choose_form, count

VERDICTS = {
    "green": "as far as the labels tell, the predictions can be trusted.",
    "amber": "use the predictions with care.",
    "red": "do not use the predictions.",
}

# Fewer predictions are never called worse than the most frequent class: among few labels, leaving
# one out tips the balance against its class.
MIN_JUDGED = 20

# Confidence that is so little above the interval is not called too high.
TOLERANCE = 0.01


class ModelTrust(NamedTuple):
    """A traffic light for the model, its reasons, and the counts behind it.

    Attributes
    ----------
    light : {"green", "amber", "red"}
        Green if, by the 95% interval of the accuracy, at most half as many predictions are wrong
        as if all were the most frequent class, and the mean confidence is not above the interval;
        red if more are wrong than then, from 20 predictions on; amber otherwise.
    reasons : tuple of str
    judged, right, most_frequent : int
        How many predictions were compared with a class, how many are right, and how many would be
        right if all were the most frequent class.
    interval : (float, float)
        Wilson's 95% interval of the accuracy; NaN if nothing was judged.
    confidence : float
        The mean confidence.
    """

    light: str
    reasons: tuple[str, ...]
    judged: int
    right: int
    most_frequent: int
    interval: tuple[float, float]
    confidence: float

    @property
    def verdict(self) -> str:
        """What the light means in words."""
        return VERDICTS[self.light]

    def to_dict(self) -> dict[str, Any]:
        """Return the light, its meaning, its reasons and the counts, as files hold them."""
        return {"verdict": self.verdict, **self._asdict()}


def trust_in_model(
    by_class: Array, truth: NDArray[np.integer[Any]], judged: str, source: str
) -> ModelTrust:
    """Return how far a model can be trusted, given classes that it did not see.

    Parameters
    ----------
    by_class : ndarray, shape (m, K)
        The probability of each class.
    truth : ndarray of int, shape (m,)
        The true class, from 0.
    judged, source : str
        What was predicted, with its verb, and from what.
    """
    n = truth.size
    if np.unique(truth).size < 2:
        why = "Not known: fewer than two classes have two labels, which could tell."
        return unknown(why)
    right = int((by_class.argmax(axis=1) == truth).sum())
    most_frequent = int(np.bincount(truth).max())
    low, high = (float(end) for end in wilson_interval(np.array([right]), np.array([n]))[:, 0])
    base, confidence = most_frequent / n, float(by_class.max(axis=1).mean())
    reasons = [
        f"{right:,} of {judged} predicted correctly {source}: {right / n:.1%}, with a 95% interval "
        f"from {low:.1%} to {high:.1%}. Always predicting the most frequent class would be right "
        f"in {base:.1%}."
    ]
    worse, better = high < base and n >= MIN_JUDGED, low >= (1 + base) / 2
    if worse:
        reasons.append(
            "The model predicts worse than that: the graph and the features may say little about "
            "the classes, or labels may be wrong."
        )
    elif not better:
        reasons.append(
            f"{count(n, 'prediction').capitalize()} {choose_form(n, 'does', 'do')} not show that "
            + ("the model is better than that." if low <= base else
               "the model is wrong at most half as often.")
        )  # fmt: skip
    sure = confidence > high + TOLERANCE
    if sure:
        reasons.append(
            f"The model is too sure: its mean confidence is {confidence:.1%}, above the interval."
        )
    light = "red" if worse else "green" if better and not sure else "amber"
    return ModelTrust(light, tuple(reasons), n, right, most_frequent, (low, high), confidence)


def unknown(why: str) -> ModelTrust:
    """Return the light of a model that nothing can be said of."""
    return ModelTrust("amber", (why,), 0, 0, 0, (np.nan, np.nan), np.nan)
