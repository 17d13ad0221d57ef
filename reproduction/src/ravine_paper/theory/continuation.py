"""From minimum density to maximum margin: the hyperplane followed while the bandwidth shrinks (Theorem 5).

Everything is computed in the log domain. With a margin m the log of the density is about -(m/h)²/2, so its gradient
grows like h⁻² and its curvature like h⁻⁴. Both are carried from one bandwidth to the next in these scales, and so is
the length of a step.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ravine import Hyperplane, MinimumDensityHyperplane
from ravine.checks import check_integer, check_number, check_weights, make_generator
from ravine.classes import encode_labels, make_signs
from ravine.estimators import make_search_settings, validate_array
from ravine.index import ClusteringIndex, LabelPenalty
from ravine.optimise import Memory, Questions, measure_angle, minimise_on_sphere
from ravine.rows import as_rows
from ravine.search import (
    LabelSettings,
    Problem,
    SearchSettings,
    Stage,
    check_representable,
    describe_stage,
    drive,
    follow_paths,
    resolve_bandwidth,
    screen_starts,
)
from ravine_paper._typing import Array

__all__ = [
    "BandwidthPath",
    "BandwidthStep",
    "bandwidth_path",
    "choose_bandwidths",
    "follow_bandwidths",
    "make_path",
    "with_labels",
]

# Ratio of the smallest bandwidth to the largest, if no sequence is given.
SHRINKAGE = 1e-6
# A row is a support point if its kernel is at least this fraction of the nearest row's.
SUPPORT = 1e-3
# Normals that differ by less are one.
SAME_DIRECTION = 1e-6
# Weights of the labels on the way to the last.
GAMMAS = (0.1, 1.0, 10.0)
LABEL_STARTS = ("svm", "lda", "means", "pc1", "pc2")
# Optimiser iterations for each bandwidth.
MAX_ITER = 100
# Relative to the log of the index: its rounding, and the decrease that is worth another iteration.
RESOLUTION = 1e-15
WORTHWHILE = 1e-12
# Up to this many rows exact sums are cheaper than bins for all of F(v).
FEW_ROWS = 500


@dataclass(frozen=True, eq=False)
class BandwidthStep:
    """Minimum density hyperplane for one bandwidth.

    Attributes
    ----------
    bandwidth : float
    hyperplane : Hyperplane
        Its density underflows to 0 for small bandwidths; ``log_density`` does not.
    log_density : float
        Log of the density on the hyperplane.
    margin : float
        Distance of the nearest row.
    support : ndarray of int
        Indices of the support points: rows whose kernels on the hyperplane reach a thousandth of the nearest row's. As
        the bandwidth goes to 0 these are the rows at the distance ``margin``.
    labels : ndarray of shape (n_samples,), int
        Partition: 1 on the side the normal points to, 0 on the other.
    angle : float
        Angle to the normal of the step before, in radians; NaN for the first step.
    same_partition : bool
        Whether the partition is that of the step before; False for the first step.
    start : int
        Number of the start.
    converged : bool
    n_evaluations : int
        Number of evaluations of the index for this bandwidth, over all starts.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper import bandwidth_path
    >>> X, _ = make_blobs([20, 30], centers=[[0, 0], [6, 6]], random_state=0)
    >>> step = bandwidth_path(X, n_bandwidths=5, random_state=0).steps[-1]
    >>> step.labels.shape, len(step.support), step.same_partition
    ((50,), 2, True)
    """

    bandwidth: float
    hyperplane: Hyperplane
    log_density: float
    margin: float
    support: NDArray[np.intp]
    labels: NDArray[np.intp]
    angle: float
    same_partition: bool
    start: int
    converged: bool
    n_evaluations: int


@dataclass(frozen=True, eq=False)
class BandwidthPath:
    """Minimum density hyperplanes of a decreasing sequence of bandwidths.

    Attributes
    ----------
    steps : tuple of BandwidthStep
        One for each bandwidth.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper import bandwidth_path
    >>> X, _ = make_blobs([20, 30], centers=[[0, 0], [6, 6]], random_state=0)
    >>> path = bandwidth_path(X, n_bandwidths=5, random_state=0)
    >>> len(path.bandwidths), bool(path.settled <= path.bandwidths[0])
    (5, True)
    """

    steps: tuple[BandwidthStep, ...]

    @property
    def bandwidths(self) -> Array:
        """Bandwidth of every step."""
        return np.array([step.bandwidth for step in self.steps])

    @property
    def margins(self) -> Array:
        """Margin of every step."""
        return np.array([step.margin for step in self.steps])

    @property
    def angles(self) -> Array:
        """Angle of every step to the step before."""
        return np.array([step.angle for step in self.steps])

    @property
    def settled(self) -> float:
        """Largest bandwidth from which on the partition did not change (h' of Lemma 4, on this sequence)."""
        k = len(self.steps) - 1
        while k > 0 and self.steps[k].same_partition:
            k -= 1
        return self.steps[k].bandwidth


# --------------------------------------------------------------------------------------------------- continuation


def follow_bandwidths(problem: Problem, bandwidths: Sequence[float], extra: Array | None = None) -> list[list[Stage]]:
    """Follow the minimum density hyperplane to the smallest bandwidth; return one stage per bandwidth, per start.

    For the largest bandwidth it is found by MDP² from several starts. Each result is then followed to the smaller
    bandwidths by continuation, always with the widest interval of offsets.

    Parameters
    ----------
    problem : Problem
    bandwidths : sequence of float
        Decreasing, in the units of X.
    extra : ndarray of shape (k, d), optional
        More unit vectors, in working coordinates, that are followed without a search.
    """
    problem = replace(problem, settings=replace(problem.settings, bandwidth=bandwidths[0]))
    paths = follow_paths(problem, screen_starts(problem, problem.starts()), lambda _: None)
    ends = [(path.kept or path.stages[-1]).normal for path in paths]
    ends.extend([] if extra is None else extra)
    if problem.labelled is None:
        ends = _drop_repeated(ends)
    inner = [h / problem.space.unit for h in bandwidths]
    return drive(problem.sample, [_follow_start(problem, v, k, inner) for k, v in enumerate(ends)])


def _follow_start(problem: Problem, v: Array, start: int, bandwidths: Sequence[float]) -> Questions[list[Stage]]:
    """Follow a minimiser of the index through decreasing bandwidths, in working units: one stage for each."""
    alpha, gamma, tolerance = problem.settings.alpha_max, GAMMAS[-1], problem.settings.tolerance
    stages: list[Stage] = []
    memory, angle, last = Memory(), 0.1, None
    for h in bandwidths:
        # The penalty is in units of the kernel's peak, so γ shrinks with h no faster than a power, as Lemma 7 requires.
        index = problem.index(bandwidth=h, reference=bandwidths[0], alpha=alpha, gamma=gamma)
        assert isinstance(index, ClusteringIndex)
        index.exact = problem.sample.n_rows <= FEW_ROWS
        value, _ = yield from index.begin(v)
        if last is not None:
            memory.rescale((last / h) ** 4)
            angle = max(angle * (h / last) ** 2, 1e-14)
        result = yield from minimise_on_sphere(
            index,
            v,
            max_iter=MAX_ITER,
            tolerance=max(tolerance, WORTHWHILE * abs(value)),
            memory=memory,
            resolution=max(1e-14, RESOLUTION * abs(value)),
            first_angle=angle,
        )
        moved = float(np.linalg.norm(result.v - v))
        v, last = result.v, h
        angle = min(max(moved, angle), 0.1)
        stages.append((yield from describe_stage(index, result, start, (0, 0), depth=False)))
    return stages


def _drop_repeated(directions: Sequence[Array]) -> list[Array]:
    """Return the directions without those that repeat another one or its opposite."""
    kept: list[Array] = []
    for v in directions:
        if all(min(float(np.linalg.norm(v - w)), float(np.linalg.norm(v + w))) > SAME_DIRECTION for w in kept):
            kept.append(v)
    return kept


def with_labels(settings: SearchSettings) -> SearchSettings:
    """Return the settings for a path with labels; starts are those that the labels suggest, or the given ones."""
    init = LABEL_STARTS if isinstance(settings.init, str) else settings.init
    labels = LabelSettings(penalty=LabelPenalty("mean", 0.0))
    return replace(settings, init=init, select="final", gammas=GAMMAS, labels=labels)


def choose_bandwidths(problem: Problem, bandwidths: ArrayLike | None, n_bandwidths: int) -> list[float]:
    """Return the given bandwidths, checked, or a geometric sequence that starts at that of the problem."""
    largest = problem.bandwidth()
    if bandwidths is None:
        check_representable("the last bandwidth", SHRINKAGE * largest, problem.pc1_std)
        values: list[float] = np.geomspace(largest, SHRINKAGE * largest, n_bandwidths).tolist()
    else:
        given = np.atleast_1d(np.asarray(bandwidths, dtype=object))
        values = [check_number("bandwidths", value, low=0.0, open_low=True) for value in given.ravel().tolist()]
        if not values or given.ndim != 1 or any(later >= earlier for earlier, later in pairwise(values)):
            raise ValueError(
                f"bandwidths must be one or more positive numbers in decreasing order, got {bandwidths!r}."
            )
    for h in (values[0], values[-1]):
        resolve_bandwidth(h, problem.sample.total, problem.pc1_std)  # raises if too large or too small
    return values


# --------------------------------------------------------------------------------------------------- result


def make_path(problem: Problem, stages_by_start: list[list[Stage]]) -> BandwidthPath:
    """Return, for every bandwidth, the hyperplane of lowest index over all starts, in the units of X."""
    steps: list[BandwidthStep] = []
    for stages in zip(*stages_by_start, strict=True):
        lowest = min(stages, key=lambda s: s.log_index)
        n_evaluations = sum(s.n_evaluations for s in stages)
        steps.append(_make_step(problem, lowest, steps[-1] if steps else None, n_evaluations))
    return BandwidthPath(tuple(steps))


def _make_step(problem: Problem, stage: Stage, before: BandwidthStep | None, n_evaluations: int) -> BandwidthStep:
    plane = problem.space.make_hyperplane(stage)
    distance = plane.distance(problem.rows)
    has_weight = np.ones(len(distance), dtype=bool) if problem.weights is None else problem.weights > 0.0
    # The normal keeps its side; the first points to the smaller one.
    points_back = (
        float(plane.normal @ before.hyperplane.normal) < 0.0
        if before is not None
        else int((distance > 0.0).sum()) > int((distance <= 0.0).sum())
    )
    if points_back:
        plane, distance = plane.reversed(), -distance
    h = plane.bandwidth
    squares = (distance / h) ** 2
    nearest = float(squares[has_weight].min())
    labels = (distance > 0.0).astype(np.intp)
    return BandwidthStep(
        bandwidth=h,
        hyperplane=plane,
        log_density=stage.separation.log_density - math.log(h * math.sqrt(2.0 * math.pi)),
        margin=math.sqrt(nearest) * h,
        support=np.flatnonzero(has_weight & (squares <= nearest - 2.0 * math.log(SUPPORT))),
        labels=labels,
        angle=math.nan if before is None else measure_angle(plane.normal, before.hyperplane.normal),
        same_partition=before is not None and _is_same_partition(labels, before.labels),
        start=stage.start,
        converged=stage.converged,
        n_evaluations=n_evaluations,
    )


def _is_same_partition(one: NDArray[np.intp], other: NDArray[np.intp]) -> bool:
    return bool(np.array_equal(one, other) or np.array_equal(one, 1 - other))


# --------------------------------------------------------------------------------------------------- function


def bandwidth_path(
    X: ArrayLike,
    bandwidths: ArrayLike | None = None,
    *,
    y: ArrayLike | None = None,
    n_bandwidths: int = 25,
    hyperplane: MinimumDensityHyperplane | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> BandwidthPath:
    """Follow the minimum density hyperplane while the bandwidth shrinks.

    For the largest bandwidth, a search from several starts finds it. Each result is then followed to the smaller
    bandwidths by continuation, always with the widest interval of offsets (``alpha_max``), and for every bandwidth the
    hyperplane of lowest index is reported. As the bandwidth goes to 0 it becomes the hyperplane of largest margin
    within that interval, eq. (19) and (20), Lemma 3, Lemma 7 and Theorem 5 of the paper, below some bandwidth with the
    same partition of the rows. All computations are in the log domain, so the bandwidth may shrink by many orders of
    magnitude.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    bandwidths : array-like of float or None, default=None
        Decreasing. None means ``n_bandwidths`` values, in equal ratios, from that of the parameter ``bandwidth`` to a
        millionth of it.
    y : array-like of shape (n_samples,), optional
        Labels of two classes for some rows; -1, None or NaN mark unlabelled rows. The hyperplane then becomes the one
        of largest margin among those that classify them correctly.
    n_bandwidths : int, default=25
    hyperplane : MinimumDensityHyperplane or None, default=None
        Estimator with the parameters of the search. With ``y``, its ``init`` is "auto" or directions.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the density. Rows without weight are ignored.
    random_state : int, RandomState, Generator or None, default=None
        Seed of random starts.

    Returns
    -------
    BandwidthPath

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper import bandwidth_path
    >>> X, _ = make_blobs([20, 30], centers=[[0, 0], [6, 6]], random_state=0)
    >>> path = bandwidth_path(X, random_state=0)
    >>> len(path.steps)
    25
    >>> bool(path.margins[-1] >= path.margins[0])
    True
    >>> len(path.steps[-1].support)
    2
    """
    finder = MinimumDensityHyperplane() if hyperplane is None else hyperplane
    rows = as_rows(validate_array(clone(finder), X, reset=True))
    weights = check_weights(sample_weight, rows.shape[0])
    count = check_integer("n_bandwidths", n_bandwidths, low=2, high=10_000)
    settings = make_search_settings(finder, rows.shape[1])
    settings, signs = replace(settings, subsample=None, n_threads=1, callback=None), None
    if y is not None:
        if isinstance(settings.init, str) and settings.init != "auto":
            raise ValueError(f"init must be omitted or be directions if y is given, got {settings.init!r}.")
        settings, signs = with_labels(settings), _encode_signs(y, rows.shape[0])
    rng = make_generator(random_state)
    problem = Problem.of(rows, weights, signs, settings=settings, rng=rng)
    if problem.has_no_spread:
        raise ValueError("all rows of X are equal: no hyperplane has a margin.")
    sequence = choose_bandwidths(problem, bandwidths, count)
    path = make_path(problem, follow_bandwidths(problem, sequence))
    if signs is not None:
        _warn_of_label_errors(signs, path.steps[-1])
    return path


def _encode_signs(y: ArrayLike, n_rows: int) -> Array:
    classes, codes = encode_labels(y, n_rows, "bandwidth_path", stacklevel=4)
    if len(classes) != 2:
        raise ValueError(f"y must have labels of two classes, got {len(classes)}: {classes.tolist()}.")
    return make_signs(codes)


def _warn_of_label_errors(signs: Array, last: BandwidthStep) -> None:
    """Warn if no hyperplane separates the labels, as Lemma 7 assumes."""
    sides = np.where(last.labels == 1, 1.0, -1.0)
    wrong = min(int(((signs != 0) & (signs == side * sides)).sum()) for side in (1.0, -1.0))
    if wrong:
        warnings.warn(
            f"{wrong} labelled rows are on the wrong side of the last hyperplane: no hyperplane within alpha_max "
            "separates the labels, or none was found. Its margin is not that of a separation of the classes.",
            UserWarning,
            stacklevel=3,
        )
