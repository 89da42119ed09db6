"""Estimated shares of the classes against counts, closed forms and draws of whole worlds."""

import dataclasses
import warnings

import numpy as np
import pytest
from conftest import quietly
from scipy import stats

import graphuq as gq
from graphuq.likelihoods.sign_model import SignModel
from graphuq.posterior.assessment.estimated_shares import (
    ClassShares,
    Groups,
    counts_from_draws,
    counts_from_predictions,
    shifted,
)

N, WORLDS = 300, 20


@pytest.fixture(scope="module")
def world():
    """A prior, and the true classes of draws of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 3 * rng.integers(0, 2, size=(N, 3))
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    return gq.Prior.projected(graph, rank=60, alpha=2.0, tau=0.1) + gq.Level(1.0)


def classes_of(prior, n_classes, seed):
    rng = np.random.default_rng(seed)
    fields = prior.draw(n_classes if n_classes > 2 else 1, seed=rng)
    p = SignModel(0.2).wins(np.reshape(fields, (-1, N)).T)
    return (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1), rng


def by_class(y, n_classes, each, rng):
    found = [rng.choice(np.flatnonzero(y == c), each, replace=False) for c in range(n_classes)]
    nodes = np.concatenate(found)
    return gq.Labels(nodes, y[nodes], np.arange(n_classes), sampling="by class")


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_intervals_hold_the_shares_of_worlds_with_labels_at_random(world, n_classes):
    covered = []
    for seed in range(WORLDS):
        y, rng = classes_of(world, n_classes, seed)
        nodes = rng.choice(N, 60, replace=False)
        labels = gq.Labels(nodes, y[nodes], np.arange(n_classes), sampling="random")
        post = gq.approximate(world, gq.Probit(0.2), labels)
        low, high = post.class_shares().interval(0.9)[0].T
        truth = np.bincount(y, minlength=n_classes) / N
        covered.append(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
    assert abs(np.mean(covered) - 0.9) < 4 * np.sqrt(0.9 * 0.1 / WORLDS)


def test_labels_by_class_need_more_than_the_posterior(world):
    truths, ends = [], {"by class": [], "random": []}
    for seed in range(WORLDS):
        y, rng = classes_of(world, 2, seed)
        if np.bincount(y, minlength=2).min() < 20:
            continue
        labels = by_class(y, 2, 20, rng)
        post = gq.approximate(world, gq.Probit(0.2), labels)
        truths.append(np.mean(y))
        for sampling, each in ends.items():
            taken = gq.Labels(labels.nodes, labels.values, labels.classes, sampling=sampling)
            each.append(dataclasses.replace(post, labels=taken).class_shares().interval()[0, 1])
    truth = np.array(truths)
    hold = {name: np.mean((np.array(each).T[0] <= truth) & (truth <= np.array(each).T[1]))
            for name, each in ends.items()}  # fmt: skip
    assert len(truth) >= WORLDS / 2
    assert hold["by class"] > 0.9 - 4 * np.sqrt(0.9 * 0.1 / len(truth))
    assert hold["random"] < 0.6  # the control


def test_draws_and_an_approximation_agree(world):
    y, rng = classes_of(world, 2, seed=1)
    nodes = rng.choice(N, 60, replace=False)
    labels = gq.Labels(nodes, y[nodes], sampling="any")
    drawn = gq.sample(world, gq.Probit(0.2), labels, seed=0, progress=False)
    quick = gq.approximate(world, gq.Probit(0.2), labels)
    each = [post.class_shares().draws[:, 0, 1] for post in (drawn, quick)]
    assert abs(each[0].mean() - each[1].mean()) < 0.01
    assert 0.8 < each[0].std() / each[1].std() < 1.25
    for post, shares in zip((drawn, quick), each, strict=True):
        known = (labels.values.sum() + np.delete(post.probability, nodes).sum()) / N
        assert abs(shares.mean() - known) < 4 * shares.std() / np.sqrt(200)


def test_predictions_that_are_certain_leave_a_beta_law():
    """With certain predictions the rows of M have Dirichlet laws, and pi solves q = pi M."""
    labels = gq.Labels(np.arange(20), np.repeat([0, 1], 10), sampling="by class")
    left_out = np.eye(2)[np.repeat([0, 1, 0, 1], [8, 2, 0, 10])]
    p = np.eye(2)[np.append(labels.values, np.repeat([0, 1], [40_000, 60_000]))]
    draws = counts_from_predictions(p, labels, left_out, 0.0, np.random.default_rng(0))
    # the prior adds a right prediction, and one that is right half of the time
    rng = np.random.default_rng(1)
    right, false = rng.beta(9.5, 2.5, 200_000), rng.beta(0.5, 11.5, 200_000)
    expected = np.clip((0.4 - false) / (right - false), 0, 1)
    hidden = (draws[:, 0] - 10) / 100_000
    assert abs(hidden.mean() - expected.mean()) < 4 * expected.std() / np.sqrt(len(hidden))
    assert stats.ks_2samp(hidden, expected).pvalue > 1e-3


def test_predictions_of_few_items_differ_from_their_mean_by_chance():
    """With 5,000 labels of each class M is known, and q has the spread of 50 predictions."""
    labels = gq.Labels(np.arange(10_000), np.repeat([0, 1], 5000), sampling="by class")
    second = np.where(np.arange(10_000) % 2, 0.1, 0.5) + 0.4 * labels.values
    left_out = np.column_stack([1 - second, second])
    p = np.vstack([left_out, np.tile([[0.5, 0.5]], (50, 1))])
    draws = counts_from_predictions(p, labels, left_out, 0.0, np.random.default_rng(0))
    assert np.all(draws[:, 0] >= 5000)  # labeled items are known
    hidden = (draws[:, 1] - 5000) / 50
    assert abs(hidden.mean() - 0.5) < 0.05  # M has the rows (0.7, 0.3) and (0.3, 0.7)
    assert hidden.std() == pytest.approx(0.2 / np.sqrt(50) / 0.4, rel=0.1)


def test_flips_that_the_likelihood_expects_are_not_of_the_true_class():
    labels = gq.Labels(np.arange(40), np.repeat([0, 1], 20), sampling="by class")
    certain = np.eye(2)[labels.values]
    p = np.eye(2)[np.append(labels.values, np.repeat([0, 1], [900, 100]))]
    plain, flipped = (
        counts_from_predictions(p, labels, left_out, rate, np.random.default_rng(0))
        for left_out, rate in ((certain, 0.0), (0.1 + 0.8 * certain, 0.1))
    )
    np.testing.assert_allclose(plain, flipped, atol=1e-6)


def test_counts_in_groups_move_with_those_of_all_items():
    labels = gq.Labels([0, 3], [0, 1], sampling="by class")
    groups = Groups.of(np.repeat(["a", "b"], [50, 52]), 102)
    counts = np.array([[[40.0, 10.0], [13.0, 39.0]]])
    same = shifted(counts, labels, groups, counts.sum(axis=1))
    np.testing.assert_allclose(same, counts)
    more = shifted(counts, labels, groups, np.array([[90.0, 12.0]]))[0]
    np.testing.assert_allclose(more.sum(axis=1), [50, 52])
    # the odds of all unlabeled items grow by one factor
    known = np.array([[1.0, 1.0], [0.0, 0.0]])
    before, after = counts[0] - known, more - known
    factor = (after[:, 0] / after[:, 1]) / (before[:, 0] / before[:, 1])
    np.testing.assert_allclose(factor, (89 / 52) / (11 / 48))


def test_groups_by_a_feature_are_held(world):
    """Predictions of a class differ between such groups."""
    covered = []
    for seed in range(WORLDS):
        y, rng = classes_of(world, 2, seed)
        if np.bincount(y, minlength=2).min() < 25:
            continue
        post = gq.approximate(world, gq.Probit(0.2), by_class(y, 2, 20, rng))
        half = world.parts[0].mode_loadings(np.arange(N))[:, 1] > 0
        low, high = np.moveaxis(post.class_shares(half).interval(0.9)[:, 1], -1, 0)
        truth = np.array([y[~half].mean(), y[half].mean()])
        covered.append(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
    assert len(covered) >= WORLDS / 2
    assert np.mean(covered) > 0.75


def test_groups_add_up_and_a_labeled_group_is_known(world):
    y, rng = classes_of(world, 3, seed=3)
    nodes = rng.choice(N, 90, replace=False)
    whole = np.isin(np.arange(N), nodes[:10])
    groups = np.where(whole, "labeled", np.where(np.arange(N) % 2, "odd", "even"))
    labels = gq.Labels(nodes, y[nodes], np.arange(3), sampling="random")
    post = gq.approximate(world, gq.Probit(0.2), labels)
    for sampling in ("random", "by class"):
        taken = gq.Labels(nodes, y[nodes], np.arange(3), sampling=sampling)
        shares = dataclasses.replace(post, labels=taken).class_shares(groups)
        assert shares.groups.tolist() == ["even", "labeled", "odd"]
        np.testing.assert_allclose(shares.draws.sum(axis=2), 1)
        truth = np.bincount(y[whole], minlength=3) / whole.sum()
        np.testing.assert_allclose(
            shares.draws[:, 1], np.broadcast_to(truth, (len(shares.draws), 3))
        )
    all_in_one = post.class_shares().draws[:, 0]
    weights = shares.items / N
    np.testing.assert_allclose(
        np.tensordot(weights, post.class_shares(groups).draws, axes=(0, 1)), all_in_one
    )


def test_the_true_class_of_a_doubted_label_is_drawn():
    """P(class | u, label) of flips is Bayes' rule for a field that is known."""
    labels = gq.Labels([0, 1], ["a", "b"], sampling="any")
    u = np.full((20_000, 2), -0.3)
    prior, groups = stats.norm.cdf(-0.3 / 0.5), Groups.of(["x", "y"], 2)
    trusted = gq.Labels([0, 1], ["a", "b"], confidence=[0.8, 0.8], sampling="any")
    for own, rate in ((labels, 0.2), (trusted, 0.0)):
        model, rng = {"noise": 0.5, "flip_rate": rate}, np.random.default_rng(0)
        draws = counts_from_draws([u], own, groups, 0.5, model, rng)
        for group, given in enumerate(([0.8, 0.2], [0.2, 0.8])):
            p = np.array([1 - prior, prior]) * given
            expected = p[1] / p.sum()
            error = np.sqrt(expected * (1 - expected) / len(u))
            assert abs(draws[:, group, 1].mean() - expected) < 4 * error


def test_a_certain_label_stands_where_the_field_is_sure_of_another_class():
    """Beside a label that is doubted; both probabilities of the first node are 0 in floats."""
    labels = gq.Labels([0, 1], ["b", "a"], confidence=[1.0, 0.8], sampling="any")
    u, rng = np.tile([-50.0, 50.0], (100, 1)), np.random.default_rng(0)
    model, groups = {"noise": 0.1, "flip_rate": 0.0}, Groups.of(["x", "y"], 2)
    assert (counts_from_draws([u], labels, groups, 0.1, model, rng) == np.array([0, 1])).all()


def test_names_of_groups_are_kept():
    groups = Groups.of(np.array([10, 2, 10, 1], dtype=object), 4)
    assert groups.names.tolist() == [1, 2, 10]
    assert groups.number.tolist() == [2, 1, 2, 0]


def test_shares_of_what_is_not_a_sign_model_and_of_sampled_parameters(world):
    labels = gq.Labels([0, 1], [0, 1])
    short = {"draws": 5, "seed": 0, "progress": False}
    field = quietly(world, gq.GinzburgLandau(1.0, 0.5), labels, gq.PCN(), **short)
    with pytest.raises(ValueError, match="give the labels sampling='any'"):
        field.class_shares()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        joint = gq.sample_jointly(world, gq.Probit(), labels, **short)
    with pytest.raises(ValueError, match="shares of classes need one likelihood"):
        joint.class_shares()


def test_names_of_classes_and_order_of_nodes_do_not_matter(world):
    y, rng = classes_of(world, 3, seed=5)
    nodes = rng.choice(N, 60, replace=False)
    post = gq.approximate(
        world, gq.Probit(0.2), gq.Labels(nodes, y[nodes], np.arange(3), sampling="by class")
    )
    other = np.array([2, 0, 1])
    again = gq.approximate(
        world,
        gq.Probit(0.2),
        gq.Labels(nodes[::-1], other[y[nodes[::-1]]], np.arange(3), sampling="by class"),
    )
    one, two = post.class_shares(seed=0), again.class_shares(seed=0)
    error = one.draws.std(axis=0).max() / np.sqrt(1000)
    np.testing.assert_allclose(one.mean[0], two.mean[0][other], atol=6 * error)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["a"], r"the group of each of 300 nodes, got shape \(1,\)"),
        ([None, *"a" * 299], "that of node 0 is missing"),
        (np.zeros((300, 2)), r"got shape \(300, 2\)"),
    ],
)
def test_groups_that_do_not_fit_are_refused(world, groups, words):
    post = gq.approximate(world, gq.Probit(0.2), gq.Labels([0, 1], [0, 1]))
    with pytest.raises(ValueError, match=words):
        post.class_shares(groups)


def test_an_interval_has_a_probability_between_0_and_1():
    shares = ClassShares(np.array([0, 1]), None, np.array([4]), np.full((3, 1, 2), 0.5))
    for probability in (0, 1, 90, np.nan):
        with pytest.raises(ValueError, match="probability must"):
            shares.interval(probability)


def test_a_run_from_a_file_needs_its_prior(world, tmp_path):
    labels = gq.Labels([0, 1, 2], [0, 1, 1], sampling="random")
    post = gq.sample(world, gq.Probit(0.2), labels, draws=50, seed=0, progress=False)
    post.save(tmp_path / "run.nc")
    again = gq.load(tmp_path / "run.nc")
    with pytest.raises(ValueError, match="does not hold its prior"):
        again.class_shares()
    assert (again.class_shares(prior=world).draws == post.class_shares().draws).all()
