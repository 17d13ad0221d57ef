"""The semi-supervised index φ_SSC and its gradient, eq. PenalisedSSL and PrIndexSSL of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ravine import _kernels
from ravine._typing import Array
from ravine.density import BalancePenalty, BinnedDensity, Minima, SortedDensity
from ravine.index.clustering import ClusteringIndex, Solve
from ravine.sample import Moments, Sample

__all__ = ["LabelPenalty", "LabelledRows", "SemiSupervisedIndex"]

# A hinge closer to b than this (in h) may be what holds it, whatever rounding says.
TOUCHING = 1e-9


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The labelled rows of a two-class problem.

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


@dataclass(frozen=True)
class LabelPenalty:
    """What a labelled row on the wrong side costs.

    With the signed distance s = y (v·x - b), ``"sum"`` is the paper's ``Σ max(0, -s)^(1+ε)`` (eq. PenalisedSSL), which
    depends on the unit of the data and on the number of labels; ``"mean"`` is the mean of
    ``max(0, margin - s / h0)^(1+ε)`` relative to the peak of one kernel, which does not. Both are multiplied by γ.

    Attributes
    ----------
    form : {"mean", "sum"}
    margin : float
        In units of h0.
    """

    form: Literal["mean", "sum"] = "mean"
    margin: float = 1.0

    def costs(self, weights: Array, bandwidth: float, reference: float, unit: float, epsilon: float) -> Array:
        """Cost of each label at a distance of one bandwidth, in units of the kernel's peak, for γ = 1.

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
        return np.asarray(weights * (math.sqrt(2.0 * math.pi) * math.pow(bandwidth * unit, 2.0 + epsilon)))


class SemiSupervisedIndex(ClusteringIndex):
    """log φ_SSC as an objective on the sphere, for one start.

    Parameters
    ----------
    sample, moments, bandwidth, penalty, alpha
        As for `ClusteringIndex`.
    labelled : LabelledRows
    label_penalty : LabelPenalty
    reference : float
        The bandwidth h0 in which the margin is measured, in working units.
    gamma : float
        Weight of the labels; may be changed between optimisations.
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
        self._rows = labelled.rows
        self._signs = labelled.signs
        self._costs = label_penalty.costs(labelled.weights, bandwidth, reference, sample.unit, penalty.epsilon)
        self._margin = label_penalty.margin * reference
        self._positive = labelled.signs > 0.0

    # ------------------------------------------------------------------------------------------- projections

    def _aim(self, v: Array) -> None:
        super()._aim(v)
        self._p = self._rows @ v

    def _turn(self, u: Array) -> None:
        super()._turn(u)
        self._q = self._rows @ u

    def _move(self, t: float, v: Array) -> None:
        super()._move(t, v)
        self._p = self._labels_at(t)

    def _labels_at(self, t: float) -> Array:
        """Projections of the labelled rows at the angle t."""
        return self._p if t == 0.0 else np.asarray(math.cos(t) * self._p + math.sin(t) * self._q)

    # ------------------------------------------------------------------------------------------- over b

    def _problem(self, t: float, half: float) -> tuple[float, float, Solve]:
        """Where the penalties exceed their minimum by more than the peak of the density, no b can be optimal."""
        h, positive = self.bandwidth, self._positive
        # In b a label of class +1 is a hinge to the right of v·x - margin, one of class -1 to the left of v·x + margin.
        at = self._labels_at(t) - self._signs * self._margin
        costs = self.gamma * self._costs
        hinges = _kernels.Hinges(
            np.append(at[positive], half),
            np.append(costs[positive], self.penalty.factor),
            np.append(at[~positive], -half),
            np.append(costs[~positive], self.penalty.factor),
            1.0 + self.penalty.epsilon,
            h,
        )
        lo, hi = hinges.sublevel(1.0)

        def solve(density: BinnedDensity | SortedDensity, a: float, c: float) -> Minima:
            return density.minimise_with(a, c, hinges).placed(half)

        return lo, hi, solve

    # ------------------------------------------------------------------------------------------- derivatives

    def _forces(self, m: Minima, t: float) -> tuple[float, Array]:
        """Derivatives of log φ by σ_v and by the projection of each labelled row, for b at its minimiser.

        There the slopes of the hinges balance that of the density (eq. PrIndexSSL). The side that holds b is scaled so
        that they do so exactly: in a deep valley a hinge holds b by less than the rounding of its place.
        """
        h, epsilon, half = self.bandwidth, self.penalty.epsilon, self.alpha * self._sigma(t)
        excess = np.append((self._margin - self._signs * (self._labels_at(t) - m.b)) / h, (abs(m.b) - half) / h)
        costs = np.append(self.gamma * self._costs, self.penalty.factor)
        to_the_left = np.append(self._positive, m.b > 0.0)  # hinges that push b to smaller values
        push = (1.0 + epsilon) * costs * np.maximum(excess, 0.0) ** epsilon
        pull = m.slope * m.density_share  # of the density, in the same units
        holding = to_the_left if pull < 0.0 else ~to_the_left
        if pull != 0.0 and not push[holding].any():
            nearest = np.argmax(np.where(holding, excess, -np.inf))
            if holding[nearest] and excess[nearest] > -TOUCHING:
                push[nearest] = 1.0
        force = push * math.exp(min(-m.log_index, 700.0))
        total = float(push[holding].sum())
        if total > 0.0:
            force[holding] = push[holding] / total * (float(force[~holding].sum()) + abs(pull))
        on_labels = np.where(self._positive, -force[:-1], force[:-1]) / h
        return float(-self.alpha * force[-1] / h), on_labels

    def _penalty_slope(self, m: Minima, t: float, sigma_slope: float) -> float:
        on_sigma, on_labels = self._forces(m, t)
        return on_sigma * sigma_slope + float(on_labels @ (math.cos(t) * self._q - math.sin(t) * self._p))

    def _penalty_gradient(self, m: Minima) -> Array:
        on_sigma, on_labels = self._forces(m, 0.0)
        return np.asarray(on_labels @ self._rows + (on_sigma / self._sigma(0.0)) * self._cov_v)
