from __future__ import annotations

import os
import re

import pytest

import graphuq as gq
from graphuq.cli import main

QUICK = ["--draws", "200"]


def test_demo_runs_the_main_job(tmp_path, capsys):
    assert main(["demo", *QUICK, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
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


def test_demo_repeats_itself(tmp_path, capsys):
    printed = []
    for _ in range(2):
        main(["demo", *QUICK, "--out", str(tmp_path)])
        out = capsys.readouterr().out
        printed.append(re.sub(r"\d+\.\d\d( s)?$", "", out, flags=re.MULTILINE))
    assert printed[0].splitlines()[8:] == printed[1].splitlines()[8:]


def test_compare_lists_the_pairs(capsys):
    assert main(["compare", *QUICK, "--pairs", "4,9", "5,7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["4,9", "5,7"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--rank", "100000"], "rank must be"),
        (["demo", "--gamma", "0"], "gamma must be positive"),
        (["demo", "--pair", "4,4"], "two different digits"),
        (["demo", "--fraction", "2"], "fraction must lie"),
        (["demo", "--dataset", "mnist"], "mnist.npz"),
        (["demo", "--draws", "0"], "draws must be"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GRAPHUQ_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main([*arguments, *(["--out", str(tmp_path / "out")])]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_arguments_that_do_not_parse_exit_with_2(capsys):
    for arguments in ([], ["demo", "--pair", "four,nine"], ["fly"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
    assert "expected two digits such as 4,9" in capsys.readouterr().err
