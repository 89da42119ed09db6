"""What the page asks and answers, as objects of JSON, and what the session makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphuq.labeling.page.finishing import Finishing
from graphuq.labeling.page.given import MAX_NAME, Given, GivenError
from graphuq.labeling.page.items import Items
from graphuq.labeling.page.once import Once

# Points of the curve, rows of a history, and items of a random sample at most.
MAX_POINTS, MAX_ROWS, MAX_SAMPLE = 300, 50, 10_000


class Desk:
    """A session, its items, and what a page may do with them.

    Every method takes what a page gave and returns an object of JSON.

    Parameters
    ----------
    session : LabelingSession
    items : Items
    names : sequence of str, length N
        The name of each item.
    finishing : Finishing
    """

    def __init__(
        self, session: Any, items: Items, names: Sequence[str], finishing: Finishing
    ) -> None:
        self.session, self.items, self.names, self.finishing = session, items, names, finishing
        self._once = Once()
        self._nodes: dict[str, int] = {name: node for node, name in enumerate(names)}

    def give(self, body: bytes) -> Given:
        """Return what a request says."""
        return Given(body, len(self.names))

    def state(self) -> dict[str, Any]:
        """Return the classes, the progress, and how far the last step is."""
        return {
            "classes": [str(name) for name in self.session.classes],
            "progress": describe_progress(self.session.progress()),
            "goal": self.session.goal,
            "finish": self.finishing.describe(),
        }

    def ask(self, given: Given) -> dict[str, Any]:
        """Return the next question, and the state."""
        return self._with_next(given.name("who"), {})

    def answer(self, given: Given) -> dict[str, Any]:
        """Keep an answer, once, and return the next question."""
        who, node = given.name("who"), given.node()
        label = given.one_of("label", {str(name): name for name in self.session.classes})
        confidence = given.number("confidence", 0.01, 1, 1)

        def keep() -> dict[str, Any]:
            before = self.opinion(node)
            self.session.answer(node, label, confidence=confidence, who=who)
            return {"done": "answer", **self._named(node), "label": str(label),
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
            "last": {"done": "undo", **self._named(int(node))},
            "question": self.describe_question(self.session.look(int(node))),
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
        name = given.name("name")
        if name not in {str(known) for known in self.session.classes}:
            self.session.add_class(name)
        return {"state": self.state()}

    def aim(self, given: Given) -> dict[str, Any]:
        """Set the probability from which an item is decided, and the accuracy that is wanted."""
        self.session.set_threshold(given.number("threshold", 0.5, 0.9999))
        self.session.set_goal(given.number("goal", 0.01, 0.9999))
        return {"state": self.state()}

    def draw_sample(self, given: Given) -> dict[str, Any]:
        """Let the next questions come from a random draw."""
        size = given.whole("size", 1, min(MAX_SAMPLE, len(self.names)))
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
            "classes": [str(found.classes[k]) for k in order],
            "probability": [round(float(found.probability[k]), 4) for k in order],
            "epistemic": round(float(found.epistemic), 4),
        }

    def describe_question(self, question: Any) -> dict[str, Any]:
        """Return an item with what the page shows of it and of its labeled neighbors."""
        node = int(question.node)
        return {
            **self._named(node),
            "reason": question.reason,
            "information": question.information,
            "apart": bool(question.apart),
            "item": self.items.show(node),
            "neighbors": [
                {
                    **self._named(int(near.node)),
                    "label": str(near.label),
                    "weight": round(float(near.weight), 4),
                    "item": self.items.show_beside(int(near.node), node),
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


def describe_progress(progress: Any) -> dict[str, Any]:
    """Return the progress, without its curve."""
    forecast, interval, measured = progress.forecast, progress.interval, progress.measured
    return {
        "items": progress.n_items,
        "answers": progress.n_answers,
        "labeled": progress.n_labeled,
        "decided": progress.decided,
        "threshold": progress.threshold,
        "accuracy": progress.expected_accuracy,
        "interval": None if interval is None else [float(end) for end in interval],
        "measured": measured
        and {"right": measured.right, "total": measured.total, "interval": [*measured.interval]},
        "forecast": forecast
        and {
            "goal": forecast.goal,
            "answers": forecast.answers,
            "low": forecast.low,
            "high": forecast.high,
        },
        "busy": bool(progress.busy),
        "error": progress.error,
    }
