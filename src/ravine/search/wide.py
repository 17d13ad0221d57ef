"""Very many columns: first the space of a few directions, then all columns as far as the rows can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.optimise import Asking, Memory
from ravine.search.settings import PursuitSettings
from ravine.search.stages import Notify, Path, Stage, polish, with_polished

__all__ = ["go_on_in_all_columns", "orthonormal_rows"]

# Steps the optimiser remembers: each is two vectors of as many numbers as there are columns.
SHORT_MEMORY = 6
# A gradient whose squared length is less than this many times what chance makes of it is more noise than signal.
MORE_NOISE_THAN_SIGNAL = 2.0


def orthonormal_rows(directions: Array) -> Array:
    """An orthonormal basis (rows) of the space that some directions span; those that add nothing are left out."""
    values, vectors = np.linalg.eigh(directions @ directions.T)
    kept = values > 1e-12 * values[-1]
    basis = (vectors[:, kept] / np.sqrt(values[kept])).T @ directions
    return np.ascontiguousarray(np.linalg.qr(basis.T)[0].T)


def go_on_in_all_columns(
    index: ClusteringIndex, stage: Stage, settings: PursuitSettings, notify: Notify
) -> Asking[Stage]:
    """Optimise a hyperplane that was found among a few directions, as long as the gradient is more than noise.

    With more columns than rows near the hyperplane, the index falls on and on by fitting the places of these few rows,
    and the density of *other* rows on the hyperplane grows. The optimiser is L-BFGS, whatever the settings say.

    Parameters
    ----------
    index : ClusteringIndex
        Of all columns.
    stage : Stage
        Its normal in all columns.
    settings : PursuitSettings
    notify : callable
        Told of every stage as it is reached.
    """
    path = Path((stage,), stage, Memory(SHORT_MEMORY))
    index.alpha, index.gamma = stage.alpha, stage.gamma
    # Only L-BFGS: others draw twice as many gradients as there are columns, or keep a matrix of columns by columns.
    some = replace(settings, optimiser="lbfgs", polish_iter=min(settings.max_iter, settings.polish_iter))
    for _ in range(0, settings.polish_iter if settings.polish else 0, max(settings.max_iter, 1)):
        assert path.kept is not None
        if (yield from index.signal_to_noise(path.kept.normal)) < MORE_NOISE_THAN_SIGNAL:
            break
        polished = yield from polish(index, path, some)
        notify(polished)
        path = with_polished(path, polished, settings)
        if polished.converged or path.kept is not polished:
            break
    assert path.kept is not None
    return path.kept
