"""What the pursuit may ask of the data, wherever the rows are.

A start of the pursuit keeps its projections beside the rows, in a *track*: ``p`` on the current normal and ``q`` on the
direction of the current great circle. It asks *questions*, each a sequence of the requests below; a driver puts the
questions of all starts of a round to the sample together, so that one round trip serves them all.

Coordinates are the sample's *working units*: ``z = (x - origin) / unit``, with the (weighted) mean as origin and a
power of two as unit, so that neither huge offsets nor extreme scales cost accuracy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ravine._typing import Array

__all__ = [
    "AngleDerivative",
    "CovarianceProduct",
    "Gradient",
    "GradientNoise",
    "Histogram",
    "LogSum",
    "ProjectionRequest",
    "Request",
    "Rotate",
    "RowSumRequest",
    "SetDirection",
    "SetTangent",
    "ValuesIn",
    "Variances",
]


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
