"""What ``graphuq sample`` found, in plain words; every number is explained where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from graphuq.cli.output import paragraph, table
from graphuq.diagnostics import ESS, R_HAT

BORDER = "how blurred the border between the classes is: at 0.1 little, at 1 much"
MEANING = {
    "alpha": "how smoothly classes vary over the graph: 1 is rough (the paper's), 4 smooth",
    "tau": "how soon items far apart on the graph cease to tell of each other: 0 is never",
    "flip_rate": "share of labels that are wrong, wherever they are",
}

# What stands in nodes.csv.
TWO = (
    "nodes.csv     a row for each item: its label if given, prediction, confidence, variance,",
    "              mcse; rank: 0 is the most uncertain item; probability: that it is",
)
MANY = (
    "nodes.csv     a row for each item: its label if given, prediction, confidence, runner_up,",
    "              entropy (0: certain), margin of the prediction over the runner-up, each",
    "              class's probability, variance, mcse; rank: 0 is the most uncertain item",
)

# Labels are called suspect from this probability of being wrong.
SUSPECT = 0.1


def print_summary(result: Mapping[str, Any]) -> None:
    """Print the summary of a run."""
    _what_was_read(result)
    _what_was_chosen(result)
    _trust(result)
    _predictions(result)
    _suspects(result)
    if len(result["label_next"]):
        print("\nTO LABEL NEXT")
        paragraph(
            "Their labels are expected to tell most, each what the others do not, best first: "
            + ", ".join(result["label_next"])
        )
    print(f"\nWRITTEN to {result['folder']}/ in {result['seconds']:.0f} s")
    classes = result["classes"]
    columns = (
        MANY if len(classes) > 2 else (*TWO, f"              {classes[1]!r} and not {classes[0]!r}")
    )
    for text in (
        *columns,
        "suspects.csv  the given labels, most suspect first",
        "report.html   all of this with plots, for others: open it in a browser",
        "posterior.nc  all draws, for gq.load and arviz; graphuq info reads it",
        "run.json      settings, versions and the seed, to do the same again",
    ):
        print(f"  {text}")


def _what_was_read(result: Mapping[str, Any]) -> None:
    print("WHAT WAS READ")
    labels = ", ".join(f"{count} x {name}" for name, count in result["labels"].items())
    paragraph(f"{result['file']}: {result['items']} items, of which labelled: {labels}.")
    for note in result["notes"]:
        paragraph(f"- {note}", "  ")
    joined = "as given" if result["neighbors"] is None else (
        f"each item joined to its {result['neighbors']} nearest"
    )  # fmt: skip
    paragraph(f"Graph: {result['edges']} edges, {joined}.")


def _what_was_chosen(result: Mapping[str, Any]) -> None:
    print("\nMODEL")
    settings = result["settings"]
    paragraph(
        f"Likelihood of the labels: {settings['likelihood']['name']}. Prior: classes vary smoothly "
        f"over the graph, by its {settings['prior']['rank']} smoothest patterns (modes)."
    )
    meaning = {**MEANING, "gamma": BORDER}
    if settings["likelihood"]["name"] == "LevelSet":
        others = len(result["classes"]) - 1
        wrong = expit(np.log(others) - 2 / result["parameters"]["gamma"] ** 2)
        meaning["gamma"] = f"label noise; any label may be wrong, with probability {wrong:.1%}"
    for name, value in result["parameters"].items():
        how = "the labels chose it" if name in result["chosen"] else "as you said"
        if name in result["at_edge"]:
            how += ", at an end of what was tried: they say little of it"
        print(f"  {name} = {value:.3g}: {meaning[name]}\n    ({how})")


def _trust(result: Mapping[str, Any]) -> None:
    health = result["diagnostics"]
    print("\nIS THE SAMPLER TO BE TRUSTED?  " + ("NO" if health["messages"] else "Yes"))
    settings = result["settings"]
    total = settings["chains"] * settings["draws"]
    for message in health["messages"]:
        paragraph(f"- {message}", "  ")
    print(f"  R-hat {health['r_hat']:.3f}: chains that agree are below {R_HAT}")
    print(
        f"  ESS {health['ess']:.0f}: independent draws that {total} draws are worth; above {ESS} "
        "will do"
    )
    print("IS THE MODEL TO BE TRUSTED?")
    right, n = result["leave_one_out_right"], sum(result["labels"].values())
    if right is not None:
        print(f"  {right} of {n} labels are guessed right from the other labels alone")
    if "accuracy" in result:
        print(
            f"  {result['accuracy']:.1%} of unlabelled items are predicted right (--truth); their "
            f"confidence is off by\n  {result['expected_calibration_error']:.1%} on average "
            "(expected calibration error)"
        )
    else:
        word = "That" if right is None else "More"
        print(f"  {word} cannot be said without true classes (--truth).")


def _predictions(result: Mapping[str, Any]) -> None:
    print("\nPREDICTIONS")
    counts = ", ".join(f"{count} x {name}" for name, count in result["predicted"].items())
    classes = result["classes"]
    also = "variance above 1/2, " if len(classes) == 2 else ""
    paragraph(
        f"{counts}. {result['unsure']} of {result['items']} items are unsure ({also}confidence "
        "below 85%)."
    )
    rows = result["most_uncertain"]
    if not rows:
        return
    print("The most uncertain items without a label:")
    if len(classes) > 2:
        table(
            ["id", "prediction", "confidence", "or else", "probability", "entropy", "mcse"],
            [
                [str(row["id"]), str(row["prediction"]), f"{row['confidence']:.1%}",
                 str(row["runner_up"]), f"{row['confidence'] - row['margin']:.1%}",
                 f"{row['entropy']:.3f}", f"{row['mcse']:.3f}"]
                for row in rows
            ],
            indent="  ",
        )  # fmt: skip
        paragraph(
            "confidence: posterior probability of the prediction; or else: the runner-up, and its "
            f"probability; entropy: 0 is certain, {np.log(len(classes)):.2f} all classes alike; "
            "mcse: how much the confidence would differ in another run",
            "  ",
        )
        return
    table(
        ["id", "prediction", "confidence", "variance", "mcse"],
        [
            [str(row["id"]), str(row["prediction"]), f"{row['confidence']:.1%}",
             f"{row['variance']:.3f}", f"{row['mcse']:.3f}"]
            for row in rows
        ],
        indent="  ",
    )  # fmt: skip
    paragraph(
        "confidence: posterior probability of the prediction; variance: 0 is certain, 1 a coin's "
        "toss; mcse: how much another run would differ, on a scale from -1 (surely "
        f"{classes[0]}) to 1 (surely {classes[1]})",
        "  ",
    )


def _suspects(result: Mapping[str, Any]) -> None:
    print("\nSUSPECT LABELS")
    suspects = [row for row in result["suspects"] if row["probability_wrong"] >= SUSPECT]
    if suspects:
        table(
            ["id", "label", "probability wrong"],
            [[str(row["id"]), str(row["label"]), f"{row['probability_wrong']:.1%}"]
             for row in suspects],
            indent="  ",
        )  # fmt: skip
    else:
        most = result["suspects"][0]
        print(
            f"None: the most suspect, of {most['id']}, is wrong with probability "
            f"{most['probability_wrong']:.1%}."
        )
    if result["settings"]["likelihood"]["name"] == "Probit":
        print("Probit doubts labels only where classes meet; --likelihood noisy-probit doubts any.")
