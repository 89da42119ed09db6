"""Commands replace their own files only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.program import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, its result, and new items."""
    folder = tmp_path_factory.mktemp("moons")
    X, y = gq.datasets.two_moons(60, seed=0)
    frame = pd.DataFrame({"id": [f"m{k}" for k in range(60)], "a": X[:, 0], "b": X[:, 1]})
    frame[:5].to_csv(folder / "new.csv", index=False)
    frame["label"] = np.where(np.arange(60) % 6 == 0, np.where(y, "up", "low"), None)
    frame.to_csv(folder / "moons.csv", index=False)
    frame.to_csv(folder / "others.csv", index=False)
    assert main(["sample", str(folder / "moons.csv"), "--out", str(folder / "result"), "--draws",
                 "20"]) == 0  # fmt: skip
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


WRITERS = {
    "report": (["report", "result"], ".html"),
    "predict": (["predict", "result", "new.csv"], ".csv"),
    "suggest": (["suggest", "result"], ".csv"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_of_another_kind_is_kept(command, capsys):
    arguments, suffix = WRITERS[command]
    mine = Path(f"mine{suffix}")
    mine.write_text("my own data\n")
    assert main([*arguments, "--out", str(mine)]) == 2
    assert f"{mine} exists" in capsys.readouterr().err
    assert mine.read_text() == "my own data\n"
    assert main([*arguments, "--out", f"{mine}.xlsx"]) == 2
    assert f"let the name end in {suffix}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "predict"])
def test_own_files_are_written_again(command):
    arguments, suffix = WRITERS[command]
    for _ in range(2):
        assert main([*arguments, "--out", f"{command}-again{suffix}"]) == 0


@pytest.mark.parametrize("name", ["nodes.csv", "uncertain.csv", "suspects.csv"])
def test_files_of_a_result_are_kept(name, capsys):
    arguments, _ = WRITERS["predict"]
    before = Path("result", name).read_bytes()
    assert main([*arguments, "--out", f"result/{name}"]) == 2
    assert "has other contents than this command writes" in capsys.readouterr().err
    assert Path("result", name).read_bytes() == before


def test_the_result_of_another_file_is_kept(capsys):
    before = Path("result/run.json").read_bytes()
    assert main(["sample", "others.csv", "--out", "result", "--draws", "20"]) == 2
    error = capsys.readouterr().err
    assert "the folder result has the result of" in error
    assert "moons.csv: choose another --out" in error
    assert Path("result/run.json").read_bytes() == before
    assert main(["sample", "moons.csv", "--out", "result", "--draws", "20"]) == 0


def test_the_items_without_a_label_are_listed_by_their_uncertainty():
    nodes, ranked = pd.read_csv("result/nodes.csv"), pd.read_csv("result/uncertain.csv")
    hidden = nodes[nodes["label"].isna()].sort_values("rank").drop(columns=["label", "rank"])
    own = ranked[[*hidden]]  # columns of the file follow
    pd.testing.assert_frame_equal(own, hidden.reset_index(drop=True))
    assert len(ranked) == 50
    assert (np.diff(ranked["total"]) <= 1e-12).all()


def test_a_posterior_replaces_netcdf_files_only():
    post = gq.load("result/posterior.nc")
    with pytest.raises(
        FileExistsError, match=r"moons\.csv exists and is not a file that save wrote"
    ):
        post.save("moons.csv")
    for _ in range(2):
        post.save("saved.nc")
    import h5netcdf

    with h5netcdf.File("cells.h5ad", "w") as file:
        file.create_group("obs")
    with pytest.raises(FileExistsError, match="not a file that save wrote"):
        post.save("cells.h5ad")


def test_input_files_are_kept(capsys):
    assert main(["predict", "result", "new.csv", "--out", "both.csv"]) == 0
    joined = pd.read_csv("both.csv").merge(pd.read_csv("new.csv"), on="id")
    joined.to_csv("both.csv", index=False)
    assert main(["predict", "result", "both.csv", "--out", "both.csv"]) == 2
    assert "both.csv is an input file" in capsys.readouterr().err


def test_a_file_of_the_same_name_in_another_folder_is_another(capsys):
    Path("deeper").mkdir()
    pd.read_csv("moons.csv").to_csv("deeper/moons.csv", index=False)
    assert main(["sample", "deeper/moons.csv", "--out", "result", "--draws", "20"]) == 2
    assert "has the result of" in capsys.readouterr().err
