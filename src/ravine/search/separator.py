"""From a problem with labels of two classes to the hyperplane between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane, PathStep
from ravine.index import LabelledRows, ProjectionIndex
from ravine.optimise import Questions
from ravine.search.driver import drive
from ravine.search.multilevel import choose_best, follow_paths
from ravine.search.problem import Problem
from ravine.search.settings import SearchSettings
from ravine.search.space import PathLog
from ravine.search.stages import Notify, Path, Stage, polish
from ravine.search.wide import orthonormalise, refine_in_all_features

__all__ = ["Separator", "find_separator"]

# Number of folds in which labels are held out, to measure their distances from hyperplanes that they did not place.
FOLDS = 5
# Relative decrease of the index at which the optimisation of a fold stops.
ROUGH = 1e-4
# A fold that does not start at the hyperplane takes at most this many times as many iterations.
RESTART_ITERATIONS = 4


@dataclass(frozen=True)
class Separator:
    """Hyperplane between two classes, and how it was found.

    Attributes
    ----------
    hyperplane : Hyperplane
        Its normal points to the positive class.
    path : tuple of PathStep
    converged : bool
    label_distances : ndarray of shape (l,)
        Signed distances of the labelled rows, in bandwidths, each from a hyperplane that was fitted without its label.
    """

    hyperplane: Hyperplane
    path: tuple[PathStep, ...]
    converged: bool
    label_distances: Array


def find_separator(problem: Problem, pair: tuple[int, int] | None = None) -> Separator:
    """Find the hyperplane of low density that respects the labels (section 2.2 of the paper).

    The algorithm is that of `find_hyperplane`, with the index φ_SSC of eq. (17), starts that the labels suggest, a
    growing weight γ of the labels after the growing α, and the lowest index instead of the largest depth.

    Parameters
    ----------
    problem : Problem
        With labelled rows.
    pair : tuple of two int, optional
        Numbers of the two classes, noted in the path.
    """
    if problem.has_no_spread:
        return _take_majority(problem)
    problem.bandwidth()  # validate early: the SVM that suggests starts would fail with a worse message
    log = PathLog(problem.settings.callback, pair)
    starts = problem.starts()
    if problem.is_wide:
        directions = orthonormalise(np.concatenate([problem.axes.directions, starts]))
        search = problem.in_subspace(directions, pc1_std=problem.pc1_std)
        best = _find_best(search, search.space.to_working(starts), log.record_in(search.space))
        best = refine_in_all_features(problem, search, best, log.record_in(problem.space))
    else:
        best = _find_best(problem, starts, log.record_in(problem.space))
    distances = measure_held_out_distances(problem, best)
    return Separator(problem.space.make_hyperplane(best), tuple(log.steps), best.converged, distances)


def _find_best(problem: Problem, starts: Array, notify: Notify) -> Stage:
    """Return the best stage; a larger alpha has to be clearly better than the smaller ones."""
    best: Stage | None = None
    for k, paths in enumerate(follow_paths(problem, starts, notify)):
        stage = choose_best(paths, problem.settings)
        assert stage is not None
        if best is None or _is_clearly_better(problem, stage, best, k):
            best = stage
    assert best is not None
    return best


def _take_majority(problem: Problem) -> Separator:
    """Return a hyperplane at infinity, with every row on the side of the class with more labels: all rows are equal."""
    labelled = problem.labelled
    assert labelled is not None
    plane = Hyperplane.at_infinity(np.eye(1, problem.rows.shape[1])[0])
    positive = float(labelled.weights @ labelled.signs) > 0.0
    return Separator(plane.reversed() if positive else plane, (), True, np.zeros(len(labelled.signs)))


def _is_clearly_better(problem: Problem, stage: Stage, than: Stage, widening: int) -> bool:
    """Return whether the index is many times lower, or labels cost less by some standard errors.

    The standard error is that of the paired difference. Far from the mean the index is low anyway, so it is compared
    with a normal density there. The k-th widening needs k times the standard errors and the k²-th power of the factor.
    """
    labelled, settings = problem.labelled, problem.settings.labels
    assert labelled is not None

    def log_index_over_normal(s: Stage) -> float:
        return s.log_index + 0.5 * s.separation.b**2 / float(s.normal @ problem.moments.times(s.normal))

    if log_index_over_normal(stage) <= log_index_over_normal(than) - widening**2 * math.log(settings.index_factor):
        return True
    margin, power = settings.penalty.margin, 1.0 + problem.settings.penalty.epsilon

    def losses(s: Stage) -> Array:
        distance = (labelled.rows @ s.normal - s.separation.b) * settings.bandwidth_factor / s.bandwidth
        return np.asarray(np.maximum(0.0, margin - labelled.signs * distance) ** power)

    gain, share = losses(than) - losses(stage), labelled.weights / labelled.weights.sum()
    mean = float(share @ gain)
    variance = float(share @ (gain - mean) ** 2) / max(float(labelled.weights.sum()) - 1.0, 1.0)
    # A single label that gains is worth exactly one standard error, whatever the rounding.
    return mean > 0.0 and mean >= (1.0 - 1e-9) * widening * settings.standard_errors * math.sqrt(variance)


# --------------------------------------------------------------------------------------------------- held-out labels


def measure_held_out_distances(problem: Problem, best: Stage) -> Array:
    """Return signed distances of the labelled rows, in bandwidths, from hyperplanes fitted without their labels.

    The labels of each class are dealt out to a few folds in the order of their distances, equal rows together, and the
    hyperplane is optimised again without each fold, from its place. The only label of a class cannot be held out.

    With fewer labels than features every labelling is separable, so refitting from the final hyperplane would leak the
    held-out label. Each fold therefore restarts from directions suggested by its own training labels. With very many
    features it does so, too, in the space of all these directions.
    """
    labelled, sample = problem.labelled, problem.first_sample
    assert labelled is not None
    rows = labelled.rows
    distances = (rows @ best.normal - best.separation.b) / best.bandwidth
    folds = _assign_folds(labelled, distances)
    held_out = [folds == k for k in np.unique(folds[folds >= 0]).tolist()]
    training = [labelled.without(out) for out in held_out]
    restarts = len(labelled.signs) <= sample.n_features or problem.is_wide
    moments = sample.moments() if problem.is_wide else problem.moments
    starts = [problem.starts(others, moments) if restarts else best.normal[None] for others in training]
    if problem.is_wide and held_out:
        directions = orthonormalise(np.concatenate(starts))
        few = replace(problem, space=replace(problem.space, sample=sample), labelled=None, label_indices=None)
        problem = few.in_subspace(directions, pc1_std=problem.pc1_std)
        sample, rows = problem.sample, rows @ directions.T
        training = [replace(others, rows=others.rows @ directions.T) for others in training]
        starts = [directions_of_fold @ directions.T for directions_of_fold in starts]
    settings = _shorten(problem.settings, RESTART_ITERATIONS if restarts else 1)
    fits = [
        _refit(problem.index(sample, labelled=others), v, best, settings)
        for others, v in zip(training, starts, strict=True)
    ]
    for out, stage in zip(held_out, drive(sample, fits), strict=True):
        distances[out] = (rows[out] @ stage.normal - stage.separation.b) / best.bandwidth
    return np.asarray(distances)


def _shorten(settings: SearchSettings, factor: int) -> SearchSettings:
    return replace(settings, polish_iter=settings.max_iter * factor, tolerance=max(settings.tolerance, ROUGH))


def _refit(index: ProjectionIndex, starts: Array, best: Stage, settings: SearchSettings) -> Questions[Stage]:
    """Optimise at the alpha and gamma of ``best`` from the start where the index is lowest."""
    index.alpha, index.gamma = best.alpha, best.gamma
    values = []
    for v in starts if len(starts) > 1 else ():
        value, _ = yield from index.begin(v)
        values.append(value)
    stage = replace(best, normal=starts[int(np.argmin(values)) if values else 0])
    return (yield from polish(index, Path((stage,), stage), settings, depth=False))


def _assign_folds(labelled: LabelledRows, distances: Array) -> NDArray[np.intp]:
    """Return the fold of each label; -1 where a class has only one distinct row."""
    folds = np.full(len(distances), -1, dtype=np.intp)
    for side in (labelled.signs > 0.0, labelled.signs < 0.0):
        _, first, same = np.unique(labelled.rows[side], axis=0, return_index=True, return_inverse=True)
        if len(first) > 1:
            outward = (labelled.signs * distances)[side][first]
            rank = np.argsort(np.argsort(outward, kind="stable"), kind="stable")
            folds[side] = rank[same.ravel()] % min(FOLDS, len(first))
    return folds
