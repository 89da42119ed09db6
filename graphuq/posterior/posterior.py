"""The posterior: statistics of every node, and the draws or sites that they come from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import as_by_class, label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.assessment.calibration import Calibration, calibrate
from graphuq.posterior.assessment.diagnostics import Diagnostics, diagnose
from graphuq.posterior.assessment.model_trust import ModelTrust, trust_in_model
from graphuq.posterior.assessment.suspect_labels import (
    FALSE_DISCOVERY_RATE,
    Doubts,
    probability_wrong,
    tabulate_suspects,
)
from graphuq.posterior.assessment.trust import Trust, trust_in_approximation, trust_in_draws
from graphuq.posterior.assessment.uncertainty import PARTS, split_entropy
from graphuq.posterior.draws import Draws
from graphuq.posterior.label_likelihood import (
    MAX_TERMS,
    LabelDraws,
    label_draws,
)
from graphuq.posterior.left_out import left_out_from_draws
from graphuq.posterior.node_names import check_names, node_numbers
from graphuq.posterior.predictions import PredictionMixin, order_by_entropy
from graphuq.posterior.sites import GaussianSites
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils import validation
from graphuq.utils.features import check_new_features, check_new_weights
from graphuq.utils.read_only import read_only
from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn
from graphuq.utils.words import choose_form, count

if TYPE_CHECKING:
    import pandas as pd

    from graphuq.posterior.assessment.estimated_shares import ClassShares


class Call(NamedTuple):
    """A function and its arguments besides prior, likelihood and labels; `Posterior.call`."""

    function: str
    sampler: dict[str, Any] | None = None
    """The sampler as settings describe it; None for functions that take none."""
    options: dict[str, Any] | None = None
    """Keyword arguments, without the seed; None for functions that take none."""
    seed: tuple[Any, tuple[int, ...]] | None = None
    """Entropy and spawn key of the SeedSequence; None where nothing is random."""


# Draws of the latent field that an approximation makes unless asked otherwise.
LATENT_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Posterior(PredictionMixin):
    """Statistics of all nodes, which `graphuq.sample` and `graphuq.approximate` make.

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
        chains' own means where these disagree. NaN for an approximation, whose error is unknown.
    latent_mean, latent_variance : ndarray, shape (N,) or (N, K)
        Mean and variance of the latent field u.
    probability_mcse : ndarray, shape (N,) or (N, K)
        Monte Carlo standard error of `probability`.
    aleatoric : ndarray, shape (N,)
        Expected entropy of the true class given the field, in nats; see `uncertainty`.
    doubts : Doubts, optional
        What `suspect_labels` shows, if read from a file, approximated, or found by
        `graphuq.find_mistakes`.
    settings : dict
        What was run: prior, likelihood, and how.
    source : Draws or GaussianSites
        What the statistics come from: draws, or a Gaussian approximation.
    names : ndarray of str, shape (N,), optional
        Names of the nodes: those of the graph, or given by `with_names`.
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
    >>> post.is_sampled, post.n_latent_draws, post.diagnostics().messages
    (True, 4000, ())
    >>> post.expects_mistakes
    False
    >>> post.draws.complete, post.draws.modes.shape
    (True, (4, 1000, 20))
    >>> post.label_draws().log_likelihood.shape
    (4000, 6)
    >>> tree = post.to_arviz()                                # for az.summary, az.plot_trace, ...
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     post.save(f"{folder}/moons.nc")
    ...     again = gq.load(f"{folder}/moons.nc")
    >>> bool((again.mean == post.mean).all())
    True

    An approximation has sites instead of draws:

    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
    >>> quick
    Posterior(100 nodes, approximated from 6 labels, log evidence -2.30)
    >>> quick.sites.leave_one_out.shape, quick.trust().light
    ((6,), 'amber')
    """

    labels: Labels
    mean: Array
    variance: Array
    by_class: Array
    mcse: Array
    latent_mean: Array
    latent_variance: Array
    settings: dict[str, Any]
    source: Draws | GaussianSites
    probability_mcse: Array = dataclasses.field(kw_only=True)
    aleatoric: Array = dataclasses.field(kw_only=True)
    doubts: Doubts | None = dataclasses.field(default=None, kw_only=True, repr=False)
    names: NDArray[np.str_] | None = dataclasses.field(default=None, kw_only=True, repr=False)
    prior: GaussianPrior | None = dataclasses.field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Make the statistics read-only: others follow from them, and files hold them."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))

    @property
    def draws(self) -> Draws:
        """The draws of a sampled posterior; an AttributeError for an approximation."""
        if not isinstance(self.source, Draws):
            raise AttributeError("an approximation has no draws: make them with gq.sample")
        return self.source

    @property
    def sites(self) -> GaussianSites:
        """The sites of an approximation; an AttributeError for a sampled posterior."""
        if not isinstance(self.source, GaussianSites):
            raise AttributeError("a sampled posterior has no sites: make them with gq.approximate")
        return self.source

    @property
    def is_sampled(self) -> bool:
        """Whether the statistics come from draws."""
        return isinstance(self.source, Draws)

    def diagnostics(self) -> Diagnostics:
        """Return R-hat, effective sample size, acceptance and more; warn if they are poor.

        See `graphuq.posterior.assessment.diagnostics.Diagnostics`.

        Raises
        ------
        AttributeError
            An approximation, which has no draws.

        Warns
        -----
        ConvergenceWarning
            With what was seen and what to do.
        """
        warn(" ".join(self._diagnostics.messages), ConvergenceWarning)
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        return diagnose(self.draws, self.settings)

    def trust(self) -> Trust:
        """Return how far the computation can be trusted: a traffic light with reasons."""
        if isinstance(self.source, GaussianSites):
            return trust_in_approximation(self.source.log_evidence)
        if self.labels.classes.size == 2:
            target = "an item's expected label (from -1 to +1)"
        else:
            target = "the probability of a class (or, under Ginzburg-Landau, of its field)"
        worst = float(self.mcse.max()), target
        return trust_in_draws(self._diagnostics, *self.source.shape, worst)

    def model_trust(self, prior: GaussianPrior | None = None) -> ModelTrust:
        """Return how far the model can be trusted: a traffic light with reasons.

        Each label is compared with what all other labels predict, `pred_probs`. A label that is the
        only one of its class is left out, since no other label can predict it, and so is one that
        is probably wrong by its own confidence.

        Parameters
        ----------
        prior : Prior, optional
            The prior of the posterior; needed if it was sampled and read from a file.

        Raises
        ------
        ValueError
            Not a sign model; hyperparameters that were sampled; another prior.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
        >>> labels = gq.reveal(y, counts=10, seed=0)
        >>> post = gq.sample(graph, gq.Probit(), labels, seed=0, progress=False)
        >>> trust = post.model_trust()
        >>> trust.light, trust.judged, trust.most_frequent
        ('green', 20, 10)
        """
        predicted, given = self.pred_probs(prior), self.labels.indices
        known = np.bincount(given)[given] > 1
        if self.labels.confidence is not None:
            known &= self.labels.confidence > 0.5
        n = int(known.sum())
        judged = f"{count(n, 'label')} {choose_form(n, 'is', 'are')}"
        return trust_in_model(predicted[known], given[known], judged, "from the other labels")

    def call(self) -> Call:
        """Return the call of graphuq that makes this posterior again."""
        if isinstance(self.source, GaussianSites):
            return Call("approximate")
        settings = self.settings
        length = "draws" if settings["target_ess"] is None else "target_ess"
        options = {name: settings[name] for name in (length, "chains", "warmup", "thin")}
        if self.source.traced.size:
            options["nodes"] = self.source.traced.tolist()
        seed = settings["seed_entropy"], tuple(settings["seed_spawn_key"])
        if not self.source.hyperparameters:
            return Call("sample", settings["sampler"], options, seed)
        if "df" in settings["sampler"]:
            options["df"] = settings["sampler"]["df"]
        options |= {name: tuple(ends) for name, ends in settings["ranges"].items()}
        return Call("sample_jointly", None, options, seed)

    @property
    def n_latent_draws(self) -> int:
        """Number of draws that `latent_draws` yields: all of a run, or 1,000."""
        return math.prod(self.source.shape) if isinstance(self.source, Draws) else LATENT_DRAWS

    def latent_draws(
        self,
        prior: GaussianPrior | None = None,
        nodes: Any = None,
        *,
        draws: int | None = None,
        seed: validation.Seed = None,
    ) -> Iterator[Array]:
        """Return draws of the latent field u at any nodes, a block at a time.

        If the posterior was sampled, chain after chain, each belongs to the draw of the same number
        in ``draws.modes``. Under `Prior.approximated` the modes do not determine the field: there
        it belongs to the labeled nodes' field of the same number in ``draws.read``, and the rest is
        drawn again. An approximation draws from its Gaussian.

        Parameters
        ----------
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file. Parameters that were
            sampled are ignored.
        nodes : array_like of int or of str, optional
            All nodes by default.
        draws : int, optional
            How many an approximation draws, 1,000 by default; a sampled posterior has those of its
            run.
        seed : int, SeedSequence or Generator, optional

        Yields
        ------
        ndarray, shape (draws of the block, nodes), or (..., nodes, K) for K > 2 classes

        Raises
        ------
        ValueError
            Another prior, or none; a number of draws for a sampled posterior; a likelihood that
            reads all nodes under `Prior.approximated`, whose fields were not kept.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(100, seed=0)
        >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
        >>> labels = gq.reveal(y, counts=3, seed=0)
        >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
        >>> [block.shape for block in post.latent_draws(nodes=[5, 8])][:2]
        [(256, 2), (256, 2)]
        >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
        >>> [block.shape for block in quick.latent_draws(nodes=[5, 8], draws=300, seed=0)]
        [(256, 2), (44, 2)]
        """
        prior = self._own_prior(prior)
        wanted = np.arange(self.n_nodes) if nodes is None else nodes
        wanted = self.node_numbers(wanted)
        own = validation.seed_sequence(seed)
        if isinstance(self.source, Draws):
            if draws is not None:
                raise ValueError(
                    f"draws is for approximations: this posterior has {self.n_latent_draws:,} draws"
                )
            return self.source.latent(prior, self.labels, wanted, self.settings["noise"], own)
        n = LATENT_DRAWS if draws is None else validation.integer("draws", draws, 1)
        return self.source.latent(prior, self.labels, wanted, n, own)

    def by_class_of_new(
        self, graph: Any, weights: Any, X: Any = None, *, prior: GaussianPrior | None = None
    ) -> Array:
        """Return the class probabilities of new items by their links and features, shape (m, K).

        A new item is treated as a further node, of which nothing else is known; the others stay as
        they are. See `graphuq.posterior.new_items`.

        Parameters
        ----------
        graph : Graph, or what makes one
            That of the prior.
        weights : array_like or sparse array, shape (m, N)
            Weights of the links from each new item to the nodes, at least 0. A row of zeros is an
            item without links.
        X : array_like or sparse matrix, shape (m, d), optional
            Features of the new items, if the prior has any.
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file.

        Raises
        ------
        ValueError, TypeError
            Another prior, weights or features of another shape, negative weights, missing features.
            A prior without rows for new items, such as `Prior.approximated`.

        Examples
        --------
        >>> import graphuq as gq
        >>> links, y = gq.datasets.planted_partition([50, 50], 0.2, 0.02, seed=0)
        >>> X = np.random.default_rng(0).normal(size=(100, 2)) + y[:, None]
        >>> labels = gq.reveal(y, counts=5, seed=0)
        >>> tuned = gq.tune(gq.default_prior(links, X, labels), labels)
        >>> post = gq.approximate(tuned.prior, tuned.likelihood, labels)
        >>> to_three = np.zeros((1, 100))
        >>> to_three[0, [60, 70, 80]] = 1
        >>> post.by_class_of_new(links, to_three, [[1.0, 1.0]]).argmax(axis=1)
        array([1])
        """
        from graphuq.posterior.new_items import new_probability

        prior, graph = self._own_prior(prior), Graph.of(graph)
        if graph.n_nodes != self.n_nodes:
            raise ValueError(
                f"graph must have the {self.n_nodes} nodes of the posterior, got {graph.n_nodes}"
            )
        weights = check_new_weights(weights, self.n_nodes)
        if X is not None:
            X = check_new_features(X, weights.shape[0])
        return new_probability(self, prior, graph.degrees, weights, X)

    def label_draws(self) -> LabelDraws | None:
        """Return what each draw says of the labels; None where that is not known.

        It needs draws, a sign model and the prior, and at most `MAX_TERMS` draws x labels x
        classes.
        """
        known = self.is_sampled and self.settings["sign_model"] and self.prior is not None
        return self._label_draws(1) if known and self._label_terms <= MAX_TERMS else None

    def _label_draws(self, every: int) -> LabelDraws:
        """Return what each ``every``-th draw of a chain says of the labels."""
        draws, own_seed = self.draws.thinned(every), self._own_seed()
        return label_draws(draws, self.labels, self.settings, self.prior, own_seed)

    @property
    def _label_terms(self) -> int:
        """Number of draws x labels x classes."""
        return self.n_latent_draws * len(self.labels) * label_rule(self.labels).n_fields

    def _own_seed(self) -> np.random.SeedSequence:
        """Return the seed of the run."""
        own = self.settings
        return np.random.SeedSequence(own["seed_entropy"], spawn_key=own["seed_spawn_key"])

    def _own_prior(self, given: GaussianPrior | None = None) -> GaussianPrior:
        """Return the prior of this posterior, which ``given`` must equal.

        Hyperparameters that were sampled have their means. A posterior read from a file does not
        hold its prior and needs it given.
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
        fingerprint = self.settings["prior"]
        if isinstance(self.source, Draws):
            means = {**fingerprint, "weight": fingerprint.get("weights", [1.0])[0]}
            sampled = self.source.hyperparameters.keys() & given.parameters.keys()
            given = given.with_parameters(**{name: means[name] for name in sampled})
        given = given.with_labeled(self.labels.nodes)
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

    def suspect_labels(self, false_discovery_rate: float = FALSE_DISCOVERY_RATE) -> pd.DataFrame:
        """Return the given labels, those most likely to be mistakes first.

        A label can differ from the class of the field for two reasons. It is a mistake: a flip,
        which `NoisyProbit` and `LevelSet` expect anywhere. Or it is right, and classes overlap
        there, which `Probit` and `NoisyProbit` expect where fields are close to each other.
        `Probit` expects no mistakes, and none of its labels is suspect: `graphuq.find_mistakes`
        asks a model that expects them. Where mistakes tie, labels are ordered by
        ``probability_wrong``, and where that ties by how much the field contradicts the label.

        Parameters
        ----------
        false_discovery_rate : float from 0 to 1
            The largest share of right labels that is expected among the suspect ones.

        Returns
        -------
        pandas.DataFrame
            A row for each labeled node, with columns ``node``; ``label``, as given; ``likelier``,
            the most probable class of the field; ``probability_wrong``, that the class of the field
            is not the label; ``probability_mistake``; ``probability_overlap``, that the label is no
            mistake although the class of the field is another; ``suspect``. Suspect are the labels
            of the largest ``probability_mistake``: as many as the rate allows. A mistaken label may
            be the class of the field by chance, so ``probability_mistake`` and
            ``probability_overlap`` may add up to more than ``probability_wrong``.

        Raises
        ------
        ValueError
            A rate out of range.

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
        doubts = self._doubts()
        return tabulate_suspects(self.labels, doubts, self.latent_mean, false_discovery_rate)

    @property
    def expects_mistakes(self) -> bool:
        """Whether labels can be mistakes: by the likelihood, or by confidences below 1."""
        model = self.settings.get("sign_model")
        return model is not None and (model["flip_rate"] > 0 or self.labels.confidence is not None)

    def _doubts(self) -> Doubts:
        """Return what is known of mistakes among the labels."""
        if self.doubts is not None:
            return self.doubts
        by_class = self.latent_by_class[self.labels.nodes]
        none, wrong = np.zeros(len(self.labels)), probability_wrong(self.labels, by_class)
        if not self.expects_mistakes:
            return Doubts(by_class, none, wrong)
        if self.overlap == 0:
            return Doubts(by_class, wrong, none)
        if self.prior is None:
            unknown = np.full(len(self.labels), np.nan)
            return Doubts(by_class, unknown, unknown)
        found = self._label_draws(math.ceil(self._label_terms / MAX_TERMS))
        return Doubts(by_class, found.mistake.mean(axis=0), found.overlap.mean(axis=0))

    def pred_probs(self, prior: GaussianPrior | None = None, *, mistakes: bool = True) -> Array:
        """Return what all other labels say of each label: out-of-sample predictions.

        They are the ``pred_probs`` of cleanlab's functions, whose ``labels`` are
        ``post.labels.indices``, and may calibrate conformal sets of other packages. Doubts about
        this label, its confidence, are no part of them. Draws are weighed as
        `graphuq.posterior.left_out` says.

        Parameters
        ----------
        prior : Prior, optional
            The prior of the posterior; needed if it was sampled and read from a file.
        mistakes : bool
            Whether the mistakes that the likelihood expects, its ``flip_rate``, are part of the
            predictions. Without them these are of the true class, which
            `graphuq.annotator_rates` asks for.

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
        validation.boolean("mistakes", mistakes)
        found = self._left_out(prior)
        if mistakes:
            return found
        K = self.labels.classes.size
        model = SignModel.flipping(0.0, self.settings["sign_model"]["flip_rate"], K)
        return np.asarray(model.of_class(found, K))

    def _left_out(self, prior: GaussianPrior | None) -> Array:
        """Return what all other labels say of each label, with mistakes."""
        if self.settings.get("sign_model") is None:
            raise ValueError(
                "predictions of labels need a sign model, such as gq.Probit, and "
                f"{self.settings['likelihood']['name']} is not one"
            )
        if isinstance(self.source, GaussianSites):
            if prior is not None:
                self._own_prior(prior)
            return as_by_class(self.source.leave_one_out)
        prior = self._own_prior(prior)
        if self.source.hyperparameters:
            raise ValueError(
                "hyperparameters were sampled, and predictions of labels need one prior: take "
                "those of gq.sample(...) or gq.approximate(...)"
            )
        return left_out_from_draws(self.source, self.labels, self.settings, prior, self._own_seed())

    def class_shares(
        self,
        groups: Any = None,
        *,
        prior: GaussianPrior | None = None,
        seed: validation.Seed = 0,
    ) -> ClassShares:
        """Return how many items there are of each class, with intervals.

        If labels are drawn at random, or were chosen by a model, shares are those of draws of the
        field: 1,000 of them, and at least 200 where items are many. If a fixed number of labels was
        drawn from each class, shares follow from what is predicted for labeled items of each class
        and for all others, and those of groups from both. ``labels.sampling`` says which; the
        theory chapter "Assessment" has the equations. The second way takes all labels as right.

        Parameters
        ----------
        groups : array_like, shape (N,), optional
            The group of each node, such as a ward, a batch or a cluster: shares of each group. By
            default all nodes are one group.
        prior : Prior, optional
            The prior of the posterior; needed if it was read from a file.
        seed : int, SeedSequence or Generator, optional

        Returns
        -------
        ClassShares
            ``mean``, ``draws``, ``interval(probability)`` and ``table(probability)``.

        Raises
        ------
        ValueError
            Not one group for each node, or a missing one; another prior, or none; sampled
            hyperparameters; labels that are the field, if they are by class.

        Examples
        --------
        One in six is rare, and 15 of each class are labeled:

        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(600, seed=0)
        >>> kept = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:60])
        >>> labels = gq.reveal(y[kept], counts=15, seed=0)
        >>> post = gq.approximate(gq.knn_graph(X[kept], n_neighbors=8), gq.Probit(), labels)
        >>> shares = post.class_shares()
        >>> low, high = shares.interval(0.9)[0, 1]
        >>> bool(low < 60 / 360 < high)
        True
        >>> groups = np.where(X[kept, 0] > 0.5, "east", "west")
        >>> post.class_shares(groups).table()["group"].tolist()
        ['east', 'east', 'west', 'west']
        """
        from graphuq.posterior.assessment.estimated_shares import estimate_shares

        return estimate_shares(self, groups, prior, seed)

    def calibration(
        self, truth: Any = None, *, n_bins: int = 10, seed: validation.Seed = 0
    ) -> Calibration:
        """Return how far probabilities can be trusted, with or without the truth.

        See `graphuq.calibrate` and `graphuq.Calibration`; `graphuq.plots.reliability` shows it.
        Without the truth each given label of an approximation is compared with what all other
        labels predict, ``sites.leave_one_out``. This requires labels drawn at random, and errors of
        the labels count as errors of the predictions.

        Parameters
        ----------
        truth : array_like, shape (N,), optional
            The true classes; needed if the posterior was sampled.
        n_bins, seed
            See `graphuq.calibrate`, also for errors.

        Raises
        ------
        TypeError
            No truth for a sampled posterior.

        Examples
        --------
        >>> import graphuq as gq
        >>> X, y = gq.datasets.two_moons(200, seed=0)
        >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
        >>> labels = gq.reveal(y, counts=20, seed=0)
        >>> quick = gq.approximate(graph, gq.Probit(), labels)
        >>> bool(abs(quick.calibration().accuracy - quick.accuracy(y)) < 0.1)
        True
        """
        if truth is not None or isinstance(self.source, Draws):
            return super().calibration(truth, n_bins=n_bins, seed=seed)
        found, labels = as_by_class(self.source.leave_one_out), self.labels
        return calibrate(found, labels.values, labels.classes, n_bins=n_bins, seed=seed)

    def with_names(self, names: Any) -> Posterior:
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

    def node_numbers(self, nodes: Any) -> NDArray[np.int64]:
        """Return the positions of nodes, which may be given by name.

        Raises
        ------
        ValueError
            A name that no node has; positions that are none.

        Examples
        --------
        >>> import graphuq as gq
        >>> graph = gq.Graph([[0, 2, 0], [2, 0, 1], [0, 1, 0]], nodes=["ann", "bob", "cy"])
        >>> post = gq.approximate(graph, gq.Probit(0.3), gq.Labels({"ann": 0, "cy": 1}, graph))
        >>> post.node_numbers(["cy", "ann"])
        array([2, 0])
        """
        return node_numbers(nodes, self.names, self.n_nodes)

    def to_arviz(self, classifiers: Mapping[str, Any] | None = None, nodes: Any = None) -> Any:
        """Return an arviz InferenceData (arviz 0.x) or xarray DataTree (arviz 1.x).

        See `graphuq.posterior.to_arviz.to_arviz` for its groups.

        Parameters
        ----------
        classifiers : mapping from name to TransductiveClassifier, optional
            Fitted to the same graph and classes; ``node_summary`` gets their scores and
            predictions.
        nodes : array_like of int or of str, optional
            Nodes whose field is the variable ``u``, by number or by name; those that were traced by
            default.
        """
        from graphuq.posterior.to_arviz import to_arviz

        return to_arviz(self, classifiers, nodes)

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
            Seed of new draws, which an approximation or `Prior.approximated` needs.
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

    def __repr__(self) -> str:
        if isinstance(self.source, GaussianSites):
            return (
                f"Posterior({self.n_nodes} nodes, approximated from {len(self.labels)} labels, "
                f"log evidence {self.source.log_evidence:.2f})"
            )
        chains, draws = self.source.shape
        cut = "" if self.source.complete else ", incomplete"
        return f"Posterior({self.n_nodes} nodes, {chains} chains x {draws} draws{cut})"
