"""A labeling session: what to ask, what was answered, and what follows from it.

Methods return at once. Answers are on the disk before `answer` returns (`graphuq.labeling.answers`)
and are learned from in a background thread (`learner`), which keeps a list of questions ready.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.labels import Labels
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.sample import sample
from graphuq.inference.tune import tune
from graphuq.labeling.answers import AnswerFile
from graphuq.labeling.background import Background
from graphuq.labeling.book import Book
from graphuq.labeling.curve import Point, forecast, sum_above
from graphuq.labeling.learner import Learned, Learner, Task, labels_of
from graphuq.labeling.near import Near
from graphuq.labeling.reasons import say_why
from graphuq.labeling.records import (
    Answer,
    Measured,
    Opinion,
    Progress,
    Question,
    Suspect,
)
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.assessment.calibration import wilson_interval
from graphuq.posterior.sampled import Posterior
from graphuq.priors.kept_modes import default_rank
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Neighbors shown beside an item.
NEIGHBORS = 6

# Seconds after which an item that was shown and not answered is asked of others.
HELD_SECONDS = 1800.0


class LabelingSession:
    """Ask for labels of a graph's items, keep the answers, and learn from them.

    Parameters
    ----------
    graph : Graph or adjacency
    answers : path-like
        The file of answers. It is made if it does not exist; otherwise the session goes on.
    classes : sequence, optional
        Names of the classes, which are texts here. Classes of ``labels`` and of the file are added.
    names : sequence, optional
        Names of the items, all different; by default their positions.
    features : ndarray, shape (N, d), optional
        Part of the prior, as in ``graphuq sample``.
    labels : Labels, optional
        Labels known before; an answer replaces them.
    likelihood : likelihood, optional
        A sign model, by default `Probit` with its parameter chosen by the labels.
    rank : int, optional
        Number of modes.
    spectrum : Spectrum, optional
        The modes of the graph, if they are known.
    threshold : float
        The probability from which an item is decided.
    goal : float
        The expected accuracy to reach.
    seed : int

    Raises
    ------
    ValueError
        Names that repeat, labels of other items, a threshold or goal outside (0, 1), a file that
        another session writes or that is no file of answers to these items.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import graphuq as gq, tempfile
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> with LabelingSession(graph, path, classes=["upper", "lower"]) as session:
    ...     for _ in range(10):
    ...         node = session.question("Ann").node
    ...         session.answer(node, ["upper", "lower"][y[node]], who="Ann")
    ...     _ = session.wait(60.0)
    ...     progress = session.progress()
    >>> progress.n_labeled, progress.expected_accuracy > 0.9
    (10, True)
    """

    def __init__(
        self,
        graph: Any,
        answers: str | os.PathLike[str],
        *,
        classes: Sequence[Any] = (),
        names: Any = None,
        features: Any = None,
        labels: Labels | None = None,
        likelihood: Likelihood | None = None,
        rank: int | None = None,
        spectrum: Spectrum | None = None,
        threshold: float = 0.95,
        goal: float = 0.95,
        seed: int = 0,
    ) -> None:
        graph = Graph.of(graph)
        n = graph.n_nodes
        self._names = _names(names, n)
        self._lock = threading.RLock()
        self._given = {} if labels is None else _given(labels, n)
        self._classes: list[str] = []
        self._book, self._points = Book(), list[Point]()
        self._background: Background[Task] | None = None
        for name in (*classes, *([] if labels is None else labels.classes.tolist())):
            self.add_class(str(name))
        self.set_threshold(threshold)
        self.set_goal(goal)
        self._rng = np.random.default_rng(validation.integer("seed", seed, 0))
        self._seed = seed
        self._held: dict[str, tuple[Question, float]] = {}
        self._sample: list[int] = []
        self._disk_error: str | None = None
        self._learner_error: str | None = None
        self._version = 0
        self._spare = self._rng.permutation(n)
        self._file = AnswerFile(Path(answers), self._names)
        try:
            for row in self._file.answers:
                self._book.add(row)
                if row.label:
                    self.add_class(row.label)
            spectrum = _spectrum(graph, rank, spectrum)
            self._near, self._vectors = Near(graph), spectrum.vectors
            self._learner = Learner(spectrum, features, likelihood or Probit(), seed)
            # the first questions, before anything is learned
            self._learned = self._learner.begin(self._task())
        except BaseException:
            self._file.close()
            raise
        self._background = Background(self._learn)
        self._changed()

    # Questions

    def question(self, who: str) -> Question | None:
        """Return what to ask a person; None if nothing is left to ask.

        The same item is asked until it is answered or skipped. Nobody else is asked it meanwhile.

        Parameters
        ----------
        who : str
        """
        who = _text("who", who)
        with self._lock:
            now = time.monotonic()
            held = self._held.get(who)
            if held is not None and not self._is_done(held[0].node, who):
                self._held[who] = held[0], now
                return held[0]
            found = self._next(who, now)
            if found is None:
                self._held.pop(who, None)
                return None
            node, information, apart, why = found
            question = self._ask(node, information, apart, why)
            self._held[who] = question, now
            return question

    def _next(self, who: str, now: float) -> tuple[int, float | None, bool, str] | None:
        """Return an item to ask: of the random sample, of those that tell most, or any other."""
        others = {
            question.node
            for person, (question, since) in self._held.items()
            if person != who and now - since < HELD_SECONDS
        }

        def free(node: int) -> bool:
            return node not in others and not self._is_done(node, who)

        for node in self._sample:
            if free(node):
                return node, None, True, "random sample"
        closed = {*self._sample, *self._book.apart}
        for node, information in self._learned.questions:
            if node not in closed and free(node):
                how = "spread" if information is None else "information"
                return node, information, False, how
        # a person was faster than the learner
        view = self._learned.view
        if view is not None:
            sure = view.posterior.by_class.max(axis=1)
            for node in view.nodes[np.argsort(sure, kind="stable")].tolist():
                if node not in closed and free(node):
                    return node, None, False, "least sure"
        for node in self._spare.tolist():
            if node not in closed and free(node):
                return node, None, False, "random"
        return None

    def _is_done(self, node: int, who: str) -> bool:
        """Whether the item has a label, or this person has skipped it."""
        return self._label(node) is not None or self._book.was_seen(node, who)

    def _label(self, node: int) -> str | None:
        label = self._book.label(node)
        return self._given.get(node) if label is None else label

    def _ask(self, node: int, information: float | None, apart: bool, why: str) -> Question:
        labels = self._labels()
        return Question(
            node,
            say_why(why, information, max(len(self._classes), 2)),
            information,
            self._near.labeled(node, labels, NEIGHBORS),
            apart,
        )

    def look(self, node: int) -> Question:
        """Return an item that a person chose.

        Parameters
        ----------
        node : int
        """
        node = self._node(node)
        with self._lock:
            information = dict(self._learned.questions).get(node)
            return self._ask(node, information, self._is_apart(node), "chosen")

    def _is_apart(self, node: int) -> bool:
        return node in self._sample or node in self._book.apart

    # Answers

    def answer(self, node: int, label: str, *, confidence: float = 1.0, who: str) -> None:
        """Keep an answer; it is on the disk when this returns.

        Parameters
        ----------
        node : int
        label : str
            One of ``classes``.
        confidence : float in (0, 1]
            The probability that the label is right.
        who : str

        Raises
        ------
        ValueError
            Another class, a confidence outside (0, 1].
        OSError
            The answer cannot be kept.
        """
        node, who = self._node(node), _text("who", who)
        label = str(label)
        sure = validation.positive("confidence", confidence, 1.0)
        with self._lock:
            if label not in self._classes:
                raise ValueError(f"label must be one of {self._classes}, got {label!r}")
            self._keep(Answer(node, label, sure, who, _now(), self._is_apart(node)))

    def skip(self, node: int, *, who: str) -> None:
        """Ask a person no more for an item; a label that the person gave it is taken back."""
        node, who = self._node(node), _text("who", who)
        with self._lock:
            self._keep(Answer(node, "", None, who, _now(), self._is_apart(node)))

    def undo(self, who: str) -> int | None:
        """Take back a person's own last answer, and ask it again; return its item, or None."""
        who = _text("who", who)
        with self._lock:
            row = self._book.take_back(who)
            if row is None:
                return None
            self._keep(row._replace(when=_now()))
            question = self._ask(row.node, None, self._is_apart(row.node), "chosen")
            self._held[who] = question, time.monotonic()
            return row.node

    def _keep(self, row: Answer) -> None:
        """Write a row, and have it learned."""
        try:
            self._file.append(row)
        except OSError as error:
            self._disk_error = str(error)
            raise
        self._disk_error = None
        self._book.add(row)
        self._changed()

    def _changed(self) -> None:
        """Have the learner take notice, once it has begun."""
        if self._background is not None:
            self._version += 1
            self._background.give(self._task())

    def add_class(self, name: str) -> None:
        """Add a class, if it is new."""
        name = _text("class", name)
        with self._lock:
            if name in self._classes:
                return
            self._classes.append(name)
            self._book.set_classes(len(self._classes))
            self._changed()

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order in which they came."""
        return tuple(self._classes)

    def set_threshold(self, value: float) -> None:
        """Set the probability from which an item is decided."""
        self._threshold = _share("threshold", value)

    @property
    def goal(self) -> float:
        """The expected accuracy to reach."""
        return self._goal

    def set_goal(self, value: float) -> None:
        """Set the expected accuracy to reach."""
        self._goal = _share("goal", value)
        with self._lock:
            self._forecast = forecast(self._points, self._goal, len(self._names))

    def start_random_sample(self, k: int) -> None:
        """Ask k items next that are drawn at random, and keep their labels from the learner.

        Asked labels are no random draw: they are where the model is least sure. A random sample
        measures the accuracy, and calibrates sets of classes (`NodePosterior.prediction_sets`).

        Parameters
        ----------
        k : int
            Items without a label must be as many.
        """
        with self._lock:
            labeled, closed = self._labels(), {*self._sample, *self._book.apart}
            left = [n for n in range(len(self._names)) if n not in labeled and n not in closed]
            validation.integer("k", k, 1, len(left), f"{len(left)} items have no label")
            self._sample += self._rng.choice(left, k, replace=False).tolist()
            self._changed()

    # The learner

    def _labels(self) -> dict[int, str]:
        """Return all labels, those of the random sample among them."""
        return {**self._given, **self._book.labeled()}

    def _task(self) -> Task:
        closed = frozenset({*self._sample, *self._book.apart})
        labels = {node: label for node, label in self._labels().items() if node not in closed}
        sure = {node: p for node, p in self._book.confidence().items() if node in labels}
        return Task(self._version, labels, tuple(self._classes), closed, sure)

    def _learn(self, task: Task) -> None:
        """Learn, in the background; what goes wrong is shown, and does not stop the session."""
        try:
            for learned in self._learner.learn(task, self._has_newer):
                self._take(learned)
        except Exception as error:
            with self._lock:
                self._learner_error = f"{type(error).__name__}: {error}"
        else:
            with self._lock:
                self._learner_error = None

    def _has_newer(self) -> bool:
        return self._background is not None and self._background.has_newer

    def _take(self, learned: Learned) -> None:
        """Use what was learned."""
        with self._lock:
            self._learned = learned
            if learned.expected is None or learned.counts is None:
                return
            point = Point(learned.n_labels, learned.expected.accuracy, learned.counts)
            # what was taken back or learned again replaces its point
            self._points = [p for p in self._points if p.n_labels < point.n_labels] + [point]
            self._forecast = forecast(self._points, self._goal, len(self._names))

    def wait(self, seconds: float) -> bool:
        """Wait until the learner has caught up; return whether it has."""
        return self._background is not None and self._background.wait(seconds)

    # What is known

    def opinion(self, node: int) -> Opinion | None:
        """Return what the model thinks of an item, or None before the first approximation."""
        node, learned = self._node(node), self._learned
        for view in (learned.view, learned.whole):
            at = None if view is None else view.place(node)
            if view is not None and at is not None:
                return Opinion(
                    tuple(view.posterior.labels.classes.tolist()),
                    view.posterior.by_class[at].copy(),
                    float(view.epistemic[at]),
                )
        return None

    def progress(self) -> Progress:
        """Return how far the session is."""
        with self._lock:
            labels, learned, threshold = self._labels(), self._learned, self._threshold
            expected, decided = learned.expected, len(labels)
            if learned.counts is not None:
                decided += sum_above(learned.counts, threshold)
            return Progress(
                len(self._names),
                self._book.n_answers,
                len(labels),
                decided,
                threshold,
                None if expected is None else expected.accuracy,
                None if expected is None else expected.interval,
                self._measured(),
                tuple((p.n_labels, p.decided(threshold), p.expected) for p in self._points),
                self._forecast,
                self._background is not None and self._background.busy,
                self._disk_error or self._learner_error,
            )

    def _measured(self) -> Measured | None:
        """Return how many predictions of the random sample are right."""
        known = {node: label for node in self._book.apart if (label := self._label(node))}
        told = {node: self.opinion(node) for node in known}
        right = [
            opinion.classes[opinion.probability.argmax()] == known[node]
            for node, opinion in told.items()
            if opinion is not None
        ]
        if not right:
            return None
        ends = wilson_interval(np.array([sum(right)]), np.array([len(right)]))
        low, high = ends[:, 0].tolist()
        return Measured(sum(right), len(right), (low, high))

    def embedding(self) -> Array:
        """Return a place in the plane for each item, shape (N, 2): the first two modes."""
        places = np.zeros((len(self._names), 2))
        first = self._vectors[:, :2]
        places[:, : first.shape[1]] = first
        return places

    def states(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]] | None:
        """Return the likeliest class of each item, its epistemic part, and whether it is labeled.

        Classes are positions in ``classes``. None before the first approximation of all items.
        """
        with self._lock:
            view, labels = self._learned.whole, self._labels()
            if view is None:
                return None
            post = view.posterior
            place = {name: at for at, name in enumerate(self._classes)}
            own = np.array([place[name] for name in post.labels.classes.tolist()])
            found = own[post.by_class.argmax(axis=1)]
            labeled = np.zeros(found.size, dtype=bool)
            for node, label in labels.items():
                found[node], labeled[node] = place[label], True
            return found, view.epistemic, labeled

    def suspects(self, k: int = 20) -> list[Suspect]:
        """Return up to k labels to look at again: others contradict them."""
        view = self._learned.view
        if view is None:
            return []
        table = view.posterior.suspect_labels().head(k)
        return [
            Suspect(int(view.nodes[node]), str(label), str(likelier), float(wrong))
            for node, label, likelier, wrong in table[
                ["node", "label", "likelier", "probability_wrong"]
            ].itertuples(index=False)
        ]

    def confusion(self) -> Array | None:
        """Return how many unlabeled items are expected in each pair of classes, shape (K, K).

        Row a and column b: predicted as ``classes[a]``, and of ``classes[b]`` by their
        probabilities.
        """
        with self._lock:
            view, labels = self._learned.whole, self._labels()
            if view is None:
                return None
            post = view.posterior
            own = [self._classes.index(name) for name in post.labels.classes.tolist()]
            size = len(self._classes)
        hidden = np.setdiff1d(np.arange(post.n_nodes), list(labels))
        predicted = post.by_class[hidden].argmax(axis=1)
        found = np.zeros((size, size))
        for a, row in enumerate(own):
            found[row, own] = post.by_class[hidden[predicted == a]].sum(axis=0)
        return found

    def history(self, who: str | None = None, k: int = 50) -> list[Answer]:
        """Return the latest rows of the answers file, the last one first."""
        with self._lock:
            rows = [row for row in self._book.rows if who is None or row.who == who]
        return rows[::-1][:k]

    def labels(self) -> Labels:
        """Return the labels to learn from; those of the random sample are not among them.

        Raises
        ------
        ValueError
            Fewer than two classes.
        """
        with self._lock:
            return labels_of(self._task())

    def random_sample(self) -> Labels:
        """Return the labels of the random sample, for `NodePosterior.prediction_sets`.

        Raises
        ------
        ValueError
            There are none.
        """
        with self._lock:
            known = {node: label for node in self._book.apart if (label := self._label(node))}
            return Labels(list(known), list(known.values()), list(self._classes))

    def finish(self) -> Posterior:
        """Sample the posterior of all answers. This takes long; the session goes on meanwhile."""
        labels = self.labels()
        tuned = tune(self._learner.prior, labels, self._learner.likelihood)
        return sample(tuned.prior, tuned.likelihood, labels, seed=self._seed, progress=False)

    def close(self) -> None:
        """End the learner and close the file."""
        if self._background is not None:
            self._background.close()
        with self._lock:
            self._file.close()

    def __enter__(self) -> LabelingSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _node(self, node: int) -> int:
        return validation.integer("node", node, 0, len(self._names) - 1)


def _spectrum(graph: Graph, rank: int | None, known: Spectrum | None) -> Spectrum:
    """Return the modes of the graph, those given if they suffice."""
    if known is None:
        return Spectrum.of(graph, default_rank(graph) if rank is None else rank)
    if known.n_nodes != graph.n_nodes:
        raise ValueError(
            f"spectrum must be that of the graph's {graph.n_nodes} nodes, got {known.n_nodes}"
        )
    return known if rank is None else known.truncated(rank)


def _names(names: Any, n: int) -> list[str]:
    """Return the names of the items as texts."""
    found = [str(name) for name in (range(n) if names is None else names)]
    if len(found) != n:
        raise ValueError(f"names must name {n} items, got {len(found)}")
    if len(set(found)) != n:
        twice = next(name for at, name in enumerate(found) if name in found[:at])
        raise ValueError(f"names must differ, got {twice!r} twice: name each item otherwise")
    return found


def _given(labels: Labels, n: int) -> dict[int, str]:
    labels.require_within(n)
    return dict(zip(labels.nodes.tolist(), map(str, labels.values.tolist()), strict=True))


def _text(name: str, value: Any) -> str:
    """Refuse a name that is empty or would break a line."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{name} must be a text of one line, got {value!r}")
    return value


def _share(name: str, value: float) -> float:
    if not 0 < validation.real(name, value) < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
