"""The version of the package, as installed."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("graphuq")
