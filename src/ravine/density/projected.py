"""Projected density as an object for users, plots and tests, with its local minima and modes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine import _kernels
from ravine._kernels import DEEP, MAX_NODES
from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.density.sums import BalancePenalty, BinnedDensity, Minima, SortedDensity, Window

# Where the sign and the roots of the slope matter, a flatter one (in units of the kernel's peak and of h) is computed
# exactly: slopes and curvatures from bins have errors of up to about 1e-9.
FLAT = 1e-5
# Projections and bandwidths are below it, so that their sums and differences are finite.
LARGEST = 1e300
# Newton stops after a step shorter than this (in h): near a flat extremum convergence is only linear.
LAST_STEP = 1e-9
# Returns the log-density and its first two derivatives at the points as rows.
LogEvaluate = Callable[[Array], Array]


def compute_silverman_bandwidth(deviation: float, n: float) -> float:
    """Return Silverman's bandwidth for n rows (or a total weight of n) of a standard deviation: 0.9 s n^(-1/5)."""
    return 0.9 * deviation * math.pow(n, -0.2)


class ProjectedDensity:
    """Gaussian kernel density of projections on a line.

    Its value at b is the integral of the density of the rows over the hyperplane v·x = b, eq. (3) of the paper.

    Parameters
    ----------
    projections : array-like of shape (n,)
        The values v·xᵢ.
    bandwidth : float
        Standard deviation h of the kernel.
    weights : array-like of shape (n,), optional
        Non-negative weights; n is their sum.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import ProjectedDensity
    >>> density = ProjectedDensity([-2.1, -2.0, -1.9, 1.8, 2.0, 2.2], bandwidth=0.5)
    >>> bool(abs(density.minimise(-1.0, 1.0).b) < 0.05)
    True
    >>> density.modes().round(1)
    array([-2.,  2.])
    """

    def __init__(self, projections: ArrayLike, bandwidth: float, weights: ArrayLike | None = None) -> None:
        values = np.asarray(projections, dtype=np.float64).ravel()
        if not len(values) or not np.isfinite(values).all():
            raise ValueError("projections must be finite numbers, and at least one.")
        if np.abs(values).max() >= LARGEST:
            largest = values[np.abs(values).argmax()]
            raise ValueError(f"projections contain {largest:g}, and must be below {LARGEST:g}: rescale them.")
        h = float(bandwidth) if isinstance(bandwidth, int | float | np.number) else math.nan
        if not 0.0 < h < LARGEST:
            raise ValueError(f"bandwidth must be a positive number below {LARGEST:g}, got {bandwidth!r}.")
        if h < 1e-13 * np.ptp(values):
            raise ValueError(f"bandwidth {bandwidth:g} is too small for projections that span {np.ptp(values):g}.")
        w = None if weights is None else np.asarray(weights, dtype=np.float64).ravel()
        if w is not None:
            if len(w) != len(values) or not np.isfinite(w).all() or (w < 0).any() or not w.sum() > 0:
                raise ValueError("weights must be finite and non-negative, one for each projection, and not all zero.")
            values, w = values[w > 0], w[w > 0]
        order = np.argsort(values, kind="stable")
        self.bandwidth = h
        self.total = float(len(values)) if w is None else float(w.sum())
        self.peak = 1.0 / (self.bandwidth * math.sqrt(2.0 * math.pi))
        self._exact = SortedDensity(values[order], None if w is None else w[order], self.bandwidth, self.total)
        self._bins = self._fill_bins()

    def _fill_bins(self) -> BinnedDensity | None:
        p, w = self._exact.projections, self._exact.weights
        window = Window.around(p[0], p[-1], self.bandwidth)
        if window is None:
            return None
        moments = np.zeros((window.n_bins + 2, _kernels.MOMENTS))
        _kernels.bin(p, None, 1.0, 0.0, w, window.lo, window.width, moments)
        return BinnedDensity(moments, window, self.bandwidth, self.total)

    # ------------------------------------------------------------------------------------------- values

    def __call__(self, b: ArrayLike) -> Array:
        """Evaluate the density at ``b``.

        The absolute error is at most 3.5e-10 of one kernel's peak. Below 1e-6 of the peak the relative error is at
        most 1e-12.
        """
        points, shape = _flatten(b)
        return np.reshape(self.peak * self.evaluate(points)[0], shape)

    def evaluate(self, points: Array) -> Array:
        """Return value, slope and curvature at the points as rows, in units of the kernel's peak and of h."""
        if self._bins is not None:
            out = self._bins.evaluate(points)
            deep = out[0] < DEEP
        else:
            out, deep = np.empty((3, len(points))), np.ones(len(points), dtype=bool)
        if deep.any():
            log_value, slope, curvature = self._exact.evaluate_log(points[deep])
            out[:, deep] = np.exp(log_value) * [np.ones(len(slope)), slope, curvature + slope * slope]
        return out

    def log(self, b: ArrayLike) -> Array:
        """Evaluate the log-density at ``b``, with exact sums and without underflow."""
        points, shape = _flatten(b)
        return np.reshape(math.log(self.peak) + self._exact.evaluate_log(points)[0], shape)

    def derivatives(self, b: ArrayLike) -> tuple[Array, Array]:
        """Evaluate the first and second derivative of the density at ``b``."""
        points, shape = _flatten(b)
        _, slope, curvature = self.evaluate(points)
        h = self.bandwidth
        return (self.peak / h * slope).reshape(shape), (self.peak / h**2 * curvature).reshape(shape)

    def evaluate_penalised(self, b: ArrayLike, lo: float, hi: float, penalty: BalancePenalty | None = None) -> Array:
        """Evaluate the penalised density f_CL at ``b``, for F(v) = [lo, hi] (eq. (10))."""
        points = np.asarray(b, dtype=np.float64)
        penalty = BalancePenalty() if penalty is None else penalty
        distance = np.maximum(lo - points, points - hi) / self.bandwidth
        return self(points) + self.peak * penalty.evaluate(distance)

    # ------------------------------------------------------------------------------------------- shape

    def extrema(self, lo: float | None = None, hi: float | None = None) -> tuple[Array, Array]:
        """Return all local minima and all local maxima in [lo, hi] (default: the range of the data), increasing."""
        p, h = self._exact.projections, self.bandwidth
        a, c = p[0] - h if lo is None else float(lo), p[-1] + h if hi is None else float(hi)
        if not (math.isfinite(a) and math.isfinite(c) and a < c):
            raise ValueError(f"the interval [{a:g}, {c:g}] is empty or not finite.")
        nodes = self._nodes if lo is None and hi is None else self._exact.place_nodes(a, c)
        return find_extrema(self._evaluate_shape, nodes, h)

    @lazy_property
    def _nodes(self) -> Array:
        """Points up to h outside the range of the data; they show its whole shape there."""
        p, h = self._exact.projections, self.bandwidth
        return self._exact.place_nodes(p[0] - h, p[-1] + h)

    def _evaluate_shape(self, points: Array) -> Array:
        """Return the log-density and its derivatives as rows, with exact sums where it is deep or flat."""
        if self._bins is None:
            return self._exact.evaluate_log(points)
        out = self._bins.evaluate_log(points)
        value = np.exp(out[0])
        exact = (value < DEEP) | (np.abs(out[1]) * value < FLAT)
        out[:, exact] = self._exact.evaluate_log(points[exact])
        return out

    def minima(self, lo: float | None = None, hi: float | None = None) -> Array:
        """Return all local minima in [lo, hi] (default: the range of the data), increasing."""
        return self.extrema(lo, hi)[0]

    def modes(self, lo: float | None = None, hi: float | None = None) -> Array:
        """Return all local maxima in [lo, hi] (default: the range of the data), increasing."""
        return self.extrema(lo, hi)[1]

    def minimise(self, lo: float, hi: float, penalty: BalancePenalty | None = None) -> Minima:
        """Find the global minimiser(s) over b of the density with a penalty outside [lo, hi] (eq. (10) and (12)).

        The result is certified: no b is lower by more than 1e-9 of the kernel's peak, or, in valleys deeper than 1e-6
        of it, by more than 1e-10 of the minimum itself. Ties within that tolerance are listed in ``ties``.
        """
        if not (math.isfinite(lo) and math.isfinite(hi) and lo <= hi):
            raise ValueError(f"lo and hi must be finite with lo <= hi, got [{lo!r}, {hi!r}].")
        penalty = BalancePenalty() if penalty is None else penalty
        if self._bins is not None:
            minima = self._bins.minimise(lo, hi, penalty)
            if minima.log_density > math.log(DEEP):
                return minima
        return self._exact.minimise(lo, hi, penalty)

    def points(self, beyond: float = 1.0) -> Array:
        """Return points that show the whole shape: at most h/4 apart near rows, up to ``beyond`` bandwidths outside."""
        p, h = self._exact.projections, self.bandwidth
        tail = np.arange(1.25, beyond + 0.125, 0.25) * h
        return np.concatenate([p[0] - tail[::-1], self._nodes, p[-1] + tail])

    def relative_depth(self, b: float) -> float:
        """Return the relative depth of b below the lower of its two adjacent modes (eq. (30)).

        It is 0 if b does not separate two modes.
        """
        if not math.isfinite(b):
            raise ValueError(f"b must be finite, got {b!r}.")
        p, h = self._exact.projections, self.bandwidth
        nodes = self._exact.place_nodes(min(p[0], b) - h, max(p[-1], b) + h)
        log_depth = compute_relative_log_depth(self._exact.evaluate_log, nodes, h, float(b))
        return math.expm1(min(log_depth, 709.0)) if log_depth > 0 else 0.0


def _flatten(b: ArrayLike) -> tuple[Array, tuple[int, ...]]:
    """Return the points as a contiguous vector, and their shape."""
    points = np.asarray(b, dtype=np.float64)
    return np.ascontiguousarray(points.ravel()), points.shape


def find_extrema(evaluate: LogEvaluate, nodes: Array, bandwidth: float) -> tuple[Array, Array]:
    """Find the sign changes of the slope between ``nodes``: return (minima, modes), both increasing."""
    nodes, rising, change = _find_sign_changes(evaluate, nodes, bandwidth)
    upward = rising[change + 1]
    roots = _find_roots(evaluate, nodes[change], nodes[change + 1], upward, bandwidth)
    return roots[upward], roots[~upward]


def compute_relative_log_depth(evaluate: LogEvaluate, nodes: Array, bandwidth: float, b: float) -> float:
    """Compute the log ratio of the density at the lower of the two modes adjacent to b to the density at b.

    The relative depth of eq. (30) is ``expm1`` of it. It is -inf if there is no mode on one of the sides.
    """
    nodes, rising, change = _find_sign_changes(evaluate, nodes, bandwidth)
    change = change[~rising[change + 1]]  # from rising to falling: a mode
    above = int(np.searchsorted(nodes[change], b))
    candidates = change[max(above - 2, 0) : above + 1]  # the mode in the cell of b may lie on either side of b
    if len(candidates) < 2:
        return -np.inf
    modes = _find_roots(
        evaluate, nodes[candidates], nodes[candidates + 1], np.zeros(len(candidates), dtype=bool), bandwidth
    )
    left, right = modes[modes < b], modes[modes > b]
    if not len(left) or not len(right):
        return -np.inf
    at = evaluate(np.array([left[-1], right[0], b]))[0]
    return float(min(at[0], at[1]) - at[2])


def _find_sign_changes(
    evaluate: LogEvaluate, nodes: Array, bandwidth: float
) -> tuple[Array, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the nodes, whether the density rises at each, and the cells in which that changes.

    Between two nodes the slope may cross zero more often than its signs at the ends suggest. It does so only if the
    cubic through the end slopes and curvatures does, which requires that its Bernstein coefficients change sign more
    than once; such cells are halved until no doubt remains.
    """
    for _ in range(20):
        _, slope, curvature = evaluate(nodes)
        w = np.diff(nodes) / bandwidth
        inner = slope[:-1] + curvature[:-1] * w / 3.0, slope[1:] - curvature[1:] * w / 3.0
        signs = np.sign([slope[:-1], *inner, slope[1:]])
        doubtful = (np.count_nonzero(signs[1:] != signs[:-1], axis=0) > 1) & (w > 1e-5)
        if not doubtful.any() or len(nodes) > MAX_NODES:
            break
        nodes = np.sort(np.concatenate([nodes, 0.5 * (nodes[:-1] + nodes[1:])[doubtful]]))
    else:
        slope = evaluate(nodes)[1]
    rising = slope > 0
    return nodes, rising, np.flatnonzero(rising[1:] != rising[:-1])


def _find_roots(evaluate: LogEvaluate, left: Array, right: Array, upward: NDArray[np.bool_], bandwidth: float) -> Array:
    """Find the roots of the slope in brackets with a safeguarded Newton method on all of them at once."""
    if not len(left):
        return left
    slopes = evaluate(np.concatenate([left, right]))[1].reshape(2, -1)
    rise = slopes[1] - slopes[0]
    x = left - slopes[0] / np.where(rise == 0.0, 1.0, rise) * (right - left)  # secant: the slopes differ in sign
    x = np.where((x > left) & (x < right), x, 0.5 * (left + right))
    for _ in range(60):
        _, slope, curvature = evaluate(x)
        before = (slope <= 0) == upward  # the root lies to the right of x
        left, right = np.where(before, x, left), np.where(before, right, x)
        newton = x - slope / np.where(curvature == 0.0, np.inf, curvature) * bandwidth
        safe = (newton > left) & (newton < right)
        following = np.where(safe, newton, 0.5 * (left + right))
        largest_step = np.abs(following - x).max()
        x = following
        if largest_step <= LAST_STEP * bandwidth:
            break
    return x
