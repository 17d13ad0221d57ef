"""Requests that the search makes of the data, wherever the rows are.

The projections of a start are kept with the rows (see `ravine.rows.projections`): ``p`` on the current normal and ``q``
on the unit tangent of the current great circle. A start asks *questions*, each a sequence of the requests below. The
driver passes the questions of all starts to the sample together, so that one round trip answers them all.

Coordinates are the working units of the sample (see `ravine.rows.base`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ravine._typing import Array


class SetDirection(NamedTuple):
    """Set ``p`` to the projections on ``direction``. Answer: None."""

    projections: Any
    direction: Array


class SetTangent(NamedTuple):
    """Set ``q`` to the projections on ``direction``, a unit tangent at the current normal. Answer: None."""

    projections: Any
    direction: Array


class Histogram(NamedTuple):
    """Binned moments of ``cos t p + sin t q``. Answer: array of shape (n_bins + 2, 8)."""

    projections: Any
    angle: float
    lo: float
    width: float
    n_bins: int


class ValuesIn(NamedTuple):
    """Values of ``cos t p + sin t q`` in [lo, hi]. Answer: (sorted values, weights in the same order or None)."""

    projections: Any
    angle: float
    lo: float
    hi: float


class LogSum(NamedTuple):
    """Exact logarithm of the weighted sum of kernels at b, for ``cos t p + sin t q``. Answer: float."""

    projections: Any
    angle: float
    bandwidth: float
    b: float


class AngleDerivative(NamedTuple):
    """Derivative of log f(b) by the angle t, from the rows within ``reach`` of b. Answer: float."""

    projections: Any
    angle: float
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class Rotate(NamedTuple):
    """Move along the great circle: ``p`` becomes ``cos t p + sin t q``. Answer: None."""

    projections: Any
    angle: float


class Gradient(NamedTuple):
    """Gradient of log f(b) by the normal, from the rows within ``reach`` of b. Answer: array of shape (d,)."""

    projections: Any
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class GradientNoise(NamedTuple):
    """Expected squared norm of the tangent part of `Gradient` under pure noise: Σ cᵢ² |zᵢ - pᵢ v|².

    The gradient is Σ cᵢ zᵢ. If the rows near b are distributed across the hyperplane like all other rows, then the
    coefficients cᵢ are independent of zᵢ, and this is the expectation. Only for moments without a stored covariance.
    Answer: float.
    """

    projections: Any
    bandwidth: float
    b: float
    log_sum: float
    reach: float


class Variances(NamedTuple):
    """Weighted means of p², p q and q² (only the first unless ``turned``): variances on the great circle.

    Only for moments without a stored covariance. Answer: three floats.
    """

    projections: Any
    turned: bool


class CovarianceProduct(NamedTuple):
    """Product of the covariance with the current normal, Σ w p z / Σ w. Answer: array of shape (d,).

    Only for moments without a stored covariance.
    """

    projections: Any


class RowsIn(NamedTuple):
    """Rows whose projection ``p`` lies within ``reach`` of b; if there are more than ``most``, a sample of them.

    Answer: Sample in this process, in the same working units and with the total weight of all rows, so that densities
    near b are those of all rows.
    """

    projections: Any
    bandwidth: float
    b: float
    reach: float
    most: float


ProjectionRequest = SetDirection | SetTangent
RowSumRequest = Gradient | CovarianceProduct | RowsIn
CurveRequest = Histogram | ValuesIn | LogSum | AngleDerivative
Request = ProjectionRequest | RowSumRequest | CurveRequest | Rotate | GradientNoise | Variances
