"""The methods ``plot`` of the estimators: one line to their displays."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ravine.tree.pictures import displays

__all__ = ["HyperplanePlot", "TreePlot"]


class HyperplanePlot:
    """For estimators whose result is a hyperplane."""

    def plot(self, X: ArrayLike | None = None, y: ArrayLike | None = None, **options: Any) -> Any:
        """Draw the hyperplane, the rows around it and the projected density.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows of the fit, or others: the estimator keeps none, so they are needed.
        y : array-like of shape (n_samples,), optional
            Labels for the colours.
        **options
            For :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`.

        Returns
        -------
        HyperplaneDisplay
        """
        return displays().HyperplaneDisplay.from_estimator(self, X, y, **options)


class TreePlot:
    """For estimators whose result is a tree."""

    def plot(self, X: ArrayLike | None = None, **options: Any) -> Any:
        """Draw the tree, or one of its splits.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others: the estimator keeps none. Without X there are no densities.
        **options
            For :meth:`ravine.plotting.TreeDisplay.from_estimator`; with ``node=k`` for
            :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`, which needs X.

        Returns
        -------
        TreeDisplay or HyperplaneDisplay
        """
        display = displays().HyperplaneDisplay if "node" in options else displays().TreeDisplay
        return display.from_estimator(self, X, **options)
