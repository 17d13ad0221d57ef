"""From labels of two classes to a safe hyperplane: that of the labels alone, moved to where rows are few nearby."""

from __future__ import annotations

import math

import numpy as np

from ravine._typing import Array
from ravine.index import RelativeDensity
from ravine.optimise import CurvaturePairs, Questions, Solve, measure_angle, minimise_by_lbfgs
from ravine.rows import Sample
from ravine.search.label_fit import LabelFit, calibrate, fit_labels
from ravine.search.problem import Problem
from ravine.search.separator import Evidence, Separator, take_majority
from ravine.search.space import PathLog
from ravine.search.stages import Stage, drive

# Relative length of a step at which the optimiser stops.
TOLERANCE = 1e-11
# The same on subsamples and above LARGE rows, where every iteration is expensive.
ROUGH_TOLERANCE = 1e-5
LARGE = 1 << 18
# Curvature of the density along the principal axes that the preconditioner assumes.
CURVATURE_GUESS = 3.0
# Largest number of coordinates for which the Hessian is computed by differences, and their relative step.
MOST_DIFFERENCES = 200
DIFFERENCE = 1e-4
MOST_ITERATIONS = 500
# Largest E of a gap: half as many rows as a normal curve would have. Without one, there is a second start.
GAP = -math.log(2.0)
# Numbers of principal axes along which the second start may differ from the hyperplane of the labels, and of the steps
# of descent after which it is chosen.
MOVED_AXES = 3
FIRST_STEPS = 5
# Share of the labels that may be on the wrong side in addition to those of the hyperplane of the labels.
MISTAKES = 0.05
# Lower bound on 1 - leverage in the leave-one-out formula that calibrates probabilities.
CERTAIN = 1e-9
# Length of the normal below which the labels contradict each other.
SHORTEST = 1e-10


def find_safe_separator(problem: Problem, pair: tuple[int, int] | None = None, is_rough: bool = False) -> Separator:
    """Find the hyperplane that the labels suggest, moved to a place nearby where there are few rows.

    With the decision function f(x) = w·x + c, it minimises the regularised squared hinge of the labels plus λ times the
    log ratio E of `RelativeDensity`, from the minimiser of the first part alone. The labels count for more the more of
    them there are, whereas E is bounded. Where no gap is near, E hardly changes and the hyperplane stays. If the
    nearest minimum is not in a gap, there is a second start. If more labels end up on the wrong side, the hyperplane
    of the labels is kept.

    Parameters
    ----------
    problem : Problem
        With labelled rows.
    pair : tuple of two int, optional
        Numbers of the two classes, noted in the path.
    is_rough : bool
        Whether few digits suffice, without the depths of the valleys.
    """
    if problem.has_no_spread:
        return take_majority(problem)
    settings, labelled = problem.settings.labels, problem.labelled
    assert labelled is not None
    problem.bandwidth()  # validate early
    scales = measure_scales(problem)
    labels = fit_labels(labelled, scales, settings.C)
    start = labels.u
    if np.linalg.norm(start[:-1]) < SHORTEST:  # contradicting labels suggest no direction: take any, without certainty
        start = np.append(SHORTEST * problem.axes.directions[0] * scales, 0.0)
    log = PathLog(problem.settings.callback, pair)
    notify = log.record_in(problem.space)
    first = describe(problem, start, scales, make_density(problem, problem.sample), depth=not is_rough)
    notify(first)
    last, u = first, start
    if settings.density_weight > 0.0 and start is labels.u:
        last, u = _move(problem, labels, scales, labels.u, is_rough)
        if last.log_index > GAP and not is_rough:
            other = _move(problem, labels, scales, find_start(problem, labels, scales), is_rough)
            last, u = min((last, u), other, key=lambda found: measure_objective(problem, labels, *found))
        allowed = labels.loss.count_mistakes(start) + MISTAKES * float(labelled.weights.sum())
        if labels.loss.count_mistakes(u) > allowed:
            last, u = first, start
        notify(last)
    # Labels that are left out see a density that holds the hyperplane in its place only in so far as there is a gap.
    gap = 1.0 - math.exp(min(last.log_index, 0.0)) if start is labels.u else 0.0
    hessian = guess_hessian(problem, labels, u, scales, gap)
    loss, inside = (labels.in_basis(), labels.project(u)) if hessian is None else (labels.loss, u)
    margins = loss.leave_one_out(inside, loss.hessian(inside) if hessian is None else hessian, CERTAIN)
    odds = calibrate(margins, labelled.weights)
    slope = odds * float(np.linalg.norm(u[:-1] / scales)) * last.bandwidth
    evidence = Evidence(
        label_losses=(_mean_loss(labels, start), _mean_loss(labels, u)),
        density_ratios=(first.log_index, last.log_index),
        angle=math.degrees(measure_angle(first.normal, last.normal)),
    )
    return Separator(problem.space.make_hyperplane(last), tuple(log.steps), last.converged, slope, evidence)


def measure_scales(problem: Problem) -> Array:
    """Return the units of the coordinates in f(z) = Σ w z / scale + c, which the labels regularise.

    The squares are the mean variance of the features, plus that of the cells of repeated values: a value of yes or no
    says less about the place of a row than the variance suggests. The cells of copies of a feature add up.
    """
    squares = np.full(problem.moments.n_features, problem.moments.trace / problem.n_varying)
    if problem.space.basis is None:
        for columns, widths in problem.cells:
            squares[columns] += float(widths @ widths) / problem.space.unit**2
    return np.asarray(np.sqrt(squares))


def find_start(problem: Problem, labels: LabelFit, scales: Array) -> Array:
    """Return a start near the hyperplane of the labels from which a few steps lead to the lowest objective.

    The decision function of the labels is moved along each of the leading principal axes, by the standard error that
    the Hessian of their loss gives it there.
    """
    sample = problem.sample.take(problem.subsamples[0]) if problem.subsamples else problem.sample
    solve, starts = precondition(problem, labels, scales), []
    for axis in np.pad(problem.axes.directions[:MOVED_AXES] / scales, ((0, 0), (0, 1))):
        shift = labels.solve(axis)
        shift /= math.sqrt(max(float(axis @ shift), np.finfo(float).tiny))
        starts += [labels.u + shift, labels.u - shift]
    objectives = [SafeObjective(problem, sample, labels, scales) for _ in starts]
    searches = [
        minimise_by_lbfgs(
            objective.evaluate, start, solve, max_iter=FIRST_STEPS, tolerance=ROUGH_TOLERANCE, pairs=CurvaturePairs()
        )
        for objective, start in zip(objectives, starts, strict=True)
    ]
    return min(drive(sample, searches), key=lambda result: result.value).u


def measure_objective(problem: Problem, labels: LabelFit, stage: Stage, u: Array) -> float:
    """Return the objective at u, whose density ratio the stage has."""
    return labels.loss.evaluate(u)[0] + problem.settings.labels.density_weight * stage.log_index


def _move(problem: Problem, labels: LabelFit, scales: Array, u: Array, is_rough: bool) -> tuple[Stage, Array]:
    """Minimise the objective from u; of very many rows, on growing subsamples first."""
    solve, pairs = precondition(problem, labels, scales), CurvaturePairs()
    for indices in problem.subsamples:
        sample = problem.sample.take(indices)
        objective = SafeObjective(problem, sample, labels, scales)
        search = minimise_by_lbfgs(
            objective.evaluate, u, solve, max_iter=MOST_ITERATIONS, tolerance=ROUGH_TOLERANCE, pairs=pairs
        )
        (found,) = drive(sample, [search])
        u = found.u
    if problem.subsamples and len(u) <= MOST_DIFFERENCES:
        # Few passes over all rows then suffice: the curvature is that of the last subsample with the final bandwidth.
        objective = SafeObjective(problem, sample, labels, scales, problem.sample.total)
        (hessian,) = drive(sample, [objective.measure_hessian(u)])
        solve, pairs = invert(hessian, 1.0 / labels.loss.C), CurvaturePairs(has_scale=True)
    objective = SafeObjective(problem, problem.sample, labels, scales)
    tolerance = ROUGH_TOLERANCE if is_rough or problem.sample.n_rows > LARGE else TOLERANCE
    search = minimise_by_lbfgs(objective.evaluate, u, solve, max_iter=MOST_ITERATIONS, tolerance=tolerance, pairs=pairs)
    (found,) = drive(problem.sample, [search])
    density, depth = objective.density, not is_rough
    return describe(problem, found.u, scales, density, found.n_iter, found.converged, depth), found.u


def precondition(problem: Problem, labels: LabelFit, scales: Array) -> Solve:
    """Return an approximate inverse of the Hessian: that of the labels, plus a guess for the density.

    The guess is that a turn of the normal matters as soon as it adds to the standard deviation of the projections.
    """
    hessian = guess_hessian(problem, labels, labels.u, scales, CURVATURE_GUESS)
    if hessian is None:
        return labels.solve
    inverse = np.linalg.inv(hessian)
    return lambda vector: np.asarray(inverse @ vector)


def guess_hessian(problem: Problem, labels: LabelFit, u: Array, scales: Array, share: float) -> Array | None:
    """Return the Hessian of the labels at u plus a share of a guess for the density; None for very many features."""
    if not problem.moments.is_stored:
        return None
    covariance, hessian = problem.moments.covariance / np.outer(scales, scales), labels.loss.hessian(u)
    variance = max(float(u[:-1] @ covariance @ u[:-1]), np.finfo(float).tiny)
    weight = share * problem.settings.labels.density_weight / variance
    hessian[:-1, :-1] += weight * covariance
    hessian[-1, -1] += weight
    return hessian


def invert(hessian: Array, smallest: float) -> Solve:
    """Return the inverse of a symmetric matrix as a function; eigenvalues are made positive, at least ``smallest``."""
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    inverse = (vectors / np.maximum(np.abs(values), smallest)) @ vectors.T
    return lambda vector: np.asarray(inverse @ vector)


class SafeObjective:
    """Loss of the labels plus λ E as a function of u = (w, c), on a sample of the rows.

    Parameters
    ----------
    sample : Sample
        All rows, or a subsample, which has the bandwidth of its own size.
    scales : ndarray of shape (d,)
        Units of the coordinates in f(z) = Σ w z / scale + c.
    total : float, optional
        Total weight for which the bandwidth is chosen; that of the sample by default.
    """

    def __init__(
        self, problem: Problem, sample: Sample, labels: LabelFit, scales: Array, total: float | None = None
    ) -> None:
        self.loss, self.scales = labels.loss, scales
        self.weight = problem.settings.labels.density_weight
        self.density = make_density(problem, sample, total)

    def evaluate(self, u: Array) -> Questions[tuple[float, Array]]:
        """Return value and gradient; the value is infinite without a direction."""
        value, gradient = self.loss.evaluate(u)
        if not u[:-1].any():
            return math.inf, gradient
        v, b, length = to_hyperplane(u, self.scales)
        ratio = yield from self.density.evaluate(v, b)
        # With q = w / scales, v = q/|q| and b = -c/|q|.
        across = ratio.on_normal - (float(ratio.on_normal @ v) + ratio.on_offset * b) * v
        moved = np.append(across / self.scales, -ratio.on_offset) / length
        return value + self.weight * ratio.value, gradient + self.weight * moved

    def measure_hessian(self, u: Array) -> Questions[Array]:
        """Return the second derivatives at u by differences of gradients."""
        step = DIFFERENCE * float(np.linalg.norm(u))
        _, gradient = yield from self.evaluate(u)
        columns = []
        for axis in np.eye(len(u)):
            _, moved = yield from self.evaluate(u + step * axis)
            columns.append((moved - gradient) / step)
        return np.array(columns)


def make_density(problem: Problem, sample: Sample, total: float | None = None) -> RelativeDensity:
    """Return the relative density of a sample, with the bandwidth for a total weight (its own by default)."""
    rule = problem.bandwidth(sample.total if total is None else total)
    ratio = problem.settings.labels.bandwidth_factor * rule / problem.pc1_std
    return RelativeDensity(sample, problem.moments, ratio, problem.cell_covariance)


def to_hyperplane(u: Array, scales: Array) -> tuple[Array, float, float]:
    """Return unit normal and offset of {z : Σ w z / scale + c = 0} for u = (w, c), and the length of w / scales."""
    normal = u[:-1] / scales
    length = float(np.linalg.norm(normal))
    return normal / length, -float(u[-1]) / length, length


def describe(
    problem: Problem,
    u: Array,
    scales: Array,
    density: RelativeDensity,
    n_iter: int = 0,
    converged: bool = True,
    depth: bool = True,
) -> Stage:
    """Return the hyperplane of u on all rows as a stage, whose index is E; its depth unless ``depth`` is False."""
    v, b, _ = to_hyperplane(u, scales)
    ((ratio, separation),) = drive(problem.sample, [density.describe(v, b, depth)])
    return Stage(
        start=0,
        n_rows=problem.sample.n_rows,
        bandwidth=ratio.bandwidth,
        alpha=math.nan,
        gamma=math.nan,
        normal=v,
        log_index=ratio.value,
        separation=separation,
        interior=True,
        n_iter=n_iter,
        n_evaluations=density.n_evaluations,
        n_tied=0,
        converged=converged,
        polished=n_iter > 0,
    )


def _mean_loss(labels: LabelFit, u: Array) -> float:
    """Return the mean squared hinge of the labels."""
    loss = labels.loss
    return float((loss.evaluate(u)[0] - float(u @ u) / (2.0 * loss.C)) / loss.weights.sum())
