"""What is asked, and of whom."""

from __future__ import annotations

import time

import numpy as np

from graphuq.graphs import Graph
from graphuq.labeling.known_labels import KnownLabels
from graphuq.labeling.learner import Learned
from graphuq.labeling.near import Near
from graphuq.labeling.reasons import say_why
from graphuq.labeling.records import Question

# Neighbors shown beside an item.
NEIGHBORS = 6

# Seconds after which an item that was shown and not answered is asked of others, if they have
# nothing else to do, and in any case.
SPARED_SECONDS, HELD_SECONDS = 60.0, 1800.0


class Questions:
    """The questions of a session: no item is asked of two people at once.

    Parameters
    ----------
    graph : Graph
    known : KnownLabels
    rng : numpy.random.Generator
    """

    def __init__(self, graph: Graph, known: KnownLabels, rng: np.random.Generator) -> None:
        self._known, self._near = known, Near(graph)
        self._spare = rng.permutation(graph.n_nodes)
        # what each person was asked, and when
        self._held: dict[str, tuple[Question, float]] = {}

    def ask(self, who: str, learned: Learned) -> Question | None:
        """Return what to ask a person: the same until it is done; None if nothing is left."""
        now = time.monotonic()
        held = self._held.get(who)
        if held is not None and self._is_open(held[0].node, who, learned):
            self._held[who] = held[0], now
            return held[0]
        found = self._next(who, now, learned, HELD_SECONDS)
        found = found or self._next(who, now, learned, SPARED_SECONDS)
        if found is None:
            self._held.pop(who, None)
            return None
        question = self.describe(*found)
        self._held[who] = question, now
        return question

    def ask_again(self, who: str, node: int) -> None:
        """Ask a person this item next."""
        self._held[who] = self.describe(node, None, "again"), time.monotonic()

    def turn_to_sample(self) -> None:
        """Ask those who hold a question for the random sample next, which was just drawn."""
        self._held = {
            who: (self.describe(held.node, None, "random sample"), since)
            for who, (held, since) in self._held.items()
            if held.node in self._known.book.apart
        }

    def describe(self, node: int, information: float | None, why: str) -> Question:
        """Return an item with its labeled neighbors and why it is asked."""
        near = self._near.labeled(node, self._known.labels(), NEIGHBORS)
        if why == "spread" and near:  # labels came since it was chosen
            why = "representative"
        return Question(
            node,
            say_why(why, information, max(len(self._known.classes), 2)),
            information,
            near,
            node in self._known.book.apart,
        )

    def _is_open(self, node: int, who: str, learned: Learned) -> bool:
        """Whether a person may be asked: the item has no label, or an improbable one of another."""
        others = self._known.book.said_of(node)
        second = node in learned.improbable and len(others) == 1 and who not in others
        seen = self._known.book.was_seen(node, who)
        return not seen and (second or self._known.label(node) is None)

    def _next(
        self, who: str, now: float, learned: Learned, spared: float
    ) -> tuple[int, float | None, str] | None:
        """Return an item to ask, with its information and why: a word of `say_why`.

        The random sample comes first, then improbable labels of others, then informative items.
        Items that others were shown within the seconds ``spared`` are left to them.
        """
        others = {
            question.node
            for person, (question, since) in self._held.items()
            if person != who and now - since < spared
        }

        def free(node: int) -> bool:
            return node not in others and self._is_open(node, who, learned)

        for node in self._known.book.apart:
            if free(node):
                return node, None, "random sample"
        for node in learned.improbable:
            if free(node):
                return node, None, "second"
        apart = self._known.apart
        for node, information in learned.questions:
            if node not in apart and free(node):
                return node, information, "spread" if information is None else "information"
        # a person was faster than the learner
        view = learned.view
        if view is not None:
            sure = view.posterior.by_class.max(axis=1)
            for node in view.nodes[np.argsort(sure, kind="stable")].tolist():
                if node not in apart and free(node):
                    return node, None, "least sure"
        for node in self._spare.tolist():
            if node not in apart and free(node):
                return node, None, "random"
        return None
