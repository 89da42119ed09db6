"""A labeling session: what to ask, what was answered, and what follows from it.

Methods return at once. Answers are on the disk before `answer` returns (`graphuq.labeling.answers`)
and are learned from in a background thread (`learning`), which keeps a list of questions ready.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.sample import sample
from graphuq.inference.tune import tune
from graphuq.labeling import findings
from graphuq.labeling.answers import AnswerFile
from graphuq.labeling.arguments import (
    check_likelihood,
    check_names,
    check_rank,
    item_names,
    labels_before,
    one_line,
    share,
)
from graphuq.labeling.course import Course
from graphuq.labeling.known_labels import KnownLabels
from graphuq.labeling.learner import Learner, View
from graphuq.labeling.learning import Learning
from graphuq.labeling.questions import Questions
from graphuq.labeling.records import Answer, Opinion, Progress, Question, Suspect
from graphuq.labels.labels import Labels
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.features import check_node_features
from graphuq.utils.typing import Array


class LabelingSession:
    """Ask for labels of a graph's items, keep the answers, and learn from them.

    Parameters
    ----------
    graph : Graph or adjacency
    answers : path-like
    classes, names, features, linked, labels, likelihood, rank, spectrum : optional
    threshold, goal, risk, seed : optional
        As in `graphuq.label`.

    Attributes
    ----------
    path : Path
        The file of answers.
    names : list of str
        Names of the items.

    Raises
    ------
    TypeError
        A graph, features, labels, a likelihood or a spectrum of another type.
    ValueError
        Names that repeat, labels of other items, more modes than there are, a likelihood without a
        sign model, a threshold, goal or risk outside (0, 1), a file that another session writes or
        that is no file of answers to these items.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import graphuq as gq, tempfile
    >>> from pathlib import Path
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
        linked: bool = False,
        labels: Labels | None = None,
        likelihood: Likelihood | None = None,
        rank: int | None = None,
        spectrum: Spectrum | None = None,
        threshold: float | None = None,
        goal: float | None = None,
        risk: float | None = None,
        seed: int = 0,
    ) -> None:
        graph, path = Graph.of(graph), validation.file_path("answers", answers)
        n = graph.n_nodes
        self.names = item_names(names, n)
        likelihood = check_likelihood(likelihood)
        if features is not None:
            features = check_node_features(features, n)
        if validation.boolean("linked", linked) and features is None:
            raise ValueError("linked says that the graph is known beside features: give features=")
        rank = check_rank(rank, spectrum, graph)
        self._lock = threading.RLock()
        self._known = KnownLabels(n, {} if labels is None else labels_before(labels, n))
        for name in check_names("classes", classes):
            self._known.add_class(name)
        for name in [] if labels is None else labels.classes.tolist():
            self._known.add_class(str(name))
        threshold = None if threshold is None else share("threshold", threshold)
        goal = None if goal is None else share("goal", goal)
        risk = None if risk is None else share("risk", risk)
        self._rng = np.random.default_rng(validation.integer("seed", seed, 0))
        self._seed = seed
        # the newest view whose labels were looked at, and these, the most doubtful first
        self._doubted: tuple[View | None, list[Suspect]] = (None, [])
        self._file = AnswerFile(path, self.names)
        self.path = self._file.path
        try:
            self._course = Course(
                self._file, self.names, self._known, threshold, goal, risk, self._lock
            )
            self._questions = Questions(graph, self._known, self._rng)
            spectrum = Spectrum.of(graph, rank) if spectrum is None else spectrum.truncated(rank)
            self._vectors = spectrum.vectors
            links = graph if linked else None
            self._learner = Learner(spectrum, features, likelihood, seed, links)
            self._learning = Learning(self._learner, self._known, self._course, self._lock)
        except BaseException:
            self._file.close()
            raise

    # Questions

    def question(self, who: str) -> Question | None:
        """Return what to ask a person; None if nothing is left to ask.

        The same item is asked until it is answered or skipped. Nobody else is asked it meanwhile.
        """
        who = one_line("who", who)
        with self._lock:
            return self._questions.ask(who, self._learning.learned)

    def look(self, node: int) -> Question:
        """Return an item that a person chose.

        Parameters
        ----------
        node : int
        """
        node = self._node(node)
        with self._lock:
            information = dict(self._learning.learned.questions).get(node)
            return self._questions.describe(node, information, "chosen")

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
        node, who = self._node(node), one_line("who", who)
        label = str(label)
        sure = validation.positive("confidence", confidence, 1.0)
        with self._lock:
            if label not in self._known.classes:
                raise ValueError(f"label must be one of {self._known.classes}, got {label!r}")
            self._keep_once(self._known.row(node, label, sure, who))

    def skip(self, node: int, *, who: str) -> None:
        """Ask a person no more for an item; a label that the person gave it is taken back."""
        node, who = self._node(node), one_line("who", who)
        with self._lock:
            self._keep_once(self._known.row(node, "", 0.0, who))

    def undo(self, who: str) -> int | None:
        """Take back a person's own last answer, and ask it again; return its item, or None."""
        who = one_line("who", who)
        with self._lock:
            row = self._known.book.take_back(who)
            if row is None:
                return None
            self._keep(self._known.row(row.node, row.label, row.confidence, who))
            self._questions.ask_again(who, row.node)
            return row.node

    def _keep_once(self, row: Answer) -> None:
        """Write a row, unless the person said the same last: it may be sent twice."""
        if not self._known.book.has(row):
            self._keep(row)

    def _keep(self, *rows: Answer) -> None:
        """Write rows, and have them learned."""
        self._file.append(*rows)
        for row in rows:
            self._known.add(row)
        self._learning.notice()

    def add_class(self, name: str) -> None:
        """Add a class, if it is new; the next session has it, too."""
        if self._course.add_class(name):
            self._learning.notice()

    @property
    def prior(self) -> GaussianPrior:
        """The prior, whose parameters the labels choose."""
        return self._learner.prior

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order in which they came."""
        return tuple(self._known.classes)

    def set_threshold(self, value: float) -> None:
        """Set the probability from which an item is decided."""
        self._course.set_threshold(value)

    @property
    def goal(self) -> float:
        """The accuracy to reach."""
        return self._course.curve.goal

    @property
    def risk(self) -> float:
        """The accepted probability that the goal is not reached."""
        return self._course.curve.risk

    def set_goal(self, value: float, risk: float | None = None) -> None:
        """Set the accuracy to reach, and the accepted probability that it is not."""
        self._course.set_goal(value, risk)

    def start_random_sample(self, k: int) -> None:
        """Ask k items next that are drawn at random, and keep their labels from the learner.

        Asked labels are not a random draw: they are where the model is least sure. A random sample
        measures the accuracy, and calibrates sets of classes (`Posterior.prediction_sets`).

        Parameters
        ----------
        k : int
            Items without a label must be as many, and ten of all must stay to learn from.

        Raises
        ------
        ValueError
            Fewer items have no label, or fewer would stay.
        OSError
            The file cannot be written, and nothing is drawn.
        """
        with self._lock:
            self._keep(*self._known.draw(k, self._rng))
            self._questions.turn_to_sample()

    def wait(self, seconds: float) -> bool:
        """Wait until the learner has caught up; return whether it has."""
        return self._learning.wait(seconds)

    # What is known

    def opinion(self, node: int) -> Opinion | None:
        """Return what the model thinks of an item, or None before the first approximation."""
        return findings.find_opinion(self._learning.learned, self._node(node))

    def progress(self) -> Progress:
        """Return how far the session is."""
        with self._lock:
            now, error = self._learning, self._file.error or self._learning.error
            return findings.measure_progress(
                now.learned, self._known, self._course, now.busy, error
            )

    def curve(self) -> list[tuple[int, int, float]]:
        """Return the decided items and the expected accuracy after each number of labels."""
        with self._lock:
            return self._course.points()

    def embedding(self) -> Array:
        """Return a place in the plane for each item, shape (N, 2): ranks in the first two modes."""
        return findings.place_in_plane(self._vectors)

    def states(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]] | None:
        """Return the likeliest class of each item, its epistemic part, and whether it is labeled.

        Classes are positions in ``classes``. None before the first approximation of all items.
        """
        with self._lock:
            return findings.find_states(
                self._learning.learned, self._known.classes, self._known.labels()
            )

    def suspects(self, k: int = 20) -> list[Suspect]:
        """Return labels to look at again.

        First come up to k items on whose label people do not agree, then the k most doubtful
        labels. The first call after an answer may take some seconds.
        """
        with self._lock:
            ties = findings.find_ties(self._known.book, k)
            view, (known, found) = self._learning.learned.view, self._doubted
        if view is not known:
            found = [] if view is None else findings.find_suspects(view)
            with self._lock:
                self._doubted = view, found
        return [*ties, *found[:k]]

    def confusion(self) -> Array | None:
        """Return how many unlabeled items are expected in each pair of classes, shape (K, K).

        Row a and column b: predicted as ``classes[a]``, and of ``classes[b]`` by their
        probabilities.
        """
        with self._lock:
            learned, classes, labels = self._learning.learned, self.classes, self._known.labels()
        return findings.expect_confusion(learned, classes, labels)

    def history(self, who: str | None = None, k: int = 50) -> list[Answer]:
        """Return the latest rows of the answers file, the last one first."""
        with self._lock:
            return self._known.book.latest(who, k)

    def table(self) -> pd.DataFrame:
        """Return one row for each item: ``id``, ``label``, ``confidence`` and ``who`` gave it.

        Once all items were looked at, also the class ``prediction`` and its ``probability``.
        """
        with self._lock:
            return findings.tabulate(self.names, self._known, self._learning.learned.whole)

    def labels(self) -> Labels:
        """Return the labels to learn from; those of the random sample are not among them.

        Raises
        ------
        ValueError
            Fewer than two classes.
        """
        with self._lock:
            return self._known.to_labels()

    def random_sample(self) -> Labels | None:
        """Return the certain labels of the random sample, or None if there are none.

        `Posterior.prediction_sets` takes them.
        """
        with self._lock:
            return self._known.to_sample()

    @property
    def drawn(self) -> list[int]:
        """Items of the random sample, labeled or not."""
        with self._lock:
            return sorted(self._known.apart)

    def finish(self) -> Posterior:
        """Sample the posterior of all answers. This takes long; the session goes on meanwhile."""
        labels = self.labels()
        tuned = tune(self.prior, labels, self._learner.likelihood)
        return sample(tuned.prior, tuned.likelihood, labels, seed=self._seed, progress=False)

    def close(self) -> None:
        """End the learner and close the file, with what the next session needs beside it."""
        self._learning.close()
        self._course.close()

    def __enter__(self) -> LabelingSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _node(self, node: int) -> int:
        return validation.integer("node", node, 0, len(self.names) - 1)
