"""Configuration of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import command_line
import gallery
import mathematics
import paper_items
import plain_text
import reference

import graphuq

project = "graphuq"
author = copyright = "The graphuq developers"  # noqa: A001
version = release = graphuq.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
exclude_patterns = [
    "_build", "_ext", ".jupyter_cache", "jupyter_execute", "figures", "numbers", "paper.md",
]  # fmt: skip
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Notebooks run when the documentation is built; one that has not changed is not run again.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

# Single backticks in docstrings refer to names of the package.
default_role = "py:obj"
add_module_names = False
highlight_language = "none"  # formulas are not code; doctest examples are recognized
autodoc_typehints = "none"  # docstrings have the types, with shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc does

# Pages load nothing from elsewhere: formulas are drawn as SVG, and the theme has its own fonts. The
# site can be built and read without a network.
html_theme = "pydata_sphinx_theme"
html_title = f"graphuq {release.split('+')[0]}"
html_math_renderer = "drawn"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_theme_options = {
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_sidebars = {"index": [], "tutorial": [], "reproduction/*": [], "notebooks": []}

reference.write(Path(__file__).parent / "reference")
command_line.write(Path(__file__).parent / "reference/command-line.md")
gallery.write(Path(__file__).parent / "gallery")
paper_items.write(Path(__file__).parent / "reproduction/items.md")


def setup(app: object) -> None:
    """Register the extensions in _ext."""
    gallery.setup(app)
    mathematics.setup(app)
    plain_text.setup(app)
