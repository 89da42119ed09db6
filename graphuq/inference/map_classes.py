"""The MAP estimate of K > 2 classes, by a quasi-Newton method at the labeled nodes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from graphuq.likelihoods.bound import Bound, differentiate, evaluate
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.row_blocks import product
from graphuq.utils.typing import Array

# Steps that the quasi-Newton method remembers, and Newton's steps after it.
MEMORY, POLISHING_STEPS = 30, 10


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
