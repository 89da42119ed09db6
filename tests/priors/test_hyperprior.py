"""The densities of hyperparameters: their shapes, on both scales."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from graphuq.inference.parameter_ranges import value_at
from graphuq.priors.hyperprior import density_of, log_prior

RANGES = {
    "alpha": (1.0, 10.0),
    "level": (0.0, 3.0),
    "tau": (0.01, 1.0),
    "gamma_2": (0.05, 1.0),
    "weight": (0.0, 1.0),
}
SCALES = {"weight": special.logit, "level": float}  # of the density that is maximized; or log


def mean(density, low, high):
    p = lambda x: math.exp(density.log(x))  # noqa: E731
    mass = integrate.quad(p, low, high)[0]
    return integrate.quad(lambda x: x * p(x), low, high)[0] / mass


def median(density):
    p = lambda x: math.exp(density.log(x))  # noqa: E731
    mass = integrate.quad(p, 0, np.inf)[0]
    return optimize.brentq(lambda x: integrate.quad(p, 0, x)[0] - mass / 2, 1e-3, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_densities_are_those_of_named_distributions(n_classes):
    of = {name: density_of(name, n_classes, noisy=True) for name in RANGES}
    assert mean(of["alpha"], 0, np.inf) == pytest.approx(4)
    assert mean(of["level"], 0, np.inf) == pytest.approx(math.sqrt(2 / math.pi))
    assert mean(of["tau"], 0, np.inf) == pytest.approx(0.3)
    if n_classes == 2:
        assert median(of["gamma_2"]) == pytest.approx(stats.halfcauchy.median(scale=0.2))
    else:
        assert mean(of["gamma_2"], 0, np.inf) == pytest.approx(0.1)
    flat = density_of("gamma", n_classes, noisy=False)  # as much mass below 0.1 as above it
    p = lambda x: math.exp(flat.log(x))  # noqa: E731
    assert integrate.quad(p, 0.01, 0.1)[0] == pytest.approx(integrate.quad(p, 0.1, 1)[0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_density_that_is_maximized_is_that_of_its_scale(n_classes):
    """Differences of the log density along a scale, with Jacobians by finite differences."""
    for name, (low, high) in RANGES.items():
        scale = SCALES.get(name, math.log)
        density, step = density_of(name, n_classes, noisy=True), 1e-6
        found = []
        for place in (0.3, 0.7):
            x = value_at(name, place, low, high)
            slope = 2 * step / (scale(x + step) - scale(x - step))
            found.append(density.log(x) + math.log(slope))
        ends = [value_at(name, place, low, high) for place in (0.3, 0.7)]
        logs = [log_prior({name: x}, n_classes, noisy=True) for x in ends]
        assert logs[1] - logs[0] == pytest.approx(found[1] - found[0], abs=1e-6)


def test_a_weight_of_0_or_1_is_never_the_mode():
    at = [log_prior({"weight": w}, 2, noisy=True) for w in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert at == [*sorted(at[:2]), math.log(0.25), *sorted(at[3:], reverse=True)]
    assert at[0] == at[-1] == -math.inf
