"""From an array and labels of two classes to a hyperplane: the one function behind the classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.estimators.frame import Frame, PathStep
from ravine.estimators.label_starts import label_starts
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex, LabelledRows, LabelPenalty, SemiSupervisedIndex
from ravine.pursuit import (
    BandwidthRule,
    PrincipalAxes,
    PursuitSettings,
    Stage,
    pursue,
    resolve_bandwidth,
    subsample_levels,
)
from ravine.sample import Sample

__all__ = ["Separator", "SeparatorOptions", "separate"]


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
    standard_errors : float
        By how many the labels must cost more before a larger alpha is preferred.
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
    """

    hyperplane: Hyperplane
    path: tuple[PathStep, ...]
    converged: bool


def separate(
    X: NDArray[np.floating[Any]],
    signs: Array,
    weights: Array | None,
    options: SeparatorOptions,
    rng: np.random.Generator,
    *,
    pool: ThreadPoolExecutor | None = None,
    callback: Callable[[PathStep], object] | None = None,
) -> Separator:
    """Find the hyperplane of low density that respects the labels.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 and -1 for the labelled rows of the two classes, 0 for unlabelled ones.
    weights : ndarray of shape (n,), optional
        Positive.
    options : SeparatorOptions
    rng : numpy.random.Generator
    pool : ThreadPoolExecutor, optional
    callback : callable, optional
        Told of every stage.
    """
    frame = Frame.of(X, weights, pool)
    which = np.flatnonzero(signs)
    label_weights = np.ones(len(which)) if weights is None else weights[which]
    if frame.all_rows_equal():
        return _one_sided(X.shape[1], float(label_weights @ signs[which]))
    sample, moments = frame.sample, frame.sample.moments()
    labelled = LabelledRows(sample.fetch(which), signs[which], label_weights)
    axes = PrincipalAxes.of(moments)
    pc1_std = math.sqrt(float(axes.variances[0])) * frame.unit
    levels = subsample_levels(sample.n_rows, options.subsample, rng)
    starts = (
        frame.inward(options.init)
        if isinstance(options.init, np.ndarray)
        else label_starts(options.init, labelled, moments, axes, X.shape[1], options.start_C, options.start_ridge, rng)
    )
    steps: list[PathStep] = []

    def notify(stage: Stage) -> None:
        steps.append(frame.step(stage))
        if callback is not None:
            callback(steps[-1])

    def new_index(rows: Sample) -> ClusteringIndex:
        reference = resolve_bandwidth(options.bandwidth, rows.total, pc1_std) / frame.unit
        return SemiSupervisedIndex(
            rows,
            moments,
            options.bandwidth_factor * reference,
            options.settings.penalty,
            options.settings.alpha_min,
            labelled=labelled,
            label_penalty=options.label_penalty,
            reference=reference,
            gamma=options.settings.gammas[0],
        )

    best: Stage | None = None
    for pursuit in pursue(sample, new_index, starts, options.settings, levels=levels, notify=notify):
        stage = pursuit.best
        assert stage is not None
        if best is None or _clearly_better(stage, best, labelled, options):
            best = stage
    assert best is not None
    return Separator(frame.step(best).hyperplane, tuple(steps), best.converged)


def _clearly_better(stage: Stage, than: Stage, labelled: LabelledRows, options: SeparatorOptions) -> bool:
    """Whether the labels cost less, by more than some standard errors of the paired difference."""
    margin, power = options.label_penalty.margin, 1.0 + options.settings.penalty.epsilon

    def losses(s: Stage) -> Array:
        distance = (labelled.rows @ s.normal - s.separation.b) * options.bandwidth_factor / s.bandwidth
        return np.asarray(np.maximum(0.0, margin - labelled.signs * distance) ** power)

    gain, share = losses(than) - losses(stage), labelled.weights / labelled.weights.sum()
    mean = float(share @ gain)
    variance = float(share @ (gain - mean) ** 2) / max(float(labelled.weights.sum()) - 1.0, 1.0)
    return mean > options.standard_errors * math.sqrt(variance)


def _one_sided(n_features: int, balance: float) -> Separator:
    """All rows are equal: everything belongs to the class with more labels."""
    plane = Hyperplane.at_infinity(np.eye(1, n_features)[0])
    return Separator(plane.reversed() if balance > 0.0 else plane, (), True)
