"""The demonstration at the command line."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import graphuq as gq
from graphuq.cli.program import main


@pytest.mark.slow
def test_demo_of_all_ten_digits(tmp_path, capsys):
    rest = ["--per-class", "40", "--fraction", "0.1", "--gamma", "0.1", "--alpha", "2"]
    rest += ["--draws", "100", "--chains", "2", "--out", str(tmp_path)]
    assert main(["demo", "--classes", "all", *rest]) == 0
    printed = capsys.readouterr().out
    assert "All ten digits: 400 images" in printed
    assert "40 labels" in printed
    files = ["confusion.png", "digits.png", "level-set.nc", "probit.nc"]
    assert sorted(os.listdir(tmp_path)) == files
    post = gq.load(tmp_path / "probit.nc")
    rows = re.findall(
        r"^ *(\d+) +(\d) +(\d) +([\d.]+) +(\d) +([\d.]+) +[\d.]+ +[\d.]+$", printed, re.M
    )
    assert len(rows) == 20
    for node, _, first, p, second, q in rows:
        best = np.argsort(-post.probability[int(node)], kind="stable")
        assert [int(first), int(second)] == best[:2].tolist()
        np.testing.assert_allclose(
            [float(p), float(q)], post.probability[int(node), best[:2]], atol=5.1e-4
        )
    assert float(re.search(r"probit +([\d.]+)", printed)[1]) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--classes", "all", "--per-class", "200"], "per_class must be"),
        (["demo", "--classes", "all", "--rank", "100000"], "rank must be"),
    ],
)
def test_mistakes_of_the_demo_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_pair_excludes_all_ten_digits(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--classes", "all", "--pair", "3,8"])
    assert stop.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_demo_runs_the_main_job(tmp_path, capsys):
    # at 200 draws a node at 1/2 may fall on either side, and there are a dozen of them
    assert main(["demo", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "connected to their 10 nearest neighbors" in printed
    rows = re.findall(r"^ *(probit|level-set) +([\d.]+) +([\d.]+) +([\d.]+)", printed, re.MULTILINE)
    assert [row[0] for row in rows] == ["probit", "level-set"]
    for _, accuracy, variance, r_hat in rows:
        assert float(accuracy) > 0.94
        assert 0 < float(variance) < 1
        assert float(r_hat) < 1.05
    assert sorted(os.listdir(tmp_path)) == ["digits.png", "level-set.nc", "probit.nc"]
    post = gq.load(tmp_path / "probit.nc")
    listed = re.findall(r"^ *(\d+) +[49] +[49]", printed, re.MULTILINE)
    assert len(listed) == 20
    assert int(listed[0]) in post.ranking()[:20]
    assert int(listed[10]) in post.ranking()[-20:]


@pytest.mark.slow
def test_demo_repeats_itself(tmp_path, capsys):
    printed = []
    for _ in range(2):
        main(["demo", "--draws", "200", "--out", str(tmp_path)])
        out = capsys.readouterr().out
        printed.append(re.sub(r"\d+\.\d\d( s)?$", "", out, flags=re.MULTILINE))
    assert printed[0].splitlines()[8:] == printed[1].splitlines()[8:]
