"""Tasks for Label Studio, and the labels in its export, as its plain JSON files.

A task has the item's data, and one prediction with its class and probability. Three keys are added
to the data: ``graphuq_node``, by which labels are read again, ``graphuq_score``, by which the Data
Manager can order the tasks, and ``graphuq_name`` where nodes have names. The forms are in Label
Studio's documentation, "Import pre-annotations" and "Task format".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphuq.labels.class_values import as_given
from graphuq.labels.labels import Labels
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import most_probable
from graphuq.utils import validation
from graphuq.utils.atomic_files import write_atomically
from graphuq.utils.version import __version__
from graphuq.utils.words import list_names

if TYPE_CHECKING:
    import pandas as pd

# The types of results that hold a class.
KINDS = ("choices", "taxonomy", "rating")

__all__ = ["read", "read_annotations", "write"]

# Keys of a task's data.
NODE, SCORE, NAME = "graphuq_node", "graphuq_score", "graphuq_name"


def write(
    path: Any,
    post: Posterior,
    data: Any,
    k: int,
    *,
    from_name: str = "label",
    to_name: str = "text",
    method: str = "bald",
    prior: Any = None,
    candidates: int = 300,
    seed: validation.Seed = 0,
) -> None:
    """Write the nodes to label next as tasks of Label Studio, best first.

    Each task has a prediction, which Label Studio shows to the annotator: the most probable class,
    with its probability as ``score``. ``graphuq_score`` in the data is the score of
    `Posterior.suggest`.

    Parameters
    ----------
    path : path-like
        A JSON file to import. An existing one is replaced.
    post : Posterior
    data : DataFrame, or sequence of mappings, of length N
        What the labeling interface shows of each node, such as ``{"text": ...}``.
    k : int
        Number of tasks.
    from_name, to_name : str
        ``name`` and ``toName`` of the tag Choices in the labeling interface. The values of its
        choices are the classes, as texts.
    method, prior, candidates, seed
        See `Posterior.suggest`.

    Raises
    ------
    ValueError, TypeError
        Not one row of data for each node; values that JSON does not have.

    Examples
    --------
    >>> import json
    >>> import tempfile
    >>> import graphuq as gq
    >>> graph, clubs = gq.datasets.karate()
    >>> post = gq.approximate(graph, gq.Probit(0.1), gq.Labels([0, 33], clubs[[0, 33]]))
    >>> data = [{"text": f"Member {i}"} for i in range(34)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gq.label_studio.write(f"{folder}/tasks.json", post, data, k=5)
    ...     with open(f"{folder}/tasks.json") as file:
    ...         tasks = json.load(file)
    >>> len(tasks), sorted(tasks[0]["data"]), tasks[0]["predictions"][0]["result"][0]["type"]
    (5, ['graphuq_node', 'graphuq_score', 'text'], 'choices')
    """
    if not isinstance(post, Posterior):
        raise TypeError(f"post must be a posterior of graphuq, got {type(post).__name__}")
    path = validation.file_path("path", path)
    _check_tag("from_name", from_name)
    _check_tag("to_name", to_name)
    rows = _check_rows(data, post.n_nodes)
    nodes, scores = post.suggest(
        k, method, prior=prior, candidates=candidates, seed=seed, return_scores=True
    )
    best = most_probable(post.by_class)
    tasks = []
    for node, score in zip(nodes.tolist(), scores.tolist(), strict=True):
        own: dict[str, Any] = {NODE: node, SCORE: score}
        if post.names is not None:
            own[NAME] = str(post.names[node])
        result = {
            "id": f"graphuq-{node}",
            "type": "choices",
            "from_name": from_name,
            "to_name": to_name,
            "value": {"choices": [str(post.labels.classes[best[node]])]},
        }
        prediction = {
            "model_version": f"graphuq {__version__}",
            "score": min(float(post.by_class[node, best[node]]), 1.0),
            "result": [result],
        }
        row = {name: _plain(node, name, value) for name, value in rows[node].items()}
        tasks.append({"data": row | own, "predictions": [prediction]})
    with write_atomically(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(tasks, file, ensure_ascii=False, allow_nan=False, indent=1)


def read(export: Any, classes: Any = None, *, from_name: str = "label") -> Labels:
    """Return the labels in an export of Label Studio.

    Skipped tasks, and annotations without a choice, have no label. Annotators who agree give one
    label; where an annotation is marked as the ground truth, others do not count. Choices may be
    those of the tags Choices, Taxonomy or Rating; the class is the last part of nested ones.

    Parameters
    ----------
    export : path-like
        A file in the export format JSON, with tasks that `write` wrote.
    classes : array_like, optional
        All classes, such as ``post.labels.classes``; the choices are their texts. By default the
        classes are the choices, as texts.
    from_name : str
        ``name`` of the tag in the labeling interface.

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        Another export format; tasks of another project; annotators who disagree, whose labels
        `read_annotations` returns; choices that are none of ``classes``.

    Examples
    --------
    >>> import json
    >>> import graphuq as gq
    >>> import tempfile
    >>> def task(node, *choices):
    ...     result = [{"from_name": "label", "to_name": "text", "type": "choices",
    ...                "value": {"choices": list(choices)}}]
    ...     return {"id": node + 1, "data": {"text": "...", "graphuq_node": node},
    ...             "annotations": [{"completed_by": 1, "was_cancelled": False, "result": result}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/export.json", "w") as file:
    ...         json.dump([task(7, "cat"), task(2, "dog")], file)
    ...     gq.label_studio.read(f"{folder}/export.json")
    Labels(2 nodes: 1 x 'cat', 1 x 'dog')
    """
    found = read_annotations(export, classes, from_name=from_name)
    if found.empty:
        raise ValueError(
            f"{export} has no annotation that chose a class: label at least one task of each of "
            "two classes"
        )
    distinct = found.drop_duplicates(["node", "label"])
    clash = distinct[distinct.duplicated("node", keep=False)]
    if len(clash):
        node = clash["node"].iloc[0]
        answers = " and ".join(
            f"{label!r} by {annotator!r}"
            for _, annotator, label in clash[clash["node"] == node].itertuples(index=False)
        )
        raise ValueError(
            f"annotators disagree on node {node}: {answers}; correct the task, or combine what "
            "gq.label_studio.read_annotations returns"
        )
    once = found.drop_duplicates("node")
    return Labels(once["node"].to_numpy(), once["label"].tolist(), classes)


def read_annotations(export: Any, classes: Any = None, *, from_name: str = "label") -> pd.DataFrame:
    """Return all annotations in an export of Label Studio, one in a row.

    Parameters
    ----------
    export, classes, from_name
        See `read`.

    Returns
    -------
    pandas.DataFrame
        With columns ``node``; ``annotator``, the id in ``completed_by``, or None; and ``label``.
        Its table of nodes and annotators is
        ``frame.pivot(index="node", columns="annotator", values="label")``.

    Raises
    ------
    ValueError
        As in `read`, but for annotators who disagree.

    Examples
    --------
    >>> import json
    >>> import graphuq as gq
    >>> import tempfile
    >>> result = [{"from_name": "label", "to_name": "text", "type": "choices",
    ...            "value": {"choices": ["cat"]}}]
    >>> given = [{"completed_by": who, "was_cancelled": who == 8, "result": result}
    ...          for who in (7, 8, 9)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/export.json", "w") as file:
    ...         json.dump([{"id": 1, "data": {"graphuq_node": 4}, "annotations": given}], file)
    ...     gq.label_studio.read_annotations(f"{folder}/export.json").to_numpy().tolist()
    [[4, 7, 'cat'], [4, 9, 'cat']]
    """
    import pandas as pd

    _check_tag("from_name", from_name)
    tasks = _load_tasks(export)
    named = None if classes is None else _by_text(classes)
    rows, others = [], set()
    for task in tasks:
        node = _node_of(task)
        for annotator, name, chosen in choices_of(task):
            if name == from_name:
                rows.append((node, annotator, _class_of(task, chosen, named)))
            else:
                others.add(str(name))
    if not rows and others:
        raise ValueError(
            f"the export has no choices named {from_name!r}, but {list_names(sorted(others))}: "
            "pass from_name="
        )
    frame = pd.DataFrame(rows, columns=["node", "annotator", "label"], dtype=object)
    return frame.astype({"node": np.int64})


def _check_tag(name: str, tag: Any) -> None:
    if not isinstance(tag, str) or not tag:
        raise TypeError(f"{name} must be the name of a tag, got {tag!r}")


def _check_rows(data: Any, n_nodes: int) -> Sequence[Mapping[str, Any]]:
    import pandas as pd

    rows = data.to_dict("records") if isinstance(data, pd.DataFrame) else data
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes) or len(rows) != n_nodes:
        got = f"{len(rows)} rows" if isinstance(rows, Sequence) else type(rows).__name__
        raise ValueError(
            f"data must be a data frame, or a list of mappings, with a row for each of {n_nodes} "
            f"nodes, got {got}"
        )
    wrong = [at for at, row in enumerate(rows) if not isinstance(row, Mapping)]
    if wrong:
        raise TypeError(
            f"data of node {wrong[0]} must be a mapping, such as {{'text': ...}}, got "
            f"{type(rows[wrong[0]]).__name__}"
        )
    return rows


def _plain(node: int, name: Any, value: Any) -> Any:
    """Return a value of JSON; numbers of NumPy become those of Python, and NaN becomes None."""
    import pandas as pd

    if not isinstance(name, str):
        raise TypeError(f"the names of data must be texts, but node {node} has {name!r}: rename it")
    if isinstance(value, np.generic):
        value = value.item()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    try:
        json.dumps({name: value}, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"data of node {node}, {name!r}: JSON cannot hold this value ({error}): pass a text or "
            "a number"
        ) from error
    return value


def _load_tasks(export: Any) -> list[Any]:
    path = validation.file_path("export", export)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: export the project as JSON")
    try:
        with open(path, encoding="utf-8") as file:
            tasks = json.load(file)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}): export it again as JSON") from error
    if not are_tasks(tasks):
        raise ValueError(
            f"{path} must be a list of tasks with data and annotations: export the project in the "
            "format JSON, and not JSON-MIN or another"
        )
    return list(tasks)


def are_tasks(found: Any) -> bool:
    """Return whether JSON is a list of tasks with data and annotations."""
    return (
        isinstance(found, list)
        and bool(found)
        and all(
            isinstance(task, dict)
            and isinstance(task.get("data"), dict)
            and isinstance(task.get("annotations"), list)
            and all(isinstance(annotation, dict) for annotation in task["annotations"])
            for task in found
        )
    )


def choices_of(task: Mapping[str, Any]) -> Iterator[tuple[Any, Any, list[str]]]:
    """Yield annotator, tag and classes of each choice in a task.

    Skipped annotations do not count, nor do others beside those that are marked as the truth.
    """
    given = [one for one in task["annotations"] if not one.get("was_cancelled")]
    for annotation in [one for one in given if one.get("ground_truth")] or given:
        for name, chosen in _choices_in(annotation):
            yield _annotator_of(annotation), name, chosen


def _by_text(classes: Any) -> dict[str, Any]:
    """Return the classes by their texts, which are the choices."""
    given = as_given(classes)
    named = {str(value): value for value in given.ravel().tolist()}
    if given.ndim != 1 or len(named) < given.size:
        raise ValueError(
            f"classes must be a list of classes with different texts, got {list_names(list(named))}"
        )
    return named


def _node_of(task: Mapping[str, Any]) -> int:
    node = task["data"].get(NODE)
    if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < 2**63:
        raise ValueError(
            f"task {task.get('id')} has no {NODE} in its data, so it belongs to another project: "
            "export the one with the tasks of gq.label_studio.write"
        )
    return node


def _choices_in(annotation: Mapping[str, Any]) -> Iterator[tuple[Any, list[str]]]:
    """Yield the tag and the classes of each result with choices, a taxonomy or a rating.

    The class is the last part of a path through nested choices or a taxonomy.
    """
    results = annotation.get("result")
    for result in results if isinstance(results, list) else []:
        kind = result.get("type") if isinstance(result, dict) else None
        value = result.get("value") if kind in KINDS else None
        found = value.get(kind) if isinstance(value, dict) else None
        if kind == "rating" and isinstance(found, int):
            found = [str(found)]
        if isinstance(found, list) and found:
            chosen = [str(path[-1] if isinstance(path, list) and path else path) for path in found]
            yield result.get("from_name"), chosen


def _class_of(task: Mapping[str, Any], chosen: list[str], named: Mapping[str, Any] | None) -> Any:
    if len(chosen) > 1:
        raise ValueError(
            f"task {task.get('id')} has {len(chosen)} choices, {list_names(chosen)}, and a node "
            'has one class: set choice="single" in the labeling interface, and correct the task'
        )
    if named is None:
        return chosen[0]
    if chosen[0] not in named:
        raise ValueError(
            f"task {task.get('id')} has the choice {chosen[0]!r}, which is not one of the classes "
            f"{list_names(list(named))}: list it in classes, or export the project of these "
            "classes"
        )
    return named[chosen[0]]


def _annotator_of(annotation: Mapping[str, Any]) -> Any:
    """Return the id of the annotator, which some exports give with name and address."""
    by = annotation.get("completed_by")
    return by.get("id") if isinstance(by, dict) else by
