"""The check that a plugin satisfies the contract."""

from __future__ import annotations

import numpy as np

from graphuq.labels.labels import Labels
from graphuq.likelihoods.bound import bind, differentiate, evaluate
from graphuq.likelihoods.contract import Likelihood, adopt
from graphuq.likelihoods.label_rule import Argmax
from graphuq.utils import validation


def check_likelihood(likelihood: Likelihood, seed: int = 0) -> None:
    """Check that a plugin compiles and is finite, and that its gradient is that of its potential.

    The check uses a small artificial problem: 12 nodes, 5 of them labeled, and a standard normal
    field. It compares the gradient with central differences at every node. A likelihood with
    ``multiclass`` set is also checked with three classes.

    Parameters
    ----------
    likelihood : likelihood
        See `graphuq.likelihoods.contract`.
    seed : int
        Seed of the field.

    Raises
    ------
    TypeError
        The plugin does not satisfy the contract.
    ValueError
        The potential is not finite, or the gradient is wrong; the message names the node, the
        class if there are three, and the numbers.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.check_likelihood(gq.Probit(gamma=0.1))
    """
    state = validation.seed_sequence(seed)
    nodes = np.array([0, 3, 4, 7, 11])
    problems = [Labels(nodes, [1, 0, 1, 1, 0])]
    if adopt(likelihood).multiclass:
        problems.append(Labels(nodes, [1, 0, 2, 1, 0]))
    for labels in problems:
        _check_at_a_field(likelihood, labels, np.random.default_rng(state))


def _check_at_a_field(likelihood: Likelihood, labels: Labels, rng: np.random.Generator) -> None:
    """Check a likelihood with labels of 12 nodes."""
    name = type(likelihood).__name__
    bound = bind(likelihood, labels, 12)
    size = 12 if bound.nodes is None else bound.nodes.size
    field = rng.standard_normal((size, bound.n_fields))
    value = evaluate(bound, field)
    if not np.isfinite(value):
        raise ValueError(f"{name}.potential is {value} at the field {field.ravel().round(3)}")
    if bound.gradient is None:
        return
    out = differentiate(bound, field)
    step = 1e-5
    for node, column in np.ndindex(field.shape):
        ends = []
        for sign in (-1, 1):
            moved = field.copy()
            moved[node, column] += sign * step
            ends.append(evaluate(bound, moved))
        slope = (ends[1] - ends[0]) / (2 * step)
        # differences lose about eps * |Phi| / step
        tolerance = 1e-5 * (1 + abs(slope)) + 1e-10 * abs(value)
        if not abs(out[node, column] - slope) <= tolerance:
            where = f"node {node}"
            if isinstance(bound.rule, Argmax):
                where += f", class {column} of {bound.rule.n_classes}"
            raise ValueError(
                f"{name}.gradient disagrees with its potential at {where}: gradient "
                f"{out[node, column]:.8g}, central difference {slope:.8g}, field "
                f"{field[node, column]:.4g}"
            )
