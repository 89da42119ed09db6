"""The objects and files of other packages: AnnData, scikit-activeml, Label Studio."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Import `graphuq.label_studio` and `graphuq.skactiveml` at first use.

    The latter needs scikit-activeml.
    """
    if name in {"label_studio", "skactiveml"}:
        return importlib.import_module(f"graphuq.adapters.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
