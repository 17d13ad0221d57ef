"""Clusterers of the package HiPart behind the interface of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin

__all__ = ["HiPartClusterer"]


class HiPartClusterer(ClusterMixin, BaseEstimator):
    """Clusterer of the package HiPart with two clusters and its own defaults.

    Parameters
    ----------
    algorithm : str
        Name of a class of ``HiPart.clustering``.
    random_state : int, optional
        Passed on if it is given.
    """

    def __init__(self, algorithm: str, random_state: int | None = None) -> None:
        self.algorithm = algorithm
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: object = None) -> HiPartClusterer:
        """Fit the clusterer; all rows are one cluster if it finds no split."""
        from HiPart import clustering

        arguments: dict[str, Any] = {"max_clusters_number": 2}
        if self.random_state is not None:
            arguments["random_state"] = self.random_state
        try:
            self.labels_ = np.asarray(getattr(clustering, self.algorithm)(**arguments).fit_predict(X)).astype(np.intp)
        except RuntimeError:  # HiPart found no split
            self.labels_ = np.zeros(len(X), dtype=np.intp)
        return self
