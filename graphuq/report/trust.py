"""Whether the numbers of a run are to be trusted: green, amber or red, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphuq.approximation import ApproximatePosterior
from graphuq.diagnostics import ESS, R_HAT, diagnose
from graphuq.node_posterior import NodePosterior
from graphuq.posterior import Posterior

# What Vehtari et al. 2021 ask for where results are published.
STRICT_R_HAT, STRICT_ESS = 1.01, 400

# Above this the evidence says of itself not to rely on the next digit: `LogEvidence.correction`.
CORRECTION = 1.0


class Trust(NamedTuple):
    """A traffic light, what it means in words, its reasons, and the numbers behind it."""

    light: str
    verdict: str
    reasons: tuple[str, ...]
    numbers: tuple[tuple[str, str, str, str], ...]
    """Rows of name, value, value wanted and meaning."""


VERDICTS = {
    "green": "the sampler can be trusted.",
    "amber": "usable, with care.",
    "red": "do not use these numbers.",
}


def trust(posterior: NodePosterior) -> Trust:
    """Return how far a run can be trusted.

    Red, if `Posterior.diagnostics` has anything to say, after the usual thresholds. Amber, if
    nothing, but the run falls short of the stricter ones of Vehtari et al. 2021, or is of a single
    chain. An approximation, whose error nobody has measured, is amber at best.
    """
    if isinstance(posterior, ApproximatePosterior):
        return _of_approximation(posterior)
    assert isinstance(posterior, Posterior)
    found = diagnose(posterior)
    chains, draws = posterior.modes.shape[:2]
    doubts = []
    if not found.messages:
        if found.r_hat > STRICT_R_HAT:
            doubts.append(
                f"The chains agree by the usual measure, but R-hat {found.r_hat:.3f} is above "
                f"{STRICT_R_HAT}, which is asked for where results are published: raise draws."
            )
        if found.ess < STRICT_ESS:
            doubts.append(
                f"The draws are worth {found.ess:.0f} independent ones, enough for a first look; "
                f"{STRICT_ESS} are asked for where results are published: raise draws."
            )
        if chains == 1:
            doubts.append(
                "There is a single chain: another might have told another story. Run four."
            )
    light = "red" if found.messages else "amber" if doubts else "green"
    praise = (
        f"The {chains} chains, begun far apart, came to the same answer (R-hat {found.r_hat:.3f}).",
        f"Their {chains * draws:,} draws are worth {found.ess:,.0f} independent ones.",
    )
    return Trust(
        light,
        VERDICTS[light],
        tuple(found.messages or doubts or praise),
        (
            (
                "R-hat",
                _number(found.r_hat, ".3f"),
                f"{STRICT_R_HAT} at most; above {R_HAT} is red",
                "How much chains that began far apart still differ from each other, for the worst "
                "of all quantities that are watched; 1 is not at all.",
            ),
            (
                "effective sample size",
                _number(found.ess, ",.0f"),
                f"{STRICT_ESS} at least; below {ESS} is red",
                "How many independent draws the draws of the worst quantity are worth.",
            ),
            (
                "Monte Carlo error",
                _number(float(posterior.mcse.max()), ".3f"),
                "small beside 1",
                "By about so much another run would change "
                + (
                    "an item's expected label (from -1 to +1)"
                    if posterior.labels.classes.size == 2
                    else "the probability of a class (or, under Ginzburg-Landau, its field)"
                )
                + ", at the item where it would change most.",
            ),
            (
                "acceptance",
                f"{found.acceptance:.0%}",
                "above 1%",
                "The share of the sampler's proposals that were taken.",
            ),
            (
                "divergences",
                f"{found.divergences}",
                "0",
                "Numerical failures of the sampler.",
            ),
        ),
    )


def _of_approximation(posterior: ApproximatePosterior) -> Trust:
    evidence = posterior.log_evidence
    reasons = [
        "Nothing was sampled: this is a Gaussian approximation, whose error is not known. "
        "graphuq.sample draws from the exact posterior.",
    ]
    poor = abs(evidence.correction) > CORRECTION
    if poor:
        reasons.insert(
            0,
            f"The approximation itself says that it is poor: a correction of "
            f"{evidence.correction:.1f} to its log evidence, where at most {CORRECTION:g} is well.",
        )
    light = "red" if poor else "amber"
    return Trust(
        light,
        VERDICTS[light],
        tuple(reasons),
        (
            (
                "log evidence",
                f"{evidence:.2f}",
                "higher than that of other settings",
                "Log of the probability that prior and likelihood gave to the labels before they "
                "were seen.",
            ),
            (
                "its correction",
                f"{evidence.correction:.2f}",
                f"between -{CORRECTION:g} and {CORRECTION:g}",
                "How much the leading term that the approximation leaves out adds to it.",
            ),
        ),
    )


def _number(value: float, how: str) -> str:
    return format(value, how) if np.isfinite(value) else "too few draws to tell"
