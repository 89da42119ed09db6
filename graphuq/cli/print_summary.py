"""The summary of a run of ``graphuq sample`` as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from graphuq.cli.print_columns import format_columns
from graphuq.cli.print_trust import print_light, print_trust
from graphuq.cli.printing import describe_counts, join_names, print_paragraph, print_table
from graphuq.cli.result_folder import (
    DRAWS,
    GROUPS,
    NODES,
    PROBLEM,
    REPORT,
    RUN,
    SUSPECTS,
    UNCERTAIN,
)
from graphuq.cli.run_summary import RunSummary
from graphuq.labels.labels import RANDOM
from graphuq.posterior.assessment.class_shares import describe_shares
from graphuq.posterior.assessment.suspect_labels import FALSE_DISCOVERY_RATE
from graphuq.posterior.predictions import SURE
from graphuq.utils.words import choose_form, count

# How many shares in groups are listed.
N_SHARES = 30


def print_summary(run: RunSummary, *, replaced: bool) -> None:
    """Print the summary of a run as text; ``replaced`` says that its folder had a result before."""
    _print_input(run)
    _print_model(run)
    _print_trust(run)
    _print_predictions(run)
    _print_suspects(run)
    if run.label_next.size:
        print("\nLABEL NEXT")
        print_paragraph(
            "Most informative, non-redundant items, best first: " + join_names(run.label_next)
        )
    _print_files(run)
    if replaced:
        print(f"These replace the earlier result in {run.folder}/.")


def _print_input(run: RunSummary) -> None:
    print("INPUT")
    labels = describe_counts(run.labels)
    print_paragraph(
        f"{run.file}: {count(run.items, 'item')}, {sum(run.labels.values())} labeled: {labels}."
    )
    for line in format_columns(run.columns) if run.columns else ():
        print(line)
    for note in run.notes:
        print_paragraph(f"- {note}", "  ", hanging="    ")
    source = (
        "as given"
        if run.neighbors is None
        else f"which connect each item to its {count(run.neighbors, 'nearest neighbor')}"
    )
    print_paragraph(f"Graph: {count(run.edges, 'edge')}, {source}.")


def _print_model(run: RunSummary) -> None:
    from graphuq.report import glossary  # imports plots, which --help does not need

    print("\nMODEL")
    likelihood = run.settings["likelihood"]["name"]
    described = _describe_prior(run.settings["prior"])
    print_paragraph(f"Likelihood: {likelihood}. Prior: {described}.")
    if run.class_shares is not None and run.class_shares_strength is not None:
        shares = describe_shares(run.class_shares, run.class_shares_strength)
        print_paragraph(
            f"Shares of the classes: {shares} (given). Predictions and probabilities "
            "follow them; suspect labels, items to label next, variances and the parts of the "
            "entropy do not."
        )
    for name, value in run.parameters.items():
        origin = _explain_origin(run) if name in run.chosen else "given"
        if name == "weight" and glossary.COMPONENTS in _kinds(run.settings["prior"]):
            origin = "the default"  # no option gives the share of levels of components
        if name == "level" and name in run.chosen and run.sampling != RANDOM:
            origin = "the default: only labels drawn at random say how large classes are"
            if max(run.labels.values()) < 2:
                origin = "the default if no class has two labels"
        if name in run.at_edge:
            origin += "; at the edge of the search range: the labels say little about it, which "
            origin += "is no fault"
        print_paragraph(f"{name} = {value:.3g} ({origin})", "  ", hanging="    ")
        meaning = glossary.of_prior_parameter(name, run.settings["prior"])
        meaning = meaning or glossary.of_parameter(likelihood, name)
        if (likelihood, name) == ("LevelSet", "gamma"):
            wrong = expit(np.log(len(run.classes) - 1) - 2 / value**2)
            meaning += f" Here any label is wrong with probability {wrong:.1%}."
        print_paragraph(meaning, "    ")


def _describe_prior(prior: dict[str, Any]) -> str:
    """Return what the prior says of the classes."""
    from graphuq.report import glossary

    weight = prior.get("weights", [1.0])[0]
    alike = (
        "items of one component of the graph tend to have the same class"
        if glossary.COMPONENTS in _kinds(prior)
        else "items with similar features tend to have the same class"
    )
    if glossary.LINEAR in _kinds(prior):
        alike += ", or change along straight directions in the features"
    if prior["kind"] == glossary.COMPONENTS:
        return alike
    if weight == 0:
        return f"{alike}; the graph has weight 0"
    if prior.get("laplacian") == "signless":
        patterns = f"the {prior['rank']} patterns (modes) in which they differ most"
        return f"linked items tend to have different classes; it uses {patterns}"
    patterns = f"the {prior['rank']} smoothest patterns (modes)"
    if weight == 1:
        return f"classes vary smoothly over the graph; it uses {patterns}"
    return f"classes vary smoothly over the graph, by {patterns}, and {alike}"


def _kinds(prior: dict[str, Any]) -> set[str]:
    """Return the kinds of a prior and of the others in its sum."""
    return {part["kind"] for part in (prior, *prior.get("parts", ()))}


def _explain_origin(run: RunSummary) -> str:
    """Return which labels chose the parameters; an update may keep those of an earlier run."""
    n_labels = sum(run.labels.values())
    if run.n_tuned == n_labels:
        return "chosen from the labels"
    return f"chosen earlier, from {run.n_tuned} of the {n_labels} labels"


def _print_trust(run: RunSummary) -> None:
    print()
    print_trust("CAN THE SAMPLER BE TRUSTED?", run.trust)
    print_light("CAN THE MODEL BE TRUSTED?", run.model_trust.light, run.model_trust.reasons)
    if run.expected_calibration_error is not None:
        print_paragraph(
            f"Confidence differs from accuracy by {run.expected_calibration_error:.1%} on average "
            "(expected calibration error).",
            "  ",
        )
    elif not run.random_sample:
        print("  To measure the accuracy of the predictions, give true classes (--truth).")


def _print_predictions(run: RunSummary) -> None:
    print("\nPREDICTIONS")
    two = len(run.classes) == 2
    print_paragraph(
        f"{describe_counts(run.predicted)}. {run.unsure} of {count(run.items, 'item')} are unsure "
        f"(confidence below {SURE:.0%}); both counts include labeled items."
    )
    if run.estimated_shares is not None:
        _print_shares(run.estimated_shares, run)
    if run.at_base_rate.size:
        print_paragraph(
            f"{count(run.at_base_rate.size, 'item')} in components of the graph without a label, "
            f"such as {run.at_base_rate[0]}, have the base rate of the classes: label an item of "
            "each component. run.json lists them as at_base_rate."
        )
    if not run.most_uncertain:
        return
    order = "lowest confidence" if two else "largest entropy"
    print(f"The most uncertain items without a label, the {order} first:")
    (_print_uncertain_of_two if two else _print_uncertain_of_many)(run)


def _print_shares(shares: list[dict[Any, Any]], run: RunSummary) -> None:
    from graphuq.report import glossary  # imports plots, which --help does not need

    print_paragraph(f"Shares of the classes among all {count(run.items, 'item')}:")
    _print_share_table(shares, ["class"])
    print_paragraph(glossary.SAMPLING[run.sampling], "  ")
    if run.group_shares is not None:
        shown = run.group_shares[:N_SHARES]
        more = f", the first {N_SHARES} of {len(run.group_shares)}" * (run.group_shares != shown)
        print_paragraph(f"Shares of the classes in each group ({GROUPS}){more}:")
        _print_share_table(shown, ["group", "items", "class"])


def _print_share_table(rows: list[dict[Any, Any]], names: list[str]) -> None:
    """Print the columns ``names``, shares and intervals."""
    print_table(
        [*names, "share", "90% interval"],
        [
            [
                *(str(row[name]) for name in names),
                f"{row['share']:.1%}",
                f"{row['low']:.1%} to {row['high']:.1%}",
            ]
            for row in rows
        ],
        indent="  ",
    )


def _print_uncertain_of_two(run: RunSummary) -> None:
    print_table(
        ["id", "prediction", "confidence", "variance", "mcse"],
        [
            [str(row["id"]), str(row["prediction"]), f"{row['confidence']:.1%}",
             f"{row['variance']:.3f}", f"{row['mcse']:.3f}"]
            for row in run.most_uncertain
        ],
        indent="  ",
        beside=run.shown,
    )  # fmt: skip
    print_paragraph(
        "confidence: posterior probability of the prediction; variance: that of the class without "
        "the overlap of classes, 0 is certain, 1 is 50/50; mcse: standard deviation of the "
        "confidence over repeated runs.",
        "  ",
    )


def _print_uncertain_of_many(run: RunSummary) -> None:
    print_table(
        ["id", "prediction", "confidence", "runner-up", "probability", "entropy", "mcse"],
        [
            [str(row["id"]), str(row["prediction"]), f"{row['confidence']:.1%}",
             str(row["runner_up"]), f"{row['confidence'] - row['margin']:.1%}",
             f"{row['entropy']:.3f}", f"{row['mcse']:.3f}"]
            for row in run.most_uncertain
        ],
        indent="  ",
        beside=run.shown,
    )  # fmt: skip
    print_paragraph(
        "confidence: posterior probability of the prediction; runner-up: the second most probable "
        "class, followed by its probability; entropy: 0 is certain, "
        f"{np.log(len(run.classes)):.2f} is all classes equally likely; mcse: standard deviation "
        "of the confidence over repeated runs.",
        "  ",
    )


def _print_suspects(run: RunSummary) -> None:
    print("\nSUSPECT LABELS")
    n_labels = sum(run.labels.values())
    doubtful, name = run.most_doubtful, run.settings["likelihood"]["name"]
    if not doubtful["probability_mistake"] > 0:
        print_paragraph(
            f"{name} expects no mistakes among the {n_labels} labels, and no other model was "
            "asked: use --likelihood noisy-probit."
        )
        return
    if not run.suspects:
        print_paragraph(
            f"None of {n_labels} labels is suspect. The most doubtful label is that of item "
            f"{doubtful['id']}: it is a mistake with probability "
            f"{doubtful['probability_mistake']:.1%}."
        )
        return
    what = choose_form(run.n_suspects, "is", "are") + " suspect: probably "
    what += choose_form(run.n_suspects, "a mistake", "mistakes")
    first = f" These are the first {len(run.suspects)}:" * (run.n_suspects > len(run.suspects))
    print_paragraph(
        f"{run.n_suspects} of {n_labels} labels {what}. At most "
        f"{FALSE_DISCOVERY_RATE:.0%} of suspect labels are expected to be right.{first}"
    )
    print_table(
        ["id", "label", "probably", "mistake with probability"],
        [[str(row["id"]), str(row["label"]), str(row["likelier"]),
          f"{row['probability_mistake']:.1%}"]
         for row in run.suspects],
        indent="  ",
    )  # fmt: skip
    if name == "Probit":
        print_paragraph(
            "Under Probit the predictions follow labels that are mistakes: correct them with "
            "graphuq update, or use --likelihood noisy-probit."
        )


def _print_files(run: RunSummary) -> None:
    print(f"\nWRITTEN to {run.folder}/ in {run.seconds:.0f} s")
    columns = (
        "label, prediction, confidence, probability of "
        f"{run.classes[1]!r}, variance, mcse, rank (0 is the most uncertain item), and the parts "
        "of its entropy: total, aleatoric, epistemic"
        if len(run.classes) == 2
        else "label, prediction, confidence, runner_up, entropy, margin between prediction and "
        "runner-up, probability of each class, variance, mcse, rank (0 is the most uncertain "
        "item), and the parts of the entropy: total, aleatoric, epistemic"
    )
    for name, contents in (
        (NODES, f"one row per item, in the order of the file: {columns}"),
        (UNCERTAIN, "the items without a label, the most uncertain first"),
        (SUSPECTS, "the given labels, most doubtful first, and whether each is suspect"),
        *([(GROUPS, "the shares of the classes in each group")] if run.group_shares else []),
        (REPORT, "all of this with plots, for a browser"),
        (DRAWS, "all draws, for gq.load, arviz and graphuq report"),
        (PROBLEM, "the graph and the features, for graphuq suggest, update and predict"),
        (RUN, "settings, versions and seed, to reproduce the run"),
    ):
        print_paragraph(f"{name:<13}  {contents}", "  ", hanging=" " * 17)
