"""The order of the folders: every import points down, and there are no circular imports.

Lazy imports and imports for type checkers count, too.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import graphuq as gq

PACKAGE = Path(gq.__file__).parent

# Floors from the ground up; a folder imports from those below it and from itself.
FLOORS = [
    {"utils"},
    {"graphs"},
    {"labels"},
    {"priors", "datasets"},
    {"likelihoods"},
    {"propagation"},
    {"samplers", "posterior"},
    {"inference"},
    {"classifiers", "plots"},
    {"report", "adapters"},
    {"labeling"},
    {"face"},
    {"cli"},
    {"command"},
]
FLOOR = {folder: floor for floor, folders in enumerate(FLOORS) for folder in folders}


def module_of(path: Path, package: Path) -> str:
    """The dotted name of a file, "graphuq" for the face."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(["graphuq", *(parts[:-1] if parts[-1] == "__init__" else parts)])


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """All nodes of a file's syntax tree; most files are the same in all tests."""
    return list(ast.walk(ast.parse(source)))


def imports(package: Path) -> dict[str, set[str]]:
    """The modules of the package that each of its modules imports, wherever in the file."""
    sources = {module_of(path, package): path for path in package.rglob("*.py")}
    # a lazy folder imports what its stub names
    sources |= {module_of(path, package): path for path in package.rglob("__init__.pyi")}
    found = {}
    for module, path in sources.items():
        wanted = set()
        for node in nodes_of(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Constant) and str(node.value).startswith("graphuq."):
                wanted.add(node.value)  # of importlib.import_module
            elif isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                # only stubs have relative imports
                origin = ".".join(filter(None, [module if node.level else "", node.module]))
                names = {f"{origin}.{alias.name}" for alias in node.names}
                wanted |= names & sources.keys() or {origin}
                wanted |= {origin} if names - sources.keys() else set()
        found[module] = wanted & sources.keys() - {module}
    return found


def folder_of(module: str) -> str:
    if module == "graphuq.__main__":
        return "command"
    return module.split(".")[1] if "." in module else "face"


def upward(found: dict[str, set[str]]) -> list[str]:
    """Return the imports from folders that are not on a lower floor."""
    return sorted(
        f"{module} -> {other}"
        for module, others in found.items()
        for other in others
        if folder_of(module) != folder_of(other)
        and FLOOR[folder_of(module)] <= FLOOR[folder_of(other)]
    )


def test_every_folder_has_its_floor():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders | {"face", "command"} == FLOOR.keys()
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_import_points_upward():
    assert upward(imports(PACKAGE)) == []


def test_no_circle_of_files():
    TopologicalSorter(imports(PACKAGE)).prepare()


@pytest.mark.parametrize(
    "line",
    [
        "from graphuq.report.write import write_report",
        "import graphuq.report.write",
        "def later():\n    from graphuq.report import write",
        "if TYPE_CHECKING:\n    from graphuq.report.write import write_report",
        "import graphuq as gq",
        "def later():\n    importlib.import_module('graphuq.report.write')",
    ],
)
def test_a_planted_upward_import_is_seen(tmp_path, line):
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")):
        copy = tmp_path / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    with open(tmp_path / "priors/prior.py", "a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")

    found = imports(tmp_path)

    assert any(arrow.startswith("graphuq.priors.prior -> ") for arrow in upward(found))
    with pytest.raises(CycleError):
        TopologicalSorter(found).prepare()
