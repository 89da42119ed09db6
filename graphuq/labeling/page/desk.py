"""What the page asks and answers, as objects of JSON, and what the session makes of it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np

from graphuq.labeling.arguments import share
from graphuq.labeling.learner import START
from graphuq.labeling.page.finishing import Finishing
from graphuq.labeling.page.given import MAX_NAME, Given, GivenError
from graphuq.labeling.page.items import Items
from graphuq.labeling.page.once import Once
from graphuq.labeling.records import Question
from graphuq.labeling.session import LabelingSession

# Items of a random sample, at most; fewer if there are few items to learn from.
MAX_SAMPLE = 10_000


class Desk:
    """A session, its items, and what a page may do with them.

    Every method takes what a page gave and returns an object of JSON.

    Parameters
    ----------
    session : LabelingSession
    items : Items
    finishing : Finishing

    Attributes
    ----------
    names : list of str
        The name of each item.
    key : str
        A digest of the file of answers and the items, by which a page knows its own session.
    most_drawn : int
        Items of a random sample, at most.
    """

    def __init__(self, session: LabelingSession, items: Items, finishing: Finishing) -> None:
        self.session, self.items, self.finishing = session, items, finishing
        self.names = session.names
        parts = [str(session.path), *self.names]
        self.key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        self.most_drawn = max(1, min(MAX_SAMPLE, len(self.names) - START))
        self._once = Once()
        self._nodes = {name: node for node, name in enumerate(self.names)}

    def give(self, body: bytes) -> Given:
        """Return what a request says."""
        return Given(body, len(self.names))

    def state(self) -> dict[str, Any]:
        """Return the classes, the progress, and how far the last step is."""
        return {
            "classes": self.session.classes,
            "progress": asdict(self.session.progress()),
            "goal": self.session.goal,
            "risk": self.session.risk,
            "finish": self.finishing.describe(),
        }

    def ask(self, given: Given) -> dict[str, Any]:
        """Return the next question, and the state."""
        return self._with_next(given.name("who"), {})

    def answer(self, given: Given) -> dict[str, Any]:
        """Keep an answer, once, and return the next question."""
        who, node = given.name("who"), given.node()
        label = given.one_of("label", self.session.classes)
        confidence = given.number("confidence", 0.01, 1, 1)

        def keep() -> dict[str, Any]:
            before = self.opinion(node)
            self.session.answer(node, label, confidence=confidence, who=who)
            return {"done": "answer", **self._named(node), "label": label,
                    "confidence": confidence, "opinion": before}  # fmt: skip

        return self._with_next(who, self._once.do(given.once("answer"), keep))

    def skip(self, given: Given) -> dict[str, Any]:
        """Skip an item, once, and return the next question."""
        who, node = given.name("who"), given.node()

        def skip() -> dict[str, Any]:
            self.session.skip(node, who=who)
            return {"done": "skip", **self._named(node)}

        return self._with_next(who, self._once.do(given.once("skip"), skip))

    def undo(self, given: Given) -> dict[str, Any]:
        """Take back a person's last answer, once, and return its item to answer again."""
        who = given.name("who")
        node = self._once.do(given.once("undo"), lambda: self.session.undo(who))
        if node is None:
            return self._with_next(who, {"done": "nothing"})
        return {
            "last": {"done": "undo", **self._named(node)},
            "question": self.describe_question(self.session.look(node)),
            "state": self.state(),
        }

    def look(self, given: Given) -> dict[str, Any]:
        """Return an item that was chosen in a view, by its number."""
        return {"question": self.describe_question(self.session.look(given.node()))}

    def find(self, given: Given) -> dict[str, Any]:
        """Return an item by its name."""
        name = given.name("name")
        if name not in self._nodes:
            raise GivenError(f"there is no item {name!r}")
        return {"question": self.describe_question(self.session.look(self._nodes[name]))}

    def opinion_of(self, given: Given) -> dict[str, Any]:
        """Return what the model thinks of an item."""
        return {"opinion": self.opinion(given.node())}

    def add_class(self, given: Given) -> dict[str, Any]:
        """Add a class, unless there is one of this name."""
        self.session.add_class(given.name("name"))
        return {"state": self.state()}

    def aim(self, given: Given) -> dict[str, Any]:
        """Set the probability from which an item is decided, the goal and its risk."""
        threshold = share("threshold", given.number("threshold", 0.5, 1))
        self.session.set_goal(given.number("goal", 0, 1), given.number("risk", 0, 1))
        self.session.set_threshold(threshold)
        return {"state": self.state()}

    def draw_sample(self, given: Given) -> dict[str, Any]:
        """Let the next questions come from a random draw."""
        size = given.whole("size", 1, self.most_drawn)
        who = given.name("who")
        self._once.do(given.once("sample"), lambda: self.session.start_random_sample(size))
        return self._with_next(who, {})

    def finish(self, given: Given) -> dict[str, Any]:
        """Begin the last step."""
        self._once.do(given.once("finish"), self.finishing.start)
        return {"state": self.state()}

    def opinion(self, node: int) -> dict[str, Any] | None:
        """Return the probabilities of the classes, likeliest first."""
        found = self.session.opinion(node)
        if found is None:
            return None
        order = np.argsort(-found.probability, kind="stable")
        return {
            "classes": [found.classes[k] for k in order],
            "probability": found.probability[order].round(4).tolist(),
        }

    def describe_question(self, question: Question) -> dict[str, Any]:
        """Return an item with what the page shows of it and of its labeled neighbors."""
        return {
            **self._named(question.node),
            "reason": question.reason,
            "apart": question.apart,
            "item": self.items.show(question.node),
            "neighbors": [
                {
                    **self._named(near.node),
                    "label": near.label,
                    "item": self.items.show_beside(near.node, question.node),
                }
                for near in question.neighbors
            ],
        }

    def _with_next(self, who: str, last: dict[str, Any]) -> dict[str, Any]:
        question = self.session.question(who)
        return {
            "last": last,
            "question": None if question is None else self.describe_question(question),
            "state": self.state(),
        }

    def _named(self, node: int) -> dict[str, Any]:
        return {"node": node, "name": self.names[node][: 2 * MAX_NAME]}
