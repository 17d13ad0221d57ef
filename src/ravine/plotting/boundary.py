"""Display of the density across the boundary between two clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.explain import Boundary, find_boundaries, format_evidence, format_plural, open_pipeline, place_points
from ravine.plotting import style
from ravine.plotting.subject import check_tree, find_tree
from ravine.rows import Rows
from ravine.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Height of the strip of rows below the density, as a share of the peak.
STRIP = 0.26


@dataclass(eq=False, repr=False, kw_only=True)
class BoundaryDisplay:
    """Density of the rows near the boundary between two clusters, along a coordinate across it.

    Clusters that are unions of cells may have curved boundaries, so there is no normal to project on. Instead, each row
    near the boundary has a signed coordinate: how much farther the other cluster is than it would be without a valley,
    negative in the first cluster. The density of this coordinate has a valley if the clusters have one between them.
    The dashed line is the lowest density between the medians of the clusters, where z is measured.

    Parameters
    ----------
    boundary : Boundary
        With a contact.
    points, density : ndarray of shape (k,)
        Points at which the density of the coordinates is evaluated, and the density.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    line_ : matplotlib Line2D
        The density.
    valley_line_ : matplotlib Line2D
        The lowest density between the clusters.
    points_ : list of two matplotlib PathCollection
        Rows of the two clusters; their height has no meaning.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ravine import MinimumDensityTree
    >>> from ravine.plotting import BoundaryDisplay
    >>> X, y = make_moons(400, noise=0.1, random_state=1)
    >>> mdt = MinimumDensityTree(n_clusters=2, random_state=0).fit(X)
    >>> display = BoundaryDisplay.from_estimator(mdt, X, pair=(0, 1))
    >>> display.boundary.evidence > 4
    True
    """

    boundary: Boundary
    points: Array
    density: Array

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None, **options: Any) -> BoundaryDisplay:
        """Draw a boundary between two clusters of a fitted tree.

        Parameters
        ----------
        estimator : MinimumDensityTree or Pipeline
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows of the fit, or others.
        **options
            Options of :meth:`from_tree` and :meth:`plot`.
        """
        opened = open_pipeline(estimator, X)
        tree, rows = find_tree(opened.estimator, opened.X)
        return cls.from_tree(tree, rows, **options)

    @classmethod
    def from_tree(
        cls, tree: Tree, X: ArrayLike | Rows, *, pair: tuple[int, int] | None = None, **plot_options: Any
    ) -> BoundaryDisplay:
        """Draw a boundary between two clusters of a tree, for example of a cut or edited one.

        Parameters
        ----------
        tree : Tree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
        pair : tuple of two int, optional
            Numbers of the clusters; by default the two with the weakest boundary.
        **plot_options
            Options of :meth:`plot`.
        """
        rows = check_tree(tree, X)
        if tree.n_clusters == 1:
            raise ValueError("the tree has only one cluster: there is no boundary to draw.")
        with rows.session():
            boundary = _choose_boundary(find_boundaries(tree, rows), pair)
        return cls.from_boundary(boundary, **plot_options)

    @classmethod
    def from_boundary(cls, boundary: Boundary, **plot_options: Any) -> BoundaryDisplay:
        """Draw a boundary that was found by `ravine.explain.find_boundaries`.

        Parameters
        ----------
        boundary : Boundary
            With rows near it (its ``contact`` is not None).
        **plot_options
            Options of :meth:`plot`.
        """
        contact = boundary.contact
        if contact is None:
            raise ValueError("too few rows are near the boundary: there is nothing to draw.")
        low, high = float(contact.coordinates.min()), float(contact.coordinates.max())
        points = place_points(low, high, contact.bandwidth, include=[contact.at])
        density = ProjectedDensity(contact.coordinates, contact.bandwidth)(points)
        return cls(boundary=boundary, points=points, density=density).plot(**plot_options)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, line_kw: Mapping[str, Any] | None = None
    ) -> BoundaryDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        title : str, optional
            Title; by default the clusters and z, "" for none.
        line_kw : dict, optional
            Options of matplotlib's ``plot`` for the density.
        """
        boundary, contact = self.boundary, self.boundary.contact
        assert contact is not None
        self.figure_, ax_ = style.find_axes(ax, (6.4, 3.6))
        self.ax_, size, peak = ax_, style.choose_text_size(ax_), float(self.density.max())
        clusters = (boundary.first, boundary.second)
        for k, side in zip(clusters, (self.points <= contact.at, self.points >= contact.at), strict=True):
            ax_.fill_between(
                self.points[side], self.density[side], color=style.choose_mark(k)[0], alpha=0.3, lw=0.0, zorder=2
            )
        options = {"color": style.INK, "lw": 1.4, "zorder": 4, **(line_kw or {})}
        (self.line_,) = ax_.plot(self.points, self.density, **options)
        ax_.axhline(0.0, color=style.GREY, lw=0.8, zorder=1)
        ends = [-STRIP * peak, 1.05 * peak]
        (self.valley_line_,) = ax_.plot([contact.at] * 2, ends, color=style.INK, lw=1.2, ls=(0, (4, 2)), zorder=5)
        heights = -peak * STRIP * (0.12 + 0.76 * np.random.default_rng(0).random(len(contact.coordinates)))
        self.points_ = []
        for k, is_second in zip(clusters, (False, True), strict=True):
            mine = contact.is_second == is_second
            colour, marker, _ = style.choose_mark(k)
            label = f"cluster {k} ({format_plural(int(mine.sum()), 'row')})"
            self.points_.append(
                ax_.scatter(contact.coordinates[mine], heights[mine], s=13, color=colour, marker=marker, lw=0.3,
                            edgecolors="white", zorder=3, label=label)
            )  # fmt: skip
        ax_.set_ylim(-STRIP * peak, 1.22 * peak)
        ax_.set_yticks([])
        ax_.set_xlim(self.points[0], self.points[-1])
        style.tidy_axes(ax_, size, hidden=("top", "right", "left"))
        ax_.set_xlabel("coordinate across the boundary", fontsize=size)
        ax_.legend(frameon=False, fontsize=size - 1.0, loc="upper right", ncols=2, handletextpad=0.2, borderaxespad=0.0)
        text = f"Boundary between clusters {clusters[0]} and {clusters[1]}: {format_evidence(boundary.evidence)}"
        style.set_title(ax_, title, text, size)
        return self


def _choose_boundary(boundaries: Sequence[Boundary], pair: Any) -> Boundary:
    """Return the boundary between two clusters, by default the weakest."""
    usable = [boundary for boundary in boundaries if boundary.contact is not None]
    if not usable:
        raise ValueError(
            "no two clusters have enough rows of X that are nearest neighbours: the clusters are far apart, and there "
            "is no boundary to draw."
        )
    if pair is None:
        return min(usable, key=lambda boundary: math.inf if math.isnan(boundary.evidence) else boundary.evidence)
    key = tuple(sorted(pair)) if isinstance(pair, tuple | list) and len(pair) == 2 else pair
    for boundary in usable:
        if (boundary.first, boundary.second) == key:
            return boundary
    some = ", ".join(f"({boundary.first}, {boundary.second})" for boundary in usable[:8])
    raise ValueError(f"pair must be two clusters that touch, one of {some}; got {pair!r}.")
