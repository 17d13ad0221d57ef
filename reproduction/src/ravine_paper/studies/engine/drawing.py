"""Figures without a window, saved whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ravine_paper._files import replace_file

__all__ = ["BOX", "HIGHLIGHT", "INK", "MEAN", "create_figure", "save_figure", "style_axes"]

INK, BOX, HIGHLIGHT, MEAN = "#333333", "#c6dbef", "#0072b2", "#d55e00"


def create_figure(**options: Any) -> Any:
    """Create a matplotlib figure that does not belong to a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: Path) -> Path:
    """Save a figure, whole or not at all, and return its path."""
    with replace_file(path) as part:
        figure.savefig(part, dpi=150, facecolor="white")
    return path


def style_axes(axes: Any, grid: Literal["both", "x", "y"] = "both", colour: str = "#e5e5e5") -> None:
    """Draw a light grid behind the data and remove the upper and right spines."""
    axes.grid(axis=grid, color=colour, lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
