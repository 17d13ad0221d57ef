"""Decision functions w·φ(x) - cut of support vector machines, for three kinds of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from ravine.rows import as_rows
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.row_slices import split_into_blocks

__all__ = ["GaussianModel", "LinearModel", "NystroemModel", "SvrModel"]

# Numbers in memory at a time for a decision.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class SvrModel(ABC):
    """Base class of the decision functions.

    Attributes
    ----------
    weights : ndarray
        Of the features of X, of the support vectors or of the Nyström features.
    cut : float
    origin : ndarray of shape (d,)
        Subtracted from the rows first, so that a far origin costs no digits.
    """

    weights: Array
    cut: float
    origin: Array

    def reversed(self) -> Self:
        """Return the same function with the sides exchanged."""
        return replace(self, weights=-self.weights, cut=-self.cut)

    @abstractmethod
    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute w·φ(x) - cut of each row."""


class LinearModel(SvrModel):
    """Decision function with φ(x) = x."""

    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute w·x - cut of each row."""
        return as_rows(X).project(self.origin, self.weights) - self.cut


class KernelModel(SvrModel):
    """Decision function whose features are computed for a block of rows at a time."""

    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute w·φ(x) - cut of each row."""
        row_size = max(len(self.weights), X.shape[1])
        values = [self._evaluate(X[block] - self.origin) for block in split_into_blocks(len(X), row_size, BLOCK)]
        return np.concatenate(values) - self.cut

    @abstractmethod
    def _evaluate(self, centred: Array) -> Array:
        """Compute w·φ(x) of rows less the origin."""


@dataclass(frozen=True, eq=False)
class GaussianModel(KernelModel):
    """Decision function of the Gaussian kernel.

    Attributes
    ----------
    support : ndarray of shape (m, d)
        Support vectors less the origin.
    gamma : float
    """

    support: Array
    gamma: float

    def _evaluate(self, centred: Array) -> Array:
        return np.asarray(rbf_kernel(centred, self.support, gamma=self.gamma) @ self.weights)


@dataclass(frozen=True, eq=False)
class NystroemModel(KernelModel):
    """Decision function on the features of the Nyström method.

    Attributes
    ----------
    features : sklearn.kernel_approximation.Nystroem
    """

    features: Any

    @property
    def gamma(self) -> float:
        """Parameter of the Gaussian kernel."""
        return float(self.features.gamma)

    def _evaluate(self, centred: Array) -> Array:
        return np.asarray(self.features.transform(centred) @ self.weights)
