"""What a session knows: what the model says of the items, and how far the session is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.inference.find_mistakes import with_mistakes
from graphuq.labeling.book import Book
from graphuq.labeling.course import Course
from graphuq.labeling.curve import sum_above
from graphuq.labeling.known_labels import KnownLabels
from graphuq.labeling.learner import Learned, View
from graphuq.labeling.records import Measured, Opinion, Progress, Suspect
from graphuq.posterior.assessment.calibration import wilson_interval
from graphuq.utils.typing import Array


def find_opinion(learned: Learned, node: int) -> Opinion | None:
    """Return what the model thinks of an item, or None before the first approximation."""
    for view in (learned.view, learned.whole):
        at = None if view is None else view.place(node)
        if view is not None and at is not None:
            return Opinion(
                tuple(view.posterior.labels.classes.tolist()),
                view.posterior.by_class[at].copy(),
            )
    return None


def measure(learned: Learned, known: KnownLabels) -> Measured | None:
    """Return how many predictions are right in the random sample, which the learner did not see."""
    truth = known.labels_apart()
    told = {node: find_opinion(learned, node) for node in truth}
    right = [
        opinion.classes[opinion.probability.argmax()] == truth[node]
        for node, opinion in told.items()
        if opinion is not None
    ]
    if not right:
        return None
    ends = wilson_interval(np.array([sum(right)]), np.array([len(right)]))
    low, high = ends[:, 0].tolist()
    current = len(known.labels_current())
    return Measured(sum(right), len(right), len(known.apart), current, (low, high))


def measure_progress(
    learned: Learned,
    known: KnownLabels,
    course: Course,
    busy: bool,
    error: str | None,
) -> Progress:
    """Return how far a session is."""
    n_labeled, expected = len(known.labels()), learned.expected
    decided = n_labeled
    if learned.counts is not None:
        surely = learned.n_labels + sum_above(learned.counts, course.threshold)
        decided = max(n_labeled, surely)  # labels may be newer than the counts
    return Progress(
        known.n_items,
        known.book.n_answers,
        n_labeled,
        decided,
        course.threshold,
        None if expected is None else expected.accuracy,
        None if expected is None else expected.interval,
        measure(learned, known),
        course.curve.forecast,
        course.curve.stop,
        busy,
        error,
    )


def tabulate(names: Sequence[str], known: KnownLabels, view: View | None) -> pd.DataFrame:
    """Return one row for each item: its label, and what the posterior predicts."""
    labels, every = known.labels(), range(len(names))
    sure = dict.fromkeys(labels, 1.0) | known.book.confidence()
    who = {
        node: "; ".join(who for who, said in known.book.said_of(node).items() if said == label)
        for node, label in labels.items()
    }
    table = pd.DataFrame({
        "id": names,
        "label": [labels.get(node) for node in every],
        "confidence": [sure.get(node) for node in every],
        "who": [who.get(node) or None for node in every],
    })  # fmt: skip
    if view is not None:
        post = view.posterior
        table["prediction"] = post.labels.classes[post.by_class.argmax(axis=1)]
        table["probability"] = post.by_class.max(axis=1)
    return table


def place_in_plane(modes: Array) -> Array:
    """Return a place in the plane for each item, shape (N, 2): its ranks in the first two modes.

    The modes themselves set one cluster far apart, and crowd the others into a corner.
    """
    places = np.zeros((modes.shape[0], 2))
    first = modes[:, :2]
    places[:, : first.shape[1]] = first.argsort(axis=0).argsort(axis=0)
    return places


def find_states(
    learned: Learned, classes: Sequence[str], labels: Mapping[int, str]
) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]] | None:
    """Return the likeliest class of each item, its epistemic part, and whether it is labeled.

    Classes are positions in ``classes``. None before the first approximation of all items.
    """
    view = learned.whole
    if view is None:
        return None
    post = view.posterior
    place = {name: at for at, name in enumerate(classes)}
    own = np.array([place[name] for name in post.labels.classes.tolist()])
    found = own[post.by_class.argmax(axis=1)]
    labeled = np.zeros(found.size, dtype=bool)
    for node, label in labels.items():
        found[node], labeled[node] = place[label], True
    return found, view.epistemic, labeled


def find_ties(book: Book, k: int) -> list[Suspect]:
    """Return up to k items on whose label people do not agree."""
    ties = [Suspect(node, *labels, None, True) for node, labels in book.contradictions().items()]
    return ties[:k]


def find_suspects(view: View) -> list[Suspect]:
    """Return all labels, the likely mistakes first."""
    table = with_mistakes(view.posterior).suspect_labels()
    if not (table["probability_mistake"] > 0).any():
        return []  # they are not known
    return [
        Suspect(int(view.nodes[node]), str(label), str(likelier), float(mistake), bool(suspect))
        for node, label, likelier, mistake, suspect in table[
            ["node", "label", "likelier", "probability_mistake", "suspect"]
        ].itertuples(index=False)
    ]


def expect_confusion(
    learned: Learned, classes: Sequence[str], labels: Mapping[int, str]
) -> Array | None:
    """Return how many unlabeled items are expected in each pair of classes, shape (K, K)."""
    view = learned.whole
    if view is None:
        return None
    post = view.posterior
    own = [classes.index(name) for name in post.labels.classes.tolist()]
    hidden = np.setdiff1d(np.arange(post.n_nodes), list(labels))
    predicted = post.by_class[hidden].argmax(axis=1)
    found = np.zeros((len(classes), len(classes)))
    for a, row in enumerate(own):
        found[row, own] = post.by_class[hidden[predicted == a]].sum(axis=0)
    return found
