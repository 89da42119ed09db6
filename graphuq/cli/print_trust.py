"""How far a result can be trusted, as text, with the limits and the reasons of the report."""

from __future__ import annotations

from collections.abc import Sequence

from graphuq.cli.printing import print_paragraph
from graphuq.posterior.assessment.diagnostics import RAISE_DRAWS
from graphuq.posterior.assessment.trust import Trust

ANSWERS = {"green": "yes", "amber": "with care", "red": "NO"}


def print_trust(question: str, trust: Trust) -> None:
    """Print whether the computation can be trusted, the reasons, and the numbers behind them."""
    print_light(question, trust.light, trust.reasons)
    if any(RAISE_DRAWS in reason for reason in trust.reasons):
        print("  To raise draws, sample again with --draws.")
    for name, value, wanted, _ in trust.numbers:
        print_paragraph(f"{name}: {value} (wanted: {wanted})", "  ", hanging="    ")


def print_light(question: str, light: str, reasons: Sequence[str]) -> None:
    """Print an answer to the question, and its reasons."""
    print(f"{question}  {ANSWERS[light]} ({light})")
    for reason in reasons:
        print_paragraph(f"- {reason}", "  ", hanging="    ")
