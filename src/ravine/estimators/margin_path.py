"""The road from minimum density to maximum margin, as a function."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.checks import check_integer, check_number, check_weights
from ravine.classes.labels import encode_labels
from ravine.estimators.hyperplane import MinimumDensityHyperplane
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex, LabelledRows, LabelPenalty, SemiSupervisedIndex
from ravine.optimise import measure_angle
from ravine.rows import Sample
from ravine.rows.inputs import validate_array
from ravine.search import PrincipalAxes, PursuitSettings, Stage, choose_starts, drive, pursue, resolve_bandwidth
from ravine.search.label_starts import label_starts
from ravine.search.space import WorkingSpace
from ravine.theory.continuation import narrow

__all__ = ["BandwidthPath", "BandwidthStep", "Narrowing", "bandwidth_path", "narrowing"]

# By how much the bandwidth shrinks in all where no sequence is given.
SHRINKAGE = 1e-6
# A row belongs to the support if its kernel is at least this fraction of the nearest row's.
SUPPORT = 1e-3
# Normals that differ by less are one.
SAME_DIRECTION = 1e-6
# Weights of the labels on the way to the last.
GAMMAS = (0.1, 1.0, 10.0)
LABEL_STARTS = ("svm", "lda", "means", "pc1", "pc2")
# Optimiser iterations for each bandwidth.
MAX_ITER = 100


@dataclass(frozen=True, eq=False)
class BandwidthStep:
    """The minimum density hyperplane for one bandwidth.

    Attributes
    ----------
    bandwidth : float
    hyperplane : Hyperplane
        Its density underflows to 0 for small bandwidths; ``log_density`` does not.
    log_density : float
        Log of the density on it.
    margin : float
        Distance of the nearest row.
    support : ndarray of int
        Rows that hold the hyperplane: their kernels reach a thousandth of the nearest row's there. For a bandwidth that
        goes to 0 these are the support points, the rows at the distance ``margin``.
    labels : ndarray of shape (n_samples,), int
        The partition: 1 on the side the normal points to, else 0.
    angle : float
        Between this normal and that of the step before, in radians; NaN for the first.
    same_partition : bool
        Whether the partition is that of the step before; False for the first.
    start : int
        Which start it was followed from.
    converged : bool
    n_evaluations : int
        Evaluations of the index that this bandwidth took, for all starts.
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
    """The minimum density hyperplanes of a decreasing sequence of bandwidths.

    Attributes
    ----------
    steps : tuple of BandwidthStep
        One for each bandwidth.
    """

    steps: tuple[BandwidthStep, ...]

    @property
    def bandwidths(self) -> Array:
        """The bandwidths."""
        return np.array([step.bandwidth for step in self.steps])

    @property
    def margins(self) -> Array:
        """The margin for each bandwidth."""
        return np.array([step.margin for step in self.steps])

    @property
    def angles(self) -> Array:
        """The angle to the step before, for each bandwidth."""
        return np.array([step.angle for step in self.steps])

    @property
    def settled(self) -> float:
        """The largest bandwidth from which on the partition did not change (h' of Lemma 4, as seen here)."""
        k = len(self.steps) - 1
        while k > 0 and self.steps[k].same_partition:
            k -= 1
        return self.steps[k].bandwidth


@dataclass(frozen=True)
class Narrowing:
    """Tracks of all starts, in working units: for each start one stage for each bandwidth."""

    space: WorkingSpace
    tracks: list[list[Stage]]


def bandwidth_path(
    X: ArrayLike,
    bandwidths: ArrayLike | None = None,
    *,
    y: ArrayLike | None = None,
    n_bandwidths: int = 25,
    sample_weight: ArrayLike | None = None,
    **parameters: Any,
) -> BandwidthPath:
    """Follow the minimum density hyperplane while the bandwidth shrinks.

    For the largest bandwidth it is found by a pursuit from several starts. Each of its ends is then followed to the
    smaller bandwidths by continuation, always with the widest interval of offsets (``alpha_max``), and for every
    bandwidth the one of lowest index is reported. As the bandwidth goes to 0 it becomes the hyperplane of largest
    margin within that interval (Theorem 5 of the paper), from some bandwidth on with the same partition of
    the rows. Everything is computed in the log domain: the bandwidth may shrink by many orders of magnitude.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    bandwidths : array-like of float or None, default=None
        Decreasing. None takes ``n_bandwidths`` in equal ratios from that of the parameter ``bandwidth`` to a millionth
        of it.
    y : array-like of shape (n_samples,), optional
        Labels of two classes for some rows (-1, None or NaN: none). The hyperplane then becomes the one of largest
        margin among those that classify them correctly.
    n_bandwidths : int, default=25
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the density; rows without weight are not looked at.
    **parameters
        As for :class:`MinimumDensityHyperplane`; with ``y``, ``init`` must be left out or be directions.

    Returns
    -------
    BandwidthPath

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.estimators import bandwidth_path
    >>> X, _ = make_blobs([20, 30], centers=[[0, 0], [6, 6]], random_state=0)
    >>> path = bandwidth_path(X, random_state=0)
    >>> len(path.steps)
    25
    >>> bool(path.margins[-1] >= path.margins[0])
    True
    >>> len(path.steps[-1].support)
    2
    """
    finder = MinimumDensityHyperplane(**parameters)
    rows = validate_array(finder, X, reset=True)
    weights = check_weights(sample_weight, len(rows))
    count = check_integer("n_bandwidths", n_bandwidths, low=2, high=10_000)
    found = narrowing(finder, rows, weights, bandwidths, count, y)
    lowest = [min(stages, key=lambda s: s.log_index) for stages in zip(*found.tracks, strict=True)]
    spent = [sum(s.n_evaluations for s in stages) for stages in zip(*found.tracks, strict=True)]
    steps: list[BandwidthStep] = []
    for stage, n_evaluations in zip(lowest, spent, strict=True):
        steps.append(_step(found.space, stage, rows, weights, steps[-1] if steps else None, n_evaluations))
    if y is not None:
        _warn_of_label_errors(y, steps[-1])
    return BandwidthPath(tuple(steps))


def _warn_of_label_errors(y: ArrayLike, last: BandwidthStep) -> None:
    """The lemma speaks of labels that a hyperplane separates: say so if these were not."""
    signs = _signs(y, len(last.labels))
    sides = np.where(last.labels == 1, 1.0, -1.0)
    wrong = min(int(((signs != 0) & (signs == side * sides)).sum()) for side in (1.0, -1.0))
    if wrong:
        warnings.warn(
            f"{wrong} labelled rows are on the wrong side of the last hyperplane: no hyperplane within alpha_max "
            "separates the labels, or none was found. Its margin is not that of a separation of the classes.",
            UserWarning,
            stacklevel=3,
        )


def narrowing(
    finder: MinimumDensityHyperplane,
    rows: NDArray[np.floating[Any]],
    weights: Array | None,
    bandwidths: ArrayLike | None,
    n_bandwidths: int,
    y: ArrayLike | None = None,
    extra: Callable[[WorkingSpace], Array] | None = None,
) -> Narrowing:
    """Pursue the minimum density hyperplane and follow every end to the smallest bandwidth.

    ``extra`` gives more directions, in the space, that are followed without a pursuit.
    """
    options = finder._options()
    settings: PursuitSettings = options["settings"]
    init = finder._directions(rows.shape[1])
    if y is not None and isinstance(init, str) and init != "auto":
        raise ValueError(f"init must be left out or be directions where y is given, got {init!r}.")
    signs = None if y is None else _signs(y, len(rows))
    counted, their_weights = rows, weights
    if weights is not None and not weights.all():
        kept = weights > 0.0
        counted, their_weights = rows[kept], weights[kept]
        signs = None if signs is None else signs[kept]
    space = WorkingSpace.of(counted, their_weights, None)
    if space.all_rows_equal():
        raise ValueError("all rows of X are equal: no hyperplane has a margin.")
    sample, moments = space.sample, space.sample.moments()
    axes = PrincipalAxes.of(moments)
    pc1_std = math.sqrt(float(axes.variances[0])) * space.unit
    sequence = _sequence(bandwidths, n_bandwidths, resolve_bandwidth(options["bandwidth"], sample.total, pc1_std))
    for h in (sequence[0], sequence[-1]):
        resolve_bandwidth(h, sample.total, pc1_std)  # refuses what is too large or too small
    h0, alpha = sequence[0] / space.unit, settings.alpha_max[-1]
    if signs is None:
        labelled = None
        starts = (
            space.to_working(init)
            if isinstance(init, np.ndarray)
            else choose_starts(init, options["n_init"], axes, sample, options["rng"])
        )
    else:
        which = np.flatnonzero(signs)
        label_weights = np.ones(len(which)) if their_weights is None else their_weights[which]
        labelled = LabelledRows(sample.fetch(which), signs[which], label_weights)
        settings = replace(settings, select="final", gammas=GAMMAS)
        starts = (
            space.to_working(init)
            if isinstance(init, np.ndarray)
            else label_starts(LABEL_STARTS, labelled, moments, axes, rows.shape[1], 1.0, 0.01, options["rng"])
        )

    def new_index(part: Sample, h: float, alpha: float, gamma: float) -> ClusteringIndex:
        if labelled is None:
            return ClusteringIndex(part, moments, h, settings.penalty, alpha)
        # In units of the kernel's peak, so that γ does not shrink with h faster than a power: the lemma asks no more.
        return SemiSupervisedIndex(
            part, moments, h, settings.penalty, alpha,
            labelled=labelled, label_penalty=LabelPenalty("mean", 0.0), reference=h0, gamma=gamma,
        )  # fmt: skip

    (pursuit,) = pursue(sample, lambda part: new_index(part, h0, settings.alpha_min, GAMMAS[0]), starts, settings)
    ends = [(path.kept or path.stages[-1]).normal for path in pursuit.paths]
    if extra is not None:
        ends.extend(extra(space))
    if labelled is None:
        ends = _different(ends)
    in_subspace = drive(
        sample,
        [
            narrow(
                lambda h: new_index(sample, h, alpha, GAMMAS[-1]),
                v,
                k,
                [h / space.unit for h in sequence],
                max_iter=MAX_ITER,
                tolerance=settings.tolerance,
            )
            for k, v in enumerate(ends)
        ],
    )
    return Narrowing(space, in_subspace)


def _different(directions: Sequence[Array]) -> list[Array]:
    """Directions without those that another one, or its opposite, repeats."""
    kept: list[Array] = []
    for v in directions:
        if all(min(float(np.linalg.norm(v - w)), float(np.linalg.norm(v + w))) > SAME_DIRECTION for w in kept):
            kept.append(v)
    return kept


def _signs(y: ArrayLike, n_rows: int) -> Array:
    classes, codes = encode_labels(y, n_rows, "bandwidth_path")
    if len(classes) != 2:
        raise ValueError(f"y must have labels of two classes, got {len(classes)}: {classes.tolist()}.")
    return np.where(codes == 1, 1.0, np.where(codes == 0, -1.0, 0.0))


def _sequence(bandwidths: ArrayLike | None, n: int, first: float) -> list[float]:
    if bandwidths is None:
        return [float(h) for h in np.geomspace(first, SHRINKAGE * first, n)]
    given = np.atleast_1d(np.asarray(bandwidths, dtype=object))
    values = [check_number("bandwidths", value, low=0.0, open_low=True) for value in given.ravel().tolist()]
    if not values or given.ndim != 1 or any(later >= earlier for earlier, later in pairwise(values)):
        raise ValueError(f"bandwidths must be one or more positive numbers in decreasing order, got {bandwidths!r}.")
    return values


def _step(
    space: WorkingSpace,
    stage: Stage,
    rows: NDArray[np.floating[Any]],
    weights: Array | None,
    before: BandwidthStep | None,
    n_evaluations: int,
) -> BandwidthStep:
    plane = space.step(stage).hyperplane
    distance = plane.distance(rows)
    counted = np.ones(len(rows), dtype=bool) if weights is None else weights > 0.0
    # The normal keeps its side; the first points to the smaller one.
    turned = (
        float(plane.normal @ before.hyperplane.normal) < 0.0
        if before is not None
        else int((distance > 0.0).sum()) > int((distance <= 0.0).sum())
    )
    if turned:
        plane, distance = plane.reversed(), -distance
    h = plane.bandwidth
    squares = (distance / h) ** 2
    nearest = float(squares[counted].min())
    labels = (distance > 0.0).astype(np.intp)
    return BandwidthStep(
        bandwidth=h,
        hyperplane=plane,
        log_density=stage.separation.log_density - math.log(h * math.sqrt(2.0 * math.pi)),
        margin=math.sqrt(nearest) * h,
        support=np.flatnonzero(counted & (squares <= nearest - 2.0 * math.log(SUPPORT))),
        labels=labels,
        angle=math.nan if before is None else measure_angle(plane.normal, before.hyperplane.normal),
        same_partition=before is not None and _same(labels, before.labels),
        start=stage.start,
        converged=stage.converged,
        n_evaluations=n_evaluations,
    )


def _same(one: Sequence[int] | NDArray[np.intp], other: Sequence[int] | NDArray[np.intp]) -> bool:
    return bool(np.array_equal(one, other) or np.array_equal(one, 1 - np.asarray(other)))
