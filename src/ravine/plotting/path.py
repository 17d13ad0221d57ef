"""Display of the projected densities along an α path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.density import ProjectedDensity
from ravine.estimators import MinimumDensityTree, PathStep
from ravine.explain import check_estimator, open_pipeline, place_points
from ravine.hyperplane import Hyperplane
from ravine.plotting import style
from ravine.plotting.subject import check_rows, choose_pair, get_hyperplane
from ravine.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False, kw_only=True)
class PathDisplay:
    """Projected density at each stage of a path, as ridge lines from the first stage (top) to the last.

    Each ridge line belongs to one hyperplane of the search from one start. It shows the density of all rows projected
    on the normal, with the bandwidth of that stage, relative to the mean of the projections. The bar below it is F(v),
    which widens with α; the tick on the curve is the hyperplane. The stage that was kept is drawn in colour, with a
    thicker line.

    Parameters
    ----------
    points, densities : list of ndarray
        For each stage, the points at which the density is evaluated, relative to the mean projection, and the density.
    offsets : ndarray of shape (k,)
        Offsets of the hyperplanes, relative to the mean projection.
    half_widths : ndarray of shape (k,)
        Half-widths α σ of the intervals F(v).
    steps : list of PathStep
        The stages that are drawn.
    kept : int or None
        Position of the stage nearest to the hyperplane of the estimator; None if no split was found.
    n_stages : int
        Number of stages of the path, of which some may be left out.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_, hyperplane_marks_, intervals_, texts_ : list of matplotlib artists
        One for each stage.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane, PathSettings
    >>> from ravine.plotting import PathDisplay
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane(path=PathSettings(n_alpha=4)).fit(X)
    >>> display = PathDisplay.from_estimator(mdh, X)
    >>> len(display.lines_) == len(display.steps)
    True
    """

    points: list[Array]
    densities: list[Array]
    offsets: Array
    half_widths: Array
    steps: list[PathStep]
    kept: int | None
    n_stages: int

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        start: int | None = None,
        pair: tuple[Any, Any] | None = None,
        max_stages: int = 12,
        **plot_options: Any,
    ) -> PathDisplay:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : MinimumDensityHyperplane or MinimumDensityClassifier
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows of the fit, or others.
        start : int, optional
            Number of the start; by default the start that led to the hyperplane that was kept.
        pair : tuple of two labels, optional
            Two classes, for a classifier of more than two. The density is that of all rows of X.
        max_stages : int, default=12
            Largest number of stages that are drawn. Of longer paths evenly spaced stages are drawn, among them the
            first, the last and the kept one.
        **plot_options
            Options of :meth:`plot`.
        """
        opened = open_pipeline(estimator, X)
        estimator, X = opened.estimator, opened.X
        check_estimator(estimator)
        pair = choose_pair(estimator, pair)
        if isinstance(estimator, MinimumDensityTree):
            raise TypeError("a tree keeps no paths: fit MinimumDensityHyperplane to the rows of the node instead.")
        plane = get_hyperplane(estimator, None, pair)
        rows = check_rows(X, estimator)
        most = check_integer("max_stages", max_stages, low=2)
        stages, kept = _select_stages(_select_pair(estimator, pair), plane, start)
        chosen = _space_evenly(len(stages), most, kept)
        last = stages[-1].hyperplane.normal if kept is None else plane.normal
        with rows.session():
            ridges = [_compute_ridge(rows, stages[k], last) for k in chosen]
        return cls(
            points=[points for points, *_ in ridges],
            densities=[density for _, density, *_ in ridges],
            offsets=np.array([offset for *_, offset, _ in ridges]),
            half_widths=np.array([half for *_, half in ridges]),
            steps=[stages[k] for k in chosen],
            kept=None if kept is None else chosen.index(kept),
            n_stages=len(stages),
        ).plot(**plot_options)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, line_kw: Mapping[str, Any] | None = None
    ) -> PathDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        title : str, optional
            Title; "" for none.
        line_kw : dict, optional
            Options of matplotlib's ``plot``.
        """
        n = len(self.steps)
        self.figure_, self.ax_ = style.find_axes(ax, (6.4, min(max(1.0 + 0.5 * n, 3.0), 9.0)))
        ax_, size = self.ax_, style.choose_text_size(self.ax_)
        top = max(float(density.max()) for density in self.densities)
        self.lines_, self.hyperplane_marks_, self.intervals_, self.texts_ = [], [], [], []
        for k, step in enumerate(self.steps):
            base, is_kept = float(n - 1 - k), k == self.kept
            colour = style.COLOURS[0] if is_kept else style.INK
            heights = base + 1.25 * self.densities[k] / top
            z = 2.0 + 0.1 * k  # later stages in front
            ax_.fill_between(self.points[k], base, heights, color="white", alpha=0.75, lw=0, zorder=z)
            ax_.fill_between(
                self.points[k], base, heights, color=colour, alpha=0.25 if is_kept else 0.1, lw=0, zorder=z
            )
            defaults = {"color": colour, "lw": 2.2 if is_kept else 1.2, "zorder": z + 0.02}
            self.lines_ += ax_.plot(self.points[k], heights, **defaults | dict(line_kw or {}))
            half = self.half_widths[k]
            self.intervals_ += ax_.plot(
                [-half, half], [base, base], color=style.GREY, lw=4.0, solid_capstyle="butt", zorder=z + 0.03
            )
            at = base + 1.25 * float(np.interp(self.offsets[k], self.points[k], self.densities[k])) / top
            self.hyperplane_marks_ += ax_.plot(
                [self.offsets[k]] * 2, [base, max(at, base + 0.15)], color=style.ACCENT, lw=2.0, zorder=z + 0.04
            )
            self.texts_.append(
                ax_.text(
                    1.01, base + 0.02, _describe_step(step, is_kept), transform=ax_.get_yaxis_transform(),
                    fontsize=size - 1.0, va="bottom", color=colour, weight="bold" if is_kept else "normal",
                    clip_on=False,
                )
            )  # fmt: skip
        style.tidy_axes(ax_, size, hidden=("top", "right", "left"))
        ax_.set_yticks([])
        ax_.set_ylim(-0.2, n - 1 + 1.4)
        is_wide = style.measure_width(ax_) >= 4.0
        key = " (bar: F(v), tick: hyperplane)" if is_wide else ""
        ax_.set_xlabel(f"projection on v minus its mean{key}", fontsize=size, color=style.INK)
        some = "" if n == self.n_stages else f", {n} of {self.n_stages} stages"
        text = f"{'Projected densities on the path' if is_wide else 'Path'} of start {self.steps[0].start}{some}"
        style.set_title(ax_, title, text, size)
        return self


def _select_pair(estimator: Any, pair: tuple[Any, Any] | None) -> list[PathStep]:
    """Return the path of the estimator, or the part of it that belongs to two of several classes."""
    path = list(estimator.path_)
    if pair is not None and len(estimator.classes_) > 2:
        wanted = {int(np.flatnonzero(estimator.classes_ == label)[0]) for label in pair}
        path = [step for step in path if step.pair is not None and set(step.pair) == wanted]
    if not path:
        raise ValueError("the path is empty, since all rows were equal in the fit: there is nothing to draw.")
    return path


def _select_stages(path: list[PathStep], plane: Hyperplane, start: int | None) -> tuple[list[PathStep], int | None]:
    """Return the stages of one start, by default of the one that was kept, and the position of the kept stage."""

    def rate(step: PathStep) -> tuple[float, float]:
        gap = abs(abs(step.hyperplane.offset) - abs(plane.offset)) if plane.splits else 0.0
        return abs(float(step.hyperplane.normal @ plane.normal)), -gap

    kept = max(path, key=rate)
    start = kept.start if start is None else start
    starts = sorted({step.start for step in path})
    if start not in starts:
        raise ValueError(f"start must be one of {', '.join(map(str, starts))}, got {start!r}.")
    stages = [step for step in path if step.start == start]
    return stages, stages.index(kept) if plane.splits and kept in stages else None


def _space_evenly(n: int, most: int, kept: int | None) -> list[int]:
    """Return at most ``most`` evenly spaced positions out of n, among them the first, the last and ``kept``."""
    if n <= most:
        return list(range(n))
    chosen = np.unique(np.rint(np.linspace(0, n - 1, most)).astype(int)).tolist()
    if kept is not None and kept not in chosen:
        inner = range(1, len(chosen) - 1) if len(chosen) > 2 else range(len(chosen))
        chosen[min(inner, key=lambda i: abs(chosen[i] - kept))] = kept
    return sorted(chosen)


def _compute_ridge(rows: Rows, step: PathStep, towards: Array) -> tuple[Array, Array, float, float]:
    """Return points, density, offset and half-width of F(v) about the mean, with v on the side of ``towards``."""
    plane = step.hyperplane
    sign = -1.0 if float(plane.normal @ towards) < 0.0 else 1.0
    assert plane.point is not None
    distance = sign * rows.project(plane.point, plane.normal)
    mean = float(distance.mean())
    low, high = float(distance.min()) - mean, float(distance.max()) - mean
    points = place_points(low, high, plane.bandwidth, include=[-mean])
    density = ProjectedDensity(distance - mean, plane.bandwidth)(points)
    return points, density, -mean, plane.alpha * float(distance.std())


def _describe_step(step: PathStep, is_kept: bool) -> str:
    if math.isnan(step.gamma):  # of a classifier that starts from its labels
        text = "labels and density" if step.polished else "labels alone"
        return text + (", kept" if is_kept else "")
    text = f"α = {step.hyperplane.alpha:.2g}"
    if step.gamma:
        text += f", γ = {step.gamma:.2g}"
    if step.polished:
        text += ", polished"
    depth = step.hyperplane.relative_depth
    text += "" if math.isnan(depth) else f"\ndepth {style.format_number(depth)}"
    return text + (", kept" if is_kept else "")
