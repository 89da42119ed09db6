"""Write the source of the reference: one table per group, one page per public name.

The names are those of ``graphuq.__all__`` and of the modules that it lists. A name outside all
groups comes under "More", so that none is missing.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import graphuq as gq

# titles, and the modules or folders under them; the most specific one counts
GROUPS = {
    "Graphs, labels, spectra": ("graphs", "labels"),
    "Prior and likelihoods": ("priors", "likelihoods"),
    "Parameters chosen from the labels": (
        "inference.tune",
        "inference.evidence",
        "posterior.log_evidence",
    ),
    "The posterior": ("inference", "posterior", "utils.warnings"),
    "Samplers": ("samplers",),
    "Are the probabilities right?": (
        "posterior.assessment.calibration",
        "posterior.assessment.prediction_sets",
    ),
    "Most probable fields and classifiers": (
        "inference.map_estimate",
        "posterior.map_estimate",
        "classifiers",
        "adapters.skactiveml",
    ),
    "Plots and reports": ("plots", "report"),
    "Files and data sets": ("posterior.from_arviz", "adapters", "datasets"),
}
MORE = "More"


def groups() -> list[tuple[str, list[str]]]:
    """Return titles and full names; names of a public module come with its path."""
    found: dict[str, list[str]] = {title: [] for title in (*GROUPS, MORE)}
    things = {name: getattr(gq, name) for name in gq.__all__ if not name.startswith("_")}
    listed = {id(thing) for thing in things.values()}
    for name, thing in things.items():
        if inspect.ismodule(thing):
            for own in _contents(thing):
                if id(getattr(thing, own)) not in listed:
                    found[_title(thing.__name__)].append(f"{thing.__name__}.{own}")
        else:
            found[_title(thing.__module__)].append(f"graphuq.{name}")
    return [(title, sorted(names, key=str.lower)) for title, names in found.items() if names]


def _title(module: str) -> str:
    """Return the title of the longest path that contains the module."""
    place = module.removeprefix("graphuq.")
    titles = {path: title for title, paths in GROUPS.items() for path in paths}
    above = [path for path in titles if f"{place}.".startswith(f"{path}.")]
    return titles[max(above, key=len)] if above else MORE


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
    """Write ``index.rst`` if it has changed, and delete pages of removed names."""
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
