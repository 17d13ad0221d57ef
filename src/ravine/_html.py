"""HTML fragments for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from ravine._typing import Array

__all__ = ["draw_weights", "format_number", "make_section", "make_table"]

# Bar chart of weights: most bars, and its size in pixels.
MAX_BARS, WIDTH, HEIGHT = 24, 240.0, 56.0


def format_number(x: float) -> str:
    """Format a number with four digits, or NaN as a dash."""
    return "–" if math.isnan(x) else f"{x:.4g}"


def make_table(rows: Iterable[Sequence[object]], heads: Sequence[object] = ()) -> str:
    """Make a table of names and values, with heads of the columns if given; all are escaped."""
    left = "text-align:left;font-weight:normal;opacity:.75;padding:1px 12px 1px 0;vertical-align:top"
    right = "text-align:right;padding:1px 0 1px 12px"

    def make_cells(name: object, values: Sequence[object], tag: str) -> str:
        cells = "".join(f'<{tag} style="{right};font-weight:normal">{escape(str(one))}</{tag}>' for one in values)
        return f'<tr><th style="{left}">{escape(str(name))}</th>{cells}</tr>'

    cells = make_cells(heads[0], heads[1:], "th") if heads else ""
    cells += "".join(make_cells(row[0], row[1:], "td") for row in rows)
    return f'<table style="border:0;border-collapse:collapse;margin:0 16px 0 0">{cells}</table>'


def make_section(title: str, body: str) -> str:
    """Put a title above elements that are shown side by side, or below each other on a narrow page."""
    return (
        '<div style="font-family:sans-serif;font-size:13px;color:inherit;max-width:46em;margin-bottom:8px">'
        f'<div style="font-weight:bold;margin-bottom:4px">{escape(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{body}</div></div>'
    )


def draw_weights(weights: Array, names: Sequence[str]) -> str:
    """Draw the largest weights as bars with the names of their features as tooltips."""
    order = np.argsort(-np.abs(weights), kind="stable")[:MAX_BARS]
    step, half = WIDTH / len(order), 0.5 * HEIGHT
    largest = float(np.abs(weights).max())
    bars = []
    for place, j in enumerate(order.tolist()):
        weight = float(weights[j])
        length = max(abs(weight) / largest * (half - 2.0), 0.5)
        y = half - length if weight >= 0.0 else half
        # Filled upwards, hollow downwards: the sign is visible without colour.
        fill = 'fill="currentColor"' if weight >= 0.0 else 'fill="none" stroke="currentColor"'
        bars.append(
            f'<rect x="{place * step + 0.1 * step:.1f}" y="{y:.1f}" width="{max(0.8 * step, 0.5):.1f}" '
            f'height="{length:.1f}" {fill} opacity="0.8"><title>{escape(names[j])}: {weight:+.4f}</title></rect>'
        )
    caption = "weights of the normal"
    if len(order) < len(weights):
        caption = f"the {len(order)} largest of {len(weights)} weights"
    return (
        f'<div><svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-label="{caption}"><line x1="0" x2="{WIDTH:.0f}" y1="{half}" y2="{half}" stroke="currentColor" '
        f'opacity="0.4"/>{"".join(bars)}</svg><div style="opacity:.75">{caption}</div></div>'
    )
