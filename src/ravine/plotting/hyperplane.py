"""Display of a hyperplane, as in the figures of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.checks import check_choice, check_flag, check_number, check_weights
from ravine.explain import encode_any_labels, format_count, open_pipeline
from ravine.hyperplane import Hyperplane
from ravine.plotting import style
from ravine.plotting.subject import (
    View,
    check_direction,
    check_rows,
    choose_pair,
    compute_view,
    describe_tested,
    find_subject,
)
from ravine.search import BandwidthRule, check_bandwidth, check_penalty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows that are drawn by default.
MAX_ROWS = 5000
LAYOUTS = ("stacked", "overlaid")
# Labels that the legend lists, and labels that are written among the points.
MAX_NAMES, MAX_NAMES_INSIDE = 10, 20
# Smallest markers of a few labelled rows among many others, in square points.
MIN_LABELLED_AREA = 30.0
LEGEND: dict[str, Any] = {
    "loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "labelcolor": style.INK, "borderpad": 0.0, "columnspacing": 1.4,
    "handletextpad": 0.5, "alignment": "left",
}  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class HyperplaneDisplay:
    """A hyperplane as in the paper: the rows along and across its normal, and the projected density.

    The horizontal axis is the projection on the normal v, the vertical axis of the points the projection on the
    direction of largest variance orthogonal to v. Above, or on the same axes, are the projected density (solid) and the
    penalised density f_CL(v, ·) that MDP² minimises over the offset (dotted). The solid vertical line is the
    hyperplane; the interval F(v) = [μ - ασ, μ + ασ] of allowed offsets is shaded. The title gives the relative depth
    and the P-value of the split.

    Create displays with :meth:`from_estimator`, :meth:`from_hyperplane` or :meth:`from_direction`. The density is
    computed from all rows; if there are more than ``max_rows``, a fixed random sample is drawn as points, and the
    picture says so.

    Parameters
    ----------
    points : ndarray of shape (k,)
        Points at which the curves are evaluated.
    density : ndarray of shape (k,)
        Projected density at the points.
    index : ndarray of shape (k,) or None
        Penalised density f_CL(v, ·) at the points, eq. (10), without the labels of a classifier; None without
        ``alpha``.
    along, across : ndarray of shape (m,)
        Coordinates of the rows that are drawn. ``across`` is random if there is no variance orthogonal to v.
    rows : ndarray of shape (m,), int
        Indices of these rows in X.
    codes : ndarray of shape (m,), int
        Labels of these rows as positions in ``names``; -1 for unlabelled rows.
    names : list
        The labels.
    sizes : ndarray of shape (len(names) + 1,), int
        Number of rows with each label, counted over all rows; the last number counts unlabelled rows.
    normal : ndarray of shape (d,)
        The direction v.
    across_direction : ndarray of shape (d,) or None
        Direction of largest variance orthogonal to v; None if there is no such variance.
    offset : float
        Offset of the hyperplane; infinite if there is none.
    interval : tuple of two float, or None
        The interval F(v).
    relative_depth : float
        Relative depth, eq. (30); 0 if the hyperplane does not separate two modes of the density.
    alpha : float or None
        Half-width of F(v) in standard deviations.
    bandwidth : float
        Bandwidth of the density.
    n_rows : int
        Number of rows from which the density is computed.
    tested : str
        P-value of the split and whether the test shows it, as text; empty if it was not tested.
    pair : tuple of two labels or None
        Classes that the hyperplane separates, of a classifier of more than two.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_density_, ax_points_ : matplotlib Axes
    density_line_, index_line_ : matplotlib Line2D
        ``index_line_`` is None without ``alpha``.
    hyperplane_lines_ : list of matplotlib Line2D
        One in each axes; empty if there is no hyperplane.
    interval_ : list of matplotlib artists
    points_ : list of matplotlib PathCollection
        One for each label that is drawn, unlabelled rows first.
    name_texts_ : list of matplotlib Text
        Labels written among their rows, for three or more labels.
    note_ : matplotlib Text or None
        Note that only a sample of the rows is shown.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine.plotting import HyperplaneDisplay
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane().fit(X)
    >>> display = HyperplaneDisplay.from_estimator(mdh, X)
    >>> display.sizes.tolist()
    [60, 40, 0]
    >>> bool(abs(display.normal @ display.across_direction) < 1e-12)
    True
    """

    points: Array
    density: Array
    index: Array | None
    along: Array
    across: Array
    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    names: list[Any]
    sizes: NDArray[np.intp]
    normal: Array
    across_direction: Array | None
    offset: float
    interval: tuple[float, float] | None
    relative_depth: float
    alpha: float | None
    bandwidth: float
    n_rows: int
    tested: str = ""
    pair: tuple[Any, Any] | None = None

    # ------------------------------------------------------------------------------------------- data

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None,
        y: ArrayLike | None = None,
        *,
        node: int | None = None,
        pair: tuple[Any, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        max_rows: int = MAX_ROWS,
        **plot_options: Any,
    ) -> HyperplaneDisplay:
        """Draw the hyperplane of a fitted estimator.

        Parameters
        ----------
        estimator : MinimumDensityHyperplane, MinimumDensityClassifier, MinimumDensityTree or Pipeline
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows to show: those of the fit, which the estimator does not keep, or others. Rows outside of memory
            stay where they are; only their projections, one number for each row, are collected.
        y : array-like of shape (n_samples,), optional
            Labels for the colours; -1, None and NaN mark unlabelled rows. By default the predictions of the estimator
            or, for a tree, the two sides of the split.
        node : int, optional
            For a tree, the inner node whose split is shown, with the rows that reach it; by default the root.
        pair : tuple of two labels, optional
            For a classifier of more than two classes, the hyperplane of ``hyperplanes_`` that is shown, with the rows
            that are predicted as one of these two classes. By default the pair with the least deep valley.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the fit.
        max_rows : int, default=5000
            Largest number of rows that are drawn as points.
        **plot_options
            Options of :meth:`plot`.
        """
        opened = open_pipeline(estimator, X)
        estimator, X = opened.estimator, opened.X
        pair = choose_pair(estimator, pair)
        subject = find_subject(estimator, X, y, node=node, pair=pair)
        plane = subject.hyperplane
        weights = check_weights(sample_weight, subject.all_rows.shape[0])
        if weights is not None and subject.indices is not None:
            weights = weights[subject.indices]
        view = View(
            plane.normal,
            plane.offset,
            None if math.isnan(plane.alpha) else plane.alpha,
            "silverman" if math.isnan(plane.bandwidth) else plane.bandwidth,
            subject.penalty,
        )
        with subject.all_rows.session():
            contents = compute_view(subject.rows, subject.labels, view, weights, max_rows, subject.indices)
        return cls(**contents, tested=describe_tested(estimator, node), pair=pair).plot(**plot_options)

    @classmethod
    def from_hyperplane(
        cls,
        X: ArrayLike,
        hyperplane: Hyperplane,
        y: ArrayLike | None = None,
        *,
        bandwidth: BandwidthRule | None = None,
        alpha: float | None = None,
        sample_weight: ArrayLike | None = None,
        max_rows: int = MAX_ROWS,
        **plot_options: Any,
    ) -> HyperplaneDisplay:
        """Draw a hyperplane, for example one of a path (``path_[k].hyperplane``).

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
        hyperplane : Hyperplane
        y : array-like of shape (n_samples,), optional
            Labels for the colours; by default the sides of the hyperplane.
        bandwidth, alpha : optional
            Bandwidth and half-width of F(v); by default those stored in the hyperplane.
        sample_weight : array-like of shape (n_samples,), optional
        max_rows : int, default=5000
        **plot_options
            Options of :meth:`plot`.
        """
        if not isinstance(hyperplane, Hyperplane):
            raise TypeError(f"hyperplane must be a Hyperplane, got {hyperplane!r}; for a direction use from_direction.")
        known = None if math.isnan(hyperplane.bandwidth) else hyperplane.bandwidth
        return cls.from_direction(
            X, hyperplane.normal, hyperplane.offset, y,
            alpha=(None if math.isnan(hyperplane.alpha) else hyperplane.alpha) if alpha is None else alpha,
            bandwidth=(known or "silverman") if bandwidth is None else bandwidth,
            sample_weight=sample_weight, max_rows=max_rows, **plot_options,
        )  # fmt: skip

    @classmethod
    def from_direction(
        cls,
        X: ArrayLike,
        normal: ArrayLike,
        offset: float | None = None,
        y: ArrayLike | None = None,
        *,
        alpha: float | None = 0.9,
        bandwidth: BandwidthRule = "silverman",
        eta: float = 0.01,
        epsilon: float = 1.0 - 1e-6,
        sample_weight: ArrayLike | None = None,
        max_rows: int = MAX_ROWS,
        **plot_options: Any,
    ) -> HyperplaneDisplay:
        """Draw any direction, whether or not it separates anything.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
        normal : array-like of shape (n_features,)
            The direction v, of any length.
        offset : float, optional
            Offset of the hyperplane for v of length 1; infinite for none. By default the minimiser of the penalised
            density, which MDP² takes for this direction; without ``alpha``, no hyperplane is drawn by default.
        y : array-like of shape (n_samples,), optional
            Labels for the colours; by default the sides of the hyperplane.
        alpha : float or None, default=0.9
            Half-width of F(v) in standard deviations; None for no interval and no penalised density.
        bandwidth : "silverman", float or callable, default="silverman"
            As for :class:`MinimumDensityHyperplane`.
        eta, epsilon : float, default=0.01, 1-1e-6
            Parameters of the penalty, eq. (10).
        sample_weight : array-like of shape (n_samples,), optional
        max_rows : int, default=5000
        **plot_options
            Options of :meth:`plot`.
        """
        rows = check_rows(X)
        if offset is not None and not (isinstance(offset, int | float | np.number) and not math.isnan(offset)):
            raise ValueError(f"offset must be a number (infinite for no hyperplane) or None, got {offset!r}.")
        labels = None if y is None else encode_any_labels(y, rows.shape[0])
        view = View(
            check_direction(normal, rows.shape[1]),
            None if offset is None else float(offset),
            None if alpha is None else check_number("alpha", alpha, low=0.0),
            check_bandwidth(bandwidth),
            check_penalty(eta, epsilon),
        )
        with rows.session():
            contents = compute_view(rows, labels, view, check_weights(sample_weight, rows.shape[0]), max_rows)
        return cls(**contents).plot(**plot_options)

    # ------------------------------------------------------------------------------------------- picture

    def plot(
        self,
        ax: Axes | None = None,
        *,
        layout: str = "stacked",
        title: str | None = None,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
        scatter_kw: Mapping[str, Any] | None = None,
    ) -> HyperplaneDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure. ``"stacked"`` divides them in two.
        layout : {"stacked", "overlaid"}, default="stacked"
            The density above the points, or both in one panel as in the paper, with the scale of the density on the
            left and that of the points on the right.
        title : str, optional
            Title; by default the relative depth and the P-value, "" for none.
        legend : bool, default=True
            Whether to draw the legend.
        line_kw, scatter_kw : dict, optional
            Options of matplotlib's ``plot`` (for the density) and ``scatter``.
        """
        check_choice("layout", layout, LAYOUTS)
        check_flag("legend", legend)
        self.figure_, host = style.find_axes(ax, (6.4, 5.4) if layout == "stacked" else (6.0, 4.4))
        size = style.choose_text_size(host)
        upper, lower = _divide(host) if layout == "stacked" else (host, host.twinx())
        self.ax_density_, self.ax_points_ = upper, lower
        stacked = layout == "stacked"
        if not stacked:  # draw the density in front of the points
            upper.set_zorder(lower.get_zorder() + 1)
            upper.patch.set_visible(False)
        self._draw_interval([upper, lower] if stacked else [lower])
        self._draw_curves(upper, line_kw, shaded=stacked)
        self._draw_points(lower, scatter_kw)
        self._draw_names(lower, lower if stacked else upper, size)
        self.hyperplane_lines_ = []
        if math.isfinite(self.offset):
            self.hyperplane_lines_ = [
                panel.axvline(self.offset, color=style.INK, lw=1.6, zorder=4, label="hyperplane")
                for panel in ([upper, lower] if stacked else [upper])
            ]
        self._label_axes(upper, lower, size, stacked)
        self._draw_note(lower, size, stacked)
        style.set_title(upper, title, self._describe_depth(), size)
        if legend:
            self._draw_legends(lower if stacked else upper, size)
        return self

    def _draw_interval(self, panels: list[Any]) -> None:
        self.interval_ = []
        if self.interval is None:
            return
        low, high = self.interval
        for panel in panels:
            self.interval_.append(panel.axvspan(low, high, color=style.PALE, alpha=0.45, lw=0, zorder=0.5))
            for end in (low, high):
                self.interval_.append(panel.axvline(end, color=style.GREY, lw=0.8, ls=(0, (5, 3)), zorder=0.6))

    def _draw_curves(self, ax: Any, line_kw: Mapping[str, Any] | None, *, shaded: bool) -> None:
        top = float(self.density.max())
        options = {"color": style.INK, "lw": 1.8, "zorder": 3, "label": "density", **(line_kw or {})}
        (self.density_line_,) = ax.plot(self.points, self.density, **options)
        self.index_line_ = None
        if self.index is not None:
            # The index soon leaves the picture; drawing it far above would only cost time.
            shown = np.minimum(self.index, 3.0 * top)
            (self.index_line_,) = ax.plot(
                self.points, shown, color=style.ACCENT, lw=1.8, ls=(0, (1, 1.3)), zorder=3.5, label="penalised density"
            )
        if shaded:
            ax.fill_between(self.points, self.density, color=style.INK, alpha=0.08, lw=0, zorder=1)
        ax.set_ylim(0.0, 1.22 * top)

    def _draw_points(self, ax: Any, scatter_kw: Mapping[str, Any] | None) -> None:
        n = len(self.along)
        area = min(max(9000.0 / max(n, 1), 5.0), 26.0) * min(max(style.measure_width(ax) / 5.0, 0.45), 1.4)
        opacity = 0.9 if n <= 300 else 0.7 if n <= 2000 else 0.5
        self.points_ = []
        for code in range(-1, len(self.names)):
            mine = self.codes == code
            if not mine.any():
                continue
            unlabelled = code < 0
            colour, marker, _ = (style.GREY, "o", "") if unlabelled else style.choose_mark(code)
            labelled_few = not unlabelled and (self.codes < 0).any() and mine.sum() <= 300
            ours = {
                "s": 0.5 * area if unlabelled else max(2.2 * area, MIN_LABELLED_AREA) if labelled_few else area,
                "c": colour,
                "marker": marker,
                "alpha": 0.45 if unlabelled else 1.0 if labelled_few else opacity,
                "linewidths": 0.6 if labelled_few else 0.0,
                "edgecolors": "white" if labelled_few else "none",
                "zorder": 1.5 if unlabelled else 2.5 if labelled_few else 2.0,
                "rasterized": n > 2000,
                "label": self._name_code(code),
            }
            options = ours | dict(scatter_kw or {})
            self.points_.append(ax.scatter(self.along[mine], self.across[mine], **options))

    def _draw_names(self, ax: Any, front: Any, size: float) -> None:
        """Write three or more labels among their rows too, since that many marks are hard to distinguish in grey."""
        from matplotlib.patheffects import withStroke

        self.name_texts_ = []
        if not 3 <= len(self.names) <= MAX_NAMES_INSIDE:
            return
        halo = withStroke(linewidth=2.5, foreground="white")
        for x, y, up, name in self._place_names(ax, size):
            text = front.annotate(
                name, (x, y), xycoords=ax.transData, xytext=(0.0, up), textcoords="offset points", ha="center",
                va="center", fontsize=size, weight="bold", color=style.INK, zorder=5, path_effects=[halo],
            )  # fmt: skip
            self.name_texts_.append(text)

    def _place_names(self, ax: Any, size: float) -> list[tuple[float, float, float, str]]:
        """Return the median of the rows of each label, by how many points its name is moved up, and the name.

        A name that would cover another one is moved up. The layout is not final yet, so the distances are approximate.
        """
        box, figure = ax.get_position(), ax.get_figure()
        wide = 72.0 * box.width * figure.get_figwidth() / max(float(np.ptp(self.points)), 1e-300)
        high = 72.0 * box.height * figure.get_figheight() / max(1.1 * float(np.ptp(self.across)), 1e-300)
        written: list[tuple[float, float, int]] = []
        found = []
        for code in range(len(self.names)):
            mine = self.codes == code
            if not mine.any():
                continue
            name = style.shorten_name(self.names[code], 14)
            x, y = float(np.median(self.along[mine])), float(np.median(self.across[mine]))
            up = 0.0
            while any(
                abs(wide * x - a) < 0.35 * size * (len(name) + n) and abs(high * y + up - b) < 1.05 * size
                for a, b, n in written
            ):
                up += 0.35 * size
            written.append((wide * x, high * y + up, len(name)))
            found.append((x, y, up, name))
        return found

    def _name_code(self, code: int) -> str:
        name = "unlabelled" if code < 0 else style.shorten_name(self.names[code], 28)
        return f"{name} ({format_count(int(self.sizes[code]))})"

    def _describe_depth(self) -> str:
        at = "" if self.alpha is None else f",  α = {self.alpha:.3g}"
        at += f",  {self.tested}" if self.tested else ""
        of = "" if self.pair is None else " | ".join(style.shorten_name(name, 14) for name in self.pair) + ":  "
        if not math.isfinite(self.offset):
            return of + "no split" + at
        if self.relative_depth == 0.0:
            return of + "relative depth 0 (not between two modes)" + at
        return f"{of}relative depth {style.format_number(self.relative_depth)}" + at

    def _label_axes(self, upper: Any, lower: Any, size: float, stacked: bool) -> None:
        border = 0.02 * (self.points[-1] - self.points[0])
        lower.set_xlim(self.points[0] - border, self.points[-1] + border)
        style.tidy_axes(upper, size, hidden=("top", "right"))
        style.tidy_axes(lower, size, hidden=("top", "right") if stacked else ("top", "left", "bottom"))
        bottom = lower if stacked else upper
        bottom.set_xlabel("projection on the normal v", fontsize=size, color=style.INK)
        upper.set_ylabel("density", fontsize=size, color=style.INK)
        upper.locator_params(axis="y", nbins=4)
        lower.locator_params(axis="y", nbins=5)
        bottom.locator_params(axis="x", nbins=7)
        if stacked:
            upper.tick_params(labelbottom=False)
        if self.across_direction is None:
            lower.set_yticks([])
            lower.set_ylim(-2.0, 2.0)
            lower.set_ylabel("random height", fontsize=size, color=style.INK)
        else:
            lower.set_ylabel("projection across v", fontsize=size, color=style.INK)

    def _draw_note(self, ax: Any, size: float, stacked: bool) -> None:
        """Say how many of the rows are shown, unless all are."""
        self.note_ = None
        n_shown = len(self.along)
        if n_shown == self.n_rows:
            return
        has_all_labels = (self.codes < 0).any() and (self.codes >= 0).sum() == self.sizes[:-1].sum()
        more = ", with all labels" if has_all_labels else ""
        self.note_ = ax.text(
            0.995, 0.02 if stacked else 0.985,
            f"{format_count(n_shown)} of {format_count(self.n_rows)} rows shown{more}",
            transform=ax.transAxes, ha="right", va="bottom" if stacked else "top", fontsize=max(size - 2.0, 6.0),
            color=style.INK, zorder=6, bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5},
        )  # fmt: skip

    def _draw_legends(self, bottom: Any, size: float) -> None:
        """Draw two rows below the picture, where they cover nothing: the lines, if there is room, and the labels."""
        from matplotlib.patches import Patch

        inches = style.measure_width(bottom)
        down = 14.0 + 2.6 * size  # below the ticks, their labels and the label of the axis
        if inches >= 4.0:
            handles = [self.density_line_, *([self.index_line_] if self.index_line_ else [])]
            if self.interval is not None:
                handles.append(Patch(fc=style.PALE, ec=style.GREY, ls="--", lw=0.8, label="F(v)"))
            handles += self.hyperplane_lines_[:1]
            style.draw_legend_below(bottom, handles, down, size, **LEGEND, ncols=4, handlelength=1.8)
            down += 1.9 * size
        if len(self.names) < 2 and not (self.codes < 0).any():
            return
        drawn = self.points_[:MAX_NAMES]
        longest = max(len(points.get_label()) for points in drawn)
        ncols = int(min(len(drawn), max(1, inches * 72.0 // (0.55 * size * (longest + 5)))))
        hidden = len(self.points_) - len(drawn)
        title = f"{hidden} more labels drawn" if hidden else None
        made = style.draw_legend_below(
            bottom, drawn, down, size, **LEGEND, ncols=ncols, handlelength=1.0, title=title, title_fontsize=size - 1.0
        )
        for handle in made.legend_handles:
            handle.set_alpha(1.0)
            handle.set_sizes([24.0])


def _divide(host: Axes) -> tuple[Any, Any]:
    """Return two axes, one above the other, in the place of ``host``, which is hidden."""
    figure: Any = host.get_figure()
    host.set_axis_off()
    spec = host.get_subplotspec()
    if spec is not None:
        grid = spec.subgridspec(2, 1, height_ratios=(2, 3), hspace=0.06)
        lower = figure.add_subplot(grid[1])
        return figure.add_subplot(grid[0], sharex=lower), lower
    box = host.get_position()
    lower = figure.add_axes((box.x0, box.y0, box.width, 0.58 * box.height))
    return figure.add_axes((box.x0, box.y0 + 0.62 * box.height, box.width, 0.38 * box.height), sharex=lower), lower
