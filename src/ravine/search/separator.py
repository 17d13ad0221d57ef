"""From a problem with labels of two classes to the hyperplane between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane, PathStep
from ravine.index import LabelledRows, ProjectionIndex
from ravine.optimise import Questions
from ravine.search.paths import ROUGH_TOLERANCE, choose_best, follow_paths
from ravine.search.problem import Problem
from ravine.search.refinement import orthonormalise, refine_in_all_features
from ravine.search.settings import SearchSettings
from ravine.search.space import PathLog
from ravine.search.stages import Path, Stage, drive, polish

# Number of folds in which labels are held out, to measure their distances from hyperplanes that they did not place.
FOLDS = 5
# Factor of the number of iterations for a fold that does not start at the final hyperplane.
RESTART_ITERATIONS = 4
# Smallest slope of the logistic curve: it must increase because the hyperplane determines the class.
SMALLEST_SLOPE = 1e-3
# Largest slope: a steeper curve would claim more certainty than labels can give.
LARGEST_SLOPE = 1e3


class Evidence(NamedTuple):
    """Share of labels and density in a hyperplane that started from that of the labels alone.

    Attributes
    ----------
    label_losses : tuple of two float
        Mean squared hinge of the labelled rows at the first and at the final hyperplane.
    density_ratios : tuple of two float
        Log ratio E of `RelativeDensity` at both.
    angle : float
        Angle between the two normals, in degrees.
    """

    label_losses: tuple[float, float] = (0.0, 0.0)
    density_ratios: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0


@dataclass(frozen=True)
class Separator:
    """Hyperplane between two classes, and how it was found.

    Attributes
    ----------
    hyperplane : Hyperplane
        Its normal points to the positive class.
    slope : float
        Log-odds of the positive class per bandwidth of distance; the log-odds themselves if all rows are equal.
    evidence : Evidence or None
        Share of labels and density in the hyperplane, if it started from that of the labels alone.
    """

    hyperplane: Hyperplane
    path: tuple[PathStep, ...]
    converged: bool
    slope: float
    evidence: Evidence | None = None


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
        return take_majority(problem)
    problem.bandwidth()  # validate early: the SVM that suggests starts would fail with a worse message
    settings, log = problem.settings, PathLog(problem.settings.callback, pair)
    starts = problem.starts()
    if problem.is_wide:
        directions = orthonormalise(np.concatenate([problem.axes.directions, starts]))
        search = problem.in_subspace(directions, pc1_std=problem.pc1_std)
        paths = follow_paths(search, search.space.to_working(starts), log.record_in(search.space))
        best = refine_in_all_features(problem, search, _take_best(paths, settings), log.record_in(problem.space))
    else:
        paths = follow_paths(problem, starts, log.record_in(problem.space))
        best = _take_best(paths, settings)
    assert problem.labelled is not None
    slope = _fit_slope(measure_held_out_distances(problem, best), problem.labelled)
    return Separator(problem.space.make_hyperplane(best), tuple(log.steps), best.converged, slope)


def _take_best(paths: list[Path], settings: SearchSettings) -> Stage:
    best = choose_best(paths, settings)
    assert best is not None  # with labels, the end of every path counts
    return best


def take_majority(problem: Problem) -> Separator:
    """Return a hyperplane at infinity, with every row on the side of the class with more labels: all rows are equal."""
    labelled = problem.labelled
    assert labelled is not None
    plane = Hyperplane.at_infinity(np.eye(1, problem.rows.shape[1])[0])
    positive, negative = (float(labelled.weights @ (labelled.signs * side > 0.0)) for side in (1.0, -1.0))
    odds = math.log((positive + 1.0) / (negative + 1.0))
    return Separator(plane.reversed() if positive > negative else plane, (), True, odds, Evidence())


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
    return replace(settings, polish_iter=settings.max_iter * factor, tolerance=max(settings.tolerance, ROUGH_TOLERANCE))


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


def _fit_slope(distances: Array, labelled: LabelledRows) -> float:
    """Fit the slope a of the logistic curve P(+1) = 1 / (1 + exp(-a·distance)), to labelled rows.

    It minimises ``a²/2 + Σ w log(1 + exp(-a y distance))``. The curve passes 1/2 at the hyperplane, so that the class
    of higher probability is always the side.

    Parameters
    ----------
    distances : ndarray of shape (l,)
        Signed distances in bandwidths.
    """
    from scipy.optimize import brentq  # imported late: domain objects load without SciPy
    from scipy.special import expit

    margins, weights = labelled.signs * distances, labelled.weights

    def slope(a: float) -> float:
        return a - float(weights @ (margins * expit(-a * margins)))

    highest = min(float(weights @ np.maximum(margins, 0.0)), LARGEST_SLOPE)
    if not slope(SMALLEST_SLOPE) < 0.0:
        return SMALLEST_SLOPE
    if not slope(highest) > 0.0:
        return highest
    return float(brentq(slope, SMALLEST_SLOPE, highest, xtol=1e-12, rtol=1e-14, maxiter=1000))
