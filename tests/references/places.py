"""Files, functions and classes that pages name as `file.py::name`."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

REFERENCE = re.compile(r"`((?:graphuq|benchmarks|tests)/[\w/]+\.py)(?:::([\w.]+))?`")


@functools.cache
def defined_in(path):
    """Dotted names of the functions, classes, methods and assignments of a file."""
    found = set()

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                names = (part for target in targets for part in ast.walk(target))
                found.update(prefix + name.id for name in names if isinstance(name, ast.Name))

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def missing_references(text):
    """Return the files and names that a text refers to, in backquotes, and that are not there."""
    missing = []
    for file, name in REFERENCE.findall(text):
        path = ROOT / file
        if not path.is_file() or (name and name not in defined_in(path)):
            missing.append(f"{file}::{name}" if name else file)
    return missing
