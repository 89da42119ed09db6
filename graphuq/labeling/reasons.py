"""Why an item is asked, in words that name no class: the page must not lead."""

from __future__ import annotations

import numpy as np

# Shares of the most that one answer can tell, log K, from which it tells much, or something.
MUCH, SOME = 0.5, 0.2

SENTENCES = {
    "random sample": "It was drawn at random, to measure how often the model is right.",
    "spread": "It stands for many items like it, and no label is near it yet.",
    "representative": "It stands for many items like it.",
    "second": "Another person labeled it, and a second answer makes sure.",
    "random": "It was drawn at random while the model gets ready.",
    "least sure": "It is one of the items of which the model is least sure.",
    "chosen": "You chose it.",
    "again": "You took your answer back.",
}


def say_why(why: str, information: float | None, n_classes: int) -> str:
    """Return why an item is asked.

    Parameters
    ----------
    why : str
        "information", or a key of `SENTENCES`.
    information : float or None
        The mutual information of the answer and the field, in nats.
    n_classes : int

    Examples
    --------
    >>> say_why("information", 0.4, 2)
    'Its answer tells much about the items like it: 58% of what one answer can tell.'
    >>> say_why("chosen", None, 2)
    'You chose it.'
    """
    if why != "information" or information is None:
        return SENTENCES[why]
    share = information / np.log(n_classes)
    word = "much" if share >= MUCH else "something" if share >= SOME else "a little"
    return (
        f"Its answer tells {word} about the items like it: {share:.0%} of what one answer can tell."
    )
