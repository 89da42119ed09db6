"""Tasks and exports of Label Studio."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import graphuq as gq

X, Y = gq.datasets.two_moons(60, seed=0)
PRIOR = gq.Prior.projected(gq.knn_graph(X, 8, connect=True), 10)
KNOWN = gq.reveal(Y, counts=3, seed=0)
POST = gq.approximate(PRIOR, gq.Probit(0.2), KNOWN)
DATA = [{"text": f"item {i}", "size": np.float32(i)} for i in range(60)]
INTERFACE = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="label" toName="text" choice="single">
    <Choice value="0"/><Choice value="1"/>
  </Choices>
</View>
"""


def written(path, post=POST, data=DATA, k=5, **options):
    gq.label_studio.write(path, post, data, k, **options)
    return json.loads(path.read_text(encoding="utf-8"))


def answer(task, *chosen, by=1, skipped=False, name="label"):
    """An annotation, as Label Studio exports it."""
    result = [
        {"id": "a", "from_name": name, "to_name": "text", "type": "choices", "origin": "manual",
         "value": {"choices": list(chosen)}}
    ]  # fmt: skip
    return {
        "id": 10 * task["data"]["graphuq_node"] + 1,
        "completed_by": by,
        "was_cancelled": skipped,
        "ground_truth": False,
        "lead_time": 4.2,
        "result": result if chosen else [],
    }


def exported(path, tasks, answers):
    """Write the export of tasks with a list of annotations each."""
    whole = [
        {**task, "id": number, "annotations": given, "drafts": [], "project": 83}
        for number, (task, given) in enumerate(zip(tasks, answers, strict=True), 1)
    ]
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def test_tasks_are_the_suggestions_with_scores_and_predictions(tmp_path):
    named = POST.with_names([f"member {i}" for i in range(60)])
    tasks = written(tmp_path / "tasks.json", named, method="variance")
    nodes, scores = POST.suggest(5, "variance", return_scores=True)
    for task, node, score in zip(tasks, nodes.tolist(), scores, strict=True):
        assert task["data"] == {
            "text": f"item {node}",
            "size": node,
            "graphuq_node": node,
            "graphuq_score": pytest.approx(score),
            "graphuq_name": f"member {node}",
        }
        (prediction,) = task["predictions"]
        assert prediction["score"] == pytest.approx(POST.by_class[node].max())
        assert prediction["result"][0]["value"] == {"choices": [str(POST.prediction[node])]}
    ids = [task["predictions"][0]["result"][0]["id"] for task in tasks]
    assert len(set(ids)) == 5


def test_data_frames_and_missing_values_are_written(tmp_path):
    frame = pd.DataFrame({"text": ["Größe"] * 60, "size": np.nan, "count": np.arange(60)})
    tasks = written(tmp_path / "tasks.json", data=frame, k=2)
    node = tasks[0]["data"]["graphuq_node"]
    assert tasks[0]["data"].items() >= {"text": "Größe", "size": None, "count": node}.items()


def test_label_studio_itself_accepts_the_predictions(tmp_path):
    interface = pytest.importorskip("label_studio_sdk.label_interface").LabelInterface(INTERFACE)
    for task in written(tmp_path / "tasks.json"):
        assert interface.validate_prediction(task["predictions"][0], return_errors=True) == []
    for task in written(tmp_path / "tasks.json", from_name="kind"):
        assert interface.validate_prediction(task["predictions"][0], return_errors=True)


def test_a_round_through_label_studio_gives_the_labels(tmp_path):
    tasks = written(tmp_path / "tasks.json")
    nodes = [task["data"]["graphuq_node"] for task in tasks]
    answers = [
        [answer(task, str(Y[node]), by={"id": 7, "email": "ann@example.com"})]
        for task, node in zip(tasks, nodes, strict=True)
    ]
    answers[1] = [answer(tasks[1], "0", skipped=True)]
    answers[2] = [answer(tasks[2])]
    answers[3].append(answer(tasks[3], str(Y[nodes[3]]), by=9))
    export = exported(tmp_path / "export.json", tasks, answers)

    labels = gq.label_studio.read(export, classes=POST.labels.classes)
    told = gq.label_studio.read_annotations(export, classes=POST.labels.classes)

    kept = np.sort([nodes[0], nodes[3], nodes[4]])
    np.testing.assert_array_equal(labels.nodes, kept)
    np.testing.assert_array_equal(labels.values, Y[kept])
    np.testing.assert_array_equal(labels.classes, [0, 1])
    assert told["annotator"].tolist() == [7, 7, 9, 7]
    assert told["node"].tolist() == [nodes[0], nodes[3], nodes[3], nodes[4]]
    # the choices as texts, where the classes are not given
    assert set(gq.label_studio.read_annotations(export)["label"]) <= {"0", "1"}


def test_annotators_who_disagree_are_refused_and_listed(tmp_path):
    tasks = written(tmp_path / "tasks.json", k=2)
    given = [[answer(tasks[0], "0", by=3), answer(tasks[0], "1", by=4)], [answer(tasks[1], "1")]]
    export = exported(tmp_path / "export.json", tasks, given)
    node = tasks[0]["data"]["graphuq_node"]
    with pytest.raises(ValueError, match=f"disagree on node {node}: '0' by 3 and '1' by 4"):
        gq.label_studio.read(export)
    table = gq.label_studio.read_annotations(export)
    wide = table.pivot(index="node", columns="annotator", values="label")
    assert wide.loc[node, [3, 4]].tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"data": {"text": "x"}}, {}, "task 1 has no graphuq_node .* another project"),
        ({"data": {"graphuq_node": "3"}}, {}, "task 1 has no graphuq_node"),
        ({"annotations": None}, {}, "format JSON, and not JSON-MIN"),
        ({"annotations": [3]}, {}, "format JSON, and not JSON-MIN"),
        ({}, {"from_name": "kind"}, "no choices named 'kind', but 'label': pass from_name="),
        (
            {},
            {"classes": ["cat", "dog"]},
            "choice '0', which is not one of the classes 'cat', 'dog'",
        ),
        ({}, {"classes": [0, "0"]}, "classes with different texts"),
        ({}, {"classes": 3}, "classes must be a list"),
    ],
)
def test_exports_of_another_kind_are_refused(tmp_path, changes, options, message):
    task = {"data": {"graphuq_node": 3}}
    path = exported(tmp_path / "export.json", [task], [[answer(task, "0")]])
    whole = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([{**whole[0], **changes}]), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        gq.label_studio.read(path, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is not JSON"), ("{}", "must be a list of tasks"), ("[]", "must be a list of tasks")],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "export.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        gq.label_studio.read(path)


def test_several_choices_and_none_are_refused(tmp_path):
    task = {"data": {"graphuq_node": 3}}
    with pytest.raises(ValueError, match=r"task 1 has 2 choices, .* set choice=\"single\""):
        gq.label_studio.read(exported(tmp_path / "a.json", [task], [[answer(task, "0", "1")]]))
    with pytest.raises(ValueError, match="has no annotation that chose a class"):
        gq.label_studio.read(exported(tmp_path / "b.json", [task], [[answer(task)]]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"post": KNOWN}, TypeError, "post must be a posterior of graphuq, got Labels"),
        ({"data": DATA[:3]}, ValueError, "a row for each of 60 nodes, got 3 rows"),
        ({"data": "text"}, ValueError, "a row for each of 60 nodes"),
        ({"data": X}, ValueError, "got ndarray"),
        ({"data": list(range(60))}, TypeError, "data of node 0 must be a mapping"),
        ({"data": [{"image": object()}] * 60}, TypeError, "'image': JSON cannot hold this value"),
        ({"data": [{"text": "\ud800"}] * 60}, TypeError, "'text': JSON cannot hold this value"),
        ({"data": [{1: "one"}] * 60}, TypeError, "the names of data must be texts"),
        ({"k": 99}, ValueError, "k must be between 1 and 54"),
        ({"from_name": ""}, TypeError, "from_name must be the name of a tag"),
    ],
)
def test_bad_tasks_are_refused_and_nothing_is_written(tmp_path, options, error, message):
    path = tmp_path / "tasks.json"
    with pytest.raises(error, match=message):
        gq.label_studio.write(path, **{"post": POST, "data": DATA, "k": 5, **options})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("choices", ["Dog"], "Dog"),
        ("choices", [["Animal", "Dog"]], "Dog"),
        ("taxonomy", [["Eukarya", "Animal", "Dog"]], "Dog"),
        ("rating", 4, "4"),
    ],
)
def test_the_class_of_nested_choices_taxonomies_and_ratings(tmp_path, kind, value, expected):
    tasks = [{"data": {"graphuq_node": k}} for k in (3, 5)]
    given = [answer(tasks[0], "x"), answer(tasks[1], "other")]
    given[0]["result"][0] |= {"type": kind, "value": {kind: value}}
    export = exported(tmp_path / "export.json", tasks, [[one] for one in given])
    assert gq.label_studio.read(export).values.tolist() == [expected, "other"]
    labels = gq.label_studio.read(export, classes=[expected, "other"])
    assert labels.values.tolist() == [expected, "other"]


def test_several_parts_of_a_taxonomy_are_several_classes(tmp_path):
    task = {"data": {"graphuq_node": 3}}
    one = answer(task, "x")
    one["result"][0] |= {"type": "taxonomy", "value": {"taxonomy": [["A", "b"], ["A", "c"]]}}
    with pytest.raises(ValueError, match="task 1 has 2 choices, 'b', 'c'"):
        gq.label_studio.read(exported(tmp_path / "export.json", [task], [[one]]))


def test_the_ground_truth_counts_alone(tmp_path):
    tasks = [{"data": {"graphuq_node": k}} for k in (3, 5)]
    given = [
        [answer(tasks[0], "0", by=3), {**answer(tasks[0], "1", by=4), "ground_truth": True}],
        [answer(tasks[1], "0", by=3)],
    ]
    labels = gq.label_studio.read(exported(tmp_path / "export.json", tasks, given))
    assert labels.values.tolist() == ["1", "0"]


def test_a_node_beyond_all_numbers_is_of_another_project(tmp_path):
    task = {"data": {"graphuq_node": 10**30}}
    with pytest.raises(ValueError, match="task 1 has no graphuq_node"):
        gq.label_studio.read(exported(tmp_path / "export.json", [task], [[answer(task, "0")]]))
