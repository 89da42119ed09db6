"""Progress bars."""

from __future__ import annotations

import warnings
from typing import Any


def progress_bar(total: int, shown: bool, unit: str) -> Any:
    """Return a bar, a context manager to be updated, which shows nothing unless ``shown``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets: plain text will do
        from tqdm.auto import tqdm
    return tqdm(total=total, disable=not shown, unit=unit, leave=False)
