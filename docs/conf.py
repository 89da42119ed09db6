"""Configuration of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

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
exclude_patterns = ["_build", "extensions"]
templates_path = ["templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Single backticks in docstrings name things of the package.
default_role = "py:obj"
add_module_names = False
highlight_language = "none"  # formulas are no code; examples know what they are
autodoc_typehints = "none"  # the docstrings say them, with shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc shows them

# Nothing that a page shows is fetched from elsewhere: formulas are drawn into it, and the theme
# brings its own fonts. So the site is built, and read, without a network.
html_theme = "pydata_sphinx_theme"
html_math_renderer = "drawn"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_sidebars = {"index": [], "tutorial": [], "theory": [], "reproduction": []}

reference.write(Path(__file__).parent / "reference")


def setup(app: object) -> None:
    """Add what this folder brings to Sphinx."""
    mathematics.setup(app)
    plain_text.setup(app)
