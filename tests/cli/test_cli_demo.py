"""The demonstration at the command line."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import graphuq as gq
from graphuq.cli.program import main


@pytest.mark.parametrize(
    ("options", "n_images", "n_classes", "accuracy"),
    [
        ([], 361, 2, 0.94),
        pytest.param(["--pair", "3,8"], 357, 2, 0.94, marks=pytest.mark.slow),
        pytest.param(["--classes", "all"], 1797, 10, 0.9, marks=pytest.mark.slow),
    ],
)
def test_demo_runs_the_main_job(
    tmp_path, monkeypatch, capsys, options, n_images, n_classes, accuracy
):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *options]) == 0
    printed = capsys.readouterr().out
    assert "Running graphuq sample graphuq-demo/digits.npz --truth truth --images" in printed
    run = json.loads((tmp_path / "graphuq-demo/result/run.json").read_text())
    assert run["items"] == n_images
    assert len(run["classes"]) == n_classes
    assert run["accuracy"] > 0.93
    assert run["trust"]["light"] == "green"
    page = (tmp_path / "graphuq-demo/result/report.html").read_text()
    assert page.count('class="item"') > 20  # images
    # The command that it shows gives the same.
    post = gq.load("graphuq-demo/result/posterior.nc")
    line = next(row for row in printed.splitlines() if row.startswith("Running graphuq "))
    assert main(line.removeprefix("Running graphuq ").split()) == 0
    again = gq.load("graphuq-demo/result/posterior.nc")
    np.testing.assert_array_equal(again.by_class, post.by_class)


def test_demo_replaces_its_own_files_alone(tmp_path, capsys):
    (tmp_path / "digits.npz").write_text("mine")
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "is not a file that graphuq demo wrote" in capsys.readouterr().err
    assert (tmp_path / "digits.npz").read_text() == "mine"
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "choose another --out" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["digits.npz", "file"]


def test_a_pair_excludes_all_ten_digits(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--classes", "all", "--pair", "3,8"])
    assert stop.value.code == 2
    assert "not allowed with" in capsys.readouterr().err
