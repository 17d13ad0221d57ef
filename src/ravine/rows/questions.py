"""What the pursuit may ask of the data, wherever the rows are.

A start of the pursuit keeps its projections beside the rows, in a *track*: ``p`` on the current normal and ``q`` on the
direction of the current great circle. It asks *questions*, each a sequence of the requests below; a driver puts the
questions of all starts of a round to the sample together, so that one round trip serves them all.

Coordinates are the sample's *working units*: ``z = (x - origin) / unit``, with the (weighted) mean as origin and a
power of two as unit, so that neither huge offsets nor extreme scales cost accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = [
    "AngleDerivative",
    "CovarianceProduct",
    "Gradient",
    "Histogram",
    "LogSum",
    "Moments",
    "ProjectionRequest",
    "Request",
    "Rotate",
    "RowSumRequest",
    "Sample",
    "SetDirection",
    "SetTangent",
    "ValuesIn",
    "Variances",
]


@dataclass(frozen=True)
class Moments:
    """First and second moments in working units.

    Attributes
    ----------
    total : float
        Sum of the weights: what the paper calls n.
    covariance : ndarray of shape (d, d), or None
        Second central moments, divided by ``total``: the population convention, so that an integer weight equals
        repetition. None where there are too many columns to store it.
    product : callable, optional
        The product of the covariance with a vector, where it is not stored.
    variance : float
        Its trace, where it is not stored.
    """

    total: float
    covariance: Array | None
    product: Callable[[Array], Array] | None = None
    variance: float = math.nan

    def times(self, v: Array) -> Array:
        """The covariance times a vector."""
        if self.covariance is not None:
            return np.asarray(self.covariance @ v)
        assert self.product is not None
        return self.product(v)

    @property
    def matrix(self) -> Array:
        """The covariance, where it is known to be stored: for dense rows."""
        assert self.covariance is not None
        return self.covariance

    @property
    def trace(self) -> float:
        """Sum of the variances of the columns."""
        return self.variance if self.covariance is None else float(np.trace(self.covariance))


class SetDirection(NamedTuple):
    """Set ``p`` to the projections on ``direction``. Answer: None."""

    track: Any
    direction: Array


class SetTangent(NamedTuple):
    """Set ``q`` to the projections on ``direction``, a unit tangent at the current normal. Answer: None."""

    track: Any
    direction: Array


class Histogram(NamedTuple):
    """Binned moments of ``cos t p + sin t q``. Answer: array of shape (n_bins + 2, 8)."""

    track: Any
    angle: float
    lo: float
    width: float
    n_bins: int


class ValuesIn(NamedTuple):
    """The values of ``cos t p + sin t q`` in [lo, hi]. Answer: (sorted values, their weights or None)."""

    track: Any
    angle: float
    lo: float
    hi: float


class LogSum(NamedTuple):
    """Exact log of the weighted sum of kernels at b, for ``cos t p + sin t q``. Answer: float."""

    track: Any
    angle: float
    bandwidth: float
    b: float


class AngleDerivative(NamedTuple):
    """Derivative of log f(b) by the angle t. Answer: float."""

    track: Any
    angle: float
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class Rotate(NamedTuple):
    """Move along the circle: ``p`` becomes ``cos t p + sin t q``. Answer: None."""

    track: Any
    angle: float


class Gradient(NamedTuple):
    """Gradient of log f(b) by the normal, from the rows within ``reach`` of b. Answer: array of shape (d,)."""

    track: Any
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class GradientNoise(NamedTuple):
    """What chance adds to the squared length of the tangent part of `Gradient`: Σ cᵢ² |zᵢ - pᵢ v|².

    The gradient is Σ cᵢ zᵢ. If the rows near b lie no further to one side than the others, in any column, its
    coefficients cᵢ meet zᵢ at random, and this is the squared length to be expected. Asked for only where the moments
    have no covariance. Answer: float.
    """

    track: Any
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class Variances(NamedTuple):
    """Weighted means of p², p q and q² (only the first unless ``turned``): variances on the circle, for centred rows.

    Asked for only where the moments have no covariance. Answer: three floats.
    """

    track: Any
    turned: bool


class CovarianceProduct(NamedTuple):
    """The covariance times the current normal, Σ w p z / Σ w; only where it is not stored. Answer: array of (d,)."""

    track: Any


ProjectionRequest = SetDirection | SetTangent
RowSumRequest = Gradient | CovarianceProduct
CurveRequest = Histogram | ValuesIn | LogSum | AngleDerivative
Request = ProjectionRequest | RowSumRequest | CurveRequest | Rotate | GradientNoise | Variances


class Sample(Protocol):
    """The data, reached through a handful of operations whose answers are small."""

    n_rows: int
    n_features: int
    total: float  # weight of all rows
    lightest: float  # smallest positive weight
    origin: Array
    unit: float
    is_remote: bool  # whether only sums are cheap, and not one number for each row

    @property
    def column_variances(self) -> Array:
        """Variances of the features, in working units."""

    def moments(self) -> Moments:
        """Total weight and covariance, in working units."""

    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Sum over the rows, by weight, the signs and the cubes of ``(x - center) @ direction / scale``."""

    def fourth_moments(self, whitening: Array) -> Array:
        """Mean of |y|² y yᵀ over the rows y = whitening @ z."""

    def skewness_signs(self, directions: Array) -> Array:
        """1 or -1 for each direction (row): the sign of the third moment of the projections on it."""

    def track(self) -> Any:
        """Room for the projections of one start."""

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round."""

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units."""

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """The sample of some rows, in the same working units."""
