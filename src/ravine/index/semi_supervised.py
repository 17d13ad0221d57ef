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
        # In b a label of class +1 is a hinge to the right of v·x - margin, one of class -1 to the left of v·x + margin.
        at, costs, k = self._labels_at(t) - self._shift, self.gamma * self._costs, self._n_negative
        hinges = _kernels.Hinges(
            _followed_by(at[k:], half), _followed_by(costs[k:], self.penalty.factor),
            _followed_by(at[:k], -half), _followed_by(costs[:k], self.penalty.factor),
            1.0 + self.penalty.epsilon, self.bandwidth,
        )  # fmt: skip
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
        h, epsilon, k = self.bandwidth, self.penalty.epsilon, self._n_negative
        beyond = (abs(m.b) - self.alpha * self._sigma(t)) / h  # of F(v), on the side of b
        excess = (self._margin - self._signs * (self._labels_at(t) - m.b)) / h
        push = np.maximum(excess, 0.0)
        if epsilon != 1.0:
            push **= epsilon
        push *= ((1.0 + epsilon) * self.gamma) * self._costs
        balance = (1.0 + epsilon) * self.penalty.factor * max(beyond, 0.0) ** epsilon
        pull = m.slope * m.density_share
        # Labels of class +1 and the upper end of F(v) push b down, those of class -1 and the lower end push it up.
        down, up = float(push[k:].sum()), float(push[:k].sum())
        if m.b > 0.0:
            down += balance
        else:
            up += balance
        holding, other = (down, up) if pull < 0.0 else (up, down)
        if holding == 0.0 and pull != 0.0:
            side = slice(k, None) if pull < 0.0 else slice(0, k)
            nearest = int(np.argmax(excess[side])) if len(excess[side]) else -1
            if nearest >= 0 and excess[side][nearest] > max(-TOUCHING, beyond if (m.b > 0.0) == (pull < 0.0) else -1.0):
                push[side][nearest] = holding = 1.0
            elif beyond > -TOUCHING and (m.b > 0.0) == (pull < 0.0):
                balance = holding = 1.0
        scale = math.exp(min(-m.log_index, 700.0))
        held = (other * scale + abs(pull)) / holding if holding > 0.0 else scale
        scale_up, scale_down = (scale, held) if pull < 0.0 else (held, scale)
        push[:k] *= scale_up / h
        push[k:] *= -scale_down / h
        return -self.alpha * balance * (scale_down if m.b > 0.0 else scale_up) / h, push

    def _penalty_slope(self, m: Minima, t: float, sigma_slope: float) -> float:
        on_sigma, on_labels = self._forces(m, t)
        return on_sigma * sigma_slope + float(on_labels @ (math.cos(t) * self._q - math.sin(t) * self._p))

    def _penalty_gradient(self, m: Minima) -> Array:
        on_sigma, on_labels = self._forces(m, 0.0)
        return np.asarray(on_labels @ self._rows + (on_sigma / self._sigma(0.0)) * self._cov_v)


def _followed_by(values: Array, last: float) -> Array:
    out = np.empty(len(values) + 1)
    out[:-1] = values
    out[-1] = last
    return out
