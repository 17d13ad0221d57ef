"""The one domain object: a hyperplane and what is known about it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.rows import as_rows

__all__ = ["Hyperplane", "html_number", "html_table", "html_wrapped"]

# Of the drawing in notebooks: weights that are drawn, width and height.
MOST_BARS, WIDTH, HEIGHT = 24, 240.0, 56.0


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """The hyperplane {x : normal·x = offset} and the density on it.

    Parameters
    ----------
    normal : ndarray of shape (d,)
        Unit vector. In clustering it points to the smaller side, in classification to the second class.
    offset : float
        ``normal·x`` on the hyperplane. Infinite for the hyperplane that splits nothing.
    density : float
        Density integrated along the hyperplane, Î(v, b) of eq. (3): an exact sum.
    relative_depth : float
        How far it lies below the lower of the two adjacent modes of the projected density (eq. (30)); 0 if it does
        not separate two modes.
    bandwidth : float
        Standard deviation h of the kernel.
    alpha : float
        Half-width of the interval F(v) for the offset, in standard deviations.
    point : ndarray of shape (d,), optional
        A point on the hyperplane near the data: distances are measured from it, so that a far origin costs no digits.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import Hyperplane
    >>> plane = Hyperplane(np.array([0.6, 0.8]), offset=1.0)
    >>> plane.distance([[0.0, 0.0], [3.0, 4.0]])
    array([-1.,  4.])
    >>> plane.side([[0.0, 0.0], [3.0, 4.0]])
    array([0, 1])
    """

    normal: Array
    offset: float
    density: float = np.nan
    relative_depth: float = np.nan
    bandwidth: float = np.nan
    alpha: float = np.nan
    point: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        normal = np.array(self.normal, dtype=np.float64)
        if normal.ndim != 1 or not abs(math.sqrt(float(normal @ normal)) - 1.0) < 1e-6:
            raise ValueError("normal must be a vector of length 1.")
        normal.flags.writeable = False
        object.__setattr__(self, "normal", normal)
        if self.splits:
            point = np.zeros(len(normal)) if self.point is None else np.array(self.point, dtype=np.float64)
            # The offset rules: a point that is off by more than its own rounding is moved onto the hyperplane.
            gap = self.offset - float(normal @ point)
            if abs(gap) > 1e-12 * float(np.abs(point).max()):
                point += gap * normal
            point.flags.writeable = False
            object.__setattr__(self, "point", point)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # pickling does not keep this
            object.__setattr__(self, name, value)

    @classmethod
    def at_infinity(cls, normal: ArrayLike, bandwidth: float = np.nan, alpha: float = np.nan) -> Hyperplane:
        """The hyperplane that leaves everything on one side: the answer where no split was found."""
        return cls(np.asarray(normal, dtype=np.float64), np.inf, np.nan, 0.0, bandwidth, alpha)

    def reversed(self) -> Hyperplane:
        """Return the same hyperplane with the normal pointing to the other side."""
        return replace(self, normal=-self.normal, offset=-self.offset)

    @property
    def splits(self) -> bool:
        """Whether it is a finite hyperplane at all."""
        return bool(np.isfinite(self.offset))

    def distance(self, X: Any, rows: NDArray[np.intp] | None = None) -> Array:
        """Signed Euclidean distances of the rows of X (or of some), positive on the side the normal points to."""
        values = as_rows(X)
        if len(values.shape) != 2 or values.shape[1] != len(self.normal):
            raise ValueError(f"X must have {len(self.normal)} columns, got an array of shape {values.shape}.")
        if not self.splits:
            return np.full(values.shape[0] if rows is None else len(rows), -self.offset)
        assert self.point is not None
        return values.project(self.point, self.normal, rows)

    def beyond(self, X: Any, rows: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Whether the rows of X (or some) lie on the side the normal points to."""
        if not self.splits:
            return self.distance(X, rows) > 0.0
        assert self.point is not None
        return as_rows(X).sides(self.point, self.normal, rows)

    def side(self, X: ArrayLike) -> NDArray[np.intp]:
        """1 for the rows of X on the side the normal points to, else 0."""
        return (self.distance(X) > 0.0).astype(np.intp)

    def margin(self, X: ArrayLike) -> float:
        """Return the distance to the nearest row of X (eq. (18))."""
        return float(np.min(np.abs(self.distance(X))))

    def _repr_html_(self) -> str:
        return _html(self)

    def report(self, feature_names: ArrayLike | None = None, n_features: int = 6) -> str:
        """Describe the hyperplane in a few lines of plain words."""
        if not self.splits:
            return "No split: no hyperplane was found that separates two groups of rows."
        order = np.argsort(-np.abs(self.normal), kind="stable")[:n_features]
        names = (
            [f"x{j}" for j in range(len(self.normal))] if feature_names is None else np.asarray(feature_names).tolist()
        )
        terms = " ".join(f"{self.normal[j]:+.3f}·{names[j]}" for j in order)
        rest = len(self.normal) - len(order)
        return "\n".join(
            [
                f"Minimum density hyperplane in {len(self.normal)} dimensions",
                f"  direction       {terms}" + (f" + {rest} smaller" if rest > 0 else ""),
                f"  offset          {self.offset:.6g}",
                f"  density         {self.density:.4g}  (integrated along the hyperplane)",
                f"  relative depth  {self.relative_depth:.4g}  (both adjacent modes are at least "
                f"{1.0 + self.relative_depth:.4g} times as dense)",
                f"  bandwidth       {self.bandwidth:.4g}",
                f"  found at alpha  {self.alpha:.3g}",
            ]
        )


# ------------------------------------------------------------------------------------------------- notebooks


def _html(plane: Hyperplane) -> str:
    """What is known of a hyperplane as a table, beside the largest weights of its normal."""
    if not plane.splits:
        return html_wrapped(f"Hyperplane in {len(plane.normal)} dimensions", "<p>No split: it lies at infinity.</p>")
    rows = [
        ("offset", html_number(plane.offset)),
        ("density", html_number(plane.density)),
        ("relative depth", html_number(plane.relative_depth)),
        ("bandwidth", html_number(plane.bandwidth)),
        ("alpha", html_number(plane.alpha)),
    ]
    return html_wrapped(f"Hyperplane in {len(plane.normal)} dimensions", html_table(rows) + _weights(plane))


def html_number(x: float) -> str:
    """Four digits, or a dash for what is not known."""
    return "–" if math.isnan(x) else f"{x:.4g}"


def html_table(rows: Iterable[tuple[object, object]]) -> str:
    """Names and values, escaped."""
    left, right = (
        "text-align:left;font-weight:normal;opacity:.75;padding:1px 12px 1px 0",
        "text-align:right;padding:1px 0",
    )
    cells = "".join(
        f'<tr><th style="{left}">{escape(str(name))}</th><td style="{right}">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f'<table style="border:0;border-collapse:collapse;margin:0 16px 0 0">{cells}</table>'


def html_wrapped(title: str, body: str) -> str:
    """A title above parts that stand side by side, or below each other on a narrow page."""
    return (
        '<div style="font-family:sans-serif;font-size:13px;color:inherit;max-width:46em">'
        f'<div style="font-weight:bold;margin-bottom:4px">{escape(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{body}</div></div>'
    )


def _weights(plane: Hyperplane) -> str:
    """The largest weights of the normal as bars; their features are named when the mouse rests on them."""
    order = np.argsort(-np.abs(plane.normal), kind="stable")[:MOST_BARS]
    step, half = WIDTH / len(order), 0.5 * HEIGHT
    largest = float(np.abs(plane.normal).max())
    bars = []
    for place, j in enumerate(order.tolist()):
        weight = float(plane.normal[j])
        length = max(abs(weight) / largest * (half - 2.0), 0.5)
        y = half - length if weight >= 0.0 else half
        # Filled upwards, hollow downwards: the sign is seen without colour.
        fill = 'fill="currentColor"' if weight >= 0.0 else 'fill="none" stroke="currentColor"'
        bars.append(
            f'<rect x="{place * step + 0.1 * step:.1f}" y="{y:.1f}" width="{max(0.8 * step, 0.5):.1f}" '
            f'height="{length:.1f}" {fill} opacity="0.8"><title>x{j}: {weight:+.4f}</title></rect>'
        )
    rest = len(plane.normal) - len(order)
    caption = f"the {len(order)} largest of {len(plane.normal)} weights" if rest else "weights of the normal"
    return (
        f'<div><svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-label="{caption}"><line x1="0" x2="{WIDTH:.0f}" y1="{half}" y2="{half}" stroke="currentColor" '
        f'opacity="0.4"/>{"".join(bars)}</svg><div style="opacity:.75">{caption}</div></div>'
    )
