"""What there is to see along one direction, as plain arrays; nothing is drawn here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.density import BalancePenalty, ProjectedDensity
from ravine.rows import Rows, StoredMoments
from ravine.search.space import WorkingSpace

__all__ = ["Curve", "Line", "density_curve", "sample_rows", "unit_vector"]

FEWEST_POINTS, MOST_POINTS = 256, 4096
UNLABELLED = "unlabelled"


def unit_vector(direction: ArrayLike, n_features: int, name: str = "normal") -> Array:
    """A direction of length 1, one number for each column."""
    try:
        vector = np.array(direction, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {n_features} numbers, one for each column of X: {error}") from error
    if vector.shape != (n_features,):
        raise ValueError(f"{name} must be {n_features} numbers, one for each column of X, got shape {vector.shape}.")
    length = float(np.max(np.abs(vector), initial=0.0))
    if not (math.isfinite(length) and length > 0.0):
        raise ValueError(f"{name} must be finite and not all zeros.")
    vector /= length
    return np.asarray(vector / np.linalg.norm(vector))


# ------------------------------------------------------------------------------------------------- the line


@dataclass(frozen=True)
class Line:
    """The rows of X seen along a direction, and across it.

    Attributes
    ----------
    along : ndarray of shape (n,)
        Projections v·x of all rows.
    mean, std : float
        Of them, by weight: what F(v) is made of.
    across_direction : ndarray of shape (d,) or None
        The direction of largest variance orthogonal to v, by a few Lanczos iterations where the covariance is not
        stored; None if nothing varies across v.
    pc1_std : float
        Standard deviation along the first principal component.
    origin : ndarray of shape (d,)
        The mean of the rows: projections are taken about it, so that a far origin costs no digits.
    """

    along: Array
    mean: float
    std: float
    across_direction: Array | None
    pc1_std: float
    origin: Array

    @classmethod
    def of(cls, X: Rows, normal: Array, weights: Array | None = None) -> Line:
        """Project all rows; one pass for the covariance, one for the projections."""
        space = WorkingSpace.of(X, weights, None)
        moments, basis, inner = space.sample.moments(), space.basis, normal
        if basis is not None:
            # Fewer rows than columns: the row space and, if the direction leaves it, one more axis.
            inner = basis.T @ normal
            rest = normal - basis @ inner
            beyond = float(np.linalg.norm(rest))
            if beyond > 1e-9:
                basis, inner = np.column_stack([basis, rest / beyond]), np.append(inner, beyond)
                moments = StoredMoments(moments.total, np.pad(moments.covariance, (0, 1)))
        variance = moments.variance_along(inner)
        largest, _ = moments.leading_axis()
        value, axis = moments.across(inner).leading_axis()
        across = None
        if value > 1e-20 * largest and value > len(inner) * np.finfo(float).eps * largest:
            across = axis - (axis @ inner) * inner if basis is None else basis @ axis
            across = across - (across @ normal) * normal
            across /= np.linalg.norm(across)
            across *= np.sign(across[np.argmax(np.abs(across))])
        mean = float(normal @ space.origin)
        along = X.project(space.origin, normal) + mean
        std, pc1_std = math.sqrt(variance) * space.unit, math.sqrt(largest) * space.unit
        return cls(along, mean, std, across, pc1_std, space.origin)

    def across(self, X: Rows, rows: NDArray[np.intp]) -> Array | None:
        """Projections of some rows on the direction of largest variance across; None if there is none."""
        if self.across_direction is None:
            return None
        return X.project(self.origin, self.across_direction, rows) + float(self.across_direction @ self.origin)


# ------------------------------------------------------------------------------------------------- curves


@dataclass(frozen=True)
class Curve:
    """A projected density and its penalised index at some points.

    Attributes
    ----------
    points, density : ndarray of shape (k,)
    index : ndarray of shape (k,) or None
        f_CL(v, ·) of eq. (10); None without an interval F(v).
    """

    points: Array
    density: Array
    index: Array | None


def density_curve(
    density: ProjectedDensity,
    low: float,
    high: float,
    interval: tuple[float, float] | None = None,
    penalty: BalancePenalty | None = None,
    extra: Sequence[float] = (),
) -> Curve:
    """The curves from ``low`` to ``high``, three bandwidths beyond, at most h/8 apart unless that is too many points.

    ``extra`` points are among them: the hyperplane is drawn where the density is evaluated.
    """
    h = density.bandwidth
    low, high = low - 3.0 * h, high + 3.0 * h
    n_points = int(min(max(math.ceil(8.0 * (high - low) / h), FEWEST_POINTS), MOST_POINTS))
    points = [np.linspace(low, high, n_points), np.asarray([x for x in extra if math.isfinite(x)])]
    if interval is not None:
        # The penalty rises within a few tenths of h: the line would start too late without points there.
        strip = np.linspace(0.0, 1.0, 33) ** 2 * h
        points += [interval[0] - strip, interval[1] + strip]
    at = np.unique(np.concatenate(points))
    index = None if interval is None else density.evaluate_penalised(at, *interval, penalty)
    return Curve(at, density(at), index)


# ------------------------------------------------------------------------------------------------- rows and labels


def sample_rows(n_rows: int, most: int, first: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """At most ``most`` rows by their numbers, always the same; ``first`` are among them if half of it holds them.

    A few labels in a million rows would otherwise not be seen.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(0)
    if first is None or not len(first) or len(first) > most // 2:
        return np.sort(rng.choice(n_rows, most, replace=False))
    others = np.setdiff1d(np.arange(n_rows), first, assume_unique=True)
    return np.sort(np.concatenate([first, rng.choice(others, most - len(first), replace=False)]))
