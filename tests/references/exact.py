"""Exact posterior means of the sign models, by orthant probabilities; small J only."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import entr, ndtr
from scipy.stats import multivariate_normal

import graphuq as gq


def orthant(covariance):
    """P(x > 0) for x ~ N(0, covariance), deterministic to about 1e-6."""
    d = np.sqrt(np.diag(covariance))
    R = covariance / np.outer(d, d)
    twins = np.triu(abs(R) > 1 - 1e-9, 1)
    if twins.any():  # one variable is a multiple of another
        i, j = np.argwhere(twins)[0]
        return 0.0 if R[i, j] < 0 else orthant(np.delete(np.delete(R, j, 0), j, 1))
    if len(R) == 1:
        return 0.5
    if len(R) == 2:
        return 0.25 + np.arcsin(R[0, 1]) / (2 * np.pi)
    if len(R) == 3:
        return 0.125 + np.arcsin(R[np.triu_indices(3, 1)]).sum() / (4 * np.pi)
    return multivariate_normal.cdf(
        np.zeros(len(R)), np.zeros(len(R)), R, maxpts=200_000, abseps=2e-6, releps=1e-6, rng=0
    )


def probit_masses(C_JJ, C_iJ, C_ii, y, gamma):
    """E[S(u_i) 1(y)] for each i, and P(y): orthant probabilities, signs folded in."""
    J = len(y)
    noisy = y[:, None] * (C_JJ + gamma**2 * np.eye(J)) * y
    mass = orthant(noisy)
    signed = []
    for c, v in zip(C_iJ, C_ii, strict=True):
        joint = np.block([[np.array([[v]]), (c * y)[None]], [(c * y)[:, None], noisy]])
        signed.append(2 * orthant(joint) - mass)
    return np.array(signed), mass


def weighted_mean(C_JJ, C_iJ, C_ii, gamma, weight_of):
    """E[S(u_i)], where the signs s of u_J + gamma eta_J have the posterior weight ``weight_of(s)``.

    One of each pair s, -s is computed: both have the same mass, and opposite E[S(u_i) 1(s)].
    """
    total, norm = np.zeros(len(C_ii)), 0.0
    for rest in itertools.product([1.0, -1.0], repeat=len(C_JJ) - 1):
        s = np.array([1.0, *rest])
        weight, reflected = weight_of(s), weight_of(-s)
        if max(weight, reflected) < 1e-12:
            continue
        signed, mass = probit_masses(C_JJ, C_iJ, C_ii, s, gamma)
        total, norm = total + (weight - reflected) * signed, norm + (weight + reflected) * mass
    return total / norm


def exact_mean(prior, likelihood, labels, nodes, overlap=0.0):
    """Posterior means of S(u + overlap eta) at ``nodes`` under Probit, NoisyProbit or LevelSet.

    Whoever gave a label with a confidence passes a flip by the likelihood on, or errs as well.
    """
    C = prior.law.covariance
    C_JJ = C(labels.nodes, labels.nodes)
    C_iJ = C(nodes, labels.nodes)
    C_ii = prior.variance()[nodes] + overlap**2
    y, gamma = labels.codes, likelihood.gamma
    if labels.confidence is not None:
        noise, cost = likelihood.sign_model()
        return weighted_mean(
            C_JJ, C_iJ, C_ii, noise, lambda s: label_masses(labels, s > 0, 2, cost).prod()
        )
    if isinstance(likelihood, gq.LevelSet):
        assert overlap == 0
        return weighted_mean(
            C_JJ, C_iJ, C_ii, 0.0, lambda s: np.exp(-2 * (s != y).sum() / gamma**2)
        )
    flips = getattr(likelihood, "flip_rate", 0.0)
    return weighted_mean(
        C_JJ, C_iJ, C_ii, gamma, lambda s: np.prod(np.where(s == y, 1 - flips, flips))
    )


def label_masses(labels, largest, n_classes, cost):
    """P(label j | the class of its noisy fields), a product of two tables of probabilities."""

    def table(right):
        return right * np.eye(n_classes) + (1 - right) / (n_classes - 1) * (1 - np.eye(n_classes))

    model = table(1 / (1 + (n_classes - 1) * np.exp(-cost)))
    trust = np.ones(len(labels)) if labels.confidence is None else labels.confidence
    each = zip(np.asarray(largest, dtype=int), trust, labels.indices, strict=True)
    return np.array([(model[c] @ table(p))[y] for c, p, y in each])


def expected_entropy(u, overlap):
    """Mean over draws of the entropy of P(S(u + overlap eta) = 1), u of shape (draws, nodes)."""
    p = ndtr(u / overlap)
    return (entr(p) + entr(1 - p)).mean(axis=0)


def errors_in_mcse(post, exact, nodes=slice(None)):
    """|mean - exact| / mcse; a node whose every draw agrees has nothing to be scaled by."""
    gap, mcse = abs(post.mean[nodes] - exact), post.mcse[nodes]
    return gap / np.where(mcse > 0, mcse, 1e-4)


def ginzburg_landau_moments(prior, labels, epsilon, gamma):
    """Mean, variance and P(v > 0) at every node, on a grid of the modes; rank 3 only."""
    points = np.linspace(-6, 6, 101)
    z = np.stack(np.meshgrid(points, points, points, indexing="ij"), -1).reshape(-1, 3)
    mass = np.exp(-0.5 * (z**2).sum(1))
    v = (z * prior.sigma) @ prior.spectrum.vectors.T
    phi = ((v**2 - 1) ** 2).sum(1) / (4 * epsilon)
    phi += ((labels.codes - v[:, labels.nodes]) ** 2).sum(1) / (2 * gamma**2)
    mass = mass * np.exp(-phi)
    mass /= mass.sum()
    mean = mass @ v
    return mean, mass @ v**2 - mean**2, mass @ (v > 0)


def class_probabilities(prior, labels, nodes, noise, cost, overlap=0.0):
    """P(l_i = k) for each node i and class k, shape (nodes, K): K independent fields.

    Each field of node i has a noise of deviation ``overlap``.

    A label that is not the largest of u + noise at its node costs ``cost``, and cannot be if that
    is infinity: a weighted sum over what the largest may be, of orthants of differences.
    """
    K, J = labels.classes.size, len(labels)
    total, norm = np.zeros((len(nodes), K)), 0.0
    for largest in itertools.product(range(K), repeat=J):
        weight = label_masses(labels, largest, K, cost).prod()
        if weight < 1e-13:
            continue
        pairs = [(j, c, k) for j, c in enumerate(largest) for k in range(K) if k != c]
        norm += weight * orthant(_of_differences(prior, labels.nodes, noise, pairs))
        for row, node in enumerate(nodes):
            for own in range(K):
                more = [(J, own, k) for k in range(K) if k != own]
                where = np.append(labels.nodes, node)
                joint = _of_differences(prior, where, noise, pairs + more, J, overlap)
                total[row, own] += weight * orthant(joint)
    return total / norm


def class_evidence(prior, labels, noise, cost):
    """Log P(labels) of K independent fields, where a wrong label has the odds e^-cost."""
    K, J = labels.classes.size, len(labels)
    total = 0.0
    for largest in itertools.product(range(K), repeat=J):
        weight = label_masses(labels, largest, K, cost).prod()
        if weight < 1e-13:
            continue
        pairs = [(j, c, k) for j, c in enumerate(largest) for k in range(K) if k != c]
        total += weight * orthant(_of_differences(prior, labels.nodes, noise, pairs))
    return np.log(total)


def _of_differences(prior, nodes, noise, pairs, own=None, overlap=0.0):
    """Covariance of x_jc - x_jk for each (j, c, k); the place ``own`` has the noise ``overlap``."""
    G = prior.covariance(np.unique(nodes), np.unique(nodes))
    place = np.searchsorted(np.unique(nodes), nodes)
    G = G[np.ix_(place, place)]
    G[np.diag_indices_from(G)] += np.where(np.arange(len(nodes)) == own, overlap, noise) ** 2
    j, c, k = np.array(pairs).T
    same = np.equal.outer
    signs = same(c, c).astype(float) - same(c, k) - same(k, c) + same(k, k)
    return G[np.ix_(j, j)] * signs
