"""What is learned from the answers: an approximation, its questions, and what it expects.

The parameters are chosen by `graphuq.tune` whenever the labels have doubled or show a new class.
In between each answer updates `graphuq.approximate`, which begins where it was. Before two classes
are seen, questions spread over the graph (V-optimal).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs.labels import Labels
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.approximate import approximate
from graphuq.inference.tune import Tuning, tune
from graphuq.labeling.expected_accuracy import Expected, expect_accuracy
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.approximate import ApproximatePosterior
from graphuq.posterior.assessment.answer_scores import Answers
from graphuq.posterior.assessment.gaussian_scores import Conditioned
from graphuq.posterior.assessment.suggestion import MIN_NOISE, greedy
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.hyperprior import MEAN_ALPHA, MEAN_TAU
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array

# Parameters are chosen again once there are this many times the labels that chose them.
GROWTH = 2

# Questions that are ready at a time. Each is picked as if those before it were answered.
READY = 20

# Items among which they are chosen: those that are most uncertain.
CANDIDATES = 300

# Items among which the first questions are chosen.
SPREAD_CANDIDATES = 2000

# Probabilities from 0 to 1 are counted in this many bins.
BINS = 1000


class Task(NamedTuple):
    """What there is to learn from.

    Attributes
    ----------
    version : int
        Increases with every answer.
    labels : dict of int to str
        The labels to learn from.
    classes : tuple of str
        All classes, of which some may not have been seen.
    closed : frozenset of int
        Items that are not to be asked: those of the random sample.
    """

    version: int
    labels: dict[int, str]
    classes: tuple[str, ...]
    closed: frozenset[int]


@dataclass(frozen=True, eq=False)
class Learned:
    """The state after some answers.

    Attributes
    ----------
    version : int
        That of the task.
    n_labels : int
    questions : tuple of (node, information in nats or None)
        What to ask, best first.
    posterior : ApproximatePosterior or None
        None before two classes are seen.
    epistemic, largest : ndarray, shape (N,), or None
        The epistemic part of each item's entropy, and its largest probability.
    expected : Expected or None
        None also if no item is left.
    counts : ndarray of int, shape (BINS,), or None
        How many unlabeled items have their largest probability in each bin.
    """

    version: int
    n_labels: int
    questions: tuple[tuple[int, float | None], ...]
    posterior: ApproximatePosterior | None = None
    epistemic: Array | None = None
    largest: Array | None = None
    expected: Expected | None = None
    counts: NDArray[np.int64] | None = None


class Learner:
    """Learns from labels; one thread uses it.

    Parameters
    ----------
    spectrum : Spectrum
    features : ndarray, shape (N, d), optional
    likelihood : likelihood
        Its parameters may be open.
    seed : int

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> spectrum = Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 20)
    >>> learner = Learner(spectrum, None, gq.Probit(), seed=0)
    >>> (first,) = learner.learn(Task(0, {}, ("a", "b"), frozenset()))
    >>> first.posterior is None, len(first.questions)
    (True, 20)
    >>> (later,) = learner.learn(Task(1, {3: "a", 8: "b"}, ("a", "b"), frozenset()))
    >>> later.posterior.labels
    Labels(2 nodes: 1 x 'a', 1 x 'b')
    """

    def __init__(
        self, spectrum: Spectrum, features: Any, likelihood: Likelihood, seed: int
    ) -> None:
        graph = default_graph_prior(spectrum, spectrum.rank)
        self.prior: GaussianPrior = default_sum(graph, features)
        self.likelihood, self._seed = likelihood, seed
        self._spread = _spread_prior(graph)
        self.tuned: Tuning | None = None
        self._n_tuned, self._seen = 0, 0
        self._posterior: ApproximatePosterior | None = None

    def begin(self, task: Task) -> Learned:
        """Return questions that need no label, at once."""
        return Learned(task.version, len(task.labels), self._spread_questions(task))

    def learn(self, task: Task) -> Iterator[Learned]:
        """Yield what the labels say, and say again if parameters are to be chosen anew.

        Raises
        ------
        RuntimeError, ValueError
            Of `graphuq.tune` and `graphuq.approximate`.
        """
        seen = len(set(task.labels.values()))
        if seen < 2:
            yield self.begin(task)
            return
        nodes = np.array(sorted(task.labels), dtype=np.int64)
        labels = Labels(nodes, [task.labels[node] for node in nodes.tolist()], list(task.classes))
        outgrown = (
            self.tuned is None
            or seen != self._seen
            or len(labels) >= GROWTH * self._n_tuned
            or labels.classes.size != self._classes(self._posterior)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page shows what the session says
            if self.tuned is not None and (
                not outgrown or labels.classes.size == self._classes(self._posterior)
            ):
                yield self._approximate(task, labels)  # nobody waits for the new parameters
            if outgrown:
                self.tuned = tune(self.prior, labels, self.likelihood)
                self._n_tuned, self._seen = len(labels), seen
                self._posterior = None
                yield self._approximate(task, labels)

    def _classes(self, posterior: ApproximatePosterior | None) -> int:
        return 0 if posterior is None else posterior.labels.classes.size

    def _approximate(self, task: Task, labels: Labels) -> Learned:
        """Return what the approximation with the present parameters says."""
        assert self.tuned is not None
        start, self._posterior = self._posterior, None  # an error must not come back
        post = approximate(self.tuned.prior, self.tuned.likelihood, labels, start=start)
        self._posterior = post
        largest = post.by_class.max(axis=1)
        open_ = np.ones(post.n_nodes, dtype=bool)
        open_[labels.nodes] = False
        open_[list(task.closed)] = False
        hidden = np.flatnonzero(open_)
        expected = expect_accuracy(post, hidden, self._seed) if hidden.size else None
        epistemic = np.asarray(post.uncertainty()["epistemic"].to_numpy(), dtype=np.float64)
        uncertain = hidden[np.argsort(-epistemic[hidden], kind="stable")[:CANDIDATES]]
        bins = np.minimum((largest[hidden] * BINS).astype(np.int64), BINS - 1)
        return Learned(
            task.version,
            len(labels),
            self._telling_questions(post, np.sort(uncertain)),
            post,
            epistemic,
            largest,
            expected,
            np.bincount(bins, minlength=BINS),
        )

    def _telling_questions(
        self, post: ApproximatePosterior, candidates: NDArray[np.int64]
    ) -> tuple[tuple[int, float], ...]:
        """Return the candidates that tell most (BALD), each given those before it."""
        if not candidates.size:
            return ()
        model = post.settings["sign_model"]
        with one_blas_thread():
            answers = Answers(
                post,
                post._own_prior(),
                candidates,
                "bald",
                (model["noise"], model["flip_rate"]),
                self._seed,
            )
            picked, scores = greedy(answers, min(READY, candidates.size))
        return tuple(zip(candidates[picked].tolist(), scores.tolist(), strict=True))

    def _spread_questions(self, task: Task) -> tuple[tuple[int, None], ...]:
        """Return items that spread over the graph, given those that have a label."""
        n = self.prior.n_nodes
        open_ = np.ones(n, dtype=bool)
        open_[[*task.labels, *task.closed]] = False
        some = np.random.default_rng(self._seed).permutation(np.flatnonzero(open_))
        some = np.sort(some[:SPREAD_CANDIDATES])
        if not some.size:
            return ()
        gaussian = Conditioned(self._spread, MIN_NOISE, some)
        for node in task.labels:
            gaussian.observe(node)
        picked, _ = gaussian.greedy(min(READY, some.size), "v_opt")
        return tuple((node, None) for node in picked.tolist())


def _spread_prior(graph: GaussianPrior) -> GaussianPrior:
    """Return the prior of the graph with the parameters that are likeliest without labels."""
    chosen = {"alpha": MEAN_ALPHA, "tau": MEAN_TAU}
    return graph.with_parameters(**{name: chosen[name] for name in graph.open})
