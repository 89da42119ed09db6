"""The settings that the Hamiltonian samplers share, `HilbertHMC` and `PreconditionedHMC`."""

from __future__ import annotations

import math

from graphuq.utils import validation


def check_settings(
    step_size: float | None, target_acceptance: float, path: float, thin: int
) -> None:
    """Refuse settings outside their range; a ``step_size`` of None is adapted."""
    if step_size is not None and not 0 < validation.real("step_size", step_size) <= math.pi / 2:
        raise ValueError(f"step_size must lie in (0, pi/2], got {step_size}")
    if not 0 < validation.real("target_acceptance", target_acceptance) < 1:
        raise ValueError(f"target_acceptance must lie in (0, 1), got {target_acceptance}")
    validation.positive("path", path)
    validation.integer("thin", thin, 1)
