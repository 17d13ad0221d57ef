"""Figures of projected densities, one panel for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ravine.plotting import HyperplaneDisplay
from ravine_paper.studies.engine.drawing import INK, create_figure, save_figure
from ravine_paper.studies.engine.errors import translate_file_errors
from ravine_paper.studies.pursuit.tasks import Panel

__all__ = ["draw_panels"]


def draw_panels(panels: Sequence[Panel], path: Path, n_columns: int) -> Path:
    """Draw the panels of a figure and save it, in a folder that is created if it does not exist."""
    n_rows = -(-len(panels) // n_columns)
    figure = create_figure(figsize=(6.4 * n_columns, 5.2 * n_rows))
    for axes, panel in zip(np.ravel(figure.subplots(n_rows, n_columns)), panels, strict=True):
        display = HyperplaneDisplay.from_direction(
            panel.X, panel.normal, panel.offset, panel.y, alpha=panel.alpha, bandwidth=panel.bandwidth, ax=axes,
            layout="overlaid", title="", max_rows=len(panel.X),
        )  # fmt: skip
        depth = display.relative_depth
        words = f"relative depth {depth:.2f}" if depth > 0 else "not between two modes"
        axes.set_title(f"{panel.title}; {words}", loc="left", fontsize=10, color=INK)
    with translate_file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return save_figure(figure, path)
