"""PathDisplay: how the projected density changes along the α path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.density import ProjectedDensity
from ravine.estimators import MinimumDensityTree, PathStep
from ravine.plotting import style
from ravine.plotting.projection import density_curve
from ravine.plotting.subject import check_estimator_kind, checked_rows, hyperplane_of
from ravine.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PathDisplay"]


class PathDisplay:
    """The projected density at each stage of a path, as ridge lines from the first stage (top) to the last.

    Every row is one hyperplane that the pursuit passed from one start: the density of all rows projected on its normal,
    with the bandwidth of that stage, about the mean of the projections. The bar below is F(v), which widens with α, the
    tick on the curve the hyperplane. The stage that was kept is drawn in colour, with a thicker line.

    Parameters
    ----------
    points, densities : list of ndarray
        For each stage, where the density was evaluated (relative to the mean projection), and the density.
    offsets : ndarray of shape (k,)
        Offsets of the hyperplanes, relative to the mean projection.
    half_widths : ndarray of shape (k,)
        α σ: F(v) reaches that far on both sides of the mean.
    steps : list of PathStep
    kept : int or None
        Which stage the estimator's hyperplane is nearest to; None if no split was found.
    n_stages : int
        Stages of the path, of which some may have been left out.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_, hyperplane_marks_, intervals_, texts_ : list of matplotlib artists
        One for each stage.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine.plotting import PathDisplay
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane(n_alpha=4).fit(X)
    >>> display = PathDisplay.from_estimator(mdh, X)
    >>> len(display.lines_) == len(display.steps)
    True
    """

    figure_: Any
    ax_: Any
    lines_: list[Any]
    hyperplane_marks_: list[Any]
    intervals_: list[Any]
    texts_: list[Any]

    def __init__(
        self,
        *,
        points: Sequence[Array],
        densities: Sequence[Array],
        offsets: Array,
        half_widths: Array,
        steps: Sequence[PathStep],
        kept: int | None,
        n_stages: int,
    ) -> None:
        self.points = list(points)
        self.densities = list(densities)
        self.offsets = offsets
        self.half_widths = half_widths
        self.steps = list(steps)
        self.kept = kept
        self.n_stages = n_stages

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
            Which start; by default the one that led to the hyperplane that was kept.
        pair : tuple of two labels, optional
            Of a classifier of more than two classes. The density is that of all rows of X.
        max_stages : int, default=12
            Of longer paths, so many evenly spaced stages are drawn, the first, the last and the kept one among them.
        **plot_options
            For :meth:`plot`.

        Returns
        -------
        PathDisplay
        """
        check_estimator_kind(estimator)
        if isinstance(estimator, MinimumDensityTree):
            raise TypeError("a tree keeps no paths: fit MinimumDensityHyperplane to the rows of the node instead.")
        plane = hyperplane_of(estimator, None, pair)
        rows = checked_rows(estimator, X)
        most = check_integer("max_stages", max_stages, low=2)
        path = list(estimator.path_)
        if pair is not None and len(estimator.classes_) > 2:
            wanted = {int(np.flatnonzero(estimator.classes_ == label)[0]) for label in pair}
            path = [step for step in path if step.pair is not None and set(step.pair) == wanted]
        if not path:
            raise ValueError("the path is empty, since all rows were equal in the fit: there is nothing to draw.")
        kept_step = max(path, key=lambda s: (abs(float(s.hyperplane.normal @ plane.normal)), -_gap(s, plane)))
        if start is None:
            start = kept_step.start
        starts = sorted({step.start for step in path})
        if start not in starts:
            raise ValueError(f"start must be one of {', '.join(map(str, starts))}, got {start!r}.")
        stages = [step for step in path if step.start == start]
        kept = stages.index(kept_step) if plane.splits and kept_step in stages else None
        chosen = _evenly(len(stages), most, kept)
        last = stages[-1].hyperplane.normal if kept is None else plane.normal
        with rows.session():
            seen = [_density_of(rows, stages[k], last) for k in chosen]
        return cls(
            points=[points for points, *_ in seen],
            densities=[density for _, density, *_ in seen],
            offsets=np.array([offset for *_, offset, _ in seen]),
            half_widths=np.array([half for *_, half in seen]),
            steps=[stages[k] for k in chosen],
            kept=None if kept is None else chosen.index(kept),
            n_stages=len(stages),
        ).plot(**plot_options)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, line_kw: Mapping[str, Any] | None = None
    ) -> PathDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; by default in a new figure.
        title : str, optional
            "" for none.
        line_kw : dict, optional
            For matplotlib's ``plot``.

        Returns
        -------
        self
        """
        n = len(self.steps)
        self.figure_, self.ax_ = style.figure_and_axes(ax, (6.4, min(max(1.0 + 0.5 * n, 3.0), 9.0)))
        ax_, size = self.ax_, style.text_size(self.ax_)
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
            ours = {"color": colour, "lw": 2.2 if is_kept else 1.2, "zorder": z + 0.02}
            self.lines_ += ax_.plot(self.points[k], heights, **style.merged(ours, line_kw))
            half = self.half_widths[k]
            self.intervals_ += ax_.plot(
                [-half, half], [base, base], color=style.GREY, lw=4.0, solid_capstyle="butt", zorder=z + 0.03
            )
            at = base + 1.25 * float(np.interp(self.offsets[k], self.points[k], self.densities[k])) / top
            self.hyperplane_marks_ += ax_.plot(
                [self.offsets[k]] * 2, [base, max(at, base + 0.15)], color=style.ACCENT, lw=2.0, zorder=z + 0.04
            )
            written = ax_.text(
                1.01,
                base + 0.02,
                _words(step, is_kept),
                transform=ax_.get_yaxis_transform(),
                fontsize=size - 1.0,
                va="bottom",
                color=colour,
                weight="bold" if is_kept else "normal",
                clip_on=False,
            )  # fmt: skip
            self.texts_.append(written)
        style.tidy(ax_, size, hidden=("top", "right", "left"))
        ax_.set_yticks([])
        ax_.set_ylim(-0.2, n - 1 + 1.4)
        wide = ax_.get_position().width * self.figure_.get_figwidth() >= 4.0
        what = "; bars are F(v), ticks the hyperplane" if wide else ""
        ax_.set_xlabel(f"projection on v, from its mean{what}", fontsize=size, color=style.INK)
        some = "" if n == self.n_stages else f", {n} of {self.n_stages} stages"
        words = f"{'Projected density along the path' if wide else 'Path'} of start {self.steps[0].start}{some}"
        words = words if title is None else title
        ax_.set_title(words, loc="left", fontsize=size + 1.0, color=style.INK)
        return self


def _gap(step: PathStep, plane: Any) -> float:
    return abs(abs(step.hyperplane.offset) - abs(plane.offset)) if plane.splits else 0.0


def _evenly(n: int, most: int, kept: int | None) -> list[int]:
    """Evenly spaced places of n, first and last included, the nearest one moved to ``kept``."""
    if n <= most:
        return list(range(n))
    chosen = np.unique(np.rint(np.linspace(0, n - 1, most)).astype(int)).tolist()
    if kept is not None and kept not in chosen:
        inner = range(1, len(chosen) - 1) if len(chosen) > 2 else range(len(chosen))
        chosen[min(inner, key=lambda i: abs(chosen[i] - kept))] = kept
    return sorted(chosen)


def _density_of(rows: Rows, step: PathStep, towards: Array) -> tuple[Array, Array, float, float]:
    """Points, density, offset and half-width of F(v), about the mean and with v on the side of ``towards``."""
    plane = step.hyperplane
    sign = -1.0 if float(plane.normal @ towards) < 0.0 else 1.0
    assert plane.point is not None
    distance = sign * rows.project(plane.point, plane.normal)
    mean = float(distance.mean())
    density = ProjectedDensity(distance - mean, plane.bandwidth)
    curve = density_curve(density, float(distance.min()) - mean, float(distance.max()) - mean, extra=[-mean])
    return curve.points, curve.density, -mean, plane.alpha * float(distance.std())


def _words(step: PathStep, is_kept: bool) -> str:
    words = f"α = {step.hyperplane.alpha:.2g}"
    if step.gamma:
        words += f", γ = {step.gamma:.2g}"
    if step.polished:
        words += ", polished"
    depth = step.hyperplane.relative_depth
    words += "" if math.isnan(depth) else f"\ndepth {style.number(depth)}"
    return words + (", kept" if is_kept else "")
