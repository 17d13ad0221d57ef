"""From an array and labels of two classes to a hyperplane: the one function behind the classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex, LabelledRows, LabelPenalty, SemiSupervisedIndex
from ravine.optimise import Asking
from ravine.rows import Moments, Sample
from ravine.search import (
    BandwidthRule,
    Path,
    PrincipalAxes,
    PursuitSettings,
    Stage,
    drive,
    go_on_in_all_columns,
    orthonormal_rows,
    polish,
    pursue,
    resolve_bandwidth,
    subsample_levels,
)
from ravine.search.label_starts import label_starts, principal_number
from ravine.search.space import PathStep, WorkingSpace

__all__ = ["Separator", "SeparatorOptions", "separate"]

# Parts in which labels are left out to see how far from the hyperplane they are without having placed it.
FOLDS = 5
# Relative decrease of the index that is still to be expected there.
ROUGH = 1e-4
# What does not start where the hyperplane is takes at most this many times as many iterations.
ITERATIONS_ANEW = 4
# Principal directions among which the hyperplane is looked for, beside the starts, where there are very many columns.
FEWEST_AXES = 10


@dataclass(frozen=True)
class SeparatorOptions:
    """What can be chosen about a separation, validated.

    Attributes
    ----------
    bandwidth : BandwidthRule
        Rule for h0.
    bandwidth_factor : float
        h / h0.
    init : tuple of str or ndarray of shape (k, d)
    settings : PursuitSettings
        Its largest alphas are tried from the most balanced to the least.
    label_penalty : LabelPenalty
    standard_errors, index_factor : float
        By how many standard errors the labels must cost less, or by which factor the index must be lower, before a
        larger alpha is preferred.
    start_C, start_ridge : float
        Of the SVM and of the covariance that give starts.
    subsample : int or None
    """

    bandwidth: BandwidthRule
    bandwidth_factor: float
    init: tuple[str, ...] | Array
    settings: PursuitSettings
    label_penalty: LabelPenalty
    standard_errors: float
    index_factor: float
    start_C: float
    start_ridge: float
    subsample: int | None


@dataclass(frozen=True)
class Separator:
    """A hyperplane between two classes, whose normal points to the positive one, and how it was found.

    Attributes
    ----------
    hyperplane : Hyperplane
    path : tuple of PathStep
    converged : bool
    label_distances : ndarray of shape (l,)
        Signed distances of the labelled rows, in bandwidths, each from a hyperplane that did without its label.
    """

    hyperplane: Hyperplane
    path: tuple[PathStep, ...]
    converged: bool
    label_distances: Array


def separate(
    X: Any,
    signs: Array,
    weights: Array | None,
    options: SeparatorOptions,
    rng: np.random.Generator,
    *,
    pair: tuple[int, int] | None = None,
    pool: ThreadPoolExecutor | None = None,
    callback: Callable[[PathStep], object] | None = None,
) -> Separator:
    """Find the hyperplane of low density that respects the labels.

    Parameters
    ----------
    X : array, sparse matrix or source of rows, of shape (n, d)
    signs : ndarray of shape (n,)
        +1 and -1 for the labelled rows of the two classes, 0 for unlabelled ones.
    weights : ndarray of shape (n,), optional
        Positive.
    options : SeparatorOptions
    rng : numpy.random.Generator
    pair : tuple of two int, optional
        Numbers of the two classes, to be noted in the path.
    pool : ThreadPoolExecutor, optional
    callback : callable, optional
        Told of every stage.
    """
    space = WorkingSpace.of(X, weights, pool)
    which = np.flatnonzero(signs)
    label_weights = np.ones(len(which)) if weights is None else weights[which]
    if space.all_rows_equal():
        return _one_sided(X.shape[1], float(label_weights @ signs[which]), len(which))
    sample, moments, settings = space.sample, space.sample.moments(), options.settings
    labelled = LabelledRows(sample.fetch(which), signs[which], label_weights)
    axes = PrincipalAxes.of(moments, _axes_needed(options.init))
    pc1_std = math.sqrt(float(axes.variances[0])) * space.unit
    resolve_bandwidth(options.bandwidth, sample.total, pc1_std)  # refused, if it is, before a solver meets such weights
    levels = subsample_levels(sample.n_rows, options.subsample, rng)

    def starts_of(labelled: LabelledRows, moments: Moments) -> Array:
        if isinstance(options.init, np.ndarray):
            return space.to_working(options.init)
        C, ridge = options.start_C, options.start_ridge
        return label_starts(options.init, labelled, moments, axes, X.shape[1], C, ridge, rng)

    starts = starts_of(labelled, moments)
    steps: list[PathStep] = []

    def notify(stage: Stage, space: WorkingSpace) -> None:
        steps.append(replace(space.step(stage), pair=pair))
        if callback is not None:
            callback(steps[-1])

    def new_index(rows: Sample, moments: Moments, labelled: LabelledRows) -> ClusteringIndex:
        reference = resolve_bandwidth(options.bandwidth, rows.total, pc1_std) / space.unit
        return SemiSupervisedIndex(
            rows,
            moments,
            options.bandwidth_factor * reference,
            settings.penalty,
            settings.alpha_min,
            labelled=labelled,
            label_penalty=options.label_penalty,
            reference=reference,
            gamma=settings.gammas[0],
        )

    def best_in(space: WorkingSpace, labelled: LabelledRows, starts: Array) -> Stage:
        sample, moments = space.sample, space.sample.moments()
        found = pursue(
            sample,
            lambda rows: new_index(rows, moments, labelled),
            starts,
            settings,
            levels=levels,
            notify=lambda stage: notify(stage, space),
        )
        best: Stage | None = None
        for k, pursuit in enumerate(found):
            stage = pursuit.best
            assert stage is not None
            if best is None or _clearly_better(stage, best, k, labelled, moments, options):
                best = stage
        assert best is not None
        return best

    if moments.is_stored:
        best = best_in(space, labelled, starts)
    else:
        narrow = space.in_subspace(orthonormal_rows(np.concatenate([axes.directions, starts])))
        fewer_columns = LabelledRows(narrow.sample.fetch(which), labelled.signs, labelled.weights)
        best = best_in(narrow, fewer_columns, narrow.to_working(starts))
        index = new_index(sample, moments, labelled)
        on = go_on_in_all_columns(index, narrow.to_original(best), settings, lambda stage: notify(stage, space))
        (best,) = drive(sample, [on])
    few = sample.take(levels[0]) if levels else sample
    distances = held_out_distances(few, moments, new_index, labelled, best, settings, starts_of)
    return Separator(space.step(best).hyperplane, tuple(steps), best.converged, distances)


def held_out_distances(
    sample: Sample,
    moments: Moments,
    new_index: Callable[[Sample, Moments, LabelledRows], ClusteringIndex],
    labelled: LabelledRows,
    best: Stage,
    settings: PursuitSettings,
    starts_of: Callable[[LabelledRows, Moments], Array],
) -> Array:
    """Signed distances of the labelled rows, in bandwidths of ``best``, from hyperplanes fitted without their labels.

    The labels of each class are dealt out to a few folds in the order of their distances, equal rows together; the
    hyperplane is optimised again without each fold, from where it is. The only label of a class cannot be left out.
    With fewer labels than columns, where labels can be separated whatever they are, a hyperplane remembers them where
    it is: it then starts anew, where the labels that are not left out suggest. So it does with very many columns, among
    the directions of all these starts.
    """
    inside = (labelled.rows @ best.normal - best.separation.b) / best.bandwidth
    folds = _folds(labelled, inside)
    distances = inside.copy()
    remembered = len(labelled.signs) <= sample.n_features or not moments.is_stored
    n_iter = settings.max_iter * (ITERATIONS_ANEW if remembered else 1)
    short = replace(settings, polish_iter=n_iter, tolerance=max(settings.tolerance, ROUGH))
    left_out = [folds == k for k in np.unique(folds[folds >= 0]).tolist()]
    kept = [labelled.without(out) for out in left_out]
    moments = moments if moments.is_stored else sample.moments()
    starts = [starts_of(others, moments) if remembered else best.normal[None] for others in kept]
    rows = labelled.rows
    if not moments.is_stored and left_out:
        directions = orthonormal_rows(np.concatenate(starts))
        sample, rows = sample.in_subspace(directions), rows @ directions.T
        moments = sample.moments()
        kept = [replace(others, rows=others.rows @ directions.T) for others in kept]
        starts = [found @ directions.T for found in starts]
    askers = [
        _again(new_index(sample, moments, others), found, best, short)
        for others, found in zip(kept, starts, strict=True)
    ]
    for out, stage in zip(left_out, drive(sample, askers), strict=True):
        distances[out] = (rows[out] @ stage.normal - stage.separation.b) / best.bandwidth
    return np.asarray(distances)


def _again(index: ClusteringIndex, starts: Array, best: Stage, settings: PursuitSettings) -> Asking[Stage]:
    """Optimise at the alpha and gamma of ``best`` from the start where the index is lowest."""
    index.alpha, index.gamma = best.alpha, best.gamma
    values = []
    for v in starts if len(starts) > 1 else ():
        value, _ = yield from index.begin(v)
        values.append(value)
    stage = replace(best, normal=starts[int(np.argmin(values)) if values else 0])
    return (yield from polish(index, Path((stage,), stage), settings, depth=False))


def _folds(labelled: LabelledRows, distances: Array) -> NDArray[np.intp]:
    """Number of the fold of each label; -1 where a class has only one distinct row."""
    folds = np.full(len(distances), -1, dtype=np.intp)
    for side in (labelled.signs > 0.0, labelled.signs < 0.0):
        _, first, same = np.unique(labelled.rows[side], axis=0, return_index=True, return_inverse=True)
        if len(first) > 1:
            to_original = (labelled.signs * distances)[side][first]
            rank = np.argsort(np.argsort(to_original, kind="stable"), kind="stable")
            folds[side] = rank[same.ravel()] % min(FOLDS, len(first))
    return folds


def _clearly_better(
    stage: Stage, than: Stage, widening: int, labelled: LabelledRows, moments: Moments, options: SeparatorOptions
) -> bool:
    """Whether the index is many times lower, or labels cost less by some standard errors of the paired difference.

    Far from the mean the index is low anyway: it is compared with what a normal curve would have there. The k-th
    widening needs k times the standard errors and the k²-th power of the factor.
    """

    def log_index_over_normal(s: Stage) -> float:
        return s.log_index + 0.5 * s.separation.b**2 / moments.variance_along(s.normal)

    if log_index_over_normal(stage) <= log_index_over_normal(than) - widening**2 * math.log(options.index_factor):
        return True
    margin, power = options.label_penalty.margin, 1.0 + options.settings.penalty.epsilon

    def losses(s: Stage) -> Array:
        distance = (labelled.rows @ s.normal - s.separation.b) * options.bandwidth_factor / s.bandwidth
        return np.asarray(np.maximum(0.0, margin - labelled.signs * distance) ** power)

    gain, share = losses(than) - losses(stage), labelled.weights / labelled.weights.sum()
    mean = float(share @ gain)
    variance = float(share @ (gain - mean) ** 2) / max(float(labelled.weights.sum()) - 1.0, 1.0)
    # A single label that gains is worth exactly one standard error: that counts, whatever the rounding.
    return mean > 0.0 and mean >= (1.0 - 1e-9) * widening * options.standard_errors * math.sqrt(variance)


def _axes_needed(init: tuple[str, ...] | Array) -> int:
    """How many principal directions are looked for where there are very many columns."""
    return max([FEWEST_AXES] + [principal_number(name) or 0 for name in init if isinstance(name, str)])


def _one_sided(n_features: int, balance: float, n_labels: int) -> Separator:
    """All rows are equal: everything belongs to the class with more labels."""
    plane = Hyperplane.at_infinity(np.eye(1, n_features)[0])
    return Separator(plane.reversed() if balance > 0.0 else plane, (), True, np.zeros(n_labels))
