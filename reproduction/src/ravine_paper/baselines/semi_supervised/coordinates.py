"""Coordinates in which a kernel method becomes a linear one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from ravine.checks import check_choice, check_integer, check_number
from ravine.rows import round_to_power_of_two
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.eigenvectors import compute_inverse_root

__all__ = ["KernelOptions", "LinearMap", "Map", "NystromMap", "check_gamma", "fit_linear_map", "fit_nystrom_map"]

# Eigenvalues of a Gram matrix below this part of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-10
# With a smaller spread, coefficients of the features overflow.
SMALLEST_SPREAD = 1e-280
# Uncentred coordinates stay below the inverse, so that sums of their squares are finite.
SMALLEST_SHARE = 1e-100
# Largest rate of a kernel; exponents stay finite.
LARGEST_RATE = 1e300


@dataclass(frozen=True)
class LinearMap:
    """Map from x to (x - center) / scale and, with a basis, on to the coordinates in the row space."""

    center: Array
    scale: float
    basis: Array | None = None

    def __call__(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute the coordinates of rows."""
        rows = (np.asarray(X, dtype=np.float64) - self.center) / self.scale
        return rows if self.basis is None else rows @ self.basis

    def express_in_features(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Express a linear function of the coordinates as one of X itself."""
        normal = (coef if self.basis is None else self.basis @ coef) / self.scale
        return normal, intercept - float(normal @ self.center)


@dataclass(frozen=True)
class NystromMap:
    """Map to coordinates whose inner products are the Gaussian kernel, exactly so between the landmarks."""

    scaling: LinearMap
    landmarks: Array
    gamma: float
    projection: Array

    def __call__(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute the coordinates of rows."""
        return np.asarray(rbf_kernel(self.scaling(X), self.landmarks, gamma=self.gamma) @ self.projection)


Map = LinearMap | NystromMap


def fit_linear_map(X: NDArray[np.floating[Any]], *, centred: bool = True) -> LinearMap:
    """Fit a scaling to a mean variance of 1 per feature, so that penalties do not depend on units.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    centred : bool
        Whether the mean is subtracted.
    """
    rows = np.asarray(X, dtype=np.float64)
    unit = round_to_power_of_two(float(np.abs(rows).max(initial=0.0)))
    center = (rows / unit).mean(axis=0) * unit
    deviations = rows - center
    peak = round_to_power_of_two(float(np.abs(deviations).max(initial=0.0)))
    scale = peak * math.sqrt(float(np.mean((deviations / peak) ** 2))) or 1.0
    if scale < SMALLEST_SPREAD:
        raise ValueError(
            f"The standard deviation of X is {scale:g}, less than {SMALLEST_SPREAD:g}: divide the features by their "
            "standard deviations first."
        )
    if not centred:
        center = np.zeros_like(center)
        scale = max(scale, SMALLEST_SHARE * unit)
    basis = None
    if rows.shape[1] > rows.shape[0]:
        _, s, vt = np.linalg.svd((rows - center) / scale, full_matrices=False)
        kept = s > max(rows.shape) * np.finfo(float).eps * s[0]
        kept[0] = True  # at least one direction, so that equal rows still have coordinates
        basis = np.ascontiguousarray(vt[kept].T)
    return LinearMap(center, scale, basis)


def fit_nystrom_map(
    X: NDArray[np.floating[Any]],
    gamma: float | None,
    landmarks: NDArray[np.intp] | None,
    scaling: LinearMap | None = None,
    n_features: int | None = None,
) -> NystromMap:
    """Fit coordinates for exp(-gamma |x - x'|²) from some rows (None: all rows, which is uncentred kernel PCA).

    Without ``gamma`` it is 1 / (n_features · mean variance); ``n_features`` is that of X unless the scaling drops some.
    """
    scaling = fit_linear_map(X) if scaling is None else scaling
    rate = 1.0 / (n_features or X.shape[1])
    if gamma is not None:
        rate = min(gamma * scaling.scale * scaling.scale, LARGEST_RATE)
    chosen = scaling(X if landmarks is None else X[landmarks])
    root = compute_inverse_root(rbf_kernel(chosen, gamma=rate), SMALLEST_EIGENVALUE)
    return NystromMap(scaling, chosen, rate, root[:, ::-1])


def check_gamma(value: Any) -> float | None:
    """Validate the parameter ``kernel_gamma``; None stands for "scale"."""
    if isinstance(value, str):
        check_choice("kernel_gamma", value, ("scale",))
        return None
    return check_number("kernel_gamma", value, low=0.0, open_low=True)


@dataclass(frozen=True)
class KernelOptions:
    """Validated parameters ``kernel``, ``kernel_gamma`` and ``n_landmarks`` of an estimator."""

    kernel: str
    gamma: float | None
    n_landmarks: int

    @classmethod
    def of(cls, estimator: Any) -> KernelOptions:
        """Validate the parameters."""
        return cls(
            check_choice("kernel", estimator.kernel, ("linear", "rbf")),
            check_gamma(estimator.kernel_gamma),
            check_integer("n_landmarks", estimator.n_landmarks, low=1),
        )

    def fit_map(self, X: NDArray[np.floating[Any]], rng: np.random.Generator, *, centred: bool = True) -> Map:
        """Fit the map for rows; with a Gaussian kernel, from random landmarks if there are more rows than allowed."""
        if self.kernel == "linear":
            return fit_linear_map(X, centred=centred)
        few = None if len(X) <= self.n_landmarks else np.sort(rng.choice(len(X), self.n_landmarks, replace=False))
        return fit_nystrom_map(X, self.gamma, few)
