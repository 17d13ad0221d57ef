"""Colours, marks and text sizes of all displays, and the lazy import of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ravine.explain import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GREY, PALE = "#333333", "#8a8a8a", "#d9d9d9"
# Okabe and Ito's colours, which remain distinct under the common kinds of colour blindness; the first two also differ
# in grey. Markers and hatches differ as well, so that colour is never needed.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "ooo", "+++")
ACCENT = "#d55e00"

INSTALL = "pip install 'ravine[plot]'"


def import_pyplot() -> Any:
    """Import pyplot, or raise an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"Drawing needs matplotlib: {INSTALL}") from error
    return plt


def find_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return the figure of the axes and the axes; new ones of this size if ``ax`` is None."""
    if ax is None:
        return import_pyplot().subplots(figsize=size, layout="constrained")  # type: ignore[no-any-return]
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(f"ax must be matplotlib axes or None, got {type(ax).__name__}.")
    return ax.get_figure(), ax


def measure_width(ax: Any) -> float:
    """Return the width of the axes in inches."""
    return float(ax.get_position().width * ax.get_figure().get_figwidth())


def choose_text_size(ax: Axes) -> float:
    """Return a text size in points for the width of the axes, from 7 to 11."""
    return float(min(max(6.0 + 0.6 * measure_width(ax), 7.0), 11.0))


def tidy_axes(ax: Axes, size: float, *, hidden: tuple[str, ...] = ("top", "right")) -> None:
    """Hide some spines and draw the others and the ticks in grey."""
    ax.spines[list(hidden)].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    ax.tick_params(labelsize=size - 1.0, color=GREY, labelcolor=INK)


def set_title(ax: Axes, title: str | None, default: str, size: float) -> None:
    """Write the title of the user, or the default, on the left above the axes."""
    ax.set_title(default if title is None else title, loc="left", fontsize=size + 1.0, color=INK)


def draw_legend_below(ax: Any, handles: list[Any], down: float, size: float, **options: Any) -> Any:
    """Draw a legend ``down`` points below the axes, whatever their height, and keep those that are there."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0.0, -down / 72.0, ax.get_figure().dpi_scale_trans)
    made = ax.legend(
        handles=handles, bbox_transform=ax.transAxes + below, frameon=False, fontsize=size - 1.0, borderaxespad=0.0,
        **options,
    )  # fmt: skip
    ax.legend_ = None  # otherwise the next legend would replace it
    ax.add_artist(made)
    made.set_clip_on(False)  # otherwise a layout engine would not make room for it
    return made


def choose_mark(k: int) -> tuple[str, str, str]:
    """Return colour, marker and hatch of the k-th label; pairs of colour and marker repeat only after 64 labels."""
    shifted = (k + k // len(COLOURS)) % len(MARKERS)
    return COLOURS[k % len(COLOURS)], MARKERS[shifted], HATCHES[shifted]


def choose_hatch_colour(colour: str) -> str:
    """Return white for dark colours and dark grey for light ones, so that a hatch is visible on every colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 150.0 else INK


def format_number(x: float) -> str:
    """Format a non-negative number for reading: three significant digits, or fewer for very small and large numbers."""
    if x >= 1e6:
        return f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{x:.0f}" if x >= 100.0 else f"{x:.2g}" if x < 0.095 else f"{x:.3g}"


def shorten_name(name: object, most: int) -> str:
    """Shorten a name to ``most`` characters and escape dollar signs, which would start a formula."""
    return shorten(name, most).replace("$", r"\$")
