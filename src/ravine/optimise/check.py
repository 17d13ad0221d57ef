"""Whether a gradient belongs to its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array

__all__ = ["GradientCheck", "check_gradient"]


@dataclass(frozen=True)
class GradientCheck:
    """Result of `check_gradient`.

    Attributes
    ----------
    error : float
        Largest relative error over the directions, each at its best step size.
    steps, errors : ndarray
        Step sizes and, for each, the largest relative error: a right gradient shows a slope of 2 on log-log axes until
        rounding takes over.
    """

    error: float
    steps: Array
    errors: Array

    def __bool__(self) -> bool:
        return self.error < 1e-6


def check_gradient(
    function: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    v: ArrayLike,
    *,
    n_directions: int = 5,
    random_state: int = 0,
) -> GradientCheck:
    """Compare a gradient on the sphere with central differences along great circles.

    Parameters
    ----------
    function, gradient : callable
        Of a unit vector; the gradient need not be tangent.
    v : array-like of shape (d,)
        Where to check; scaled to unit length. The function must be smooth there.
    n_directions : int, default=5
        Random tangent directions tried.
    random_state : int, default=0

    Returns
    -------
    GradientCheck
        True in a boolean context if the error is below 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import check_gradient
    >>> A = np.diag([1.0, 2.0, 3.0])
    >>> bool(check_gradient(lambda v: v @ A @ v, lambda v: 2 * A @ v, [1.0, 1.0, 1.0]))
    True
    >>> bool(check_gradient(lambda v: v @ A @ v, lambda v: A @ v, [1.0, 1.0, 1.0]))
    False
    """
    at = np.array(v, dtype=np.float64)
    at /= np.linalg.norm(at)
    rng = np.random.default_rng(random_state)
    g = np.asarray(gradient(at), dtype=np.float64)
    steps = 10.0 ** np.arange(-1.0, -8.0, -0.5)
    if len(at) == 1:  # a sphere of two points has no direction to move in
        return GradientCheck(0.0, steps, np.zeros_like(steps))
    # At a stationary point the error is relative to what rounding leaves of a difference of values.
    scale = max(float(np.linalg.norm(g - (g @ at) * at)), 1e-6 * abs(float(function(at)))) or 1.0
    errors = np.empty((n_directions, len(steps)))
    for k in range(n_directions):
        u = rng.standard_normal(len(at))
        u -= (u @ at) * at
        u /= np.linalg.norm(u)
        for i, t in enumerate(steps):
            ahead, behind = (function(np.cos(t) * at + s * np.sin(t) * u) for s in (1.0, -1.0))
            errors[k, i] = abs((ahead - behind) / (2.0 * t) - g @ u) / scale
    return GradientCheck(float(errors.min(axis=1).max()), steps, errors.max(axis=0))
