"""Colours, marks and sizes that all displays share; the only place that knows how matplotlib is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ACCENT",
    "COLOURS",
    "GREY",
    "HATCHES",
    "INK",
    "MARKERS",
    "PALE",
    "count",
    "figure_and_axes",
    "hatch_ink",
    "mark",
    "merged",
    "number",
    "pyplot",
    "shortened",
    "text_size",
    "tidy",
]

INK, GREY, PALE = "#333333", "#8a8a8a", "#d9d9d9"
# Okabe and Ito's colours, which people with any common colour blindness can tell apart; the first two differ in grey,
# too. Marks differ as well, so that colour is never needed.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "ooo", "+++")
ACCENT = "#d55e00"

INSTALL = "pip install 'ravine[plot]'"


def pyplot() -> Any:
    """The module pyplot, imported when something is drawn; one line says what to install if it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"Drawing needs matplotlib: {INSTALL}") from error
    return plt


def figure_and_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    """The axes given and their figure, or new ones."""
    if ax is None:
        return pyplot().subplots(figsize=size, layout="constrained")  # type: ignore[no-any-return]
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(f"ax must be matplotlib axes or None, got {type(ax).__name__}.")
    return ax.get_figure(), ax  # type: ignore[return-value]


def text_size(ax: Axes) -> float:
    """Points that suit the width of the axes: small pictures get smaller text, within what can be read."""
    figure = ax.get_figure()
    assert figure is not None
    inches = ax.get_position().width * figure.get_figwidth()  # type: ignore[union-attr]
    return float(min(max(6.0 + 0.6 * inches, 7.0), 11.0))


def tidy(ax: Axes, size: float, *, hidden: tuple[str, ...] = ("top", "right")) -> None:
    """Few lines, quiet ticks."""
    ax.spines[list(hidden)].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    ax.tick_params(labelsize=size - 1.0, color=GREY, labelcolor=INK)


def mark(k: int) -> tuple[str, str, str]:
    """Colour, marker and hatch of the k-th label; 64 pairs of colour and marker before any is used again."""
    shifted = (k + k // len(COLOURS)) % len(MARKERS)
    return COLOURS[k % len(COLOURS)], MARKERS[shifted], HATCHES[shifted]


def hatch_ink(colour: str) -> str:
    """White on dark colours and dark on light ones, so that a hatch shows on every colour, and in grey."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 150.0 else INK


def count(n: int) -> str:
    """A number of rows, its thousands set apart by a narrow space."""
    return f"{n:,}".replace(",", "\u202f")


def number(x: float) -> str:
    """A number that is read, not calculated with."""
    if x >= 1e6:
        return f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{x:.0f}" if x >= 100.0 else f"{x:.2g}" if x < 0.095 else f"{x:.2f}"


def shortened(name: object, most: int) -> str:
    """A name without line breaks and no longer than ``most`` characters; both of its ends are kept.

    A dollar sign would start a formula, so it is escaped.
    """
    text = " ".join(str(name).split())
    if len(text) > most:
        tail = (most - 1) // 3
        text = f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
    return text.replace("$", r"\$")


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments for matplotlib: ours, and what the user says instead."""
    return {**defaults, **(given or {})}
