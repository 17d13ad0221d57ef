"""Very many features: search a subspace of a few directions first, then all features while the gradient has signal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.optimise import Memory, Questions
from ravine.search.driver import drive
from ravine.search.problem import Problem
from ravine.search.settings import SearchSettings
from ravine.search.stages import Notify, Path, Stage, append_polished, polish

__all__ = ["orthonormalise", "refine_in_all_features", "span_leading_directions"]

# Number of steps the optimiser remembers: each is two vectors with one number per feature.
SHORT_MEMORY = 6
# Below this ratio of the squared gradient norm to its expectation under pure noise, noise exceeds signal.
MORE_NOISE_THAN_SIGNAL = 2.0


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
