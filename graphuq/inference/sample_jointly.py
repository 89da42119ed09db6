"""Sample hyperparameters together with the field, over one set of eigenpairs."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.inference.assembly import posterior_of
from graphuq.inference.checkpoint import require_seed
from graphuq.inference.checks import prior_or_graph, require_prior_and_labels
from graphuq.inference.parameter_ranges import Ranges, open_ranges, value_at, with_values
from graphuq.inference.plan import Plan
from graphuq.inference.problem import Problem
from graphuq.inference.run import Run, require_room, settings_of, settings_of_problem
from graphuq.inference.runner import announce_run
from graphuq.inference.tune import prior_or_default
from graphuq.labels.labels import Labels
from graphuq.likelihoods import LevelSet, NoisyProbit, Probit
from graphuq.likelihoods.bound import require_supported
from graphuq.likelihoods.contract import Likelihood, adopt, sign_model_of
from graphuq.likelihoods.label_rule import label_rule
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.posterior import Posterior
from graphuq.priors.component_level import ComponentLevel
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.given_modes import GivenModes
from graphuq.priors.hyperprior import LINEAR, Density, density_of
from graphuq.priors.on_features import ALL_ITEMS
from graphuq.priors.prior import Prior
from graphuq.priors.sum_prior import SumPrior
from graphuq.samplers.hyperparameter_slices import N_LINEAR, NAMES, OF_THE_PRIOR
from graphuq.samplers.joint import LARGEST, Joint, informed_shares
from graphuq.samplers.protocol import Target
from graphuq.utils import validation
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.warnings import ConvergenceWarning, silenced, warn

# Likelihoods whose parameters are coordinates of a point: gamma and flip_rate.
TUNABLE = (Probit, LevelSet, NoisyProbit)


def sample_jointly(
    prior: Prior | SumPrior | Spectrum | Graph,
    likelihood: Likelihood,
    labels: Labels,
    *,
    df: float | None = None,
    draws: int = 1000,
    chains: int = 4,
    warmup: int | None = None,
    thin: int | None = None,
    nodes: Any = (),
    seed: validation.Seed = None,
    threads: int | None = None,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    **ranges: Any,
) -> Posterior:
    """Sample hyperparameters with the field, so that the posterior averages over them.

    The joint density of z and of theta = (alpha, level, weight, tau, gamma, flip_rate) is

        p(theta) N(z; 0, I) prod_j p(y_j | u_j),    u = level z_0 1 + Q diag(sigma(theta)) z,

    where Q has the modes of the graph, and columns of the other priors of a sum, with p(theta) of
    `graphuq.priors.hyperprior`, truncated to the ranges. `graphuq.tune` maximizes over theta, and
    this averages. For K > 2 classes there are K fields, which share theta. A parameter that is
    neither "auto" nor has a range keeps its value in ``prior`` or ``likelihood``. With ``df`` the
    prior is not Gaussian: the coefficient of each mode of the graph is Student-t, so that a few may
    be far larger than the others. The theory chapter "Samplers" describes the sampler. Ctrl-C
    returns the draws so far.

    Parameters
    ----------
    prior : Prior, SumPrior, Spectrum or Graph
        `Prior.projected` or `Prior.full`, whose modes determine the field, with a rank; or a sum
        whose first part is such a prior, with any parts that leave nodes no variance of their own.
        A spectrum or graph stands for a prior on its smooth modes plus levels, if it has modes that
        agree with their neighbors.
    likelihood : Probit, LevelSet or NoisyProbit, or a sign model of your own
        The parameters of your own are not sampled.
    labels : Labels
        Labels of two or more classes, perhaps with confidence.
    df : float, optional
        Degrees of freedom of the Student-t coefficients of modes, above 0; Gaussian by default.
        Each mode has a scale s with 1 / s^2 ~ Gamma(df / 2, rate df / 2), which its K fields
        share. With ``df`` all parameters may be fixed.
    draws, chains, nodes, seed, threads, progress, checkpoint
        As in `graphuq.sample`.
    warmup : int, optional
        Draws discarded at the start of each chain, 100 by default.
    thin : int, optional
        Steps from one draw to the next, in warm-up too, 5 by default: a step moves
        hyperparameters less than the field.
    **ranges
        As in `graphuq.tune`: (low, high) of ``alpha``, ``tau``, ``level`` and ``weight``, the share
        of the first part of a sum, and of the likelihood's parameters, such as ``gamma=(0.02,
        0.3)``; "auto" stands for a default range. Other parameters, such as ``length_scale``, need
        a value.

    Returns
    -------
    Posterior
        Node statistics averaged over the hyperparameters, whose draws are in
        ``draws.hyperparameters``; the diagnostics cover these too. With ``df`` the largest scale of
        a mode, ``largest_scale``, is among them.

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit together, before any work; a prior with a tail, or that leaves
        nodes variance of their own, another likelihood, no range, a range in the wrong order or of
        a parameter that is not sampled.

    Warns
    -----
    ConvergenceWarning
        If the chains disagree; see `Posterior.diagnostics`.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> prior = gq.Prior.projected(graph, rank=20, alpha="auto") + gq.Level("auto")
    >>> labels = gq.reveal(y, counts=5, seed=0)
    >>> post = gq.sample_jointly(
    ...     prior, gq.Probit(gamma=0.1), labels, alpha=(1, 6), draws=200, seed=0, progress=False
    ... )
    >>> {name: values.shape for name, values in post.draws.hyperparameters.items()}
    {'alpha': (4, 200), 'level': (4, 200)}
    """
    adopt(likelihood)
    tails = {} if df is None else {"df": validation.positive("df", df)}
    source = _require_modes(prior)
    require_prior_and_labels(source, labels)
    require_supported(likelihood, labels)
    _require_sign_model(likelihood, labels)
    if checkpoint is not None:
        require_seed(seed)
    plan = Plan.check(
        draws=draws,
        chains=chains,
        warmup=warmup,
        thin=thin,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    # 1. the problem, with hyperparameters in the middle of their ranges
    chosen = prior_or_default(source, _without_rank(ranges), labels)
    if chosen is not source:
        _require_agreeing_modes(chosen)
    chosen, likelihood, found = open_ranges(chosen, likelihood, ranges, required=df is None)
    if others := sorted(found.keys() - set(NAMES)):
        raise TypeError(
            f"gq.sample_jointly samples {', '.join(NAMES)}, and not {others[0]}: give it a number, "
            "or choose it by gq.tune(prior, labels)"
        )
    box = {name: found[name] for name in NAMES if name in found}
    _require_known_parameters(likelihood, box)
    middle = {name: value_at(name, 0.5, *ends) for name, ends in box.items()}
    chosen, likelihood = with_values(chosen, likelihood, middle)
    problem = Problem.check(chosen, likelihood, labels, nodes)
    _require_no_nugget(problem.prior)
    sampler = _joint_sampler(problem, box, **tails)
    plan = plan.with_defaults_of(sampler)
    # 2. the field at all nodes, given z and the prior's parameters
    names = tuple(name for name in NAMES[:OF_THE_PRIOR] if name in box)
    conditional = GivenModes(problem.prior, problem.traced, names)
    require_room(problem, plan, conditional, extra=16.0 * plan.chains * len(labels) ** 2)
    with one_blas_thread():
        target = Target(problem.prior.at(labels.nodes), problem.bound)
    settings = {
        **settings_of(problem, {"name": "Joint", "sweeps": sampler.sweeps, **tails}, plan, 0.0),
        "ranges": {name: list(ends) for name, ends in box.items()},
    }
    sampled = (*box, LARGEST) if tails else tuple(box)
    run = Run(problem, sampler, plan, conditional, target, settings, sampled)
    announce_run(sampler, target, plan)
    # 3. chains that sample z and hyperparameters, then the statistics of all nodes
    posterior, messages = posterior_of(run, checkpoint)
    warn(" ".join(messages), ConvergenceWarning)
    return _at_means(posterior, chosen, problem)


def _at_means(posterior: Posterior, prior: GaussianPrior, problem: Problem) -> Posterior:
    """Return the posterior with prior and likelihood at the means of the hyperparameters."""
    means = {
        name: float(values.mean() if name in LINEAR else np.exp(np.log(values).mean()))
        for name, values in posterior.draws.hyperparameters.items()
        if name != LARGEST
    }
    prior, likelihood = with_values(prior, problem.likelihood, means)
    with silenced():  # what was said when the ranges were checked
        problem = Problem.check(prior, likelihood, problem.labels, problem.traced)
    of_means = settings_of_problem(problem)
    settings = {**posterior.settings, **of_means, "noise": of_means["sign_model"]["noise"]}
    return dataclasses.replace(posterior, prior=prior, settings=settings)


def _require_modes(prior: Any) -> Any:
    """Return the prior, or a Spectrum or Graph, and refuse priors that need more than its modes."""
    prior = prior_or_graph(prior)
    if isinstance(prior, Spectrum | Graph):
        return prior
    graph = prior.parts[0] if isinstance(prior, SumPrior) else prior
    if not isinstance(graph, Prior) or graph.kind == "approximated" or graph.auto_rank:
        raise TypeError(
            "gq.sample_jointly needs a prior whose modes determine the field, and a rank: take "
            "Prior.projected(spectrum, rank=100) or Prior.full, or a sum that begins with one of "
            f"these, got {prior!r:.200}"
        )
    return prior


def _require_no_nugget(prior: GaussianPrior) -> None:
    """Refuse a prior that gives nodes variance that they do not share with others."""
    field = prior.field
    own = field.own_weights > field.weights
    if field.tail or (own.any() and np.any(field.basis[:, own])):
        raise TypeError(
            "gq.sample_jointly needs a prior in which no node has variance of its own, as in a "
            f"prior on features of more than {ALL_ITEMS} items: choose the parameters by "
            "gq.tune(prior, labels), and use gq.sample"
        )


def _require_agreeing_modes(prior: GaussianPrior) -> None:
    """Refuse a graph whose default prior has nothing but levels of its components."""
    if isinstance(prior.parts[0] if isinstance(prior, SumPrior) else prior, ComponentLevel):
        raise ValueError(
            "gq.sample_jointly needs modes, and no mode of this graph agrees with its neighbors, "
            "so that its prior has a level for each component alone: take gq.tune and gq.sample"
        )


def _require_sign_model(likelihood: Any, labels: Labels) -> None:
    """Refuse other likelihoods."""
    if isinstance(likelihood, TUNABLE):
        return
    if sign_model_of(adopt(likelihood), label_rule(labels).n_classes) is None:
        raise TypeError(
            "gq.sample_jointly supports sign models, such as gq.Probit, gq.LevelSet and "
            f"gq.NoisyProbit, got {likelihood!r}: for other likelihoods fix the parameters and use "
            "gq.sample"
        )


def _require_known_parameters(likelihood: Any, ranges: Ranges) -> None:
    """Refuse to sample parameters whose part in the sign model is not known."""
    if isinstance(likelihood, TUNABLE):
        return
    if names := ranges.keys() & {field.name for field in dataclasses.fields(likelihood)}:
        raise TypeError(
            "gq.sample_jointly samples parameters of gq.Probit, gq.LevelSet and gq.NoisyProbit, "
            f"and not {min(names)} of {likelihood!r}: give it a number"
        )


def _without_rank(ranges: dict[str, Any]) -> dict[str, Any]:
    if "rank" in ranges:
        raise TypeError(
            "a rank is not sampled: give it to the prior, such as Prior.projected(spectrum, 100)"
        )
    return ranges


def _joint_sampler(problem: Problem, ranges: Ranges, df: float = math.inf) -> Joint:
    """Return the sampler of the field and of the hyperparameters that have ranges."""
    bound, prior, n_classes = problem.bound, problem.prior, problem.bound.rule.n_classes
    assert bound.sign_model is not None
    box = _box(prior, bound.sign_model, n_classes, ranges)
    with one_blas_thread():
        shares = informed_shares(prior, problem.labels.nodes, box)
    densities = _densities(ranges, n_classes, bound.overlap > 0)
    return Joint(prior, box, densities, bound.sign_model.noise == 0, shares, df)


def _box(
    prior: GaussianPrior, model: SignModel, n_classes: int, ranges: Ranges
) -> NDArray[np.float64]:
    """Return the ends of a point, `hyperparameter_slices.NAMES`, equal where fixed."""
    fixed = {"weight": 1.0, **prior.parameters, "flip_rate": model.flip_rate(n_classes)}
    # without noise, gamma is that of the level-set model
    fixed["gamma"] = model.noise or math.sqrt(2 / model.cost)
    ends = np.array([ranges.get(name, (fixed.get(name, 0.0),) * 2) for name in NAMES])
    with np.errstate(divide="ignore"):  # tau = 0, no flips
        ends[N_LINEAR:] = np.log(ends[N_LINEAR:])
    return ends


def _densities(ranges: Ranges, n_classes: int, noisy: bool) -> NDArray[np.float64]:
    """Return the density of each coordinate of a point; zeros where it is fixed."""
    densities = np.zeros((len(NAMES), len(Density())))
    for i, name in enumerate(NAMES):
        if name in ranges:
            density = density_of(name, n_classes, noisy=noisy)
            densities[i] = density if name in LINEAR else density.of_logarithm()
    return densities
