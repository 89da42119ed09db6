"""Notebooks are stored without outputs, and listed; the Makefile says which tests run them."""

import json
from pathlib import Path

import pytest

import graphuq as gq

ROOT = Path(gq.__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def complaints(notebook):
    """Outputs and metadata that an editor has left in the file."""
    found = [] if notebook["metadata"] == METADATA else ["metadata"]
    for number, cell in enumerate(notebook["cells"]):
        clean = {"id": f"cell-{number}", "metadata": {}}
        if cell["cell_type"] == "code":
            clean |= {"outputs": [], "execution_count": None}
        found += [f"{key} of cell {number}" for key in clean if cell.get(key) != clean[key]]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_short_and_stored_without_outputs(path):
    notebook = json.loads(path.read_text())
    assert complaints(notebook) == []
    assert len(notebook["cells"]) <= 13
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert "?" in "".join(notebook["cells"][0]["source"])  # begins with its question


def test_outputs_and_metadata_of_an_editor_are_found():
    notebook = json.loads(NOTEBOOKS[0].read_text())
    notebook["metadata"]["widgets"] = {}
    code = next(n for n, c in enumerate(notebook["cells"]) if c["cell_type"] == "code")
    notebook["cells"][code] |= {"execution_count": 3, "id": "4f2a"}
    expected = ["metadata", f"id of cell {code}", f"execution_count of cell {code}"]
    assert complaints(notebook) == expected


def test_all_are_listed():
    assert "docs/notebooks.md)" in (ROOT / "README.md").read_text()
    text = (ROOT / "docs/notebooks.md").read_text()
    assert NOTEBOOKS
    assert [path.name for path in NOTEBOOKS if f"notebooks/{path.name})" not in text] == []
