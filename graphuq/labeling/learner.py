"""What is learned from the answers: an approximation, its questions, and what it expects.

The parameters are chosen by `graphuq.tune` whenever there are a quarter more labels or a new class.
In between each answer updates `graphuq.approximate`, which begins where it was. Before two classes
are seen, questions spread over the graph (V-optimal).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.approximate import approximate_problem
from graphuq.inference.problem import Problem
from graphuq.inference.tune import Tuning, tune
from graphuq.labeling.expected_accuracy import Expected, expect_accuracy
from graphuq.labeling.picks import pick_spread, pick_telling, without_labels
from graphuq.labeling.stopping import NOTHING, Drawn
from graphuq.labels.labels import ANY, Labels
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.posterior import Posterior
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.some_nodes import SomeNodes
from graphuq.utils.typing import Array, Nodes
from graphuq.utils.warnings import silenced

# Parameters are chosen again once there are this many times the labels that chose them. They matter
# most while labels are few: with 2 instead, MNIST's 4 and 9 took 22 answers to 95%, not 18.
GROWTH = 1.25

# Items among which questions are picked: those that are most uncertain.
CANDIDATES = 300

# With more than two classes a candidate costs more.
FEWER_CANDIDATES = 100

# With fewer labels the questions are those that spread over the graph: the parameters that they
# choose are poor yet, and so are questions by them.
START = 10

# A label is shown to a second person if another class is so many times as likely by other labels.
IMPROBABLE = 10.0

# Random items that stand for all where statistics of all take long, and the number of items from
# which they do with two classes. With more than two classes it is that of the panel.
PANEL, SMALL = 2000, 10_000

# All nodes are looked at again once there are this many times the labels of the last time.
REFRESH = 1.2

# Probabilities from 0 to 1 are counted in this many bins.
BINS = 1000


class Task(NamedTuple):
    """What there is to learn from.

    Attributes
    ----------
    labels : dict of int to str
        The labels to learn from.
    classes : tuple of str
        All classes, of which some may not have been seen.
    closed : frozenset of int
        Items that are not to be asked: those of the random sample.
    confidence : dict of int to float
        The confidence of all answers, those of the random sample among them; other labels have 1.
    sample : dict of int to str
        The labels of the random sample that are certain, of items that were drawn lately. They move
        the expected accuracy alone.
    drawn : Drawn
        The other items of the random sample that were drawn lately.
    """

    labels: dict[int, str]
    classes: tuple[str, ...]
    closed: frozenset[int]
    confidence: dict[int, float]
    sample: dict[int, str]
    drawn: Drawn = NOTHING


class View(NamedTuple):
    """What a posterior says of some nodes.

    Attributes
    ----------
    nodes : ndarray of int, shape (m,)
        Sorted.
    posterior : Posterior
        The approximation at these nodes, numbered anew.
    epistemic : ndarray, shape (m,)
        The part of each node's entropy that more labels would resolve, in nats.
    """

    nodes: Nodes
    posterior: Posterior
    epistemic: Array

    @property
    def doubt(self) -> Array:
        """How uncertain nodes are, in the sense of the picks from them, shape (m,).

        With two classes it is the probability of a mistake, and with more the epistemic part.
        """
        p = self.posterior.by_class
        return 1 - p.max(axis=1) if p.shape[1] == 2 else self.epistemic

    def place(self, node: int) -> int | None:
        """Return the position of a node, or None."""
        at = int(np.searchsorted(self.nodes, node))
        return at if at < self.nodes.size and self.nodes[at] == node else None


@dataclass(frozen=True, eq=False)
class Learned:
    """The state after some answers.

    Attributes
    ----------
    n_labels : int
    questions : tuple of (node, information in nats or None)
        What to ask, best first.
    view : View or None
        The newest posterior; None before two classes are seen.
    whole : View or None
        The newest posterior of all nodes.
    expected : Expected or None
        None also if no item is left.
    improbable : tuple of int
        Items whose label the other labels contradict, the least probable label first.
    drawn : Drawn
        See `Task`.
    counts : ndarray of float, shape (BINS,), or None
        How many items that the learner has no label of have their largest probability in each bin.
        Labels of the random sample count as certain.
    """

    n_labels: int
    questions: tuple[tuple[int, float | None], ...]
    view: View | None = None
    whole: View | None = None
    expected: Expected | None = None
    improbable: tuple[int, ...] = ()
    drawn: Drawn = NOTHING
    counts: Array | None = None


class Learner:
    """Learns from labels; one thread uses it.

    Parameters
    ----------
    spectrum : Spectrum
    features : ndarray, shape (N, d), optional
    likelihood : likelihood
        Its parameters may be open.
    seed : int
    links : Graph, optional
        The graph, if its links were not made of the features.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> spectrum = Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 20)
    >>> learner = Learner(spectrum, None, gq.Probit(), seed=0)
    >>> (first,) = learner.learn(Task({}, ("a", "b"), frozenset(), {}, {}))
    >>> first.view is None, len(first.questions)
    (True, 20)
    >>> (later,) = learner.learn(Task({3: "a", 8: "b"}, ("a", "b"), frozenset(), {}, {}))
    >>> later.view.posterior.labels
    Labels(2 nodes: 1 x 'a', 1 x 'b')
    """

    def __init__(
        self,
        spectrum: Spectrum,
        features: Any,
        likelihood: Likelihood,
        seed: int,
        links: Graph | None = None,
    ) -> None:
        graph = default_graph_prior(spectrum, spectrum.rank)
        self.prior: GaussianPrior = default_sum(graph, features, links=links)
        self.likelihood, self._seed = likelihood, seed
        self._spread = without_labels(graph)
        self.tuned: Tuning | None = None
        self._n_tuned, self._seen = 0, 0
        # questions that need no label
        self._first: tuple[tuple[int, float | None], ...] = ()
        self._view: View | None = None
        self._whole: View | None = None
        n = spectrum.n_nodes
        self._every = np.arange(n)
        self._panel = np.sort(np.random.default_rng(seed).permutation(n)[:PANEL])
        # the most uncertain of all nodes, once these were looked at
        self._uncertain = self._every[:0]

    def begin(self, task: Task) -> Learned:
        """Return questions that need no label, at once."""
        self._first = pick_spread(self._spread, task.labels, task.closed, self._seed)
        return Learned(len(task.labels), self._first)

    def learn(self, task: Task, is_urgent: Callable[[], bool] = bool) -> Iterator[Learned]:
        """Yield what the labels say, and again when more is known.

        With parameters that are to be chosen anew, those before come first. Where statistics of all
        nodes take long, those of some nodes come first.

        Parameters
        ----------
        task : Task
        is_urgent : callable
            Whether another task waits; then all nodes are left out until enough labels are new.

        Raises
        ------
        RuntimeError, ValueError
            Raised by `graphuq.tune` and `graphuq.approximate`.
        """
        seen = len(set(task.labels.values()))
        if seen < 2:
            yield self.begin(task)
            return
        labels = labels_of(task)
        same_classes = (
            self._view is not None
            and self._view.posterior.labels.classes.size == labels.classes.size
        )
        outgrown = not same_classes or seen != self._seen or len(labels) >= GROWTH * self._n_tuned
        if same_classes:
            yield self._look(task, labels, self._kept(task, labels))
        if outgrown:
            with silenced():  # the session says how far it can be trusted
                self.tuned = tune(self.prior, labels, self.likelihood)
            self._n_tuned, self._seen = len(labels), seen
            self._view = None
            yield self._look(task, labels, self._kept(task, labels))
        known = 0 if self._whole is None else len(self._whole.posterior.labels)
        stale = self._whole is not self._view
        if stale and (not is_urgent() or len(labels) >= REFRESH * known):
            yield self._look(task, labels, self._every)

    def _is_small(self, labels: Labels) -> bool:
        """Whether statistics of all items are soon done; with two classes they are closed forms."""
        return self._every.size <= (SMALL if labels.classes.size == 2 else PANEL)

    def _kept(self, task: Task, labels: Labels) -> Nodes:
        """Return the nodes to look at after every answer: all, if these are soon done.

        Else they are a random panel, the labeled nodes with those of the random sample, and those
        that were the most uncertain.
        """
        if self._is_small(labels):
            return self._every
        looked_at = [self._panel, labels.nodes, _nodes(task.sample), self._uncertain]
        return np.unique(np.concatenate(looked_at))

    @silenced()
    def _look(self, task: Task, labels: Labels, kept: Nodes) -> Learned:
        """Return what the approximation with the present parameters says of some nodes."""
        assert self.tuned is not None
        start, self._view = self._view, None  # an error must not come back
        every = kept.size == self._every.size
        prior = self.tuned.prior if every else SomeNodes(self.tuned.prior, kept)
        own = labels.moved(np.searchsorted(kept, labels.nodes))
        problem = Problem.check(prior, self.tuned.likelihood, own)
        post = approximate_problem(problem, _moved(start, kept))
        epistemic = np.asarray(post.uncertainty()["epistemic"].to_numpy(), dtype=np.float64)
        self._view = view = View(kept, post, epistemic)
        if every:
            self._whole = view
            self._uncertain = np.argsort(-view.doubt, kind="stable")[:CANDIDATES]
        # items without a label: those of the panel, which stand for all, and those to ask
        hidden = np.ones(self._every.size, dtype=bool)
        hidden[[*task.labels, *task.sample, *task.confidence]] = False
        shown = np.searchsorted(kept, self._panel[hidden[self._panel]])
        if self._is_small(labels) or (every and not shown.size):
            shown = np.flatnonzero(hidden[kept])
        asked = np.flatnonzero(hidden[kept] & ~np.isin(kept, [*task.closed]))
        questions = self._first if len(labels) < START else ()
        if all(node in task.labels for node, _ in questions):
            most = CANDIDATES if labels.classes.size == 2 else FEWER_CANDIDATES
            uncertain = asked[np.argsort(-view.doubt[asked], kind="stable")[:most]]
            picked = pick_telling(post, np.sort(uncertain), self._seed)
            questions = tuple(zip(kept[picked].tolist(), epistemic[picked].tolist(), strict=True))
        improbable = _improbable(post) if len(labels) >= START else labels.nodes[:0]
        found = Learned(
            len(labels),
            questions,
            view,
            self._whole,
            improbable=tuple(kept[improbable].tolist()),
            drawn=task.drawn,
            counts=np.zeros(BINS),
        )
        if not shown.size:
            return found
        sampled = post.by_class[np.searchsorted(kept, _nodes(task.sample))].argmax(axis=1)
        right = labels.classes[sampled] == np.array([*task.sample.values()], dtype=np.str_)
        bins = (post.by_class[shown].max(axis=1) * BINS).astype(np.int64)
        each = np.bincount(np.minimum(bins, BINS - 1), minlength=BINS)
        counts = np.asarray(each * (hidden.sum() / shown.size), dtype=np.float64)
        counts[-1] += hidden.size - hidden.sum() - len(labels)  # those of the random sample
        return replace(
            found,
            expected=expect_accuracy(post, shown, self._seed, int(right.sum()), right.size),
            counts=counts,
        )


def labels_of(task: Task) -> Labels:
    """Return the labels of a task.

    Raises
    ------
    ValueError
        Fewer than two classes.
    """
    nodes = sorted(task.labels)
    return Labels(
        nodes,
        [task.labels[node] for node in nodes],
        list(task.classes),
        confidence=[task.confidence.get(node, 1.0) for node in nodes],
        sampling=ANY,  # most of them answer questions that a model chose
    )


def _improbable(post: Posterior) -> Nodes:
    """Return the nodes whose label is improbable by the other labels, the least probable first."""
    p = post.pred_probs()
    share = p[np.arange(len(p)), post.labels.indices] / p.max(axis=1)
    order = np.argsort(share, kind="stable")
    return np.asarray(post.labels.nodes[order[IMPROBABLE * share[order] < 1]])


def _nodes(labels: dict[int, str]) -> Nodes:
    """Return the nodes that have a label."""
    return np.array([*labels], dtype=np.int64)


def _moved(start: View | None, kept: Nodes) -> Posterior | None:
    """Return where to start from, with nodes numbered as in ``kept``; None if some are not in it.

    Both lists are sorted, so that labels, and their sites, keep their order.
    """
    if start is None:
        return None
    labels = start.posterior.labels
    nodes = start.nodes[labels.nodes]
    if not np.isin(nodes, kept).all():
        return None
    return replace(start.posterior, labels=labels.moved(np.searchsorted(kept, nodes)))
