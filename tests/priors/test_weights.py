"""Weights of a sum as fractions, and back."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from graphuq.priors.sum_prior import fractions_of, weights_of

FRACTIONS = st.lists(st.floats(0, 1, allow_subnormal=False), max_size=5)


@given(FRACTIONS)
def test_weights_come_back_to_the_last_digit(fractions):
    """The draws of a chain depend on it: a code or a folder that holds weights gives the same."""
    weights = weights_of(fractions)
    np.testing.assert_array_equal(weights_of(fractions_of(weights, weights.size)), weights)


WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.floats(1e-300, 1e300)), min_size=1, max_size=6
).filter(any)


@given(WEIGHTS)
@example([1.0, 1e-17, 1e-17])  # whose sum is 1, and the first leaves nothing
def test_weights_are_scaled_and_zeros_stay(weights):
    scaled = weights_of(fractions_of(weights, len(weights)))
    np.testing.assert_allclose(scaled, np.array(weights) / sum(weights), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(scaled[np.array(weights) == 0], 0)
