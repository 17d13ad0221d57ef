"""The semi-supervised index φ_SSC and its gradient, eq. (16) and (17) of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._kernels import TOUCHING
from ravine._typing import Array
from ravine.density import BalancePenalty, BinnedDensity, Minima, SortedDensity
from ravine.index.clustering import ClusteringIndex, MinimiseOver
from ravine.rows import Moments, Sample


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labelled rows of a two-class problem.

    Attributes
    ----------
    rows : ndarray of shape (l, d)
        In working units.
    signs : ndarray of shape (l,)
        +1 or -1: the class.
    weights : ndarray of shape (l,)
        Positive.
    """

    rows: Array
    signs: Array
    weights: Array

    def without(self, excluded: NDArray[np.bool_]) -> LabelledRows:
        """Return the rows that are not excluded."""
        return LabelledRows(self.rows[~excluded], self.signs[~excluded], self.weights[~excluded])


@dataclass(frozen=True)
class LabelPenalty:
    """Cost of a labelled row on the wrong side.

    With the signed distance s = y (v·x - b), ``"sum"`` is the paper's ``Σ max(0, -s)^(1+ε)`` (eq. (16)), which
    depends on the unit of the data and on the number of labels; ``"mean"`` is the mean of
    ``max(0, margin - s / h0)^(1+ε)`` relative to the peak of one kernel, which does not. Both are multiplied by γ.

    Attributes
    ----------
    margin : float
        In units of h0.
    """

    form: Literal["mean", "sum"] = "mean"
    margin: float = 1.0

    def costs(self, weights: Array, bandwidth: float, reference: float, unit: float, epsilon: float) -> Array:
        """Return the cost of each label at a distance of one bandwidth, in units of the kernel's peak, for γ = 1.

        Parameters
        ----------
        weights : ndarray of shape (l,)
        bandwidth, reference : float
            h and h0, in working units.
        unit : float
            The working unit in the units of the data.
        epsilon : float
            ε of the paper. With 1 the penalty is piecewise quadratic in b, which is fastest.
        """
        if self.form == "mean":
            return np.asarray(weights / weights.sum() * math.pow(bandwidth / reference, 1.0 + epsilon))
        # In the units of the data f is divided by sqrt(2π) h: eq. (3) and (16).
        h = np.float64(bandwidth * unit)
        with np.errstate(over="ignore", under="ignore"):
            costs = weights * (math.sqrt(2.0 * math.pi) * h ** (2.0 + epsilon))
        if not (np.isfinite(costs).all() and (costs > 0.0).all()):
            raise ValueError(
                f"the penalty of the labels, eq. (16), depends on the unit of X, and with a bandwidth of {h:g} it "
                "overflows or underflows: rescale X."
            )
        return np.asarray(costs)


class SemiSupervisedIndex(ClusteringIndex):
    """log φ_SSC as an objective on the sphere, for one start.

    Parameters
    ----------
    sample, moments, bandwidth, penalty, alpha
        As for `ClusteringIndex`.
    reference : float
        The bandwidth h0 in which the margin is measured, in working units.
    gamma : float
        Weight of the labels. It may change between optimisations.
    """

    def __init__(
        self,
        sample: Sample,
        moments: Moments,
        bandwidth: float,
        penalty: BalancePenalty,
        alpha: float,
        *,
        labelled: LabelledRows,
        label_penalty: LabelPenalty,
        reference: float,
        gamma: float,
    ) -> None:
        super().__init__(sample, moments, bandwidth, penalty, alpha)
        self.gamma = gamma
        order = np.argsort(labelled.signs, kind="stable")
        self._n_negative = int((labelled.signs < 0.0).sum())
        self._rows = labelled.rows[order]
        self._signs = labelled.signs[order]
        self._costs = label_penalty.costs(
            labelled.weights[order], bandwidth, reference, sample.unit, self.penalty.epsilon
        )
        self._margin = label_penalty.margin * reference
        self._shift = self._signs * self._margin

    # ------------------------------------------------------------------------------------------- projections

    def _set_direction(self, v: Array) -> None:
        super()._set_direction(v)
        self._p = self._rows @ v

    def _set_tangent(self, u: Array) -> None:
        super()._set_tangent(u)
        self._q = self._rows @ u

    def _rotate(self, t: float, v: Array) -> None:
        super()._rotate(t, v)
        self._p = self._project_labels(t)

    def _project_labels(self, t: float) -> Array:
        """Return the projections of the labelled rows at the angle t."""
        return self._p if t == 0.0 else np.asarray(math.cos(t) * self._p + math.sin(t) * self._q)

    # ------------------------------------------------------------------------------------------- over b

    def _offset_problem(self, t: float, half: float) -> tuple[float, float, MinimiseOver]:
        """Return the interval where b can be optimal, and how to search part of it.

        No b is optimal where the penalties exceed their minimum by more than the peak of the density.
        """
        # In b a label of class +1 is a hinge to the right of v·x - margin, one of class -1 to the left of v·x + margin.
        at, costs, k = self._project_labels(t) - self._shift, self.gamma * self._costs, self._n_negative
        hinges = _kernels.Hinges(
            _append(at[k:], half), _append(costs[k:], self.penalty.factor),
            _append(at[:k], -half), _append(costs[:k], self.penalty.factor),
            1.0 + self.penalty.epsilon, self.bandwidth,
        )  # fmt: skip
        lo, hi = hinges.sublevel(1.0)

        def solve(density: BinnedDensity | SortedDensity, a: float, c: float) -> Minima:
            return density.minimise_with(a, c, hinges).mark_side(half)

        return lo, hi, solve

    # ------------------------------------------------------------------------------------------- derivatives

    def _compute_forces(self, m: Minima, t: float) -> tuple[float, Array]:
        """Return the derivatives of log φ by σ_v and by the projection of each labelled row, at the minimiser b.

        There the slopes of the hinges balance that of the density, eq. (17). In a deep valley, a hinge that b touches
        holds it by less than the rounding of its place, so its force follows from the balance with the others.
        """
        h, epsilon = self.bandwidth, self.penalty.epsilon
        # The last hinge is the end of F(v) on the side of b.
        excess = _append(
            (self._margin - self._signs * (self._project_labels(t) - m.b)) / h,
            (abs(m.b) - self.alpha * self._sigma(t)) / h,
        )
        costs = _append(self.gamma * self._costs, self.penalty.factor)
        downward = _append(self._signs, 1.0 if m.b > 0.0 else -1.0)  # direction in which each hinge pushes b
        force = np.maximum(excess, 0.0)
        if epsilon != 1.0:
            force **= epsilon
        force *= costs
        force *= (1.0 + epsilon) * math.exp(min(-m.log_index, 700.0))
        distance = np.abs(excess)
        if distance.min() < TOUCHING:
            pull = m.slope * m.density_share
            distance[costs == 0.0] = np.inf
            for nearest in np.argsort(distance, kind="stable")[:2]:
                if distance[nearest] > TOUCHING:
                    break
                force[nearest] = 0.0
                rest = pull + float(downward @ force)
                if downward[nearest] * rest <= 0.0:
                    force[nearest] = abs(rest)
                    break
        return float(-self.alpha * force[-1] / h), np.asarray(-downward[:-1] * force[:-1] / h)

    def _depends_on_sigma(self, _: Minima) -> bool:
        return True

    def _penalty_slope(self, m: Minima, t: float, sigma_slope: float) -> float:
        on_sigma, on_labels = self._compute_forces(m, t)
        return on_sigma * sigma_slope + float(on_labels @ (math.cos(t) * self._q - math.sin(t) * self._p))

    def _penalty_gradient(self, m: Minima) -> Array:
        on_sigma, on_labels = self._compute_forces(m, 0.0)
        gradient = on_labels @ self._rows
        return np.asarray(gradient + (on_sigma / self._sigma(0.0)) * self._cov_v if on_sigma else gradient)


def _append(values: Array, last: float) -> Array:
    out = np.empty(len(values) + 1)
    out[:-1] = values
    out[-1] = last
    return out
