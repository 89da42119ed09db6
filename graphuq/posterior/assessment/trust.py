"""How far the numbers of a run can be trusted: green, amber or red, and why."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from graphuq.posterior.assessment.diagnostics import (
    ACCEPTANCE,
    ESS,
    R_HAT,
    RAISE_DRAWS,
    Diagnostics,
)
from graphuq.posterior.log_evidence import LogEvidence

# What Vehtari et al. 2021 ask for where results are published.
STRICT_R_HAT, STRICT_ESS = 1.01, 400

# What is wanted of a run, as the report and the command line say it.
R_HAT_WANTED = f"at most {STRICT_R_HAT}; above {R_HAT} is red"
ESS_WANTED = f"at least {STRICT_ESS}; below {ESS} is red"

# A larger correction says that the evidence is unreliable: `LogEvidence.correction`.
MAX_CORRECTION = 1.0


class Trust(NamedTuple):
    """A traffic light, what it means in words, its reasons, and the numbers behind it."""

    light: str
    verdict: str
    reasons: tuple[str, ...]
    numbers: tuple[tuple[str, str, str, str], ...]
    """Rows of name, value, value wanted and meaning."""

    def to_dict(self) -> dict[str, Any]:
        """Return the light, its meaning and its reasons, as files hold them."""
        return {"light": self.light, "verdict": self.verdict, "reasons": self.reasons}


# The effective sample size grows with the draws, up to chance.
SPARE = 1.25

VERDICTS = {
    "green": "the sampler can be trusted.",
    "amber": "usable, with care.",
    "red": "do not use these numbers.",
}


def trust_in_draws(found: Diagnostics, chains: int, draws: int, mcse: tuple[float, str]) -> Trust:
    """Return how far a sampled posterior can be trusted.

    Red if there are diagnostic messages, by the usual thresholds. Amber if there are none, but the
    run misses the stricter thresholds of Vehtari et al. 2021 or has a single chain.

    Parameters
    ----------
    found : Diagnostics
    chains, draws : int
        Chains, and draws of each.
    mcse : (float, str)
        The largest Monte Carlo error, and what it is an error of.
    """
    doubts = () if found.messages else _doubts(found, chains, draws)
    light = "red" if found.messages else "amber" if doubts else "green"
    praise = (
        f"The {chains} chains started far apart and agree (R-hat {found.r_hat:.3f}).",
        f"Their {chains * draws:,} draws are worth {found.ess:,.0f} independent ones.",
    )
    reasons = found.messages or doubts or praise
    return Trust(light, VERDICTS[light], reasons, _numbers(found, *mcse))


def _doubts(found: Diagnostics, chains: int, draws: int) -> tuple[str, ...]:
    """Return where the run misses the stricter thresholds."""
    doubts = []
    if found.r_hat > STRICT_R_HAT:
        doubts.append(
            f"The chains agree by the usual measure, but R-hat {found.r_hat:.3f} is above "
            f"{STRICT_R_HAT}, the limit for published results: {RAISE_DRAWS}."
        )
    if found.ess < STRICT_ESS:
        enough = 100 * math.ceil(SPARE * draws * STRICT_ESS / found.ess / 100)
        doubts.append(
            f"The draws are worth {found.ess:.0f} independent ones, enough for a first look; "
            f"published results need {STRICT_ESS}: {RAISE_DRAWS} to about {enough:,}."
        )
    if chains == 1:
        doubts.append("There is only one chain, and another might disagree: run four.")
    return tuple(doubts)


def _numbers(found: Diagnostics, mcse: float, target: str) -> tuple[tuple[str, str, str, str], ...]:
    return (
        (
            "R-hat",
            _number(found.r_hat, ".3f"),
            R_HAT_WANTED,
            "How much chains that started far apart still differ, for the worst of all monitored "
            "quantities; 1 means not at all.",
        ),
        (
            "effective sample size",
            _number(found.ess, ",.0f"),
            ESS_WANTED,
            "How many independent draws the draws of the worst quantity are worth.",
        ),
        (
            "Monte Carlo error",
            _number(mcse, ".3f"),
            "small compared to 1",
            f"Standard deviation of {target} over repeated runs, at the item where it is largest.",
        ),
        (
            "acceptance",
            f"{found.acceptance:.0%}",
            f"above {ACCEPTANCE:.0%}",
            "The share of the sampler's proposals that were accepted.",
        ),
        ("divergences", f"{found.divergences}", "none", "Numerical failures of the sampler."),
    )


def trust_in_approximation(evidence: LogEvidence) -> Trust:
    """Return how far a Gaussian approximation can be trusted.

    Nobody has measured its error: it is amber at best, and red if its correction is large.
    """
    reasons = [
        "Nothing was sampled: this is a Gaussian approximation, and its error is unknown. "
        "graphuq.sample draws from the exact posterior.",
    ]
    poor = abs(evidence.correction) > MAX_CORRECTION
    if poor:
        reasons.insert(
            0,
            f"The approximation is poor by its own measure: the correction of its log evidence is "
            f"{evidence.correction:.1f} and should be at most {MAX_CORRECTION:g}.",
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
                "higher than with other settings",
                "Log of the probability that prior and likelihood gave to the labels before they "
                "were seen.",
            ),
            (
                "its correction",
                f"{evidence.correction:.2f}",
                f"between -{MAX_CORRECTION:g} and {MAX_CORRECTION:g}",
                "The leading term that the approximation leaves out of the log evidence.",
            ),
        ),
    )


def _number(value: float, how: str) -> str:
    return format(value, how) if np.isfinite(value) else "too few draws to tell"
