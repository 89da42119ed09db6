"""Files of answers of a labeling session, given as ``--labels``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.files import read_classes
from graphuq.cli.program import main
from graphuq.labeling.answers import AnswerFile
from graphuq.labeling.records import Answer


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Two moons in a table without labels, and a file with answers to 20 of them."""
    monkeypatch.chdir(tmp_path)
    X, y = gq.datasets.two_moons(90, seed=0)
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    names = [f"m{i}" for i in range(90)]
    table.insert(0, "id", names)
    table.to_csv("moons.csv", index=False)
    file = AnswerFile(tmp_path / "answers.csv", names)
    classes = np.array(["lower", "upper"])[y]
    for node in range(20):
        file.append(Answer(node, classes[node], 1.0, "Ann", "now", False))
    yield file, names, classes
    file.close()


def test_sample_reads_the_answers_while_the_session_goes_on(answers, capsys):
    file, _, classes = answers
    other = {"lower": "upper", "upper": "lower"}[classes[3]]
    file.append(Answer(3, other, 1.0, "Ann", "now", False))  # replaces the answer
    file.append(Answer(5, "", None, "Ann", "now", False))  # takes it back
    file.append(Answer(7, classes[7], 0.6, "Ann", "now", False))
    file.append(Answer(40, classes[40], 1.0, "Ann", "now", True))  # of the random sample
    command = ["sample", "moons.csv", "--labels", "answers.csv", "--draws", "50", "--out", "result"]

    assert main([*command, "--json"]) == 0

    said = json.loads(capsys.readouterr().out)
    nodes = pd.read_csv("result/nodes.csv", index_col="id")
    assert nodes["label"].notna().sum() == 19
    assert nodes["label"]["m3"] == other
    assert gq.load("result/posterior.nc").labels.confidence.tolist().count(0.6) == 1
    assert "left out 1 label of the random sample" in json.dumps(said)


def test_the_truth_may_be_a_file_of_answers(answers):
    file, names, classes = answers
    file.append(Answer(40, classes[40], 1.0, "Ann", "now", True))
    found = read_classes("answers.csv", np.array(names), "--truth")[0]
    assert found[40] == classes[40]
    assert found[41] is None


def test_answers_to_other_items_are_refused(answers, capsys):
    pd.DataFrame({"id": ["x", "y"], "a": [1.0, 2.0]}).to_csv("other.csv", index=False)
    assert main(["sample", "other.csv", "--labels", "answers.csv"]) == 2
    assert "answers to 20 items that are not among these, such as 'm0'" in capsys.readouterr().err
