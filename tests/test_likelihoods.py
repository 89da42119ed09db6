from __future__ import annotations

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from numba import njit

import graphuq as gq
from graphuq.likelihoods.contract import Observed, bind
from graphuq.likelihoods.probit import log_cdf, log_cdf_slope

BUILT_IN = [gq.Probit(0.1), gq.NoisyProbit(0.3, 0.1), gq.LevelSet(0.3), gq.GinzburgLandau(2.0, 0.5)]


@pytest.mark.parametrize("x", np.concatenate([np.linspace(-45, 9, 109), [-20.0, -1e-9, -1e4]]))
def test_log_cdf_and_its_slope_are_accurate_far_into_the_tail(x):
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        slope = mpmath.npdf(mpmath.mpf(x)) / (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        assert abs(log_cdf(x) / exact - 1) < 1e-12
        assert abs(log_cdf_slope(x) / slope - 1) < 1e-12


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
def test_parameters_must_be_positive(bad):
    for make in (
        lambda: gq.Probit(bad),
        lambda: gq.LevelSet(bad),
        lambda: gq.GinzburgLandau(bad, 1.0),
        lambda: gq.GinzburgLandau(1.0, bad),
    ):
        with pytest.raises(ValueError, match=r"gamma|epsilon"):
            make()


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
    with pytest.raises(TypeError, match="must leave the field alone"):
        gq.sample(gq.Prior.approximated(spectrum, 8), Halving(), labels)


@pytest.mark.parametrize(
    "pair", [(0.1, np.nan), (-0.1, 1.0), (np.nan, 1.0), (0.1, -1.0), (0.1,), "ab", (None, 1.0)]
)
def test_sign_models_that_are_none_are_refused(small, pair):
    @dataclass(frozen=True)
    class Signs:
        reads = "labelled"
        potential = staticmethod(_nothing)
        sign_model = pair

    spectrum, labels, _ = small
    with pytest.raises(TypeError, match=r"sign_model must be \(deviation"):
        gq.sample(gq.Prior.approximated(spectrum, 8), Signs(), labels)
