"""What a labeling session tells its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from graphuq.utils.typing import Array


@dataclass(frozen=True)
class Neighbor:
    """A labeled item near the one asked.

    Attributes
    ----------
    node : int
    label : str
    weight : float
        From 0 to 1: the product of the edges' weights along the best path, relative to the heaviest
        edge of the graph.
    """

    node: int
    label: str
    weight: float


@dataclass(frozen=True)
class Question:
    """An item to label.

    Attributes
    ----------
    node : int
    reason : str
        Why this item, in one sentence that names no class.
    information : float or None
        The mutual information of the answer and the field, in nats; None without a posterior.
    neighbors : tuple of Neighbor
        The nearest labeled items, nearest first.
    apart : bool
        Whether the item belongs to the random sample that is kept from the learner.
    """

    node: int
    reason: str
    information: float | None
    neighbors: tuple[Neighbor, ...]
    apart: bool


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the model thinks of an item.

    Attributes
    ----------
    classes : tuple of str
    probability : ndarray, shape (K,)
    """

    classes: tuple[str, ...]
    probability: Array


@dataclass(frozen=True)
class Forecast:
    """How many more answers a goal takes.

    Attributes
    ----------
    goal : float
        The expected accuracy to reach.
    answers, low, high : int
        The median, and the ends of a 90% interval.
    """

    goal: float
    answers: int
    low: int
    high: int


@dataclass(frozen=True)
class Stop:
    """Whether the goal is reached.

    Attributes
    ----------
    goal, risk : float
        The accuracy to reach, and the accepted probability that it is not.
    probability : float
        That of an accuracy of at least ``goal`` on the items without a label.
    reached : bool
        Whether ``probability`` is at least 1 - ``risk``.
    waiting : int
        Items of the random sample that nobody answered yet; they count as wrong.
    sample : int or None
        A random sample of this size may show that the goal is reached. None while items wait, and
        if it would have to be larger than the number of labels so far.
    """

    goal: float
    risk: float
    probability: float
    reached: bool
    waiting: int
    sample: int | None


@dataclass(frozen=True)
class Measured:
    """The accuracy on the random sample that was labeled apart.

    Attributes
    ----------
    right, total, drawn : int
        How many predictions are right, among how many items with a certain label, and how many
        items were drawn.
    current : int
        How many of the labels correct the expected accuracy: the items were drawn lately.
    interval : tuple of float
        Wilson's 95% interval of the accuracy.
    """

    right: int
    total: int
    drawn: int
    current: int
    interval: tuple[float, float]


@dataclass(frozen=True)
class Progress:
    """How far a session is.

    Attributes
    ----------
    n_items, n_answers, n_labeled : int
        Items, rows of the answers file, and items that have a label.
    decided : int
        Items with a label, or with a class whose probability is at least ``threshold``.
    threshold : float
    expected_accuracy : float or None
        The expected share of right predictions among items without a label, by the probabilities
        and by the random sample. None before the first approximation.
    interval : tuple of float or None
        A 90% interval of this share.
    measured : Measured or None
        The accuracy on the random sample, where there is one.
    forecast : Forecast or None
        None where the curve allows none.
    stop : Stop or None
        Whether to stop. None before the first approximation.
    busy : bool
        Whether the learner has answers yet to learn from.
    error : str or None
        What went wrong on disk or in the learner.
    """

    n_items: int
    n_answers: int
    n_labeled: int
    decided: int
    threshold: float
    expected_accuracy: float | None
    interval: tuple[float, float] | None
    measured: Measured | None
    forecast: Forecast | None
    stop: Stop | None
    busy: bool
    error: str | None


class Suspect(NamedTuple):
    """A label to look at again.

    Attributes
    ----------
    node : int
    label, likelier : str
        Where people do not agree, two of their labels.
    probability_mistake : float or None
        None where people do not agree.
    suspect : bool
        Whether it is one of those that are probably mistakes, or people do not agree.
    """

    node: int
    label: str
    likelier: str
    probability_mistake: float | None
    suspect: bool


class Answer(NamedTuple):
    """A row of the answers file.

    Attributes
    ----------
    node : int
    label : str
        Empty for an item that was skipped or whose label is taken back.
    confidence : float or None
        The probability that the label is right, as its annotator said. With an empty label, 0 for
        an item that was skipped, and None for one whose label is taken back.
    who : str
        Empty where an item is drawn for the random sample.
    when : str
        In ISO 8601, with the time zone.
    apart : bool
        Whether the item belongs to the random sample.
    """

    node: int
    label: str
    confidence: float | None
    who: str
    when: str
    apart: bool
