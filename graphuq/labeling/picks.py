"""The most informative items: by a posterior, or before there is one by the graph alone."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from graphuq.labeling.expected_mistakes import ExpectedMistakes
from graphuq.posterior.assessment.suggestion import MIN_NOISE, Answers, Conditioned, greedy
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.hyperprior import MEAN_ALPHA, MEAN_TAU
from graphuq.utils.threads import one_blas_thread

# Questions that are ready at a time. Each is picked as if those before it were answered.
READY = 20

# Items among which the first questions are picked.
SPREAD_CANDIDATES = 2000


def pick_telling(post: Posterior, candidates: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return candidates to ask, each given those before it.

    With two classes their answers are expected to prevent the most mistakes. With more, where that
    takes too long, they have the most information about the field (BALD).
    """
    if not candidates.size:
        return candidates
    scores: ExpectedMistakes | Answers
    with one_blas_thread():
        if post.labels.classes.size == 2:
            scores = ExpectedMistakes(post, candidates, seed)
        else:
            model = post.settings["sign_model"]
            rates = model["noise"], model["flip_rate"]
            scores = Answers(post, post._own_prior(), candidates, "bald", rates, seed)
        picked, _ = greedy(scores, min(READY, candidates.size))
    return candidates[picked]


def pick_spread(
    prior: GaussianPrior, labeled: Collection[int], closed: Collection[int], seed: int
) -> tuple[tuple[int, None], ...]:
    """Return items that spread over the graph (V-optimal), given those that have a label.

    Parameters
    ----------
    prior : GaussianPrior
        Without open parameters.
    labeled, closed : collection of int
        Items with a label, and others that are not to be asked.
    seed : int
    """
    is_open = np.ones(prior.n_nodes, dtype=bool)
    is_open[[*labeled, *closed]] = False
    some = np.random.default_rng(seed).permutation(np.flatnonzero(is_open))
    some = np.sort(some[:SPREAD_CANDIDATES])
    if not some.size:
        return ()
    gaussian = Conditioned(prior, MIN_NOISE, some)
    for node in labeled:
        gaussian.observe(node)
    picked, _ = gaussian.greedy(min(READY, some.size), "v_opt")
    return tuple((node, None) for node in picked.tolist())


def without_labels(graph: GaussianPrior) -> GaussianPrior:
    """Return the prior of the graph with the parameters that are likeliest without labels."""
    chosen = {"alpha": MEAN_ALPHA, "tau": MEAN_TAU}
    return graph.with_parameters(**{name: chosen[name] for name in graph.open})
