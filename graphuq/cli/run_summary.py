"""The summary of a run of ``graphuq sample``, which is its ``run.json``."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

import graphuq as gq
from graphuq.cli.sample_steps import Answers, Data, Model, Source
from graphuq.labels.labels import RANDOM

if TYPE_CHECKING:
    from graphuq.posterior.assessment.estimated_shares import ClassShares
    from graphuq.report.subject import Subject

# How many uncertain items and suspect labels are listed.
N_UNCERTAIN, N_SUSPECTS = 10, 20

# Scores that are known only if the true classes are.
SCORES = ("accuracy", "expected_calibration_error", "brier")


def summarize_run(
    source: Source, data: Data, model: Model, subject: Subject, answers: Answers, folder: Path
) -> dict[str, Any]:
    """Return what a run read, which parameters it used, and what it found."""
    post: Any = subject.posterior
    predictions, items, labels = subject.predictions, data.items, data.labels
    *earlier, command = source.commands
    suspects = answers.suspects[answers.suspects["suspect"]]
    uncertain = answers.most_uncertain[:N_UNCERTAIN]
    no_shares = {"class_shares": None, "class_shares_strength": None}
    return {
        # what is needed to reproduce the run; earlier commands led to a result that was updated
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "graphuq": gq.__version__,
        "earlier": earlier,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba", "arviz")},
        },
        "file": source.file,
        "sha256": source.sha256,
        "seed": post.settings["seed_entropy"],
        # what was read
        "columns": [column._asdict() for column in items.columns],
        "notes": items.notes,
        "left_out": items.left_out,
        "items": post.n_nodes,
        "ids": items.ids,
        "truth": data.truth,
        "groups": items.groups,
        "edges": model.graph.n_edges,
        "neighbors": source.neighbors,
        "linked": items.linked,
        "classes": labels.classes.tolist(),
        "labels": count_classes(labels.values, labels),
        "sampling": labels.sampling,
        # the model: parameters without those of parts of weight 0
        "chosen": model.chosen,
        "at_edge": model.at_edge,
        "n_tuned": model.n_tuned,
        "parameters": _parameters(model, post.settings["likelihood"]),
        **(no_shares if data.shares is None else data.shares.settings()),
        "settings": post.settings,
        # how far it can be trusted
        "complete": post.draws.complete,
        "diagnostics": vars(post.diagnostics()),
        "trust": post.trust().to_dict(),
        "model_trust": subject.model_trust.to_dict(),
        # what was found
        "predicted": count_classes(predictions.prediction, labels),
        "estimated_shares": _to_records(subject.class_shares),
        "group_shares": _to_records(subject.group_shares),
        "mean_variance": post.mean_variance,
        "unsure": int(predictions.unsure.sum()),
        **_scores(subject),
        "most_uncertain": answers.nodes.iloc[uncertain].to_dict("records"),
        "shown": [] if subject.table is None else [subject.describe(node) for node in uncertain],
        "n_suspects": len(suspects),
        "suspects": suspects.head(N_SUSPECTS).to_dict("records"),
        "most_doubtful": answers.suspects.iloc[0].to_dict(),
        "label_next": subject.label_next,
        "at_base_rate": subject.at_base_rate,
        "folder": folder,
    }


def parameter_origins(run: Mapping[str, Any]) -> dict[str, str]:
    """Return where each parameter of a run, as summarized, comes from."""
    n_labels, prior = sum(run["labels"].values()), run["settings"]["prior"]
    kinds = {part["kind"] for part in (prior, *prior.get("parts", ()))}
    by_labels = "chosen from the labels"
    if run["n_tuned"] != n_labels:  # an update may keep those of an earlier run
        by_labels = f"chosen earlier, from {run['n_tuned']} of the {n_labels} labels"
    origins = {name: by_labels if name in run["chosen"] else "given" for name in run["parameters"]}
    if "components" in kinds and "weight" in origins:
        origins["weight"] = "the default"  # no option gives the share of levels of components
    if "level" in run["chosen"] and run["sampling"] != RANDOM:
        origins["level"] = (
            "the default if no class has two labels"
            if max(run["labels"].values()) < 2
            else "the default: only labels drawn at random say how large classes are"
        )
    for name in origins.keys() & {*run["at_edge"]}:
        origins[name] += (
            "; at the edge of the search range: the labels say little about it, which is no fault"
        )
    of_weights = dict.fromkeys(origins[name] for name in origins if name.startswith("weight"))
    if of_weights:  # the report lists all weights in one row
        origins["weights"] = " and ".join(of_weights)
    return origins


def count_classes(values: NDArray[Any], labels: gq.Labels) -> dict[str, int]:
    """Return how often each class occurs."""
    return {str(name): int((values == name).sum()) for name in labels.classes}


def _parameters(model: Model, likelihood: dict[str, Any]) -> dict[str, Any]:
    idle = model.prior.idle
    prior = {k: v for k, v in model.prior.parameters.items() if k not in idle and (k != "tau" or v)}
    return prior | {k: v for k, v in likelihood.items() if k != "name"}


def _to_records(shares: ClassShares | None) -> list[dict[Any, Any]] | None:
    return None if shares is None else shares.table().to_dict("records")


def _scores(subject: Subject) -> dict[str, Any]:
    """Return the scores of the predictions, if the true classes are known.

    ``random_sample`` says how many items were drawn at random, and how many of them have a certain
    label, which stands for the true class in the scores; None if none does.
    """
    score, sample = subject.calibration, subject.sample
    found: dict[str, Any] = {"random_sample": None}
    if score is None:
        return found
    if subject.truth is None and sample is not None:
        found = {"random_sample": {"drawn": len(subject.drawn), "labeled": len(sample)}}
    return {name: getattr(score, name) for name in SCORES} | found
