"""Read a result of ``graphuq sample``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphuq as gq
from graphuq.cli.class_shares import ClassShares, read_shares
from graphuq.cli.files import ReadOptions, read_classes, to_class_names
from graphuq.cli.options import Parser
from graphuq.cli.result_folder import DRAWS, RUN
from graphuq.cli.saved_problem import SavedProblem, load_problem

# What run.json must hold to continue with a result.
NEEDED = {"file", "sha256", "seed", "notes", "left_out", "ids", "truth", "neighbors", "linked",
          "chosen", "at_edge", "n_tuned", "command", "earlier"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Result:
    """A saved posterior.

    Attributes
    ----------
    file : Path
    posterior : Posterior
    run : dict
        The contents of run.json; empty if the folder has no such file.
    """

    file: Path
    posterior: gq.Posterior
    run: dict[str, Any]

    @property
    def ids(self) -> NDArray[Any]:
        """Names of the items by the run, else by the posterior; positions if neither has any."""
        names = self.run.get("ids", self.posterior.names)
        return np.array(range(self.posterior.n_nodes) if names is None else names).astype(str)

    @property
    def shares(self) -> ClassShares | None:
        """The given shares of the classes."""
        return read_shares(self.run)

    @cached_property
    def predictions(self) -> Any:
        """The posterior, or its predictions with the given shares."""
        return self.posterior if self.shares is None else self.shares.of(self.posterior)

    @property
    def commands(self) -> list[str]:
        """The command lines that led to the result, in the order in which they ran."""
        last = self.run.get("command")
        return [] if last is None else [*self.run.get("earlier", []), last]


def add_result(parser: Parser) -> None:
    """Add RESULT."""
    parser.add_argument(
        "result",
        type=Path,
        metavar="RESULT",
        help="folder that graphuq sample wrote, or a .nc file",
    )


def read_run(path: Path) -> tuple[Result, SavedProblem]:
    """Return the result in a folder, and the problem that it solved.

    Raises
    ------
    ValueError
        A single file, a folder without the names of the items or the graph, a damaged file.
    """
    if not path.is_dir():
        raise ValueError(
            f"{path} is not a folder: name a folder that graphuq sample wrote, whose files hold "
            "the names of the items and the graph"
        )
    result = read_result(path)
    problem = load_problem(path, result.posterior)
    if not result.run.keys() >= NEEDED:
        raise ValueError(
            f"{path / RUN} is missing or incomplete, and holds the names of the items: run graphuq "
            "sample again"
        )
    return result, problem


def read_result(path: Path) -> Result:
    """Return the result in a folder or in a .nc file."""
    if path.is_dir():
        if not (path / DRAWS).is_file():
            raise FileNotFoundError(
                f"the folder {path} has no {DRAWS}: name a folder that graphuq sample wrote"
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
    has_run = path.name == DRAWS and run_file.is_file()
    return Result(path, posterior, _read_run(run_file, posterior.n_nodes) if has_run else {})


def _read_run(file: Path, n_nodes: int) -> dict[str, Any]:
    """Return the contents of run.json."""
    try:
        run = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(run, dict) or len(run.get("ids", [])) not in (0, n_nodes):
            raise ValueError("it belongs to another posterior")
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{file} is damaged ({error}): remove it to continue without its contents, "
            "or run graphuq sample again"
        ) from error
    return run


def read_truth(
    result: Result, path: Path | None, encoding: str, classes: Sequence[str] = ()
) -> Any:
    """Return the true classes in a table, as the labels are; by default those of the run."""
    if path is None:
        return result.run.get("truth")
    if not path.is_file() and path.suffix == "":
        raise FileNotFoundError(
            f"there is no file {path}: --truth takes a table with columns id and label here; a "
            "column of the data can be given to graphuq sample --truth"
        )
    ids, left_out = result.ids, result.run.get("left_out", [])
    # The table has texts; the labels may be numbers.
    own = result.posterior.labels.classes.tolist()
    given = dict(zip(to_class_names(own).tolist(), own, strict=True))
    every = np.array([*ids, *left_out])
    table = read_classes(
        path, every, "--truth", ReadOptions(classes=(*given, *classes), encoding=encoding)
    )
    found = table.names[: ids.size]
    missing = np.flatnonzero([name is None for name in found])
    if missing.size:
        raise ValueError(
            f"{path}: the true class of item {ids[missing[0]].item()!r} is missing: give the true "
            "class of every item"
        )
    unknown = np.flatnonzero([name not in given for name in found])
    if unknown.size:
        at = unknown[0]
        raise ValueError(
            f"{path}: the true class of item {ids[at].item()!r} is {found[at]!r}, which "
            f"is not one of the classes {', '.join(map(repr, given))}: correct it"
        )
    return np.array([given[name] for name in found])
