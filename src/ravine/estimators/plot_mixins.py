"""Methods ``plot`` of the estimators, each a shortcut for a display of `ravine.plotting`.

The displays lie above the estimators, so they are imported inside the methods, when a picture is drawn: a fit never
loads them, nor matplotlib. ``tests/test_layers.py`` lists these imports as the only ones that point upward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ravine.checks import check_choice

if TYPE_CHECKING:
    from ravine.plotting import BoundaryDisplay, CellDisplay, HyperplaneDisplay, TreeDisplay

__all__ = ["HyperplanePlotMixin", "TreePlotMixin"]

TREE_PICTURES = ("tree", "cells", "boundary")


class HyperplanePlotMixin:
    """Mixin of estimators whose result is a hyperplane."""

    def plot(self, X: ArrayLike | None = None, y: ArrayLike | None = None, **options: Any) -> HyperplaneDisplay:
        """Draw the hyperplane, the rows around it and the projected density.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows of the fit, or others. Required, since the estimator does not keep the rows of its fit.
        y : array-like of shape (n_samples,), optional
            Labels for the colours.
        **options
            Options of :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`.

        Returns
        -------
        HyperplaneDisplay
        """
        from ravine.plotting import HyperplaneDisplay

        return HyperplaneDisplay.from_estimator(self, X, y, **options)


class TreePlotMixin:
    """Mixin of estimators whose result is a tree."""

    def plot(
        self, X: ArrayLike | None = None, *, kind: str = "tree", **options: Any
    ) -> TreeDisplay | HyperplaneDisplay | CellDisplay | BoundaryDisplay:
        """Draw the tree, one of its splits, its cells or a boundary between two clusters.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others. Without X there are no densities, since the estimator does not keep the rows
            of its fit.
        kind : {"tree", "cells", "boundary"}, default="tree"
            ``"cells"``: the cells in the plane, for two features. ``"boundary"``: the density across the boundary
            between two clusters. Both need X.
        **options
            Options of :meth:`ravine.plotting.TreeDisplay.from_estimator`; with ``node=k`` those of
            :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`, which needs X; for the other kinds those of
            :meth:`ravine.plotting.CellDisplay.from_estimator` and
            :meth:`ravine.plotting.BoundaryDisplay.from_estimator`.

        Returns
        -------
        TreeDisplay, HyperplaneDisplay, CellDisplay or BoundaryDisplay
        """
        from ravine.plotting import BoundaryDisplay, CellDisplay, HyperplaneDisplay, TreeDisplay

        check_choice("kind", kind, TREE_PICTURES)
        if kind == "cells":
            return CellDisplay.from_estimator(self, X, **options)
        if kind == "boundary":
            return BoundaryDisplay.from_estimator(self, X, **options)
        if "node" in options:
            return HyperplaneDisplay.from_estimator(self, X, **options)
        return TreeDisplay.from_estimator(self, X, **options)
