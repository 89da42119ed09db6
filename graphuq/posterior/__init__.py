"""Results: the statistics of every node, and what users ask of them."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Import `graphuq.label_studio` at first use."""
    if name == "label_studio":
        return importlib.import_module("graphuq.posterior.label_studio")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
