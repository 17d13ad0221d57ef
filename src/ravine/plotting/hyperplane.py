"""Display of a hyperplane, as in the figures of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.checks import check_number, check_weights
from ravine.explain import encode_any_labels
from ravine.hyperplane import Hyperplane
from ravine.plotting.hyperplane_drawing import draw_panels
from ravine.plotting.projection import check_direction
from ravine.plotting.subject import check_rows, find_subject
from ravine.plotting.view import View, compute_view
from ravine.search import BandwidthRule, check_bandwidth, check_penalty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HyperplaneDisplay"]

MAX_ROWS = 5000


class HyperplaneDisplay:
    """A hyperplane as in the paper: the rows along and across its normal, and the projected density.

    The horizontal axis is the projection on the normal v, the vertical axis of the points the projection on the
    direction of largest variance orthogonal to v. Above, or on the same axes, are the projected density (solid) and the
    penalised density f_CL(v, ·) that MDP² minimises over the offset (dotted). The solid vertical line is the
    hyperplane; the interval F(v) = [μ - ασ, μ + ασ] of allowed offsets is shaded. The title gives the relative depth.

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

    figure_: Any
    ax_density_: Any
    ax_points_: Any
    density_line_: Any
    index_line_: Any
    hyperplane_lines_: list[Any]
    interval_: list[Any]
    points_: list[Any]
    name_texts_: list[Any]
    note_: Any

    def __init__(
        self,
        *,
        points: Array,
        density: Array,
        index: Array | None,
        along: Array,
        across: Array,
        rows: NDArray[np.intp],
        codes: NDArray[np.intp],
        names: Sequence[Any],
        sizes: NDArray[np.intp],
        normal: Array,
        across_direction: Array | None,
        offset: float,
        interval: tuple[float, float] | None,
        relative_depth: float,
        alpha: float | None,
        bandwidth: float,
        n_rows: int,
    ) -> None:
        self.points = points
        self.density = density
        self.index = index
        self.along = along
        self.across = across
        self.rows = rows
        self.codes = codes
        self.names = list(names)
        self.sizes = sizes
        self.normal = normal
        self.across_direction = across_direction
        self.offset = offset
        self.interval = interval
        self.relative_depth = relative_depth
        self.alpha = alpha
        self.bandwidth = bandwidth
        self.n_rows = n_rows

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
        estimator : MinimumDensityHyperplane, MinimumDensityClassifier or MinimumDensityTree
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
            that are predicted as one of these two classes.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the fit.
        max_rows : int, default=5000
            Largest number of rows that are drawn as points.
        **plot_options
            Options of :meth:`plot`.

        Returns
        -------
        HyperplaneDisplay
        """
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
        return cls(**contents).plot(**plot_options)

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

        Returns
        -------
        HyperplaneDisplay
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

        Returns
        -------
        HyperplaneDisplay
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
            Title; by default the relative depth, "" for none.
        legend : bool, default=True
            Whether to draw the legend.
        line_kw, scatter_kw : dict, optional
            Options of matplotlib's ``plot`` (for the density) and ``scatter``.

        Returns
        -------
        self
        """
        draw_panels(self, ax, layout, title, legend, line_kw, scatter_kw)
        return self
