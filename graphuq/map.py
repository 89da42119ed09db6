"""MAP estimators: the field of largest posterior density, and the label it gives every node."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit, ndtr

from graphuq import validation
from graphuq.diagnostics import ConvergenceWarning
from graphuq.gaussian import Gaussian
from graphuq.labels import Labels
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import Bound, Likelihood, bind_under, differentiate, evaluate
from graphuq.prior import Prior
from graphuq.row_blocks import product
from graphuq.threads import one_blas_thread
from graphuq.tuning import require_two_classes, settled

Array = NDArray[np.float64]

METHODS = ("auto", "newton", "flow")
STARTS = ("auto", "zero", "probit", "spectral", "random")

# gamma of the probit estimate that others start from: the paper's, Figures 9 and 10.
START_GAMMA = 0.1

# Objectives that differ by less than this share are equal to rounding.
ROUNDING = 1e-12

# Steps shorter than this lead nowhere.
SHORTEST = 1e-14


@dataclass(frozen=True, eq=False)
class MapEstimate:
    """A stationary point of J, and how near it is; `graphuq.map_estimate` makes one.

    Attributes
    ----------
    labels : Labels
        What was observed.
    field : ndarray, shape (N,)
        u, or v under Ginzburg-Landau: it has prior mean 0 and lies in the prior's support.
    probability : ndarray, shape (N,), or None
        Of a sign model, probability that a label observed at a node would be ``classes[1]`` if
        ``field`` were the truth. That the field is itself uncertain is left out, so that it is
        surer than the posterior's. None under other likelihoods.
    objective : float
        J(field).
    gradient_norm : float
        Of J with respect to the whitened z, u = C^(1/2) z. For a convex Phi, J is within
        ``gradient_norm**2 / 2`` of its minimum.
    iterations : int
    converged : bool
    method : {"newton", "flow"}

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> estimate = gq.map_estimate(prior, gq.Probit(gamma=0.1), labels)
    >>> estimate.prediction.shape, estimate.accuracy(y) > 0.9
    ((100,), True)
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
    def prediction(self) -> NDArray[Any]:
        """The class of every node by the sign of its field, shape (N,)."""
        return self.labels.classes[(self.field >= 0).astype(int)]

    def accuracy(self, truth: Any) -> float:
        """Return the share of unlabelled nodes whose prediction is right; see `Labels.accuracy`."""
        return self.labels.accuracy(self.prediction, truth)

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        steps = f"{self.iterations} iterations of {self.method}"
        return f"MapEstimate({self.field.size} nodes, {state} in {steps})"


def map_estimate(
    prior: Prior,
    likelihood: Likelihood,
    labels: Labels,
    method: str = "auto",
    *,
    start: Any = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    seed: validation.Seed = None,
) -> MapEstimate:
    """Minimise J(u) = <u, P u> / 2 + Phi(u) over the prior's support, P = C^+.

    Section 4.4 of the paper. Probit's J is convex (Proposition 6.1) and has one minimum; that of
    Ginzburg-Landau has many, of which ``start`` selects one.

    Parameters
    ----------
    prior : Prior
    likelihood : likelihood
        `Probit`, `NoisyProbit`, `GinzburgLandau`, or one of your own with a gradient. The
        level-set model has no MAP estimate: J falls towards u = 0 and jumps there.
    labels : Labels
        Of two classes.
    method : {"auto", "newton", "flow"}
        ``"newton"`` serves probit, at the labelled nodes alone, in tens of iterations of O(J^3).
        ``"flow"`` is Algorithm 4, of O(N r) an iteration; under probit with a small gamma it
        takes very many. By default Newton where it serves.
    start : {"auto", "zero", "probit", "spectral", "random"} or array_like, shape (N,)
        Where the flow starts: at a field of yours, at 0, at probit's MAP estimate with gamma = 0.1,
        at the Fiedler vector q_1 with mean square 1 and the sign that most labels agree with, or
        at a draw of the prior. By default at 0 under probit, else at probit's estimate.
    tol : float
        Of `MapEstimate.gradient_norm`.
    max_iter : int
    seed : int, SeedSequence or Generator, optional
        Of the random start.

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
    require_two_classes(labels, "gq.map_estimate")
    prior, likelihood = settled(prior, likelihood, labels)
    bound = bind_under(prior, likelihood, labels)
    prior.require_here("a MAP estimate")
    validation.one_of("method", method, METHODS)
    validation.positive("tol", tol)
    validation.integer("max_iter", max_iter, 1)
    sequence = validation.seed_sequence(seed)
    name = type(likelihood).__name__
    if bound.gradient is None:
        raise ValueError(_no_gradient(bound, name))
    if method == "auto":
        method = "newton" if _is_probit(bound) else "flow"
    if method == "newton":
        if not _is_probit(bound):
            raise ValueError(
                f"method 'newton' serves probit models alone, and {name} is none: take 'flow'"
            )
        if isinstance(start, str):
            validation.one_of("start", start, STARTS)
        if not isinstance(start, str) or start not in ("auto", "zero"):
            raise ValueError(
                "method 'newton' starts at 0, since there is one minimum: leave start out, or take "
                "method 'flow'"
            )
        validation.memory(
            3 * 8.0 * len(labels) ** 2,
            f"Newton's method with {len(labels)} labels",
            "take method 'flow'",
        )
    # The number of BLAS threads changes last digits. Trial steps may overflow, and are then halved.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        if method == "newton":
            end = _newton(prior, bound, tol, max_iter)
        else:
            field = _start(start, prior, bound, labels, sequence)
            end = _flow(prior.law, bound, field, tol, max_iter)
    converged = end.gradient_norm <= tol
    if not converged:
        warnings.warn(
            f"the MAP estimate stopped after {end.iterations} iterations of {method} at a gradient "
            f"norm of {end.gradient_norm:.1e}, asked was {tol:.0e}: raise max_iter or tol"
            + (", or take method 'newton'" if method == "flow" and _is_probit(bound) else ""),
            ConvergenceWarning,
            stacklevel=2,
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


class _End(NamedTuple):
    field: Array
    objective: float
    gradient_norm: float
    iterations: int


def _is_probit(bound: Bound) -> bool:
    """Noise before the threshold and none after it."""
    return (
        bound.sign_model is not None and bound.sign_model[0] > 0 and bound.sign_model[1] == math.inf
    )


def _no_gradient(bound: Bound, name: str) -> str:
    if bound.sign_model is not None and bound.sign_model[0] == 0:
        return (
            f"{name} has no MAP estimate: its potential is flat between jumps, so that the infimum "
            "of J is approached towards the field 0 and not attained (section 3.2). Take "
            "gq.Probit, or gq.sample for the posterior"
        )
    return f"{name} has no gradient(u, seen, out), which a MAP estimate needs: give it one"


def _probability(bound: Bound, field: Array) -> Array | None:
    """Return f + (1 - 2 f) Psi(u; gamma), where labels flip at odds f / (1 - f) = exp(-cost)."""
    if bound.sign_model is None:
        return None
    noise, cost = bound.sign_model
    flip = expit(-cost)
    return np.asarray(flip + (1 - 2 * flip) * ndtr(field / noise))


def _newton(prior: Prior, bound: Bound, tol: float, max_iter: int) -> _End:
    """Minimise probit's J at the labelled nodes, as algorithm 3.1 of Rasmussen and Williams (2006).

    There u_J = C_JJ a and P u = a, so that grad J = a + grad Phi; at all nodes u = C_.J a. With
    W = Phi'', a step solves (I + C_JJ W) (new u_J) = C_JJ (W u_J - grad Phi) through the
    well-conditioned B = I + W^(1/2) C_JJ W^(1/2). Since grad Phi = - y s / gamma with
    s = phi / Psi at t = y u / gamma, W = s (t + s) / gamma^2 = grad Phi (grad Phi - u / gamma^2).
    """
    assert bound.sign_model is not None
    gamma = bound.sign_model[0]
    law, nodes = prior.law, bound.nodes
    C = law.covariance(nodes, nodes)
    a = np.zeros(C.shape[0])
    u = C @ a
    value = evaluate(bound, u[:, None])
    iterations = 0
    while True:
        slope = differentiate(bound, u[:, None])[:, 0]
        gradient = a + slope
        image = C @ gradient
        norm = math.sqrt(max(float(gradient @ image), 0.0))
        if norm <= tol or iterations == max_iter:
            break
        W = np.maximum(slope * (slope - u / gamma**2), 0.0)
        root = np.sqrt(W)
        B = root[:, None] * C * root
        B[np.diag_indices_from(B)] += 1
        right = W * u - slope
        step = right - root * linalg.cho_solve(linalg.cho_factor(B), root * (C @ right)) - a
        moved, length = C @ step, 1.0
        while length > SHORTEST:
            new_a, new_u = a + length * step, u + length * moved
            new_value = 0.5 * new_a @ new_u + evaluate(bound, new_u[:, None])
            if new_value <= value + ROUNDING * abs(value):
                break
            length /= 2
        else:
            break
        a, u, value = new_a, new_u, new_value
        iterations += 1
    field = product(law.basis, (law.variances - law.tail**2) * (a @ law.rows(nodes)))
    field[nodes] += law.tail**2 * a
    return _End(field, value, norm, iterations)


def _flow(law: Gaussian, bound: Bound, field: Array, tol: float, max_iter: int) -> _End:
    """Follow Algorithm 4, u_(k+1) = (I + beta P)^(-1) (u_k - beta grad Phi(u_k)).

    In the eigenbasis (I + beta P)^(-1) is kappa / (kappa + beta), with kappa = c / lambda the prior
    variance of a mode, and rho^2 for whatever lies outside; both are 0 off the support. beta is
    halved until grad Phi changes along the step by at most 1 / (2 beta) of its length, which makes
    J decrease, and grows slowly otherwise.
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
        slope_inside, slope_outside = split(slope)
        square = np.sum(np.square(inside * np.sqrt(precision) + law.deviations * slope_inside))
        if tail:
            square += np.sum(np.square(outside / law.tail + law.tail * slope_outside))
        norm = math.sqrt(square)
        if norm <= tol or iterations == max_iter:
            break
        while beta > SHORTEST:
            new_inside = kappa / (kappa + beta) * (inside - beta * slope_inside)
            new_outside = tail / (tail + beta) * (outside - beta * slope_outside)
            new_u, new_value, new_slope = at(new_inside, new_outside)
            step = new_u - u
            gentle = (new_slope - slope) @ step <= step @ step / (2 * beta)
            if gentle and new_value <= value + ROUNDING * abs(value):
                break
            beta /= 2
        else:
            break
        inside, outside, u, value, slope = new_inside, new_outside, new_u, new_value, new_slope
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
    start: Any, prior: Prior, bound: Bound, labels: Labels, sequence: np.random.SeedSequence
) -> Array:
    if not isinstance(start, str):
        wanted = f"one of {', '.join(map(repr, STARTS))} or a finite field of {prior.n_nodes} nodes"
        try:
            field = np.asarray(start).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError) as error:
            raise TypeError(f"start must be {wanted}, got {start!r}") from error
        if field.shape != (prior.n_nodes,):
            raise ValueError(f"start must be {wanted}, got shape {field.shape}")
        if not np.isfinite(field).all():
            raise ValueError(f"start must be {wanted}, got NaN or infinite values")
        return field
    validation.one_of("start", start, STARTS)
    if start == "auto":
        start = "zero" if _is_probit(bound) else "probit"
    if start == "probit":
        return map_estimate(prior, Probit(START_GAMMA), labels).field
    if start == "spectral":
        fiedler = prior.spectrum.vectors[:, 0]
        return labels.oriented(fiedler) * math.sqrt(fiedler.size)
    if start == "random":
        return prior.law.draw(1, np.random.default_rng(sequence))[0]
    return np.zeros(prior.n_nodes)
