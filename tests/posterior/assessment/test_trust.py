"""How far the numbers of a run can be trusted."""

from __future__ import annotations

import pytest

import graphuq as gq
from graphuq.posterior.assessment.trust import MAX_CORRECTION, trust_in_approximation


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_large_correction_is_red_whatever_its_sign(sign):
    def trust(correction):
        method = "expectation propagation"
        return trust_in_approximation(gq.LogEvidence(-9.0, method, correction=correction))

    assert trust(sign * MAX_CORRECTION).light == "amber"
    poor = trust(sign * (MAX_CORRECTION + 0.5))
    assert poor.light == "red"
    assert f"is {sign * 1.5:.1f} and should be" in poor.reasons[0]
