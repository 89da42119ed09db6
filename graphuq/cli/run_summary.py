"""The summary of a run of ``graphuq sample`` and its ``run.json``."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import graphuq as gq
from graphuq.cli.files.columns import Column
from graphuq.cli.printing import to_json
from graphuq.cli.sample_steps import Answers, Data, Model, Source

if TYPE_CHECKING:
    from graphuq.posterior.assessment.diagnostics import Diagnostics
    from graphuq.posterior.assessment.estimated_shares import ClassShares
    from graphuq.posterior.assessment.model_trust import ModelTrust
    from graphuq.posterior.assessment.trust import Trust
    from graphuq.report.subject import Subject

# How many uncertain items and suspect labels are listed.
N_UNCERTAIN, N_SUSPECTS = 10, 20

# Scores that are known only if the true classes are.
SCORES = ("accuracy", "expected_calibration_error", "brier")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSummary:
    """What a run read, which parameters it used, and what it found.

    The fields are the keys of ``run.json``, in the same order.

    Attributes
    ----------
    command, created, graphuq : str
        The command line, the time in UTC, and the version of graphuq.
    earlier : tuple of str
        The command lines that led to the result that was updated.
    versions : dict of str to str
        Versions of Python and of the packages.
    file : Path
    sha256 : dict of str to str
        Checksums of the files that were read.
    seed : int
    columns : tuple of Column
    notes, left_out : tuple of str
        See `graphuq.cli.files.Items`.
    items, edges : int
        Numbers of nodes and edges of the graph.
    ids : ndarray of str, shape (N,)
    truth, groups : ndarray of str, shape (N,), or None
    neighbors : int or None
        Neighbors of each item; None if the file is a graph.
    classes : list of str
    labels, predicted : dict of str to int
        How many items are labeled, and predicted, as each class.
    chosen : dict of str to float
        Parameters that were chosen from the labels.
    at_edge : list of str
        Those of them that lie at the edge of the search range.
    n_tuned : int
        Number of labels that chose them; 0 if all parameters were given.
    parameters : dict of str to float
        Parameters of the prior and the likelihood, chosen or given; without those of a part of
        the prior whose weight is 0.
    class_shares : dict of str to float, or None
        The given shares of the classes.
    class_shares_strength : float or None
        The number of items that they are worth; null in ``run.json`` for exact shares.
    settings : dict
        Settings of the posterior.
    complete : bool
        False after an interruption.
    diagnostics : Diagnostics
    trust : Trust
        The light of the report for the sampler, and its reasons.
    model_trust : ModelTrust
        That for the model.
    estimated_shares : list of dict, or None
        Share of each class among all items, with the low and high end of its 90% interval; None
        if shares are given.
    group_shares : list of dict, or None
        Those in each group: rows of groups.csv.
    mean_variance : float
    unsure : int
        Number of unsure items.
    accuracy, expected_calibration_error, brier : float or None
        Scores on the unlabeled items, or on a random sample; None, and not in ``run.json``, without
        true classes.
    random_sample : dict of str to int, or None
        How many items were drawn at random, and how many of them have a certain label, which
        stands for the true class in the scores; None if none does.
    most_uncertain : list of dict
        Rows of nodes.csv.
    shown : list of str
        What the file says of these items.
    n_suspects : int
        Number of suspect labels.
    suspects : list of dict
        Rows of suspects.csv: the first suspect labels.
    most_doubtful : dict
        The first row of suspects.csv.
    label_next : ndarray of str
        Ids of the most informative items.
    at_base_rate : ndarray of str
        Ids of the items in components of the graph without a label.
    folder : Path
    seconds : float
    """

    command: str
    created: str
    graphuq: str
    earlier: tuple[str, ...]
    versions: dict[str, str]
    file: Path
    sha256: dict[str, str]
    seed: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]
    items: int
    ids: NDArray[Any]
    truth: NDArray[Any] | None
    groups: NDArray[Any] | None
    edges: int
    neighbors: int | None
    classes: list[str]
    labels: dict[str, int]
    sampling: str
    chosen: dict[str, float]
    at_edge: list[str]
    n_tuned: int
    parameters: dict[str, Any]
    class_shares: dict[str, float] | None
    class_shares_strength: float | None
    settings: dict[str, Any]
    complete: bool
    diagnostics: Diagnostics
    trust: Trust
    model_trust: ModelTrust
    predicted: dict[str, int]
    estimated_shares: list[dict[Any, Any]] | None
    group_shares: list[dict[Any, Any]] | None
    mean_variance: float
    unsure: int
    accuracy: float | None = None
    expected_calibration_error: float | None = None
    brier: float | None = None
    random_sample: dict[str, int] | None = None
    most_uncertain: list[dict[Any, Any]]
    shown: list[str]
    n_suspects: int
    suspects: list[dict[Any, Any]]
    most_doubtful: dict[Any, Any]
    label_next: NDArray[Any]
    at_base_rate: NDArray[Any]
    folder: Path
    seconds: float

    def to_json(self) -> str:
        """Return the contents of ``run.json``."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["diagnostics"] = vars(self.diagnostics)
        values["columns"] = [column._asdict() for column in self.columns]
        values["trust"] = self.trust.to_dict()
        values["model_trust"] = self.model_trust.to_dict()
        if self.accuracy is None:
            for name in SCORES:
                del values[name]
        return to_json(values)


def summarize_run(
    source: Source,
    data: Data,
    model: Model,
    subject: Subject,
    answers: Answers,
    folder: Path,
    seconds: float,
) -> RunSummary:
    """Collect the summary of the run."""
    post: Any = subject.posterior
    predictions = subject.predictions
    no_shares = {"class_shares": None, "class_shares_strength": None}
    items, labels = data.items, data.labels
    likelihood = {k: v for k, v in post.settings["likelihood"].items() if k != "name"}
    suspects = answers.suspects[answers.suspects["suspect"]]
    uncertain = answers.most_uncertain[:N_UNCERTAIN]
    idle = model.prior.idle
    prior = {k: v for k, v in model.prior.parameters.items() if k not in idle and (k != "tau" or v)}
    return RunSummary(
        **_origin(source),
        file=source.file,
        seed=post.settings["seed_entropy"],
        columns=items.columns,
        notes=items.notes,
        left_out=items.left_out,
        items=post.n_nodes,
        ids=items.ids,
        truth=data.truth,
        groups=items.groups,
        edges=model.graph.n_edges,
        neighbors=source.neighbors,
        classes=labels.classes.tolist(),
        labels=_count_classes(labels.values, labels),
        sampling=labels.sampling,
        chosen=model.chosen,
        at_edge=model.at_edge,
        n_tuned=model.n_tuned,
        parameters={**prior, **likelihood},
        **(no_shares if data.shares is None else data.shares.settings()),
        settings=post.settings,
        complete=post.draws.complete,
        diagnostics=post.diagnostics(),
        trust=post.trust(),
        model_trust=subject.model_trust,
        predicted=_count_classes(predictions.prediction, labels),
        estimated_shares=_to_records(subject.class_shares),
        group_shares=_to_records(subject.group_shares),
        mean_variance=post.mean_variance,
        unsure=int(predictions.unsure.sum()),
        **_scores(subject),
        most_uncertain=answers.nodes.iloc[uncertain].to_dict("records"),
        shown=[] if subject.table is None else [subject.describe(node) for node in uncertain],
        n_suspects=len(suspects),
        suspects=suspects.head(N_SUSPECTS).to_dict("records"),
        most_doubtful=answers.suspects.iloc[0].to_dict(),
        label_next=items.ids[answers.label_next],
        at_base_rate=items.ids[_without_label(model, labels)],
        folder=folder,
        seconds=seconds,
    )


def _count_classes(values: NDArray[Any], labels: gq.Labels) -> dict[str, int]:
    return {str(name): int((values == name).sum()) for name in labels.classes}


def _to_records(shares: ClassShares | None) -> list[dict[Any, Any]] | None:
    return None if shares is None else shares.table().to_dict("records")


def _without_label(model: Model, labels: gq.Labels) -> NDArray[np.bool_]:
    """Return which items have no label in their component, if nothing else relates items."""
    component = model.prior.component
    if component is None:
        return np.zeros(model.graph.n_nodes, dtype=bool)
    return ~np.isin(component, component[labels.nodes])


def _scores(subject: Subject) -> dict[str, Any]:
    """Return the scores of the predictions, if the true classes are known."""
    score, sample = subject.calibration, subject.sample
    if score is None:
        return {}
    found = {name: getattr(score, name) for name in SCORES}
    if subject.truth is None and sample is not None:
        found["random_sample"] = {"drawn": len(subject.drawn), "labeled": len(sample)}
    return found


def _origin(source: Source) -> dict[str, Any]:
    """Return what is needed to reproduce the run."""
    *earlier, command = source.commands
    return {
        "command": command,
        "earlier": tuple(earlier),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "graphuq": gq.__version__,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba", "arviz")},
        },
        "sha256": source.sha256,
    }
