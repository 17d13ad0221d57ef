"""Comparison of a gradient with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ravine.optimise import normalise, project_to_tangent
from ravine_paper._typing import Array

__all__ = ["GradientCheck", "check_gradient"]


@dataclass(frozen=True)
class GradientCheck:
    """Result of `check_gradient`.

    Attributes
    ----------
    error : float
        Largest relative error over the directions, each at its best step size.
    steps, errors : ndarray
        Step sizes and, for each, the largest relative error. For a correct gradient the error is proportional to the
        squared step size until rounding dominates.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine_paper import check_gradient
    >>> A = np.diag([1.0, 2.0, 3.0])
    >>> result = check_gradient(lambda v: v @ A @ v, lambda v: 2 * A @ v, [1.0, 1.0, 1.0])
    >>> bool(result), result.error < 1e-6
    (True, True)
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
        Functions of a unit vector; the gradient need not be tangent.
    v : array-like of shape (d,)
        Point at which to check; scaled to unit length. The function must be smooth there.
    n_directions : int, default=5
        Number of random tangent directions.
    random_state : int, default=0
        Seed of the directions.

    Returns
    -------
    GradientCheck
        True in a boolean context if the error is below 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine_paper import check_gradient
    >>> A = np.diag([1.0, 2.0, 3.0])
    >>> bool(check_gradient(lambda v: v @ A @ v, lambda v: 2 * A @ v, [1.0, 1.0, 1.0]))
    True
    >>> bool(check_gradient(lambda v: v @ A @ v, lambda v: A @ v, [1.0, 1.0, 1.0]))
    False
    """
    at = normalise(np.array(v, dtype=np.float64))
    rng = np.random.default_rng(random_state)
    g = np.asarray(gradient(at), dtype=np.float64)
    steps = 10.0 ** np.arange(-1.0, -8.0, -0.5)
    if len(at) == 1:  # a sphere of two points has no tangents
        return GradientCheck(0.0, steps, np.zeros_like(steps))
    # At a stationary point the error is relative to the rounding error of a difference of values.
    scale = max(float(np.linalg.norm(project_to_tangent(g, at))), 1e-6 * abs(float(function(at)))) or 1.0
    errors = np.empty((n_directions, len(steps)))
    for k in range(n_directions):
        u = normalise(project_to_tangent(rng.standard_normal(len(at)), at))
        for i, t in enumerate(steps):
            ahead, behind = (function(np.cos(t) * at + s * np.sin(t) * u) for s in (1.0, -1.0))
            errors[k, i] = abs((ahead - behind) / (2.0 * t) - g @ u) / scale
    return GradientCheck(float(errors.min(axis=1).max()), steps, errors.max(axis=0))
