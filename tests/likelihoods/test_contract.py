from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import mpmath
import numpy as np
import pytest
from numba import njit
from references.problems import THREE
from scipy.special import log_softmax

import graphuq as gq
from graphuq.likelihoods.bound import bind, differentiate, evaluate
from graphuq.likelihoods.contract import Likelihood, Observed, adopt, has_sign_model
from graphuq.likelihoods.sign_model import SignModel

BUILT_IN = [gq.Probit(0.1), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(0.3), gq.GinzburgLandau(2.0, 0.5)]


def field_and_labels():
    labels = gq.Labels([1, 4, 6], ["no", "yes", "yes"])
    return np.random.default_rng(0).standard_normal(8), labels


def evaluated(likelihood, u, labels):
    bound = bind(likelihood, labels, u.size)
    field = u if bound.nodes is None else u[bound.nodes]
    return bound.potential(field[:, None].copy(), bound.observed)


def test_potentials_are_the_papers():
    u, labels = field_and_labels()
    y, at = labels.codes, u[labels.nodes]
    normal = [float(mpmath.ncdf(v)) for v in y * at / 0.4]
    assert np.isclose(evaluated(gq.Probit(0.4), u, labels), -np.log(normal).sum())
    sign = np.where(at >= 0, 1, -1)
    expected = ((y - sign) ** 2).sum() / (2 * 0.4**2)
    assert np.isclose(evaluated(gq.LevelSet(0.4), u, labels), expected)
    expected = ((u**2 - 1) ** 2).sum() / (4 * 3.0) + ((y - at) ** 2).sum() / (2 * 0.4**2)
    assert np.isclose(evaluated(gq.GinzburgLandau(3.0, 0.4), u, labels), expected)


def test_level_set_counts_zero_as_positive():
    labels = gq.Labels([0, 1], [-1, 1])
    assert evaluated(gq.LevelSet(1.0), np.zeros(2), labels) == 2.0


@pytest.mark.parametrize("likelihood", BUILT_IN, ids=repr)
def test_built_in_likelihoods_keep_the_contract(likelihood):
    for seed in range(5):
        gq.check_likelihood(likelihood, seed=seed)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize("likelihood", BUILT_IN, ids=repr)
def test_parameters_must_be_positive(likelihood, bad):
    for field in fields(likelihood):
        with pytest.raises(ValueError, match=field.name):
            replace(likelihood, **{field.name: bad})


def test_noise_has_the_limits_that_its_error_names():
    for make in (gq.Probit, lambda gamma: gq.NoisyProbit(gamma, 0.1)):
        for bad in (0, 1e-9, 2e5):
            with pytest.raises(ValueError, match=f"from 1e-08 to 100000, got {bad:g}; smaller"):
                make(bad)
        assert (make(1e-8).gamma, make(1e5).gamma) == (1e-8, 1e5)


@njit
def _square(u, seen):
    return (u**2).sum()


@njit
def _wrong_gradient(u, seen, out):
    out[:] = 2 * u
    out[2] += 0.5


@dataclass(frozen=True)
class WrongGradient:
    reads = "all"
    potential = staticmethod(_square)
    gradient = staticmethod(_wrong_gradient)


@pytest.mark.slow
def test_a_wrong_gradient_is_caught_with_node_and_numbers():
    with pytest.raises(ValueError, match=r"node 2: gradient .* central difference"):
        gq.check_likelihood(WrongGradient())


@dataclass(frozen=True)
class PlainPython:
    reads = "labelled"
    potential = staticmethod(lambda u, seen: 0.0)


@dataclass(frozen=True)
class BadReads:
    reads = "some"
    potential = staticmethod(_square)


@dataclass(frozen=True)
class TextParameter:
    name: str
    reads = "all"
    potential = staticmethod(_square)


@njit
def _one_argument(u):
    return 0.0


@dataclass(frozen=True)
class WrongArguments:
    reads = "all"
    potential = staticmethod(_one_argument)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (gq.Probit, "an instance"),
        ("probit", "a likelihood is a dataclass"),
        (PlainPython(), "numba.njit"),
        (BadReads(), "'labelled' or 'all'"),
        (TextParameter("x"), "must be a finite number"),
        (WrongArguments(), r"potential\(u, seen\).* must compile"),
    ],
    ids=str,
)
def test_bad_plugins_are_refused_with_a_type_error(plugin, message):
    with pytest.raises(TypeError, match=message):
        gq.check_likelihood(plugin)


def test_observed_rows_follow_what_is_read():
    labels = gq.Labels([2, 5], [0, 1])
    for likelihood, rows in ((gq.Probit(1.0), [0, 1]), (gq.GinzburgLandau(1.0, 1.0), [2, 5])):
        bound = bind(likelihood, labels, 7)
        assert isinstance(bound.observed, Observed)
        assert bound.observed.rows.tolist() == rows


@njit
def _halves(u, seen):
    u[seen.rows[0], 0] *= 0.5
    return 0.0


@njit
def _nothing(u, seen):
    return 0.0


@dataclass(frozen=True)
class Halving:
    reads = "labelled"
    potential = staticmethod(_halves)


def test_a_potential_that_rescales_the_field_is_caught(small):
    spectrum, labels, _ = small
    with pytest.raises(TypeError, match="must not change the field"):
        gq.sample(gq.Prior.approximated(spectrum, 8), Halving(), labels)


@pytest.mark.parametrize(
    "pair",
    [
        *[(0.1, np.nan), (-0.1, 1.0), (np.nan, 1.0), (0.1, -1.0), (0.1, 0.0), (1e-200, 1.0)],
        *[(0.1,), "ab", (None, 1.0), 0.1, np.array([0.1, 1.0]), (np.array([0.1]), 1.0)],
    ],
)
def test_invalid_sign_models_are_refused(small, pair):
    @dataclass(frozen=True)
    class Signs:
        reads = "labelled"
        potential = staticmethod(_nothing)

        def sign_model(self, n_classes=2):
            return pair

    spectrum, labels, _ = small
    with pytest.raises((TypeError, ValueError), match=r"sign_model must return SignModel\(noise, "):
        gq.sample(gq.Prior.approximated(spectrum, 8), Signs(), labels)


@dataclass(frozen=True)
class OverlappingField(Likelihood):
    potential = staticmethod(_nothing)
    label = "field"

    def overlap(self, n_classes=2):
        return 0.2


def test_only_labels_that_are_signs_may_overlap(small):
    spectrum, labels, _ = small
    with pytest.raises(ValueError, match=r"overlap must return 0 where label is 'field', got 0\.2"):
        gq.sample(gq.Prior.approximated(spectrum, 8), OverlappingField(), labels)


@dataclass(frozen=True, slots=True)
class Slotted:
    gamma: float
    reads = "labelled"
    potential = staticmethod(_nothing)


@dataclass(frozen=True)
class Inheriting(Likelihood):
    gamma: float
    potential = staticmethod(_nothing)


@pytest.mark.parametrize("kind", [Slotted, Inheriting])
def test_a_plain_dataclass_gets_the_defaults(kind):
    own = kind(0.3)
    likelihood = adopt(own)
    assert isinstance(likelihood, Likelihood)
    assert repr(likelihood) == repr(own)
    assert (likelihood.gradient, likelihood.label, likelihood.ranges) == (None, "sign", {})
    assert (likelihood.reads, likelihood.multiclass) == ("labelled", False)
    assert not has_sign_model(own)
    bound = bind(own, gq.Labels([2, 5], [0, 1]), 7)
    assert (bound.sign_model, bound.log_normalizer) == (None, None)
    assert bound.observed.parameters.tolist() == [0.3]


@dataclass(frozen=True)
class WithProperty:
    gamma: float
    reads = "labelled"
    potential = staticmethod(_nothing)

    @property
    def sign_model(self):
        return self.gamma, np.inf


def test_a_sign_model_that_is_not_a_method_is_refused():
    with pytest.raises(TypeError, match=r"WithProperty\.sign_model must be a method.*def sign_mod"):
        bind(WithProperty(0.3), gq.Labels([2, 5], [0, 1]), 7)


@dataclass(frozen=True)
class WithoutArgument(WithProperty):
    def sign_model(self):
        return self.gamma, np.inf


def test_a_sign_model_without_the_number_of_classes_is_refused():
    with pytest.raises(
        TypeError, match=r"WithoutArgument\.sign_model must be a method.*def sign_mod"
    ):
        bind(WithoutArgument(0.3), gq.Labels([2, 5], [0, 1]), 7)


@dataclass(frozen=True)
class SignsAlone(Likelihood):
    """Probit with flips, by its sign model alone."""

    gamma: float
    flip_rate: float
    multiclass = True
    ranges: ClassVar = {"gamma": (0.01, 1.0)}

    def sign_model(self, n_classes=2):
        return SignModel.flipping(self.gamma, self.flip_rate, n_classes)


@pytest.mark.filterwarnings("ignore:The chains disagree", "ignore:.*effective")  # 20 draws
@pytest.mark.parametrize("values", [[0, 1, 1], [0, 1, 2]])
def test_a_sign_model_alone_makes_a_likelihood(small, values):
    prior, labels = gq.Prior.projected(small[0], 8), gq.Labels([3, 17, 30], values)
    own, built_in = SignsAlone(0.3, 0.1), gq.NoisyProbit(0.3, 0.1)
    gq.check_likelihood(own)
    mine, theirs = (gq.approximate(prior, model, labels) for model in (own, built_in))
    assert np.array_equal(mine.by_class, theirs.by_class)
    for sampler in ("auto", gq.PCN(), gq.HilbertHMC()):
        a, b = (
            gq.sample(prior, model, labels, sampler, draws=20, seed=0, progress=False)
            for model in (own, built_in)
        )
        assert np.allclose(a.by_class, b.by_class, rtol=0, atol=1e-9)
        assert np.allclose(*(p.suspect_labels()["probability_mistake"] for p in (a, b)))
    found = gq.evidence(prior, own, labels, seed=0)
    assert found == pytest.approx(gq.evidence(prior, built_in, labels, seed=0))
    assert "gamma" in gq.tune(prior, labels, own, gamma=(0.1, 1.0)).chosen


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_probabilities_of_a_sign_model_are_those_of_its_channels(n_classes, noise):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((6, 1 if n_classes == 2 else n_classes))
    y = rng.integers(0, n_classes, 6)
    model = SignModel.flipping(noise, 0.2, n_classes)
    table = np.full((n_classes, n_classes), 0.2 / (n_classes - 1))
    np.fill_diagonal(table, 0.8)
    each = model.wins(u) @ table
    np.testing.assert_allclose(model.probability(u), each, rtol=1e-12)
    codes = 2 * y - 1 if n_classes == 2 else y
    of_labels = each[np.arange(6), y]
    np.testing.assert_allclose(np.exp(model.log_probability(u, codes)), of_labels, rtol=1e-7)
    # a second channel, that of labels which are right with some probability; 0.1 speaks against
    confidence = np.array([1.0, 0.9, 0.6, 0.5, 0.3, 0.1])
    both = model.with_confidence(confidence, n_classes)
    for j, c in enumerate(confidence):
        second = np.full((n_classes, n_classes), (1 - c) / (n_classes - 1))
        np.fill_diagonal(second, c)
        p = (each[j] @ second)[y[j]]
        assert np.exp(both.log_probability(u, codes))[j] == pytest.approx(p, rel=1e-7)
        assert both.flip_rate(n_classes)[j] == pytest.approx(1 - (table @ second)[0, 0], rel=1e-12)
    mistake = 1 - both.right(n_classes) * model.wins(u)[np.arange(6), y] / np.exp(
        both.log_probability(u, codes)
    )
    found = both.mistake(model.wins(u)[np.arange(6), y], n_classes)
    np.testing.assert_allclose(found, mistake, atol=1e-7)


@pytest.mark.parametrize("likelihood", BUILT_IN, ids=repr)
def test_built_in_likelihoods_support_any_number_of_classes(likelihood):
    assert likelihood.multiclass
    classes = np.array(["ant", "bee", "cat", "dog", "eel"])
    labels = gq.Labels([1, 4, 6, 7], classes[[0, 3, 3, 1]], classes=classes)
    bound = bind(likelihood, labels, 9)
    assert bound.n_fields == 5
    assert bound.observed.y.tolist() == [0, 3, 3, 1]
    u = np.random.default_rng(0).standard_normal((9 if bound.nodes is None else 4, 5))
    value = evaluate(bound, u)
    assert np.isfinite(value)
    # other names of the classes change nothing
    order = np.array([3, 0, 4, 1, 2])
    renamed = gq.Labels([1, 4, 6, 7], order[[0, 3, 3, 1]], classes=range(5))
    moved = np.empty_like(u)
    moved[:, order] = u
    again = bind(likelihood, renamed, 9)
    assert np.isclose(evaluate(again, moved), value, rtol=1e-12)
    if bound.gradient is not None:
        assert np.allclose(differentiate(again, moved)[:, order], differentiate(bound, u))


def test_bind_asks_for_the_sign_model_of_the_number_of_classes():
    labels = gq.Labels([0, 1, 2], [0, 1, 2])
    likelihood = gq.NoisyProbit(0.1, 0.05)
    assert bind(likelihood, labels, 3).sign_model == likelihood.sign_model(3)
    two = bind(likelihood, labels.of_classes(0, 1), 3)
    assert two.sign_model == likelihood.sign_model()
    assert two.sign_model[1] == pytest.approx(math.log(0.95 / 0.05))


@njit
def _softmax(u, seen):
    scale, total = seen.parameters[0], 0.0
    for j in range(seen.y.size):
        at = u[seen.rows[j]] / scale
        if at.size == 1:
            total += np.log1p(np.exp(-seen.y[j] * at[0]))
        else:
            total += np.log(np.exp(at).sum()) - at[int(seen.y[j])]
    return total


@njit
def _softmax_gradient(u, seen, out):
    scale = seen.parameters[0]
    out[:] = 0.0
    for j in range(seen.y.size):
        row, y = seen.rows[j], seen.y[j]
        at = u[row] / scale
        if at.size == 1:
            out[row, 0] = -y / scale / (1 + np.exp(y * at[0]))
        else:
            share = np.exp(at)
            out[row] = share / share.sum() / scale
            out[row, int(y)] -= 1 / scale


@njit
def _gradient_of_another_class(u, seen, out):
    _softmax_gradient(u, seen, out)
    if u.shape[1] > 1:
        out[3, 2] += 0.1


@dataclass(frozen=True)
class Softmax:
    scale: float
    reads: ClassVar[str] = "labelled"
    multiclass: ClassVar[bool] = True
    potential = staticmethod(_softmax)
    gradient = staticmethod(_softmax_gradient)


@dataclass(frozen=True)
class WrongOfThree(Softmax):
    gradient = staticmethod(_gradient_of_another_class)


@dataclass(frozen=True)
class OfTwo(WrongOfThree):
    multiclass: ClassVar[bool] = False


@pytest.mark.slow
def test_a_plugin_of_three_classes_keeps_the_contract():
    gq.check_likelihood(Softmax(0.5))
    bound = bind(Softmax(0.5), gq.Labels([1, 3, 4], ["x", "z", "y"]), 5)
    u = np.random.default_rng(0).standard_normal((3, 3))
    expected = -log_softmax(u / 0.5, axis=1)[np.arange(3), [0, 2, 1]].sum()
    assert np.isclose(evaluate(bound, u), expected)


def test_a_gradient_that_is_wrong_only_for_three_classes_is_caught():
    with pytest.raises(ValueError, match=r"node 3, class 2 of 3: gradient .* central difference"):
        gq.check_likelihood(WrongOfThree(0.5))


def test_a_plugin_supports_two_classes_by_default():
    gq.check_likelihood(OfTwo(0.5))
    with pytest.raises(ValueError, match="OfTwo supports two classes, and the labels have 3"):
        bind(OfTwo(0.5), gq.Labels([1, 3, 4], ["x", "z", "y"]), 5)


def test_a_likelihood_of_two_classes_is_refused(small):
    @dataclass(frozen=True)
    class Two:
        reads = "labelled"
        potential = staticmethod(gq.LevelSet.potential)

    with pytest.raises(ValueError, match="supports two classes, and the labels have 3"):
        gq.sample(gq.Prior.projected(small[0], 8), Two(), THREE)
