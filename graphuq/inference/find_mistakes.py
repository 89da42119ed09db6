"""Mistakes among the labels, found by a model that expects them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from graphuq.inference.approximate import approximate_problem
from graphuq.inference.checks import require_prior_and_labels
from graphuq.inference.parameter_ranges import reopened
from graphuq.inference.problem import Problem
from graphuq.inference.tune import tune
from graphuq.likelihoods import NoisyProbit
from graphuq.posterior.assessment.suspect_labels import Doubts
from graphuq.posterior.posterior import Posterior
from graphuq.priors.some_nodes import SomeNodes
from graphuq.utils.warnings import warn

# Labels x classes beyond which mistakes are not searched unasked: the search would take minutes.
MOST_FIELDS = 2000


def find_mistakes(post: Posterior, prior: Any = None) -> Posterior:
    """Return the posterior with the probability that each label is a mistake.

    `Probit` expects no mistakes. Here `NoisyProbit` is tuned to the labels of the posterior, and
    approximated by expectation propagation. `Posterior.suspect_labels`, reports and files then show
    what it says of the labels, and predictions stay as they are. It takes about as long as `tune`.

    The parameters of the prior are chosen again, because wrong labels mislead them: a prior tuned
    to them explains them, by a length scale that is too short, say. Ranks, tau = 0 and weights of 0
    and 1 are kept.

    Parameters
    ----------
    post : Posterior
        It is returned as it is if its model expects mistakes, as `NoisyProbit` does, or if they
        were found before and no ``prior`` is given.
    prior : Prior, Spectrum or Graph, optional
        A prior whose open parameters are chosen, instead of that of the posterior.

    Returns
    -------
    Posterior

    Raises
    ------
    TypeError, ValueError
        Not a posterior; a prior on other nodes; no prior for a posterior from a file.
    RuntimeError
        Expectation propagation did not converge; see `graphuq.evidence`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> labels = gq.reveal(y, counts=10, seed=0)
    >>> values = labels.values.copy()
    >>> values[3] = 1 - values[3]
    >>> spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> tuned = gq.tune(spectrum, gq.Labels(labels.nodes, values))
    >>> post = gq.approximate(tuned.prior, tuned.likelihood, gq.Labels(labels.nodes, values))
    >>> post.expects_mistakes, bool(post.suspect_labels()["suspect"].any())
    (False, False)
    >>> suspects = gq.find_mistakes(post).suspect_labels()
    >>> suspects["node"][suspects["suspect"]].tolist() == [labels.nodes[3]]
    True
    """
    if not isinstance(post, Posterior):
        raise TypeError(f"post must be a Posterior, got {type(post).__name__}")
    labels, found = post.labels, post.doubts is not None and (post.doubts.mistake > 0).any()
    if post.expects_mistakes or (found and prior is None):
        return post
    if prior is None:
        if post.prior is None:
            raise ValueError(
                "a posterior from a file does not hold its prior: give a prior, whose open "
                "parameters are chosen"
            )
        prior = reopened(post.prior)
    require_prior_and_labels(prior, labels)
    if prior.n_nodes != post.n_nodes:
        raise ValueError(
            f"prior must be one of the {post.n_nodes} nodes of the posterior, got one of "
            f"{prior.n_nodes}"
        )
    tuned = tune(prior, labels, NoisyProbit)
    # nothing is asked of other nodes
    alone, numbered = SomeNodes(tuned.prior, labels.nodes), labels.moved(np.arange(len(labels)))
    noisy = approximate_problem(Problem.check(alone, tuned.likelihood, numbered), None)
    return dataclasses.replace(post, doubts=noisy.doubts)


def with_mistakes(post: Posterior, *, survives_interrupt: bool = False) -> Posterior:
    """Return the posterior with the mistakes that are soon found.

    They are unknown, with a warning, if there are too many labels, or if the second model has no
    answer; with ``survives_interrupt`` also if Ctrl-C ends the search, since the draws may have
    taken hours. Nothing is done if the prior is not known.
    """
    if post.prior is None or post.expects_mistakes or post.doubts is not None:
        return post
    labels, why = post.labels, "there are too many labels"
    caught: tuple[type[BaseException], ...] = RuntimeError, ValueError, MemoryError
    if survives_interrupt:
        caught += (KeyboardInterrupt,)
    if labels.classes.size * len(labels) <= MOST_FIELDS:
        try:
            return find_mistakes(post)
        except caught as error:
            why = str(error) or "interrupted"
    warn(f"mistakes were not searched: {why}")
    unknown = np.full(len(labels), np.nan)
    return dataclasses.replace(
        post, doubts=Doubts(post.latent_by_class[labels.nodes], unknown, unknown)
    )
