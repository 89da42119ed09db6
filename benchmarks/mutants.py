"""Share of small random changes of the code ("mutants") that the quick tests notice.

python -m benchmarks.mutants [--mutants 300] [--seed 0] [--quick]

A mutant changes one operator, comparison, number or keyword of a file; its place is drawn among all
places of the inner rooms. The quick tests of its room run first and, if they pass, those of the
other inner rooms. The table has what survives both, to be read: some of it changes nothing but
time, and tests of other rooms would notice some. A hundred take two hours. The changes come from
another package: `pip install cosmic-ray`.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from benchmarks.common import report

CHECKOUT = Path(__file__).parents[1]
ROOMS = ("priors", "likelihoods", "propagation", "samplers", "inference")
SECONDS = 900  # the slowest room takes a third of this; a mutant that loops counts as killed

# Other replacements are errors of type in this code, such as a shift of floats.
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")
COMPARISONS = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
CHANGES = {
    *(f"ReplaceBinaryOperator_{old}_{new}" for old, new in itertools.permutations(ARITHMETIC, 2)),
    *(f"ReplaceComparisonOperator_{o}_{n}" for o, n in itertools.permutations(COMPARISONS, 2)),
    "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "AddNot",
    "NumberReplacer",
    "ZeroIterationForLoop",
}


def main() -> None:
    options = report.options(__doc__.splitlines()[0], mutants=(int, 300), seed=(int, 0))
    places = list(_places())
    rng = np.random.default_rng(options.seed)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        subprocess.run(["git", "clone", "--quiet", CHECKOUT, copy], check=True)
        if failed := _killed_by(copy, ROOMS):  # this also fills the cache of compiled functions
            raise SystemExit(f"{failed} fails without a change of the code")
        for place in rng.permutation(len(places))[: 5 if options.quick else options.mutants]:
            file, position, kinds = places[place]
            name, index = kinds[rng.integers(len(kinds))]
            rows.append(_row(copy, file, position, name, index))
            print(rows[-1], flush=True)
    killed = sum(row["killed by"] != "" for row in rows) / len(rows)
    report.write(
        "mutants",
        options.out,
        rows,
        {"share of mutants that tests notice, at least 85%": (killed, killed >= 0.85)},
        shown=[row for row in rows if not row["killed by"]],
    )


def _places() -> Iterator[tuple[Path, tuple[int, int], list[tuple[str, int]]]]:
    """Yield each file and position that can change, with names and occurrences of operators."""
    operators = {
        name: get_operator(name)() for name in operator_names() if name.split("/")[1] in CHANGES
    }
    for room in ROOMS:
        for file in sorted((CHECKOUT / "graphuq" / room).rglob("*.py")):
            nodes = list(ast_nodes(get_ast_from_path(file)))
            found: dict[tuple[int, int], list[tuple[str, int]]] = {}
            for name, operator in operators.items():
                starts = (start for node in nodes for start, _ in operator.mutation_positions(node))
                for index, start in enumerate(starts):
                    found.setdefault(start, []).append((name, index))
            for position, kinds in sorted(found.items()):
                yield file.relative_to(CHECKOUT), position, kinds


def _row(copy: Path, file: Path, position: tuple[int, int], name: str, index: int) -> dict:
    """Change one place of the copy, run tests, and undo the change."""
    path = copy / file
    code = path.read_text()
    changed = mutate_code(code, get_operator(name)(), index)
    line = position[0] - 1
    start = time.perf_counter()
    path.write_text(changed)
    room = file.parts[1]
    try:
        killer = _killed_by(copy, [room]) or _killed_by(copy, [r for r in ROOMS if r != room])
    finally:
        path.write_text(code)
    return {
        "place": f"{file}:{position[0]}",
        "code": code.splitlines()[line].strip(),
        "mutant": changed.splitlines()[line].strip(),
        "killed by": killer,
        "s": time.perf_counter() - start,
    }


def _killed_by(copy: Path, rooms: Sequence[str]) -> str:
    """Return the first quick test of these rooms that fails, or an empty text."""
    cache = copy.parent / "compiled"
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache)}
    try:
        done = subprocess.run(
            [*command, *(f"tests/{room}" for room in rooms)],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "time"
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else "import"


if __name__ == "__main__":
    main()
