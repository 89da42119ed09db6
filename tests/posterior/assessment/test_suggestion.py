"""What to label next: scores against exact answers, and picks that differ from one another."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import KnownDraws, priors, quietly
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from references.mutation import plant
from scipy.special import ndtr
from scipy.stats import multivariate_normal

import graphuq as gq
from graphuq.posterior.assessment.suggestion import BY_DRAWS, BY_PRIOR, Answers, Conditioned

METHODS = BY_DRAWS + BY_PRIOR


def known(prior, draws, labeled=(0, 1), sign_model=None):
    """A posterior with these draws at all nodes; the labels themselves play no part."""
    label = np.where(draws >= 0, 1.0, -1.0)
    mean = label.mean(axis=0)
    labels = gq.Labels(list(labeled), np.arange(len(labeled)) % 2)
    return KnownDraws(
        prior=prior,
        labels=labels,
        mean=mean,
        variance=1 - mean**2,
        by_class=np.column_stack([1 - mean, 1 + mean]) / 2,
        mcse=np.zeros_like(mean),
        latent_mean=draws.mean(axis=0),
        latent_variance=draws.var(axis=0),
        settings={"prior": prior.fingerprint(), "sign_model": sign_model},
        fields=draws,
    )


@pytest.fixture(scope="module")
def five():
    """A prior on five nodes of which two are labeled, and a Gaussian for the other three."""
    graph = gq.Graph(np.ones((5, 5)) - np.eye(5))
    mean = np.array([0.3, -0.2, 0.8])
    root = np.array([[0.9, 0, 0], [0.5, 0.6, 0], [-0.4, 0.3, 0.7]])
    return gq.Prior.full(graph), mean, root @ root.T


def draws_of(mean, covariance, size=200_000, seed=0):
    u = np.random.default_rng(seed).multivariate_normal(mean, covariance, size)
    return np.hstack([np.ones((size, 2)), u])


def expected_reductions(mean, covariance, noise, flip):
    """Var l_i - E Var(l_i | y_j) summed over i, by the joint probabilities of l_i and y_j."""
    n = len(mean)
    total = np.zeros(n)
    for j in range(n):
        for i in range(n):
            joint = np.empty((2, 2))  # joint law of l_i and the sign of u_j + noise
            spread = np.array(
                [[covariance[i, i], covariance[i, j]], [covariance[i, j], covariance[j, j]]]
            )
            spread[1, 1] += noise**2
            for a, x in enumerate((-1, 1)):
                for b, y in enumerate((-1, 1)):
                    sides = np.array([x, y])
                    joint[a, b] = multivariate_normal.cdf(
                        [0, 0],
                        -sides * [mean[i], mean[j]],
                        np.outer(sides, sides) * spread,
                        allow_singular=True,
                    )
            joint = joint @ np.array([[1 - flip, flip], [flip, 1 - flip]])
            p = joint.sum(axis=1)[1]
            given = joint[1] / joint.sum(axis=0)
            total[j] += 4 * p * (1 - p) - joint.sum(axis=0) @ (4 * given * (1 - given))
    return total


def entropy(p):
    return -p * np.log(p) - (1 - p) * np.log1p(-p)


def scored(five, method, sign_model, size=200_000):
    prior, mean, covariance = five
    post = known(prior, draws_of(mean, covariance, size))
    return Answers(post, prior, np.arange(2, 5), method, sign_model, None).scores()


@pytest.mark.parametrize("sign_model", [(0.0, 0.0), (0.7, 0.0), (0.0, 0.1), (0.7, 0.1)])
def test_variance_reduction_is_what_enumeration_gives(five, sign_model):
    exact = expected_reductions(*five[1:], *sign_model)
    score = scored(five, "variance_reduction", sign_model)
    # a covariance of signs has error T^(-1/2), its square twice that, and there are three
    np.testing.assert_allclose(score, exact, atol=4 * 3 * 2 / np.sqrt(200_000))
    assert np.ptp(exact) > 0.1
    wrong = expected_reductions(*five[1:], sign_model[0] + 0.3, sign_model[1] + 0.05)
    assert abs(score - wrong).max() > 4 * 3 * 2 / np.sqrt(200_000)


@pytest.mark.parametrize("sign_model", [(0.5, 0.0), (0.7, 0.1)])
def test_bald_is_what_quadrature_gives(five, sign_model):
    _, mean, covariance = five
    noise, flip = sign_model
    points, weights = hermegauss(200)
    u = mean + np.sqrt(np.diag(covariance)) * points[:, None]
    p = flip + (1 - 2 * flip) * ndtr(u / noise)
    weights = weights / weights.sum()

    p = np.clip(p, 1e-300, 1 - 1e-16)
    exact = entropy(weights @ p) - weights @ entropy(p)
    score = scored(five, "bald", sign_model)
    tolerance = 4 * np.log(2) / np.sqrt(200_000)
    np.testing.assert_allclose(score, exact, atol=tolerance)
    # a noise confused with its variance would fail here
    assert abs(scored(five, "bald", (noise**2, flip)) - exact).max() > 4 * tolerance


def test_without_noise_bald_is_the_entropy_and_orders_as_variance(five):
    prior, mean, covariance = five
    draws = draws_of(mean, covariance, 5000)
    p = (draws[:, 2:] >= 0).mean(axis=0)
    score = scored(five, "bald", (0.0, 0.0), 5000)
    np.testing.assert_allclose(score, entropy(p))
    post = known(prior, draws)
    picks = [post.suggest(1, method).tolist() for method in ("variance", "bald")]
    assert picks[0] == picks[1] == [2 + np.argmin(abs(p - 0.5))]


def test_the_noise_of_few_draws_does_not_favor_the_doubtful():
    """For 2,000 independent nodes, the score of a node is its own variance."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((2000, 2)))[0]
    prior = gq.Prior.projected(gq.Spectrum(np.ones(1), Q[:, :1], Q[:, 1]), rank=1)
    draws = rng.standard_normal((100, 2000)) + rng.uniform(-1, 1, 2000)
    post = known(prior, draws)
    noise = 0.7
    at = np.arange(2, 102)
    answers = Answers(post, prior, at, "variance_reduction", (noise, 0.0), None)
    answer = answers._moments(answers._first, answers._left)[:, 0, 0] + answers._own[:, 0, 0]
    own = 4 * answers.cross[np.arange(100), np.arange(100)] ** 2 / answer  # in units of signs
    gap = answers.scores() - own
    # a sum of at most 2,000 / 100, whose squares vary by twice their squared mean each
    assert abs(gap.mean()) < 4 * 20 * np.sqrt(2 / 2000)
    undone = 4 * np.einsum("ij,ij->j", answers.cross, answers.cross) / answer - own
    assert undone.mean() > 4  # what is taken off


def dense(C, hidden, noise, method):
    """Scores of V-opt and Sigma-opt from a covariance matrix, -inf where labeled."""
    own = np.diag(C)[hidden] + noise**2
    block = C[np.ix_(hidden, hidden)]
    top = (block**2).sum(axis=0) if method == "v_opt" else block.sum(axis=0) ** 2
    score = np.full(len(C), -np.inf)
    score[hidden] = top / own
    return score


def leveled(prior):
    """What a level of deviation 1 adds to the covariance, unless the prior's own is larger."""
    level = float(prior.level) if isinstance(prior, gq.SumPrior) else 0.0
    return max(1.0 - level**2, 0.0) * np.ones((prior.n_nodes, prior.n_nodes))


def conditioned(C, nodes, noise):
    G = C[np.ix_(nodes, nodes)] + noise**2 * np.eye(len(nodes))
    return C - C[:, nodes] @ np.linalg.inv(G) @ C[nodes]


@pytest.mark.parametrize("method", BY_PRIOR)
@pytest.mark.parametrize("kind", ["full", "projected", "approximated", "with q_0", "level", "sum"])
def test_gaussian_scores_are_those_of_dense_matrices(small, kind, method):
    spectrum, labels, _ = small
    features = gq.FeaturePrior(np.random.default_rng(0).normal(size=(40, 2)), 1.0)
    each = {
        **priors(spectrum, 8),
        "with q_0": gq.Prior.projected(spectrum, 8, alpha=2.0, tau=0.1, null_mode=True),
        "level": gq.Prior.projected(spectrum, 8) + gq.Level(0.5),
        "sum": gq.SumPrior.of([gq.Prior.projected(spectrum, 8), features, gq.Level(2.0)], [1, 1]),
    }
    prior, noise = each[kind], 0.3
    C = prior.law.covariance() + leveled(prior)
    gaussian = Conditioned(prior, noise)
    for node in labels.nodes:
        gaussian.observe(node)
    nodes, best = list(labels.nodes), []
    for _ in range(5):
        hidden = np.setdiff1d(np.arange(40), nodes)
        exact = dense(conditioned(C, nodes, noise), hidden, noise, method)
        best.append(exact.max())
        np.testing.assert_allclose(gaussian.scores(method), exact, rtol=1e-7)
        nodes.append(int(np.argmax(exact)))
        gaussian.observe(nodes[-1])
    post = quietly(prior, gq.Probit(noise), labels, draws=20, seed=0, progress=False)
    assert post.suggest(5, method).tolist() == nodes[-5:]
    picks, scores = post.suggest(5, method, return_scores=True)
    assert picks.tolist() == nodes[-5:]
    np.testing.assert_allclose(scores, best, rtol=1e-7)


@pytest.mark.parametrize("method", BY_DRAWS)
def test_scores_are_those_of_the_picks_given_the_earlier_ones(method):
    post = twins(0.1)
    answers = Answers(post, post.prior, np.array([2, 3, 4, 5, 6]), method, (0.1, 0.0), None)
    expected = []
    for pick in (2, 4, 6):
        expected.append(answers.scores()[pick - 2])
        answers.observe(pick - 2)

    picks, scores = post.suggest(3, method, return_scores=True)

    assert picks.tolist() == [2, 4, 6]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)
    # the twin of a pick has little left to tell
    _, five = post.suggest(5, method, return_scores=True)
    assert (five[3:] < 0.3 * five[:3].min()).all()
    alone, score = post.suggest(1, method, return_scores=True)
    assert alone.tolist() == [2]
    np.testing.assert_allclose(score, expected[:1], rtol=1e-4)


def test_a_forgotten_tail_is_seen(small, monkeypatch):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 8)
    exact = dense(
        conditioned(prior.law.covariance() + leveled(prior), labels.nodes, 0.3),
        np.setdiff1d(np.arange(40), labels.nodes),
        0.3,
        "v_opt",
    )
    plant(monkeypatch, Conditioned, "scores", "2 * shared", "shared")
    gaussian = Conditioned(prior, 0.3)
    for node in labels.nodes:
        gaussian.observe(node)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(gaussian.scores("v_opt"), exact, rtol=1e-9)


def twins(noise):
    """Nodes 2 and 3 are one, and so are 4 and 5, somewhat less uncertain, and 6 least of all."""
    prior = gq.Prior.full(gq.Graph(np.ones((7, 7)) - np.eye(7)))
    u = np.random.default_rng(0).normal([0.1, 0.3, 0.5], 1.0, (4000, 3))
    draws = np.hstack([np.ones((4000, 2)), u[:, [0, 0, 1, 1, 2]]])
    return known(prior, draws, sign_model={"noise": noise, "flip_rate": 0.0})


@pytest.mark.parametrize("method", BY_DRAWS)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_twins_are_not_both_picked_before_others(method, noise):
    post = twins(noise)
    assert post.suggest(3, method).tolist() == [2, 4, 6]
    assert sorted(post.suggest(5, method).tolist()) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("method", BY_DRAWS)
def test_without_regression_twins_are_both_picked(method, monkeypatch):
    monkeypatch.setattr(Answers, "observe", lambda self, at: None)
    post = twins(0.1)
    assert post.suggest(3, method).tolist() == [2, 3, 4]


def test_regression_on_picks_is_that_of_dense_matrices(five):
    prior, mean, covariance = five
    post = known(prior, draws_of(mean, covariance, 5000))
    answers = Answers(post, prior, np.arange(2, 5), "variance_reduction", (0.5, 0.1), None)
    cross, first = answers.cross.astype(float), answers._first.astype(float)
    inner = first.T @ first / 5000
    observed = inner + np.diag(answers._own[:, 0, 0])
    spread = (1 - post.mean[2:] ** 2) / 4  # variance of an indicator
    for at in (1, 2):
        answers.observe(at)
    inverse = np.linalg.inv(observed[1:, 1:])
    np.testing.assert_allclose(
        answers.cross, cross - cross[:, 1:] @ inverse @ inner[1:], atol=2.5e-7
    )
    left = first.T @ answers._left.astype(float) / 5000
    np.testing.assert_allclose(left, inner - inner[:, 1:] @ inverse @ inner[1:], atol=2.5e-7)
    left = spread - np.einsum("ij,jk,ik->i", cross[:, 1:], inverse, cross[:, 1:])
    np.testing.assert_allclose(answers._spread, left, atol=2.5e-7)


@settings(max_examples=25, deadline=None)
@given(
    data=st.integers(0, 2**32 - 1),
    method=st.sampled_from(METHODS),
    k=st.integers(1, 8),
    candidates=st.integers(1, 10),
    flip_rate=st.sampled_from([0.0, 0.2]),
)
def test_picks_are_distinct_unlabeled_and_begin_alike(data, method, k, candidates, flip_rate):
    rng = np.random.default_rng(data)
    prior = gq.Prior.full(gq.Graph(np.ones((11, 11)) - np.eye(11)))
    draws = rng.standard_normal((50, 11)) + 2 * rng.standard_normal(11)
    draws[:, 3:5] = 1.0  # certain
    sign_model = {"noise": 0.2, "flip_rate": flip_rate}
    post = known(prior, draws, (0, 3, 7), sign_model)
    picks = post.suggest(k, method, candidates=candidates)
    assert picks.dtype == np.int64
    assert picks.shape == (k,)
    assert np.unique(picks).size == k
    assert not np.isin(picks, post.labels.nodes).any()
    if candidates >= k:  # else the candidates follow k
        assert np.array_equal(post.suggest(1, method, candidates=candidates), picks[:1])


@pytest.mark.parametrize("method", BY_DRAWS)
def test_certain_nodes_score_nothing_and_ties_keep_the_order(method):
    prior = gq.Prior.full(gq.Graph(np.ones((8, 8)) - np.eye(8)))
    draws = np.ones((100, 8))
    post = known(prior, draws, (3, 7))
    assert post.suggest(4, method).tolist() == [0, 1, 2, 4]
    draws[:, [5, 6]] = np.where(np.arange(100) % 2, 1.0, -1.0)[:, None]
    post = known(prior, draws, (3, 7))
    assert post.suggest(1, method).tolist() == [5]
    assert post.suggest(3, method).tolist() == [5, 0, 1]


@pytest.mark.parametrize("method", BY_DRAWS)
def test_rounding_does_not_decide_between_nodes_alike(method):
    prior = gq.Prior.full(gq.Graph(np.ones((30, 30)) - np.eye(30)))
    draws = np.ones((187, 30))
    for node, some in enumerate(np.random.default_rng(0).permutation(186).reshape(31, 6)[:30]):
        draws[some, node] = -1.0  # each node has its own six draws
    post = known(prior, draws, (3, 7))
    assert post.suggest(6, method).tolist() == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("kind", ["projected", "approximated"])
@pytest.mark.parametrize(
    "model", [gq.Probit(0.5), gq.LevelSet(0.8), gq.NoisyProbit(0.3, 0.05)], ids=repr
)
def test_sampled_posteriors_suggest_and_repeat_themselves(small, tmp_path, kind, model):
    spectrum, labels, _ = small
    prior = priors(spectrum, 8)[kind]
    post = quietly(prior, model, labels, draws=300, seed=0, progress=False)
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc")
    assert again.settings["sign_model"] == post.settings["sign_model"]
    with pytest.raises(ValueError, match="does not hold its prior: pass prior="):
        again.suggest(4)
    for method in METHODS:
        picks = post.suggest(4, method, seed=1)
        assert np.array_equal(picks, again.suggest(4, method, prior=prior, seed=1))
        assert not np.isin(picks, labels.nodes).any()


@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_approximate_posteriors_suggest_much_the_same(small, kind):
    spectrum, labels, _ = small
    prior, model = priors(spectrum, 8)[kind], gq.NoisyProbit(0.3, 0.05)
    quick = gq.approximate(prior, model, labels)
    post = quietly(prior, model, labels, draws=2000, seed=0, progress=False)
    assert quick.settings["sign_model"] == post.settings["sign_model"]
    nodes = np.setdiff1d(np.arange(40), labels.nodes)
    for method in BY_DRAWS:
        assert np.array_equal(quick.suggest(3, method), quick.suggest(3, method))
        score = Answers(post, prior, nodes, method, (0.3, 0.05), 0).scores()
        best = score[np.searchsorted(nodes, quick.suggest(1, method)[0])]
        assert best > 0.9 * score.max(), method
    for method in BY_PRIOR:
        assert np.array_equal(quick.suggest(3, method), post.suggest(3, method))


def test_the_sign_model_is_kept(small):
    spectrum, labels, _ = small
    prior = gq.Prior.projected(spectrum, 8)
    expected = {
        gq.Probit(0.5): {"noise": 0.5, "flip_rate": 0.0},
        gq.LevelSet(0.8): {"noise": 0.0, "flip_rate": 1 / (1 + np.exp(2 / 0.64))},
        gq.NoisyProbit(0.3, 0.05): {"noise": 0.3, "flip_rate": 0.05},
    }
    for model, wanted in expected.items():
        post = quietly(prior, model, labels, draws=20, chains=1, seed=0, progress=False)
        assert post.settings["sign_model"] == pytest.approx(wanted, rel=1e-12)
    model = gq.GinzburgLandau(10.0, 0.6)
    post = quietly(prior, model, labels, draws=20, chains=1, seed=0, progress=False)
    assert post.settings["sign_model"] is None
    for method in METHODS:
        assert post.suggest(2, method).shape == (2,)


def test_bad_input_is_refused(small, monkeypatch):
    spectrum, labels, y = small
    prior = gq.Prior.approximated(spectrum, 8)
    post = quietly(prior, gq.Probit(0.5), labels, draws=20, chains=1, seed=0, progress=False)
    with pytest.raises(ValueError, match=r"between 1 and 35, got 36; 35 nodes are unlabeled"):
        post.suggest(36)
    with pytest.raises(ValueError, match="between 1 and 35, got 0"):
        post.suggest(0)
    with pytest.raises(TypeError, match=r"k must be an integer, got 1\.5"):
        post.suggest(1.5)
    with pytest.raises(ValueError, match="'bald', 'variance_reduction', 'variance', 'v_opt', 'sig"):
        post.suggest(1, "entropy")
    with pytest.raises(ValueError, match="candidates must be at least 1"):
        post.suggest(candidates=0)
    for method in METHODS:
        with pytest.raises(ValueError, match="must be the one that was sampled with"):
            post.suggest(1, method, prior=gq.Prior.approximated(spectrum, 9))
    every = quietly(
        prior, gq.Probit(0.5), gq.Labels(np.arange(40), y), draws=20, seed=0, progress=False
    )
    with pytest.raises(ValueError, match="every node is labeled"):
        every.suggest()
    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match="take fewer candidates"):
        post.suggest()


def test_better_than_random_on_a_grid_of_clumps():
    """Twenty clumps with random classes: labels are needed in clumps without labels."""
    rng = np.random.default_rng(1)
    centers = np.stack(np.meshgrid(np.arange(5), np.arange(4)), -1).reshape(-1, 2) * 4.0
    X = np.repeat(centers, 15, axis=0) + 0.6 * rng.standard_normal((300, 2))
    y = np.repeat(rng.permutation(np.arange(20) % 2), 15)
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=25)
    start = gq.reveal(y, counts=2, seed=0)

    def accuracy(new):
        nodes = np.concatenate([start.nodes, new])
        labels = gq.Labels(nodes, y[nodes])
        return quietly(
            prior, gq.Probit(0.1), labels, draws=200, chains=2, seed=0, progress=False
        ).accuracy(y)

    hidden = np.setdiff1d(np.arange(300), start.nodes)
    chance = np.mean([accuracy(rng.choice(hidden, 16, replace=False)) for _ in range(10)])
    post = quietly(prior, gq.Probit(0.1), start, draws=500, seed=0, progress=False)
    for method in ("bald", "variance_reduction", "v_opt", "sigma_opt"):
        assert accuracy(post.suggest(16, method)) > chance + 0.05, method
