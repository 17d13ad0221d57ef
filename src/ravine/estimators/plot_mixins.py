"""Methods ``plot`` of the estimators, each a shortcut for a display of `ravine.plotting`.

The displays lie above the estimators, so they are imported inside the methods, when a picture is drawn: a fit never
loads them, nor matplotlib. ``tests/test_layers.py`` lists these imports as the only ones that point upward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from ravine.plotting import HyperplaneDisplay, TreeDisplay

__all__ = ["HyperplanePlotMixin", "TreePlotMixin"]


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

    def plot(self, X: ArrayLike | None = None, **options: Any) -> TreeDisplay | HyperplaneDisplay:
        """Draw the tree, or one of its splits.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others. Without X there are no densities, since the estimator does not keep the rows
            of its fit.
        **options
            Options of :meth:`ravine.plotting.TreeDisplay.from_estimator`; with ``node=k`` those of
            :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`, which needs X.

        Returns
        -------
        TreeDisplay or HyperplaneDisplay
        """
        from ravine.plotting import HyperplaneDisplay, TreeDisplay

        if "node" in options:
            return HyperplaneDisplay.from_estimator(self, X, **options)
        return TreeDisplay.from_estimator(self, X, **options)
