"""What plots draw on, and the colours that they share.

Colours are told apart by the colour-blind (Okabe and Ito 2008; cividis: Nunez, Anderton and Renslow
2018) and differ in lightness too, or come with a shape that differs, for print in grey.
"""

from __future__ import annotations

from typing import Any

RIGHT, WRONG = "#0072b2", "#d55e00"

# From surely classes[0], dark, to surely classes[1], bright.
COLOURS = "cividis"


def new_axes(ax: Any) -> Any:
    """Return ``ax``, or the only axes of a new figure."""
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be one matplotlib Axes, got {type(ax).__name__}")
    return ax


def new_figure(figure: Any, width: float, height: float) -> Any:
    """Return ``figure``, or a new one, of so many inches."""
    from matplotlib.figure import FigureBase

    if figure is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=(width, height), layout="constrained")
    if not isinstance(figure, FigureBase):
        raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
    return figure


def plain(text: Any) -> str:
    """Return a name of the user's as matplotlib shows it, dollars too."""
    return str(text).replace("$", r"\$")


def colour_bar(drawn: Any, ax: Any, posterior: Any) -> None:
    """Say beside ``ax`` what the colours of posterior means stand for."""
    low, high = map(plain, posterior.labels.classes)
    ax.figure.colorbar(drawn, ax=ax, label=f"posterior mean s: -1 surely {low}, +1 surely {high}")
