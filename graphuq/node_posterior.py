"""What a posterior says of every node, whichever way it was come by."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from graphuq import validation
from graphuq.calibration import Calibration, calibrate
from graphuq.conformal import PredictionSets, prediction_sets
from graphuq.labels import Labels
from graphuq.own_prior import own_prior
from graphuq.prior import Prior
from graphuq.suspects import suspects

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodePosterior(ABC):
    """Statistics of all nodes: of a sampled `Posterior`, or of an approximate one.

    Labels of two classes are coded -1 for ``labels.classes[0]`` and +1 for ``labels.classes[1]``.
    With K > 2 classes a node has K fields, and its label l(j) is the corner e_k of a simplex whose
    k is that of the largest; what is said of each class has a column for it.

    Attributes
    ----------
    labels : Labels
        What was observed.
    mean : ndarray, shape (N,) or (N, K)
        s_j = E[l(j)], eq. (9): the expected label; of a field-valued label (Ginzburg-Landau) the
        expected field.
    variance : ndarray, shape (N,)
        Var[l(j)] = 1 - s_j^2 for labels -1 and +1: 0 is certain, 1 is a coin's toss. Of K > 2
        classes K / (K - 1) (1 - |s_j|^2), the corners' variance over its largest value: 1 where
        all classes are as probable. Of a field-valued label the field's, summed over classes.
    probability : ndarray, shape (N,) or (N, K)
        Posterior probability of ``labels.classes[1]``; of K > 2 classes of each.
    mcse : ndarray, shape (N,) or (N, K)
        Monte Carlo standard error of ``mean``, from batch means of all chains, or from the
        chains' own means where these disagree.
    latent_mean, latent_variance : ndarray, shape (N,) or (N, K)
        Of the latent field u.
    settings : dict
        What was run: prior, likelihood, and how.
    prior : Prior, optional
        With its parameters chosen, as it was used; None where the posterior was read from a file.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> post.n_nodes, post.prediction.shape, post.accuracy(y) > 0.9
    (100, (100,), True)
    >>> 0 < post.mean_variance < 1
    True
    >>> post.by_class.shape, bool(post.entropy.max() <= np.log(2)), bool(post.margin.max() <= 1)
    ((100, 2), True, True)
    >>> hardest = post.ranking()[0]
    >>> bool(post.variance[hardest] == post.variance.max()), int(post.rank[hardest])
    (True, 0)
    >>> tree = post.to_arviz()                                # for az.summary, az.plot_trace, ...
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     post.save(f"{folder}/moons.nc")
    ...     again = gq.load(f"{folder}/moons.nc")
    >>> bool((again.mean == post.mean).all())
    True
    """

    labels: Labels
    mean: Array
    variance: Array
    probability: Array
    mcse: Array
    latent_mean: Array
    latent_variance: Array
    settings: dict[str, Any]
    prior: Prior | None = dataclasses.field(default=None, kw_only=True, repr=False)

    @abstractmethod
    def latent_draws(
        self, prior: Prior | None = None, nodes: Any = None, *, seed: validation.Seed = None
    ) -> Iterator[Array]:
        """Yield draws of the latent field u at any nodes, a block at a time."""

    def _own_prior(self, prior: Prior | None = None) -> Prior:
        """Return the prior that this is of: the one kept, or the same one given.

        Parameters
        ----------
        prior : Prior, optional
            Needed where the posterior was read from a file, which does not hold it.

        Raises
        ------
        TypeError, ValueError
            No prior, or another.
        """
        return own_prior(self.prior, prior, self.settings["prior"])

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.mean.shape[0]

    @property
    def by_class(self) -> Array:
        """Probabilities of ``labels.classes``, shape (N, K), also where K = 2."""
        p = self.probability
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    @property
    def prediction(self) -> NDArray[Any]:
        """The likeliest class of every node, shape (N,)."""
        if self.probability.ndim == 2:
            return self.labels.classes[self.probability.argmax(axis=1)]
        return self.labels.classes[(self.probability >= 0.5).astype(int)]

    @property
    def entropy(self) -> Array:
        """Of every node's label, in nats, shape (N,): 0 is certain, log K all alike."""
        return np.asarray(entr(self.by_class).sum(axis=1))

    @property
    def margin(self) -> Array:
        """Largest probability less the second, shape (N,): 1 is certain, 0 a tie."""
        largest = np.sort(self.by_class, axis=1)[:, -2:]
        return np.asarray(largest[:, 1] - largest[:, 0])

    @property
    def mean_variance(self) -> float:
        """Var(l), eq. (10): the variance averaged over all nodes."""
        return float(self.variance.mean())

    def ranking(self, by: str = "entropy") -> NDArray[np.int64]:
        """Return all node ids, most uncertain first.

        Parameters
        ----------
        by : {"entropy", "margin", "variance"}
            Of more than two classes: of the label's distribution, its two largest probabilities,
            or `variance`. For labels -1 and +1 all three say the same: probability nearest to 1/2.

        Returns
        -------
        ndarray of int64, shape (N,)
            Ties keep the order of the nodes.

        Raises
        ------
        ValueError
            Another measure.
        """
        validation.one_of("by", by, ("entropy", "margin", "variance"))
        if self.probability.ndim == 1:
            return np.argsort(np.abs(self.probability - 0.5), kind="stable")
        sure = self.margin if by == "margin" else -getattr(self, by)
        return np.argsort(sure, kind="stable")

    @property
    def rank(self) -> NDArray[np.int64]:
        """The place of every node in `ranking`, shape (N,): 0 is the most uncertain."""
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[self.ranking()] = np.arange(self.n_nodes)
        return rank

    def accuracy(self, truth: Any) -> float:
        """Return the share of unlabelled nodes whose prediction is right.

        Parameters
        ----------
        truth : array_like, shape (N,)
            The true classes.

        Raises
        ------
        ValueError
            A wrong length, or every node labelled.
        """
        return self.labels.accuracy(self.prediction, truth)

    def calibration(
        self, truth: Any = None, *, n_bins: int = 10, seed: validation.Seed = 0
    ) -> Calibration:
        """Return how far the probabilities of unlabelled nodes can be trusted.

        See `graphuq.calibrate` and `graphuq.Calibration`; `graphuq.plots.reliability` shows it.

        Parameters
        ----------
        truth : array_like, shape (N,)
            The true classes.
        n_bins : int
            Bins of confidence, equal parts of [1/K, 1].
        seed : int, SeedSequence or Generator
            Of the bootstrap.

        Raises
        ------
        ValueError
            A wrong length, gaps, other classes, or every node labelled; fewer than one bin.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> labels = gq.reveal(y, counts=3, seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
        >>> result = post.calibration(y)
        >>> result.accuracy == post.accuracy(y)
        True
        >>> int(result.curve["count"].sum())
        94
        """
        if truth is None:
            raise TypeError(
                "truth is needed; without it gq.approximate(prior, likelihood, labels)"
                ".calibration() holds each label against all others"
            )
        hidden, hidden_truth = self.labels.unlabelled_truth(truth, self.n_nodes)
        classes = self.labels.classes
        return calibrate(self.by_class[hidden], hidden_truth, classes, n_bins=n_bins, seed=seed)

    def prediction_sets(
        self,
        held_out: Any,
        coverage: float = 0.9,
        per_class: bool = False,
        *,
        seed: validation.Seed = 0,
    ) -> PredictionSets:
        """Return sets of classes that contain the truth as often as asked: split conformal.

        A class is in a node's set if its probability is not lower than what the truths of
        held-out labels mostly had (Vovk, Gammerman and Shafer 2005; Papadopoulos et al. 2002; Lei
        et al. 2018). Then, however wrong prior and likelihood are, the set of an unlabelled node
        contains its class with probability at least ``coverage``, and at most 1 / (n + 1) more
        with n held-out labels; on condition that the n nodes held out are exchangeable with the
        unlabelled ones, as when they are drawn at random (`Labels.split`). The probability is over
        that draw: the share covered in one run strays from it by about
        sqrt(coverage (1 - coverage) / n). Nothing is promised of single nodes, nor of true
        classes where held-out labels are wrong.

        Sets are of one class where the model is sure enough and of more where it is not; and
        empty at the least sure nodes where it is right more often than ``coverage`` asks: ask for
        more than its accuracy to see none.

        Parameters
        ----------
        held_out : Labels or array_like, shape (N,)
            Labels that the posterior was not given, not of all classes necessarily. An array
            holds -1 where there is none.
        coverage : float in (0, 1)
        per_class : bool
            Whether to cover each class by itself so often, from its own held-out labels (Vovk et
            al.'s Mondrian predictor). They need only be drawn at random within each class, at
            whatever rates.
        seed : int, SeedSequence or Generator
            Breaks ties: where draws all agree, probabilities are 0 or 1 exactly.

        Raises
        ------
        ValueError
            A coverage outside (0, 1); held-out labels that the posterior was given, of other
            classes, or too few: coverage / (1 - coverage) are needed, of each class where
            ``per_class``.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> given, held_out = gq.reveal(y, counts=20, seed=0).split(seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), given, seed=0, progress=False)
        >>> result = post.prediction_sets(held_out, coverage=0.9)
        >>> result.sets.shape
        (100, 2)
        >>> result.coverage(y) > 0.75
        True
        """
        return prediction_sets(self.by_class, self.labels, held_out, coverage, per_class, seed)

    def suspect_labels(self) -> pd.DataFrame:
        """Return the given labels, those most likely to be wrong first.

        A node's true class is the sign of its field, or the largest of its K fields: a label is
        wrong if that is not its own, and the posterior probability of that is read off. So it is
        under Ginzburg-Landau too, where a label observes the field itself. How much a label can be
        doubted is the likelihood's to say: `Probit` with a small ``gamma`` doubts labels only where
        fields are near each other, `NoisyProbit` and `LevelSet` doubt them anywhere.

        Returns
        -------
        pandas.DataFrame
            A row for each labelled node, with columns ``node``; ``label``, as given; ``likelier``,
            the class that the posterior prefers, which may be the label; ``probability_wrong``.
            Where draws all agree and probabilities tie, fields that speak more against the label
            come first.

        Examples
        --------
        A label that its whole neighbourhood denies:

        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> labels = gq.reveal(y, counts=10, seed=0)
        >>> values = labels.values.copy()
        >>> values[3] = 1 - values[3]
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> model = gq.NoisyProbit(gamma=0.1, flip_rate=0.1)
        >>> post = gq.sample(prior, model, gq.Labels(labels.nodes, values), seed=0, progress=False)
        >>> suspects = post.suspect_labels()
        >>> bool(suspects["node"][0] == labels.nodes[3])
        True
        >>> suspects.columns.tolist()
        ['node', 'label', 'likelier', 'probability_wrong']
        """
        import pandas as pd

        order, wrong = suspects(self.labels, self.by_class, self.latent_mean)
        return pd.DataFrame(
            {
                "node": self.labels.nodes[order],
                "label": self.labels.values[order],
                "likelier": self.prediction[self.labels.nodes][order],
                "probability_wrong": wrong[order],
            }
        )

    def to_arviz(self, classifiers: Mapping[str, Any] | None = None) -> Any:
        """Return an arviz InferenceData (arviz 0.x) or xarray DataTree (arviz 1.x).

        See `graphuq.export.to_arviz` for its groups.

        Parameters
        ----------
        classifiers : mapping from name to TransductiveClassifier, optional
            Fitted to the same graph and classes; ``node_summary`` gets their scores and
            predictions.
        """
        from graphuq.export import to_arviz

        return to_arviz(self, classifiers)

    def save(self, path: Any) -> None:
        """Write a NetCDF file that `graphuq.load` and arviz read.

        Parameters
        ----------
        path : path-like
            An existing file is replaced, whole or not at all.
        """
        from graphuq.export import save

        save(self, path)

    def suggest(
        self,
        k: int = 1,
        method: str = "bald",
        *,
        prior: Prior | None = None,
        candidates: int = 300,
        seed: validation.Seed = 0,
    ) -> NDArray[np.int64]:
        """Return the unlabelled nodes to label next, best first.

        They are picked one after another, each for what the ones before leave uncertain. See
        `graphuq.suggestion` for the formulas.

        Parameters
        ----------
        k : int
            How many.
        method : str
            ``"bald"``: what the answer tells of the field (Houlsby et al. 2011).
            ``"variance_reduction"``: the expected fall of the labels' summed variance; about as
            good, and dearer on many nodes, by K^2 of K > 2 classes.
            ``"variance"``: the label's own variance.
            ``"v_opt"`` (Ji and Han 2012) and ``"sigma_opt"`` (Ma, Garnett and Schneider 2013):
            the expected fall of the field's summed variance, or of its sum's variance, were the
            field itself observed. They heed which nodes are labelled, not how.
        prior : Prior, optional
            The one that the posterior is of, where it was read from a file.
        candidates : int
            The first three look at so many nodes only, the most uncertain ones.
        seed : int, SeedSequence or Generator
            Of draws that are made afresh, of an `ApproximatePosterior` or under
            `Prior.approximated`.

        Returns
        -------
        ndarray of int64, shape (k,)

        Raises
        ------
        ValueError
            ``k`` above the number of unlabelled nodes, an unknown method, another prior.
        MemoryError
            Covariances between the nodes and the candidates do not fit.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> labels = gq.reveal(y, counts=3, seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
        >>> post.suggest(k=3).shape
        (3,)
        """
        from graphuq.suggestion import suggest

        return suggest(self, self._own_prior(prior), k, method, candidates, seed)
