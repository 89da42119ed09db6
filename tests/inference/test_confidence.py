"""Labels with confidence against exact answers, in all that reads labels; a negative control."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import priors, quietly
from references.exact import class_evidence, class_probabilities, errors_in_mcse, exact_mean
from references.selection import SLOW

import graphuq as gq
from graphuq.inference.evidence.evidence import SignEvidence
from graphuq.inference.evidence.pairwise import PairwiseEvidence
from graphuq.likelihoods.bound import bind, differentiate, evaluate

NODES = np.array([0, 3, 11, 16, 21, 29, 34])
TWO = gq.Labels([0, 7, 13, 25], [0, 1, 1, 0], confidence=[0.9, 0.4, 1.0, 0.7])
THREE = gq.Labels([0, 13, 38], ["a", "c", "b"], confidence=[0.95, 0.25, 0.6])
SURER = gq.Labels([0, 7, 13, 25], [0, 0, 1, 1], confidence=[0.95, 0.85, 1.0, 0.9])
SURER_THREE = gq.Labels([0, 13, 38], ["a", "c", "b"], confidence=[0.95, 0.85, 0.9])
MODELS = [gq.Probit(0.3), gq.NoisyProbit(0.2, 0.1), gq.LevelSet(1.0)]
POOR = "ignore:expectation propagation is poor"
OPTIONS = {"draws": 4000, "seed": 1, "progress": False}
SHORTER = OPTIONS | {"draws": 2500}


def plain(labels):
    return gq.Labels(labels.nodes, labels.values, labels.classes)


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.projected(small[0], 8)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_two_classes_are_exact(small, kind, model):
    prior = priors(small[0], 8)[kind]
    post = quietly(prior, model, TWO, gq.Harmonic(), **SHORTER)
    assert post.mcse.max() < 0.02
    assert errors_in_mcse(post, exact_mean(prior, model, TWO, NODES), NODES).max() < 5
    # the answer without confidences is another
    assert errors_in_mcse(post, exact_mean(prior, model, plain(TWO), NODES), NODES).max() > 20


@pytest.mark.parametrize(
    ("sampler", "model"),
    [
        (gq.EllipticalSlice(), gq.LevelSet(1.0)),
        (gq.PCN(), gq.NoisyProbit(0.2, 0.1)),
        (gq.HilbertHMC(), gq.Probit(0.3)),
        (gq.PreconditionedHMC(), gq.NoisyProbit(0.2, 0.1)),
        pytest.param(gq.Tempered(gq.PCN(thin=4), 6), gq.Probit(0.3), marks=pytest.mark.slow),
    ],
)
def test_every_sampler_is_exact(prior, sampler, model):
    post = quietly(prior, model, TWO, sampler, **SHORTER)
    assert errors_in_mcse(post, exact_mean(prior, model, TWO, NODES), NODES).max() < 5


@pytest.mark.slow  # three classes of quick tests: annealed evidence, and the approximation
@pytest.mark.parametrize("model", MODELS)
def test_three_classes_are_exact(prior, model):
    noise, cost = bind(model, THREE, 40).sign_model
    exact = class_probabilities(prior, THREE, NODES[:4], noise, cost)
    for sampler in (gq.Harmonic(), gq.EllipticalSlice()):
        post = quietly(prior, model, THREE, sampler, **OPTIONS)
        errors = abs(post.latent_probability[NODES[:4]] - exact) / post.mcse[NODES[:4]]
        assert errors.max() < 5
    without = class_probabilities(prior, plain(THREE), NODES[:4], noise, cost)
    assert (abs(post.latent_probability[NODES[:4]] - without) / post.mcse[NODES[:4]]).max() > 20


@pytest.mark.parametrize("labels", [SURER, pytest.param(SURER_THREE, marks=SLOW)])
@pytest.mark.parametrize("model", [gq.Probit(0.5), gq.NoisyProbit(0.5, 0.05)])
def test_approximation_and_evidence(prior, labels, model):
    noise, cost = bind(model, labels, 40).sign_model
    exact = class_probabilities(prior, labels, NODES[:3], noise, cost)
    quick = gq.approximate(prior, model, labels)
    assert abs(quick.latent_by_class[NODES[:3]] - exact).max() < 0.03
    evidence = class_evidence(prior, labels, noise, cost)
    assert abs(quick.sites.log_evidence - evidence) < 0.02
    # without confidences it is another
    assert abs(class_evidence(prior, plain(labels), noise, cost) - evidence) > 0.04


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("model", MODELS)
def test_annealed_evidence_is_exact(prior, labels, model):
    noise, cost = bind(model, labels, 40).sign_model
    evidence = class_evidence(prior, labels, noise, cost)
    found = gq.annealed_evidence(prior, model, labels, seed=0)
    assert abs(found.log_evidence - evidence) < 5 * found.mcse < 0.3


@pytest.mark.filterwarnings(POOR)
def test_a_label_that_is_likelier_wrong_is_one_of_the_other_class(prior):
    values, trust = TWO.values.copy(), TWO.confidence.copy()
    values[1], trust[1] = 1 - values[1], 1 - trust[1]
    other = gq.Labels(TWO.nodes, values, confidence=trust)
    assert trust[1] > 0.5
    for model in MODELS:
        one, two = (gq.approximate(prior, model, labels) for labels in (TWO, other))
        np.testing.assert_allclose(one.by_class, two.by_class, atol=1e-8)
        assert one.sites.log_evidence == pytest.approx(two.sites.log_evidence)
        draws = [quietly(prior, model, labels, draws=200, seed=1) for labels in (TWO, other)]
        np.testing.assert_allclose(draws[0].by_class, draws[1].by_class, atol=1e-6)


@pytest.mark.parametrize("labels", [TWO, pytest.param(THREE, marks=SLOW)])
@pytest.mark.parametrize("model", MODELS)
def test_leaving_a_label_out_says_what_a_certain_label_would_be(prior, labels, model):
    noise, cost = bind(model, labels, 40).sign_model
    post = quietly(prior, model, labels, **OPTIONS)
    right = np.empty((len(labels), labels.classes.size))
    for j in range(len(labels)):
        for k, name in enumerate(labels.classes):
            values, trust = labels.values.copy(), labels.confidence.copy()
            values[j], trust[j] = name, 1.0
            given = gq.Labels(labels.nodes, values, labels.classes, confidence=trust)
            right[j, k] = np.exp(class_evidence(prior, given, noise, cost))
    right /= right.sum(axis=1, keepdims=True)
    assert abs(post.pred_probs() - right).max() < 0.02


@pytest.mark.parametrize("labels", [SURER, SURER_THREE])
def test_leaving_a_label_out_of_the_approximation(prior, labels):
    model = gq.NoisyProbit(0.5, 0.05)
    found = gq.approximate(prior, model, labels).pred_probs()
    post = quietly(prior, model, labels, **OPTIONS)
    assert abs(found - post.pred_probs()).max() < 0.03


@pytest.mark.filterwarnings(POOR)
@pytest.mark.parametrize("labels", [TWO, pytest.param(THREE, marks=SLOW)])
@pytest.mark.parametrize("model", MODELS[:2])
def test_mistakes_grow_with_doubt(prior, labels, model):
    """P(flipped) is 1 - P(right | all labels): the ratio of two evidences."""
    noise, cost = bind(model, labels, 40).sign_model
    post = quietly(prior, model, labels, **OPTIONS)
    quick = gq.approximate(prior, model, labels)
    K, whole = labels.classes.size, np.exp(class_evidence(prior, labels, noise, cost))
    for j, node in enumerate(labels.nodes):
        trust = labels.confidence.copy()
        trust[j] = 1.0
        sure = gq.Labels(labels.nodes, labels.values, labels.classes, confidence=trust)
        rest = np.delete(np.arange(len(labels)), j)
        others = labels._at(rest, labels.classes)
        flip = 1 / (1 + np.exp(cost) / (K - 1))
        # the label's class has the probability r beforehand
        a = np.exp(class_evidence(prior, sure, noise, cost))
        b = np.exp(class_evidence(prior, others, noise, cost))
        r = (a / b - flip / (K - 1)) / (1 - flip - flip / (K - 1))
        right = 1 - labels.confidence[j]
        rate = flip * (1 - right) + right - flip * right / (K - 1)
        exact = 1 - (1 - rate) * r * b / whole
        for found in (post, quick):
            table = found.suspect_labels().set_index("node")
            assert abs(table.loc[node, "probability_mistake"] - exact) < 0.04
    assert not np.allclose(quick.suspect_labels()["probability_mistake"], 0)


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("model", MODELS[:2])
def test_gradients_are_those_of_the_potential(labels, model):
    bound = bind(model, labels, 40)
    u = np.random.default_rng(0).standard_normal((len(labels), bound.n_fields))
    slope = differentiate(bound, u)
    for at in np.ndindex(u.shape):
        step = np.zeros(u.shape)
        step[at] = 1e-5
        numeric = (evaluate(bound, u + step) - evaluate(bound, u - step)) / 2e-5
        assert slope[at] == pytest.approx(numeric, abs=1e-6)


def test_confidence_of_one_changes_nothing(prior):
    sure = gq.Labels(TWO.nodes, TWO.values, confidence=1.0)
    assert sure.confidence is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flips_of_a_likelihood_are_confidences_alike(prior, n_classes):
    labels = {2: TWO, 3: THREE}[n_classes]
    doubted = gq.Labels(labels.nodes, labels.values, labels.classes, confidence=0.8)
    flips = gq.NoisyProbit(0.3, 0.2)
    one = quietly(prior, gq.Probit(0.3), doubted, **OPTIONS)
    other = quietly(prior, flips, plain(labels), **OPTIONS)
    np.testing.assert_allclose(one.by_class, other.by_class, atol=1e-6)
    assert one.expects_mistakes
    assert other.expects_mistakes
    np.testing.assert_allclose(
        gq.approximate(prior, gq.Probit(0.3), doubted).by_class,
        gq.approximate(prior, flips, plain(labels)).by_class,
        atol=1e-8,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_slope_of_the_evidence_knows_confidences(prior, n_classes):
    labels = {2: TWO, 3: THREE}[n_classes]
    evidence = (SignEvidence if n_classes == 2 else PairwiseEvidence)(labels)
    for change in ({"gamma": 0.01}, {"flip_rate": 0.001}):
        at = {"gamma": 0.3, "flip_rate": 0.1}
        models = [
            gq.NoisyProbit(**{n: v + side * change.get(n, 0) for n, v in at.items()})
            for side in (-1, 0, 1)
        ]
        values = [evidence(prior, model) for model in models]
        gap = values[2] - values[2].correction - values[0] + values[0].correction
        tangent = evidence.near(prior, models[1], None).tangent
        ends = [tangent(prior, model.sign_model(n_classes)) for model in models]
        assert ends[2] - ends[0] == pytest.approx(gap, rel=0.02)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parameters_are_chosen_with_confidences(small, n_classes):
    spectrum, _, y = small
    values = y if n_classes == 2 else np.where(np.arange(y.size) % 7 == 0, 2, y)
    shown = gq.reveal(values, counts=6, seed=0)
    trust = np.random.default_rng(0).uniform(0.5, 1, len(shown))
    labels = gq.Labels(shown.nodes, shown.values, confidence=trust)
    found = gq.tune(spectrum, labels, gq.NoisyProbit)
    other = gq.tune(spectrum, shown, gq.NoisyProbit)
    assert abs(found.log_evidence - other.log_evidence) > 0.1


@pytest.mark.filterwarnings(POOR)
@pytest.mark.parametrize("labels", [TWO, THREE])
def test_confidences_are_saved(prior, labels, tmp_path):
    for post in (
        gq.approximate(prior, gq.Probit(0.3), labels),
        quietly(prior, gq.Probit(0.3), labels, draws=200, seed=0, progress=False),
    ):
        post.save(tmp_path / "post.nc")
        again = gq.load(tmp_path / "post.nc")
        np.testing.assert_array_equal(again.labels.confidence, labels.confidence)
        np.testing.assert_allclose(again.pred_probs(prior), post.pred_probs())


def test_what_does_not_support_confidences_says_what_does(prior):
    with pytest.raises(ValueError, match=r"take a sign model, gq.Probit"):
        gq.sample(prior, gq.GinzburgLandau(1.0, 0.5), TWO, progress=False)


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (0.0, r"node 2 must lie in \(0, 1\], got 0"),
        ([0.5, 1.5], r"node 1 must lie in \(0, 1\], got 1.5"),
        ([0.5, np.nan], r"node 1 must lie in \(0, 1\], got nan"),
        ([0.5], r"each of 2 labels, got shape \(1,\)"),
        (["high", "low"], "must be"),
    ],
)
def test_bad_confidences_are_refused(confidence, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gq.Labels([2, 1], ["a", "b"], confidence=confidence)


def test_parts_of_labels_keep_their_confidence():
    labels = gq.Labels(range(6), ["a", "b"] * 3, confidence=np.linspace(0.5, 1, 6))
    for part in labels.split(0.5, seed=0):
        np.testing.assert_allclose(part.confidence, 0.5 + part.nodes / 10)
    with pytest.raises(ValueError, match="labeled twice, with confidence"):
        gq.Labels([1, 1, 2], ["a", "a", "b"], confidence=[0.5, 0.6, 0.7])
