"""Optimisation of one hyperplane where rows or features are very many.

With many rows, only those near the hyperplane (a slab) are gathered in memory. With many features, a subspace of a few
directions is searched first, then all features while the gradient has signal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex, CompiledIndex, measure_reach
from ravine.optimise import Memory, Questions, SphereResult, TiltedObjective, minimise_on_sphere, project_to_tangent
from ravine.rows import Sample
from ravine.search.problem import Problem
from ravine.search.settings import SearchSettings
from ravine.search.stages import Notify, Path, Stage, append_polished, describe_stage, drive, polish

# With fewer rows than this, a pass over them costs less than gathering those near the hyperplane.
WORTH_A_SLAB = 40_000
# If more than this share of the rows is near the hyperplane, passes over the slab save too little.
LARGEST_SHARE = 0.3
# Most slabs for one hyperplane, and most corrections with a sample of one; each costs about as much as one iteration on
# all rows.
MOST_SLABS, MOST_CORRECTIONS = 8, 8
# Distance (in bandwidths) by which a slab is wider than the rows that matter, since its middle is a guess.
MARGIN = 0.25
# Distance (in bandwidths) by which rows and offset may move before the slab lacks rows that matter.
ROOM = 3.0
# Largest angle by which the normal turns on one slab; slabs on which it turns by less than the smallest do not pay.
LARGEST_ANGLE, SMALLEST_ANGLE = 1.0, 0.01
# Number of steps the optimiser remembers: each is two vectors with one number per feature.
SHORT_MEMORY = 6
# Below this ratio of the squared gradient norm to its expectation under pure noise, noise exceeds signal.
MORE_NOISE_THAN_SIGNAL = 2.0


def polish_on_slabs(problem: Problem, sample: Sample, path: Path, settings: SearchSettings) -> Questions[Stage]:
    """Optimise the kept stage of a path to convergence on all rows of a sample, as `polish` does, in fewer passes.

    Only rows near the hyperplane matter to the index and its gradient. They are gathered once, and the optimisation
    runs on this slab, with the densities of all rows. Then a slab is gathered at the result, and so on until the
    optimisation on a new slab has nothing to do: it has then converged on all rows, since value and gradient are those
    of all rows. Where slabs do not lead there, the optimisation continues on all rows.
    """
    index = problem.index(sample)
    if (
        sample.n_rows < WORTH_A_SLAB
        or settings.optimiser != "lbfgs"
        or not isinstance(index, ClusteringIndex)
        or not problem.moments.is_stored
        or ROOM * index.bandwidth < SMALLEST_ANGLE * math.sqrt(problem.axes.variances[0])
    ):
        return (yield from polish(index, path, settings))
    descent = _SlabDescent(problem, index, path, settings)
    result = yield from descent.run()
    if result is None:
        left = replace(settings, polish_iter=settings.polish_iter - descent.n_iter)
        stage = yield from polish(index, descent.path, left)
    else:
        stage = replace((yield from describe_stage(index, result, descent.stage.start, (0, 0))), polished=True)
    return replace(
        stage,
        n_iter=descent.n_iter + stage.n_iter,
        n_evaluations=descent.n_evaluations + index.n_evaluations,
        n_tied=descent.n_tied + index.n_tied,
        certified=descent.certified and stage.certified,
    )


class _SlabDescent:
    """Optimisation on one slab after the other.

    Attributes
    ----------
    stage : Stage
        Where it starts.
    path : Path
        The best normal so far as its kept stage, with the curvature that belongs to it.
    n_iter, n_evaluations, n_tied : int
        Numbers of iterations, evaluations and ties on the slabs.
    certified : bool
        Whether all minima over b on the slabs are certified.
    """

    def __init__(self, problem: Problem, index: ClusteringIndex, path: Path, settings: SearchSettings) -> None:
        assert path.kept is not None
        self.problem, self.index, self.settings = problem, index, settings
        self.stage, self.path = path.kept, path
        self.n_iter = self.n_evaluations = self.n_tied = 0
        self.certified = True
        index.alpha, index.gamma = self.stage.alpha, self.stage.gamma

    def run(self) -> Questions[SphereResult | None]:
        """Return the result that has converged on all rows; None if slabs do not lead there."""
        index, sample, h = self.index, self.index.sample, self.index.bandwidth
        v, memory, b, value = self.stage.normal, self.path.memory, self.stage.separation.b, math.inf
        # With a smaller bandwidth a valley is deeper: hardly if it is shallow, by the ratio's square if it is empty.
        log_density = self.stage.separation.log_density * max(1.0, self.stage.bandwidth / h)
        for _ in range(MOST_SLABS):
            reach = sum(self._measure_reach(log_density)) + MARGIN * h
            slab = yield from index.gather(v, b, reach)
            yield from index.locate(v)
            found = index.minima
            if found.log_index > value + self.settings.tolerance:
                return None  # rows that the last slab did not have matter
            value = found.log_index
            self._keep(v, memory)
            if sum(self._measure_reach(found.log_density)) + abs(found.b - b) > reach:
                b, log_density = found.b, found.log_density
                continue
            if sample.is_remote or slab.n_rows >= sample.most_gathered:
                return (yield from self._correct(slab, v, b, memory))
            if slab.n_rows > LARGEST_SHARE * sample.n_rows:
                return None
            memory = memory.copy()
            on_slab, result = self._minimise(slab, v, b, memory)
            v, b, log_density = result.v, on_slab.minima.b, on_slab.minima.log_density
            if result.n_iter == 0:
                return replace(result, value=value) if result.converged or result.stalled else None
        return None

    def _keep(self, v: Array, memory: Memory) -> None:
        self.path = replace(self.path, kept=replace(self.stage, normal=v), memory=memory)

    def _measure_reach(self, log_density: float) -> tuple[float, float]:
        """Return the distance of the rows that make up a density, and how much farther rows may matter."""
        h = self.index.bandwidth
        distance = h * math.sqrt(max(-2.0 * log_density, 0.0))
        return distance, max(measure_reach(h, log_density, self.settings.tolerance) - distance, ROOM * h)

    def _correct(self, slab: Sample, v: Array, b: float, memory: Memory) -> Questions[SphereResult | None]:
        """Minimise with a sample of a slab, whose gradient is corrected to that of all rows (Shamir et al. 2014).

        The sample stands for the curvature only. Each correction takes value and gradient on all rows.
        """
        index, value = self.index, math.inf
        on_slab = self._make_index(slab, b)
        for _ in range(MOST_CORRECTIONS):
            result = yield from minimise_on_sphere(
                index, v, max_iter=0, tolerance=self.settings.tolerance, memory=memory
            )
            if not result.value < value:
                return None
            value = result.value
            self._keep(v, memory)
            if result.converged or abs(index.minima.b - b) > ROOM * index.bandwidth:
                return result if result.converged else None
            memory = memory.copy()
            ((_, gradient),) = drive(slab, [on_slab.begin(v)])
            tilted = TiltedObjective(on_slab, result.gradient - project_to_tangent(gradient, v))
            v = self._run(on_slab, partial(minimise_on_sphere, tilted), v, memory).v
        return None

    def _minimise(self, slab: Sample, v: Array, b: float, memory: Memory) -> tuple[ClusteringIndex, SphereResult]:
        """Minimise the index on a slab, as long as the slab has the rows that matter."""
        index = self._make_index(slab, b)
        minimise = index.minimise if isinstance(index, CompiledIndex) else partial(minimise_on_sphere, index)
        return index, self._run(index, minimise, v, memory)

    def _make_index(self, slab: Sample, b: float) -> ClusteringIndex:
        """Return the index of all rows for a slab around b."""
        index = self.problem.index(slab)
        assert isinstance(index, ClusteringIndex)
        index.alpha, index.gamma = self.stage.alpha, self.stage.gamma
        index.offsets = (b - ROOM * index.bandwidth, b + ROOM * index.bandwidth)
        return index

    def _run(
        self, on_slab: ClusteringIndex, minimise: Callable[..., Questions[SphereResult]], v: Array, memory: Memory
    ) -> SphereResult:
        """Minimise a function of a slab near v, and count."""
        before = on_slab.n_evaluations, on_slab.n_tied
        _, room = self._measure_reach(self.index.minima.log_density)
        optimisation = minimise(
            v,
            max_iter=self.settings.polish_iter - self.n_iter,
            tolerance=self.settings.tolerance,
            memory=memory,
            largest_angle=min(room / math.sqrt(float(self.problem.axes.variances[0])), LARGEST_ANGLE),
        )
        (result,) = drive(on_slab.sample, [optimisation])
        self.n_iter += result.n_iter
        self.n_evaluations += on_slab.n_evaluations - before[0]
        self.n_tied += on_slab.n_tied - before[1]
        self.certified &= on_slab.certified
        return result


def span_leading_directions(problem: Problem) -> Array:
    """Return an orthonormal basis (rows) of the principal axes, and of the user's starts if there are any."""
    init = problem.settings.init
    given = [problem.space.to_working(init)] if isinstance(init, np.ndarray) else []
    return orthonormalise(np.concatenate([problem.axes.directions, *given]))


def orthonormalise(directions: Array) -> Array:
    """Return an orthonormal basis (rows) of the space that some directions span."""
    values, vectors = np.linalg.eigh(directions @ directions.T)
    kept = values > 1e-12 * values[-1]
    basis = (vectors[:, kept] / np.sqrt(values[kept])).T @ directions
    return np.ascontiguousarray(np.linalg.qr(basis.T)[0].T)


def refine_in_all_features(problem: Problem, search: Problem, stage: Stage, notify: Notify) -> Stage:
    """Optimise a hyperplane that was found in a subspace, as long as the gradient is more than noise.

    With more features than rows near the hyperplane, the index keeps falling because it fits the places of these few
    rows, while the density of *other* rows on the hyperplane grows.

    Parameters
    ----------
    problem : Problem
        Problem in all features.
    search : Problem
        Problem in the subspace.
    stage : Stage
        Best hyperplane of the latter.
    notify : callable
        Called with every stage as it is reached.
    """
    index = replace(problem, fixed_pc1_std=search.pc1_std).index()
    stage = search.space.to_original_stage(stage)
    if not isinstance(index, ClusteringIndex):  # only this index measures the noise of its gradient
        return stage
    refinement = _refine(index, stage, problem.settings, notify)
    (refined,) = drive(problem.sample, [refinement])
    return refined


def _refine(index: ClusteringIndex, stage: Stage, settings: SearchSettings, notify: Notify) -> Questions[Stage]:
    path = Path((stage,), stage, Memory(SHORT_MEMORY))
    index.alpha, index.gamma = stage.alpha, stage.gamma
    # Only L-BFGS: others draw twice as many gradients as there are features, or keep a matrix of that size squared.
    rough = replace(settings, optimiser="lbfgs", polish_iter=min(settings.max_iter, settings.polish_iter))
    for _ in range(0, settings.polish_iter if settings.polish else 0, max(settings.max_iter, 1)):
        assert path.kept is not None
        if (yield from index.signal_to_noise(path.kept.normal)) < MORE_NOISE_THAN_SIGNAL:
            break
        polished = yield from polish(index, path, rough)
        notify(polished)
        path = append_polished(path, polished, settings)
        if polished.converged or path.kept is not polished:
            break
    assert path.kept is not None
    return path.kept
