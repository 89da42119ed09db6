"""Every public name has an example, and every file and function named in the pages exists.

The rule: every public class and function has its own example. A public method or property of a
public class has its own example, or the example of its class, of a base class, or of the base class
of samplers and likelihoods uses it. A public module is checked name by name. doctest runs the
examples, and ``make docs`` checks the links between pages.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from references.places import REFERENCE, missing_references

import graphuq as gq
from benchmarks.papers import page as paper_pages
from graphuq.likelihoods import Likelihood
from graphuq.samplers.protocol import Sampler

PUBLIC = [name for name in gq.__all__ if name != "__version__"]
ROOT = Path(gq.__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md")]
)
PROTOCOLS = {"graphuq.samplers.": Sampler, "graphuq.likelihoods.": Likelihood}


def own_docstring(thing):
    """The class's own docstring; inspect.getdoc would also take that of a base class."""
    return vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__


def example_of(thing):
    """The source of the examples in the docstring."""
    examples = doctest.DocTestParser().get_examples(own_docstring(thing) or "")
    return "".join(example.source for example in examples)


def names_used(source):
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}


def function_behind(member):
    """The function that a method, a property or the like runs; None for data."""
    for place in ("__func__", "fget", "func", "fn"):
        member = getattr(member, place, None) or member
    return member if inspect.isroutine(member) or hasattr(member, "py_func") else None


def members(cls):
    """The public methods and properties of a class that are defined in graphuq, by name."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            behind = function_behind(member)
            ours = behind is not None and (getattr(behind, "__module__", None) or "").startswith(
                "graphuq"
            )
            if ours and not name.startswith("_"):
                found[name] = behind
    return found


def contents(module):
    """The public names of a module: its ``__all__``, or the functions and classes defined in it."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
    ]
    things = (getattr(module, name) for name in names)
    return [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]


def public():
    found = []
    for name in PUBLIC:
        thing = getattr(gq, name)
        found += contents(thing) if inspect.ismodule(thing) else [thing]
    return sorted(set(found), key=lambda thing: (thing.__module__, thing.__name__))


def undocumented(cls):
    """The members of a class without a docstring, or not shown in any example."""
    shown = set()
    protocols = [p for start, p in PROTOCOLS.items() if cls.__module__.startswith(start)]
    for place in (*cls.__mro__, *protocols):
        if place.__module__.startswith("graphuq"):
            shown |= names_used(example_of(place))
    return sorted(
        name
        for name, member in members(cls).items()
        if not (member.__doc__ and (example_of(member) or name in shown))
    )


@pytest.mark.parametrize("thing", public(), ids=lambda thing: thing.__qualname__)
def test_public_names_have_examples(thing):
    assert example_of(thing), f"{thing.__qualname__} has no example"
    if inspect.isclass(thing):
        assert undocumented(thing) == []


def test_public_modules_have_docstrings():
    for name in PUBLIC:
        if inspect.ismodule(getattr(gq, name)):
            assert getattr(gq, name).__doc__


class Base:
    """A base.

    >>> Base().shown()
    """

    def shown(self):
        """Return nothing."""


Base.__module__ = Base.shown.__module__ = "graphuq.samplers.invented"


class Silent(Base):
    """Named in prose: Silent().hidden, and `start`."""

    def hidden(self):
        """Return nothing."""

    def start(self):
        """Return nothing: the protocol's example shows it."""

    def wordless(self): ...

    @property
    def own(self):
        """Nothing.

        >>> Silent().own
        """


Silent.__module__ = Base.__module__
for routine in (Silent.hidden, Silent.start, Silent.wordless, Silent.own.fget):
    routine.__module__ = Base.__module__


def test_missing_examples_are_found():
    assert not example_of(Silent)
    assert undocumented(Silent) == ["hidden", "wordless"]


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_functions_named_in_pages_exist(page):
    assert missing_references(page.read_text(encoding="utf-8")) == []


LINK = re.compile(r"\]\((?!https?:|#)(?:path:)?([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page):
    """Sphinx checks its own pages, but neither README nor CONTRIBUTING."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    made = ("reference/", "names/", "items.md")  # when the documentation is built
    assert [
        target
        for target in targets
        if not (page.parent / target).exists() and not any(name in target for name in made)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_comparison_turns_into_a_quote(page):
    """A line that starts with > and a number renders as a block quote."""
    assert re.findall(r"^> *\d.*", page.read_text(encoding="utf-8"), re.MULTILINE) == []


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda p: p.stem)
def test_each_how_to_page_shows_an_error_and_its_remedy(page):
    text = page.read_text(encoding="utf-8")
    errors = r"^(ValueError|TypeError|FileNotFoundError)|    \w+Error: |graphuq sample: how should"
    assert page.stem == "index" or re.search(errors, text, re.MULTILINE)


def test_missing_references_are_found():
    text = (
        "`graphuq/priors/prior.py` `graphuq/priors/prior.py::Prior.sigma` `graphuq/priors.py` "
        "`graphuq/priors/prior.py::Prior.sigmas`"
    )
    assert missing_references(text) == [
        "graphuq/priors.py",
        "graphuq/priors/prior.py::Prior.sigmas",
    ]


def test_the_map_of_contributors_has_every_folder_and_files_that_exist():
    text = (DOCS / "development/architecture.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in text.splitlines() if row.startswith("| `graphuq/")]
    listed = {cells[1].strip(" `/"): re.findall(r"`([\w/]+\.py)`", cells[3]) for cells in rows}

    folders = {path.parent for path in ROOT.glob("graphuq/*/*.py")}
    assert {path.relative_to(ROOT).as_posix() for path in folders} <= listed.keys()
    for folder, files in listed.items():
        assert [name for name in files if not (ROOT / folder / name).is_file()] == [], folder
    named = re.findall(r"`(\w+/[\w/]+\.\w+)`", text)
    assert named
    places = (ROOT, ROOT / "graphuq")
    assert [name for name in named if not any((at / name).exists() for at in places)] == []


BENCHMARKS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("benchmarks/**/*.py"))
}
COMMANDS = [name for name, text in BENCHMARKS.items() if "def main(" in text]


@pytest.mark.parametrize("name", COMMANDS)
def test_benchmarks_name_their_command(name):
    assert f"python -m {name}" in ast.get_docstring(ast.parse(BENCHMARKS[name]))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_import_names_that_exist(name):
    for node in ast.walk(ast.parse(BENCHMARKS[name])):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("graphuq"):
            module = importlib.import_module(node.module)
            assert [a.name for a in node.names if not hasattr(module, a.name)] == []


def test_the_makefile_runs_benchmarks_that_exist():
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    study, reproduce, papers = (
        re.search(rf"^{name} = (.*)$", text, re.M)[1].split()
        for name in ("STUDY", "REPRODUCE", "PAPERS")
    )
    assert [f"uq_paper/{name}" for name in reproduce] == list(paper_pages.PAGES["index"])
    assert papers == list(paper_pages.PAGES["other-papers"])

    run = {f"benchmarks.{name}" for name in study}
    run |= {f"benchmarks.papers.uq_paper.{name}" for name in reproduce}
    run |= {f"benchmarks.papers.{name}" for name in [*papers, "page"]}
    extra = re.compile(r"graphuq\[peers\]|pip install cosmic-ray")
    by_hand = {name for name in COMMANDS if extra.search(BENCHMARKS[name])}
    assert run == set(COMMANDS) - by_hand


def test_the_workflow_tests_the_lowest_versions_as_the_makefile_does():
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    tests = re.search(r"^LOWEST_TESTS = (.*)$", text, re.M)[1].split()
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert tests
    assert " ".join(tests) in " ".join(workflow.split())


def test_the_theory_pages_have_every_equation_of_the_paper_with_its_place():
    pages = sorted((DOCS / "theory").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]

    blocks = [
        block
        for text in texts
        for block in re.split(r"^(?=\*\*Eq\. \()", text, flags=re.MULTILINE)[1:]
    ]

    numbers = []
    for block in blocks:
        title = block[: block.index("**", 2)]
        numbers += [int(n) for n in re.findall(r"\((\d+)\)", title)]
        assert REFERENCE.search(block), f"{title} has no place in the code"
    assert sorted(numbers) == list(range(1, 17))


def test_the_code_cites_only_equations_of_the_theory_pages():
    cited = set()
    for path in ROOT.glob("graphuq/**/*.py"):
        if "classifiers" not in path.parts:  # these cite the equations of other papers
            cited |= set(re.findall(r"\beqs?\. \((\d+)\)", path.read_text(encoding="utf-8")))
    assert cited
    assert cited <= {str(n) for n in range(1, 17)}


def test_every_public_name_has_a_place_in_the_reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "_ext/reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    listed = [name for _, names in reference.groups() for name in names]
    assert sorted(listed) == sorted(set(listed))
    assert {f"graphuq.{name}" for name in PUBLIC if not inspect.ismodule(getattr(gq, name))} <= (
        set(listed)
    )
