"""Configuration of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import mathematics
import plain_text
import reference

import graphuq

project = "graphuq"
author = copyright = "The graphuq developers"  # noqa: A001
version = release = graphuq.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
exclude_patterns = ["_build", "_ext"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

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
html_math_renderer = "drawn"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_sidebars = {"index": [], "tutorial": [], "reproduction/*": []}

reference.write(Path(__file__).parent / "reference")


def setup(app: object) -> None:
    """Register the extensions in _ext."""
    mathematics.setup(app)
    plain_text.setup(app)
