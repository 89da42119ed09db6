"""The MAP estimate: the field of largest posterior density, and the label it gives every node.

Newton's method finds it for probit, Algorithm 4 for smooth likelihoods, and for K > 2 classes a
quasi-Newton method at the labeled nodes.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from graphuq.inference.problem import Problem
from graphuq.labels.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.bound import Bound, differentiate, evaluate
from graphuq.likelihoods.contract import Likelihood
from graphuq.likelihoods.label_rule import Argmax, as_by_class
from graphuq.posterior.predictions import PredictionMixin
from graphuq.priors.gaussian import Gaussian
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.prior import Prior
from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.row_blocks import product
from graphuq.utils.threads import one_blas_thread
from graphuq.utils.typing import Array
from graphuq.utils.warnings import ConvergenceWarning, warn
from graphuq.utils.words import count

METHODS = ("auto", "newton", "flow", "quasi-newton")

STARTS = ("auto", "zero", "probit", "spectral", "random")

# gamma of the probit estimate that other likelihoods start from: that of Figures 9 and 10.
START_GAMMA = 0.1

# Objectives that differ by less than this share are equal to rounding.
OBJECTIVE_ROUNDING = 1e-12

# An estimate that has not converged after so many iterations never will.
MAX_ITERATIONS = 10**7

# Shorter steps make no progress.
MIN_STEP = 1e-14

# Steps that the quasi-Newton method remembers, and Newton's steps after it.
MEMORY, POLISHING_STEPS = 30, 10


@dataclass(frozen=True, eq=False)
class MapEstimate(PredictionMixin):
    """A stationary point of J, and how near it is; `graphuq.map_estimate` makes one.

    Attributes
    ----------
    labels : Labels
        What was observed.
    field : ndarray, shape (N,) or (N, K)
        u, or v under Ginzburg-Landau: it has prior mean 0 and lies in the prior's support.
    probability : ndarray, shape (N,) or (N, K), or None
        For a sign model, the probability that a label observed at a node would be ``classes[1]``,
        or each of K > 2 classes, if ``field`` were the truth. It ignores the uncertainty of the
        field, so it is more confident than the posterior. None under other likelihoods.
    objective : float
        J(field).
    gradient_norm : float
        Norm of the gradient of J in the whitened z, u = C^(1/2) z. For a convex Phi, J is within
        ``gradient_norm**2 / 2`` of its minimum.
    iterations : int
    converged : bool
    method : {"newton", "flow", "quasi-newton"}

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> estimate = gq.map_estimate(prior, gq.Probit(gamma=0.1), labels)
    >>> estimate.prediction.shape, estimate.accuracy(y) > 0.9
    ((100,), True)
    >>> estimate.by_class.shape
    (100, 2)
    """

    labels: Labels
    field: Array
    probability: Array | None
    objective: float
    gradient_norm: float
    iterations: int
    converged: bool
    method: str

    @property
    def by_class(self) -> Array | None:
        """Probabilities of ``labels.classes`` at ``field``, shape (N, K); None as `probability`."""
        return None if self.probability is None else as_by_class(self.probability)

    @property
    def prediction(self) -> NDArray[Any]:
        """The class of every node by the sign of its field, or the largest, shape (N,)."""
        if self.field.ndim == 2:
            return self.labels.classes[self.field.argmax(axis=1)]
        return self.labels.classes[(self.field >= 0).astype(int)]

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        steps = f"{count(self.iterations, 'iteration')} of {self.method}"
        return f"MapEstimate({len(self.field)} nodes, {state} in {steps})"


def map_estimate(
    prior: GaussianPrior,
    likelihood: Likelihood,
    labels: Labels,
    method: str = "auto",
    *,
    start: Any = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    seed: validation.Seed = None,
) -> MapEstimate:
    """Minimize J(u) = <u, P u> / 2 + Phi(u) over the prior's support, P = C^+.

    Section 4.4 of the paper. Probit's J is convex (Proposition 6.1) and has one minimum; that of
    Ginzburg-Landau has many, of which ``start`` selects one.

    Parameters
    ----------
    prior : Prior, FeaturePrior or SumPrior
    likelihood : likelihood
        `Probit`, `NoisyProbit`, `GinzburgLandau`, or one of your own with a gradient. The
        level-set model has no MAP estimate: J decreases toward u = 0 and jumps there.
    labels : Labels
    method : {"auto", "newton", "flow", "quasi-newton"}
        ``"newton"`` supports probit only. It works at the labeled nodes, in tens of iterations
        of O(J^3).
        ``"flow"`` is Algorithm 4, with O(N r) for each iteration; under probit with a small gamma
        it takes very many. By default Newton for probit, else the flow.
        For K > 2 classes ``"quasi-newton"`` minimizes J over all K fields at the labeled nodes.
    start : {"auto", "zero", "probit", "spectral", "random"} or array_like, shape (N,) or (N, K)
        Where the flow starts: at a given field, at 0, at the MAP estimate of probit with gamma =
        0.1, at the Fiedler vector q_1 with mean square 1 and the sign that most labels agree with,
        or at a draw of the prior. By default at 0 under probit, else at the estimate of probit.
        For K > 2 classes there is no spectral start.
    tol : float
        Largest `MapEstimate.gradient_norm` of a converged estimate.
    max_iter : int
    seed : int, SeedSequence or Generator, optional
        Seed of the random start.

    Returns
    -------
    MapEstimate

    Raises
    ------
    TypeError, ValueError
        A likelihood without a gradient, arguments that do not fit together.

    Warns
    -----
    ConvergenceWarning
        The gradient norm is above ``tol``.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.approximated(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> gq.map_estimate(prior, gq.Probit(gamma=0.1), labels).accuracy(y) > 0.9
    True
    >>> estimate = gq.map_estimate(prior, gq.GinzburgLandau(epsilon=1.0, gamma=1.0), labels)
    >>> estimate.converged
    True
    """
    problem = Problem.check(prior, likelihood, labels)
    prior, bound = problem.prior, problem.bound
    likelihood = problem.likelihood
    prior.require_here("a MAP estimate")
    validation.one_of("method", method, METHODS)
    validation.positive("tol", tol)
    validation.integer("max_iter", max_iter, 1, MAX_ITERATIONS, "raise tol instead")
    sequence = validation.seed_sequence(seed)
    name = type(likelihood).__name__
    if bound.gradient is None:
        raise ValueError(_explain_no_gradient(bound, name))
    method, several = _choose_method(method, bound, labels, name), isinstance(bound.rule, Argmax)
    if method == "newton":
        if not _is_probit(bound):
            raise ValueError(f"method 'newton' supports probit only, got {name}: use 'flow'")
        if isinstance(start, str):
            validation.one_of("start", start, STARTS)
        if not isinstance(start, str) or start not in ("auto", "zero"):
            raise ValueError(
                "method 'newton' starts at 0, since there is one minimum: leave start out, or take "
                "method 'flow'"
            )
        require_memory(
            3 * 8.0 * len(labels) ** 2,
            f"Newton's method with {len(labels)} labels",
            "take method 'flow'",
        )
    # The number of BLAS threads changes last digits. Trial steps may overflow, and are then halved.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        if method == "newton":
            end = _newton(prior, bound, tol, max_iter)
        elif several:
            fields = _start(start, prior, bound, labels, sequence)
            end = _End(*minimize_classes(prior, bound, fields[labels.nodes], tol, max_iter))
        else:
            field = _start(start, prior, bound, labels, sequence)
            end = _flow(prior.law, bound, field, tol, max_iter)
    converged = end.gradient_norm <= tol
    if not converged:
        warn(
            f"the MAP estimate stopped after {count(end.iterations, 'iteration')} of {method} at a "
            f"gradient norm of {end.gradient_norm:.1e}, above tol = {tol:.0e}: raise max_iter or "
            "tol" + (", or take method 'newton'" if method == "flow" and _is_probit(bound) else ""),
            ConvergenceWarning,
        )
    return MapEstimate(
        labels,
        end.field,
        _probability(bound, end.field),
        end.objective,
        end.gradient_norm,
        end.iterations,
        converged,
        method,
    )


def _choose_method(method: str, bound: Bound, labels: Labels, name: str) -> str:
    """Return the method, or refuse one that is not for this number of classes."""
    if not isinstance(bound.rule, Argmax):
        if method == "quasi-newton":
            raise ValueError(
                "method 'quasi-newton' supports more than two classes, and the labels have 2: "
                "leave method out"
            )
        if method == "auto":
            return "newton" if _is_probit(bound) else "flow"
        return method
    n_classes = labels.classes.size
    if bound.nodes is None:
        raise ValueError(
            f"{name} reads all nodes, for which gq.map_estimate supports two classes, and the "
            f"labels have {n_classes}: keep two with labels.of_classes(a, b)"
        )
    if method not in ("auto", "quasi-newton"):
        raise ValueError(
            f"method {method!r} supports two classes, and the labels have {n_classes}: leave "
            "method out"
        )
    return "quasi-newton"


class _End(NamedTuple):
    field: Array
    objective: float
    gradient_norm: float
    iterations: int


def _is_probit(bound: Bound) -> bool:
    """Whether there is noise before the threshold and none after it."""
    if bound.sign_model is None or bound.sign_model.noise == 0:
        return False
    return bool(np.min(bound.label_model.cost) == math.inf)


def _explain_no_gradient(bound: Bound, name: str) -> str:
    """Return the message for a likelihood without a gradient."""
    if bound.sign_model is not None and bound.sign_model.noise == 0:
        return (
            f"{name} has no MAP estimate: its potential is piecewise constant, and J has no "
            "minimum, only an infimum as u tends to 0 (section 3.2). Use gq.Probit, or gq.sample "
            "for the posterior"
        )
    return f"{name} has no gradient(u, seen, out), which a MAP estimate needs: give it one"


def _probability(bound: Bound, field: Array) -> Array | None:
    """Return the probability of a new label: for two classes, of the second."""
    if bound.sign_model is None:
        return None
    if isinstance(bound.rule, Argmax):
        return bound.sign_model.probability(field)
    return bound.sign_model.probability(field[:, None])[:, 1]


def _newton(prior: GaussianPrior, bound: Bound, tol: float, max_iter: int) -> _End:
    """Minimize probit's J at the labeled nodes, as algorithm 3.1 of Rasmussen and Williams (2006).

    There u_J = C_JJ a and P u = a, so that grad J = a + grad Phi; at all nodes u = C_.J a. With
    W = Phi'', a step solves (I + C_JJ W) (new u_J) = C_JJ (W u_J - grad Phi) through the
    well-conditioned B = I + W^(1/2) C_JJ W^(1/2). Since grad Phi = - y s / gamma with
    s = phi / Psi at t = y u / gamma, W = s (t + s) / gamma^2 = grad Phi (grad Phi - u / gamma^2).
    """
    assert bound.sign_model is not None
    gamma = bound.sign_model.noise
    law, nodes = prior.law, bound.nodes
    C = law.covariance(nodes, nodes)
    a = np.zeros(C.shape[0])
    u = C @ a
    value = evaluate(bound, u[:, None])
    iterations = 0
    while True:
        # 1. the gradient, and its norm under the prior covariance
        slope = differentiate(bound, u[:, None])[:, 0]
        gradient = a + slope
        image = C @ gradient
        norm = math.sqrt(max(float(gradient @ image), 0.0))
        if norm <= tol or iterations == max_iter:
            break
        # 2. the Newton step, through B
        W = np.maximum(slope * (slope - u / gamma**2), 0.0)
        root = np.sqrt(W)
        B = root[:, None] * C * root
        B[np.diag_indices_from(B)] += 1
        right = W * u - slope
        step = right - root * linalg.cho_solve(linalg.cho_factor(B), root * (C @ right)) - a
        # 3. halved until J does not increase
        moved, length = C @ step, 1.0
        while length > MIN_STEP:
            new_a, new_u = a + length * step, u + length * moved
            new_value = 0.5 * new_a @ new_u + evaluate(bound, new_u[:, None])
            if new_value <= value + OBJECTIVE_ROUNDING * abs(value):
                break
            length /= 2
        else:
            break
        a, u, value = new_a, new_u, new_value
        iterations += 1
    # the field at all nodes, C_.J a
    field = product(law.basis, (law.variances - law.tail**2) * (a @ law.rows(nodes)))
    field[nodes] += law.tail**2 * a
    return _End(field, value, norm, iterations)


def _flow(law: Gaussian, bound: Bound, field: Array, tol: float, max_iter: int) -> _End:
    """Follow Algorithm 4, u_(k+1) = (I + beta P)^(-1) (u_k - beta grad Phi(u_k)).

    In the eigenbasis (I + beta P)^(-1) is kappa / (kappa + beta), with kappa = c / lambda the prior
    variance of a mode, and rho^2 outside the basis; both are 0 off the support. beta is halved
    until grad Phi changes along the step by at most 1 / (2 beta) of its length, so that J
    decreases, and grows slowly otherwise.
    """
    kappa, precision = law.variances, law.inverse_variances
    tail = law.tail**2 if law.has_tail else 0.0

    def split(v: Array) -> tuple[Array, Array | float]:
        inside = v @ law.basis
        return inside, (v - law.basis @ inside if tail else 0.0)

    def at(inside: Array, outside: Array | float) -> tuple[Array, float, Array]:
        """Return the field, J and grad Phi."""
        u = law.basis @ inside + outside
        energy = 0.5 * (precision @ inside**2)
        if tail:
            energy += 0.5 * np.sum(np.square(outside)) / tail
        return u, float(energy) + _potential(bound, u), _slope(bound, u)

    inside, outside = split(field)
    inside = np.where(precision > 0, inside, 0.0)
    u, value, slope = at(inside, outside)
    if not (np.isfinite(value) and np.isfinite(slope).all()):
        raise ValueError(
            f"J is {value} at the start, or its gradient is not finite: start elsewhere"
        )
    beta, iterations = 1.0, 0
    while True:
        # 1. the norm of the gradient under the prior covariance
        slope_inside, slope_outside = split(slope)
        square = np.sum(np.square(inside * np.sqrt(precision) + law.deviations * slope_inside))
        if tail:
            square += np.sum(np.square(outside / law.tail + law.tail * slope_outside))
        norm = math.sqrt(square)
        if norm <= tol or iterations == max_iter:
            break
        # 2. explicit in Phi, implicit in P, with beta halved until J decreases
        while beta > MIN_STEP:
            new_inside = kappa / (kappa + beta) * (inside - beta * slope_inside)
            new_outside = tail / (tail + beta) * (outside - beta * slope_outside)
            new_u, new_value, new_slope = at(new_inside, new_outside)
            step = new_u - u
            gentle = (new_slope - slope) @ step <= step @ step / (2 * beta)
            if gentle and new_value <= value + OBJECTIVE_ROUNDING * abs(value):
                break
            beta /= 2
        else:
            break
        inside, outside, u, value, slope = new_inside, new_outside, new_u, new_value, new_slope
        # 3. a longer step next time
        iterations += 1
        beta *= 1.5
    return _End(u, value, norm, iterations)


def _potential(bound: Bound, u: Array) -> float:
    return evaluate(bound, (u if bound.nodes is None else u[bound.nodes])[:, None])


def _slope(bound: Bound, u: Array) -> Array:
    """Return grad Phi at all nodes."""
    if bound.nodes is None:
        return differentiate(bound, u[:, None])[:, 0]
    slope = np.zeros_like(u)
    slope[bound.nodes] = differentiate(bound, u[bound.nodes, None])[:, 0]
    return slope


def _start(
    start: Any, prior: GaussianPrior, bound: Bound, labels: Labels, sequence: np.random.SeedSequence
) -> Array:
    several = isinstance(bound.rule, Argmax)
    if not isinstance(start, str):
        shape = (prior.n_nodes, bound.n_fields) if several else (prior.n_nodes,)
        wanted = f"one of {', '.join(map(repr, STARTS))} or a finite field of {prior.n_nodes} nodes"
        wanted += f" and {bound.n_fields} classes" * several
        try:
            field = np.asarray(start).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError) as error:
            raise TypeError(f"start must be {wanted}, got {start!r}") from error
        if field.shape != shape:
            raise ValueError(f"start must be {wanted}, got shape {field.shape}")
        if not np.isfinite(field).all():
            raise ValueError(f"start must be {wanted}, got NaN or infinite values")
        return field
    validation.one_of("start", start, STARTS)
    if start == "auto":
        start = "zero" if _is_probit(bound) else "probit"
    if start == "probit":
        # without confidences, under which probit would start from this estimate itself
        sure = Labels(labels.nodes, labels.values, labels.classes)
        return map_estimate(prior, Probit(START_GAMMA), sure).field
    if start == "spectral" and several:
        raise ValueError("start 'spectral' is for two classes: leave start out")
    if start == "spectral":
        part = prior.graph_part
        if not isinstance(part, Prior):
            raise ValueError("start 'spectral' needs a prior on a graph: take another start")
        fiedler = part.spectrum.vectors[:, 0]
        return labels.oriented(fiedler) * math.sqrt(fiedler.size)
    if start == "random":
        drawn = prior.law.draw(bound.n_fields, np.random.default_rng(sequence))
        return np.ascontiguousarray(drawn.T) if several else drawn[0]
    return np.zeros((prior.n_nodes, bound.n_fields) if several else prior.n_nodes)


class ClassFields(NamedTuple):
    """The end of the search."""

    field: Array
    """Shape (N, K)."""
    objective: float
    gradient_norm: float
    iterations: int


def minimize_classes(
    prior: GaussianPrior, bound: Bound, start: Array, tol: float, max_iter: int
) -> ClassFields:
    """Minimize J over the whitened z of all K fields, u_J = F z, with C_JJ = F F'.

    There J = |z|^2 / 2 + Phi(F z) has the gradient z + F' grad Phi. At the minimum P u = a with
    a = - grad Phi, so the field at all nodes is C_.J a.

    Parameters
    ----------
    prior : GaussianPrior
    bound : Bound
        A likelihood that reads the labeled nodes and has a gradient.
    start : ndarray, shape (J, K)
        The field at the labeled nodes; its nearest in the span of F is the start.
    tol : float
        Norm of the gradient.
    max_iter : int
    """
    from scipy.optimize import NoConvergence, minimize, newton_krylov

    assert bound.nodes is not None
    root, shape = prior.root(bound.nodes), start.shape

    def objective(flat: Array) -> tuple[float, Array]:
        z = flat.reshape(root.shape[1], shape[1])
        u = np.ascontiguousarray(root @ z)
        value = 0.5 * float(flat @ flat) + evaluate(bound, u)
        return value, (z + root.T @ differentiate(bound, u)).ravel()

    first = linalg.lstsq(root, start)[0] if start.any() else np.zeros((root.shape[1], shape[1]))
    tolerance = tol / np.sqrt(first.size)  # of the largest entry of the gradient
    found = minimize(
        objective,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "gtol": tolerance,
            "ftol": 0.0,
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": MEMORY,
        },
    )
    end = found.x
    if np.linalg.norm(found.jac) > tol and found.nit < max_iter:
        # the objective is flat to rounding before the gradient is 0 to ``tol``
        with suppress(NoConvergence):
            end = newton_krylov(
                lambda flat: objective(flat)[1], end, f_tol=tolerance, maxiter=POLISHING_STEPS
            )
    value, gradient = objective(end)
    a = -differentiate(bound, np.ascontiguousarray(root @ end.reshape(first.shape)))
    return ClassFields(
        _extend(prior, bound.nodes, a), value, float(np.linalg.norm(gradient)), int(found.nit)
    )


def _extend(prior: GaussianPrior, nodes: Any, a: Array) -> Array:
    """Return C_.J a at all nodes."""
    law = prior.law
    inside = (law.variances - law.tail**2)[:, None] * (law.rows(nodes).T @ a)
    field = np.column_stack([product(law.basis, column) for column in inside.T])
    field[nodes] += law.tail**2 * a
    return field
