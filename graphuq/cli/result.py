"""A result of ``graphuq sample``, read back by the commands that take one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphuq as gq
from graphuq.cli.options import Parser
from graphuq.cli.output import RUN

DRAWS = "posterior.nc"


@dataclass(frozen=True, eq=False)
class Result:
    """A posterior, its file, and what its run says of it; nothing, if the file is by itself."""

    file: Path
    posterior: gq.Posterior | gq.ApproximatePosterior
    run: dict[str, Any]

    @property
    def ids(self) -> NDArray[Any]:
        """Names of the items, of which the file of draws has only positions."""
        return np.array(self.run.get("ids", range(self.posterior.n_nodes))).astype(str)


def add_result(parser: Parser) -> None:
    """Add RESULT."""
    parser.add_argument(
        "result", type=Path, metavar="RESULT", help="folder of graphuq sample, or a .nc file"
    )


def read_result(path: Path) -> Result:
    """Return what a folder or a file of draws holds."""
    if path.is_dir():
        if not (path / DRAWS).is_file():
            raise FileNotFoundError(
                f"the folder {path} has no {DRAWS}: name one that graphuq sample wrote"
            )
        path = path / DRAWS
    try:
        posterior = gq.load(path)
    except ValueError as error:
        reason = str(error)
        raise ValueError(
            (reason if str(path) in reason else f"{path}: {reason}")
            + ": name a folder or a .nc file that graphuq sample wrote"
        ) from error
    run_file = path.with_name(RUN)
    there = path.name == DRAWS and run_file.is_file()
    return Result(path, posterior, _run_of(run_file, posterior.n_nodes) if there else {})


def _run_of(file: Path, n_nodes: int) -> dict[str, Any]:
    """Return what graphuq sample wrote of its run."""
    try:
        run = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(run, dict) or len(run.get("ids", [])) not in (0, n_nodes):
            raise ValueError("it does not tell of these draws")
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{file} is damaged ({error}): move it away to go without names of items, or sample "
            "again"
        ) from error
    return run
