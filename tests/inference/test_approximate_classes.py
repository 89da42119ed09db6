"""The approximation of any number of classes is right, or says that it is not."""

import warnings

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference import check_by_draws

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3)) + 1.5 * rng.integers(0, 3, size=(70, 1))
GRAPH = gq.knn_graph(X, 8, connect=True)
PRIORS = {
    "modes": gq.Prior.projected(GRAPH, 20),
    "sum": gq.SumPrior.of(
        [gq.Prior.projected(GRAPH, 20), gq.FeaturePrior(X, 1.7), gq.Level(0.8)], [0.6, 0.4]
    ),
}
MODELS = [gq.Probit(0.3), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(1.0)]


def some_labels(n_classes, seed, count=30, prior=PRIORS["modes"]):
    """Labels of the model, or, for odd seeds, random ones."""
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.choice(70, count, replace=False))
    if seed % 2:
        return gq.Labels(nodes, rng.integers(0, n_classes, count), classes=range(n_classes))
    fields = prior.draw(n_classes, seed=seed)[:, nodes]
    return gq.Labels(nodes, fields.argmax(axis=0), classes=range(n_classes))


def approximated(*arguments):
    """The approximation, and whether it says that it is poor."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quick = gq.approximate(*arguments)
    return quick, any("propagation is poor here" in str(w.message) for w in found)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
def test_probabilities_are_near_to_sampled_ones_or_it_warns(prior, n_classes, model):
    for seed in (0, 1):
        labels = some_labels(n_classes, seed, prior=PRIORS[prior])
        quick, warned = approximated(PRIORS[prior], model, labels)
        assert np.isfinite(quick.by_class).all()
        post = gq.sample(PRIORS[prior], model, labels, draws=3000, seed=0, progress=False)
        error = abs(quick.by_class - post.by_class).max()
        assert warned or error < 0.03 + 3 * post.probability_mcse.max()


def test_what_is_poor_is_said_and_what_is_not_is_not():
    poor = approximated(PRIORS["sum"], gq.LevelSet(1.0), some_labels(5, 1))
    good = approximated(PRIORS["modes"], gq.Probit(0.3), some_labels(3, 0))
    assert poor[1]
    assert not good[1]


def test_a_check_of_other_probabilities_would_warn(monkeypatch):
    """A negative control: probabilities that are off by little more than is allowed."""
    problem = gq.inference.problem.Problem.check(PRIORS["modes"], gq.Probit(0.3), some_labels(3, 0))
    right = gq.approximate(PRIORS["modes"], gq.Probit(0.3), problem.labels).by_class
    assert check_by_draws.describe_poor_probabilities(problem, right, 0.0) == ""
    wrong = right.copy()
    wrong[5] = wrong[5] * 0.94 + 0.06 * np.eye(3)[wrong[5].argmin()]
    assert "differs by 0.0" in check_by_draws.describe_poor_probabilities(problem, wrong, 0.0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("n_classes", [3, 6, 12])
def test_names_of_classes_change_nothing(n_classes, model):
    labels = some_labels(n_classes, 2)  # of twelve classes some have no label
    order = np.random.default_rng(1).permutation(n_classes)
    renamed = gq.Labels(labels.nodes, order[labels.indices], classes=range(n_classes))
    (one, _), (other, _) = (
        approximated(PRIORS["sum"], model, given) for given in (labels, renamed)
    )
    for name in ("by_class", "latent_by_class"):
        a, b = getattr(one, name), getattr(other, name)[:, order]
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
    np.testing.assert_allclose(one.aleatoric, other.aleatoric, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_contradicting_labels_have_an_answer_too(seed):
    labels = some_labels(8, seed, count=40)
    quick, warned = approximated(PRIORS["sum"], gq.NoisyProbit(0.3, 0.04), labels)
    assert np.isfinite(quick.by_class).all()
    assert warned


def test_noise_that_rounding_would_swallow_is_refused():
    for gamma in (1e-100, 9e-9):
        for make in (gq.Probit, lambda g: gq.NoisyProbit(g, 0.1)):
            with pytest.raises(ValueError, match=r"gamma must be.*take 0\.01"):
                make(gamma)


@pytest.mark.parametrize("gamma", [1e-8, 1e-5])
def test_hardly_any_noise_gives_numbers(gamma):
    prior = gq.Prior.projected(GRAPH, 20)
    for values in ([0, 0, 1, 1], [0, 0, 1, 2]):
        labels = gq.Labels([0, 1, 40, 41], values)
        quick, _ = approximated(prior, gq.Probit(gamma), labels)
        for array in (quick.by_class, quick.latent_by_class, quick.aleatoric, quick.mean):
            assert np.isfinite(array).all()
        assert (quick.prediction[labels.nodes] == labels.values).all()
