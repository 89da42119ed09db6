"""Student-t coefficients of modes: against weighted draws of the prior, and the Gaussian limit."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr

import graphuq as gq

RANK, GAMMA, DRAWS = 5, 0.2, 400_000


@pytest.fixture(scope="module")
def ring():
    """A prior on a ring of six nodes with a chord, whose first mode is far smoother."""
    edges = np.zeros((6, 6))
    edges[np.arange(6), np.roll(np.arange(6), -1)] = [1.0, 0.1, 0.7, 1.0, 0.2, 0.3]
    edges[1, 4] = 0.2
    return gq.Prior.projected(gq.Graph(edges + edges.T), RANK, tau=0.1)


def weighted(priors, labels, df, C, level=0.0):
    """Return class probabilities at all nodes by draws of the prior, and their standard errors.

    Each of some priors, with its weight, has the same number of draws.
    """
    rng = np.random.default_rng(0)
    own, fields = np.empty(0), []
    for prior, weight in priors:
        z = rng.standard_normal((DRAWS // len(priors), C, RANK))
        if df is not None:
            z /= np.sqrt(rng.chisquare(df, (len(z), 1, RANK)) / df)
        u = z @ (prior.spectrum.vectors[:, :RANK] * prior.sigma).T  # (draws, C, nodes)
        fields.append(u + level * rng.standard_normal((len(z), C, 1)))
        own = np.append(own, np.full(len(z), weight))
    u = np.concatenate(fields)
    at = u[:, :, labels.nodes]
    if C == 1:
        weights = ndtr(labels.codes * at[:, 0] / GAMMA).prod(axis=1)
        right = (u[:, 0] > 0)[:, :, None]
    else:
        noisy = at + GAMMA * rng.standard_normal(at.shape)
        weights = (noisy.argmax(axis=1) == labels.indices).all(axis=1).astype(float)
        right = u.argmax(axis=1)[:, :, None] == np.arange(C)
    weights *= own
    weights /= weights.sum()
    means = np.tensordot(weights, right, 1)
    errors = np.sqrt(np.tensordot(weights**2, (right - means) ** 2, 1))
    return means, errors


def sampled(prior, labels, df, draws=1500, **ranges):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample_jointly(prior, gq.Probit(GAMMA), labels, df=df, draws=draws, seed=0,
                                 progress=False, **ranges)  # fmt: skip


def distances(post, means, errors):
    """Return the distances to exact probabilities in standard errors of both sides."""
    found = post.latent_probability.reshape(means.shape)
    mcse = post.probability_mcse.reshape(means.shape)
    return abs(found - means) / np.hypot(mcse, errors)


@pytest.mark.parametrize(
    ("df", "classes"), [(1.0, [0, 1, 1]), pytest.param(3.0, [0, 1, 2], marks=pytest.mark.slow)]
)
def test_probabilities_are_those_of_the_weighted_prior(ring, df, classes):
    labels = gq.Labels([0, 2, 4], classes)
    C = 1 if labels.classes.size == 2 else 3
    post = sampled(ring, labels, df)
    means, errors = weighted([(ring, 1.0)], labels, df, C)
    assert distances(post, means, errors).max() < 4.5
    gaussian, _ = weighted([(ring, 1.0)], labels, None, C)
    assert distances(post, gaussian, errors).max() > 6  # the Gaussian prior is another one


@pytest.mark.slow
def test_many_degrees_of_freedom_are_the_gaussian_prior(ring):
    labels = gq.Labels([0, 2, 4], [0, 1, 1])
    means, errors = weighted([(ring, 1.0)], labels, None, 1)
    assert distances(sampled(ring, labels, 1e6), means, errors).max() < 4.5


@pytest.mark.slow
def test_a_level_and_a_sampled_alpha_beside_heavy_tails_are_exact(ring):
    labels = gq.Labels([0, 2, 4], [0, 1, 1])
    post = sampled(ring + gq.Level(0.7), labels, 1.0, alpha=(0.5, 6))
    assert set(post.draws.hyperparameters) == {"alpha", "largest_scale"}
    alphas = np.linspace(0.5, 6, 24)  # the midpoint rule is exact enough
    alphas = (alphas[1:] + alphas[:-1]) / 2
    priors = [(ring.with_parameters(alpha=float(a)), np.exp(-a / 4)) for a in alphas]
    means, errors = weighted(priors, labels, 1.0, 1, level=0.7)
    assert distances(post, means, errors).max() < 4.5
    without, _ = weighted(priors, labels, 1.0, 1)
    assert distances(post, without, errors).max() > 6


def test_predictions_that_need_a_gaussian_prior_are_refused(ring, tmp_path):
    post = sampled(ring, gq.Labels([0, 2, 4], [0, 1, 1]), np.int64(2), draws=50)
    assert post.draws.hyperparameters["largest_scale"].min() > 0
    with pytest.raises(ValueError, match="hyperparameters were sampled"):
        post.pred_probs()
    assert post.call().options["df"] == 2.0
    post.save(tmp_path / "post.nc")  # the settings are plain numbers


@pytest.mark.parametrize(("df", "error"), [(0, ValueError), (np.inf, ValueError), ("3", TypeError)])
def test_degrees_of_freedom_must_be_positive(ring, df, error):
    with pytest.raises(error, match="df must be"):
        sampled(ring, gq.Labels([0, 2], [0, 1]), df)


def test_without_heavy_tails_something_must_be_sampled(ring):
    with pytest.raises(ValueError, match="all parameters are fixed"):
        sampled(ring, gq.Labels([0, 2], [0, 1]), None)
