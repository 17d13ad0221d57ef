"""Decision functions w·φ(x) - cut of support vector machines, for features of three kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from ravine._typing import Array
from ravine.rows import as_rows

__all__ = ["GaussianModel", "LinearModel", "Model", "NystroemModel"]

# Numbers held at a time for a decision.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """What the three kinds share.

    Attributes
    ----------
    weights : ndarray
        Of the columns of X, of the support vectors or of the features.
    cut : float
    origin : ndarray of shape (d,)
        Subtracted from the rows first, so that a far origin costs no digits.
    """

    weights: Array
    cut: float
    origin: Array

    def reversed(self) -> Self:
        """The same with the sides exchanged."""
        return replace(self, weights=-self.weights, cut=-self.cut)

    @abstractmethod
    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """w·φ(x) - cut of each row."""


class LinearModel(Model):
    """φ(x) = x."""

    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """w·x - cut of each row."""
        return as_rows(X).project(self.origin, self.weights) - self.cut


class KernelModel(Model):
    """Features that are computed for a block of rows at a time."""

    def decide(self, X: NDArray[np.floating[Any]]) -> Array:
        """w·φ(x) - cut of each row."""
        n_columns = max(len(self.weights), X.shape[1])
        step = max(1, BLOCK // n_columns)
        blocks = [self._values(X[k : k + step] - self.origin) for k in range(0, len(X), step)]
        return np.concatenate(blocks) - self.cut

    @abstractmethod
    def _values(self, centred: Array) -> Array:
        """w·φ(x) of rows less the origin."""


@dataclass(frozen=True, eq=False)
class GaussianModel(KernelModel):
    """φ of the Gaussian kernel.

    Attributes
    ----------
    support : ndarray of shape (m, d)
        The support vectors less the origin.
    gamma : float
    """

    support: Array
    gamma: float

    def _values(self, centred: Array) -> Array:
        return np.asarray(rbf_kernel(centred, self.support, gamma=self.gamma) @ self.weights)


@dataclass(frozen=True, eq=False)
class NystroemModel(KernelModel):
    """Features of the Nyström method.

    Attributes
    ----------
    features : sklearn.kernel_approximation.Nystroem
    """

    features: Any

    def _values(self, centred: Array) -> Array:
        return np.asarray(self.features.transform(centred) @ self.weights)
