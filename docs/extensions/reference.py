"""Writes the reference's source: a table a group, a page a public name.

The names are those of ``graphuq.__all__``, and of the modules that it lists. A name that no group
has room for comes under "More", so that none is left out.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import graphuq as gq

# titles, and the modules whose names stand under them
GROUPS = {
    "Graphs, labels, spectra": ("graphs", "labels", "spectrum"),
    "Prior and likelihoods": ("prior", "likelihoods"),
    "Parameters that the labels choose": ("tuning", "model_evidence", "annealed"),
    "The posterior": (
        "sampling",
        "joint",
        "approximation",
        "posterior",
        "node_posterior",
        "diagnostics",
    ),
    "Samplers": ("samplers",),
    "Are the probabilities right?": ("calibration", "conformal"),
    "Most probable fields and classifiers": ("map", "classifiers", "comparison"),
    "Pictures and reports": ("plots", "report"),
    "Files and data sets": ("export", "datasets"),
}
MORE = "More"


def groups() -> list[tuple[str, list[str]]]:
    """Return titles and full names, those of a module that is public itself with its path."""
    room = {module: title for title, modules in GROUPS.items() for module in modules}
    found: dict[str, list[str]] = {title: [] for title in (*GROUPS, MORE)}
    listed = {id(getattr(gq, name)) for name in gq.__all__}
    for name in gq.__all__:
        thing = getattr(gq, name)
        if inspect.ismodule(thing):
            for own in _contents(thing):
                if id(getattr(thing, own)) not in listed:
                    found[room.get(name, MORE)].append(f"graphuq.{name}.{own}")
        else:
            found[room.get(thing.__module__.split(".")[1], MORE)].append(f"graphuq.{name}")
    found["The posterior"].append("graphuq.node_posterior.NodePosterior")
    found["Samplers"].append("graphuq.samplers.family.Sampler")
    return [(title, sorted(names, key=str.lower)) for title, names in found.items() if names]


def _contents(module: object) -> list[str]:
    """Return the names of the functions and classes that a module makes public."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
    ]
    kinds = (inspect.isclass, inspect.isfunction)
    return [name for name in names if any(kind(getattr(module, name)) for kind in kinds)]


def write(folder: Path) -> None:
    """Write ``index.rst``, where it differs from what there is, and drop pages of names gone."""
    lines = ["Reference", "=========", ""]
    lines += [inspect.cleandoc(gq.__doc__), ""]
    for title, names in groups():
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: names", ""]
        lines += [f"   ~{name}" if name.count(".") > 1 else f"   {name}" for name in names] + [""]
    text = "\n".join(lines)
    folder.mkdir(exist_ok=True)
    wanted = {name for _, names in groups() for name in names}
    for stale in (page for page in folder.glob("names/*.rst") if page.stem not in wanted):
        stale.unlink()
    page = folder / "index.rst"
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
