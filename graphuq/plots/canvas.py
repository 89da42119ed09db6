"""Axes, figures and colors that all plots share.

The colors are safe for color blindness (Okabe and Ito 2008; cividis: Nunez, Anderton and Renslow
2018). They also differ in lightness, or come with different markers, for gray prints.
"""

from __future__ import annotations

from typing import Any

RIGHT, WRONG = "#0072b2", "#d55e00"

# Colors of the posterior mean: dark is certainly classes[0], bright is certainly classes[1].
COLORMAP = "cividis"


def new_axes(ax: Any) -> Any:
    """Return ``ax``, or the only axes of a new figure if it is None."""
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be one matplotlib Axes, got {type(ax).__name__}: take one of "
            "figure.subplots(), or leave ax out"
        )
    return ax


def new_figure(figure: Any, width: float, height: float) -> Any:
    """Return ``figure``, or a new figure of this size in inches if it is None."""
    from matplotlib.figure import FigureBase

    if figure is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=(width, height), layout="constrained")
    if not isinstance(figure, FigureBase):
        raise TypeError(
            f"figure must be a matplotlib Figure, got {type(figure).__name__}: take ax.figure, or "
            "leave figure out"
        )
    return figure


def escape(text: Any) -> str:
    """Return text in which matplotlib does not read dollar signs as mathematics."""
    return str(text).replace("$", r"\$")


def add_color_bar(image: Any, ax: Any, posterior: Any) -> None:
    """Add a color bar beside ``ax`` that explains the colors of posterior means."""
    low, high = map(escape, posterior.labels.classes)
    label = f"posterior mean s: -1 certainly {low}, +1 certainly {high}"
    ax.figure.colorbar(image, ax=ax, label=label)


def add_entropy_bar(image: Any, ax: Any, part: str) -> None:
    """Add a color bar beside ``ax`` that explains the shades of a part of the entropy."""
    meaning = {
        "total": "total entropy",
        "aleatoric": "aleatoric entropy: no label resolves it",
        "epistemic": "epistemic entropy: more labels resolve it",
    }
    ax.figure.colorbar(image, ax=ax, label=f"{meaning[part]}, nats")
