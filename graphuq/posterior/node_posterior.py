"""Posteriors of all nodes: what sampled and approximate ones share."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import as_by_class
from graphuq.posterior.assessment.suspect_labels import probability_wrong, tabulate_suspects
from graphuq.posterior.assessment.trust import Trust
from graphuq.posterior.assessment.uncertainty import PARTS, split_entropy
from graphuq.posterior.call import Call
from graphuq.posterior.node_names import check_names
from graphuq.posterior.predictions import PredictionMixin, order_by_entropy
from graphuq.posterior.protocol import Run
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from graphuq.posterior.new_items import NewItems


@dataclass(frozen=True, eq=False)
class NodePosterior(PredictionMixin, ABC):
    """Statistics of all nodes: the base of `Posterior` and `ApproximatePosterior`.

    With two classes a node has one field and the label l(j) = S(u_j), -1 for ``labels.classes[0]``
    and +1 for ``labels.classes[1]``. With K > 2 classes a node has K fields, and its label is the
    corner e_k of a simplex, where k is the largest field; statistics then have a column per class.

    Attributes
    ----------
    labels : Labels
        What was observed.
    mean : ndarray, shape (N,) or (N, K)
        s_j = E[l(j)], eq. (9): the expected label; for a field-valued label (Ginzburg-Landau) the
        expected field.
    variance : ndarray, shape (N,)
        Var[l(j)] = 1 - s_j^2 for labels -1 and +1: 0 is certain, 1 is a coin toss. For K > 2
        classes K / (K - 1) (1 - |s_j|^2), the corners' variance over its largest value: 1 where
        all classes are equally likely. For a field-valued label the variance of the field, summed
        over classes.
    by_class : ndarray, shape (N, K)
        Posterior predictive probabilities of ``labels.classes``, also for two classes: of the true
        class of a node, which is the label after noise of the likelihood's ``overlap``. Mistakes of
        the labels given, such as flips, are not part of it.
    mcse : ndarray, shape (N,) or (N, K)
        Monte Carlo standard error of ``mean``, from batch means of all chains, or from the
        chains' own means where these disagree.
    latent_mean, latent_variance : ndarray, shape (N,) or (N, K)
        Mean and variance of the latent field u.
    probability_mcse : ndarray, shape (N,) or (N, K)
        Monte Carlo standard error of `probability`.
    aleatoric : ndarray, shape (N,)
        Expected entropy of the true class given the field, in nats; see `uncertainty`.
    mistakes : ndarray, shape (J,), optional
        ``probability_mistake`` of `suspect_labels`, if read from a file.
    overlaps : ndarray, shape (J,), optional
        ``probability_overlap`` of `suspect_labels`, if read from a file or approximated.
    settings : dict
        What was run: prior, likelihood, and how.
    names : ndarray of str, shape (N,), optional
        Names of the nodes; see `with_names`.
    prior : Prior, optional
        The prior as used, with its parameters chosen; None if the posterior was read from a file.

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
    >>> bool((post.probability == post.by_class[:, 1]).all())
    True
    >>> bool(post.unsure[post.by_class.max(axis=1) > 0.9].any())
    False
    >>> hardest = post.ranking()[0]
    >>> bool(post.variance[hardest] == post.variance.max()), int(post.rank[hardest])
    (True, 0)
    >>> post.overlap, post.latent_probability.shape
    (0.1, (100,))
    >>> bool(np.allclose(post.uncertainty()["total"], post.entropy))
    True
    >>> post.trust().verdict, post.call().function
    ('the sampler can be trusted.', 'sample')
    >>> post.run.complete, post.n_latent_draws
    (True, 4000)
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
    by_class: Array
    mcse: Array
    latent_mean: Array
    latent_variance: Array
    settings: dict[str, Any]
    probability_mcse: Array = dataclasses.field(kw_only=True)
    aleatoric: Array = dataclasses.field(kw_only=True)
    mistakes: Array | None = dataclasses.field(default=None, kw_only=True, repr=False)
    overlaps: Array | None = dataclasses.field(default=None, kw_only=True, repr=False)
    names: NDArray[np.str_] | None = dataclasses.field(default=None, kw_only=True, repr=False)
    prior: GaussianPrior | None = dataclasses.field(default=None, kw_only=True, repr=False)

    @property
    @abstractmethod
    def run(self) -> Run | None:
        """The draws and their diagnostics; None for an approximation."""

    @property
    @abstractmethod
    def n_latent_draws(self) -> int:
        """Number of draws that `latent_draws` yields."""

    @abstractmethod
    def latent_draws(
        self, prior: GaussianPrior | None = None, nodes: Any = None, *, seed: validation.Seed = None
    ) -> Iterator[Array]:
        """Yield draws of the latent field u at any nodes, a block at a time."""

    @abstractmethod
    def trust(self) -> Trust:
        """Return how far the computation can be trusted: a traffic light with reasons."""

    @abstractmethod
    def call(self) -> Call:
        """Return the call of graphuq that makes this posterior again."""

    @abstractmethod
    def _arviz_groups(self) -> dict[str, Any]:
        """Return the groups of `to_arviz`, xarray datasets by name."""

    @abstractmethod
    def _flips_and_overlaps(self) -> tuple[Array, Array]:
        """Return ``probability_mistake`` and ``probability_overlap`` of labels that may be flipped.

        Both have the shape (J,), and are NaN where they are not known.
        """

    @abstractmethod
    def _left_out(self, prior: GaussianPrior) -> Array:
        """Return the probabilities of each label's classes, given the others; see `pred_probs`."""

    @abstractmethod
    def _new_by_class(self, prior: GaussianPrior, items: NewItems) -> Array:
        """Return class probabilities of new items; see `graphuq.posterior.new_items`."""

    def _own_prior(self, given: GaussianPrior | None = None) -> GaussianPrior:
        """Return the prior of this posterior, which ``given`` must equal.

        A posterior read from a file does not hold its prior and needs it given.
        """
        if given is None:
            if self.prior is None:
                raise ValueError(
                    "a posterior read from a file does not hold its prior: pass prior=, made from "
                    "the same spectrum"
                )
            return self.prior
        if not isinstance(given, GaussianPrior):
            raise TypeError(
                f"prior must be the Prior of this posterior, got {type(given).__name__}"
            )
        given = given.with_labeled(self.labels.nodes)
        fingerprint = self.settings["prior"]
        if not given.matches(fingerprint):
            raise ValueError(
                f"prior must be the one that was sampled with, {fingerprint}, got "
                f"{given.fingerprint()}; modes of a spectrum computed anew may differ in sign or "
                "order: keep the spectrum"
            )
        return given

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return self.by_class.shape[0]

    @property
    def overlap(self) -> float:
        """Deviation of the noise that belongs to the true class; see `Likelihood.overlap`."""
        return float(self.settings.get("overlap", 0.0))

    @property
    def probability(self) -> Array:
        """Posterior predictive probability of ``labels.classes[1]``, (N,); for K > 2 `by_class`."""
        return self.by_class[:, 1] if self.by_class.shape[1] == 2 else self.by_class

    @property
    def latent_probability(self) -> Array:
        """P(S(u) = 1), the field's sign, shape (N,); for K > 2 `latent_by_class`, (N, K)."""
        # ``mean`` has it too, except for a label that is the field itself, which has no overlap
        if not self.overlap:
            return self.probability
        return (1 + self.mean) / 2 if self.mean.ndim == 1 else self.mean

    @property
    def latent_by_class(self) -> Array:
        """Posterior probabilities that the label l(j) is each class, shape (N, K).

        They are those that the field has its sign, or that its field is the largest. Without
        overlap they equal ``by_class``.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> post = gq.approximate(prior, gq.Probit(gamma=0.3), gq.reveal(y, counts=3, seed=0))
        >>> hidden = np.setdiff1d(np.arange(100), post.labels.nodes)

        Overlap leaves the class of an item less certain than that of its field:

        >>> sure = post.by_class[hidden].max(axis=1)
        >>> bool((post.latent_by_class[hidden].max(axis=1) >= sure).all())
        True
        """
        return as_by_class(self.latent_probability) if self.overlap else self.by_class

    @property
    def mean_variance(self) -> float:
        """Var(l), eq. (10): the variance averaged over all nodes."""
        return float(self.variance.mean())

    def ranking(self, by: str = "entropy") -> NDArray[np.int64]:
        """Return all nodes, most uncertain first.

        Parameters
        ----------
        by : {"entropy", "margin", "variance", "total", "aleatoric", "epistemic"}
            Measure of uncertainty; for the last three see `uncertainty`, of which "total" is the
            entropy. With two classes entropy and margin give the same order.

        Returns
        -------
        ndarray of int64, shape (N,)
            Ties keep the order of the nodes.

        Raises
        ------
        ValueError
            Another measure.
        """
        validation.one_of("by", by, ("entropy", "margin", "variance", *PARTS))
        if by in PARTS[1:]:
            return np.argsort(-self.uncertainty()[by].to_numpy(), kind="stable")
        if by == "variance":
            return np.argsort(-self.variance, kind="stable")
        if by == "margin" and self.by_class.shape[1] > 2:
            return np.argsort(self.margin, kind="stable")
        return order_by_entropy(self.by_class)

    def uncertainty(self) -> pd.DataFrame:
        """Return the uncertainty of every node, and its two parts, in nats.

        Returns
        -------
        pandas.DataFrame
            A row for each node, with columns ``total``, the entropy of its true class;
            ``aleatoric``, what is left of it where the field is known, since classes overlap: no
            label resolves it; and ``epistemic``, the rest: more labels resolve it. See
            `graphuq.posterior.assessment.uncertainty`.
        """
        return split_entropy(self.by_class, self.aleatoric)

    @property
    def rank(self) -> NDArray[np.int64]:
        """The place of every node in `ranking`, shape (N,): 0 is the most uncertain."""
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[self.ranking()] = np.arange(self.n_nodes)
        return rank

    def suspect_labels(self) -> pd.DataFrame:
        """Return the given labels, those most likely to be mistakes first.

        A label can differ from the class of the field for two reasons. It is a mistake: a flip,
        which `NoisyProbit` and `LevelSet` expect anywhere. Or it is right, and classes overlap
        there, which `Probit` and `NoisyProbit` expect where fields are close to each other. If the
        likelihood expects no mistakes, labels are ordered by ``probability_wrong``, and where that
        ties by how much the field contradicts the label.

        Returns
        -------
        pandas.DataFrame
            A row for each labeled node, with columns ``node``; ``label``, as given; ``likelier``,
            the most probable class of the field; ``probability_wrong``, that the class of the field
            is not the label; ``probability_mistake``; ``probability_overlap``, that the label is no
            mistake although the class of the field is another; ``suspect``, whether ``likelier`` is
            another class than the label. A mistaken label may be the class of the field by chance,
            so the two may add up to more than ``probability_wrong``.

        Examples
        --------
        A label that contradicts its whole neighborhood:

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
        ['node', 'label', 'likelier', 'probability_wrong', 'probability_mistake', \
'probability_overlap', 'suspect']
        """
        return tabulate_suspects(
            self.labels, self.latent_by_class, self.latent_mean, *self._mistakes_and_overlaps()
        )

    def _mistakes_and_overlaps(self) -> tuple[Array, Array]:
        """Return the two probabilities of each label in `suspect_labels`, shape (J,)."""
        none, model = np.zeros(len(self.labels)), self.settings.get("sign_model")
        plain = self.labels.confidence is None
        if model is None or (model["flip_rate"] == 0 and plain):
            return none, probability_wrong(self.labels, self.latent_by_class)
        if self.overlap == 0:
            return probability_wrong(self.labels, self.latent_by_class), none
        if self.mistakes is not None and self.overlaps is not None:  # read from a file
            return self.mistakes, self.overlaps
        return self._flips_and_overlaps()

    def pred_probs(self, prior: GaussianPrior | None = None) -> Array:
        """Return what all other labels say of each label: out-of-sample predictions.

        They are the ``pred_probs`` of cleanlab's functions, whose ``labels`` are
        ``post.labels.indices``, and may calibrate conformal sets of other packages. Mistakes that
        the likelihood expects of labels are part of them, and doubts about this label, its
        confidence, are not. Draws are weighed as
        `graphuq.posterior.left_out` says.

        Parameters
        ----------
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file.

        Returns
        -------
        ndarray, shape (J, K)
            A row for each of ``labels.nodes``, and a column for each of ``labels.classes``.

        Raises
        ------
        ValueError
            Not a sign model; hyperparameters that were sampled; another prior.

        Examples
        --------
        A label that contradicts its whole neighborhood:

        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> labels = gq.reveal(y, counts=10, seed=0)
        >>> values = labels.values.copy()
        >>> values[3] = 1 - values[3]
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> wrong = gq.Labels(labels.nodes, values)
        >>> post = gq.sample(prior, gq.NoisyProbit(0.1, 0.1), wrong, seed=0, progress=False)
        >>> pred_probs = post.pred_probs()
        >>> pred_probs.shape, int(pred_probs[np.arange(20), wrong.indices].argmin())
        ((20, 2), 3)
        """
        if self.settings.get("sign_model") is None:
            raise ValueError(
                "predictions of labels need a sign model, such as gq.Probit, and "
                f"{self.settings['likelihood']['name']} is not one"
            )
        return self._left_out(self._own_prior(prior))

    def with_names(self, names: Any) -> Self:
        """Return the posterior with names of its nodes, for arviz, files and the report.

        Nodes are still counted from 0, and the names stand beside their numbers.

        Parameters
        ----------
        names : array_like, shape (N,)
            Kept as texts.

        Raises
        ------
        ValueError
            Not one name for each node, or missing names.

        Examples
        --------
        >>> import graphuq as gq
        >>> graph, clubs = gq.datasets.karate()
        >>> labels = gq.Labels([0, 33], clubs[[0, 33]])
        >>> post = gq.approximate(graph, gq.Probit(0.1), labels)
        >>> tree = post.with_names([f"member {i}" for i in range(34)]).to_arviz()
        >>> tree["node_summary"].sel(node=7)["name"].item()
        'member 7'
        """
        return dataclasses.replace(self, names=check_names(names, self.n_nodes))

    def to_arviz(self, classifiers: Mapping[str, Any] | None = None) -> Any:
        """Return an arviz InferenceData (arviz 0.x) or xarray DataTree (arviz 1.x).

        See `graphuq.posterior.to_arviz.to_arviz` for its groups.

        Parameters
        ----------
        classifiers : mapping from name to TransductiveClassifier, optional
            Fitted to the same graph and classes; ``node_summary`` gets their scores and
            predictions.
        """
        from graphuq.posterior.to_arviz import to_arviz

        return to_arviz(self, classifiers)

    def save(self, path: Any) -> None:
        """Write a NetCDF file that `graphuq.load` and arviz read.

        Parameters
        ----------
        path : path-like
            An existing file is replaced, whole or not at all.
        """
        from graphuq.posterior.netcdf import save

        save(self, path)

    @overload
    def suggest(
        self,
        k: int = 1,
        method: str = "bald",
        *,
        prior: GaussianPrior | None = None,
        candidates: int = 300,
        seed: validation.Seed = 0,
        return_scores: Literal[False] = False,
    ) -> NDArray[np.int64]: ...

    @overload
    def suggest(
        self,
        k: int = 1,
        method: str = "bald",
        *,
        prior: GaussianPrior | None = None,
        candidates: int = 300,
        seed: validation.Seed = 0,
        return_scores: Literal[True],
    ) -> tuple[NDArray[np.int64], Array]: ...

    def suggest(
        self,
        k: int = 1,
        method: str = "bald",
        *,
        prior: GaussianPrior | None = None,
        candidates: int = 300,
        seed: validation.Seed = 0,
        return_scores: bool = False,
    ) -> NDArray[np.int64] | tuple[NDArray[np.int64], Array]:
        """Return the unlabeled nodes to label next, best first.

        Nodes are picked one after another, each given the earlier picks. The theory chapter
        "Assessment" has the formulas.

        Parameters
        ----------
        k : int
            Number of nodes.
        method : str
            ``"bald"``: the mutual information of the answer and the field (Houlsby et al. 2011).
            ``"variance_reduction"``: the expected decrease of the labels' summed variance; about
            as good, but slower on many nodes, by a factor K^2 for K > 2 classes.
            ``"variance"``: the variance of the node's own label.
            ``"v_opt"`` (Ji and Han 2012) and ``"sigma_opt"`` (Ma, Garnett and Schneider 2013):
            the expected decrease of the field's summed variance, or of its sum's variance, if the
            field itself were observed. They depend on which nodes are labeled, not on the labels.
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file.
        candidates : int
            The first three methods consider only this many nodes, the most uncertain ones.
        seed : int, SeedSequence or Generator
            Seed of new draws, which an `ApproximatePosterior` or `Prior.approximated` needs.
        return_scores : bool
            Also return the score of each node, given the picks before it. For "bald" it is the
            mutual information in nats.

        Returns
        -------
        nodes : ndarray of int64, shape (k,)
        scores : ndarray, shape (k,)
            If ``return_scores``.

        Raises
        ------
        ValueError
            ``k`` above the number of unlabeled nodes, an unknown method, another prior.
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
        >>> nodes, scores = post.suggest(k=3, return_scores=True)
        >>> bool(scores[0] == scores.max()), bool(scores[0] < np.log(2))
        (True, True)
        """
        from graphuq.posterior.assessment.suggestion import suggest

        return_scores = validation.boolean("return_scores", return_scores)
        found = suggest(self, self._own_prior(prior), k, method, candidates, seed)
        return found if return_scores else found[0]
