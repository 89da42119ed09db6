"""Sample the posterior: from prior, likelihood and labels to the labels of all nodes."""

from __future__ import annotations

import os
from typing import Any

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.assembly import posterior_of
from graphuq.inference.checkpoint import require_seed
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.run import Run, require_room, settings_of, settings_of_sampler
from graphuq.inference.runner import announce_run
from graphuq.labels.labels import Labels
from graphuq.likelihoods.contract import Likelihood
from graphuq.posterior.posterior import Posterior
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.samplers.choice import choose_sampler, require_sampler
from graphuq.samplers.protocol import Sampler
from graphuq.utils import validation
from graphuq.utils.interruption import named_interruption
from graphuq.utils.warnings import ConvergenceWarning, warn


def sample(
    prior: GaussianPrior | Spectrum | Graph,
    likelihood: Likelihood,
    labels: Labels,
    sampler: Sampler | str = "auto",
    *,
    draws: int | None = None,
    target_ess: float | None = None,
    chains: int = 4,
    warmup: int | None = None,
    thin: int | None = None,
    nodes: Any = (),
    seed: validation.Seed = None,
    threads: int | None = None,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Posterior:
    """Sample the posterior over the labels of all nodes.

    Ctrl-C returns the draws so far, in a posterior marked incomplete. If it is pressed while the
    statistics of nodes are computed, they use the last 100 draws of each chain.

    Parameters
    ----------
    prior : Prior, FeaturePrior, SumPrior, SolvedPrior, one of your own, Spectrum or Graph
        The prior on the field. A spectrum stands for `Prior.projected` on all its modes, and a
        graph on up to 300, with alpha and tau "auto", plus a `Level`.
    likelihood : likelihood
        `Probit`, `LevelSet`, `NoisyProbit`, `GinzburgLandau`, or one of your own
        (`graphuq.likelihoods.contract`). Parameters that are "auto", here and in the prior, are
        first chosen by `graphuq.tune`.
    labels : Labels
        The observed labels.
    sampler : sampler or "auto"
        By default `Harmonic` for sign models (probit, noisy probit, level-set), with up to ten
        flows for each draw where K > 2 and labels may be mistakes; `PreconditionedHMC` from about
        16,000 labels on, for probit of two classes and `Prior.projected`, with a level or without;
        `HilbertHMC` for other likelihoods with a gradient, `EllipticalSlice` for the rest. The
        choice is recorded in ``settings``. `PCN` is the sampler of the paper.
    draws : int, optional
        Draws kept from each chain, 1,000 by default.
    target_ess : float, optional
        Keep doubling the draws until `Diagnostics.ess`, the smallest bulk effective sample size of
        the log posterior, the modes and the traced nodes, reaches this. ``draws`` is then the
        maximum per chain, 16,000 by default.
    chains : int
        Number of independent chains. Each starts from its own draw of the prior, which
        `Harmonic` first moves to where all or nearly all labels are right. `PreconditionedHMC`
        starts from a Gaussian wider than the posterior.
    warmup : int, optional
        Draws discarded at the start of each chain, during which the sampler adapts; by default the
        sampler chooses.
    thin : int, optional
        Steps from one draw to the next, in warm-up too; by default the sampler chooses.
    nodes : array_like of int or of str
        Nodes whose latent field is traced, by position or by name.
    seed : int, SeedSequence or Generator, optional
        The same seed gives the same draws, bit for bit, with any number of threads.
    threads : int, optional
        At most this many chains run at a time; by default one on each core.
    progress : bool
        Show a progress bar with the acceptance and the time left.
    checkpoint : path, optional
        A file to which the state of the run is written every minute and on Ctrl-C. If it exists,
        the same call resumes from it, to the same draws, bit for bit, as without the interruption.
        It is removed when the run is complete. It needs a ``seed``.

    Returns
    -------
    Posterior

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, or a checkpoint of another run, before any work.
    MemoryError
        Too little memory for the draws or the statistics of all nodes.

    Warns
    -----
    ConvergenceWarning
        If the chains disagree by split R-hat, or ``target_ess`` was not reached.
        `Posterior.diagnostics` is stricter: it takes R-hat of ranks and effective sample sizes.
    RuntimeWarning
        The run takes more than ten minutes, turns out to take more than a week, or is slow because
        labels contradict each other.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.approximated(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> post
    Posterior(100 nodes, 4 chains x 1000 draws)
    >>> post.accuracy(y) > 0.9
    True
    """
    require_sampler(sampler)
    if checkpoint is not None:
        require_seed(seed)
    plan = Plan.check(
        draws=draws,
        target_ess=target_ess,
        chains=chains,
        warmup=warmup,
        thin=thin,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    # 1. the posterior exp(-Phi(u)) N(u; 0, C), its "auto" parameters chosen from the labels
    with named_interruption("preparing the run"):
        problem = Problem.check(prior, likelihood, labels, nodes)
        sampler = choose_sampler(sampler, problem.bound, problem.prior)
        plan = plan.with_defaults_of(sampler)
        # 2. the law of the field at all nodes, given what the sampler draws
        conditional, target = problem.sampled_by(sampler)
        sampler.check(target)
        noise = sampler.noise(problem.bound)
        settings = settings_of(problem, settings_of_sampler(sampler), plan, noise)
        run = Run(problem, sampler, plan, conditional, target, settings)
        require_room(problem, plan, conditional)
        announce_run(sampler, target, plan)
    # 3. chains that sample the field that is read, then the statistics of all nodes
    posterior, messages = posterior_of(run, checkpoint)
    warn(" ".join(messages), ConvergenceWarning)
    return posterior
