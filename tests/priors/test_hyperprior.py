"""The densities of hyperparameters: their shapes, on both scales."""

import math

import numpy as np
import pytest
from scipy import integrate

from graphuq.inference.parameter_ranges import value_at
from graphuq.priors.hyperprior import LINEAR, density_of, log_prior

RANGES = {"alpha": (1.0, 10.0), "level": (0.0, 3.0), "tau": (0.01, 1.0), "tau_2": (0.05, 1.0)}


def mean(density, low, high):
    p = lambda x: math.exp(density.log(x))  # noqa: E731
    mass = integrate.quad(p, low, high)[0]
    return integrate.quad(lambda x: x * p(x), low, high)[0] / mass


@pytest.mark.parametrize("n_classes", [2, 3])
def test_means_over_the_half_line_are_those_of_named_distributions(n_classes):
    of = {name: density_of(name, ends, n_classes) for name, ends in RANGES.items()}
    assert mean(of["alpha"], 0, np.inf) == pytest.approx(4)
    assert mean(of["level"], 0, np.inf) == pytest.approx(math.sqrt(2 / math.pi))
    for name, middle in (("tau", 0.1), ("tau_2", math.sqrt(0.05))):
        if n_classes == 3:
            assert mean(of[name], 0, np.inf) == pytest.approx(middle)
        else:  # as much mass in each half of the logarithmic range
            low, high = RANGES[name]
            p = lambda x, density=of[name]: math.exp(density.log(x))  # noqa: E731
            halves = [integrate.quad(p, *e)[0] for e in ((low, middle), (middle, high))]
            assert halves[0] == pytest.approx(halves[1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_density_that_is_maximized_is_that_of_the_scale_of_the_search(n_classes):
    """Differences of the log density along a scale, with Jacobians by finite differences."""
    for name, (low, high) in RANGES.items():
        on_log = name not in LINEAR or (name == "alpha" and n_classes == 3)
        scale = math.log if on_log else float
        density, step = density_of(name, (low, high), n_classes), 1e-6
        found = []
        for place in (0.3, 0.7):
            x = value_at(name, place, low, high)
            slope = 2 * step / (scale(x + step) - scale(x - step))
            found.append(density.log(x) + math.log(slope))
        ends = [value_at(name, place, low, high) for place in (0.3, 0.7)]
        logs = [log_prior({name: x}, RANGES, n_classes) for x in ends]
        assert logs[1] - logs[0] == pytest.approx(found[1] - found[0], abs=1e-6)
